"""The usual chat request: found out once per deployment and dialect, what is left to be read of each."""

from __future__ import annotations

from emulator.core.cache import scenario_lru
from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.requests import ChatRequest
from emulator.core.vendor import Codec, InferenceCall
from emulator.protocols.openai.fast_parse import FIELDS, ROLES, SAMPLINGS, read_body, read_limit, read_texts
from emulator.vendors.azure.chat.render import ChatCodec
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import check_place
from emulator.vendors.azure.sampling import limit_tokens
from emulator.vendors.azure.url_kind import INFERENCE

_JSON = "application/json"


def fast_parse(request: Request, service: AzureService) -> InferenceCall | None:
    """The call that :func:`emulator.vendors.azure.chat.parse.parse_chat` would make of a usual request."""
    headers = request.headers
    if "extra-parameters" in headers or "azureml-model-deployment" in headers:
        return None
    body = read_body(request) if headers.get("Content-Type", _JSON) == _JSON else None
    said = () if body is None else read_texts(body)
    if body is None or not said:
        return None
    wanted, stream = read_limit(body), body.get("stream", False)
    if wanted is None or type(stream) is not bool:
        return None
    try:
        surface, settings = check_place(request, service, INFERENCE)
        name = surface.deployment or body.get("model")
        deployment = service.deployments.get(name) if type(name) is str else None
        if deployment is None or deployment.state != "ready":
            return None
        habits = service.profiles[deployment.name][settings.profile]
        codec = _find_codec(habits, deployment.task)
        if codec is None or (habits.openai and wanted > (deployment.max_output or wanted)):
            return None
        count, language = service.count_texts(said, deployment)
        limit = limit_tokens(wanted or None, habits.default_tokens, deployment, count, settings)
    except EmulatedError:
        return None
    ask = ChatRequest(said, SAMPLINGS[limit], parallel=habits.openai, language=language)
    return InferenceCall(deployment, ask, codec, stream, (count,), True)


@scenario_lru
def _find_codec(habits: DeploymentProfile, task: str) -> Codec | None:
    """What words all usual answers of a deployment; ``None``: it has more to say to its chats."""
    roles = habits.traits.get("roles")
    talks = not isinstance(roles, list) or all(role in roles for role in ROLES)
    if task != "chat" or habits.api or habits.reasoning or not talks or not FIELDS.isdisjoint(habits.parameters):
        return None
    return ChatCodec(habits=habits, usage=not habits.openai, named_tool=False)
