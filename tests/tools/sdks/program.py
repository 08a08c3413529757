"""The process of one client: ``python -m tests.tools.sdks.program SDK`` reads the scenarios to play as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice

from tests.tools.sdks.clients import CLIENTS, Client, Messages
from tests.tools.sdks.plays import Step
from tests.untyped_json import JSON

Made = dict[str, Client]  # by key; callers share one


def make(sdk: type[Client], one: JSON) -> Made:
    """Return the clients of a scenario."""
    return {step["key"]: sdk(one["vendor"], one["url"], step["key"], one["given"]) for step in one["steps"]}


def play(steps: Sequence[Step], clients: Made) -> list[str]:
    """Play a scenario; return the errors that the client raised."""
    raised: list[str] = []

    def call(step: Step, number: int) -> None:
        prompt = f"{step.prompt} {number}" if step.callers > 1 else step.prompt
        try:
            _STEPS[step.do](clients[step.key], [{"role": "user", "content": prompt}], step.tokens)
        except Exception as error:  # whatever a client raises
            raised.append(f"{type(error).__name__}: {str(error)[:200]}")

    for step in steps:
        with ThreadPoolExecutor(step.callers) as pool:
            list(pool.map(call, [step] * step.callers, range(step.callers)))
    return raised


def ask(client: Client, messages: Messages, tokens: int) -> None:
    client.ask(messages, tokens)


def stream(client: Client, messages: Messages, tokens: int) -> None:
    text = "".join(client.stream(messages, tokens))
    said = [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": "Go on."}]
    client.ask(said, tokens)


def leave(client: Client, messages: Messages, tokens: int) -> None:
    list(islice(client.stream(messages, tokens), 3))
    client.ask([{"role": "user", "content": "Never mind."}], tokens)


_STEPS = {"ask": ask, "stream": stream, "leave": leave}


def main() -> None:
    """Play the scenarios of standard input, after a word one by one; print a line for each that has ended.

    First come all clients, so that their making and imports take no time of a call; then the scenario ``warm``, alone.
    Between two that begin, ``between`` seconds pass.
    """
    sdk = CLIENTS[sys.argv[1]]
    todo: JSON = json.loads(sys.stdin.readline())
    scenarios = {one["scenario"]: one for one in todo["scenarios"]}
    steps = {name: [Step(**step) for step in one["steps"]] for name, one in scenarios.items()}
    made = {name: make(sdk, one) for name, one in scenarios.items()}
    if (warm := todo["warm"]) in made:
        play(steps[warm], made[warm])
        made[warm] = make(sdk, scenarios[warm])
    print("ready", flush=True)
    sys.stdin.readline()
    with ThreadPoolExecutor(max(1, len(made))) as pool:
        runs = {}
        for name, clients in made.items():
            runs[pool.submit(play, steps[name], clients)] = name
            time.sleep(todo["between"])
        for run in as_completed(runs):
            print(json.dumps({"scenario": runs[run], "errors": run.result()}), flush=True)
    os._exit(0)  # without the threads that a client leaves


if __name__ == "__main__":
    main()
