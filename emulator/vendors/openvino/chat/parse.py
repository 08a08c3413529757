"""Parse ``/v3/chat/completions`` requests.

Source: model_server, src/llm/http_llm_calculator.cc and src/llm/apis/openai_completions.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.json import JSON
from emulator.core.plan import SegmentKind
from emulator.core.requests import ChatRequest, Deployment, Message
from emulator.protocols.big_numbers import has_big_numbers
from emulator.protocols.openai import options
from emulator.protocols.openai.options import RememberedOptions
from emulator.vendors.openvino.chat.fields import (
    begin_fields,
    parse_fields,
    parse_first_fields,
    parse_max_completion_tokens,
)
from emulator.vendors.openvino.chat.formats import PLAIN_TEXT, Form, parse_response_format
from emulator.vendors.openvino.chat.messages import apply_template, parse_messages, take_media
from emulator.vendors.openvino.chat.render import ChatCodec
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.profile import DeploymentProfile, OpenVinoService
from emulator.vendors.openvino.release import Release
from emulator.vendors.openvino.request import Fields, ParsedRequest, parse_flag
from emulator.vendors.openvino.sampling import bound_tokens, build_sampling, validate_length
from emulator.vendors.openvino.tools import NO_OFFER, OfferedTools, parse_tools

_NO_OPTIONS: dict[str, JSON] = {}


def parse_chat(parsed: ParsedRequest) -> InferenceCall:
    """Parse a chat request.

    Raises:
        EmulatedError: the first failed check, in the server's order.
    """
    release = parsed.release
    fields, messages = _parse_all(parsed)
    body = fields.body
    offer = parse_tools(fields) if "tools" in body or "tool_choice" in body else NO_OFFER
    if "logprobs" in body and release.since(2025, 0):
        _parse_logprobs(fields)
    if "max_completion_tokens" in body:
        parse_max_completion_tokens(fields)
    if fields.max_tokens == 0:
        raise refusal("max_tokens value should be greater than 0")
    form = parse_response_format(fields) if "response_format" in body else PLAIN_TEXT
    messages, thinks = apply_chat_template(fields, messages)
    if parsed.stream and release.tools == "unary":
        offer = NO_OFFER
    chat, counted = build_chat(fields, messages, offer, form, "medium" if thinks else None)
    call = InferenceCall(
        deployment=parsed.deployment,
        request=chat,
        codec=build_codec(fields, offer, chat.prompt or ""),
        stream=parsed.stream,
        prompt_tokens=counted,
        served=parsed.method,
        repeatable=True,
    )
    if _takes_any_text(parsed):
        limit = partial(
            _limit_tokens, parsed.profile, parsed.deployment, release, fields.max_tokens, endless=fields.ignore_eos
        )
        context = (parsed.request.headers.get("Content-Type"),)
        options.remember_chat(parsed.request, parsed.service, partial(_build_options, call, limit), context)
    return call


def recall_chat(request: Request, service: OpenVinoService) -> InferenceCall | None:
    """Return the call of a request with remembered options, which the slow reader of bodies would read alike."""
    if has_big_numbers(request.body):
        return None
    context = (request.headers.get("Content-Type"),)
    return options.recall_chat(request, service, context, forbidden=b"\\u00")


def _takes_any_text(parsed: ParsedRequest) -> bool:
    """Return whether options are read and answered alike for all plain messages."""
    profile = parsed.profile
    is_text = profile.kind in ("text", "speculative") and not profile.stock_template
    return is_text and not parsed.settings.verbose_response and parsed.body is parsed.request.json_members()


def _limit_tokens(
    profile: DeploymentProfile,
    deployment: Deployment,
    release: Release,
    asked: int | None,
    count: int,
    *,
    endless: bool,
) -> int | None:
    validate_length(profile, deployment, release, asked, count)
    return bound_tokens(deployment, asked, count, endless=endless)


def _build_options(call: InferenceCall, limit: Callable[[int], int | None]) -> RememberedOptions:
    codec = call.codec
    assert isinstance(codec, ChatCodec)
    codec = replace(codec, prompt="")
    return RememberedOptions(replace(call, codec=replace(codec, template=codec.build_template())), limit)


def _parse_all(parsed: ParsedRequest) -> tuple[Fields, tuple[Message, ...]]:
    """Parse the common fields and the messages; only 2024.2 parses the messages first."""
    if parsed.release.since(2025, 0):
        fields = parse_fields(parsed)
        return fields, parse_messages(fields)
    fields = begin_fields(parsed)
    messages = parse_messages(fields)
    parse_first_fields(fields)
    return fields, messages


def apply_chat_template(fields: Fields, messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], bool]:
    """Return the templated messages and whether the model reasons; 2026.3 parses the template options first.

    Raises:
        EmulatedError: with the calculator's text.
    """
    first = fields.release.since(2026, 3)
    thinks = first and has_reasoning(fields)
    messages = take_media(fields, messages)
    thinks = thinks if first else has_reasoning(fields)
    apply_template(fields, messages)
    return messages, thinks


def build_codec(fields: Fields, offer: OfferedTools, prompt: str) -> ChatCodec:
    """Build the codec; ``prompt``: text of the last turn."""
    parsed, profile = fields.parsed, fields.parsed.profile
    return ChatCodec(
        settings=parsed.settings,
        model=parsed.deployment.name,
        prompt=prompt,
        include_usage=fields.include_usage,
        stateful=profile.stateful,
        omits_logprobs=fields.release.since(2026, 1) and (profile.kind in ("vision", "omni") or profile.stateful),
        separate_kinds=find_separate_kinds(fields, offer),
        markup=profile.markup,
        voice=find_voice(fields),
    )


def find_voice(fields: Fields) -> Voice | None:
    """Return the voice of an omni graph if audio output is requested."""
    if fields.parsed.profile.kind != "omni" or not (fields.speaks or not fields.writes):
        return None
    return Voice(fields.pcm, fields.writes)


def find_separate_kinds(fields: Fields, offer: OfferedTools) -> frozenset[SegmentKind]:
    """Return the segments parsed out of the text: reasoning since 2025.2, in streams since 2025.3, and tool calls.

    Segments stay in the text if the graph has no parser for them or the request shows special tokens.
    """
    release, profile = fields.release, fields.parsed.profile
    separate_kinds: set[SegmentKind] = set()
    if fields.plain:
        return frozenset(separate_kinds)
    streams = release.since(2025, 3) or not fields.parsed.stream
    if profile.reasoning_parser and release.since(2025, 2) and streams:
        separate_kinds.add("reasoning")
    if profile.tool_parser and release.tools != "ignored" and streams and (offer.parsed or not offer.tools):
        separate_kinds.add("tool_call")
    return frozenset(separate_kinds)


def _parse_logprobs(fields: Fields) -> None:
    fields.logprobs = parse_flag(fields, "logprobs")
    if fields.logprobs and fields.parsed.stream:
        raise refusal("logprobs are not supported in streaming mode.")


def has_reasoning(fields: Fields) -> bool:
    """Return whether the response has reasoning: the trait ``reasoning``, unless the template options disable it.

    A release that does not parse reasoning produces none, unless its graph has no parser for it.

    Raises:
        EmulatedError: the template options are not an object.
    """
    template_options = _NO_OPTIONS
    if "chat_template_kwargs" in fields.body and fields.release.chat_template_kwargs:
        value = fields.body["chat_template_kwargs"]
        if not isinstance(value, dict):
            raise refusal("chat_template_kwargs must be an object")
        template_options = value
    profile = fields.parsed.profile
    reads = fields.release.since(2025, 3) or (fields.release.since(2025, 2) and not fields.parsed.stream)
    return (
        profile.thinks
        and template_options.get("enable_thinking") is not False
        and (reads or not profile.reasoning_parser)
    )


def build_chat(
    fields: Fields, messages: tuple[Message, ...], offer: OfferedTools, form: Form, reasoning: str | None
) -> tuple[ChatRequest, tuple[int, ...]]:
    """Build the chat request and count the tokens of its prompt; a ``plain`` response has no reasoning.

    Raises:
        EmulatedError: the prompt is too long, or the engine refuses the configuration.
    """
    parsed = fields.parsed
    if fields.plain:
        offer, reasoning = NO_OFFER, None
    count, language = parsed.service.count_chat(messages, offer.tools, parsed.deployment)
    chat = ChatRequest(
        messages=messages,
        sampling=build_sampling(fields, count),
        tools=offer.tools,
        tool_choice=offer.choice,
        tool_name=offer.name,
        parallel=True,
        format=form.kind,
        schema=form.schema,
        bare=form.bare,
        around=(form.opening, form.closing),
        reasoning=reasoning,
        language=language,
    )
    return chat, (count,)
