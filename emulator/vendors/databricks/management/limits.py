"""Convert rate limits of endpoints to quotas: presets of a workspace, and limits set over the management API.

Sources: databricks-sdk (``AiGatewayRateLimit``, ``RateLimit``); docs.databricks.com, "Configure AI Gateway" and, for
the presets of a workspace, "Model Serving limits and regions".
"""

from collections.abc import Iterator, Mapping

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object, as_integer, format_value
from emulator.core.quota import Per, Quota, Unit
from emulator.core.requests import Deployment
from emulator.vendors.databricks.decoder import error_parameter

_NAMED = ("user_group", "service_principal")  # `principal` names the group or service principal
_KEYS = ("endpoint", "user", *_NAMED)
_MINUTE, _HOUR = 60.0, 3600.0  # seconds
# Names of limits in ``models.json``: unit and window.
_PRESETS: tuple[tuple[str, Unit, float], ...] = (
    ("itpm", "input_tokens", _MINUTE), ("otpm", "output_tokens", _MINUTE), ("qph", "requests", _HOUR),
    ("qps", "requests", 1.0),
)  # fmt: skip
# Of each unit: the phrase of the observed 429, the documented letters and name, the usual window and (Enterprise tier)
# limit. A window gives its letter or its word: of requests a second and an hour, of tokens a minute are documented.
_UNITS: Mapping[str, tuple[str, str, str, int, int]] = {
    "requests": ("QP{letter}", "QP{letter}", "queries_per_{word}", 1, 200),
    "input_tokens": ("input tokens per {word}", "ITP{letter}", "input_tokens_per_{word}", 60, 200_000),
    "output_tokens": ("output tokens per {word}", "OTP{letter}", "output_tokens_per_{word}", 60, 10_000),
    "tokens": ("", "TP{letter}", "tokens_per_{word}", 60, 200_000),  # the older phrase; no documented name
}
_WINDOWS: Mapping[JSON, tuple[str, str]] = {
    1: ("S", "second"), 60: ("M", "minute"), 3600: ("H", "hour"), 86_400: ("D", "day"),
}  # fmt: skip
_WORKSPACE = Quota(name="workspace/qps", unit="requests", amount=200, window=1.0)
_MAX_RULES, _MAX_GROUP_RULES = 20, 5  # rules of an endpoint; those of them for groups of users


def name_limit(error: EmulatedError) -> tuple[str, str, str, int]:
    """Return phrase, letters, name and default amount of a limit; an unnamed window has only the unit."""
    phrase, letters, kind, window, amount = _UNITS.get(error.limit or "requests", _UNITS["requests"])
    named = _WINDOWS.get(error.details.get("window", window))
    if named is None:
        unit = kind.partition("_per_")[0]
        return "", unit.replace("_", " "), unit, amount
    phrase, letters, kind = (text.format(letter=named[0], word=named[1]) for text in (phrase, letters, kind))
    return phrase, letters, kind, amount


def validate_limits(settings: Mapping[str, JSON]) -> None:
    """Raise for invalid rules."""
    rules = [*list_rules(settings)]
    if len(rules) > _MAX_RULES:
        raise _error_limits(f"An endpoint may have at most {_MAX_RULES} rate limits.")
    if sum(rule.get("key") == "user_group" for rule in rules) > _MAX_GROUP_RULES:
        raise _error_limits(f"An endpoint may have at most {_MAX_GROUP_RULES} rate limits for groups of users.")
    for rule in rules:
        _validate_rule(rule)


def list_rules(settings: Mapping[str, JSON]) -> Iterator[Object]:
    """Yield the rules of the AI gateway, then the older ones."""
    gateway = settings.get("ai_gateway")
    for holder in (gateway if isinstance(gateway, dict) else {}, settings):
        listed = holder.get("rate_limits", [])
        if not isinstance(listed, list) or not all(isinstance(rule, dict) for rule in listed):
            raise _error_limits("'rate_limits' must be a list of rules.")
        yield from (rule for rule in listed if isinstance(rule, dict))


def list_presets(deployment: Deployment, tier: str) -> tuple[Quota, ...]:
    """Return the quotas of a workspace's tier for an endpoint, and the one that all endpoints share.

    Args:
        tier: ``none``, ``enterprise``, or ``raised``: enterprise with its later values.
    """
    if tier == "none":
        return ()
    if deployment.mode != "pay_per_token":
        return (_WORKSPACE,)
    tiers = deployment.traits.get("limits")
    tiers = tiers if isinstance(tiers, dict) else {}
    limits = tiers.get(tier) or tiers.get("enterprise")
    amounts = limits if isinstance(limits, dict) else {}
    presets = (
        Quota(name=f"{deployment.name}/{name}", unit=unit, amount=as_integer(amounts[name]), window=window)
        for name, unit, window in _PRESETS
        if name in amounts
    )
    return (*presets, _WORKSPACE)


def list_quotas(name: str, settings: Mapping[str, JSON], principal: str) -> tuple[Quota, ...]:
    """Return the quotas of a principal's calls to an endpoint.

    A rule for one user, group or service principal applies to the principal of that name; groups have no directory.
    """
    if not settings.get("ai_gateway") and not settings.get("rate_limits"):
        return ()
    return tuple(quota for rule in list_rules(settings) for quota in _build_quotas(name, rule, principal))


def _build_quotas(name: str, rule: Mapping[str, JSON], principal: str) -> Iterator[Quota]:
    limited = rule.get("principal")
    if isinstance(limited, str) and limited.partition("@")[0] != principal.partition("@")[0]:
        return
    key = _read_key(rule)
    per: Per = "deployment" if key == "endpoint" else "principal"
    units: tuple[tuple[str, Unit], ...] = (("calls", "requests"), ("tokens", "tokens"))
    for field, unit in units:
        amount = rule.get(field)
        if isinstance(amount, int):
            label = f"{name}/{key}/{limited or ''}/{unit}/{amount}"
            yield Quota(name=label, unit=unit, amount=amount, window=_MINUTE, strategy="sliding", per=per)


def _read_key(rule: Mapping[str, JSON]) -> JSON:
    """Return by what a rule counts: endpoint, user or group. Source: REST reference, ``AiGatewayRateLimit.key``."""
    key = rule.get("key")
    return "endpoint" if key is None else key


def _validate_rule(rule: Mapping[str, JSON]) -> None:
    key, period = _read_key(rule), rule.get("renewal_period")
    if key not in _KEYS:
        raise _error_limits(f"Rate limit key '{format_value(key)}' is not supported.")
    if key in _NAMED and not isinstance(rule.get("principal"), str):
        raise _error_limits(f"A rate limit for a {key} needs a 'principal'.")
    if period is None:
        raise _error_limits("A rate limit needs a 'renewal_period'.")
    if period != "minute":
        raise _error_limits(f"Rate limit renewal period '{format_value(period)}' is not supported.")
    amounts = [rule[name] for name in ("calls", "tokens") if rule.get(name) is not None]
    if not amounts:
        raise _error_limits("A rate limit needs 'calls' or 'tokens'.")
    if not all(isinstance(amount, int) and not isinstance(amount, bool) and amount >= 0 for amount in amounts):
        raise _error_limits("A rate limit must be a whole number, 0 or more.")


def _error_limits(text: str) -> EmulatedError:
    return error_parameter(text, "rate_limits", code="INVALID_PARAMETER_VALUE")
