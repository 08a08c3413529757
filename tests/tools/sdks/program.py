"""The process of one client: ``python -m tests.tools.sdks.program SDK`` reads the scenarios to play as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice

from tests.tools.sdks.clients import SDKS, Client, Messages, Sdk
from tests.tools.sdks.plays import PLAYS, Step
from tests.untyped_json import JSON

WARM = "default"  # the scenario that is played first, alone
FIRST = (  # what begins with the scenario's time, then what takes long
    "burst-outage",
    "ovms-graph-not-loaded",
    "never-answers",
    "long-wait",
    "always-overloaded",
    "always-throttled",
    "stalled-stream",
    "token-quota",
)
BETWEEN = 1.5  # seconds; many that begin at once would keep each other from their waits
Made = dict[str, Client]  # by key; callers share one


def make(sdk: Sdk, scenario: str, vendor: str, url: str, model: str | None) -> Made:
    """Return the clients of a scenario."""
    return {step.key: sdk.make(vendor, url, step.key, model) for step in PLAYS[scenario].steps}


def play(sdk: Sdk, scenario: str, clients: Made) -> list[str]:
    """Play a scenario; return the errors that the client raised."""
    raised: list[str] = []

    def call(step: Step, number: int) -> None:
        prompt = f"{step.prompt} {number}" if step.callers > 1 else step.prompt
        try:
            _STEPS[step.do](clients[step.key], [{"role": "user", "content": prompt}], step.tokens)
        except Exception as error:  # whatever a client raises
            raised.append(f"{type(error).__name__}: {str(error)[:200]}")

    for step in PLAYS[scenario].steps:
        if step.do != "ask" and not sdk.streams:
            continue
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

    First come all clients, so that their making and imports take no time of a call.
    """
    sdk = SDKS[sys.argv[1]]
    todo: JSON = json.loads(sys.stdin.readline())
    made = {one["scenario"]: make(sdk, **one) for one in todo}
    if WARM in made:
        play(sdk, WARM, made[WARM])
        made[WARM] = make(sdk, **next(one for one in todo if one["scenario"] == WARM))
    print("ready", flush=True)
    sys.stdin.readline()
    with ThreadPoolExecutor(max(1, len(made))) as pool:
        runs = {}
        for name in sorted(made, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
            runs[pool.submit(play, sdk, name, made[name])] = name
            time.sleep(BETWEEN)
        for run in as_completed(runs):
            print(json.dumps({"scenario": runs[run], "errors": run.result()}), flush=True)
    os._exit(0)  # without the threads that a client leaves


if __name__ == "__main__":
    main()
