"""``POST /responses``: from the wire to an ask.

Sources: openai-python, ``types/responses``; learn.microsoft.com, "Azure OpenAI Responses API".
"""

from dataclasses import replace

from emulator.core.call import ChatAsk, Message, Sampling, Tool
from emulator.core.json import JSON, Object, as_array, as_object
from emulator.core.record import record
from emulator.core.seed import draw_hex
from emulator.core.vendor import Call
from emulator.core.wire import WireRequest
from emulator.dialects.openai import Format, ToolChoice, read_tool
from emulator.dialects.responses.shapes import ResponseOptions
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.habits import AzureService
from emulator.vendors.azure.parameters import check_parameters
from emulator.vendors.azure.request import Query, admit
from emulator.vendors.azure.responses.codec import ResponsesCodec
from emulator.vendors.azure.responses.fields import OfferedFunction, ResponseRequest
from emulator.vendors.azure.responses.input import list_items, read_items
from emulator.vendors.azure.responses.kept import find_kept
from emulator.vendors.azure.sampling import limit_tokens
from emulator.vendors.azure.surface import RESPONSES

_KNOWN = frozenset(ResponseRequest.model_fields)
_PLACES = {"reasoning_effort": "reasoning.effort", "verbosity": "text.verbosity"}
_HOSTED = frozenset(
    {
        "custom", "file_search", "web_search", "web_search_preview", "code_interpreter", "image_generation", "mcp",
        "computer", "computer_use_preview", "local_shell", "shell", "apply_patch", "namespace", "tool_search",
    }
)  # fmt: skip
_CHOICES: dict[str, ToolChoice] = {"none": "none", "auto": "auto", "required": "required"}


@record(frozen=True, slots=True, eq=False)
class _Offer:
    """The functions that may be called, which of them must be, and which tools the service would run itself."""

    tools: tuple[Tool, ...]
    choice: ToolChoice
    name: str | None


def parse_responses(request: WireRequest, service: AzureService) -> Call:
    """Validate and read a request; what it goes on from was kept."""
    query = admit(request, service, "chat", RESPONSES, "responses")
    wire = validate(ResponseRequest, query.body)
    _check(wire, query)
    without_effect = check_parameters(_name_as_chat(wire), query.habits, _PLACES)
    before = _recall(wire, request)
    items = list_items(wire.input)
    ask = _read_ask(wire, query, [*before, *items])
    prompt_tokens = service.count_prompt(ask, query.deployment)
    limit = _limit(wire, query, prompt_tokens[0])
    codec = ResponsesCodec(
        habits=query.habits,
        options=_read_options(wire, query),
        items=tuple(items),
        before=tuple(before),
        background=wire.background is True,
        streamed=wire.stream is True,
    )
    return Call(
        deployment=query.deployment,
        ask=replace(ask, sampling=_read_sampling(wire, limit, without_effect)),
        codec=codec,
        stream=wire.stream is True,
        prompt_tokens=prompt_tokens,
        repeatable=wire.previous_response_id is None,
        keep=codec.keep if wire.store is not False else None,
        at_once=codec.background and not codec.streamed,
    )


def _read_ask(wire: ResponseRequest, query: Query, items: list[Object]) -> ChatAsk:
    """The conversation in words no vendor owns."""
    instructions = [Message(role="system", text=wire.instructions)] if wire.instructions else []
    messages = (*instructions, *read_items(items))
    offer = _read_tools(wire, query)
    kind, schema = _read_format(wire, query)
    return ChatAsk(
        messages=messages,
        tools=offer.tools,
        tool_choice=offer.choice,
        tool_name=offer.name,
        parallel=wire.parallel_tool_calls is not False,
        format=kind,
        schema=schema,
        reasoning=_read_effort(wire, query),
    )


def _check(wire: ResponseRequest, query: Query) -> None:
    """Refuse fields that nobody knows, and those that do not go together."""
    unknown = next((name for name in query.fields if name not in _KNOWN), None)
    if unknown is not None:
        raise refusals.contradicts(f"Unknown parameter: '{unknown}'.", unknown, "unknown_parameter")
    if wire.background and wire.store is False:
        text = "Background mode requires 'store' to be true."
        raise refusals.contradicts(text, "background")
    if wire.conversation is not None and wire.previous_response_id is not None:
        text = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Provide only one."
        raise refusals.contradicts(text, "previous_response_id", "mutually_exclusive_parameters")


def _name_as_chat(wire: ResponseRequest) -> Object:
    """The fields that models differ in, by their names in chat; those at their defaults are not asked for."""
    return {
        "temperature": wire.temperature,
        "top_p": wire.top_p,
        "top_logprobs": wire.top_logprobs or None,
        "reasoning_effort": wire.reasoning.effort if wire.reasoning else None,
        "verbosity": wire.text.verbosity if wire.text else None,
    }


def _recall(wire: ResponseRequest, request: WireRequest) -> list[Object]:
    """What was said before, in the responses that this one goes on from."""
    name = wire.previous_response_id
    if name is None:
        return []
    document = find_kept(request.documents, name, request)
    if document is None:
        text = f"Previous response with id '{name}' not found."
        raise refusals.contradicts(text, "previous_response_id", "previous_response_not_found")
    output = as_array(as_object(document["response"])["output"])
    return [as_object(item) for item in (*as_array(document["before"]), *as_array(document["input"]), *output)]


def _read_tools(wire: ResponseRequest, query: Query) -> _Offer:
    functions = [_check_tool(tool, position) for position, tool in enumerate(wire.tools or ())]
    tools = tuple([read_tool(function) for function in functions if function is not None])
    if tools and not query.habits.supports("tools"):
        raise refusals.not_supported(("tools",), [function for function in functions if function])
    given = wire.tool_choice
    if isinstance(given, str):
        if given not in _CHOICES:
            text = f"Invalid value: '{given}'. Supported values are: 'none', 'auto', and 'required'."
            raise refusals.contradicts(text, "tool_choice", "invalid_value")
        choice = _CHOICES[given]
        if choice == "required" and not wire.tools:
            raise refusals.contradicts(
                "Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice"
            )
        return _Offer(tools, choice if tools else "none", None)
    if given is None or given.get("type") not in ("function", "allowed_tools"):
        return _Offer(tools, "auto" if tools else "none", None)
    return _choose(given, tools)


def _choose(given: Object, tools: tuple[Tool, ...]) -> _Offer:
    """The tools that a choice names."""
    if given["type"] == "function":
        names, mode = [given.get("name")], "required"
    else:
        named = given.get("tools")
        names = [as_object(tool).get("name") for tool in named] if isinstance(named, list) else []
        mode = "required" if given.get("mode") == "required" else "auto"
    missing = next((name for name in names if name not in [tool.name for tool in tools]), None)
    if missing is not None:
        raise refusals.contradicts(f"Tool choice '{missing}' not found in 'tools' parameter.", "tool_choice")
    chosen = tuple([tool for tool in tools if tool.name in names])
    if given["type"] == "function":
        return _Offer(tools, "required", chosen[0].name)
    return _Offer(chosen, _CHOICES[mode], None)


def _check_tool(tool: Object, position: int) -> Object | None:
    """A function; ``None`` for a tool that the service runs itself, which nothing does here."""
    kind = tool.get("type")
    if kind != "function":
        if kind in _HOSTED:
            return None
        text = f"Invalid value: '{kind}'. Supported values are: 'function', {', '.join(map(repr, sorted(_HOSTED)))}."
        raise refusals.contradicts(text, f"tools[{position}].type", "invalid_value")
    validate(OfferedFunction, tool, ("tools", position))
    return tool


def _read_format(wire: ResponseRequest, query: Query) -> tuple[Format, JSON]:
    wanted = wire.text.format if wire.text else None
    if wanted is None:
        return "text", None
    feature = "json" if wanted.type == "json_object" else wanted.type
    if not query.habits.supports(feature):
        raise refusals.not_supported(("text", "format"), wanted.type)
    if wanted.type != "json_schema":
        return wanted.type, None
    for name in ("name", "schema"):
        if (wanted.name if name == "name" else wanted.schema_) is None:
            path = f"text.format.{name}"
            raise refusals.contradicts(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")
    return "json_schema", wanted.schema_


def _read_effort(wire: ResponseRequest, query: Query) -> str | None:
    if not query.habits.reasoning:
        return None
    effort = (wire.reasoning.effort if wire.reasoning else None) or "medium"
    return None if effort == "none" else effort


def _limit(wire: ResponseRequest, query: Query, prompt_tokens: int) -> int | None:
    """Most tokens of the answer; with ``truncation: auto`` the oldest items are dropped until one fits."""
    context = query.deployment.context
    if wire.truncation == "auto" and context is not None:
        prompt_tokens = min(prompt_tokens, context - (wire.max_output_tokens or 1))
    default = query.habits.default_tokens
    return limit_tokens(wire.max_output_tokens, default, query.deployment, prompt_tokens, query.settings)


def _read_sampling(wire: ResponseRequest, limit: int | None, without_effect: list[str]) -> Sampling:
    values: list[tuple[str, JSON]] = [("temperature", wire.temperature), ("top_p", wire.top_p)]
    knobs = tuple([knob for knob in values if knob[1] not in (None, 1) and knob[0] not in without_effect])
    top = wire.top_logprobs
    if top is None and "message.output_text.logprobs" in (wire.include or ()):
        top = 0
    greedy = wire.temperature == 0 and "temperature" not in without_effect
    return Sampling(max_tokens=limit, greedy=greedy, knobs=() if greedy else knobs, logprobs=top)


def _read_options(wire: ResponseRequest, query: Query) -> ResponseOptions:
    thinking = wire.reasoning
    return ResponseOptions(
        model=query.habits.model,
        draw_id=_draw_id,
        echo=_read_echo(wire, query),
        chat_usage=False,
        stream_usage=True,
        events=True,
        done=False,
        summary=thinking is not None and (thinking.summary or thinking.generate_summary) is not None,
        encrypted="reasoning.encrypted_content" in (wire.include or ()),
        queued=wire.background is True,
    )


def _draw_id(key: bytes) -> str:
    return f"resp_{draw_hex(key, 'response')}{draw_hex(key, 'response', 'end', digits=18)}"


def _read_echo(wire: ResponseRequest, query: Query) -> Object:
    """The request's own fields in the order of a response object, with their defaults."""
    thinking = wire.reasoning
    effort = _read_effort(wire, query) or (thinking.effort if thinking else None)
    text: Object = {"format": {"type": "text"}, "verbosity": "medium", **_given(query.fields.get("text"))}
    return {
        "background": wire.background is True,
        "instructions": wire.instructions,
        "max_output_tokens": wire.max_output_tokens,
        "max_tool_calls": wire.max_tool_calls,
        "parallel_tool_calls": wire.parallel_tool_calls is not False,
        "previous_response_id": wire.previous_response_id,
        "prompt_cache_key": wire.prompt_cache_key,
        "reasoning": {"effort": effort, "summary": thinking.summary if thinking else None},
        "safety_identifier": wire.safety_identifier,
        "service_tier": "default" if wire.service_tier in (None, "auto") else wire.service_tier,
        "store": wire.store is not False,
        "temperature": 1.0 if wire.temperature is None else wire.temperature,
        "text": text,
        "tool_choice": wire.tool_choice or "auto",
        "tools": wire.tools or [],
        "top_logprobs": wire.top_logprobs or 0,
        "top_p": 1.0 if wire.top_p is None else wire.top_p,
        "truncation": wire.truncation or "disabled",
        "user": wire.user,
        "metadata": wire.metadata or {},
    }


def _given(value: JSON) -> Object:
    return {name: member for name, member in as_object(value).items() if member is not None} if value else {}
