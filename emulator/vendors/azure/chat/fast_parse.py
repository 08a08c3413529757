"""Fast parser of common chat requests, with one codec per deployment and dialect."""

from __future__ import annotations

from emulator.core.cache import scenario_lru
from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.requests import ChatRequest
from emulator.core.vendor import Codec, InferenceCall
from emulator.protocols.openai.fast_parse import FIELDS, ROLES, SAMPLINGS, parse_body, parse_limit, parse_texts
from emulator.vendors.azure.chat.render import ChatCodec
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import validate_place
from emulator.vendors.azure.sampling import limit_tokens
from emulator.vendors.azure.url_kind import INFERENCE

_JSON = "application/json"


def fast_parse(request: Request, service: AzureService) -> InferenceCall | None:
    """Return the call that ``parse_chat`` would return for a common request; ``None`` for any other request."""
    headers = request.headers
    if "extra-parameters" in headers or "azureml-model-deployment" in headers:
        return None
    body = parse_body(request) if headers.get("Content-Type", _JSON) == _JSON else None
    messages = () if body is None else parse_texts(body)
    if body is None or not messages:
        return None
    max_tokens, stream = parse_limit(body), body.get("stream", False)
    if max_tokens is None or type(stream) is not bool:
        return None
    try:
        surface, settings = validate_place(request, service, INFERENCE)
        name = surface.deployment or body.get("model")
        deployment = service.deployments.get(name) if type(name) is str else None
        if deployment is None or deployment.state != "ready":
            return None
        profile = service.profiles[deployment.name][settings.profile]
        codec = _find_codec(profile, deployment.task)
        if codec is None or (profile.openai and max_tokens > (deployment.max_output or max_tokens)):
            return None
        count, language = service.count_texts(messages, deployment)
        limit = limit_tokens(max_tokens or None, profile.default_tokens, deployment, count, settings)
    except EmulatedError:
        return None
    chat_request = ChatRequest(messages, SAMPLINGS[limit], parallel=profile.openai, language=language)
    return InferenceCall(deployment, chat_request, codec, stream, (count,), True)


@scenario_lru
def _find_codec(profile: DeploymentProfile, task: str) -> Codec | None:
    """Return the codec of a deployment's common chat requests; ``None`` if it needs the full parser."""
    roles = profile.traits.get("roles")
    has_roles = not isinstance(roles, list) or all(role in roles for role in ROLES)
    if task != "chat" or profile.api or profile.reasoning or not has_roles or not FIELDS.isdisjoint(profile.parameters):
        return None
    return ChatCodec(profile=profile, usage=not profile.openai, named_tool=False)
