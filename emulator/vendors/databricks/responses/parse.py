"""The Responses API of GPT endpoints and agents: a validated request becomes a call.

Source: Databricks, "Foundation model REST API reference", Responses API; where clients send another shape than
it says (tools, ``text.format``), both are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emulator.core.call import ChatAsk, Sampling
from emulator.core.json import JSON
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest
from emulator.dialects.openai import read_format, read_tool, read_tool_choice
from emulator.vendors.databricks.catalogue import is_agent
from emulator.vendors.databricks.chat.parse import parallel
from emulator.vendors.databricks.decoder import (
    ANY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    Many,
    Struct,
    check_shape,
    either,
    refuse,
)
from emulator.vendors.databricks.reply import Reply
from emulator.vendors.databricks.request import COMMON, Query, find_by_model, refuse_messages
from emulator.vendors.databricks.responses.codec import ResponsesCodec
from emulator.vendors.databricks.responses.input import read_input
from emulator.vendors.databricks.responses.shapes import Told
from emulator.vendors.databricks.sampling import (
    check_output_limit,
    check_positive,
    check_range,
    count,
    limit_output,
    prompt_too_long,
)
from emulator.vendors.databricks.tools import (
    FUNCTION,
    JSON_SCHEMA,
    check_effort,
    check_format,
    check_function,
    check_tool_choice,
    missing,
)

_FORBIDDEN = ("background", "store", "conversation", "service_tier")
_BUILT_IN = frozenset(
    {"custom", "apply_patch", "shell", "local_shell", "image_generation", "mcp", "web_search", "web_search_preview"}
)
_FORMAT = Struct({**JSON_SCHEMA.fields, "type": STRING, "json_schema": JSON_SCHEMA})
_FIELDS = Struct(
    {
        **COMMON,
        **{name: ANY for name in (*_FORBIDDEN, "previous_response_id")},
        "input": either(STRING, Many(ANY)),
        "instructions": STRING,
        "max_output_tokens": INTEGER,
        "temperature": NUMBER,
        "top_p": NUMBER,
        "stream": BOOLEAN,
        "stream_options": Struct({"include_usage": BOOLEAN}),
        "text": Struct({"format": _FORMAT, "verbosity": STRING}),
        "reasoning": Struct({"effort": STRING, "encrypted_content": STRING, "summary": STRING}),
        "tool_choice": either(STRING, OBJECT),
        "tools": Many(OBJECT),
        "parallel_tool_calls": BOOLEAN,
        "max_tool_calls": INTEGER,
        "metadata": OBJECT,
        "prompt_cache_key": STRING,
        "prompt_cache_retention": STRING,
        "safety_identifier": STRING,
        "user": STRING,
        "truncation": STRING,
        "top_logprobs": INTEGER,
        "include": Many(STRING),
        "prompt": OBJECT,
    }
)
_CODEC = ResponsesCodec()


def parse_responses(request: WireRequest, service: Service[Any, Any]) -> Call:
    """``POST /serving-endpoints/responses``."""
    return read_responses(find_by_model(request, service))


def read_responses(query: Query) -> Call:
    """Validate and read a Responses request.

    Raises:
        EmulatedError: what the endpoint refuses.
    """
    deployment = query.deployment
    if not (is_agent(deployment) or query.traits.get("responses_api")):
        raise refuse(f"Responses API passthrough is not supported for model {deployment.name}")  # databricks-ai-bridge
    if query.get("messages") is not None:
        raise refuse_messages()
    query.check("responses", lambda _habits: _FIELDS)
    _check_forbidden(query)
    if query.get("input") in (None, []):
        raise missing("input")
    messages = read_input(query)
    _check_numbers(query)
    tools = _read_tools(query)
    _check_choice(query, tools)
    wanted = _read_format(query)
    check_effort(query, (query.get("reasoning") or {}).get("effort"), "reasoning.effort")
    choice, named = read_tool_choice(query.get("tool_choice"), tools=bool(tools))
    kind, schema = read_format(wanted)
    ask = ChatAsk(
        messages=messages,
        tools=tuple(read_tool(tool) for tool in tools),
        tool_choice=choice if tools else "none",
        tool_name=named,
        parallel=parallel(query),
        format=kind,
        schema=schema,
        reasoning=_read_effort(query),
    )
    return _make_call(query, ask)


def _check_forbidden(query: Query) -> None:
    """What the service has no way to do; a ``null`` asks for nothing. The wording is unverified."""
    names = (*_FORBIDDEN, "previous_response_id") if query.settings.refuse_previous_response_id else _FORBIDDEN
    found = next((name for name, value in query.body.items() if name in names and value is not None), None)
    if found is not None:
        raise refuse(f"Unsupported parameter: '{found}' is not supported with the Responses API on Databricks.", found)


def _check_numbers(query: Query) -> None:
    check_positive(query, "max_output_tokens")
    check_range(query, "temperature", 0, 2)
    check_range(query, "top_p", 0, 1, open_low=not query.settings.top_p_zero)
    if query.get("stream_options") is not None and not query.get("stream"):
        raise refuse("Bad request: stream_options is only allowed when stream is true", "stream_options")
    check_positive(query, "max_tool_calls")
    if len(query.get("metadata", {})) > 16:
        raise refuse("Bad request: metadata can have at most 16 key-value pairs", "metadata")
    top = query.get("top_logprobs")
    if top is not None and not 0 <= top <= 20:
        raise refuse(f"Bad request: top_logprobs must be between 0 and 20, but got {top}", "top_logprobs")
    if query.get("truncation", "auto") not in ("auto", "disabled"):
        raise refuse('Bad request: truncation must be "auto" or "disabled"', "truncation")


def _read_tools(query: Query) -> list[JSON]:
    """The functions among ``tools``, as they were sent."""
    functions = []
    for position, tool in enumerate(query.get("tools", ())):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if kind == "function":
            check_function(query, _read_function(query, tool), position)
            functions.append(tool)
        elif not isinstance(kind, str) or kind not in _BUILT_IN or query.settings.responses_tool_types == "function":
            raise refuse(f'Bad request: tools[{position}].type is not supported; use "function"', "tools")
    most = query.settings.max_tools
    if len(functions) > most:
        raise refuse(f"Bad request: at most {most} tools are supported, but got {len(functions)}", "tools")
    names = _list_names(functions)
    if len(set(names)) < len(names):
        raise refuse("Bad request: tool names must be unique", "tools")
    return functions


def _list_names(tools: list[JSON]) -> list[str]:
    return [str((tool.get("function") or tool)["name"]) for tool in tools]


def _read_function(query: Query, tool: dict[str, JSON]) -> dict[str, JSON]:
    """The function of a tool: in a field of its own, as the reference has it, or flat, as clients send it."""
    allowed = query.settings.responses_tools
    nested = tool.get("function")
    if (nested is None and allowed == "nested") or (nested is not None and allowed == "flat"):
        raise missing("tools.function" if nested is None else "tools.name")
    function: JSON = tool if nested is None else nested
    check_shape(function, FUNCTION, "tools.function", lambda _path, _name: True)
    if not isinstance(function, dict):
        raise missing("tools.function")
    return function


def _check_choice(query: Query, tools: list[JSON]) -> None:
    choice = query.get("tool_choice")
    if tools or choice not in (None, "auto", "none"):
        check_tool_choice(choice, _list_names(tools))


def _read_format(query: Query) -> JSON:
    """``text.format``, brought into the shape that chat has."""
    wanted = (query.get("text") or {}).get("format")
    if wanted is None:
        return None
    allowed = query.settings.responses_format
    nested = wanted.get("json_schema") is not None
    if wanted.get("type") != "json_schema" or (nested and allowed != "flat"):
        check_format(query, wanted, "text.format")
        return wanted
    if nested or allowed == "nested":
        raise missing("text.format.schema" if nested else "text.format.json_schema")
    shape = {"type": "json_schema", "json_schema": wanted}
    check_format(query, shape, "text.format", "text.format")
    return shape


def _read_effort(query: Query) -> str | None:
    """GPT models always think, unless they are told not to."""
    effort = (query.get("reasoning") or {}).get("effort")
    if effort is None and not query.traits.get("reasoning"):
        return None
    return None if effort == "none" else str(effort or "medium")


def _make_call(query: Query, ask: ChatAsk) -> Call:
    wanted = query.get("max_output_tokens")
    check_output_limit(query, "max_output_tokens", wanted)
    counts = count(query, ask)
    context = query.deployment.context
    if context is not None and counts[0] > context:
        if query.get("truncation") != "auto":
            raise prompt_too_long(query, counts[0], "input")
        counts = (context - 1,)  # the oldest items are dropped until an answer fits
    sampling = _read_sampling(query, limit_output(query, wanted, counts[0]))
    return Call(
        request=query.request,
        deployment=query.deployment,
        ask=replace(ask, sampling=sampling),
        codec=_CODEC,
        stream=bool(query.get("stream", False)),
        prompt_tokens=counts,
        context=Reply.of(query, Told.of(query)),
        repeatable=query.repeatable,
    )


def _read_sampling(query: Query, limit: int | None) -> Sampling:
    temperature, top_p = query.get("temperature", 1), query.get("top_p", 1)
    knobs = (("temperature", float(temperature)), ("top_p", float(top_p)))
    top = query.get("top_logprobs")
    if top is None and "message.output_text.logprobs" in query.get("include", ()):
        top = 0
    return Sampling(
        max_tokens=limit,
        greedy=temperature == 0,
        knobs=tuple(knob for knob in knobs if knob[1] != 1.0),
        logprobs=top,
    )
