"""Fast parser of common chat requests, prepared once per servable."""

from __future__ import annotations

from dataclasses import replace

from emulator.core.cache import clear_with_scenario
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.json import Object
from emulator.core.requests import ChatRequest, Deployment
from emulator.core.vendor import Codec, InferenceCall
from emulator.protocols.openai.fast_parse import (
    FastParserCache,
    Samplings,
    Texts,
    has_each_key_once,
    parse_body,
    parse_limit,
    parse_texts,
)
from emulator.vendors.openvino.chat.fields import parse_fields
from emulator.vendors.openvino.chat.parse import build_codec, has_reasoning
from emulator.vendors.openvino.profile import DeploymentProfile, OpenVinoService
from emulator.vendors.openvino.request import ParsedRequest
from emulator.vendors.openvino.sampling import bound_tokens, build_sampling, validate_length
from emulator.vendors.openvino.tools import NO_OFFER


@fast_dataclass(frozen=True, slots=True, eq=False)
class FastChatParser:
    """Parts shared by all common chat calls of one servable, streaming or not.

    Fields:
        most: maximum of ``max_tokens``; ``default``: its default.
    """

    codec: Codec
    samplings: Samplings
    max_tokens: int | None
    default: int | None
    served: str


_PARSERS: FastParserCache[tuple[DeploymentProfile, bool], FastChatParser | None] = FastParserCache()
clear_with_scenario(_PARSERS.clear)


def fast_parse(request: Request, service: OpenVinoService) -> InferenceCall | None:
    """Return the call :func:`~emulator.vendors.openvino.chat.parse.parse_chat` would build, or ``None`` to use that."""
    routed = service.settings.release.content_type_routing
    if routed and "application/json" not in request.headers.get("Content-Type", ""):
        return None
    body = parse_body(request)
    messages = () if body is None else parse_texts(body)
    if body is None or not messages or b"\\u00" in request.body:
        return None
    if not has_each_key_once(request.body, len(body) + 2 * len(messages)):
        return None
    name = body.get("model")
    deployment = service.deployments.get(name) if type(name) is str else None
    if deployment is None or deployment.state != "ready":
        return None
    return _parse(body, messages, request, service, deployment)


def _parse(
    body: Object, messages: Texts, request: Request, service: OpenVinoService, deployment: Deployment
) -> InferenceCall | None:
    profile, stream = service.profiles[deployment.name], body.get("stream", False)
    if type(stream) is not bool:
        return None
    key = (profile, stream)
    parser = (
        _PARSERS[key] if key in _PARSERS else _PARSERS.keep(key, _prepare(request, service, deployment, stream=stream))
    )
    wanted = None if parser is None else parse_limit(body, parser.max_tokens)
    if parser is None or wanted is None:
        return None
    count, language = service.count_texts(messages, deployment)
    asked = wanted or parser.default
    try:
        validate_length(profile, deployment, service.settings.release, asked, count)
    except EmulatedError:
        return None
    sampling = parser.samplings[bound_tokens(deployment, asked, count)]
    chat = ChatRequest(messages, sampling, parallel=True, language=language)
    return InferenceCall(deployment, chat, parser.codec, stream, (count,), True, (), parser.served)


def _prepare(
    request: Request, service: OpenVinoService, deployment: Deployment, *, stream: bool
) -> FastChatParser | None:
    """Build the shared parts; ``None`` if the servable's responses vary by more than text and usage."""
    profile, settings = service.profiles[deployment.name], service.settings
    release = settings.release
    if profile.kind != "text" or profile.stock_template or settings.verbose_response:
        return None
    parsed = ParsedRequest(request, service, deployment, profile, {"stream": stream}, None, stream, settings, release)
    fields = parse_fields(parsed)
    if has_reasoning(fields):
        return None
    fields.max_tokens = None
    limit = profile.max_tokens_limit
    codec = build_codec(fields, NO_OFFER, "")
    return FastChatParser(
        codec=replace(codec, template=codec.build_template()),
        samplings=Samplings(build_sampling(fields, 1)),
        max_tokens=limit - 1 if limit else None,
        default=(limit or None) if release.max_tokens_limit_is_default else None,
        served=parsed.method,
    )
