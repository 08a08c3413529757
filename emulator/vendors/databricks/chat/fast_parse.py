"""The usual chat request: found out once per endpoint, what is left to be read of each."""

from __future__ import annotations

from emulator.core.cache import scenario_lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.core.json import Object
from emulator.core.quota import Quota
from emulator.core.requests import ChatRequest, Deployment
from emulator.core.vendor import Codec, InferenceCall
from emulator.protocols.openai.fast_parse import SAMPLINGS, read_body, read_limit, read_texts
from emulator.vendors.databricks.chat.render import ChatCodec
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile


@fast_dataclass(frozen=True, slots=True, eq=False)
class FastChatParser:
    """What all usual chats with an endpoint have in common.

    Fields:
        most: tokens that a request may ask for; ``default``: those of an answer to one that asks for none.
        streams: so does the answer to a request that does not say.
        overhead: tokens beside those of the prompt.
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
    """The call that :func:`emulator.vendors.databricks.chat.parse.parse_chat` would make of a usual request."""
    body = read_body(request, service.settings.payload_limit_bytes)
    if body is None or request.documents:
        return None
    name = request.params.get("name") or body.get("model")
    deployment = service.deployments.get(name) if type(name) is str else None
    if deployment is None or deployment.state != "ready":
        return None
    usual = _find_usual(service.profiles[deployment.name])
    return None if usual is None else _read(body, deployment, usual, service)


def _read(
    body: Object, deployment: Deployment, usual: FastChatParser, service: DatabricksService
) -> InferenceCall | None:
    wanted, stream, said = read_limit(body, usual.most), body.get("stream", usual.streams), read_texts(body)
    if wanted is None or type(stream) is not bool or not said:
        return None
    count, language = service.count_texts(said, deployment)
    count += usual.overhead
    limit = wanted or usual.default
    if usual.context is not None:
        room = usual.context - count
        if room < 0:
            return None
        limit = room if limit is None or room < limit else limit
    ask = ChatRequest(said, SAMPLINGS[limit], parallel=usual.parallel, language=language)
    return InferenceCall(deployment, ask, usual.codec, stream, (count,), True, usual.quotas, usual.served)


@scenario_lru
def _find_usual(habits: DeploymentProfile) -> FastChatParser | None:
    """``None``: the endpoint has more to say to its chats."""
    deployment, settings, traits = habits.deployment, habits.settings, habits.deployment.traits
    watched = traits.get("scale_to_zero_enabled") or traits.get("ai_gateway")
    if not habits.plain or not habits.chats or watched or len(habits.entities) != 1:
        return None
    (served,) = habits.entities
    bounds = (deployment.default_max_tokens if settings.model_max_tokens else None, deployment.max_output)
    return FastChatParser(
        codec=ChatCodec(settings, habits.style, served, False),
        most=deployment.max_output,
        default=min([bound for bound in bounds if bound is not None], default=None),
        context=deployment.context,
        streams=settings.stream_default,
        parallel=settings.parallel_tool_calls or bool(habits.traits.get("parallel_tool_calls")),
        overhead=habits.overhead,
        quotas=habits.quotas,
        served=served,
    )
