"""Stored form of an endpoint created or changed over the management API, and its transitions over time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from emulator.core.json import JSON, Object, as_array, as_number, as_object
from emulator.core.requests import Deployment, Task
from emulator.vendors.databricks.models import CATALOGUE

_TOLERANCE = 1e-6  # seconds; absorbs the rounding of Unix time
_TASKS: Mapping[str, Task] = {
    "llm/v1/chat": "chat",
    "llm/v1/completions": "completions",
    "llm/v1/embeddings": "embeddings",
}
FOUNDATION: Mapping[str, Deployment] = {str(d.traits["entity"]).lower(): d for d in CATALOGUE}
"""Models of ``system.ai`` by entity, each as its pay-per-token endpoint serves it."""
_SCHEMA = "system.ai."
_WORD = re.compile(r"[a-z]{2,}")
_COMMON_WORDS = frozenset({"meta", "databricks"})  # before the family's name
_TUNED = re.compile(r"(?:^|[^a-z])(?:instruct|chat|it)(?![a-z])")  # for conversations


class Update(BaseModel):
    """Pending config. Times are Unix seconds; ``fails``: the deployment will fail."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    config: Object
    since: float
    until: float
    fails: bool = False

    @property
    def due(self) -> float:
        """Unix seconds; an update without a wait is over on every replica, also where the clock is a little behind."""
        return self.until if self.until > self.since else 0.0


class StoredEndpoint(BaseModel):
    """Stored endpoint.

    Fields:
        id: empty for a preconfigured one.
        created, updated: Unix seconds.
        version: version of the current or last config; 0: none yet.
        up: the endpoint serves.
        stopped: a request has stopped the endpoint.
        based: the config is still that of the scenario or the catalogue.
        options: settings other than the config, in the API's form.
        access: grants of users, groups and service principals, in the API's form.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    name: str
    id: str = ""
    creator: str = ""
    created: float
    updated: float
    version: int = 0
    config: Object = {}
    pending: Update | None = None
    up: bool = False
    stopped: bool = False
    based: bool = False
    deleted: bool = False
    options: Object = Field(
        default={}, validation_alias=AliasChoices("options", "told"), serialization_alias="told"
    )  # stored under a name that may not change
    access: tuple[Object, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the last update failed."""
        return self.pending is not None and self.pending.until == 0

    @property
    def updating(self) -> bool:
        return self.pending is not None and not self.failed

    def settle(self, now: float) -> StoredEndpoint:
        """Return the endpoint at a time, with due updates applied."""
        pending = self.pending
        if pending is None or self.failed or now < pending.due - _TOLERANCE:
            return self
        if pending.fails:
            return self.but(pending=pending.model_copy(update={"until": 0.0}))
        same = self.based and pending.config == self.config
        return self.but(
            config=pending.config, pending=None, up=True, based=same, version=self.version + 1, updated=pending.until
        )

    def but(self, **changes: object) -> StoredEndpoint:
        return self.model_copy(update=changes)

    def to_json(self) -> JSON:
        """Return the document to store."""
        found: JSON = self.model_dump(by_alias=True)
        return found


def deploy(stored: StoredEndpoint, base: Deployment | None) -> Deployment:
    """Return the deployment of an endpoint; ``base``: that of the scenario or the catalogue."""
    state = "stopped" if stored.stopped else "ready" if stored.up else "loading"
    if stored.based and base is not None:
        return replace(base, state="stopped" if stored.stopped else base.state if stored.up else "loading")
    config = stored.config or (stored.pending.config if stored.pending else {})
    entities = [as_object(entity) for entity in as_array(config["served_entities"])]
    deployment = deploy_entity(stored.name, entities[0])
    shares: Object = dict(_list_shares(config, [str(entity["name"]) for entity in entities]))
    return replace(deployment, state=state, traits={**deployment.traits, "served_entities": shares})


def deploy_entities(stored: StoredEndpoint) -> Mapping[str, Deployment]:
    """Return the deployments of the served entities, if the endpoint has a config of its own."""
    if stored.based or not stored.config:
        return {}
    entities = (as_object(entity) for entity in as_array(stored.config["served_entities"]))
    return {str(entity["name"]): deploy_entity(stored.name, entity) for entity in entities}


def _list_shares(config: Mapping[str, JSON], names: Iterable[str]) -> Iterable[tuple[str, float]]:
    routes = [as_object(route) for route in as_array(as_object(config["traffic_config"])["routes"])]
    shares = {str(route["served_entity_name"]): as_number(route["traffic_percentage"]) for route in routes}
    return [(name, shares.get(name, 0)) for name in names]


def find_foundation(entity: str) -> Deployment | None:
    """Return the deployment of a model of ``system.ai``; one that is not in the catalogue is like its family's nearest.

    A model of another family chats if its name has the word of one that is tuned for it. A Llama without such a word
    only continues texts. ``None``: no such model.
    """
    model = entity.lower()
    if not model.startswith(_SCHEMA) or model in FOUNDATION:
        return FOUNDATION.get(model)
    family, is_tuned = _find_family_word(model), _TUNED.search(model) is not None
    related = [known for known in FOUNDATION if _find_family_word(known) == family]
    if not related and not is_tuned:
        return None
    near = get_close_matches(model, related, n=1, cutoff=0.0)
    found = FOUNDATION[near[0]] if near else Deployment(vendor="databricks", name="")
    is_base = family == "llama" and not is_tuned and "llama_4" not in model.replace("-", "_")
    traits = {**found.traits, "entity": entity}
    return replace(
        found,
        model=entity.partition(_SCHEMA)[2] or entity,
        traits=traits,
        task="completions" if is_base else found.task,
    )


def list_nearest(entity: str) -> list[str]:
    """Return the models of the catalogue whose names are nearest to an entity's."""
    return get_close_matches(entity.lower(), FOUNDATION, n=3, cutoff=0.0)


def _find_family_word(model: str) -> str:
    words = _WORD.findall(model.removeprefix(_SCHEMA))
    return next((word for word in words if word not in _COMMON_WORDS), "")


def deploy_entity(name: str, entity: Mapping[str, JSON]) -> Deployment:
    """Return the deployment of one entity: an external model, one of ``system.ai``, or a custom one.

    A custom model is an agent if its name contains "agent"; a config has no other sign of it (unverified).
    """
    external = entity.get("external_model")
    if isinstance(external, dict):
        model = str(external["name"])
        known = FOUNDATION.get(f"system.ai.{model}".lower())
        traits: Mapping[str, JSON] = {"provider": external["provider"], "functions": True}
        made = Deployment(vendor="databricks", name=name) if known is None else known
        task = _TASKS.get(str(external["task"]), "chat")
        return replace(made, name=name, model=model, mode="external", task=task, traits=traits)
    model = str(entity["entity_name"])
    found = find_foundation(model)
    if found is not None:
        return replace(found, name=name, mode="provisioned")
    kind = "agent" if "agent" in model.lower() else ""
    return Deployment(vendor="databricks", name=name, mode="custom", kind=kind, traits={"entity": model})
