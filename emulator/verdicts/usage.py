"""Add up the tokens and cost of a session, for ``GET /_emulator/usage``: sent, delivered whole, and wasted.

``control/verdict.py`` calls it.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from math import inf

from emulator.core.dataclass import fast_dataclass
from emulator.verdicts.calls import Call, CallHistory


@fast_dataclass(frozen=True, slots=True)
class WastedTokens:
    """Output tokens that nobody has a whole answer of.

    Fields:
        refused: tokens of answers that ended in an error.
        cut: tokens of answers that broke off or ended early.
        abandoned: tokens of answers whose client left.
        superseded: tokens of whole answers to a request that an equal call, open at the same time, answered first.
    """

    refused: int = 0
    cut: int = 0
    abandoned: int = 0
    superseded: int = 0

    @property
    def total(self) -> int:
        return self.refused + self.cut + self.abandoned + self.superseded


@fast_dataclass(frozen=True, slots=True)
class TokenAccount:
    """Tokens and cost of a session; ``sent`` is ``delivered`` and ``waste`` together.

    Fields:
        cost: USD.
        amplification: calls for each question; attempts and hedges are calls of the same question.
    """

    sent: int
    delivered: int
    waste: WastedTokens
    prompt_tokens: int
    cost: float
    amplification: float


def add_up(history: CallHistory) -> TokenAccount:
    """Return the tokens and cost of all calls that have ended."""
    superseded = _find_superseded(history.calls)
    counts: dict[str, int] = defaultdict(int)
    ended = [call for call in history.calls if call.has_ended]
    for call in ended:
        counts[_classify(call, superseded)] += call.delivered
    delivered = counts.pop("delivered", 0)
    waste = WastedTokens(**counts)
    return TokenAccount(
        sent=sum(call.delivered for call in ended),
        delivered=delivered,
        waste=waste,
        prompt_tokens=sum(call.prompt_tokens for call in ended),
        cost=sum(call.cost for call in ended),
        amplification=_amplify(history),
    )


def _classify(call: Call, superseded: set[Call]) -> str:
    """Return where an answer's tokens belong; each call has exactly one place."""
    if call.client_left:
        return "abandoned"
    if call.status >= 400 or call.error is not None or "late_error" in call.faults:
        return "refused"
    if not call.whole or "truncate" in call.faults:
        return "cut"
    return "superseded" if call in superseded else "delivered"


def _find_superseded(calls: Sequence[Call]) -> set[Call]:
    """Return whole answers that came after another whole answer to an equal request which was open at the same time."""
    whole: dict[Hashable, list[Call]] = defaultdict(list)
    for call in calls:
        if call.has_ended and not call.failed:
            whole[call.key].append(call)
    found: set[Call] = set()
    for twins in whole.values():
        until = -inf
        for call in sorted(twins, key=lambda call: (call.end, call.number)):
            if call.start < until:
                found.add(call)
            else:
                until = call.end
    return found


def _amplify(history: CallHistory) -> float:
    """Return the number of calls per question; retries and hedges belong to the question that they repeat."""
    open_until: dict[Hashable, float] = {}
    questions = 0
    for chain in history.chains:
        first = chain[0]
        questions += first.start >= open_until.get(first.key, 0.0)
        open_until[first.key] = max(open_until.get(first.key, 0.0), chain[-1].end)
    return round(len(history.calls) / questions, 6) if questions else 1.0
