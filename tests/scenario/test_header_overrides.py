"""Tests of the override headers."""

import pytest

from emulator.core.errors import ErrorKind
from emulator.faults.disconnect import Disconnect
from emulator.faults.drop import Drop
from emulator.faults.stall import Stall
from emulator.latency import Latency
from emulator.scenario.header_overrides import HeaderOverrideError, apply_header_overrides
from emulator.scenario.outcomes import NO_OUTCOME, ErrorOutcome, Outcome, ReplyOutcome

RULE = Outcome(
    error=ErrorOutcome(kind=ErrorKind.INTERNAL),
    latency=Latency.model_validate({"ttft": "9s", "itl": "1s"}),
    faults=(Disconnect(type="disconnect"),),
)


def test_error_header_sets_fields() -> None:
    outcome = apply_header_overrides(
        NO_OUTCOME, error='rate_limited; retry_after=2s; status=503; message="a; b, c"; limit=requests'
    )
    assert outcome.error is not None
    error = outcome.error.to_error()
    assert (error.kind, error.retry_after, error.status, error.message, error.limit) == (
        ErrorKind.RATE_LIMITED,
        2.0,
        503,
        "a; b, c",
        "requests",
    )


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(['drop; field=["id","usage"]', "stall; for=2s; at=0.5"], id="in two headers"),
        pytest.param(['drop; field=["id","usage"], stall; for=2s; at=0.5'], id="in one, behind a comma"),
        pytest.param([' drop ;field = ["id","usage"] ,stall;for=2s;at=0.5 '], id="with blanks anywhere"),
    ],
)
def test_fault_headers_are_applied_in_order(headers: list[str]) -> None:
    one, two = apply_header_overrides(NO_OUTCOME, faults=headers).faults
    assert isinstance(one, Drop)
    assert isinstance(two, Stall)
    assert (one.field, two.for_, two.at) == (("id", "usage"), 2.0, 0.5)


def test_error_or_fault_header_replaces_rule_outcome() -> None:
    bent = apply_header_overrides(RULE, faults=["empty_body"])
    assert (bent.error, [fault.type for fault in bent.faults]) == (None, ["empty_body"])
    refused = apply_header_overrides(RULE, error="timeout")
    assert refused.error is not None
    assert (refused.error.kind, refused.faults) == (ErrorKind.TIMEOUT, ())
    assert refused.latency is RULE.latency


def test_fault_header_leaves_reply() -> None:
    reply = ReplyOutcome(text="a")
    assert apply_header_overrides(Outcome(reply=reply), faults=["empty_body"]).reply is reply


def test_ttft_header_leaves_other_fields() -> None:
    outcome = apply_header_overrides(RULE, ttft=" 2s ")
    assert outcome.latency is not None
    assert list(outcome.latency.pace(2, 0, b"")) == [2.0, 3.0]
    assert (outcome.error, outcome.faults) == (RULE.error, RULE.faults)


@pytest.mark.parametrize(
    ("headers", "detail"),
    [
        pytest.param(
            {"error": "rate_limted"}, "x-emulator-error: kind: expected .*; did you mean rate_limited?", id="kind"
        ),
        pytest.param({"error": "internal; statu=1"}, "statu: unknown key; did you mean status?", id="key of an error"),
        pytest.param({"error": "internal; status"}, "expected key=value, got 'status'", id="a key without a value"),
        pytest.param({"error": ""}, "kind: expected", id="nothing"),
        pytest.param({"faults": ["disconect"]}, "unknown type, .* did you mean disconnect?", id="fault"),
        pytest.param({"faults": ["disconnect; after_token=5"]}, "did you mean after_tokens?", id="key of a fault"),
        pytest.param({"faults": ["disconnect; after_tokens=x"]}, 'a whole number, got "x"', id="value of a fault"),
        pytest.param({"faults": ["stall"]}, r"faults\[0\].for: missing key", id="a key that is missing"),
        pytest.param({"faults": ["status; status=502", "hang; for=2"]}, r"faults\[1\].for: ", id="the second header"),
        pytest.param({"faults": [""]}, "x-emulator-fault: ", id="an empty header"),
        pytest.param({"ttft": "2"}, "x-emulator-ttft: ttft: '2' is not a duration", id="a duration without unit"),
    ],
)
def test_invalid_override_header_is_refused(headers: dict[str, str], detail: str) -> None:
    with pytest.raises(HeaderOverrideError, match=detail.replace("?", r"\?")):
        apply_header_overrides(NO_OUTCOME, **headers)  # type: ignore[arg-type,unused-ignore]  # one of three keywords
