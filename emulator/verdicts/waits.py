"""Rules of verdicts about the time between attempts: ``Retry-After``, back-off, jitter."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from math import ceil, comb, exp, inf, log

from emulator.verdicts.calls import Call, CallHistory, Retry
from emulator.verdicts.rules import Breach, Expectations, Finding, Unjudged, VerdictRule, show

_SHORTEST = 0.01  # seconds; shorter waits are none, and their ratio says nothing
_TOGETHER = 0.25  # seconds between the first and the last refusal of callers refused together
_CLOSE = 0.1  # part of a wait, if that is longer
_MIN_CALLERS = 3
_QUORUM = 0.75  # share of the callers refused together
_JITTER = 0.25  # part of a wait that is left to chance, where it is little; openai's clients draw from 75 to 100 %
_CHANCE = 0.001  # of callers with so much jitter that are taken for callers without
_EQUAL = 0.05  # part of a wait; waits that differ by less are equal, however many there are
_TRIES = 8  # numbers of callers that are tried
_BRIEF = 0.1  # seconds; after shorter waits callers come back together, whatever they draw
_OWN = 0.1  # part of a wait that a busy client may add itself to the one before, so that equal waits are found
_LEAP = 5  # ratio of a wait to a brief one before it, which then was no step of the growth
_DRAWN = 0.05  # share of a client's chains with a shorter wait, from which on waits are taken for drawn
_FEW = 4  # chains of two waits, by whose falls alone nobody can tell whether waits are drawn
_MANY = 8  # waits of one request, by whose means growth is judged where they are drawn
_SHORTER = 0.85  # part of a wait; a client that draws no waits hardly comes earlier than that
_DELAY = 0.05  # seconds by which a busy client may come late
_MAX_STEPS = 99  # of growth, which would overflow for a client that never gives up
_NOT_AGAIN = "no call was tried again"


def _judge_retry_after(history: CallHistory, expected: Expectations) -> Finding:
    delays = [(retry, asked) for retry in history.retries if (asked := retry.before.asked) is not None]
    if not delays:
        return Unjudged("no call was tried again after a response with Retry-After")
    return [
        Breach(
            "honours_retry_after",
            (retry.before, retry.call),
            f"Call {retry.call.name} came {show(retry.waited)} after a {retry.before.status} that asked for "
            f"{show(asked)}; a sound client waits as long as it is told.",
            {"asked": asked, "waited": round(retry.waited, 3)},
        )
        for retry, asked in delays
        if retry.waited < asked * (1 - expected.early)
    ]


def _judge_growth(history: CallHistory, expected: Expectations) -> Finding:
    by_client: dict[Hashable, list[Sequence[Retry]]] = defaultdict(list)
    for chain in history.own_chains:
        for run in _list_runs(chain):
            by_client[run[0].call.client].append(_drop_brief(run))
    if not by_client and history.shared:
        return Unjudged("callers made equal requests at once, so that the waits of each are not known")
    if not by_client:
        twice = any(len(chain) > 2 for chain in history.chains)
        dictated = "Retry-After dictated each wait, or is no longer kept"
        return Unjudged(dictated if twice else "no call was tried again twice" if any(history.retries) else _NOT_AGAIN)
    findings = [_judge_client(runs, expected) for runs in by_client.values()]
    judged = [finding for finding in findings if not isinstance(finding, Unjudged)]
    return [breach for finding in judged for breach in finding] if judged else findings[0]


def _judge_client(runs: Sequence[Sequence[Retry]], expected: Expectations) -> Finding:
    """Judge the growth of one client's waits; of drawn ones only those that are equal, which no draw is, or many."""
    steady, many = runs, list[Sequence[Retry]]()
    if _are_drawn(runs):
        equal = [run for run in runs if _are_equal(run)]
        steady = equal if 2 * len(equal) > len(runs) else [run for run in equal if len(run) > 2]
        many = [run for run in runs if len(run) >= _MANY and not _are_equal(run)]
        if not steady and not many:
            return Unjudged(
                "waits are drawn at random, as some are shorter than one before them, and too few to show growth"
            )
    return [
        *(breach for run in steady for breach in _find_slow(run, expected)),
        *_find_drawn_slow(many, expected),
    ]


def _find_slow(run: Sequence[Retry], expected: Expectations) -> Iterator[Breach]:
    """Yield the waits that did not grow, or the first and the last if each grew too little."""
    steps = len(run) - 1
    if not _is_short(run[0], run[-1], _grow(expected, steps)):
        return
    short = [pair for pair in pairwise(run) if _is_short(*pair, _grow(expected, 1))]
    for first, second in short:
        yield _breach_of_growth(first, second, expected)
    if not short:
        sentence = (
            f"Call {run[-1].call.name} came after {show(run[-1].waited)}, {steps} attempts after one that came after "
            f"{show(run[0].waited)}; a sound client waits longer each time, at least {expected.growth:g} times as long."
        )
        figures = {"before": round(run[0].waited, 3), "waited": round(run[-1].waited, 3), "growth": expected.growth}
        calls = [run[0].before, *(retry.call for retry in run)]
        yield Breach("backs_off", calls, sentence, {**figures, "steps": steps})


def _find_drawn_slow(runs: Sequence[Sequence[Retry]], expected: Expectations) -> Iterator[Breach]:
    """Yield the runs of waits that are drawn at random, and hardly longer in the second half than in the first."""
    for run in runs:
        half = len(run) // 2
        first, second = (sum(retry.waited for retry in part) / half for part in (run[:half], run[-half:]))
        if second < expected.growth * first:
            sentence = (
                f"Of {len(run)} waits until call {run[-1].call.name} the first half took {show(first)} on average, the "
                f"second {show(second)}; a sound client waits longer each time, at least {expected.growth:g} times as "
                "long."
            )
            figures = {"before": round(first, 3), "waited": round(second, 3), "growth": expected.growth}
            yield Breach("backs_off", [retry.call for retry in run], sentence, figures)


def _grow(expected: Expectations, steps: int) -> float:
    """Return the ratio of waits that many attempts apart."""
    return expected.growth ** min(steps, _MAX_STEPS) * (1 - expected.early)


def _breach_of_growth(first: Retry, second: Retry, expected: Expectations) -> Breach:
    waits = f"after {show(second.waited)}, and an attempt before it after {show(first.waited)}"
    if max(first.waited, second.waited) < _SHORTEST:
        waits = f"within {show(_SHORTEST)}, and so did an attempt before it"
    sentence = (
        f"Call {second.call.name} came {waits}; a sound client waits longer each time, at least {expected.growth:g} "
        "times as long."
    )
    figures = {"before": round(first.waited, 3), "waited": round(second.waited, 3), "growth": expected.growth}
    return Breach("backs_off", (first.before, first.call, second.call), sentence, figures)


def _is_short(first: Retry, second: Retry, ratio: float) -> bool:
    """Return whether the second wait is too short, even if the client was busy for a moment during the first."""
    return max(second.waited, _SHORTEST) * (1 + _OWN) < ratio * max(first.waited, _SHORTEST)


def _list_runs(chain: Sequence[Call]) -> Iterator[Sequence[Retry]]:
    """Yield the retries that follow each other and whose waits no response dictated, two or more at a time."""
    run: list[Retry] = []
    for before, call in pairwise(chain):
        if before.asked is None and before.content.is_kept:
            run.append(Retry(before, call))
            continue
        if len(run) > 1:
            yield run
        run = []
    if len(run) > 1:
        yield run


def _drop_brief(run: Sequence[Retry]) -> Sequence[Retry]:
    """Leave out attempts at once before the waits of a client, which say nothing of the growth of these.

    A brief wait may be drawn, unless those after it are equal.
    """
    first = next((place for place, retry in enumerate(run) if retry.waited >= _BRIEF), 0)
    rest = run[first:]
    if first == 0 or len(rest) < 2 or rest[0].waited < _LEAP * max(run[first - 1].waited, _SHORTEST):
        return run
    return rest if run[first - 1].waited < _SHORTEST or _are_equal(rest) else run


def _are_drawn(runs: Sequence[Sequence[Retry]]) -> bool:
    """Return whether the waits of a client may be drawn at random: such waits fall and rise, given enough of them."""
    if sum(map(_falls, runs)) < _DRAWN * len(runs):
        return False
    return any(map(_rises, runs)) or (len(runs) < _FEW and all(len(run) == 2 for run in runs))


def _falls(run: Sequence[Retry]) -> bool:
    """Return whether a wait is shorter than one before it, by more than the delays of a busy client."""
    longest = 0.0
    for wait in (retry.waited for retry in run):
        if longest >= _BRIEF and _DELAY <= wait < min(longest * _SHORTER, longest - _DELAY):
            return True
        longest = max(longest, wait)
    return False


def _rises(run: Sequence[Retry]) -> bool:
    """Return whether a wait is longer than one before it, by more than the delays of a busy client."""
    shortest = inf
    for wait in (retry.waited for retry in run):
        if shortest < min(wait * _SHORTER, wait - _DELAY):
            return True
        shortest = min(shortest, wait)
    return False


def _are_equal(run: Sequence[Retry]) -> bool:
    waits = [retry.waited for retry in run]
    return max(waits) - min(waits) <= _EQUAL * max(waits)


def _judge_jitter(history: CallHistory, expected: Expectations) -> Finding:
    retries = sorted(history.retries, key=lambda retry: retry.before.end)
    groups = [group for group in _group(retries) if _count_callers(group) >= _MIN_CALLERS]
    if not groups:
        return Unjudged("no three callers were refused together and came back")
    found = []
    for group in groups:
        waits = sorted(retry.waited for retry in group)
        quorum = max(_MIN_CALLERS, ceil(_QUORUM * len(waits)))
        for at_once in range(len(waits), quorum - 1, -max(1, (len(waits) - quorum) // _TRIES)):
            spread = min(last - first for first, last in zip(waits, waits[at_once - 1 :], strict=False))
            if spread <= _find_width(len(waits), at_once, waits[len(waits) // 2]):
                sentence = (
                    f"{at_once} of {len(waits)} callers that were refused together came back after the same wait, "
                    f"within {spread * 1000:.0f} ms; sound clients add chance to their waits."
                )
                figures = {"callers": len(waits), "together": at_once, "spread": round(waits[-1] - waits[0], 3)}
                found.append(Breach("jitter", [retry.call for retry in group], sentence, figures))
                break
    return found


def _count_callers(group: Sequence[Retry]) -> int:
    """Return the number of callers, at most; calls of one connection are not of callers that wait side by side."""
    calls = [(retry.before, retry.call) for retry in group]
    return max(len({call.connection or call for call in row}) for row in zip(*calls, strict=True))


def _find_width(callers: int, at_once: int, wait: float) -> float:
    """Return the seconds within which so many of some callers hardly ever come back by chance.

    Of n uniform draws, some k lie within a share f of their range with a probability of at most C(n, k) k f^(k-1).
    """
    share = exp((log(_CHANCE) - log(comb(callers, at_once) * at_once)) / (at_once - 1))
    width = min(_JITTER * share, _EQUAL) * wait
    return max(width, _SHORTEST) if wait < _BRIEF else width


def _group(retries: Sequence[Retry]) -> Iterator[list[Retry]]:
    """Yield the retries whose calls failed together."""
    close: list[Retry] = []
    for retry in retries:
        if close and retry.before.end - close[0].before.end > max(_TOGETHER, _CLOSE * close[0].waited):
            yield from _split(close)
            close = []
        close.append(retry)
    yield from _split(close)


def _split(close: list[Retry]) -> Iterator[list[Retry]]:
    """Yield apart the retries of calls that were made once another came back, such as its next."""
    while close:
        group: list[Retry] = []
        later: list[Retry] = []
        back = inf  # when the first of the group came back
        for retry in close:
            if retry.before.start <= back:
                group.append(retry)
                back = min(back, retry.call.start)
            else:
                later.append(retry)
        yield group
        close = later


HONOURS_RETRY_AFTER = VerdictRule("honours_retry_after", _judge_retry_after, needs_clock=True)
BACKS_OFF = VerdictRule("backs_off", _judge_growth, needs_clock=True)
JITTER = VerdictRule("jitter", _judge_jitter, needs_clock=True)
