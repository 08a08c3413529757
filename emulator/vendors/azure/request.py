"""What happens before a model sees a request: credential, API version, body, deployment, extra parameters."""

import re
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache

from emulator.core.call import Deployment, Task
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object
from emulator.core.wire import WireRequest
from emulator.dialects.auth import bearer_token
from emulator.vendors.azure.decoder import read_body
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.habits import AzureService
from emulator.vendors.azure.settings import AzureSettings

_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?", re.ASCII)
_IN_PATH = re.compile(r"/openai/deployments/([^/]+)/")
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
    if settings.api_version_required and (given is None or not _is_version(given)):
        raise refusals.wrong_api_version(given)
    if given is not None and known is not None and given not in known:
        raise refusals.wrong_api_version(given)


@lru_cache(maxsize=256)
def _is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def admit(request: WireRequest, service: AzureService, task: Task) -> tuple[Deployment, JSON]:
    """Who answers, and the body: routing first, as far as path and headers tell, then what is sent.

    A deployment is named by the path, the deployment header or the model; else the first that serves the route.

    Raises:
        EmulatedError: a version or a name nobody has, a deployment of another task, a body that is no JSON.
    """
    settings = service.settings
    check_api_version(request, settings)
    deployment = _find_addressed(request, service)
    if deployment is not None:
        _check_route(deployment, task)
        return deployment, read_body(request, settings)
    body = read_body(request, settings)
    deployment = _find_model(request, service, body)
    if deployment is None:
        deployment = next((d for d in service.deployments.values() if d.task == task), None)
        if deployment is None:
            deployment = next(iter(service.deployments.values()))
    _check_route(deployment, task)
    return deployment, body


def find_any(request: WireRequest, service: AzureService) -> Deployment:
    """Who answers on a route that every model has; a model may be named by the query or, by some clients, a body."""
    deployment = _find_addressed(request, service)
    if deployment is None:
        body: JSON = {"model": request.query.get("model")}
        if request.body:
            with suppress(ValueError):
                body = request.json()
        model = _read_model(request, body)
        deployment = _look_up(service, model) if model else None
    return deployment or next(iter(service.deployments.values()))


def _find_addressed(request: WireRequest, service: AzureService) -> Deployment | None:
    """The deployment that path or header name; the path wins."""
    name = None
    if "/openai/deployments/" in request.path:
        in_path = _IN_PATH.search(request.path)
        name = in_path[1] if in_path else None
    name = name or request.headers.get("azureml-model-deployment")
    if not name:
        return None
    deployment = _look_up(service, name)
    if deployment is None:
        raise refusals.unknown_deployment(name)
    return deployment


def _find_model(request: WireRequest, service: AzureService, body: JSON) -> Deployment | None:
    """The deployment that the body's ``model`` names; a model nobody has matters only where there are many."""
    model = _read_model(request, body)
    if model is None:
        return None
    settings = service.settings
    if not model:
        if settings.require_model:
            raise refusals.no_model()
        return None
    deployment = _look_up(service, model)
    if deployment is None and settings.profile == "aoai":
        raise refusals.unknown_deployment(model)
    if deployment is None and settings.require_model:
        raise refusals.unknown_model(model)
    return deployment


def _read_model(request: WireRequest, body: JSON) -> str | None:
    """The model by its name, ``""`` without one; ``None``: what is there breaks the schema."""
    model = body.get("model") if isinstance(body, dict) else None
    if model is not None and not isinstance(model, str):
        return None
    return model or request.headers.get("x-ms-model-mesh-model-name", "")


def _look_up(service: AzureService, name: str) -> Deployment | None:
    """Names are compared without regard to case."""
    exact = service.deployments.get(name)
    if exact is not None:
        return exact
    folded = name.casefold()
    return next((d for d in service.deployments.values() if d.name.casefold() == folded), None)


def _check_route(deployment: Deployment, task: Task) -> None:
    if deployment.task != task:
        raise refusals.wrong_route(task, deployment.task, deployment.name)
    if deployment.state == "retired":
        raise refusals.unknown_deployment(deployment.name)
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)


def read_extras(
    request: WireRequest,
    service: AzureService,
    body: Object,
    known: Collection[str],
    native: Collection[str],
    deployment: Deployment,
) -> Object:
    """The parameters outside the API that are handed on to the model, as ``extra-parameters`` says.

    Args:
        known: fields of the API.
        native: further fields that OpenAI models know by themselves.

    Raises:
        EmulatedError: 400 for a header value that means nothing or a parameter that is not allowed; then what
            the model itself refuses.
    """
    given = request.headers.get("extra-parameters")
    action = _read_option(given, service.settings)
    extras = {name: value for name, value in body.items() if name not in known}
    if not extras or action == "drop":
        return {}
    openai = service.habits[deployment.name].openai
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
