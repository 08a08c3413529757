"""Judge the calls of a session by all rules about sound clients, for ``GET /_emulator/verdict``."""

from collections.abc import Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.verdicts.budgets import STOPS_AT_BUDGET
from emulator.verdicts.calls import CallHistory
from emulator.verdicts.conversations import INCOMPLETE_STREAM_FAILED, NO_BAD_ARGUMENTS
from emulator.verdicts.loads import CLOSES_WITHIN, CONCURRENCY, DEADLINE, HEDGES, REUSES_CONNECTIONS
from emulator.verdicts.retries import ATTEMPTS, NO_RETRY_AFTER_DELIVERY, NO_USELESS_RETRY, ONE_IDEMPOTENCY_KEY
from emulator.verdicts.rules import ROBUST, Breach, Expectations, Unjudged, VerdictRule
from emulator.verdicts.waits import BACKS_OFF, HONOURS_RETRY_AFTER, JITTER

RULES: tuple[VerdictRule, ...] = (
    HONOURS_RETRY_AFTER,
    BACKS_OFF,
    JITTER,
    ATTEMPTS,
    NO_USELESS_RETRY,
    NO_RETRY_AFTER_DELIVERY,
    DEADLINE,
    HEDGES,
    CLOSES_WITHIN,
    INCOMPLETE_STREAM_FAILED,
    NO_BAD_ARGUMENTS,
    ONE_IDEMPOTENCY_KEY,
    CONCURRENCY,
    REUSES_CONNECTIONS,
    STOPS_AT_BUDGET,
)
RULE_NAMES = tuple([rule.name for rule in RULES])


@fast_dataclass(frozen=True, slots=True)
class RuleOutcome:
    """Outcome of one rule; ``kept`` is ``None`` where it is not judged, and ``why`` then has the reason."""

    rule: str
    kept: bool | None
    why: str = ""


@fast_dataclass(frozen=True, slots=True)
class Judgement:
    """Outcome of all rules in their order, and each breach with its calls and figures."""

    rules: Sequence[RuleOutcome]
    broken: Sequence[Breach]

    @property
    def ok(self) -> bool:
        return not self.broken


def judge(history: CallHistory, expected: Expectations = ROBUST) -> Judgement:
    """Return the outcome of every rule."""
    outcomes: list[RuleOutcome] = []
    broken: list[Breach] = []
    for rule in RULES:
        found = _apply(rule, history, expected)
        if isinstance(found, Unjudged):
            outcomes.append(RuleOutcome(rule.name, None, found.why))
            continue
        outcomes.append(RuleOutcome(rule.name, not found))
        broken += found
    return Judgement(outcomes, broken)


def _apply(rule: VerdictRule, history: CallHistory, expected: Expectations) -> list[Breach] | Unjudged:
    if rule.name in expected.ignored:
        return Unjudged("`expect` leaves it out")
    if rule.needs_clock and not history.follows_clock:
        return Unjudged("the clock does not follow real time, so that no wait takes as long as it is told")
    return rule.judge(history, expected)
