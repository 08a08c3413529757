"""What it costs to ask three hundred rules, none of which takes the call."""

import asyncio
import statistics
import time

from emulator.core.call import ChatAsk, Message
from emulator.core.seed import derive
from emulator.scenario.load import load_text
from emulator.scenario.match import Facts, Matcher, compile_rules
from emulator.state.memory import MemoryState

RULES = 300
_CALLS = 500
_WHENS = (  # as authors write them: mostly about the call at hand, and wrong only in the last facet
    "vendor: databricks, deployment: llama-*, prompt: {{contains: word{}}}",
    "vendor: azure, prompt: {{contains: word{}}}",
    "stream: true, prompt_tokens: {{above: {}00}}",
    "principal: team{}, task: chat",
    "vendor: databricks, header.x-team: team{}",
    "prompt: {{regex: 'number {}$'}}, body.temperature: 1",
)


def compile_many() -> Matcher:
    """Rules of every kind, with and without chances."""
    rules = "\n".join(
        f"- {{name: r{i}, when: {{{_WHENS[i % len(_WHENS)].format(i + 1)}}}, "
        f"times: {{probability: 0.5}}, error: {{kind: timeout}}}}"
        for i in range(RULES)
    )
    return compile_rules(load_text(f"version: 1\nrules:\n{rules}\n").scenario)


def _make_facts(number: int) -> Facts:
    return Facts(
        vendor="databricks",
        deployment="llama-70b",
        task="chat",
        endpoint="/serving-endpoints/llama-70b/invocations",
        principal="search",
        stream=True,
        ask=ChatAsk(messages=(Message(role="user", text=f"Please tell me about topic {number} in a few words."),)),
        prompt_tokens=20,
        headers={"x-team": "search"},
        body=lambda: {"temperature": 1},
        identity=derive("request", number),
    )


async def run() -> float:
    """Microseconds a request, the median of five rounds."""
    matcher, state = compile_many(), MemoryState()
    calls = [_make_facts(number) for number in range(_CALLS)]
    rounds = []
    for _ in range(5):
        begun = time.perf_counter()
        for facts in calls:
            match = await matcher.match(facts, state)
            assert match.rule is None
        rounds.append((time.perf_counter() - begun) / _CALLS * 1e6)
    return statistics.median(rounds)


def report() -> str:
    """One line."""
    return f"{f'matching of {RULES} rules':<34} {asyncio.run(run()):10.1f} µs a request"
