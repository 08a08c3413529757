"""``POST /chat/completions``: from the wire to an ask."""

from dataclasses import replace

from emulator.core.http import Request
from emulator.core.requests import ChatRequest, Message, Sampling, Tool
from emulator.core.vendor import InferenceCall
from emulator.vendors.azure.chat.audio import AudioFormat, read_format
from emulator.vendors.azure.chat.features import check_features, check_rules
from emulator.vendors.azure.chat.messages import read_message
from emulator.vendors.azure.chat.models import ChatBody, StrictChatRequest
from emulator.vendors.azure.chat.openai_models import (
    NATIVE,
    NO_OPENAI_EXTRAS,
    OpenAIChatBody,
    OpenAIChatExtras,
    check_combinations,
    check_schemas,
)
from emulator.vendors.azure.chat.render import ChatCodec
from emulator.vendors.azure.chat.stored import keep_completion
from emulator.vendors.azure.chat.tools import list_customs, read_choice, read_tool, read_tools
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.extra_parameters import NO_EXTRAS, ChatExtras, StrictChatExtras, check_parameters
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, admit, read_extras
from emulator.vendors.azure.sampling import check_output, limit_tokens, read_sampling

_KNOWN = frozenset(ChatBody.model_fields)
_OF_MODELS = frozenset(ChatExtras.model_fields)
_TOOLING = frozenset({"tools", "tool_choice", "response_format", "functions", "function_call"})


def parse_chat(request: Request, service: AzureService) -> InferenceCall:
    """Validate in the order of the real service: route, body, extra parameters, then what the model can do."""
    query = admit(request, service, "chat")
    deployment, habits = query.deployment, query.habits
    wire, extras = (_read_openai if habits.openai else _read_inference)(query)
    if habits.parameters:
        _obey(wire, extras, check_parameters(query.fields, habits))
    check_features(wire, habits)
    if isinstance(extras, OpenAIChatExtras):
        check_combinations(wire, extras)
        check_schemas(wire)
    messages = tuple([read_message(message) for message in wire.messages])
    tools = read_tools(wire) or _read_functions(extras)
    count = service.count_chat(messages, tools, deployment)
    limit = _limit(wire, extras, query, count)
    logprobs = (extras.top_logprobs or 0) if extras.logprobs else None
    sampling = read_sampling(wire, extras, limit, logprobs)
    if not extras.model_fields_set and _TOOLING.isdisjoint(query.fields) and not habits.reasoning:
        ask = ChatRequest(messages=messages, sampling=sampling, parallel=habits.openai)
    else:
        ask = _read_ask(wire, extras, messages, tools, sampling, habits)
    codec = ChatCodec(
        habits=habits,
        usage=not habits.openai or extras.include_usage,
        named_tool=ask.tool_name is not None,
        functions=isinstance(extras, OpenAIChatExtras) and bool(extras.functions),
        customs=list_customs(tools),
        audio=_read_audio(wire, extras),
    )
    return InferenceCall(
        deployment=deployment,
        request=ask,
        codec=codec,
        stream=wire.stream is True,
        prompt_tokens=(count,),
        repeatable=True,
        store_result=keep_completion(codec, query.fields)
        if isinstance(extras, OpenAIChatExtras) and extras.store
        else None,
    )


def _limit(wire: ChatBody, extras: ChatExtras, query: ParsedRequest, prompt_tokens: int) -> int | None:
    """Most tokens of the answer, by either name."""
    deployment, habits = query.deployment, query.habits
    requested = wire.max_tokens if extras.max_completion_tokens is None else extras.max_completion_tokens
    if habits.openai:
        check_output(requested, deployment, habits)
    return limit_tokens(requested, habits.default_tokens, deployment, prompt_tokens, query.settings)


def _read_inference(query: ParsedRequest) -> tuple[ChatBody, ChatExtras]:
    """A body as Model Inference takes it."""
    settings = query.settings
    wire = validate(StrictChatRequest if settings.strict_types else ChatBody, query.body)
    check_rules(wire, settings)
    if "extra-parameters" not in query.request.headers and _KNOWN.issuperset(query.fields):
        return wire, NO_EXTRAS
    handed_on = read_extras(query, _KNOWN, _OF_MODELS)
    if not handed_on:
        return wire, NO_EXTRAS
    return wire, validate(StrictChatExtras if settings.strict_types else ChatExtras, handed_on)


def _read_openai(query: ParsedRequest) -> tuple[OpenAIChatBody, OpenAIChatExtras]:
    """A body as Azure OpenAI takes it."""
    wire = validate(OpenAIChatBody, query.body)
    check_rules(wire, query.settings)
    extras = NO_OPENAI_EXTRAS
    if "extra-parameters" in query.request.headers or not _KNOWN.issuperset(query.fields):
        handed_on = read_extras(query, _KNOWN, NATIVE)
        extras = validate(OpenAIChatExtras, handed_on) if handed_on else extras
    return wire, extras


def _read_audio(wire: ChatBody, extras: ChatExtras) -> AudioFormat | None:
    """How an answer sounds that is to be heard; to Model Inference it is no field of its own."""
    if not wire.modalities or "audio" not in wire.modalities:
        return None
    if not isinstance(extras, OpenAIChatExtras):
        return "wav"
    if extras.audio is None:
        text = "Missing required parameter: 'audio'."
        raise refusals.contradicts(text, "audio", "missing_required_parameter")
    return read_format(extras.audio.format, stream=wire.stream is True)


def _obey(wire: ChatBody, extras: ChatExtras, without_effect: list[str]) -> None:
    """Forget the fields that the model leaves without effect."""
    for name in without_effect:
        for model in (wire, extras):
            if name in model.model_fields_set:
                setattr(model, name, None)


def _read_functions(extras: ChatExtras) -> tuple[Tool, ...]:
    """What clients offered before there were tools."""
    functions = extras.functions if isinstance(extras, OpenAIChatExtras) else None
    return tuple([read_tool(function) for function in functions or ()])


def _read_ask(
    wire: ChatBody,
    extras: ChatExtras,
    messages: tuple[Message, ...],
    tools: tuple[Tool, ...],
    sampling: Sampling,
    habits: DeploymentProfile,
) -> ChatRequest:
    """The conversation in words no vendor owns."""
    choice, name = read_choice(wire, tools)
    wanted = wire.response_format
    parallel = extras.parallel_tool_calls
    ask = ChatRequest(
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
    return _choose_function(ask, extras) if isinstance(extras, OpenAIChatExtras) and extras.functions else ask


def _choose_function(ask: ChatRequest, extras: OpenAIChatExtras) -> ChatRequest:
    """One function at most, as ``function_call`` says."""
    choice = extras.function_call or "auto"
    if isinstance(choice, str):
        return replace(ask, parallel=False, tool_choice=choice)
    return replace(ask, parallel=False, tool_choice="required", tool_name=choice.name)


def _read_reasoning(extras: ChatExtras, habits: DeploymentProfile) -> str | None:
    if not habits.reasoning:
        return None
    effort = extras.reasoning_effort or "medium"
    return None if effort == "none" else effort
