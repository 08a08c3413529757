"""Validate and complete the config of an endpoint that a client creates or updates: served entities, traffic split.

Sources: databricks-sdk (``service/serving.py``), the fake server of databricks-cli for defaults, and
docs.databricks.com for valid combinations; texts of refusals are unverified but for the one of databricks-sdk-py issue
1081.
"""

import re
from collections.abc import Mapping, Sequence

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object, as_integer, as_object, format_value
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.management.lookup import error_missing
from emulator.vendors.databricks.management.shapes import build_foundation
from emulator.vendors.databricks.management.stored_endpoint import find_foundation, list_nearest

THROUGHPUT_CHUNK = 980  # throughput of an older model is provisioned in multiples of these tokens per second
_MAX_ENTITIES = 15
_MAX_VARIABLES, _MAX_CONCURRENCY = 50, 1024  # of an entity; docs.databricks.com, "Model Serving limits and regions"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?", re.ASCII)
_PROVIDERS = (
    "ai21labs", "anthropic", "amazon-bedrock", "cohere", "custom", "databricks-model-serving",
    "google-cloud-vertex-ai", "openai", "palm",
)  # fmt: skip
_TASKS = ("llm/v1/chat", "llm/v1/completions", "llm/v1/embeddings")
_BY_CHUNKS = ("llama", "gte", "bge", "deepseek_r1", "deepseek-r1", "dbrx", "mixtral", "mistral", "mpt")
_SIZES = ("Small", "Medium", "Large")
_TYPES = (
    "CPU", "CPU_MEDIUM", "CPU_LARGE", "GPU_SMALL", "GPU_MEDIUM", "GPU_LARGE", "GPU_XLARGE", "GPU_XLARGE_8",
    "MULTIGPU_MEDIUM",
)  # fmt: skip
_ENTITY_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SINGLE_MODELS = ("llama-4", "llama_4")  # their provisioned endpoints serve one model
_OLD_NAMES = {"model_name": "entity_name", "model_version": "entity_version"}
_HIDDEN = ("burst_scaling_enabled",)  # the fake server of databricks-cli does not return it


def invalid(text: str, param: str | None = None) -> EmulatedError:
    """Return a validation error of the management API (400)."""
    return error_parameter(text, param, code="INVALID_PARAMETER_VALUE")


def sized_family(model: str) -> str | None:
    """Return the family of a model provisioned in tokens per second; ``None`` for newer ones, in model units.

    Source: docs.databricks.com, "Provisioned throughput Foundation Model APIs".
    """
    name = model.lower()
    if "llama-4" in name or "llama_4" in name:
        return None
    return next((family for family in _BY_CHUNKS if family in name), None)


def validate_name(name: JSON) -> str:
    """Return the validated name of a new endpoint."""
    if not isinstance(name, str) or not name:
        raise invalid("Missing required field: 'name'", "name")
    if not _NAME.fullmatch(name) or len(name) > 63:
        text = "may hold up to 63 letters, digits, dashes, underscores and periods"
        raise invalid(f"Endpoint name '{name}' is invalid: it {text}.", "name")
    return name


def parse_config(given: JSON) -> Object:
    """Return a config with its entities' names and its traffic split."""
    if not isinstance(given, dict):
        raise invalid("Missing required field: 'config'", "config")
    entities = _parse_entities(given)
    names = [str(as_object(entity)["name"]) for entity in entities]
    if len(set(names)) < len(names):
        raise invalid("The names of served entities must be unique.", "served_entities")
    _validate_combination(entities)
    config: Object = {"served_entities": entities, "traffic_config": {"routes": _parse_routes(given, names)}}
    capture = given.get("auto_capture_config")
    return config if capture is None else {**config, "auto_capture_config": capture}


def is_external(config: Mapping[str, JSON]) -> bool:
    """Return whether an endpoint serves external models."""
    entities = config["served_entities"]
    return isinstance(entities, list) and any(isinstance(e, dict) and "external_model" in e for e in entities)


def _parse_entities(given: Mapping[str, JSON]) -> list[JSON]:
    listed = given.get("served_entities") or given.get("served_models")
    if not isinstance(listed, list) or not listed:
        raise invalid("At least one served entity is required.", "served_entities")
    if len(listed) > _MAX_ENTITIES:
        raise invalid(f"An endpoint may have at most {_MAX_ENTITIES} served entities.", "served_entities")
    return [_parse_entity(entity) for entity in listed]


def _parse_entity(given: JSON) -> Object:
    if not isinstance(given, dict):
        raise invalid("A served entity must be an object.", "served_entities")
    fields = [(str(name), value) for name, value in given.items() if value is not None and name not in _HIDDEN]
    entity: Object = {_OLD_NAMES.get(name, name): value for name, value in fields}
    _validate_values(entity)
    _validate_bounds(entity)
    external = entity.get("external_model")
    model = entity.get("entity_name")
    if external is not None:
        entity["external_model"] = _parse_external(external)
    elif not isinstance(model, str) or not model:
        raise invalid("A served entity needs 'entity_name' or 'external_model'.", "served_entities")
    else:
        _validate_known(model)
        entity["entity_version"] = str(entity.get("entity_version", "1"))
        _validate_throughput(entity, model)
        if "provisioned_model_units" not in entity:  # such entities never sleep
            entity.setdefault("scale_to_zero_enabled", False)
        if (foundation := build_foundation(model)) is not None:
            entity["foundation_model"] = foundation
        elif "min_provisioned_concurrency" not in entity:
            entity = {"workload_size": "Small", "workload_type": "CPU", **entity}
    return {"name": _name_entity(entity), **{name: value for name, value in entity.items() if name != "name"}}


def _validate_known(model: str) -> None:
    """Raise for an unknown model of ``system.ai``; those of other schemas are the user's own."""
    if model.lower().startswith("system.ai.") and find_foundation(model) is None:
        nearest = ", ".join(list_nearest(model))
        raise error_missing(f"Model '{model}' is not known. The nearest models of system.ai are: {nearest}.")


def _validate_values(entity: Mapping[str, JSON]) -> None:
    """Validate the name and enumerated fields. Source: databricks-sdk, docstrings of ``ServedEntityInput``."""
    for field, known in (("workload_size", _SIZES), ("workload_type", _TYPES)):
        if entity.get(field) is not None and entity[field] not in known:
            raise invalid(
                f"'{format_value(entity[field])}' is not a valid {field}. Valid values: {', '.join(known)}.", field
            )
    name = entity.get("name")
    if name and not (isinstance(name, str) and _ENTITY_NAME.fullmatch(name.replace(".", "-"))):
        text = "may hold letters, digits, dashes and underscores"
        raise invalid(f"Served entity name '{format_value(name)}' is invalid: it {text}.", "name")


def _validate_bounds(entity: Mapping[str, JSON]) -> None:
    """Validate environment variables and concurrency. Source: databricks-sdk, docstrings of ``ServedEntityInput``."""
    variables = entity.get("environment_vars", {})
    if not isinstance(variables, dict) or not all(isinstance(value, str) for value in variables.values()):
        raise invalid("'environment_vars' must map names to texts.", "environment_vars")
    if len(variables) > _MAX_VARIABLES:
        raise invalid(f"A served entity may have at most {_MAX_VARIABLES} environment variables.", "environment_vars")
    names = ("min_provisioned_concurrency", "max_provisioned_concurrency")
    given = [(name, entity[name]) for name in names if entity.get(name) is not None]
    for name, bound in given:
        if not isinstance(bound, int) or isinstance(bound, bool) or not 0 <= bound <= _MAX_CONCURRENCY:
            raise invalid(f"'{name}' must be an integer from 0 to {_MAX_CONCURRENCY}.", name)
    if [*sorted(as_integer(bound) for _, bound in given)] != [bound for _, bound in given]:
        raise invalid("min_provisioned_concurrency cannot exceed max_provisioned_concurrency.", names[0])
    if given and entity.get("workload_size") is not None:
        raise invalid("Provisioned concurrency and 'workload_size' cannot be given together.", "workload_size")


def _name_entity(entity: Mapping[str, JSON]) -> str:
    """Return an entity's name; of a name in three parts, all three.

    Source: databricks-sdk, docstring of ``ServedEntityInput.name``.
    """
    name = entity.get("name")
    if isinstance(name, str) and name:
        return name
    external = entity.get("external_model")
    if isinstance(external, dict):
        return re.sub(r"[.:]", "-", str(external["name"]))
    return f"{entity['entity_name']}-{entity['entity_version']}"


def _parse_external(given: JSON) -> Object:
    """Return an external model without its plain-text secrets, which responses never repeat."""
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise invalid("An external model needs a 'name'.", "external_model")
    missing = next((name for name in ("provider", "task") if given.get(name) is None), None)
    if missing is not None:
        raise invalid(f"Missing required field: '{missing}'", missing)
    provider, task = given.get("provider"), given.get("task")
    if provider not in _PROVIDERS:
        raise invalid(f"External model provider '{format_value(provider)}' is not supported.", "provider")
    if task not in _TASKS:
        raise invalid(f"External model task '{format_value(task)}' is not supported.", "task")
    return {name: _redact_secrets(value) for name, value in given.items() if value is not None}


def _redact_secrets(value: JSON) -> JSON:
    if not isinstance(value, dict):
        return value
    return {name: _redact_secrets(inner) for name, inner in value.items() if not name.endswith("_plaintext")}


def _validate_throughput(entity: Mapping[str, JSON], model: str) -> None:
    bounds = [entity.get(name) for name in ("min_provisioned_throughput", "max_provisioned_throughput")]
    given = [bound for bound in bounds if bound is not None]
    if not given:
        return
    if sized_family(model) is None or _is_base_model(model):
        raise invalid(f"Served entity {model} is not eligible for Provisioned Throughput.", "served_entities")
    for bound in given:
        if not isinstance(bound, int) or bound < 0 or bound % THROUGHPUT_CHUNK:
            raise invalid(
                f"Provisioned throughput must be a multiple of {THROUGHPUT_CHUNK}, got {bound}.", "served_entities"
            )
    if [*sorted(as_integer(bound) for bound in given)] != given:
        raise invalid("min_provisioned_throughput cannot exceed max_provisioned_throughput.", "served_entities")


def _is_base_model(model: str) -> bool:
    """Return whether a model is a Llama of ``system.ai`` without instruction tuning."""
    name = model.lower()
    return name.startswith("system.ai.") and "llama" in name and "instruct" not in name and "chat" not in name


def _validate_combination(entities: Sequence[JSON]) -> None:
    """Validate combinations of entities.

    Source: docs.databricks.com, "Serve multiple models"; databricks-sdk, docstring of ``external_model``.
    """
    known = [entity for entity in entities if isinstance(entity, dict)]
    kinds = {_kind_of(entity) for entity in known}
    if len(kinds) > 1:
        raise invalid("An endpoint cannot serve models of different types.", "served_entities")
    if len(known) > 1 and any(part in str(e.get("entity_name")).lower() for e in known for part in _SINGLE_MODELS):
        raise invalid("An endpoint of this model can serve no other beside it.", "served_entities")
    models = [entity.get("external_model") for entity in known]
    tasks = {str(model["task"]) for model in models if isinstance(model, dict)}
    if len(tasks) > 1:
        raise invalid("All external models of an endpoint must have the same task.", "served_entities")


def _kind_of(entity: Mapping[str, JSON]) -> str:
    if "external_model" in entity:
        return "external"
    return "foundation" if find_foundation(str(entity.get("entity_name"))) else "custom"


def _parse_routes(given: Mapping[str, JSON], names: Sequence[str]) -> list[JSON]:
    traffic = given.get("traffic_config")
    if traffic is None and len(names) == 1:
        return [_build_route(names[0], 100)]
    routes = traffic.get("routes") if isinstance(traffic, dict) else None
    if not isinstance(routes, list):
        raise invalid("An endpoint with several served entities needs a 'traffic_config'.", "traffic_config")
    shares = [_parse_route(route, names) for route in routes]
    if sum(share for _, share in shares) != 100:
        raise invalid("The traffic percentages must add up to 100.", "traffic_config")
    return [_build_route(name, share) for name, share in shares]


def _parse_route(route: JSON, names: Sequence[str]) -> tuple[str, int]:
    if not isinstance(route, dict):
        raise invalid("A route must be an object.", "traffic_config")
    name = route.get("served_entity_name") or route.get("served_model_name")
    if name is None:
        raise invalid("Missing required field: 'served_entity_name'", "traffic_config")
    if name not in names:
        raise invalid(f"The route's served entity '{format_value(name)}' does not exist.", "traffic_config")
    share = route.get("traffic_percentage")
    if isinstance(share, str) and share.isascii() and share.isdigit():
        share = int(share[:4])  # examples of the documentation send "90"
    if not isinstance(share, int) or isinstance(share, bool) or not 0 <= share <= 100:
        raise invalid("A traffic percentage must be an integer from 0 to 100.", "traffic_config")
    return str(name), share


def _build_route(name: str, share: int) -> Object:
    return {"served_model_name": name, "served_entity_name": name, "traffic_percentage": share}
