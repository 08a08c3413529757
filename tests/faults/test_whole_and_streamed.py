"""Every fault on a streamed and on a whole response has the effect that the table in ``docs`` states."""

import re
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import get_args

import pytest

from emulator.core.faultable import CloseMode, FaultableResponse, join_writes
from emulator.faults import AnyFault
from tests.faults.deliveries import STREAM, WHOLE, make_fault
from tests.untyped_json import JSON

DOCS = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")


def effect(before: FaultableResponse, after: FaultableResponse) -> str:
    """What a fault did to an answer, in words."""
    return ", ".join(_effects(before, after)) or "nothing"


def _effects(before: FaultableResponse, after: FaultableResponse) -> Iterator[str]:
    if after.start == inf:
        yield "no head"
    if after.status != before.status or after.headers != before.headers:
        yield "another head"
    if after.body != before.body:
        yield _compare_bodies(before.body, after.body)
    elif [data for _, data, _ in join_writes(before.chunks)] != [data for _, data, _ in join_writes(after.chunks)]:
        yield "other writes"
    if after.promised:
        yield "less than promised"
    if after.end > before.end:
        yield "later"
    if after.ending is not CloseMode.COMPLETE:
        yield after.ending.value


def _compare_bodies(before: bytes, after: bytes) -> str:
    if not after:
        return "no body"
    return "a part of the body" if before.startswith(after) else "another body"


# fault, effect on a stream, effect on an answer in one piece
TABLE: list[tuple[dict[str, JSON], str, str]] = [
    ({"type": "disconnect"}, "no head, no body, reset", "no head, no body, reset"),
    (
        {"type": "disconnect", "after_tokens": 1},
        "a part of the body, less than promised, reset",
        "a part of the body, less than promised, reset",
    ),
    ({"type": "truncate"}, "no body", "no body"),
    ({"type": "truncate", "after_tokens": 1}, "a part of the body", "a part of the body"),
    ({"type": "truncate", "at": 1}, "a part of the body", "nothing"),
    ({"type": "stall", "for": "9s"}, "later", "later"),
    ({"type": "stall", "for": "9s", "after_tokens": 1}, "later", "other writes, later"),
    ({"type": "hang"}, "no head, no body, later, close", "no head, no body, later, close"),
    (
        {"type": "hang", "after_tokens": 1},
        "a part of the body, less than promised, later, close",
        "a part of the body, less than promised, later, close",
    ),
    ({"type": "drip", "bytes_per_second": 20}, "other writes, later", "other writes, later"),
    ({"type": "late_error"}, "another body", "another body"),
    ({"type": "late_error", "after_tokens": 2}, "another body", "another body"),
    ({"type": "garbage"}, "another body", "a part of the body"),
    ({"type": "drop", "field": "usage"}, "another body", "another body"),
    ({"type": "drop", "field": "done"}, "a part of the body", "nothing"),
    ({"type": "duplicate"}, "another body", "another body"),
    ({"type": "reorder"}, "another body", "nothing"),
    ({"type": "wrong_usage"}, "another body", "another body"),
    ({"type": "wrong_content_type"}, "another head", "another head"),
    ({"type": "empty_body"}, "no body", "no body"),
    ({"type": "extra_fields"}, "another body", "another body"),
    ({"type": "split", "writes": "byte"}, "other writes", "other writes"),
    ({"type": "split", "writes": "line"}, "other writes", "nothing"),
    ({"type": "split", "writes": "event"}, "nothing", "nothing"),
    ({"type": "split", "writes": "utf8"}, "other writes", "other writes"),
    ({"type": "split", "writes": "across"}, "other writes", "other writes"),
    ({"type": "status", "status": 502}, "another head", "another head"),
    ({"type": "bad_arguments"}, "nothing", "nothing"),  # the call is broken when it is generated
]


def name(fields: dict[str, JSON]) -> str:
    return " ".join(map(str, fields.values()))


@pytest.mark.covers("promises/first steps", "every fault, streamed and not")
@pytest.mark.parametrize(("fields", "streamed", "whole"), TABLE, ids=[name(fields) for fields, *_ in TABLE])
def test_fault_effect_matches_table(fields: dict[str, JSON], streamed: str, whole: str) -> None:
    fault = make_fault(**fields)
    assert effect(STREAM, fault.apply(STREAM)) == streamed
    assert effect(WHOLE, fault.apply(WHOLE)) == whole
    assert not fault.needs_events or whole == "nothing"


def test_late_error_replaces_unary_response() -> None:
    bent = make_fault(type="late_error", message="late", after_tokens=2).apply(WHOLE)
    assert (bent.status, bent.body, bent.end) == (200, b"!internal:late", WHOLE.end)


def test_late_error_leaves_error_response_unchanged() -> None:
    refused = make_fault(type="status", status=429).apply(WHOLE)
    assert make_fault(type="late_error").apply(refused) is refused


@pytest.mark.covers("promises/first steps", "no fault is left out of that")
def test_tables_have_every_fault() -> None:
    members = get_args(get_args(AnyFault)[0])
    kinds = {get_args(member.model_fields["type"].annotation)[0] for member in members}
    assert {fields["type"] for fields, *_ in TABLE} == kinds
    assert set(re.findall(r"^\| `(\w+)`", DOCS, re.MULTILINE)) == kinds
