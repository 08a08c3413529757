"""Locate the positions of faults in a body, by comparing the response before and after each fault; for the journal."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from emulator.core.dataclass import fast_dataclass
from emulator.core.faultable import FaultableResponse


@fast_dataclass(frozen=True, slots=True)
class FaultSite:
    """Position of a fault; ``at``: offset in the body as sent."""

    fault: str
    at: int


def locate_faults(
    sites: tuple[FaultSite, ...],
    fault: str,
    before: FaultableResponse,
    after: FaultableResponse,
    *,
    whole_events: bool,
) -> tuple[FaultSite, ...]:
    """Return the sites of earlier faults, moved, and the site of one more, if it changed the response.

    Args:
        whole_events: the fault changes whole events, so its site is where one begins.
    """
    moved = tuple([FaultSite(old.fault, _move(old.at, before, after)) for old in sites])
    at = min(_find_changes(before, after), default=None)
    if at is None:
        return moved
    if whole_events:
        starts = [0, *(event.start for event in after.events())]
        at = starts[bisect_right(starts, at) - 1]
    return (*moved, FaultSite(fault, at))


def _move(at: int, before: FaultableResponse, after: FaultableResponse) -> int:
    """Return an offset after a change; within its own chunk if the number of chunks is the same."""
    if len(before.chunks) != len(after.chunks):
        return _shift(at, before.body, after.body)
    old = new = 0
    for one, two in zip(before.chunks, after.chunks, strict=True):
        if at <= old + len(one.data):
            return new + _shift(at - old, one.data, two.data)
        old, new = old + len(one.data), new + len(two.data)
    return new


def _shift(at: int, one: bytes, two: bytes) -> int:
    """Return an offset after a replacement in the middle of the bytes."""
    start = _count_equal(one, two)
    rest = min(len(one), len(two)) - start
    end = len(one) - _count_equal(one[: -rest - 1 : -1], two[: -rest - 1 : -1])
    return at if at <= start else at + len(two) - len(one) if at >= end else start


def _count_equal(one: bytes, two: bytes) -> int:
    """Return the length of the common prefix."""
    low, high = 0, min(len(one), len(two))
    if one[:high] == two[:high]:
        return high
    while low + 1 < high:
        middle = (low + high) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _find_changes(before: FaultableResponse, after: FaultableResponse) -> Iterator[int]:
    """Yield the first offset of each kind of change."""
    equal = _count_equal(before.body, after.body)
    if (before.status, before.headers, before.start) != (after.status, after.headers, after.start):
        yield 0
    if equal < max(before.size, after.size):
        yield equal
    writes = _list_writes(before).symmetric_difference(_list_writes(after))
    yield from [min(writes)] if writes else []
    yield from _find_delay(before, after)
    if (before.end, before.ending, before.promised) != (after.end, after.ending, after.promised):
        yield after.size


def _list_writes(response: FaultableResponse) -> set[int]:
    """Return the ends of all writes but the last, which ends with the body."""
    ends = accumulate(len(piece.data) for piece in response.chunks)
    return {end for end, piece in zip(ends, response.chunks, strict=True) if piece.flush} - {0, response.size}


def _find_delay(before: FaultableResponse, after: FaultableResponse) -> Iterator[int]:
    """Yield the offset of the first byte with another due time, if there is one."""
    one, two = _list_ends(before), _list_ends(after)
    old, new = next(one, None), next(two, None)
    at = 0
    while old is not None and new is not None:
        if old[1] != new[1]:
            yield at
            return
        at = min(old[0], new[0])
        if old[0] == at:
            old = next(one, None)
        if new[0] == at:
            new = next(two, None)


def _list_ends(response: FaultableResponse) -> Iterator[tuple[int, float]]:
    """Yield the end and the due time of each chunk."""
    end = 0
    for piece in response.chunks:
        end += len(piece.data)
        if piece.data:
            yield end, piece.due
