"""What matching costs by the number of rules: ``python -m tests.tools.bench.rules``, some seconds on a quiet machine.

None of the rules takes the call. Each row has rules of another kind; a column is a number of rules, a figure the
microseconds that matching takes, at best of some rounds.
"""

import asyncio
from collections.abc import Mapping
from time import process_time

from emulator.scenario.matching import RuleMatcher
from emulator.storage.memory import MemoryState
from tests.scenario.calls import CHAT, find_match, rules, vary

KINDS: Mapping[str, str] = {  # `#` is replaced by the number of the rule
    "other deployments": "deployment: 'gpt-#*'",
    "other principals": "principal: p#, prompt: {contains: weather}",
    "other header values": "header.x-team: 't#'",
    "an absent header": "header.x-tenant: {prefix: 't#'}",
    "other prompts": "prompt: 'What is #?'",
    "other words of a prompt": "prompt: {contains: 'word #'}",
    "expressions": "prompt: {regex: 'word #|term #'}",
}
NUMBERS = (10, 100, 1_000)
ROUNDS, CALLS = 5, 200
REQUEST = vary(CHAT, body_bytes=100)  # expressions are searched on the event loop


def main() -> None:
    """Print the table."""
    print(f"{'':24}", *(f"{number:>8,}" for number in NUMBERS))
    for kind, when in KINDS.items():
        print(f"{kind:24}", *(f"{measure(build(when, number)):8.1f}" for number in NUMBERS))


def build(when: str, number: int) -> RuleMatcher:
    return rules(
        "\n".join(f"- {{name: r{n}, when: {{{when.replace('#', str(n))}}}, pass: true}}" for n in range(number))
    )


def measure(matcher: RuleMatcher) -> float:
    """Return the microseconds of one match."""
    return min(asyncio.run(_time(matcher)) for _ in range(ROUNDS)) / CALLS * 1e6


async def _time(matcher: RuleMatcher) -> float:
    count = MemoryState().count_now
    started = process_time()
    for _ in range(CALLS):
        assert (await find_match(matcher, REQUEST, count)).rule is None
    return process_time() - started


if __name__ == "__main__":
    main()
