"""Parse and validate what all inference requests share: body, endpoint, served entity."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_array, as_integer, as_object, as_text
from emulator.core.requests import Deployment
from emulator.core.rng import draw_uniform
from emulator.vendors.databricks.decoder import STRING, Struct, error_parameter, error_type, validate_shape
from emulator.vendors.databricks.errors import NO_ENDPOINT
from emulator.vendors.databricks.families import Family, is_custom
from emulator.vendors.databricks.management.lookup import FoundEndpoint, find
from emulator.vendors.databricks.management.permission_levels import validate_access
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile
from emulator.vendors.databricks.settings import DatabricksSettings

_MAX_DEPTH = 150  # levels of nesting; Go's own limit is 10,000


@fast_dataclass(frozen=True, slots=True, eq=False)
class ParsedRequest:
    """Admitted request for one endpoint.

    Fields:
        served: the served entity that answers.
        repeatable: an equal request has the same result, because nothing was drawn.
    """

    request: Request
    service: DatabricksService
    body: Object
    profile: DeploymentProfile
    served: str
    repeatable: bool
    settings: DatabricksSettings
    deployment: Deployment
    family: Family
    traits: Mapping[str, JSON]

    def check(self, fields: Struct) -> None:
        """Raise for the first unknown or mistyped field; the getters below require validated fields."""
        validate_shape(self.body, fields, "", self.profile.rules.allow)

    def get(self, name: str, default: JSON = None) -> JSON:
        """Return a field; ``null`` counts as absent."""
        value = self.body.get(name)
        return default if value is None else value

    def get_text(self, name: str, default: str = "") -> str:
        value = self.body.get(name)
        return default if value is None else as_text(value)

    def get_integer(self, name: str) -> int | None:
        value = self.body.get(name)
        return None if value is None else as_integer(value)

    def get_object(self, name: str) -> Object:
        value = self.body.get(name)
        return {} if value is None else as_object(value)

    def get_array(self, name: str) -> list[JSON]:
        value = self.body.get(name)
        return [] if value is None else as_array(value)

    def list_texts(self, name: str) -> tuple[str, ...] | None:
        """Return a text or a list of texts as a tuple; ``None`` if an item of the list is no text."""
        value = self.body.get(name)
        if isinstance(value, str):
            return (value,)
        texts = [text for text in as_array(value) if isinstance(text, str)]
        return tuple(texts) if len(texts) == len(as_array(value)) else None

    def wants_stream(self) -> bool:
        """Return whether the request is for a stream; a setting has the default."""
        stream = self.body.get("stream")
        return bool(self.settings.stream_default if stream is None else stream)

    def wants_usage(self) -> bool | None:
        """Return ``stream_options.include_usage``; ``None`` if the request does not say."""
        wanted = self.get_object("stream_options").get("include_usage")
        return None if wanted is None else bool(wanted)


def build_request(request: Request, service: DatabricksService, body: Object, found: FoundEndpoint) -> ParsedRequest:
    """Return the admitted request of an endpoint."""
    deployment, profile = found.deployment, found.profile
    entities = profile.entities
    if len(entities) == 1 and "served" not in request.params:
        (served,) = entities
        repeatable = True
    else:
        served = pick_served(request, entities)
        repeatable = "served" in request.params
    if profile.entity_profiles and served in profile.entity_profiles:
        profile = profile.entity_profiles[served]
        deployment = profile.deployment
    if found.stored is not None:
        repeatable = False
    return ParsedRequest(
        request,
        service,
        body,
        profile,
        served,
        repeatable,
        profile.settings,
        deployment,
        profile.family,
        profile.traits,
    )


def error_messages() -> EmulatedError:
    """Return the error of ``messages`` at an endpoint that accepts only Responses."""
    text = "Invalid request: 'messages' field is not supported. Please use 'input' field instead."
    return error_parameter(text, "messages")


def parse_body(request: Request, limit: int) -> Object:
    """Return the JSON object of a request.

    Raises:
        EmulatedError: it is too large, or not a JSON object.
    """
    if len(request.body) > limit:
        raise EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": limit})
    try:
        body = request.json()
    except (ValueError, RecursionError) as error:
        text = f"Bad request: invalid JSON: {error}"
        raise EmulatedError(ErrorKind.INVALID_REQUEST, text) from None
    if _is_too_deep(request.body, body):
        raise EmulatedError(ErrorKind.INVALID_REQUEST, "Bad request: invalid JSON: exceeded max depth")
    if not isinstance(body, dict):
        raise error_type("", Struct(), body)
    return body


def _is_too_deep(text: bytes, body: JSON) -> bool:
    """Return whether values are nested deeper than :data:`_MAX_DEPTH`."""
    if text.count(b"[") + text.count(b"{") <= _MAX_DEPTH:
        return False
    level: list[JSON] = [body]
    for _ in range(_MAX_DEPTH):
        inner = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list))]
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def find_named(request: Request, service: DatabricksService) -> ParsedRequest:
    """Return the admitted request of ``/serving-endpoints/{name}/…``."""
    found = find_ready(request.params["name"], request, service)
    limit = service.settings.payload_limit_bytes * (4 if is_custom(found.deployment) else 1)
    body = parse_body(request, limit)
    return build_request(request, service, body, found)


def find_by_model(request: Request, service: DatabricksService) -> ParsedRequest:
    """Return the admitted request of an OpenAI-style route: ``model`` names the endpoint."""
    body = parse_body(request, service.settings.payload_limit_bytes)
    return build_request(request, service, body, find_ready(parse_model(body), request, service))


def parse_model(body: Mapping[str, JSON]) -> str:
    """Return ``model``, the endpoint's name."""
    model = body.get("model")
    if model is None or model == "":
        raise error_parameter("Missing required parameter: 'model'", "model")
    if not isinstance(model, str):
        raise error_type("model", STRING, model)
    return model


def find_ready(name: str, request: Request, service: DatabricksService) -> FoundEndpoint:
    """Return an endpoint that can answer.

    Raises:
        EmulatedError: it does not exist, is not ready, or the principal has no access.
    """
    found = find(name, request.documents, service)
    if found is None:
        raise EmulatedError(ErrorKind.NOT_FOUND, NO_ENDPOINT)
    validate_access(found.stored, request.principal, "CAN_QUERY")
    state = found.deployment.state
    if state == "ready":
        return found
    if state == "stopped":
        raise error_parameter(f"Endpoint {name} is stopped. Start the endpoint before sending requests.")  # unverified
    raise EmulatedError(ErrorKind.NOT_READY)


def pick_served(request: Request, entities: Mapping[str, float]) -> str:
    """Return the served entity named by the path, else one drawn by the shares of the traffic."""
    named = request.params.get("served")
    if named is not None:
        if named not in entities:
            raise EmulatedError(ErrorKind.NOT_FOUND, NO_ENDPOINT)
        return named
    rest = draw_uniform(request.key, "served") * sum(entities.values())
    for name, share in entities.items():
        rest -= share
        if rest < 0:
            return name
    return next(iter(entities))
