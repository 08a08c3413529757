"""What an endpoint's AI gateway may be told.

Sources: databricks-sdk (``AiGatewayGuardrails``, ``AiGatewayInferenceTableConfig``); docs.databricks.com, "Configure AI
Gateway" (which limits there are for which endpoints). Texts unverified.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.json import JSON, Object
from emulator.core.requests import Deployment
from emulator.vendors.databricks.families import is_custom
from emulator.vendors.databricks.management.config import invalid
from emulator.vendors.databricks.management.limits import check_limits, list_rules

_BEHAVIORS = ("BLOCK", "MASK", "NONE")
_TABLE = ("catalog_name", "schema_name")


def check_gateway(told: Mapping[str, JSON]) -> None:
    """Refuse limits, guardrails and tables that cannot be.

    Raises:
        EmulatedError: the first of them.
    """
    check_limits(told)
    gateway = told.get("ai_gateway")
    if gateway is None:
        return
    if not isinstance(gateway, dict):
        raise invalid("'ai_gateway' must be an object.", "ai_gateway")
    guardrails = _member(gateway, "guardrails")
    for side in ("input", "output"):
        _check_guard(_member(guardrails, side))
    _check_table(_member(gateway, "inference_table_config"))


def check_tokens(told: Mapping[str, JSON], deployment: Deployment) -> None:
    """Tokens are counted for models of a known kind only."""
    if is_custom(deployment) and any(rule.get("tokens") is not None for rule in list_rules(told)):
        raise invalid("Token rate limits are not supported for endpoints that serve custom models.", "rate_limits")


def _check_guard(guard: Mapping[str, JSON]) -> None:
    personal = _member(guard, "pii")
    behavior = personal.get("behavior")
    if personal and behavior not in _BEHAVIORS:
        raise invalid(f"PII behavior '{behavior}' is not supported.", "guardrails")
    for name in ("invalid_keywords", "valid_topics"):
        words = guard.get(name)
        if words is not None and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            raise invalid(f"'{name}' must be a list of strings.", "guardrails")


def _check_table(table: Mapping[str, JSON]) -> None:
    missing = [name for name in _TABLE if not table.get(name)]
    if table.get("enabled") is True and missing:
        raise invalid(f"Missing required field: '{missing[0]}'", "inference_table_config")


def _member(holder: Mapping[str, JSON], name: str) -> Object:
    found = holder.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise invalid(f"'{name}' must be an object.", name)
    return found
