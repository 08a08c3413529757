"""Rules of verdicts about how long calls last, how many run at once, and whether connections are reused."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence
from operator import attrgetter

from emulator.verdicts.calls import Call, CallHistory, find_overlaps, find_slack
from emulator.verdicts.rules import Breach, Expectations, Finding, Unjudged, VerdictRule, show

_NONE = "there was no call"
_read_start = attrgetter("start")


def _judge_deadline(history: CallHistory, expected: Expectations) -> Finding:
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
        if call.duration - find_slack(call) > expected.deadline
    ]


def _judge_hedges(history: CallHistory, expected: Expectations) -> Finding:
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


def _judge_closing(history: CallHistory, expected: Expectations) -> Finding:
    by_client: dict[Hashable, list[Call]] = defaultdict(list)
    for call in history.calls:
        by_client[call.client].append(call)
    left = [(call, later) for call in history.calls if (later := _find_later(call, by_client[call.client])) is not None]
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


def _find_later(stream: Call, calls: Sequence[Call]) -> Call | None:
    """Return the first of its client's calls that was made while a stream was open, if the client left it later.

    Calls of a client that runs several at once say nothing of it.
    """
    if not stream.stream or not (stream.client_left or not stream.has_ended):
        return None
    first = bisect_right(calls, stream.start, key=_read_start)
    later = calls[first : bisect_left(calls, stream.end, lo=first, key=_read_start)]
    others = [call for call in later if not (call.stream and (call.client_left or not call.has_ended))]
    if find_overlaps(others, 1):
        return None
    return later[0] if later else None


def _judge_concurrency(history: CallHistory, expected: Expectations) -> Finding:
    if expected.concurrency is None:
        return Unjudged("`expect` sets no concurrency")
    worst = find_overlaps(history.calls, expected.concurrency)
    if not worst:
        return [] if history.calls else Unjudged(_NONE)
    sentence = f"{len(worst)} calls ran at once, the last of them {worst[-1].name}; {expected.concurrency} are allowed."
    return [Breach("concurrency", worst, sentence, {"at_once": len(worst), "allowed": expected.concurrency})]


def _judge_connections(history: CallHistory, expected: Expectations) -> Finding:
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


DEADLINE = VerdictRule("deadline", _judge_deadline, needs_clock=True)
HEDGES = VerdictRule("hedges", _judge_hedges)
CLOSES_WITHIN = VerdictRule("closes_within", _judge_closing, needs_clock=True)
CONCURRENCY = VerdictRule("concurrency", _judge_concurrency)
REUSES_CONNECTIONS = VerdictRule("reuses_connections", _judge_connections)
