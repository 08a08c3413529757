"""Rule ``stops_at_budget``: a client starts no call after its session's tokens or money are spent.

Nor does it try one request more often than the budget allows.
"""

from collections import deque
from collections.abc import Iterator
from operator import attrgetter

from emulator.verdicts.calls import Call, CallHistory
from emulator.verdicts.retries import list_crowds
from emulator.verdicts.rules import Breach, Budget, Expectations, Finding, Unjudged, VerdictRule


def _judge_budget(history: CallHistory, expected: Expectations) -> Finding:
    budget = expected.budget
    if budget is None:
        return Unjudged("the scenario has no budget")
    if not history.calls:
        return Unjudged("there was no call")
    attempts = () if budget.attempts is None else _judge_attempts(history, expected, budget.attempts)
    return [*_judge_sums(history, budget), *attempts]


def _judge_sums(history: CallHistory, budget: Budget) -> Iterator[Breach]:
    """Yield the first call after the budget of tokens is spent, and the first after that of money is."""
    for unit, most, spend in (
        ("output tokens", budget.output_tokens, _read_tokens),
        ("USD", budget.cost, _read_cost),
    ):
        if most is None:
            continue
        ended = deque(sorted((call for call in history.calls if call.has_ended), key=attrgetter("end")))
        spent = 0.0
        for call in history.calls:
            while ended and ended[0].end <= call.start:
                spent += spend(ended.popleft())
            if spent >= most:
                sentence = (
                    f"Call {call.name} was made after {spent:g} of {most:g} {unit} were spent; a sound client makes no "
                    "call after its budget."
                )
                yield Breach("stops_at_budget", (call,), sentence, {"budget": most, "spent": spent})
                break


def _read_tokens(call: Call) -> float:
    return call.delivered


def _read_cost(call: Call) -> float:
    return call.cost


def _judge_attempts(history: CallHistory, expected: Expectations, most: int) -> Iterator[Breach]:
    own = ((chain, 1) for chain in history.own_chains)
    for calls, callers in (*own, *list_crowds(history, expected)):
        allowed = most * callers
        if len(calls) > allowed:
            sentence = f"Call {calls[allowed].name} is attempt {allowed + 1} of a request; its budget allows {allowed}."
            yield Breach("stops_at_budget", calls, sentence, {"budget": allowed, "spent": len(calls)})


STOPS_AT_BUDGET = VerdictRule("stops_at_budget", _judge_budget)
