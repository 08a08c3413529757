"""``POST /chat/completions``: validate a request, and convert it to the core's chat request."""

from dataclasses import replace
from functools import partial

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.json import Object, dump_text
from emulator.core.requests import ChatRequest, Message, Sampling, Tool
from emulator.protocols.openai.options import Context, RememberedOptions, recall_chat, remember_chat
from emulator.vendors.azure.chat.audio import AudioFormat, parse_format
from emulator.vendors.azure.chat.data_sources import validate_sources
from emulator.vendors.azure.chat.features import validate_features, validate_rules
from emulator.vendors.azure.chat.messages import parse_message
from emulator.vendors.azure.chat.models import ChatBody, StrictChatRequest
from emulator.vendors.azure.chat.openai_models import (
    NATIVE,
    NO_OPENAI_EXTRAS,
    OpenAIChatBody,
    OpenAIChatExtras,
    validate_combinations,
    validate_schemas,
)
from emulator.vendors.azure.chat.render import ChatCodec
from emulator.vendors.azure.chat.stored import keep_completion
from emulator.vendors.azure.chat.tools import build_tool, list_customs, parse_tool_choice, parse_tools
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.extra_parameters import NO_EXTRAS, ChatExtras, StrictChatExtras, validate_parameters
from emulator.vendors.azure.members import is_strict, validate_chat
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, has_padding, parse_extras, parse_request
from emulator.vendors.azure.sampling import limit_tokens, parse_sampling, validate_output

_KNOWN = frozenset(ChatBody.model_fields)
_MODEL_FIELDS = frozenset(ChatExtras.model_fields)
_TOOLING = frozenset({"tools", "tool_choice", "response_format", "functions", "function_call"})


def parse_chat(request: Request, service: AzureService) -> InferenceCall:
    """Validate in the order of the real service: route, body, extra parameters, then the model's features."""
    context = (request.query.get("api-version"), *request.headers.items())  # those that parsers may see
    return recall_chat(request, service, context) or _parse_whole(request, service, context)


def _parse_whole(request: Request, service: AzureService, context: Context) -> InferenceCall:
    parsed = parse_request(request, service, "chat")
    deployment, profile = parsed.deployment, parsed.profile
    wire, extras = (_parse_openai if profile.openai else _parse_inference)(parsed)
    if profile.parameters:
        _drop_ineffective(wire, extras, validate_parameters(parsed.fields, profile))
    validate_features(wire, profile)
    if isinstance(extras, OpenAIChatExtras):
        validate_combinations(wire, extras)
        validate_schemas(wire)
    messages = tuple([parse_message(message) for message in wire.messages])
    tools = parse_tools(wire) or _parse_functions(extras)
    count, language = service.count_chat(messages, tools, deployment)
    requested = wire.max_tokens if extras.max_completion_tokens is None else extras.max_completion_tokens
    if profile.openai:
        validate_output(requested, deployment, profile)
    measure = partial(limit_tokens, requested, profile.default_tokens, deployment, parsed.settings)
    limit = measure(count)
    logprobs = (extras.top_logprobs or 0) if extras.logprobs else None
    sampling = parse_sampling(wire, extras, limit, logprobs)
    if not extras.model_fields_set and _TOOLING.isdisjoint(parsed.fields) and not profile.reasoning:
        chat_request = ChatRequest(messages=messages, sampling=sampling, parallel=profile.openai, language=language)
    else:
        chat_request = _build_request(wire, extras, messages, tools, sampling, profile)
    codec = _build_codec(wire, extras, chat_request, parsed)
    call = InferenceCall(
        deployment=deployment,
        request=chat_request,
        codec=codec,
        stream=wire.stream is True,
        prompt_tokens=(count,),
        repeatable=True,
        store_result=keep_completion(codec, parsed.fields)
        if isinstance(extras, OpenAIChatExtras) and extras.store
        else None,
    )
    joins = wire.response_format or "roles" in profile.traits or "messages" in profile.parameters
    if call.store_result is None and codec.context is None and not joins:  # else they are about messages, too
        remember_chat(request, service, partial(RememberedOptions, call, measure), context)
    return call


def _build_codec(wire: ChatBody, extras: ChatExtras, chat_request: ChatRequest, parsed: ParsedRequest) -> ChatCodec:
    profile, options = parsed.profile, extras.stream_options
    return ChatCodec(
        profile=profile,
        usage=not profile.openai or extras.include_usage,
        named_tool=chat_request.tool_name is not None,
        functions=isinstance(extras, OpenAIChatExtras) and bool(extras.functions),
        customs=list_customs(chat_request.tools),
        audio=_parse_audio(wire, extras),
        context=_parse_context(chat_request, extras),
        padded=bool(wire.stream)
        and has_padding(parsed)
        and (options is None or options.include_obfuscation is not False),
    )


def _parse_context(chat_request: ChatRequest, extras: ChatExtras) -> Object | None:
    """Return what the data sources give: nothing is found in them, for the emulator has none.

    Source: Azure/azure-rest-api-specs, AzureOpenAI inference, ``azureChatExtensionsMessageContext``.
    """
    if not isinstance(extras, OpenAIChatExtras) or not extras.data_sources:
        return None
    asked = next((message.text for message in reversed(chat_request.messages) if message.role == "user"), "")
    return {"citations": [], "intent": dump_text([asked])}


def _parse_inference(parsed: ParsedRequest) -> tuple[ChatBody, ChatExtras]:
    """Validate a body of Model Inference."""
    settings = parsed.settings
    wire = validate(StrictChatRequest if settings.strict_types else ChatBody, parsed.body)
    validate_rules(wire, settings)
    if "extra-parameters" not in parsed.request.headers and _KNOWN.issuperset(parsed.fields):
        return wire, NO_EXTRAS
    extra_fields = parse_extras(parsed, _KNOWN, _MODEL_FIELDS)
    if not extra_fields:
        return wire, NO_EXTRAS
    return wire, validate(StrictChatExtras if settings.strict_types else ChatExtras, extra_fields)


def _parse_openai(parsed: ParsedRequest) -> tuple[OpenAIChatBody, OpenAIChatExtras]:
    """Validate a body of Azure OpenAI."""
    wire = validate(OpenAIChatBody, parsed.body)
    validate_rules(wire, parsed.settings)
    extras, fields = NO_OPENAI_EXTRAS, parsed.fields
    if "extra-parameters" in parsed.request.headers or not _KNOWN.issuperset(fields):
        extra_fields = parse_extras(parsed, _KNOWN, NATIVE)
        extras = validate(OpenAIChatExtras, extra_fields) if extra_fields else extras
        fields = {name: value for name, value in fields.items() if name in _KNOWN or name in extra_fields}
    validate_chat(fields, parsed)
    if extras.data_sources:
        validate_sources(extras.data_sources, strict=is_strict(parsed))
    return wire, extras


def _parse_audio(wire: ChatBody, extras: ChatExtras) -> AudioFormat | None:
    """Return the format of an audio answer; Model Inference has no field for it."""
    if not wire.modalities or "audio" not in wire.modalities:
        return None
    if not isinstance(extras, OpenAIChatExtras):
        return "wav"
    if extras.audio is None:
        text = "Missing required parameter: 'audio'."
        raise refusals.contradicts(text, "audio", "missing_required_parameter")
    return parse_format(extras.audio.format, stream=wire.stream is True)


def _drop_ineffective(wire: ChatBody, extras: ChatExtras, without_effect: list[str]) -> None:
    """Remove the fields that have no effect on the model."""
    for name in without_effect:
        for model in (wire, extras):
            if name in model.model_fields_set:
                setattr(model, name, None)


def _parse_functions(extras: ChatExtras) -> tuple[Tool, ...]:
    """Return the deprecated ``functions`` as tools."""
    functions = extras.functions if isinstance(extras, OpenAIChatExtras) else None
    return tuple([build_tool(function) for function in functions or ()])


def _build_request(
    wire: ChatBody,
    extras: ChatExtras,
    messages: tuple[Message, ...],
    tools: tuple[Tool, ...],
    sampling: Sampling,
    profile: DeploymentProfile,
) -> ChatRequest:
    """Return the vendor-neutral chat request."""
    choice, name = parse_tool_choice(wire, tools)
    wanted = wire.response_format
    parallel = extras.parallel_tool_calls
    chat_request = ChatRequest(
        messages=messages,
        sampling=sampling,
        tools=tools,
        tool_choice=choice,
        tool_name=name,
        parallel=profile.openai if parallel is None else parallel,
        format="text" if wanted is None else wanted.kind,
        schema=None if wanted is None else wanted.wanted_schema,
        reasoning=_parse_reasoning(extras, profile),
    )
    return (
        _choose_function(chat_request, extras)
        if isinstance(extras, OpenAIChatExtras) and extras.functions
        else chat_request
    )


def _choose_function(chat_request: ChatRequest, extras: OpenAIChatExtras) -> ChatRequest:
    """Return the request with at most one call, as ``function_call`` decides."""
    choice = extras.function_call or "auto"
    if isinstance(choice, str):
        return replace(chat_request, parallel=False, tool_choice=choice)
    return replace(chat_request, parallel=False, tool_choice="required", tool_name=choice.name)


def _parse_reasoning(extras: ChatExtras, profile: DeploymentProfile) -> str | None:
    if not profile.reasoning:
        return None
    effort = extras.reasoning_effort or "medium"
    return None if effort == "none" else effort
