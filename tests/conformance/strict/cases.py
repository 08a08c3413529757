"""The calls that the programs of all languages make, as data.

A call is named as in the Python client, with a star if it is streamed. ``save`` names what later calls take from the
answer: ``{file}`` in a later call is the text that was saved as ``file``.
"""

import json
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from emulator.encoding.images import draw_png
from tests.http_client import Running
from tests.untyped_json import JSON

SCENARIO = """
version: 1
name: strict
deployments:
  - {vendor: azure, name: gpt-4o-transcribe-diarize, model: gpt-4o-transcribe-diarize, task: transcription}
  - {vendor: databricks, name: text, task: completions}
vendors:
  azure:
    batch_seconds: 60
    prompts:
      pmpt_greet: "Greet {{name}}."
    vector_stores:
      vs_handbook: {leave.md: Everyone has 30 days of leave. Ask your lead.}
  openvino: {profile: latest}
rules:
  - {name: slow, when: {prompt: {contains: Later}}, latency: {ttft: 60s}}
  - {name: heard, when: {vendor: azure, task: transcription}, reply: {text: One two. Three four.}}
  - {name: declined, when: {prompt: {contains: Decline}}, reply: {refusal: I cannot help with that.}}
  - {name: cut, when: {prompt: {contains: Cut}}, reply: {text: First of all, finish_reason: content_filter}}
  - {name: busy, when: {prompt: {contains: Fail 429}}, error: {kind: rate_limited, retry_after: 1s}}
  - {name: filtered, when: {prompt: {contains: Fail 400}}, error: {kind: content_filter}}
  - {name: full, when: {prompt: {contains: Fail 503}}, error: {kind: overloaded}}
  - {name: broken, when: {prompt: {contains: Fail 500}}, error: {kind: internal}}
  - {name: odd, when: {prompt: {contains: Oddly}}, faults: [{type: extra_fields}]}
  - name: short
    when: {prompt: {contains: Shortly}}
    error:
      kind: internal
      status: 200
      body: {id: x, object: chat.completion, type: message, model: x, choices: [], content: []}
  - name: other
    when: {prompt: {contains: Otherwise}}
    error:
      kind: internal
      status: 200
      body: {id: x, object: other, created: 1, model: x, choices: []}
"""
QUICK = SCENARIO.replace("batch_seconds: 60", "batch_seconds: 0")
USER: JSON = [{"role": "user", "content": "What is the weather in Paris?"}]
DECLINE: JSON = [{"role": "user", "content": "Decline this."}]
CUT: JSON = [{"role": "user", "content": "Cut this."}]
_CITY: JSON = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
_TOOL: JSON = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather of a city", "parameters": _CITY},
}
_FLAT: JSON = {"type": "function", "strict": True, **_TOOL["function"]}
_SEARCH: JSON = {"type": "file_search", "vector_store_ids": ["vs_handbook"]}
_CLAUDE_TOOL: JSON = {"name": "get_weather", "description": "Weather of a city", "input_schema": _CITY}
_SCHEMA: JSON = {"name": "place", "strict": True, "schema": _CITY}


def _call(call: str, *args: str, name: str = "", **fields: Any) -> JSON:
    """A call; ``file``, ``save`` and ``status`` beside its body's fields are as the module describes."""
    said: JSON = {"call": call, "name": name, "args": [*args]}
    for key in ("file", "save", "skip", "status"):
        if key in fields:
            said[key] = fields.pop(key)
    if fields or call.rstrip("*").endswith((".create", ".update")):
        said["body"] = fields.pop("body", {}) | fields
    return said


def _both(call: str, **fields: Any) -> list[JSON]:
    """A call whole and streamed."""
    streamed = {**fields, "stream": True}
    return [_call(call, **fields), _call(f"{call}*", **streamed)]


def _make_wav() -> bytes:
    data = bytes(2 * 16000 * 2)
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16) + b"data" + struct.pack("<I", len(data))
    return b"RIFF" + struct.pack("<I", len(head) + len(data)) + head + data


def _file(field: str, name: str, kind: str, content: bytes) -> JSON:
    return {"field": field, "name": name, "type": kind, "base64": b64encode(content).decode()}


_WAV = _file("file", "two.wav", "audio/wav", _make_wav())
_PNG = _file("image", "fox.png", "image/png", draw_png(b"fox", 64, 64))
_TEXT = _file("file", "pets.txt", "text/plain", b"Cats sleep. Dogs bark at night.")


def _batch_file(url: str, model: str) -> JSON:
    body = {"model": model, "messages": USER, "max_tokens": 5}
    line = {"custom_id": "1", "method": "POST", "url": url, "body": body}
    return _file("file", "batch.jsonl", "application/jsonl", json.dumps(line).encode())


def chats(model: str, *, usage: bool = True, logprobs: int | None = 2, n: int = 2, **more: Any) -> list[JSON]:
    """Chats whole and streamed: plain, with tools, with log probabilities, with several choices."""
    base: JSON = {"model": model, "messages": USER, "max_tokens": 20, **more}
    chat = "chat.completions.create"
    last = {"stream_options": {"include_usage": True}} if usage else {}
    found = [_call(chat, name="plain", **base), _call(f"{chat}*", name="plain", stream=True, **last, **base)]
    found += _both(chat, name="tools", tools=[_TOOL], tool_choice="required", **{**base, "max_tokens": 200})
    if logprobs is not None:
        found += _both(chat, name="logprobs", logprobs=True, top_logprobs=logprobs, **base)
    if n > 1:
        found += _both(chat, name="choices", n=n, **base)
    return found


def _refuse(model: str, status: int, **fields: JSON) -> JSON:
    """A chat that a vendor refuses."""
    said = {"model": model, "messages": USER, **fields}
    return _call("chat.completions.create", name="refused", status=status, **said)


def _fail(call: str, statuses: Sequence[int], **fields: JSON) -> list[JSON]:
    """Return calls that rules of the scenario refuse."""
    asked = [(status, [{"role": "user", "content": f"Fail {status}"}]) for status in statuses]
    return [_call(call, name=f"fails {status}", status=status, messages=said, **fields) for status, said in asked]


def _azure_chats(model: str) -> list[JSON]:
    chat, base = "chat.completions.create", {"model": model, "messages": USER}
    custom = {"type": "custom", "custom": {"name": "note", "description": "A note"}}
    schema = {"type": "json_schema", "json_schema": _SCHEMA}
    return [
        *chats(model),
        _refuse(model, 400, temperature=9),
        *_both(chat, name="schema", response_format=schema, **base),
        *_both(chat, name="declined", model=model, messages=DECLINE),
        *_both(chat, name="cut", model=model, messages=CUT),
        *_fail(chat, (400, 429, 500, 503), model=model),
        *_both(chat, name="padded", stream_options={"include_usage": True}, model=model, messages=USER)[1:],
        *_both(chat, name="reasoned", model="o3", messages=USER, reasoning_effort="low"),
        *_both(chat, name="custom", tools=[custom], model="gpt-5", messages=USER),
        _call(chat, name="unknown member", status=400, **base, colour="red"),
        _call(chat, name="no model", status=404, model="none", messages=USER),
        _call(chat, name="no messages", status=400, skip=["python"], model=model),  # the client itself refuses it
    ]


def _stored_chats(model: str) -> list[JSON]:
    chat = "chat.completions"
    return [
        _call(f"{chat}.create", model=model, messages=USER, store=True, metadata={"a": "b"}, save={"chat": "id"}),
        _call(f"{chat}.retrieve", "{chat}"),
        _call(f"{chat}.update", "{chat}", metadata={"a": "c"}),
        _call(f"{chat}.list"),
        _call(f"{chat}.messages.list", "{chat}"),
        _call(f"{chat}.delete", "{chat}"),
    ]


def _responses(model: str, *, reasoning: str = "o3", more: bool = True) -> list[JSON]:
    make, base = "responses.create", {"model": model, "input": "What is the weather in Paris?"}
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{_PNG['base64']}"}
    seen = [{"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, picture]}]
    text = {"format": {"type": "json_schema", **_SCHEMA}}
    found = [
        *_both(make, name="plain", **base),
        *_both(make, name="tools", tools=[_FLAT], tool_choice="required", **base),
    ]
    if more:
        found += [
            *_both(
                make, name="reasoned", reasoning={"effort": "low", "summary": "auto"}, **{**base, "model": reasoning}
            ),
            *_both(make, name="schema", text=text, **base),
            *_both(make, name="logprobs", include=["message.output_text.logprobs"], top_logprobs=2, **base),
            *_both(make, name="declined", **{**base, "input": "Decline this."}),
            *_both(make, name="filtered", **{**base, "input": "Cut this."}),
            *_both(make, name="by id", model=model, prompt={"id": "pmpt_greet", "variables": {"name": "Ada"}}),
            *_both(make, name="cut", max_output_tokens=16, **base),
            *_both(make, name="seen", **{**base, "input": seen}),
            *_both(make, name="searched", tools=[_SEARCH], include=["file_search_call.results"], **base),
            *_both(make, name="custom", tools=[{"type": "custom", "name": "note"}], **{**base, "model": "gpt-5"}),
        ]
    return [*found, _call(make, name="refused", status=400, temperature=9, **base)]


_CALLED: JSON = [
    {"role": "user", "content": "What is the weather in Paris?"},
    {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "Sunny"},
]


def _stored_responses(model: str) -> list[JSON]:
    base: JSON = {"model": model, "input": "What is the weather in Paris?"}
    return [
        _call("responses.create", name="kept", metadata={"a": "b"}, **base, save={"made": "id"}),
        _call("responses.retrieve", "{made}"),
        _call("responses.input_items.list", "{made}"),
        _call("responses.create", name="continued", **base, previous_response_id="{made}"),
        _call("responses.create", name="called", model=model, tools=[_FLAT], input=_CALLED, save={"called": "id"}),
        _call("responses.input_items.list", "{called}", name="called"),
        _call("responses.input_tokens.count", **base),
        _call("responses.compact", **base),
        _call("responses.create", name="later", background=True, **{**base, "input": "Later."}, save={"later": "id"}),
        _call("responses.retrieve", "{later}", name="later"),
        _call("responses.cancel", "{later}"),
        _call("responses.delete", "{made}"),
        _call("responses.retrieve", "{made}", status=404),
    ]


def _conversations(model: str) -> list[JSON]:
    items = [{"type": "message", "role": "user", "content": "Hello"}]
    at = "{conversation}"
    return [
        _call("conversations.create", items=items, metadata={"a": "b"}, save={"conversation": "id"}),
        _call("conversations.retrieve", at),
        _call("conversations.update", at, metadata={"a": "c"}),
        _call("conversations.items.create", at, items=items, save={"item": "data.0.id"}),
        _call("conversations.items.create", at, name="called", items=_CALLED),
        _call("responses.create", name="in one", model=model, input="And now?", conversation=at, tools=[_FLAT]),
        _call("conversations.items.list", at),
        _call("conversations.items.retrieve", at, "{item}"),
        _call("conversations.items.delete", at, "{item}"),
        _call("conversations.delete", at),
        _call("conversations.retrieve", at, status=404),
    ]


def _completions(model: str, logprobs: int | None = 2) -> list[JSON]:
    base: JSON = {"model": model, "prompt": "Hello", "max_tokens": 5}
    found = _both("completions.create", **base)
    return found + (_both("completions.create", name="logprobs", logprobs=logprobs, **base) if logprobs else [])


def _embeddings(model: str) -> list[JSON]:
    return [_call("embeddings.create", model=model, input=["a", "b"], encoding_format="float")]


def _files_and_batches(model: str) -> list[JSON]:
    url = "/v1/chat/completions"
    jobs = _batch_file(url, model)
    fields: JSON = {"input_file_id": "{jobs}", "endpoint": url, "completion_window": "24h"}
    return [
        _call("files.create", purpose="assistants", file=_TEXT, save={"file": "id"}),
        _call("files.create", name="batch", purpose="batch", file=jobs, save={"jobs": "id"}),
        _call("files.retrieve", "{file}"),
        _call("files.list"),
        _call("files.content", "{file}"),
        _call("files.retrieve", "file-none", status=404),
        _call("batches.create", **fields, save={"batch": "id"}),
        _call("batches.retrieve", "{batch}"),
        _call("batches.list"),
        _call("batches.cancel", "{batch}"),
        *_vector_stores(),
        _call("files.delete", "{file}"),
    ]


_CHUNKS: JSON = {"type": "static", "static": {"max_chunk_size_tokens": 400, "chunk_overlap_tokens": 100}}


def _vector_stores() -> list[JSON]:
    stores, at = "vector_stores", "{store}"
    return [
        _call(f"{stores}.create", body={"name": "Pets", "metadata": {"a": "b"}}, save={"store": "id"}),
        _call(f"{stores}.create", name="passing", expires_after={"anchor": "last_active_at", "days": 1}),
        _call(f"{stores}.retrieve", at),
        _call(f"{stores}.update", at, body={"name": "Animals"}),
        _call(f"{stores}.list"),
        _call(f"{stores}.files.create", at, file_id="{file}", attributes={"n": 1}),
        _call(f"{stores}.files.create", at, name="chunks", file_id="{jobs}", chunking_strategy=_CHUNKS),
        _call(f"{stores}.files.retrieve", at, "{file}"),
        _call(f"{stores}.files.update", at, "{file}", attributes={"n": 2}),
        _call(f"{stores}.files.list", at),
        _call(f"{stores}.files.content", at, "{file}"),
        _call(f"{stores}.search", at, query="dogs"),
        _call(f"{stores}.file_batches.create", at, file_ids=["{file}"], save={"many": "id"}),
        _call(f"{stores}.file_batches.retrieve", at, "{many}"),
        _call(f"{stores}.file_batches.list_files", at, "{many}"),
        _call(f"{stores}.files.delete", at, "{file}"),
        _call(f"{stores}.delete", at),
        _call(f"{stores}.retrieve", at, status=404),
    ]


def _media() -> list[JSON]:
    heard, spoken = "audio.transcriptions.create", "gpt-4o-transcribe"
    words = {"response_format": "verbose_json", "timestamp_granularities": ["word", "segment"]}
    speakers = {"response_format": "diarized_json", "chunking_strategy": "auto"}
    edit: JSON = {"model": "gpt-image-1", "prompt": "a blue fox"}
    return [
        _call(heard, name="plain", model="whisper", file=_WAV),
        _call(heard, name="verbose", model="whisper", file=_WAV, **words),
        _call(heard, name="speakers", model="gpt-4o-transcribe-diarize", file=_WAV, **speakers),
        _call(heard, name="logprobs", model=spoken, file=_WAV, response_format="json", include=["logprobs"]),
        _call(f"{heard}*", model=spoken, file=_WAV, stream="true", include=["logprobs"]),
        _call("audio.translations.create", model="whisper", file=_WAV),
        _call("audio.speech.create", model="tts", voice="alloy", input="Hello there"),
        _call("images.generate", **edit),
        _call("images.generate", name="url", model="dall-e-3", prompt="a blue fox", response_format="url"),
        _call("images.generate*", **edit, stream=True, partial_images=1),
        _call("images.edit", **edit, file=_PNG),
        _call("images.edit*", **edit, file=_PNG, stream="true", partial_images=1),
    ]


def _messages(model: str, thinker: str, failures: Sequence[int] = (400, 429, 500, 503)) -> list[JSON]:
    make, base = "messages.create", {"model": model, "max_tokens": 20, "messages": USER}
    thinking = {"type": "enabled", "budget_tokens": 1024}
    cached = {"type": "ephemeral"}
    called = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Sunny"}
    answered = [*USER, {"role": "assistant", "content": [called]}, {"role": "user", "content": [result]}]
    return [
        *_both(make, name="plain", **base),
        *_both(make, name="system", **base, system="Be brief.", stop_sequences=["END"]),
        *_both(make, name="tools", **{**base, "max_tokens": 300}, tools=[_CLAUDE_TOOL], tool_choice={"type": "any"}),
        *_both(make, name="thought", **{**base, "max_tokens": 4000, "model": thinker}, thinking=thinking),
        *_both(make, name="declined", **{**base, "messages": DECLINE}),
        *_both(make, name="cut", **{**base, "messages": CUT}),
        *_both(make, name="cached", **base, system=[{"type": "text", "text": "Be brief.", "cache_control": cached}]),
        *_both(make, name="answered", **{**base, "messages": answered}, tools=[_CLAUDE_TOOL]),
        *_fail(make, failures, model=model, max_tokens=20),
        _call("messages.count_tokens", model=model, messages=USER),
        _call("messages.count_tokens", name="tools", model=model, messages=USER, tools=[_CLAUDE_TOOL]),
        _call("models.list"),
        _call("models.retrieve", model),
        _call(make, name="refused", status=400, **{**base, "max_tokens": -1}),
        _call(make, name="extra", status=400, **base, colour="red"),
    ]


def _message_batches(model: str) -> list[JSON]:
    jobs = "messages.batches"
    asked = {"custom_id": "1", "params": {"model": model, "max_tokens": 5, "messages": USER}}
    return [
        _call(f"{jobs}.create", requests=[asked], save={"batch": "id"}),
        _call(f"{jobs}.retrieve", "{batch}"),
        _call(f"{jobs}.list"),
        _call(f"{jobs}.cancel", "{batch}"),
        _call(f"{jobs}.retrieve", "msgbatch_none", status=404),
    ]


def _finished_batches(model: str) -> list[JSON]:
    url = "/v1/chat/completions"
    fields: JSON = {"input_file_id": "{jobs}", "endpoint": url, "completion_window": "24h"}
    bad = {"bad": "id"}
    return [
        _call("files.create", purpose="batch", file=_batch_file(url, model), save={"jobs": "id"}),
        _call("batches.create", **fields, save={"batch": "id"}),
        _call("batches.retrieve", "{batch}", save={"output": "output_file_id"}),
        _call("files.retrieve", "{output}"),
        _call("files.content", "{output}"),
        _call("files.create", purpose="batch", file=_file("file", "b.jsonl", "application/jsonl", b"{"), save=bad),
        _call("batches.create", name="bad", **{**fields, "input_file_id": "{bad}"}, save={"failed": "id"}),
        _call("batches.retrieve", "{failed}", name="bad"),
    ]


def _finished_message_batches(model: str) -> list[JSON]:
    made, retrieved, *_ = _message_batches(model)
    at = "{batch}"
    return [made, retrieved, _call("messages.batches.results", at), _call("messages.batches.delete", at)]


def list_targets(live: Running, quick: Running) -> list[JSON]:
    """Return every address that a client speaks to, with its calls; the batches of ``quick`` finish at once."""
    return [*_list_azure(live, quick), *_list_databricks(live), *_list_servers(live)]


def _list_azure(live: Running, quick: Running) -> list[JSON]:
    url, model, claude = live.urls["azure"], "gpt-4.1", "claude-sonnet-4-5"
    media = _media()
    everything = [
        *_azure_chats(model),
        *_stored_chats(model),
        *_responses(model),
        *_stored_responses(model),
        *_conversations(model),
        *_files_and_batches(model),
        *_completions("gpt-35-turbo-instruct"),
        *_embeddings("text-embedding-3-small"),
        *media,
        _call("models.list"),
        _call("models.retrieve", model),
    ]
    dated = [_date(call) for call in everything if _is_dated(call)]
    messages = [*_messages(claude, claude), *_message_batches(claude)]
    root = quick.urls["azure"]
    return [
        _target("azure", "openai", f"{url}/openai/v1/", everything),
        _target("azure dated", "azure", url, dated, api_version="2025-04-01-preview"),
        _target("azure claude", "anthropic", f"{url}/anthropic", messages),
        _target("azure batches", "openai", f"{root}/openai/v1/", _finished_batches(model)),
        _target("azure claude batches", "anthropic", f"{root}/anthropic", _finished_message_batches(claude)),
    ]


_UNDATED = ("conversations.", "responses.compact", "responses.input_tokens", "chat.completions.messages")
_ELSEWHERE = {  # clients that send a call of an api-version to a path that the service does not have
    "java": ("responses.", "models.retrieve"),
    "node": ("images.edit",),
    "go": ("chat.completions.list",),
}


def _is_dated(call: JSON) -> bool:
    return not call["call"].startswith(_UNDATED) and "conversation" not in call.get("body", {})


def _date(call: JSON) -> JSON:
    """Return a call as one of the clients for api-versions, less the clients that send it elsewhere."""
    elsewhere = [language for language, calls in _ELSEWHERE.items() if call["call"].startswith(calls)]
    return {**call, "skip": [*call.get("skip", ()), *elsewhere]}


def _list_databricks(live: Running) -> list[JSON]:
    url = f"{live.urls['databricks']}/serving-endpoints"
    llama, claude, gpt = "databricks-meta-llama-3-3-70b-instruct", "databricks-claude-sonnet-4-5", "databricks-gpt-5"
    calls = [
        *chats(llama, usage=False),
        *chats(claude, logprobs=None, n=1),
        *chats(gpt, logprobs=None, n=1, max_tokens=None),
        _refuse(llama, 400, temperature=9),
        *_fail("chat.completions.create", (429, 500, 503), model=llama),
        *_responses(gpt, more=False),
        *_completions("text", None),
        *_embeddings("databricks-gte-large-en"),
    ]
    bearer = {"authorization": "Bearer dapi-x"}
    return [
        _target("databricks", "openai", url, calls),
        _target("databricks claude", "anthropic", f"{url}/anthropic", _messages(claude, claude), headers=bearer),
    ]


def _list_servers(live: Running) -> list[JSON]:
    """Return the targets of the servers that run on hardware of one's own."""
    urls = live.urls
    mindie = [*chats("llama_65b", usage=False, n=1), *_completions("llama_65b", None)]
    tgi = [*chats("tgi", n=1), *_completions("tgi", None), _refuse("tgi", 422, top_p=2)]
    openvino = [
        *chats("llama3", logprobs=None, n=1),
        _call("chat.completions.create", name="logprobs", model="llama3", messages=USER, logprobs=True, max_tokens=5),
        *_completions("llama3", None),
        _call("completions.create", name="logprobs", model="llama3", prompt="Hello", logprobs=1, max_tokens=5),
        *_embeddings("embeddings"),
        *_both("responses.create", name="plain", model="llama3", input="Hello", max_output_tokens=5),
        _refuse("llama3", 400, temperature=9),
        _call("models.list"),
    ]
    return [
        _target("mindie", "openai", f"{urls['mindie']}/v1", [*mindie, _refuse("llama_65b", 422, temperature=-1)]),
        _target("tgi", "openai", f"{urls['tgi']}/v1", [*tgi, _call("models.list")]),
        _target("openvino", "openai", f"{urls['openvino']}/v3", openvino),
    ]


def list_wrong(live: Running) -> list[JSON]:
    """Return calls whose answers have unknown fields, lack some, and have values that no type allows."""
    url = live.urls["azure"]
    odd, short, other = ([{"role": "user", "content": text}] for text in ("Oddly", "Shortly", "Otherwise"))
    chat: JSON = {"model": "gpt-4.1"}
    claude: JSON = {"model": "claude-sonnet-4-5", "max_tokens": 20}
    chats = _both("chat.completions.create", name="odd", messages=odd, **chat)
    chats += [_call("chat.completions.create", messages=asked, **chat) for asked in (short, other)]
    messages = _both("messages.create", name="odd", messages=odd, **claude)
    messages.append(_call("messages.create", messages=short, **claude))
    return [
        _target("azure", "openai", f"{url}/openai/v1/", chats),
        _target("azure claude", "anthropic", f"{url}/anthropic", messages),
    ]


def _target(name: str, client: str, url: str, calls: list[JSON], **more: JSON) -> JSON:
    headers: Mapping[str, str] = more.pop("headers", {})
    return {"name": name, "client": client, "url": url, "key": "key-1", "headers": headers, "calls": calls, **more}


def write_plan(targets: list[JSON], language: str) -> str:
    """Return the plan that a language's program reads."""
    kept = [
        {**target, "calls": [call for call in target["calls"] if language not in call.get("skip", ())]}
        for target in targets
    ]
    return json.dumps({"targets": kept})
