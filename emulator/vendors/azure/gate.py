"""What happens before a model sees a request: credential, API version, body, deployment, extra parameters."""

import re
from collections.abc import Collection

from emulator.core.call import Deployment, Task
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.vendor import Service, WireRequest
from emulator.dialects.auth import bearer_token
from emulator.vendors.azure import refusals
from emulator.vendors.azure.catalogue import is_openai
from emulator.vendors.azure.settings import AzureSettings

AzureService = Service[AzureSettings]

_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?", re.ASCII)
_IN_PATH = re.compile(r"/openai/deployments/([^/]+)/")
_JSON_TYPE = re.compile(r"application/([\w.+-]+\+)?json\s*(;|$)", re.IGNORECASE)
_OPTIONS = {
    "error": "error",
    "drop": "drop",
    "pass-through": "pass-through",
    "ignore": "drop",
    "allow": "pass-through",
}


def authenticate(request: WireRequest, service: AzureService) -> str:
    """The principal of the bearer token or the ``api-key``; clients send both, and one that is right suffices.

    Raises:
        EmulatedError: ``UNAUTHENTICATED``.
    """
    for token in (bearer_token(request), request.headers.get("api-key")):
        principal = service.principal(token)
        if principal is not None:
            return principal
    raise EmulatedError(ErrorKind.UNAUTHENTICATED)


def check_api_version(request: WireRequest, settings: AzureSettings) -> None:
    """Refuse a missing, malformed or unknown ``api-version``, as far as the settings ask for one.

    Source: Azure OpenAI v1 API, which has no dated versions: nothing is asked under ``/openai/v1/``.
    """
    if "/openai/v1/" in request.path:
        return
    given = request.query.get("api-version")
    known = settings.api_versions
    if settings.api_version_required and (given is None or not _VERSION.fullmatch(given)):
        raise refusals.wrong_api_version(given)
    if given is not None and known is not None and given not in known:
        raise refusals.wrong_api_version(given)


def read_body(request: WireRequest, settings: AzureSettings) -> JSON:
    """The body as JSON; what a client labels otherwise is a text to the service.

    Raises:
        EmulatedError: ``INVALID_REQUEST`` (no JSON) or ``INVALID_PARAMETER`` (wrong content type).
    """
    if not request.body and settings.shape in ("maas", "managed"):
        raise refusals.breaks_schema([{"type": "missing", "loc": (), "msg": "Field required", "input": None}])
    try:
        body = request.json()
    except ValueError as error:
        raise refusals.not_json(str(error)) from None
    content_type = request.headers.get("Content-Type", "application/json")
    if settings.profile in ("foundry", "aoai") or _JSON_TYPE.match(content_type):
        return body
    return request.body.decode("utf-8", "replace")


def find_deployment(request: WireRequest, service: AzureService, task: Task, body: JSON = None) -> Deployment:
    """Who answers: named by the path, the deployment header or the model, else the first that serves the route.

    Raises:
        EmulatedError: nobody of that name, or one that serves another route.
    """
    deployment = _find_named(request, service, body)
    if deployment is None:
        deployment = next((d for d in service.deployments.values() if d.task == task), None)
    if deployment is None or deployment.task != task:
        other = deployment or next(iter(service.deployments.values()))
        raise refusals.wrong_route(task, other.task, other.name)
    check_state(deployment)
    return deployment


def _find_named(request: WireRequest, service: AzureService, body: JSON) -> Deployment | None:
    in_path = _IN_PATH.search(request.path)
    name = in_path[1] if in_path else request.headers.get("azureml-model-deployment")
    if name:
        return _look_up(service, name) or _refuse(refusals.unknown_deployment(name))
    model = body.get("model") if isinstance(body, dict) else None
    if not isinstance(model, str) or not model:
        model = request.headers.get("x-ms-model-mesh-model-name")
    settings = service.settings
    if not model:
        return _refuse(refusals.no_model()) if settings.require_model else None
    deployment = _look_up(service, model)
    if deployment is None and settings.profile == "aoai":
        raise refusals.unknown_deployment(model)
    if deployment is None and settings.require_model:
        raise refusals.unknown_model(model)
    return deployment


def find_any(request: WireRequest, service: AzureService) -> Deployment:
    """Who answers on a route that every model has."""
    return _find_named(request, service, None) or next(iter(service.deployments.values()))


def _look_up(service: AzureService, name: str) -> Deployment | None:
    """Names are compared without regard to case."""
    exact = service.deployments.get(name)
    if exact is not None:
        return exact
    folded = name.casefold()
    return next((d for d in service.deployments.values() if d.name.casefold() == folded), None)


def _refuse(error: EmulatedError) -> Deployment:
    raise error


def check_state(deployment: Deployment) -> None:
    if deployment.state == "retired":
        raise refusals.unknown_deployment(deployment.name)
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)


def read_extras(
    request: WireRequest,
    service: AzureService,
    body: JSON,
    known: Collection[str],
    native: Collection[str],
    deployment: Deployment,
) -> dict[str, JSON]:
    """The parameters outside the API that are handed on to the model, as ``extra-parameters`` says.

    Args:
        known: fields of the API.
        native: further fields that OpenAI models know without being told.

    Raises:
        EmulatedError: 400 for a header value that means nothing or a parameter that is not allowed; then what
            the model itself refuses.
    """
    given = request.headers.get("extra-parameters")
    action = _read_option(given, service.settings)
    extras = {name: value for name, value in body.items() if name not in known}
    if not extras or action == "drop":
        return {}
    openai = is_openai(deployment, service.settings)
    if action == "error" and not _is_raw(request, service.settings):
        refused = [name for name in extras if not (openai and name in native)]
        if refused:
            by_default = service.settings.extra_parameters_default == "error"
            raise refusals.extra_not_allowed(refused, by_default=by_default)
    if openai and (unknown := [name for name in extras if name not in native]):
        raise refusals.unrecognized(unknown[0])
    policy = deployment.traits.get("extras", "accept")
    if policy in ("refuse", "refuse_bare"):
        raise refusals.extra_forbidden(extras, bare=policy == "refuse_bare")
    return extras


def _read_option(given: str | None, settings: AzureSettings) -> str:
    if given is None:
        return settings.extra_parameters_default
    allowed = {"error", "drop", "pass-through"}
    if settings.ignore_allowed:
        allowed.add("ignore")
    if settings.lenient_allow:
        allowed.add("allow")
    if given not in allowed:
        expected = ["error", "ignore" if settings.ignore_allowed else "drop", "pass-through"]
        raise refusals.unexpected_option(given, expected)
    return _OPTIONS[given]


def _is_raw(request: WireRequest, settings: AzureSettings) -> bool:
    """A managed endpoint's own vLLM routes, which check no extra parameters."""
    return settings.profile == "managed" and request.path.startswith("/v1/")
