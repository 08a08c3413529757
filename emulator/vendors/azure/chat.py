"""``POST /chat/completions``: from the wire to an ask."""

from emulator.core.call import Call, ChatAsk, Deployment, Message, Sampling, Tool, ToolCall
from emulator.core.vendor import WireRequest
from emulator.vendors.azure.catalogue import is_openai
from emulator.vendors.azure.extras import ChatExtras, SharedExtras, StrictChatExtras, read_knobs
from emulator.vendors.azure.features import check_features, check_rules, limit_tokens
from emulator.vendors.azure.gate import AzureService, admit, read_extras
from emulator.vendors.azure.parts import Shown
from emulator.vendors.azure.render import CHAT
from emulator.vendors.azure.settings import AzureSettings
from emulator.vendors.azure.wire import (
    ChatMessage,
    ChatRequest,
    Generation,
    NamedToolChoice,
    StrictChatRequest,
    ToolDefinition,
    validate,
)

_KNOWN = frozenset(ChatRequest.model_fields)
_NATIVE = frozenset(ChatExtras.model_fields)
NO_EXTRAS = ChatExtras()
# Fields that change which tokens are sampled, and the values that change nothing.
_KNOBS = (
    ("temperature", (None, 0, 1)),
    ("top_p", (None, 1)),
    ("frequency_penalty", (None, 0)),
    ("presence_penalty", (None, 0)),
)


def parse_chat(request: WireRequest, service: AzureService) -> Call:
    """Validate in the order of the real service: route, body, extra parameters, then what the model can do."""
    settings = service.settings
    deployment, body = admit(request, service, "chat")
    wire = validate(StrictChatRequest if settings.strict_types else ChatRequest, body)
    check_rules(wire, settings)
    handed_on = read_extras(request, service, body, _KNOWN, _NATIVE, deployment)
    extras = NO_EXTRAS
    if handed_on:
        extras = validate(StrictChatExtras if settings.strict_types else ChatExtras, handed_on)
    check_features(wire, deployment, settings)
    messages = tuple([read_message(message) for message in wire.messages])
    tools = tuple([read_tool(tool) for tool in wire.tools]) if wire.tools else ()
    prompt_tokens = service.count_prompt(ChatAsk(messages=messages, tools=tools), deployment)
    requested = wire.max_tokens if extras.max_completion_tokens is None else extras.max_completion_tokens
    limit = limit_tokens(requested, settings.default_max_tokens, deployment, prompt_tokens[0], settings)
    logprobs = (extras.top_logprobs or 0) if extras.logprobs else None
    sampling = read_sampling(wire, extras, limit, logprobs)
    ask = read_ask(wire, extras, messages, tools, sampling, deployment, settings)
    return Call(
        request=request,
        deployment=deployment,
        ask=ask,
        codec=CHAT,
        stream=bool(wire.stream),
        prompt_tokens=prompt_tokens,
        context=_show(ask, extras, deployment, settings),
    )


def _show(ask: ChatAsk, extras: ChatExtras, deployment: Deployment, settings: AzureSettings) -> Shown:
    openai = is_openai(deployment, settings)
    options = extras.stream_options
    return Shown(
        openai=openai,
        usage=not openai or bool(options and options.include_usage),
        named_tool=ask.tool_name is not None,
        filtered=openai and settings.content_filter_results,
        mistral=deployment.traits.get("provider") == "Mistral",
        inline=deployment.traits.get("reasoning") == "inline",
    )


def read_ask(
    wire: ChatRequest,
    extras: ChatExtras,
    messages: tuple[Message, ...],
    tools: tuple[Tool, ...],
    sampling: Sampling,
    deployment: Deployment,
    settings: AzureSettings,
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
        parallel=is_openai(deployment, settings) if parallel is None else parallel,
        format=kind,  # type: ignore[arg-type]  # checked by ResponseFormat
        schema=schema if kind == "json_schema" else None,
        reasoning=_read_reasoning(extras, deployment),
    )


def _read_reasoning(extras: ChatExtras, deployment: Deployment) -> str | None:
    if not deployment.traits.get("reasoning"):
        return None
    effort = extras.reasoning_effort or "medium"
    return None if effort == "none" else effort


def read_message(message: ChatMessage) -> Message:
    """One turn; the payload of a text part may stand under ``text`` or ``content``."""
    content = message.content
    media = 0
    if isinstance(content, list):
        text = "\n".join([part.written for part in content if part.type == "text"])
        media = sum(part.type != "text" for part in content)
    else:
        text = content or ""
    calls = message.tool_calls
    return Message(
        role=message.role,
        text=text,
        media=media,
        tool_calls=()
        if not calls
        else tuple(
            ToolCall(call.id or f"call_{call.function.name}_{position}", call.function.name, call.function.arguments)
            for position, call in enumerate(calls)
        ),
        tool_call_id=message.tool_call_id,
    )


def read_tool(tool: ToolDefinition) -> Tool:
    function = tool.function
    return Tool(name=function.name, description=function.description or "", parameters=function.parameters)


def read_sampling(wire: Generation, extras: SharedExtras, limit: int | None, logprobs: int | None) -> Sampling:
    """How tokens are chosen; a field at its default is as good as absent."""
    knobs = [(name, getattr(wire, name)) for name, default in _KNOBS if getattr(wire, name) not in default]
    stop = wire.stop
    return Sampling(
        max_tokens=limit,
        greedy=wire.temperature == 0 or extras.top_k == 1,
        seed=wire.seed,
        knobs=(*knobs, *(() if extras is NO_EXTRAS else read_knobs(extras))),
        stop=() if not stop else (stop,) if isinstance(stop, str) else tuple([text for text in stop if text]),
        ignore_eos=bool(extras.ignore_eos),
        n=extras.n or 1,
        logprobs=logprobs,
    )
