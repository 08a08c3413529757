"""The Responses API: every field of the reference, items, blocks, and the order of events."""

import json

import pytest

from emulator.core.call import Deployment
from tests.parsed import JSON
from tests.vendors.databricks.harness import GPT, LLAMA, OSS, Exchange, send

AGENT = Deployment(vendor="databricks", name="agent", mode="custom", kind="agent")
SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: JSON = {"name": "get_weather", "description": "Weather", "parameters": SCHEMA}
NESTED: JSON = {"type": "function", "function": FUNCTION}
FLAT: JSON = {"type": "function", **FUNCTION}
FORMAT: JSON = {"name": "city", "schema": SCHEMA}


def respond(options: JSON = None, path: str = "/serving-endpoints/responses", **fields: JSON) -> Exchange:
    return send(path, {"model": GPT, "input": "Tell me about Paris", **fields}, deployments=(AGENT,), **(options or {}))


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        pytest.param("model", None, "Missing required parameter: 'model'", id="no model"),
        pytest.param("model", 5, "field 'model' expects input with json type 'string'", id="a number for a model"),
        pytest.param("input", None, "Missing required parameter: 'input'.", id="no input"),
        pytest.param("input", [], "Missing required parameter: 'input'.", id="no items"),
        pytest.param("input", 5, "field 'input' expects", id="a number for an input"),
        pytest.param("instructions", "Be brief", None, id="instructions"),
        pytest.param("instructions", 5, "field 'instructions' expects", id="a number for instructions"),
        pytest.param("max_output_tokens", 16, None, id="a bound"),
        pytest.param("max_output_tokens", None, None, id="no bound"),
        pytest.param("max_output_tokens", 0, "max_output_tokens must be greater than 0", id="no token"),
        pytest.param("max_output_tokens", 128001, "max_output_tokens is too large: 128001", id="too many tokens"),
        pytest.param("temperature", 2, None, id="hot"),
        pytest.param("temperature", 2.1, "temperature must be in [0, 2]", id="too hot"),
        pytest.param("top_p", 0, "top_p must be in (0, 1]", id="an empty nucleus"),
        pytest.param("top_p", 0.5, None, id="half a nucleus"),
        pytest.param("stream", "no", "field 'stream' expects", id="stream as text"),
        pytest.param("stream_options", {"include_usage": True}, "only allowed when stream is true", id="no stream"),
        pytest.param("stream_options", 5, "field 'stream_options' expects", id="stream options as a number"),
        pytest.param("text", {"format": {"type": "text"}}, None, id="plain text"),
        pytest.param("text", {"format": {"type": "json_object"}}, None, id="a JSON object"),
        pytest.param("text", {"format": {"type": "json_schema", "json_schema": FORMAT}}, None, id="a nested schema"),
        pytest.param("text", {"format": {"type": "json_schema", **FORMAT}}, None, id="a flat schema"),
        pytest.param("text", {"format": {"type": "xml"}}, "text.format.type must be", id="an odd format"),
        pytest.param(
            "text", {"format": {"type": "json_schema"}}, "Missing required parameter: 'text.format.n", id="none"
        ),
        pytest.param("text", 5, "field 'text' expects", id="a number for a format"),
        pytest.param("reasoning", {"effort": "low"}, None, id="low effort"),
        pytest.param("reasoning", {"effort": "high", "encrypted_content": "x"}, None, id="encrypted reasoning"),
        pytest.param("reasoning", {"effort": "utmost"}, "reasoning.effort must be one of", id="an odd effort"),
        pytest.param("reasoning", {"encrypted_content": 5}, "field 'reasoning.encrypted_content'", id="a number"),
        pytest.param("tool_choice", "auto", None, id="auto without tools"),
        pytest.param("tool_choice", "required", "only allowed when tools", id="required without tools"),
        pytest.param("tool_choice", "any", "must be", id="an odd choice"),
        pytest.param("tools", [NESTED], None, id="a nested tool"),
        pytest.param("tools", [FLAT], None, id="a flat tool"),
        pytest.param("tools", [FLAT, NESTED], "tool names must be unique", id="a name twice"),
        pytest.param("tools", [{"type": "function"}], '"name" is a required property', id="a tool without a name"),
        pytest.param("tools", [{"type": "code_interpreter"}], "is not supported", id="code interpreter"),
        pytest.param("tools", [{"type": "web_search"}], None, id="web search, left aside"),
        pytest.param("tools", [{"type": "mcp", "server_label": "x"}], None, id="a built-in tool, left aside"),
        pytest.param("tools", [{"type": "telepathy"}], "is not supported", id="an odd tool"),
        pytest.param("tools", [{}], "is not supported", id="a tool without a type"),
        pytest.param("tools", [{**FLAT, "parameters": 5}], "field 'tools.function.parameters'", id="odd parameters"),
        pytest.param("parallel_tool_calls", False, None, id="no parallel calls"),
        pytest.param("parallel_tool_calls", "no", "field 'parallel_tool_calls'", id="parallel calls as text"),
        pytest.param("max_tool_calls", 1, None, id="one built-in call"),
        pytest.param("max_tool_calls", 0, "max_tool_calls must be greater than 0", id="no built-in call"),
        pytest.param("metadata", {"a": "b"}, None, id="metadata"),
        pytest.param("metadata", {str(i): "x" for i in range(16)}, None, id="16 pairs"),
        pytest.param("metadata", {str(i): "x" for i in range(17)}, "at most 16 key-value pairs", id="17 pairs"),
        pytest.param("metadata", [], "field 'metadata' expects", id="metadata as a list"),
        pytest.param("prompt_cache_key", "k", None, id="a cache key"),
        pytest.param("prompt_cache_key", 5, "field 'prompt_cache_key'", id="a number for a cache key"),
        pytest.param("prompt_cache_retention", "24h", None, id="a day of cache"),
        pytest.param("prompt_cache_retention", 24, "field 'prompt_cache_retention'", id="a number for a retention"),
        pytest.param("safety_identifier", "s", None, id="a safety identifier"),
        pytest.param("safety_identifier", {}, "field 'safety_identifier'", id="an object for an identifier"),
        pytest.param("user", "u", None, id="who asks"),
        pytest.param("user", 5, "field 'user'", id="a number for a user"),
        pytest.param("truncation", "auto", None, id="truncation"),
        pytest.param("truncation", "most", 'truncation must be "auto" or "disabled"', id="odd truncation"),
        pytest.param("top_logprobs", 20, None, id="20 alternatives"),
        pytest.param("top_logprobs", 21, "between 0 and 20", id="21 alternatives"),
        pytest.param("include", ["reasoning.encrypted_content"], None, id="something more"),
        pytest.param("include", "x", "field 'include' expects", id="a text for a list"),
        pytest.param("prompt", {"id": "p"}, None, id="a prompt template"),
        pytest.param("prompt", "p", "field 'prompt' expects", id="a text for a template"),
        pytest.param("background", True, "Unsupported parameter: 'background'", id="background"),
        pytest.param("store", False, "Unsupported parameter: 'store'", id="store"),
        pytest.param("store", None, None, id="store left open"),
        pytest.param("conversation", "c", "Unsupported parameter: 'conversation'", id="conversation"),
        pytest.param("service_tier", "auto", "Unsupported parameter: 'service_tier'", id="service tier"),
        pytest.param("previous_response_id", "r", "Unsupported parameter: 'previous_response_id'", id="previous"),
        pytest.param("messages", [], "'messages' field is not supported. Please use 'input'", id="messages"),
    ],
)
def test_field(field: str, value: JSON, text: str | None) -> None:
    answer = respond(**{field: value})
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


USER: JSON = {"role": "user", "content": "hi"}
CALL: JSON = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT: JSON = {"type": "function_call_output", "call_id": "c1", "output": "sunny"}


def block(**fields: JSON) -> JSON:
    return {"role": "user", "content": [fields]}


@pytest.mark.parametrize(
    ("item", "text"),
    [
        pytest.param(USER, None, id="a user's message"),
        pytest.param({"role": "assistant", "content": "x"}, None, id="an assistant's message"),
        pytest.param({"role": "system", "content": "x"}, None, id="a system message"),
        pytest.param({"role": "developer", "content": "x"}, None, id="a developer's message"),
        pytest.param({"type": "message", **USER}, None, id="a message that says so"),
        pytest.param({"role": "tool", "content": "x"}, "role must be one of", id="an odd role"),
        pytest.param({"role": "user"}, "Missing required parameter: 'input[0].content'.", id="no content"),
        pytest.param({"role": "user", "content": 5}, "field 'input[0].content' expects", id="a number for content"),
        pytest.param({"content": "x"}, "input[0].role must be one of", id="neither role nor type"),
        pytest.param({"type": "telepathy"}, "Invalid value: 'telepathy'", id="an odd item"),
        pytest.param("x", "field 'input[0]' expects input with json type 'object'", id="a text among items"),
        pytest.param({**USER, "status": "completed"}, "Unknown parameter: 'input[0].status'.", id="a status"),
        pytest.param({**USER, "id": "msg_1"}, None, id="a message's id"),
        pytest.param({"type": "message", **USER, "id": "x1"}, "begins with 'msg'", id="an id of another kind"),
        pytest.param({**USER, "id": "msg_" + "x" * 61}, "maximum length 64", id="a long id"),
        pytest.param(block(type="input_text", text="x"), None, id="a text block"),
        pytest.param(block(type="input_text"), "'input[0].content[0].text'", id="a text block without text"),
        pytest.param(block(type="input_text", text=5), "field 'input[0].content[0].text'", id="a number for a text"),
        pytest.param(block(type="output_text", text="x", annotations=[]), None, id="an output block"),
        pytest.param(block(type="output_text", text="x", annotations=5), "annotations' expects", id="odd annotations"),
        pytest.param(block(type="input_image", image_url="https://x/y.png"), None, id="a picture"),
        pytest.param(block(type="input_image", image_url="data:image/png;base64,AA"), None, id="a picture inside"),
        pytest.param(block(type="input_image", image_url="ftp://x"), "Expected a valid URL", id="an odd URL"),
        pytest.param(block(type="input_image"), "image_url'.", id="no picture"),
        pytest.param(block(type="input_file", file_id="f"), None, id="an uploaded file"),
        pytest.param(
            block(type="input_file", filename="a.pdf", file_data="data:application/pdf;base64,AA"), None, id="a file"
        ),
        pytest.param(block(type="input_file", file_data="AA"), "base64-encoded data URL", id="a file without format"),
        pytest.param(block(type="input_file", filename="a"), "file_data'.", id="a name without a file"),
        pytest.param(block(type="input_file", file_id=5), "file_id' expects", id="a number for a file"),
        pytest.param(block(type="text", text="x"), "Supported values are: 'input_text'", id="a block of chat's"),
        pytest.param({"role": "user", "content": ["x"]}, "field 'input[0].content[0]' expects", id="text as a block"),
        pytest.param(CALL, None, id="a call"),
        pytest.param({**CALL, "arguments": {"a": 1}}, None, id="arguments as an object"),
        pytest.param({**CALL, "arguments": 5}, "arguments' expects", id="arguments as a number"),
        pytest.param({**CALL, "id": "call_1"}, "begins with 'fc'", id="a call with an id of another kind"),
        pytest.param({k: v for k, v in CALL.items() if k != "id"}, None, id="a call without id"),
        pytest.param({k: v for k, v in CALL.items() if k != "call_id"}, "'input[0].call_id'", id="without call_id"),
        pytest.param({k: v for k, v in CALL.items() if k != "name"}, "'input[0].name'", id="without name"),
        pytest.param({k: v for k, v in CALL.items() if k != "arguments"}, "'input[0].arguments'", id="no arguments"),
        pytest.param(OUTPUT, None, id="a result"),
        pytest.param({**OUTPUT, "output": {"a": 1}}, None, id="a result as an object"),
        pytest.param({**OUTPUT, "output": None}, "'input[0].output'", id="no result"),
        pytest.param({**OUTPUT, "call_id": 5}, "call_id' expects", id="a number for a call_id"),
        pytest.param({"role": "assistant", "content": [CALL]}, None, id="a call among the blocks"),
        pytest.param({"role": "user", "content": [OUTPUT]}, None, id="a result among the blocks"),
        pytest.param({"type": "reasoning", "id": "rs_1", "summary": []}, None, id="reasoning"),
    ],
)
def test_item(item: JSON, text: str | None) -> None:
    answer = respond(input=[item])
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


def test_items_become_the_conversation() -> None:
    call = respond(input=[USER, CALL, OUTPUT], instructions="Be brief").call
    assert call is not None
    assert call.ask.task == "chat"
    assert [m.role for m in call.ask.messages] == ["system", "user", "assistant", "tool"]
    assert call.ask.messages[2].tool_calls[0].name == "f"
    assert call.ask.messages[3].text == "sunny"


def test_answer_has_the_fields_of_the_reference() -> None:
    sent: JSON = {
        "instructions": "Be brief", "max_output_tokens": 400, "temperature": 0.5, "top_p": 0.9, "tools": [NESTED],
        "tool_choice": "none", "parallel_tool_calls": False, "metadata": {"a": "b"},
    }  # fmt: skip
    body = respond(**sent).body
    assert {name: body[name] for name in sent} == sent
    assert (body["object"], body["created_at"], body["status"], body["store"]) == ("response", 5, "completed", False)
    assert (body["error"], body["incomplete_details"], body["model"]) == (None, None, GPT)
    assert len(body["id"]) > 64
    assert [item["type"] for item in body["output"]] == ["reasoning", "message"]
    message = body["output"][-1]
    assert set(message) == {"id", "type", "role", "status", "content"}
    assert (message["role"], message["status"]) == ("assistant", "completed")
    (content,) = message["content"]
    assert (content["type"], content["annotations"]) == ("output_text", [])
    usage = body["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["output_tokens_details"]["reasoning_tokens"] > 0


def test_defaults_are_repeated() -> None:
    body = respond().body
    defaults = {"temperature": 1.0, "top_p": 1.0, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    assert {name: body[name] for name in defaults} == defaults
    assert (body["metadata"], body["instructions"], body["max_output_tokens"]) == ({}, None, None)


@pytest.mark.parametrize("tool", [NESTED, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("choice", ["required", NESTED, {"type": "function", "name": "get_weather"}])
def test_forced_call(tool: JSON, choice: JSON) -> None:
    body = respond(tools=[tool], tool_choice=choice).body
    call = body["output"][-1]
    assert (call["type"], call["name"], call["status"]) == ("function_call", "get_weather", "completed")
    assert (call["id"][:3], call["call_id"][:5]) == ("fc_", "call_")
    assert isinstance(json.loads(call["arguments"])["city"], str)
    assert body["tools"] == [tool]


def test_structured_text() -> None:
    body = respond(text={"format": {"type": "json_schema", **FORMAT}}).body
    assert isinstance(json.loads(body["output"][-1]["content"][0]["text"])["city"], str)


def test_reaching_the_bound_is_incomplete() -> None:
    body = respond(max_output_tokens=70).body
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert body["usage"]["output_tokens"] == 70
    assert body["output"][-1]["status"] == "incomplete"


@pytest.mark.parametrize(("effort", "most"), [("none", 0), ("low", 24), ("medium", 64), ("high", 160)])
def test_effort_buys_reasoning(effort: str, most: int) -> None:
    usage = respond(reasoning={"effort": effort}).body["usage"]
    assert usage["output_tokens_details"]["reasoning_tokens"] == most


def test_include_adds_to_the_answer() -> None:
    body = respond(include=["reasoning.encrypted_content", "message.output_text.logprobs"]).body
    assert body["output"][0]["encrypted_content"]
    assert body["output"][1]["content"][0]["logprobs"]


def test_top_logprobs_lists_alternatives() -> None:
    logprobs = respond(top_logprobs=3).body["output"][-1]["content"][0]["logprobs"]
    assert {len(entry["top_logprobs"]) for entry in logprobs} == {3}


def test_summary_is_shown_on_request() -> None:
    assert respond().body["output"][0]["summary"] == []
    assert respond(reasoning={"summary": "auto"}).body["output"][0]["summary"][0]["type"] == "summary_text"


def test_long_input_is_truncated_only_if_asked() -> None:
    small = Deployment(vendor="databricks", name="gpt-small", context=50)
    long: JSON = {"model": "gpt-small", "input": "word " * 100}
    refused = send("/serving-endpoints/responses", long, deployments=(small,))
    cut = send("/serving-endpoints/responses", {**long, "truncation": "auto"}, deployments=(small,))
    assert (refused.status, cut.status) == (400, 200)
    assert cut.body["usage"]["total_tokens"] <= 50


TEXT_EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def distinct(events: tuple[JSON, ...]) -> list[str]:
    types = [event["type"] for event in events if event != "[DONE]"]
    return [kind for position, kind in enumerate(types) if position == 0 or types[position - 1] != kind]


def test_text_streams_in_order() -> None:
    events = respond(stream=True).events
    assert distinct(events) == TEXT_EVENTS
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert (events[0]["response"]["status"], events[0]["response"]["usage"]) == ("in_progress", None)
    whole = respond().body
    assert (
        "".join(e["delta"] for e in events if e["type"].endswith("text.delta"))
        == (whole["output"][-1]["content"][0]["text"])
    )
    assert events[-1]["response"]["usage"] == whole["usage"]
    assert [i["type"] for i in events[-1]["response"]["output"]] == ["reasoning", "message"]


def test_call_streams_in_order() -> None:
    events = respond(stream=True, tools=[FLAT], tool_choice="required").events
    assert distinct(events)[4:] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    done = next(e for e in events if e["type"] == "response.function_call_arguments.done")
    assert done["arguments"] == "".join(e["delta"] for e in events if e["type"].endswith("arguments.delta"))


def test_cut_stream_ends_incomplete() -> None:
    assert respond(stream=True, max_output_tokens=70).events[-1]["type"] == "response.incomplete"


def test_logprobs_and_summary_stream() -> None:
    events = respond(stream=True, top_logprobs=1, reasoning={"summary": "auto"}).events
    assert "response.reasoning_summary_text.delta" in distinct(events)
    assert all(len(e["logprobs"]) == 1 for e in events if e["type"] == "response.output_text.delta")


@pytest.mark.parametrize(
    ("path", "options", "named", "done"),
    [
        pytest.param("/serving-endpoints/responses", {}, True, False, id="responses"),
        pytest.param("/serving-endpoints/v1/responses/", {}, True, False, id="its alias"),
        pytest.param(f"/serving-endpoints/{GPT}/invocations", {}, False, True, id="invocations"),
        pytest.param("/serving-endpoints/responses", {"responses_events": "never"}, False, False, id="never named"),
        pytest.param("/serving-endpoints/responses", {"responses_done": "always"}, True, True, id="always done"),
        pytest.param(
            f"/serving-endpoints/{GPT}/invocations/", {"responses_events": "always"}, True, True, id="always named"
        ),
    ],
)
def test_framing_depends_on_the_route(path: str, options: JSON, named: bool, done: bool) -> None:
    answer = respond(options, path, stream=True)
    assert (b"event: response.created\ndata: " in answer.text) is named
    assert (answer.events[-1] == "[DONE]") is done


@pytest.mark.parametrize("name", [LLAMA, OSS, "databricks-claude-sonnet-4-5"])
def test_other_models_have_no_responses(name: str) -> None:
    assert respond(model=name).message == f"Responses API passthrough is not supported for model {name}"


def test_agents_speak_responses() -> None:
    answer = respond(path="/serving-endpoints/agent/invocations", stream=True)
    assert answer.events[-2]["type"] == "response.completed"
    refused = send("/serving-endpoints/agent/invocations", {"messages": []}, deployments=(AGENT,))
    assert refused.message == "Invalid request: 'messages' field is not supported. Please use 'input' field instead."
