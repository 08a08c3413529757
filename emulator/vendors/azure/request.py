"""Check a request before its route parses it: credential, API version, body, deployment, extra parameters.

``parse_request`` returns the ``ParsedRequest`` from which the parser of each route builds its call.
"""

import re
from collections.abc import Callable, Collection
from contextlib import suppress

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_object
from emulator.core.requests import Deployment, Task
from emulator.protocols.auth import bearer_token
from emulator.vendors.azure.decoder import parse_body
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.settings import ENGINE_PREFIXES, AzureSettings
from emulator.vendors.azure.url_kind import INFERENCE_KINDS, RESPONSES_KINDS, Kind, UrlKind, classify_url

_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?", re.ASCII)
_PADDED = "2025-08"
HEADERS = ("Content-Type", "extra-parameters", "azureml-model-deployment", "x-ms-model-mesh-model-name")
_OPTIONS = {
    "error": "error",
    "drop": "drop",
    "pass-through": "pass-through",
    "ignore": "drop",
    "allow": "pass-through",
}


def authenticate(request: Request, service: AzureService) -> str:
    """Return the principal of the bearer token or the ``api-key``; one valid credential suffices.

    Raises:
        EmulatedError: ``UNAUTHENTICATED``.
    """
    principal = service.principal(bearer_token(request))
    if principal is None:
        principal = service.principal(request.headers.get("api-key"))
    if principal is None:
        principal = service.principal(request.headers.get("x-api-key"))
    if principal is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED)
    return principal


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ParsedRequest:
    """Admitted request for one deployment.

    Fields:
        settings: the vendor's, in the dialect of the path.
        profile: the deployment's profile in the same dialect.
        body: any JSON; not validated yet.
    """

    request: Request
    service: AzureService
    url: UrlKind
    settings: AzureSettings
    deployment: Deployment
    profile: DeploymentProfile
    body: JSON

    @property
    def fields(self) -> Object:
        """Members of a body that was validated to be an object."""
        return as_object(self.body)


def validate_api_version(request: Request, url: UrlKind, settings: AzureSettings) -> None:
    """Raise for a missing, malformed or unknown ``api-version``, as far as the settings require one.

    Source: Azure OpenAI v1 API, which has no dated versions: paths under ``/openai/v1/`` need none.
    """
    if not url.is_dated or request.path.endswith("/rerank"):  # Cohere's own route
        return
    given = request.query.get("api-version")
    known = settings.api_versions
    if settings.api_version_required and (given is None or not _is_version(given)):
        raise refusals.wrong_api_version(given)
    if given is not None and known is not None and given not in known:
        raise refusals.wrong_api_version(given)


@lru(256)
def _is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def has_padding(parsed: ParsedRequest) -> bool:
    """Return whether this API version has ``obfuscation`` in deltas: from August 2025 on, and without a date.

    Source: openai-python 1.99.2 and its date; that Azure's dated versions follow is unverified.
    """
    if not parsed.profile.openai:
        return False
    return not parsed.url.is_dated or parsed.request.query.get("api-version", "") >= _PADDED


def validate_place(
    request: Request,
    service: AzureService,
    kinds: Collection[Kind] = RESPONSES_KINDS,
    engine: Collection[str] | None = None,
) -> tuple[UrlKind, AzureSettings]:
    """Return the URL kind of a request and the settings of its dialect.

    Args:
        engine: prefixes at the root and of an endpoint; absent: those of the profile.

    Raises:
        EmulatedError: no such route, or not in this version.
    """
    url = classify_url(request)
    settings = url.settings(service.settings)
    if not url.has_route(request, kinds, ENGINE_PREFIXES[settings.profile] if engine is None else engine):
        raise refusals.no_such_path(request.path)
    validate_api_version(request, url, settings)
    return url, settings


def parse_request(
    request: Request,
    service: AzureService,
    task: Task,
    kinds: Collection[Kind] = INFERENCE_KINDS,
    route: str = "",
    engine: Collection[str] | None = None,
    read: Callable[[Request, AzureSettings], JSON] = parse_body,
) -> ParsedRequest:
    """Find the deployment and read the body: routing by path and headers first, then the content.

    The path, the deployment header or the model names the deployment; else the first of the task answers.

    Args:
        route: name of the route, if it differs from the task.
        engine: as in :func:`validate_place`.
        read: returns the members of the body.

    Raises:
        EmulatedError: an unknown version or name, a deployment of another task, a body that is not JSON.
    """
    url, settings = validate_place(request, service, kinds, engine)
    deployment = _find_addressed(request, url, service)
    if deployment is not None:
        profile = _find_profile(deployment, settings, service, task, route)
        body = read(request, settings)
    else:
        body = read(request, settings)
        deployment = _find_model(request, url, settings, service, body) or _find_first(service, task)
        profile = _find_profile(deployment, settings, service, task, route)
    return ParsedRequest(
        request=request,
        service=service,
        url=url,
        settings=settings,
        deployment=deployment,
        profile=profile,
        body=body,
    )


def _find_first(service: AzureService, task: Task) -> Deployment:
    deployments = service.deployments.values()
    return next((d for d in deployments if d.task == task), None) or next(iter(deployments))


def find_any(request: Request, service: AzureService) -> Deployment:
    """Return the deployment of a route that every model has; the query or a body may name the model."""
    deployment = _find_addressed(request, classify_url(request), service)
    if deployment is None:
        body: JSON = {"model": request.query.get("model")}
        if request.body:
            with suppress(ValueError):
                body = request.json()
        model = _read_model(request, body)
        deployment = look_up(service, model) if model else None
    return deployment or next(iter(service.deployments.values()))


def _find_addressed(request: Request, url: UrlKind, service: AzureService) -> Deployment | None:
    """Return the deployment named by path or header; the path wins, and an endpoint of its own has no other."""
    given = request.headers.get("azureml-model-deployment")
    name = url.deployment or given
    if not name:
        return None
    deployment = look_up(service, name)
    if deployment is None:
        raise refusals.unknown_deployment(name)
    if url.kind == "endpoint" and given and given.casefold() != name.casefold():
        raise refusals.unknown_deployment(given)
    return deployment


def _find_model(
    request: Request, url: UrlKind, settings: AzureSettings, service: AzureService, body: JSON
) -> Deployment | None:
    """Return the deployment named by the body's ``model``; an unknown model is an error where there are many."""
    model = _read_model(request, body)
    if model is None:
        return None
    if not model:
        if url.is_openai or url.kind == "anthropic":
            raise refusals.missing("model", body)
        if settings.require_model:
            raise refusals.no_model()
        return None
    deployment = look_up(service, model)
    if deployment is None and (settings.profile == "aoai" or url.kind == "anthropic"):
        raise refusals.unknown_deployment(model)
    if deployment is None and settings.require_model:
        raise refusals.unknown_model(model)
    return deployment


def _read_model(request: Request, body: JSON) -> str | None:
    """Return the model's name, ``""`` without one; ``None``: the member violates the schema."""
    model = body.get("model") if isinstance(body, dict) else None
    if (model is not None and not isinstance(model, str)) or not isinstance(body, dict):
        return None
    return model or request.headers.get("x-ms-model-mesh-model-name", "")


def find_named(request: Request, service: AzureService) -> Deployment | None:
    """Return the deployment that a request names by header or model, even if the request is invalid otherwise."""
    name = request.headers.get("azureml-model-deployment")
    with suppress(ValueError):
        name = name or _read_model(request, request.json())
    return look_up(service, name) if name else None


def look_up(service: AzureService, name: str) -> Deployment | None:
    """Return a deployment by name, case-insensitively."""
    exact = service.deployments.get(name)
    if exact is not None:
        return exact
    folded = name.casefold()
    return next((d for d in service.deployments.values() if d.name.casefold() == folded), None)


def _find_profile(
    deployment: Deployment, settings: AzureSettings, service: AzureService, task: Task, route: str
) -> DeploymentProfile:
    """Return the profile of a deployment that serves the route and is ready."""
    profile = service.profiles[deployment.name][settings.profile]
    if deployment.task != task or (profile.api and profile.api != route):
        raise refusals.wrong_route(route or task, deployment.task, deployment.name)
    validate_ready(deployment)
    return profile


def validate_ready(deployment: Deployment) -> Deployment:
    """Return the deployment if it is ready.

    Raises:
        EmulatedError: it is loading or stopped, or retired, which is reported as unknown.
    """
    if deployment.state == "retired":
        raise refusals.unknown_deployment(deployment.name)
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    return deployment


def parse_extras(parsed: ParsedRequest, known: Collection[str], native: Collection[str]) -> Object:
    """Return the parameters outside the API that pass to the model, as ``extra-parameters`` decides.

    Args:
        known: fields of the API.
        native: further fields that OpenAI models accept by themselves.

    Raises:
        EmulatedError: 400 for an unknown header value or a parameter that is not allowed; then the model's own
            error.
    """
    settings, openai = parsed.settings, parsed.profile.openai
    action = _read_option(parsed.request.headers.get("extra-parameters"), settings)
    extras = {name: value for name, value in parsed.fields.items() if name not in known}
    if not extras:
        return {}
    if action == "drop":
        return {name: value for name, value in extras.items() if name in native} if openai else {}
    if action == "error" and not _is_raw(parsed.request, settings):
        refused = [name for name in extras if not (openai and name in native)]
        if refused:
            raise refusals.extra_not_allowed(refused, by_default=settings.extra_parameters_default == "error")
    if openai and (unknown := [name for name in extras if name not in native]):
        raise refusals.unrecognized(unknown)
    policy = parsed.profile.traits.get("extras", "accept")
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


def _is_raw(request: Request, settings: AzureSettings) -> bool:
    """Return whether a request is for a managed endpoint's own vLLM routes, which do not validate extra parameters."""
    return settings.profile == "managed" and request.path.startswith(("/v1/", "/endpoints/")) and "/v1/" in request.path
