"""Validate an endpoint's AI gateway settings, when it is created or they are updated.

Sources: databricks-sdk (``AiGatewayGuardrails``, ``AiGatewayInferenceTableConfig``); docs.databricks.com, "Configure AI
Gateway" (which limits there are for which endpoints). Texts unverified.
"""

from collections.abc import Mapping

from emulator.core.json import JSON, Object, format_value
from emulator.core.requests import Deployment
from emulator.vendors.databricks.families import is_custom
from emulator.vendors.databricks.management.config import invalid
from emulator.vendors.databricks.management.limits import list_rules, validate_limits

_BEHAVIORS = ("BLOCK", "MASK", "NONE")
_TABLE = ("catalog_name", "schema_name")


def validate_gateway(settings: Mapping[str, JSON]) -> None:
    """Raise for invalid limits, guardrails and tables."""
    validate_limits(settings)
    gateway = settings.get("ai_gateway")
    if gateway is None:
        return
    if not isinstance(gateway, dict):
        raise invalid("'ai_gateway' must be an object.", "ai_gateway")
    guardrails = _get_object(gateway, "guardrails")
    for side in ("input", "output"):
        _validate_guard(_get_object(guardrails, side))
    _validate_table(_get_object(gateway, "inference_table_config"))


def validate_tokens(settings: Mapping[str, JSON], deployment: Deployment) -> None:
    """Raise for token limits on custom models."""
    if is_custom(deployment) and any(rule.get("tokens") is not None for rule in list_rules(settings)):
        raise invalid("Token rate limits are not supported for endpoints that serve custom models.", "rate_limits")


def _validate_guard(guard: Mapping[str, JSON]) -> None:
    personal = _get_object(guard, "pii")
    behavior = personal.get("behavior")
    if behavior is not None and behavior not in _BEHAVIORS:
        raise invalid(f"PII behavior '{format_value(behavior)}' is not supported.", "guardrails")
    for name in ("invalid_keywords", "valid_topics"):
        words = guard.get(name)
        if words is not None and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            raise invalid(f"'{name}' must be a list of strings.", "guardrails")


def _validate_table(table: Mapping[str, JSON]) -> None:
    missing = [name for name in _TABLE if not table.get(name)]
    if table.get("enabled") is True and missing:
        raise invalid(f"Missing required field: '{missing[0]}'", "inference_table_config")


def _get_object(holder: Mapping[str, JSON], name: str) -> Object:
    found = holder.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise invalid(f"'{name}' must be an object.", name)
    return found
