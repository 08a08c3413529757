"""Fast parser of common chat requests, with one parser per endpoint."""

from __future__ import annotations

from emulator.core.cache import scenario_lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.core.json import Object
from emulator.core.quota import Quota
from emulator.core.requests import ChatRequest, Deployment
from emulator.core.vendor import Codec, InferenceCall
from emulator.protocols.openai.fast_parse import SAMPLINGS, parse_body, parse_limit, parse_texts
from emulator.vendors.databricks.chat.render import ChatCodec
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile


@fast_dataclass(frozen=True, slots=True, eq=False)
class FastChatParser:
    """Common properties of an endpoint's plain chat requests.

    Fields:
        most: maximum of ``max_tokens``; ``default``: limit of a request without it.
        streams: default of ``stream``.
        overhead: tokens added to those of the prompt.
    """

    codec: Codec
    most: int | None
    default: int | None
    context: int | None
    streams: bool
    parallel: bool
    overhead: int
    quotas: tuple[Quota, ...]
    served: str


def fast_parse(request: Request, service: DatabricksService) -> InferenceCall | None:
    """Return the call that ``parse_chat`` would return for a common request; ``None`` for any other request."""
    body = parse_body(request, service.settings.payload_limit_bytes)
    if body is None or request.documents:
        return None
    name = request.params.get("name") or body.get("model")
    deployment = service.deployments.get(name) if type(name) is str else None
    if deployment is None or deployment.state != "ready":
        return None
    parser = _find_parser(service.profiles[deployment.name])
    return None if parser is None else _parse(body, deployment, parser, service)


def _parse(
    body: Object, deployment: Deployment, parser: FastChatParser, service: DatabricksService
) -> InferenceCall | None:
    max_tokens, stream, messages = parse_limit(body, parser.most), body.get("stream", parser.streams), parse_texts(body)
    if max_tokens is None or type(stream) is not bool or not messages:
        return None
    count, language = service.count_texts(messages, deployment)
    count += parser.overhead
    limit = max_tokens or parser.default
    if parser.context is not None:
        remaining = parser.context - count
        if remaining < 0:
            return None
        limit = remaining if limit is None or remaining < limit else limit
    chat_request = ChatRequest(messages, SAMPLINGS[limit], parallel=parser.parallel, language=language)
    return InferenceCall(deployment, chat_request, parser.codec, stream, (count,), True, parser.quotas, parser.served)


@scenario_lru
def _find_parser(profile: DeploymentProfile) -> FastChatParser | None:
    """Return the parser of an endpoint; ``None`` if it needs the full parser."""
    deployment, settings, traits = profile.deployment, profile.settings, profile.deployment.traits
    is_monitored = traits.get("scale_to_zero_enabled") or traits.get("ai_gateway")
    if not profile.plain or not profile.chats or is_monitored or len(profile.entities) != 1:
        return None
    (served,) = profile.entities
    bounds = (deployment.default_max_tokens if settings.model_max_tokens else None, deployment.max_output)
    return FastChatParser(
        codec=ChatCodec(settings, profile.style, served, False),
        most=deployment.max_output,
        default=min([bound for bound in bounds if bound is not None], default=None),
        context=deployment.context,
        streams=settings.stream_default,
        parallel=settings.parallel_tool_calls or bool(profile.traits.get("parallel_tool_calls")),
        overhead=profile.overhead,
        quotas=profile.quotas,
        served=served,
    )
