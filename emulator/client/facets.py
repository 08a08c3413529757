"""Types of the clients' keyword arguments that select calls, as in ``assert_called(deployment="chat")``.

Type checkers read them; the server validates the values. ``steps.py`` declares its functions by them.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from emulator.core.json import JSON

Names = str | Sequence[str]
Text = str | Mapping[str, JSON]
Number = float | Mapping[str, float]


class When(TypedDict, total=False):
    """Fields of ``when`` that have a name in Python; ``where`` takes the others, such as ``header.x-team``."""

    vendor: Names
    deployment: Names
    served: Names
    task: Names
    endpoint: Names
    principal: Names
    session: Names
    stream: bool
    structured: bool
    multimodal: bool
    prompt: Text
    system: Text
    tools: Names
    tool_called: Names
    tool_result: Text
    prompt_tokens: Number
    max_tokens: Number
    messages: Number
    turn: Number
    body_bytes: Number | str
    any: Sequence[Mapping[str, JSON]]
    where: Mapping[str, JSON]


class Calls(When, total=False):
    """Fields of ``when``, and of the outcome of a call."""

    status: Number
    error: Text
    rule: Text
    fault: Names
    attempt: Number
    retries: Number
    whole: bool
    client_left: bool
    traced: bool
    finish_reason: Text
    completion_tokens: Number


class Filters(TypedDict, total=False):
    """Fields of an entry that a list of calls is filtered by; ``None``: the entry has none."""

    id: str
    seq: int
    time: float
    vendor: str | None
    session: str
    principal: str
    method: str
    path: str
    operation: str | None
    deployment: str | None
    stream: bool
    status: int
    attempt: int
    retry_of: str | None
    retries: int
    rule: str | None
    fault: str
    faults: str
    error: str | None
    finish_reason: str | None
    prompt_tokens: int
    prompt_line: str
    completion_tokens: int
    sent_tokens: int
    planned_ttft: float | None
    ttft: float | None
    planned_end: float | None
    last_token: float | None
    duration: float
    lateness_p99: float | None
    whole: bool
    client_left: bool
    traceparent: str | None
    summary: str
    matched: bool
    since: int
    before: int
    limit: int
    wait: str


def merge_where(calls: Mapping[str, object]) -> dict[str, JSON]:
    """Return the fields, with those in ``where`` on the same level."""
    where = calls.get("where")
    rest = {name: value for name, value in calls.items() if name != "where"}
    return {**rest, **(where if isinstance(where, Mapping) else {})}  # the server validates
