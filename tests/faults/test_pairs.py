"""Every fault after every other, on an answer in events and in one piece: what comes of it ends."""

from itertools import product
from math import inf

import pytest

from emulator.core.faultable import CloseMode, FaultableResponse, join_writes
from emulator.faults import apply_faults
from tests.faults.deliveries import STREAM, WHOLE, make_fault, starts
from tests.faults.test_whole_and_streamed import TABLE
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

_PLACES: tuple[dict[str, JSON], ...] = ({}, {"after_tokens": 1}, {"at": 1.0}, {"before": "finish"}, {"inside": "event"})
_STRIKING = ("disconnect", "truncate", "hang", "late_error", "drip", "duplicate", "garbage", "reorder")
_FAULTS: list[dict[str, JSON]] = [
    *({**fields, **({"for": "5s"} if fields["type"] == "hang" else {})} for fields, *_ in TABLE),
    *(
        {"type": kind, **({"for": "5s"} if kind in ("hang", "stall") else {}), **place}
        | ({"bytes_per_second": 20} if kind == "drip" else {})
        for kind, place in product((*_STRIKING, "stall"), _PLACES)
    ),
]
_HANG: dict[str, JSON] = {"type": "hang"}
_SHORT: dict[str, JSON] = {"type": "hang", "for": "5s"}
_LATER: dict[str, JSON] = {"type": "hang", "for": "5s", "after_tokens": 1}


def _bend(response: FaultableResponse, *faults: dict[str, JSON]) -> FaultableResponse:
    return apply_faults(response, [make_fault(**fields) for fields in faults])


@pytest.mark.parametrize("response", [pytest.param(STREAM, id="events"), pytest.param(WHOLE, id="one piece")])
def test_every_fault_pair_terminates(response: FaultableResponse) -> None:
    for pair in product(_FAULTS, _FAULTS):
        bent = _bend(response, *pair)
        assert bent.end < inf, pair
        assert all(due < inf for due, *_ in join_writes(bent.chunks)), pair
        if bent.start == inf:
            assert not bent.chunks, pair
            assert bent.ending is not CloseMode.COMPLETE, pair
        assert bent.promised == 0 or bent.ending is not CloseMode.COMPLETE, pair


@pytest.mark.parametrize("kind", [*_STRIKING, "stall", "status", "empty_body", "split"])
@pytest.mark.parametrize("first", [_SHORT, _HANG, {"type": "disconnect"}], ids=["a hang", "one for ever", "a reset"])
def test_response_that_never_begins_ignores_second_fault(first: dict[str, JSON], kind: str) -> None:
    second = next(fields for fields in _FAULTS if fields["type"] == kind)
    alone = _bend(STREAM, first)
    both = _bend(STREAM, first, second)
    assert (both.start, both.end, both.ending, both.status) == (alone.start, alone.end, alone.ending, alone.status)


@pytest.mark.parametrize(
    ("second", "body", "ending", "end"),
    [
        pytest.param({"type": "truncate", "at": 1.0}, 2, CloseMode.CLOSE, 6.0, id="an end where it hangs"),
        pytest.param({"type": "truncate", "after_tokens": 3}, 2, CloseMode.CLOSE, 6.0, id="an end after that"),
        pytest.param({"type": "truncate", "after_bytes": 5}, 0, CloseMode.COMPLETE, 0.0, id="an end before it hangs"),
        pytest.param({"type": "late_error", "after_tokens": 3}, 2, CloseMode.CLOSE, 6.0, id="an error after that"),
        pytest.param({"type": "disconnect", "at": 1.0}, 2, CloseMode.CLOSE, 6.0, id="a reset where it hangs"),
        pytest.param({"type": "stall", "for": "9s", "at": 1.0}, 2, CloseMode.CLOSE, 6.0, id="silence where it hangs"),
        pytest.param({"type": "hang", "at": 1.0}, 2, CloseMode.CLOSE, 6.0, id="another hang"),
    ],
)
def test_hang_masks_faults_beyond_it(second: dict[str, JSON], body: int, ending: CloseMode, end: float) -> None:
    bent = _bend(STREAM, _LATER, second)
    assert len(bent.body) == (starts(body) or 5)
    assert (bent.ending, bent.end) == (ending, end)
