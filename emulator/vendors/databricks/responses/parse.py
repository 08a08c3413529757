"""``POST /serving-endpoints/responses``: validate a request, convert it to the core's chat request; render responses.

Source: Databricks, "Foundation model REST API reference", Responses API; where clients send another shape than
it has (tools, ``text.format``), both are accepted. Deltas have no ``obfuscation``, of which the reference has no word:
unverified.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_number, as_object, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest, Sampling, Tool
from emulator.protocols.openai.messages import parse_format, parse_tool, parse_tool_choice
from emulator.protocols.openai.responses import (
    ResponseOptions,
    build_echo,
    build_response,
    find_top_logprobs,
    stream_response,
)
from emulator.protocols.shapes import OPENAI_MEMBERS, format_path
from emulator.vendors.databricks.chat.fields import COMMON, FUNCTION, JSON_SCHEMA
from emulator.vendors.databricks.chat.shapes import count_cached, draw_response_id
from emulator.vendors.databricks.decoder import (
    ANY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    Many,
    Struct,
    either,
    error_parameter,
    validate_shape,
)
from emulator.vendors.databricks.headers import answer_headers
from emulator.vendors.databricks.profile import DatabricksService, RenderOptions
from emulator.vendors.databricks.request import ParsedRequest, error_messages, find_by_model
from emulator.vendors.databricks.responses.custom_tools import is_custom, name_choice, parse_offer
from emulator.vendors.databricks.responses.input import parse_input
from emulator.vendors.databricks.sampling import (
    count_prompts,
    error_length,
    limit_output,
    validate_alternatives,
    validate_output_limit,
    validate_positive,
    validate_range,
)
from emulator.vendors.databricks.settings import DatabricksSettings
from emulator.vendors.databricks.tools import (
    error_missing,
    takes_parallel,
    validate_effort,
    validate_format,
    validate_function,
    validate_tool_choice,
)

_FORBIDDEN = ("background", "store", "conversation", "service_tier")
_BUILT_IN_TYPES = frozenset(
    {"custom", "apply_patch", "shell", "local_shell", "image_generation", "mcp", "web_search", "web_search_preview"}
)
_FORMAT = Struct({**JSON_SCHEMA, "type": STRING, "json_schema": Struct(JSON_SCHEMA)})
FIELDS = Struct(
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
_OWN: Mapping[str, Sequence[str]] = {
    "text": ("format",),
    "reasoning": ("encrypted_content",),
    "stream_options": ("include_usage",),
}
"""Members that Databricks has in objects whose other members are OpenAI's."""


def parse_responses(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST /serving-endpoints/responses``."""
    return parse_response_request(find_by_model(request, service))


def parse_response_request(parsed: ParsedRequest) -> InferenceCall:
    deployment = parsed.deployment
    if not parsed.profile.responds:
        raise error_parameter(
            f"Responses API passthrough is not supported for model {deployment.name}"
        )  # databricks-ai-bridge
    if parsed.get("messages") is not None:
        raise error_messages()
    parsed.check(FIELDS)
    _validate_supported(parsed)
    if parsed.get("input") in (None, []):
        raise error_missing("input")
    messages = parse_input(parsed)
    _validate_members(parsed)
    _validate_numbers(parsed)
    tools = _parse_tools(parsed)
    _validate_choice(parsed, tools)
    kind, schema = parse_format(_parse_format(parsed))
    validate_effort(parsed, parsed.get_object("reasoning").get("effort"), "reasoning.effort")
    choice, named = parse_tool_choice(parsed.get("tool_choice"), tools=bool(tools))
    chat_request = ChatRequest(
        messages=messages,
        tools=tuple(parse_offer(tool, f"tools[{position}]") for position, tool in enumerate(tools)),
        tool_choice=choice if tools else "none",
        tool_name=named,
        parallel=takes_parallel(parsed),
        format=kind,
        schema=schema,
        reasoning=_parse_effort(parsed),
    )
    return _build_call(parsed, chat_request)


def _validate_members(parsed: ParsedRequest) -> None:
    """Raise for a member of the body, an item or a tool that OpenAI's models do not have, in their words.

    Source: databricks-langchain and databricks-ai-bridge for ``status``; of other members unverified.
    """
    if parsed.family != "gpt" or not parsed.settings.responses_strict_members:
        return
    _validate_names(parsed.body)
    given = parsed.body["input"]
    for field, listed in (("input", given if isinstance(given, list) else []), ("tools", parsed.get_array("tools"))):
        for position, member in enumerate(listed):
            if field == "tools" and isinstance(member, dict) and "function" in member:
                continue  # nested, as the reference has it
            found = OPENAI_MEMBERS.find_misfit("item" if field == "input" else "tool", member, (field, position))
            if found is not None and found.kind == "unknown":
                path = format_path(found.path)
                raise error_parameter(f"Unknown parameter: '{path}'.", path)


def _validate_names(body: Object) -> None:
    """Raise for an unknown member of the body or of an object that has members of OpenAI and of Databricks."""
    for name, value in body.items():
        if value is None or (name in FIELDS.fields and name not in _OWN):
            continue
        own = _OWN.get(name, ())
        rest = {key: inner for key, inner in value.items() if key not in own} if isinstance(value, dict) else value
        found = OPENAI_MEMBERS.find_misfit("responses", {name: rest})
        if found is not None and found.kind == "unknown":
            path = format_path(found.path)
            raise error_parameter(f"Unknown parameter: '{path}'.", path)


def _validate_supported(parsed: ParsedRequest) -> None:
    """Raise for parameters that the service does not support; ``null`` is accepted. The wording is unverified."""
    names = (*_FORBIDDEN, "previous_response_id") if parsed.settings.refuse_previous_response_id else _FORBIDDEN
    found = next((name for name, value in parsed.body.items() if name in names and value is not None), None)
    if found is not None:
        raise error_parameter(
            f"Unsupported parameter: '{found}' is not supported with the Responses API on Databricks.", found
        )


def _validate_numbers(parsed: ParsedRequest) -> None:
    validate_positive(parsed, "max_output_tokens")
    validate_range(parsed, "temperature", 0, 2)
    validate_range(parsed, "top_p", 0, 1, open_low=not parsed.settings.top_p_zero)
    if parsed.get("stream_options") is not None and not parsed.get("stream"):
        raise error_parameter("Bad request: stream_options is only allowed when stream is true", "stream_options")
    validate_positive(parsed, "max_tool_calls")
    if len(parsed.get_object("metadata")) > 16:
        raise error_parameter("Bad request: metadata can have at most 16 key-value pairs", "metadata")
    validate_alternatives(parsed)
    if parsed.get("truncation", "auto") not in ("auto", "disabled"):
        raise error_parameter('Bad request: truncation must be "auto" or "disabled"', "truncation")


def _parse_tools(parsed: ParsedRequest) -> list[Object]:
    """Return the functions and custom tools of ``tools`` as sent."""
    functions: list[Object] = []
    for position, tool in enumerate(parsed.get_array("tools")):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if isinstance(tool, dict) and kind == "function":
            validate_function(parsed, _parse_function(parsed, tool), position)
            functions.append(tool)
        elif isinstance(tool, dict) and is_custom(parsed, tool):
            functions.append(tool)
        elif (
            not isinstance(kind, str)
            or kind not in _BUILT_IN_TYPES
            or parsed.settings.responses_tool_types == "function"
        ):
            raise error_parameter(f'Bad request: tools[{position}].type is not supported; use "function"', "tools")
    limit_of_tools = parsed.settings.max_tools
    if len(functions) > limit_of_tools:
        raise error_parameter(
            f"Bad request: at most {limit_of_tools} tools are supported, but got {len(functions)}", "tools"
        )
    names = _list_names(functions)
    if len(set(names)) < len(names):
        raise error_parameter("Bad request: tool names must be unique", "tools")
    return functions


def _list_names(tools: list[Object]) -> list[str]:
    return [parse_tool(tool).name for tool in tools]


def _parse_function(parsed: ParsedRequest, tool: Object) -> Object:
    """Return the function of a tool: nested, as in the reference, or flat, as clients send it."""
    allowed = parsed.settings.responses_tools
    nested = tool.get("function")
    if (nested is None and allowed == "nested") or (nested is not None and allowed == "flat"):
        raise error_missing("tools.function" if nested is None else "tools.name")
    function = tool if nested is None else nested
    validate_shape(function, FUNCTION, "tools.function", lambda _path, _name: True)
    return as_object(function)


def _validate_choice(parsed: ParsedRequest, tools: list[Object]) -> None:
    choice = name_choice(parsed, parsed.get("tool_choice"))
    if tools or choice not in (None, "auto", "none"):
        validate_tool_choice(choice, _list_names(tools))


def _parse_format(parsed: ParsedRequest) -> JSON:
    """Return ``text.format`` in chat's shape."""
    given = parsed.get_object("text").get("format")
    if given is None:
        return None
    requested = as_object(given)
    allowed = parsed.settings.responses_format
    nested = requested.get("json_schema") is not None
    if requested.get("type") != "json_schema" or (nested and allowed != "flat"):
        validate_format(parsed, requested, "text.format")
        return requested
    if nested or allowed == "nested":
        raise error_missing("text.format.schema" if nested else "text.format.json_schema")
    shape: Object = {"type": "json_schema", "json_schema": requested}
    validate_format(parsed, shape, "text.format", "text.format")
    return shape


def _parse_effort(parsed: ParsedRequest) -> str | None:
    """Return the reasoning effort; GPT models always reason unless the effort is ``none``."""
    effort = parsed.get_object("reasoning").get("effort")
    if effort is None and not parsed.traits.get("reasoning"):
        return None
    return None if effort == "none" else str(effort or "medium")


def _build_call(parsed: ParsedRequest, chat_request: ChatRequest) -> InferenceCall:
    requested = parsed.get_integer("max_output_tokens")
    validate_output_limit(parsed, "max_output_tokens", requested)
    counts = count_prompts(parsed, chat_request)
    context = parsed.deployment.context
    if context is not None and counts[0] > context:
        if parsed.get("truncation") != "auto":
            raise error_length(parsed.profile, counts[0], "input")
        counts = (context - 1,)  # the oldest items are dropped until an answer fits
    sampling = _parse_sampling(parsed, limit_output(parsed.profile, requested, counts[0]))
    return InferenceCall(
        deployment=parsed.deployment,
        request=replace(chat_request, sampling=sampling),
        codec=ResponsesCodec(
            parsed.settings, _build_options(parsed, chat_request.tools), parsed.served, parsed.profile.style
        ),
        stream=bool(parsed.get("stream", False)),
        prompt_tokens=counts,
        repeatable=parsed.repeatable,
        served=parsed.served,
    )


def _parse_sampling(parsed: ParsedRequest, limit: int | None) -> Sampling:
    temperature, top_p = as_number(parsed.get("temperature", 1)), as_number(parsed.get("top_p", 1))
    parameters = (("temperature", float(temperature)), ("top_p", float(top_p)))
    return Sampling(
        max_tokens=limit,
        greedy=temperature == 0,
        parameters=tuple([parameter for parameter in parameters if parameter[1] != 1.0]),
        logprobs=find_top_logprobs(parsed.get_integer("top_logprobs"), parsed.get_array("include")),
    )


def _build_options(parsed: ParsedRequest, tools: tuple[Tool, ...]) -> ResponseOptions:
    settings = parsed.settings
    direct = parsed.request.path.rstrip("/").endswith("/invocations")
    return ResponseOptions(
        model=parsed.profile.style.model,
        draw_id=draw_response_id,
        echo=_build_echo(parsed),
        chat_usage=settings.responses_usage == "both",
        stream_usage=settings.responses_always_usage or bool(parsed.wants_usage()),
        events=settings.responses_events == "always" or (settings.responses_events == "by-route" and not direct),
        done=settings.responses_done == "always" or (settings.responses_done == "by-route" and direct),
        summary=parsed.get_object("reasoning").get("summary") is not None or parsed.family != "gpt",
        encrypted="reasoning.encrypted_content" in parsed.get_array("include"),
        customs=frozenset([tool.name for tool in tools if tool.bare]),
    )


def _build_echo(parsed: ParsedRequest) -> Object:
    reasoning = parsed.get_object("reasoning")
    own: Object = {
        "previous_response_id": None,
        "reasoning": {"effort": reasoning.get("effort", "medium"), "summary": reasoning.get("summary")},
        "store": False,
    }
    return build_echo(parsed.body, own, without=("conversation", "prompt"))


@fast_dataclass(frozen=True, slots=True, eq=False)
class ResponsesCodec:
    """Codec that renders the plan of a chat as a response object; ``served``: the served entity that answers."""

    settings: DatabricksSettings
    options: ResponseOptions
    served: str
    style: RenderOptions

    def render(self, plan: Plan, request: Request) -> Response:
        body = build_response(count_cached(plan, self.style, request.attempt, marked=False), self.options)
        return Response(200, dump_json(body), answer_headers(request, self.settings, self.served))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        events = stream_response(count_cached(plan, self.style, request.attempt, marked=False), self.options)
        return StreamingResponse(events, answer_headers(request, self.settings, self.served, stream=True))
