"""``POST /v1/chat/completions``: from the wire to a call.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatRequest), ``router/src/server.rs`` and
``router/src/infer/tool_grammar.rs``.
"""

from collections.abc import Mapping
from typing import Any

from emulator.core.call import Ask, ChatAsk, CompletionAsk
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects import openai
from emulator.dialects.tgi import check_ready, find_served, serves
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.codec import CHAT, Chat
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.generate.parse import EMPTY, Validated, validate
from emulator.vendors.tgi.grammar import Grammar, grammar_type
from emulator.vendors.tgi.settings import TgiSettings

_CHUNK_TEXT = serde.struct("MessageChunk", (Field("text", serde.string, required=True),))
_URL = serde.struct("Url", (Field("url", serde.string, required=True),))
_CHUNK_IMAGE = serde.struct("MessageChunk", (Field("image_url", _URL, required=True),))
_FUNCTION_NAME = serde.struct("FunctionName", (Field("name", serde.string, required=True),))
_TYPED_CHOICE = serde.struct("TypedChoice", (Field("function", _FUNCTION_NAME, required=True),))


def _chunk(value: JSON) -> JSON:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in ("text", "image_url"):
        raise serde.Mismatch("data did not match any variant of untagged enum MessageContent")
    return (_CHUNK_TEXT if kind == "text" else _CHUNK_IMAGE)(value) | {"type": kind}


_CONTENT = serde.untagged("MessageContent", serde.string, serde.sequence(_chunk))
_FUNCTION = serde.struct(
    "FunctionDefinition",
    (
        Field("description", serde.option(serde.string)),
        Field("name", serde.string, required=True),
        Field("arguments", serde.anything, required=True),
    ),
)


def _function(value: JSON) -> JSON:
    """``FunctionDefinition``: ``arguments``, which may be called ``parameters``."""
    if isinstance(value, dict) and "parameters" in value and "arguments" not in value:
        value = {("arguments" if key == "parameters" else key): inner for key, inner in value.items()}
    return _FUNCTION(value)


_TOOL = serde.struct("Tool", (Field("type", serde.string, required=True), Field("function", _function, required=True)))
_TOOL_CALL = serde.struct(
    "ToolCall",
    (
        Field("id", serde.string, required=True),
        Field("type", serde.string, required=True),
        Field("function", _function, required=True),
    ),
)
_MESSAGE = serde.struct(
    "Message", (Field("role", serde.string, required=True), Field("name", serde.option(serde.string)))
)
_BODY = serde.untagged(
    "MessageBody",
    serde.struct("Content", (Field("content", _CONTENT, required=True),)),
    serde.struct("Tool", (Field("tool_calls", serde.sequence(_TOOL_CALL), required=True),)),
)


def _message(value: JSON) -> JSON:
    """``Message``: a role, and either content or tool calls; with content the calls are not looked at."""
    plain = isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)
    if not plain or "name" in value:
        _MESSAGE(value)
    if not plain:
        plain = "content" in _BODY(value)
    return {**value, "tool_calls": None} if plain and "tool_calls" in value else value


_STREAM_OPTIONS = serde.struct("StreamOptions", (Field("include_usage", serde.boolean, False),))
_TOOL_CHOICE = serde.untagged("ToolTypeDeserializer", serde.option(serde.string), _TYPED_CHOICE)


CHAT_REQUEST = serde.struct(
    "ChatRequest",
    (
        Field("model", serde.option(serde.string)),
        Field("messages", serde.sequence(_message), required=True),
        Field("frequency_penalty", serde.option(serde.f32)),
        Field("logit_bias", serde.option(serde.sequence(serde.f32))),
        Field("logprobs", serde.option(serde.boolean)),
        Field("top_logprobs", serde.option(serde.u32)),
        Field("max_tokens", serde.option(serde.u32)),
        Field("max_completion_tokens", serde.option(serde.u32)),
        Field("n", serde.option(serde.u32)),
        Field("presence_penalty", serde.option(serde.f32)),
        Field("stop", serde.option(serde.sequence(serde.string))),
        Field("stream", serde.boolean, False),
        Field("seed", serde.option(serde.u64)),
        Field("temperature", serde.option(serde.f32)),
        Field("top_p", serde.option(serde.f32)),
        Field("tools", serde.option(serde.sequence(_TOOL))),
        Field("tool_prompt", serde.option(serde.string)),
        Field("tool_choice", _TOOL_CHOICE),
        Field("response_format", serde.option(grammar_type)),
        Field("stream_options", _STREAM_OPTIONS, {"include_usage": False}),
    ),
)


def parse_chat(request: WireRequest, service: Service[TgiSettings, None]) -> Call | WireResponse:
    return parse_chat_body(request, service, serde.read(request, CHAT_REQUEST))


def parse_chat_body(request: WireRequest, service: Service[TgiSettings, None], body: Mapping[str, Any]) -> Call:
    """A read :data:`CHAT_REQUEST`."""
    model = body["model"]
    deployment = check_ready(serves(tuple(service.deployments.values()), model or ""))
    ask = _read_ask(body)
    (count,) = service.count_prompt(ask, deployment)
    shown = bool(body["logprobs"])
    parameters = read_parameters(body)
    valid = validate(service, deployment, "-", parameters, stream=body["stream"], count=count, weighed=shown)
    return Call(
        request=request,
        deployment=deployment,
        ask=_constrain(ask, valid),
        codec=CHAT,
        stream=body["stream"],
        prompt_tokens=(count,),
        context=Chat(
            limit=valid.limit,
            model=find_served(service).name if model in (None, "tgi") else model,
            characters=sum([len(message.text) for message in ask.messages]),
            usage=body["stream_options"]["include_usage"],
            logprobs=shown,
            top=body["top_logprobs"] or 0,
            call_id=_next_call_id(body["messages"]),
        ),
        repeatable=True,
    )


def _read_ask(body: Mapping[str, Any]) -> ChatAsk:
    if body["response_format"] is not None and body["tools"] is not None:
        raise _refuse_tools("Grammar and tools are mutually exclusive")
    tools = tuple([openai.read_tool({"function": _named(tool["function"])}) for tool in body["tools"] or ()])
    choice, name = _read_tool_choice(body["tool_choice"], bool(tools))
    if name is not None and tools and all(tool.name != name for tool in tools):
        raise _refuse_tools(f"Tool with name {name} not found")
    return ChatAsk(
        messages=tuple([openai.read_message(message) for message in body["messages"]]),
        tools=tools if choice != "none" else (),
        tool_choice=choice,
        tool_name=name,
    )


def _named(function: Mapping[str, JSON]) -> Mapping[str, JSON]:
    return {"name": function["name"], "description": function["description"], "parameters": function["arguments"]}


def _read_tool_choice(choice: JSON, offered: bool) -> tuple[openai.ToolChoice, str | None]:
    """Any other string is the name of a tool."""
    if not offered or choice == "none":
        return "none", None
    if choice is None or choice == "auto":
        return "auto", None
    if choice == "required":
        return "required", None
    return "required", choice if isinstance(choice, str) else str(choice["function"]["name"])


def _refuse_tools(text: str) -> EmulatedError:
    """Found before the answer begins, so with a status even where it streams."""
    details = {"streamed": False, "error_type": "tool_error"}
    return EmulatedError(ErrorKind.INVALID_PARAMETER, message=f"Tool error: {text}", param="tools", details=details)


def read_parameters(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of generation that an OpenAI-style request stands for; only temperature 0 is greedy."""
    temperature = body["temperature"]
    presence = body.get("presence_penalty")
    maximum = body["max_tokens"] if body["max_tokens"] is not None else body.get("max_completion_tokens")
    return {
        **EMPTY,
        "temperature": temperature or None,
        "do_sample": temperature != 0.0,
        "repetition_penalty": body.get("repetition_penalty") if presence is None else presence + 2.0,
        "frequency_penalty": body["frequency_penalty"],
        "top_p": body["top_p"],
        "max_new_tokens": maximum,
        "stop": body["stop"] or [],
        "seed": body["seed"],
        "top_n_tokens": body.get("top_logprobs"),
        "grammar": body.get("response_format"),
        "details": True,
    }


def _constrain(ask: ChatAsk, valid: Validated) -> Ask:
    """The ask with its sampling and the form its answer must have."""
    grammar: Grammar | None = valid.grammar
    if grammar is not None and grammar.bare:
        prompt = "\n".join(message.text for message in ask.messages)
        return CompletionAsk(prompts=(prompt,), sampling=valid.sampling, raw=False, schema=grammar.schema, bare=True)
    return ChatAsk(
        messages=ask.messages,
        sampling=valid.sampling,
        tools=ask.tools,
        tool_choice=ask.tool_choice,
        tool_name=ask.tool_name,
        format="text" if grammar is None else "json_schema",
        schema=None if grammar is None else grammar.schema,
    )


def _next_call_id(messages: list[JSON]) -> str | None:
    """Call ids count up from 0 through a conversation; after an id of another kind comes a UUID: ``None``."""
    ids = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    if not ids:
        return "0"
    if not all(text.isascii() and text.isdigit() for text in ids):
        return None
    return str(max(int(text) + 1 for text in ids))
