"""``POST /chat/completions``: from the wire to an ask."""

from emulator.core.call import ChatAsk, Message, Sampling, Tool
from emulator.core.vendor import Call
from emulator.core.wire import WireRequest
from emulator.vendors.azure.chat.codec import ChatCodec
from emulator.vendors.azure.chat.fields import ChatRequest, StrictChatRequest
from emulator.vendors.azure.chat.messages import read_message
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.extras import NO_EXTRAS, ChatExtras, StrictChatExtras
from emulator.vendors.azure.features import check_features, check_rules
from emulator.vendors.azure.habits import AzureService, Habits
from emulator.vendors.azure.request import Query, admit, read_extras
from emulator.vendors.azure.sampling import limit_tokens, read_sampling
from emulator.vendors.azure.tools import read_choice, read_tool

_KNOWN = frozenset(ChatRequest.model_fields)
_NATIVE = frozenset(ChatExtras.model_fields)
_TOOLING = frozenset({"tools", "tool_choice", "response_format"})


def parse_chat(request: WireRequest, service: AzureService) -> Call:
    """Validate in the order of the real service: route, body, extra parameters, then what the model can do."""
    query = admit(request, service, "chat")
    settings, deployment, habits = query.settings, query.deployment, query.habits
    wire = validate(StrictChatRequest if settings.strict_types else ChatRequest, query.body)
    check_rules(wire, settings)
    extras = _read_extras(query)
    check_features(wire, deployment)
    messages = tuple([read_message(message) for message in wire.messages])
    tools = tuple([read_tool(tool) for tool in wire.tools]) if wire.tools else ()
    prompt_tokens = service.count_prompt(ChatAsk(messages=messages, tools=tools), deployment)
    requested = wire.max_tokens if extras.max_completion_tokens is None else extras.max_completion_tokens
    limit = limit_tokens(requested, habits.default_tokens, deployment, prompt_tokens[0], settings)
    logprobs = (extras.top_logprobs or 0) if extras.logprobs else None
    sampling = read_sampling(wire, extras, limit, logprobs)
    if extras is NO_EXTRAS and _TOOLING.isdisjoint(query.fields) and not habits.reasoning:
        ask = ChatAsk(messages=messages, sampling=sampling, parallel=habits.openai)
    else:
        ask = _read_ask(wire, extras, messages, tools, sampling, habits)
    usage = not habits.openai or extras.include_usage
    return Call(
        deployment=deployment,
        ask=ask,
        codec=ChatCodec(habits=habits, usage=usage, named_tool=ask.tool_name is not None),
        stream=wire.stream is True,
        prompt_tokens=prompt_tokens,
        repeatable=True,
    )


def _read_extras(query: Query) -> ChatExtras:
    if "extra-parameters" not in query.request.headers and _KNOWN.issuperset(query.fields):
        return NO_EXTRAS
    handed_on = read_extras(query, _KNOWN, _NATIVE)
    if not handed_on:
        return NO_EXTRAS
    return validate(StrictChatExtras if query.settings.strict_types else ChatExtras, handed_on)


def _read_ask(
    wire: ChatRequest,
    extras: ChatExtras,
    messages: tuple[Message, ...],
    tools: tuple[Tool, ...],
    sampling: Sampling,
    habits: Habits,
) -> ChatAsk:
    """The conversation in words no vendor owns."""
    choice, name = read_choice(wire, tools)
    wanted = wire.response_format
    parallel = extras.parallel_tool_calls
    return ChatAsk(
        messages=messages,
        sampling=sampling,
        tools=tools,
        tool_choice=choice,
        tool_name=name,
        parallel=habits.openai if parallel is None else parallel,
        format="text" if wanted is None else wanted.kind,
        schema=None if wanted is None else wanted.wanted_schema,
        reasoning=_read_reasoning(extras, habits),
    )


def _read_reasoning(extras: ChatExtras, habits: Habits) -> str | None:
    if not habits.reasoning:
        return None
    effort = extras.reasoning_effort or "medium"
    return None if effort == "none" else effort
