"""What every inference request goes through: its body, its endpoint, its fields, its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.record import record
from emulator.core.seed import draw_uniform
from emulator.core.vendor import Service
from emulator.core.wire import WireRequest
from emulator.vendors.databricks.catalogue import Family, family_of, is_agent, is_custom, traits_of
from emulator.vendors.databricks.decoder import (
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    Shape,
    Struct,
    check_shape,
    mistyped,
    refuse,
)
from emulator.vendors.databricks.errors import NO_ENDPOINT
from emulator.vendors.databricks.settings import DatabricksSettings

# Fields the serving API itself defines and takes beside every task's own. Source: databricks-sdk,
# ``serving_endpoints.query``; mlflow adds ``databricks_options``.
COMMON: dict[str, Shape] = {
    "model": STRING,
    "client_request_id": STRING,
    "usage_context": OBJECT,
    "extra_params": OBJECT,
    "databricks_options": OBJECT,
}
# No trace of a refusal was found for these; every model takes them unless unknown fields are refused everywhere.
TOLERATED: dict[str, Shape] = {
    "seed": INTEGER,
    "frequency_penalty": NUMBER,
    "presence_penalty": NUMBER,
    "logit_bias": OBJECT,
}
# Fields of one family, which are unknown to every other.
_OWNED: dict[str, frozenset[Family]] = {
    "cache_control": frozenset({"claude"}),
    "thinking": frozenset({"claude"}),
    "output_config": frozenset({"claude"}),
    "google_search": frozenset({"gemini"}),
    "reasoning_effort": frozenset({"gpt-oss", "gpt", "gemini"}),
}
_STRICT = ("open", "gpt-oss")
_DEEPEST = 150  # levels; Go's own bound is 10,000


@record(frozen=True, slots=True, eq=False)
class Habits:
    """How an endpoint reads and answers under the settings: all that no request changes.

    Fields:
        family, traits: whose habits the endpoint has, and which.
        tolerant: fields that no table lists may stay: not on open models, unless a setting says otherwise.
        lists: ``content`` may be a list of parts.
        chats: the endpoint takes chats.
        entities: what stands behind the endpoint, and each one's share of the traffic.
        fields, replies: what each task takes, and how it is answered; kept once worked out.
    """

    deployment: Deployment
    settings: DatabricksSettings
    family: Family
    traits: Mapping[str, JSON]
    tolerant: bool
    lists: bool
    chats: bool
    entities: dict[str, float]
    fields: dict[str, Struct] = field(default_factory=dict)
    replies: dict[tuple[str, bool], JSON] = field(default_factory=dict)

    def owns(self, name: str) -> bool:
        """Whether a field is not one of another family's own."""
        return self.settings.strict_unknown_fields == "off" or self.family in _OWNED.get(name, (self.family,))

    def allow(self, path: str, name: str) -> bool:
        """Whether an unknown field may stay."""
        return self.tolerant and self.owns(name)


_HABITS: dict[tuple[int, int], Habits] = {}
_MOST_HABITS = 1024


def habits_of(deployment: Deployment, settings: DatabricksSettings) -> Habits:
    """An endpoint's habits; what is kept holds both, so no other object takes their ``id``."""
    key = (id(deployment), id(settings))
    habits = _HABITS.get(key)
    if habits is None:
        if len(_HABITS) >= _MOST_HABITS:
            _HABITS.clear()
        habits = _HABITS[key] = _find_habits(deployment, settings)
    return habits


def _find_habits(deployment: Deployment, settings: DatabricksSettings) -> Habits:
    family = family_of(deployment)
    traits = traits_of(deployment, family)
    mode = settings.strict_unknown_fields
    foreign = deployment.mode in ("external", "custom") or is_agent(deployment)
    return Habits(
        deployment=deployment,
        settings=settings,
        family=family,
        traits=traits,
        tolerant=mode == "off" or (mode == "by-model" and (foreign or family not in _STRICT)),
        lists=settings.content_lists == "model" and bool(traits.get("content_parts")),
        chats=(
            deployment.task == "chat"
            and not traits.get("responses_only")
            and not is_agent(deployment)
            and not is_custom(deployment)
        ),
        entities=served_entities(deployment, traits),
    )


@record(frozen=True, slots=True, eq=False)
class Query:
    """One request to one endpoint, as far as all tasks are alike.

    Fields:
        served: the served entity that answers.
        repeatable: nothing was drawn for the request; an equal one is read the same way.
    """

    request: WireRequest
    service: Service[Any, Any]
    body: JSON
    habits: Habits
    served: str
    repeatable: bool
    settings: DatabricksSettings
    deployment: Deployment
    family: Family
    traits: Mapping[str, JSON]

    def get(self, name: str, default: JSON = None) -> JSON:
        """A field; ``null`` counts as absent."""
        value = self.body.get(name)
        return default if value is None else value

    def check(self, task: str, list_fields: Callable[[Habits], Struct]) -> None:
        """Refuse the first unknown or mistyped field.

        Args:
            list_fields: what the task takes of an endpoint with such habits.
        """
        known = self.habits.fields.get(task)
        if known is None:
            names = list_fields(self.habits).fields
            if self.settings.strict_unknown_fields == "on":
                names = {name: shape for name, shape in names.items() if name not in TOLERATED}
            known = self.habits.fields[task] = Struct(names)
        check_shape(self.body, known, "", self.habits.allow)


def make_query(request: WireRequest, service: Service[Any, Any], body: JSON, deployment: Deployment) -> Query:
    """A request that has found its endpoint."""
    habits = habits_of(deployment, service.settings)
    entities = habits.entities
    if len(entities) == 1 and "served" not in request.params:
        (served,) = entities
        repeatable = True
    else:
        served = pick_served(request, entities)
        repeatable = "served" in request.params
    return Query(
        request, service, body, habits, served, repeatable, habits.settings, deployment, habits.family, habits.traits
    )


def refuse_messages() -> EmulatedError:
    """What an endpoint that speaks Responses says to a chat."""
    text = "Invalid request: 'messages' field is not supported. Please use 'input' field instead."
    return refuse(text, "messages")


def read_body(request: WireRequest, limit: int) -> dict[str, JSON]:
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
        raise mistyped("", Struct(), body)
    result: dict[str, JSON] = body
    return result


def _nests_deeply(text: bytes, body: JSON) -> bool:
    """Whether values stand inside one another further than any answer could repeat them."""
    if text.count(b"[") + text.count(b"{") <= _DEEPEST:
        return False
    level = [body]
    for _ in range(_DEEPEST):
        inner = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)]
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def find_named(request: WireRequest, service: Service[Any, Any]) -> Query:
    """The query of ``/serving-endpoints/{name}/…``."""
    deployment = find_deployment(request.params["name"], service)
    settings: DatabricksSettings = service.settings
    limit = settings.payload_limit_bytes * (4 if is_custom(deployment) else 1)
    body = read_body(request, limit)
    return make_query(request, service, body, deployment)


def find_by_model(request: WireRequest, service: Service[Any, Any]) -> Query:
    """The query of an OpenAI-style route: ``model`` names the endpoint."""
    body = read_body(request, service.settings.payload_limit_bytes)
    deployment = find_deployment(read_model(body), service)
    return make_query(request, service, body, deployment)


def read_model(body: Mapping[str, JSON]) -> str:
    """The endpoint's name in a body."""
    model = body.get("model")
    if model is None or model == "":
        raise refuse("Missing required parameter: 'model'", "model")
    if not isinstance(model, str):
        raise mistyped("model", STRING, model)
    return model


def find_deployment(name: str, service: Service[Any, Any]) -> Deployment:
    """An endpoint that can be asked.

    Raises:
        EmulatedError: there is none of that name, or it is not up.
    """
    deployment = service.deployments.get(name)
    if deployment is None or deployment.state == "retired":
        raise EmulatedError(ErrorKind.NOT_FOUND, NO_ENDPOINT)
    if deployment.state == "stopped":
        raise refuse(f"Endpoint {name} is stopped. Start the endpoint before sending requests.")  # unverified
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    return deployment


def served_entities(deployment: Deployment, traits: Mapping[str, JSON]) -> dict[str, float]:
    """Names of what stands behind an endpoint, and each one's share of the traffic."""
    listed = traits.get("served_entities")
    if isinstance(listed, dict) and listed:
        return {str(name): float(share) if isinstance(share, int | float) else 0.0 for name, share in listed.items()}
    if isinstance(listed, list) and listed:
        return {str(name): 1.0 for name in listed}
    return {deployment.name: 100.0}


def pick_served(request: WireRequest, entities: Mapping[str, float]) -> str:
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
