"""What every inference request goes through: its body, its endpoint, its fields, its limits."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_array, as_integer, as_object, as_text
from emulator.core.requests import Deployment
from emulator.core.rng import draw_uniform
from emulator.vendors.databricks.decoder import STRING, Struct, check_shape, refusal, type_refusal
from emulator.vendors.databricks.errors import NO_ENDPOINT
from emulator.vendors.databricks.families import Family, is_custom
from emulator.vendors.databricks.management.lookup import FoundEndpoint, find
from emulator.vendors.databricks.management.permission_levels import check_access
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile
from emulator.vendors.databricks.settings import DatabricksSettings

_DEEPEST = 150  # levels; Go's own bound is 10,000


@fast_dataclass(frozen=True, slots=True, eq=False)
class ParsedRequest:
    """One request to one endpoint, as far as all tasks are alike.

    Fields:
        served: the served entity that answers.
        repeatable: nothing was drawn for the request; an equal one is read the same way.
    """

    request: Request
    service: DatabricksService
    body: Object
    habits: DeploymentProfile
    served: str
    repeatable: bool
    settings: DatabricksSettings
    deployment: Deployment
    family: Family
    traits: Mapping[str, JSON]

    def check(self, fields: Struct) -> None:
        """Refuse the first unknown or mistyped field; the getters below come after it."""
        check_shape(self.body, fields, "", self.habits.rules.allow)

    def get(self, name: str, default: JSON = None) -> JSON:
        """A field; ``null`` counts as absent."""
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
        """A field that holds a text or a list of texts; ``None`` if one of the list is none."""
        value = self.body.get(name)
        if isinstance(value, str):
            return (value,)
        texts = [text for text in as_array(value) if isinstance(text, str)]
        return tuple(texts) if len(texts) == len(as_array(value)) else None

    def wants_stream(self) -> bool:
        """Whether a chat or completion is to be streamed; left out, a setting says."""
        stream = self.body.get("stream")
        return bool(self.settings.stream_default if stream is None else stream)

    def wants_usage(self) -> bool:
        """Whether a stream is to have usage."""
        options = self.body.get("stream_options")
        return isinstance(options, dict) and bool(options.get("include_usage"))


def make_query(request: Request, service: DatabricksService, body: Object, found: FoundEndpoint) -> ParsedRequest:
    """A request that has found its endpoint."""
    deployment, habits = found.deployment, found.habits
    entities = habits.entities
    if len(entities) == 1 and "served" not in request.params:
        (served,) = entities
        repeatable = True
    else:
        served = pick_served(request, entities)
        repeatable = "served" in request.params
    if served in habits.behind:
        habits = habits.behind[served]
        deployment = habits.deployment
    if found.kept is not None:
        repeatable = False
    return ParsedRequest(
        request, service, body, habits, served, repeatable, habits.settings, deployment, habits.family, habits.traits
    )


def messages_refusal() -> EmulatedError:
    """What an endpoint that speaks Responses says to a chat."""
    text = "Invalid request: 'messages' field is not supported. Please use 'input' field instead."
    return refusal(text, "messages")


def read_body(request: Request, limit: int) -> Object:
    """The JSON object of a request.

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
    if _nests_deeply(request.body, body):
        raise EmulatedError(ErrorKind.INVALID_REQUEST, "Bad request: invalid JSON: exceeded max depth")
    if not isinstance(body, dict):
        raise type_refusal("", Struct(), body)
    return body


def _nests_deeply(text: bytes, body: JSON) -> bool:
    """Whether values stand inside one another further than any answer could repeat them."""
    if text.count(b"[") + text.count(b"{") <= _DEEPEST:
        return False
    level: list[JSON] = [body]
    for _ in range(_DEEPEST):
        inner = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list))]
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def find_named(request: Request, service: DatabricksService) -> ParsedRequest:
    """The query of ``/serving-endpoints/{name}/…``."""
    found = find_ready(request.params["name"], request, service)
    limit = service.settings.payload_limit_bytes * (4 if is_custom(found.deployment) else 1)
    body = read_body(request, limit)
    return make_query(request, service, body, found)


def find_by_model(request: Request, service: DatabricksService) -> ParsedRequest:
    """The query of an OpenAI-style route: ``model`` names the endpoint."""
    body = read_body(request, service.settings.payload_limit_bytes)
    return make_query(request, service, body, find_ready(read_model(body), request, service))


def read_model(body: Mapping[str, JSON]) -> str:
    """The endpoint's name in a body."""
    model = body.get("model")
    if model is None or model == "":
        raise refusal("Missing required parameter: 'model'", "model")
    if not isinstance(model, str):
        raise type_refusal("model", STRING, model)
    return model


def find_ready(name: str, request: Request, service: DatabricksService) -> FoundEndpoint:
    """An endpoint that can be asked.

    Raises:
        EmulatedError: there is none of that name, it is not up, or whoever asks may not.
    """
    found = find(name, request.documents, service)
    if found is None:
        raise EmulatedError(ErrorKind.NOT_FOUND, NO_ENDPOINT)
    check_access(found.kept, request.principal, "CAN_QUERY")
    deployment = found.deployment
    if deployment.state == "stopped":
        raise refusal(f"Endpoint {name} is stopped. Start the endpoint before sending requests.")  # unverified
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    return found


def pick_served(request: Request, entities: Mapping[str, float]) -> str:
    """The served entity that answers: the one the path names, else one by its share of the traffic."""
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
