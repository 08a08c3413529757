"""Scenarios that are attacked: every vendor and profile, with random clocks, limits and faults."""

# ruff: noqa: E501 -- tables of odd things, one kind a line

import json
import random
from typing import get_args

from emulator.vendors import VENDORS
from tests.untyped_json import JSON

_FAULTS: list[JSON] = [
    {"type": "disconnect", "after_tokens": 2},
    {"type": "truncate", "at": 0.5},
    {"type": "stall", "for": "5ms", "after_tokens": 1},
    {"type": "hang", "for": "5ms"},
    {"type": "hang", "for": "5ms", "after_tokens": 1},
    {"type": "drip", "bytes_per_second": 1e6},
    {"type": "late_error", "after_tokens": 1},
    {"type": "garbage", "before": "finish"},
    {"type": "drop", "field": ["usage", "id"]},
    {"type": "duplicate", "after_tokens": 1},
    {"type": "reorder", "after_tokens": 1},
    {"type": "wrong_usage"},
    {"type": "wrong_content_type"},
    {"type": "empty_body"},
    {"type": "extra_fields"},
    {"type": "split", "writes": "utf8"},
    {"type": "split", "writes": "byte"},
    {"type": "split", "writes": "across"},
    {"type": "status", "status": 204},
    {"type": "status", "status": 304},
]
_ERRORS = [
    "invalid_request", "invalid_parameter", "unauthenticated", "forbidden", "not_found", "method_not_allowed",
    "payload_too_large", "context_length", "content_filter", "rate_limited", "overloaded", "not_ready", "timeout", "internal",
]  # fmt: skip
_CLOCKS: list[JSON] = ["instant", "instant", "real", {"scale": 1000}, "frozen"]
_UNITS = ["requests", "input_tokens", "output_tokens", "tokens"]
FAULT_HEADERS = [
    "; ".join([str(fault["type"]), *(f"{key}={json.dumps(value)}" for key, value in fault.items() if key != "type")])
    for fault in _FAULTS
]
ERROR_HEADERS = [*_ERRORS, *(f"{kind}; status=204" for kind in _ERRORS), "rate_limited; retry_after=2s"]


def list_profiles(vendor: str) -> list[str]:
    """Every profile of a vendor."""
    if vendor == "openvino":
        from emulator.vendors.openvino.release import RELEASES

        return [*RELEASES]
    return [*get_args(VENDORS[vendor].settings.model_fields["profile"].annotation)]


def make_scenario(vendor: str, draw: random.Random) -> JSON:
    """A scenario for one vendor."""
    clock = draw.choice(_CLOCKS)
    scenario: dict[str, JSON] = {
        "version": 1,
        "name": "fuzz",
        "seed": draw.randrange(9),
        "clock": clock,
        "vendors": {vendor: {"profile": draw.choice(list_profiles(vendor))}},
        "rules": [_make_rule(number, draw) for number in range(draw.randrange(5))],
    }
    if clock != "frozen" and draw.random() < 0.5:
        scenario["latency"] = {"ttft": "1ms", "itl": {"type": "lognormal", "median": "20us", "p99": "100us"}}
    if draw.random() < 0.3:
        quotas = draw.sample(_UNITS, 2)
        scenario["limits"] = [{"unit": unit, "amount": draw.choice([5, 500]), "window": "10ms"} for unit in quotas]
    return scenario


def _make_rule(number: int, draw: random.Random) -> JSON:
    outcome: dict[str, JSON] = {"faults": draw.choices(_FAULTS, k=draw.randint(1, 2))}
    kind = draw.random()
    if kind < 0.3:
        outcome = {"error": {"kind": draw.choice(_ERRORS), "retry_after": "1ms"}}
    elif kind < 0.5:
        outcome["reply"] = draw.choice(
            [{"text": "Hé 🙂"}, {"text": ""}, {"chunks": ["a", "", "b"]}, {"refusal": "No."}]
        )
    elif kind < 0.6:
        outcome["reply"] = {"generate": draw.choice(["boundary", "adversarial", "invalid"])}
    when = draw.choice([{}, {"stream": True}, {"prompt": {"regex": "(a|b|H)+"}}, {"body_bytes": {"above": 100}}])
    return {"name": f"r{number}", "when": when, "times": {"probability": 0.1}, **outcome}
