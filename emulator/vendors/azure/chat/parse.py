"""``POST /chat/completions``: from the wire to an ask."""

from emulator.core.call import ChatAsk, Deployment, Message, Sampling, Tool, ToolCall
from emulator.core.json import JSON
from emulator.core.vendor import Call
from emulator.core.wire import WireRequest
from emulator.vendors.azure.chat.codec import CHAT
from emulator.vendors.azure.chat.fields import (
    CalledTool,
    ChatMessage,
    ChatRequest,
    Generation,
    NamedToolChoice,
    StrictChatRequest,
    ToolDefinition,
    validate,
)
from emulator.vendors.azure.extras import ChatExtras, SharedExtras, StrictChatExtras, read_knobs
from emulator.vendors.azure.features import check_features, check_rules, limit_tokens
from emulator.vendors.azure.habits import Nature, nature_of
from emulator.vendors.azure.request import AzureService, admit, read_extras

_KNOWN = frozenset(ChatRequest.model_fields)
_NATIVE = frozenset(ChatExtras.model_fields)
NO_EXTRAS = ChatExtras()
_TOOLING = frozenset({"tools", "tool_choice", "response_format"})


def parse_chat(request: WireRequest, service: AzureService) -> Call:
    """Validate in the order of the real service: route, body, extra parameters, then what the model can do."""
    settings = service.settings
    deployment, body = admit(request, service, "chat")
    wire = validate(StrictChatRequest if settings.strict_types else ChatRequest, body)
    check_rules(wire, settings)
    extras = _read_extras(request, service, body, deployment)
    check_features(wire, deployment, settings)
    nature = nature_of(deployment, settings)
    messages = tuple([read_message(message) for message in wire.messages])
    tools = tuple([read_tool(tool) for tool in wire.tools]) if wire.tools else ()
    prompt_tokens = service.count_prompt(ChatAsk(messages=messages, tools=tools), deployment)
    requested = wire.max_tokens if extras.max_completion_tokens is None else extras.max_completion_tokens
    limit = limit_tokens(requested, nature.default_tokens, deployment, prompt_tokens[0], settings)
    logprobs = (extras.top_logprobs or 0) if extras.logprobs else None
    sampling = read_sampling(wire, extras, limit, logprobs)
    options = extras.stream_options
    usage = not nature.openai or (options is not None and bool(options.include_usage))
    if extras is NO_EXTRAS and _TOOLING.isdisjoint(body) and not nature.reasoning:
        ask = ChatAsk(messages=messages, sampling=sampling, parallel=nature.openai)
    else:
        ask = read_ask(wire, extras, messages, tools, sampling, nature)
    return Call(
        request=request,
        deployment=deployment,
        ask=ask,
        codec=CHAT,
        stream=wire.stream is True,
        prompt_tokens=prompt_tokens,
        context=nature.shown[usage][ask.tool_name is not None],
        repeatable=True,
    )


def _read_extras(request: WireRequest, service: AzureService, body: JSON, deployment: Deployment) -> ChatExtras:
    if "extra-parameters" not in request.headers and _KNOWN.issuperset(body):
        return NO_EXTRAS
    handed_on = read_extras(request, service, body, _KNOWN, _NATIVE, deployment)
    if not handed_on:
        return NO_EXTRAS
    return validate(StrictChatExtras if service.settings.strict_types else ChatExtras, handed_on)


def read_ask(
    wire: ChatRequest,
    extras: ChatExtras,
    messages: tuple[Message, ...],
    tools: tuple[Tool, ...],
    sampling: Sampling,
    nature: Nature,
) -> ChatAsk:
    """The conversation in words no vendor owns."""
    choice = wire.tool_choice
    named = choice.function.name if isinstance(choice, NamedToolChoice) else None
    mode = "required" if isinstance(choice, NamedToolChoice) else choice or ("auto" if tools else "none")
    wanted = wire.response_format
    kind = "text" if wanted is None else wanted.type
    schema = wanted.json_schema.schema_ if wanted is not None and wanted.json_schema is not None else None
    parallel = extras.parallel_tool_calls
    return ChatAsk(
        messages=messages,
        sampling=sampling,
        tools=tools,
        tool_choice=mode,
        tool_name=named,
        parallel=nature.openai if parallel is None else parallel,
        format=kind,  # type: ignore[arg-type]  # checked by ResponseFormat
        schema=schema if kind == "json_schema" else None,
        reasoning=_read_reasoning(extras, nature),
    )


def _read_reasoning(extras: ChatExtras, nature: Nature) -> str | None:
    if not nature.reasoning:
        return None
    effort = extras.reasoning_effort or "medium"
    return None if effort == "none" else effort


def read_message(message: ChatMessage) -> Message:
    """One turn; the payload of a text part may stand under ``text`` or ``content``."""
    content = message.content
    calls = message.tool_calls
    if isinstance(content, str) and calls is None and message.tool_call_id is None:
        return Message(role=message.role, text=content)
    media = 0
    if isinstance(content, list):
        text = "\n".join([part.written for part in content if part.type == "text"])
        media = sum([part.type != "text" for part in content])
    else:
        text = content or ""
    return Message(
        role=message.role,
        text=text,
        media=media,
        tool_calls=tuple([read_call(call, position) for position, call in enumerate(calls or ())]),
        tool_call_id=message.tool_call_id,
    )


def read_call(call: CalledTool, position: int) -> ToolCall:
    """A call made before; one without an id gets the container's. Source: azureml-assets, foundation/model/serve."""
    function = call.function
    return ToolCall(call.id or f"call_{function.name}_{position}", function.name, function.arguments)


def read_tool(tool: ToolDefinition) -> Tool:
    function = tool.function
    return Tool(name=function.name, description=function.description or "", parameters=function.parameters)


def read_sampling(wire: Generation, extras: SharedExtras, limit: int | None, logprobs: int | None) -> Sampling:
    """How tokens are chosen; a field at its default is as good as absent."""
    knobs: list[tuple[str, JSON]] = []
    temperature = wire.temperature
    if temperature not in (None, 0, 1):
        knobs.append(("temperature", temperature))
    if wire.top_p not in (None, 1):
        knobs.append(("top_p", wire.top_p))
    if wire.frequency_penalty:
        knobs.append(("frequency_penalty", wire.frequency_penalty))
    if wire.presence_penalty:
        knobs.append(("presence_penalty", wire.presence_penalty))
    stop = () if wire.stop is None else _read_stop(wire.stop)
    greedy = temperature == 0
    if extras is NO_EXTRAS:
        return Sampling(max_tokens=limit, greedy=greedy, seed=wire.seed, knobs=tuple(knobs), stop=stop)
    return Sampling(
        max_tokens=limit,
        greedy=greedy or extras.top_k == 1,
        seed=wire.seed,
        knobs=(*knobs, *read_knobs(extras)),
        stop=stop,
        ignore_eos=bool(extras.ignore_eos),
        n=extras.n or 1,
        logprobs=logprobs,
    )


def _read_stop(stop: str | list[str]) -> tuple[str, ...]:
    return tuple([text for text in ((stop,) if isinstance(stop, str) else stop) if text])
