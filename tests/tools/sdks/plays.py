"""What a plain program does in each scenario: the same steps with every client.

A step is one of

- ``ask``: one whole answer; of ``callers`` programs at once, each with a prompt of its own;
- ``stream``: one streamed answer, read to its end; without an error its text goes into the prompt of a second call;
- ``leave``: a streamed answer of which three pieces are read before the function returns; then another call.

An error ends the step. The program never tries again: what is tried again, the client does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

ROOT = Path(__file__).parent.parent.parent.parent
SHIPPED = ROOT / "scenarios"
OWN = ROOT / "docs" / "sdks"
KEY = "dapi-search"
LONG = "word " * 300


class Step(NamedTuple):
    """One step; ``tokens``: most of each answer."""

    do: Literal["ask", "stream", "leave"]
    prompt: str = "Hello"
    callers: int = 1
    key: str = KEY
    tokens: int = 40


class Play(NamedTuple):
    """Steps of a scenario; ``vendor``: the only one that it is about."""

    steps: tuple[Step, ...]
    vendor: str = ""


_TOGETHER = Step("ask", "Together", callers=8)
_STREAM = Step("stream", "Tell me about the tides.")
PLAYS = {
    "burst-outage": Play((_TOGETHER,)),
    "content-filter": Play((Step("ask", "How is poison made?"), Step("ask", "How is a knife held?"))),
    "context-too-long": Play((Step("ask", LONG),)),
    "default": Play((Step("ask"), _STREAM)),
    "expired-key": Play((*(Step("ask", f"Number {n}", key="dapi-old") for n in range(3)), Step("ask", key="dapi-new"))),
    "late-error": Play((_STREAM,)),
    "long-tail-latency": Play((Step("ask", callers=8), _STREAM)),
    "lost-connection": Play((_STREAM,)),
    "mindie-over-length": Play((Step("ask", LONG),), "mindie"),
    "ovms-graph-not-loaded": Play((Step("ask"),), "openvino"),
    "retry-then-succeed": Play((_TOGETHER, _STREAM)),
    "slow-first-token": Play((Step("stream", LONG),)),
    "stalled-stream": Play((Step("leave", "Tell me of the sea."), _STREAM)),
    "throttled-tenant": Play(tuple(Step("ask", f"Number {n}") for n in range(6)), "databricks"),
    "token-quota": Play(tuple(Step("ask", f"Number {n}", tokens=300) for n in range(3)), "databricks"),
    "tool-call": Play((Step("ask", "How is the weather in Paris?"),)),
    # of docs/sdks
    "always-overloaded": Play((_TOGETHER,)),
    "always-throttled": Play((_TOGETHER,)),
    "cut-answer": Play((Step("ask"),)),
    "cut-stream": Play((_STREAM,)),
    "left-stream": Play((Step("leave", "Tell me of the sea."),)),
    "long-wait": Play((Step("ask"),)),
    "never-answers": Play((Step("ask"),)),
    "refused-for-good": Play(
        tuple(Step("ask", kind) for kind in ("invalid_request", "unauthenticated", "forbidden", "not_found"))
    ),
    "server-error": Play((Step("ask"),)),
}


def find_file(name: str) -> Path:
    """Return the file of a scenario."""
    return next(file for folder in (SHIPPED, OWN) if (file := folder / f"{name}.yaml").is_file())
