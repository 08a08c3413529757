"""Where faults are seen to have struck, byte by byte."""

import pytest

from emulator.core.faultable import FaultableResponse
from emulator.faults import FaultSite, locate_faults
from tests.faults.deliveries import HEAD, STREAM, WHOLE, body_until, make_fault, starts
from tests.untyped_json import JSON

WIDE = "你".encode()


def strike(response: FaultableResponse, *faults: dict[str, JSON]) -> tuple[tuple[str, int], ...]:
    """Apply each fault to a response; return where each is found in the bytes sent."""
    strikes: tuple[FaultSite, ...] = ()
    for given in faults:
        fault = make_fault(**given)
        bent = fault.apply(response)
        strikes = locate_faults(strikes, str(given["type"]), response, bent, whole_events=fault.whole_events)
        response = bent
    assert all(one.at <= response.size for one in strikes)
    return tuple((one.fault, one.at) for one in strikes)


@pytest.mark.parametrize(
    ("fault", "at"),
    [
        pytest.param({"type": "disconnect", "after_tokens": 2}, starts(3), id="a reset, where the bytes end"),
        pytest.param({"type": "disconnect"}, 0, id="a reset before any byte"),
        pytest.param({"type": "truncate", "after_bytes": 7}, 7, id="an end too early"),
        pytest.param({"type": "hang"}, 0, id="no answer at all"),
        pytest.param({"type": "hang", "at": 1}, starts(7), id="no end"),
        pytest.param({"type": "stall", "for_": "1s", "after_tokens": 1}, starts(2), id="a pause between two events"),
        pytest.param(
            {"type": "stall", "for_": "1s", "inside": "utf8"}, STREAM.body.index(WIDE) + 1, id="one in a character"
        ),
        pytest.param({"type": "stall", "for_": "1s", "at": 1}, starts(7), id="one after all bytes"),
        pytest.param({"type": "drip", "bytes_per_second": 9, "after_tokens": 1}, starts(2), id="where it becomes slow"),
        pytest.param({"type": "split", "writes": "byte"}, 1, id="the first write that ends elsewhere"),
        pytest.param({"type": "duplicate", "after_tokens": 1}, starts(3), id="the second of two equal events"),
        pytest.param({"type": "duplicate", "before": "done"}, starts(7), id="and at the end"),
        pytest.param({"type": "reorder", "after_tokens": 1}, starts(2), id="the event that came too early"),
        pytest.param({"type": "late_error", "after_tokens": 1}, starts(2), id="the error in the midst"),
        pytest.param(
            {"type": "wrong_usage"}, STREAM.body.index(b'"completion_tokens":3') + 20, id="the count that is wrong"
        ),
        pytest.param({"type": "empty_body"}, 0, id="no body"),
        pytest.param({"type": "status", "status": 502}, 0, id="what is wrong with the head comes first"),
        pytest.param({"type": "wrong_content_type"}, 0, id="and so does its type"),
    ],
)
def test_fault_site_in_stream(fault: dict[str, JSON], at: int) -> None:
    assert strike(STREAM, fault) == ((fault["type"], at),)


@pytest.mark.parametrize(
    ("fault", "at"),
    [
        pytest.param({"type": "truncate", "after_tokens": 1}, body_until(HEAD, "Hi"), id="an end too early"),
        pytest.param({"type": "late_error"}, 0, id="an error instead"),
        pytest.param({"type": "stall", "for_": "1s", "at": 0}, 0, id="a pause before the first byte"),
        pytest.param({"type": "extra_fields"}, None, id="the first place that is new"),
        pytest.param({"type": "garbage"}, None, id="where JSON breaks off"),
        pytest.param({"type": "drop", "field": ["usage"]}, None, id="where something is missing"),
    ],
)
def test_fault_site_in_unary_response(fault: dict[str, JSON], at: int | None) -> None:
    bent = make_fault(**fault).apply(WHOLE).body
    ((_, found),) = strike(WHOLE, fault)
    assert bent[:found] == WHOLE.body[:found]
    assert found == at if at is not None else bent[found : found + 1] != WHOLE.body[found : found + 1]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"type": "drop", "field": ["nothing.like.it"]}, id="nothing to drop"),
        pytest.param({"type": "reorder", "at": 1}, id="nothing to come before"),
        pytest.param({"type": "duplicate", "at": 1}, id="nothing to double"),
    ],
)
def test_fault_without_effect_has_no_site(fault: dict[str, JSON]) -> None:
    assert strike(STREAM, fault) == ()


def test_earlier_sites_shift_with_inserted_bytes() -> None:
    extra, late = {"type": "extra_fields"}, {"type": "stall", "for_": "1s", "after_tokens": 2}
    grown = len(make_fault(**extra).apply(STREAM).divide(0)[1][0].data) - starts(1)
    (_, first), (_, second) = strike(STREAM, late, extra)
    assert second < starts(1)
    assert first > starts(3)
    assert (first - starts(3)) % grown == 0


def test_sites_past_truncation_move_to_end() -> None:
    assert strike(
        STREAM, {"type": "stall", "for_": "1s", "after_tokens": 3}, {"type": "truncate", "after_tokens": 1}
    ) == (("stall", starts(2)), ("truncate", starts(2)))
