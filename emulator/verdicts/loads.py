"""Rules about how long calls last and how many run at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from emulator.verdicts.calls import Call, History, find_overlaps
from emulator.verdicts.expectations import Expectations
from emulator.verdicts.findings import Breach, Finding, Rule, Unjudged, show

_NONE = "there was no call"


def _judge_deadline(history: History, expected: Expectations) -> Finding:
    if not history.calls:
        return Unjudged(_NONE)
    return [
        Breach(
            "deadline",
            (call,),
            f"Call {call.name} {'lasted' if call.has_ended else 'is open since'} {show(call.duration)}; a sound client "
            f"has its answer or leaves within {show(expected.deadline)}.",
            {"deadline": expected.deadline, "lasted": round(call.duration, 3)},
        )
        for call in history.calls
        if call.duration > expected.deadline
    ]


def _judge_hedges(history: History, expected: Expectations) -> Finding:
    equal: dict[Hashable, list[Call]] = defaultdict(list)
    for call in history.calls:
        equal[call.key].append(call)
    groups = [calls for calls in equal.values() if len(calls) > 1]
    if not groups:
        return Unjudged("no request was made twice")
    found = [worst for calls in groups if (worst := find_overlaps(calls, expected.hedges))]
    return [
        Breach(
            "hedges",
            worst,
            f"{len(worst)} equal calls ran at once, the last of them {worst[-1].name}; a sound client has at most "
            f"{expected.hedges}.",
            {"at_once": len(worst), "allowed": expected.hedges},
        )
        for worst in found
    ]


def _judge_closing(history: History, expected: Expectations) -> Finding:
    left = [(call, later) for call in history.calls if (later := _find_later(call, history)) is not None]
    if not left:
        return Unjudged("no stream was open while its client made later calls, and was then broken off")
    return [
        Breach(
            "closes_within",
            (call, later),
            f"Stream {call.name} stayed open for {show(call.end - later.start)} after its client had gone on with "
            f"{later.name}; a sound client closes a stream that it abandons within {show(expected.closes_within)}.",
            {"allowed": expected.closes_within, "took": round(call.end - later.start, 3)},
        )
        for call, later in left
        if call.end - later.start > expected.closes_within
    ]


def _find_later(stream: Call, history: History) -> Call | None:
    """Return the first call that a client made while it had this stream open, if it left the stream later.

    Calls of a client that runs several at once say nothing of it.
    """
    if not stream.stream or not (stream.client_left or not stream.has_ended):
        return None
    later = [
        call
        for call in history.calls
        if call is not stream and call.client == stream.client and stream.start < call.start < stream.end
    ]
    others = [call for call in later if not (call.stream and (call.client_left or not call.has_ended))]
    if find_overlaps(others, 1):
        return None
    return later[0] if later else None


def _judge_concurrency(history: History, expected: Expectations) -> Finding:
    if expected.concurrency is None:
        return Unjudged("`expect` sets no concurrency")
    worst = find_overlaps(history.calls, expected.concurrency)
    if not worst:
        return [] if history.calls else Unjudged(_NONE)
    sentence = f"{len(worst)} calls ran at once, the last of them {worst[-1].name}; {expected.concurrency} are allowed."
    return [Breach("concurrency", worst, sentence, {"at_once": len(worst), "allowed": expected.concurrency})]


def _judge_connections(history: History, expected: Expectations) -> Finding:
    if not expected.reuses_connections:
        return Unjudged("`expect` does not ask for it")
    calls = [call for call in history.calls if call.connection]
    if len(calls) < 2:
        return Unjudged("there were no two calls")
    opened = len({call.connection for call in calls})
    ended = sum(1 for call in calls if not call.whole or call.content.received.get("connection", "") == "close")
    needed = len(find_overlaps(calls, 0)) + ended
    if opened <= needed:
        return []
    sentence = f"{len(calls)} calls took {opened} connections, where {needed} would have done."
    return [Breach("reuses_connections", calls, sentence, {"connections": opened, "needed": needed})]


DEADLINE = Rule("deadline", _judge_deadline, needs_clock=True)
HEDGES = Rule("hedges", _judge_hedges)
CLOSES_WITHIN = Rule("closes_within", _judge_closing, needs_clock=True)
CONCURRENCY = Rule("concurrency", _judge_concurrency)
REUSES_CONNECTIONS = Rule("reuses_connections", _judge_connections)
