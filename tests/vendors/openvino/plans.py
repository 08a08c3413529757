"""Hand-written plans and their calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from emulator.core.http import Event, Mark
from emulator.core.plan import Choice, FinishReason, Logprob, Plan, PromptTokens, Segment, SegmentKind, Tokens, Usage
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import BASE, CHAT, PROMPT, Server

Piece = tuple[SegmentKind, str, Sequence[str]]  # kind, name of a tool, tokens


def make_choice(
    *pieces: Piece, finish: FinishReason = "stop", logprobs: Sequence[float] | None = None, start: float = 1.0
) -> Choice:
    """Build tokens that are due a second apart from ``start``."""
    tokens: list[str] = []
    spans = []
    for kind, name, texts in pieces:
        spans.append(Segment(kind, len(tokens), len(tokens) + len(texts), name))
        tokens += texts
    return Choice(
        Tokens(tuple(tokens), tuple(range(len(tokens)))),
        due=tuple(start + position for position in range(len(tokens))),
        finish_reason=finish,
        segments=tuple(spans),
        logprobs=None
        if logprobs is None
        else tuple(Logprob(token, value) for token, value in zip(tokens, logprobs, strict=True)),
    )


def make_plan(*choices: Choice, prompts: tuple[PromptTokens, ...] = ()) -> Plan:
    generated = sum(len(choice.tokens) for choice in choices)
    return Plan(
        key=bytes(range(16)),
        created=1716825108.9,
        choices=choices,
        prompts=prompts,
        usage=Usage(5, generated),
        due=9.0,
    )


def say(*tokens: str, finish: FinishReason = "stop") -> Plan:
    """Build one choice of plain text."""
    return make_plan(make_choice(("text", "", tokens), finish=finish))


@dataclass(frozen=True)
class Streamed:
    """Stream: bytes sent together with their due times, and headers."""

    events: tuple[tuple[float, bytes], ...]
    headers: dict[str, str]


def render(server: Server, plan: Plan, path: str = CHAT, **fields: JSON) -> bytes:
    call = server.call({**(BASE if path == CHAT else PROMPT), **fields}, path)
    return call.codec.render(plan, make_request(path)).body


def stream(server: Server, plan: Plan, path: str = CHAT, **fields: JSON) -> Streamed:
    call = server.call({**(BASE if path == CHAT else PROMPT), "stream": True, **fields}, path)
    answer = call.codec.stream(plan, make_request(path))
    return Streamed(tuple(join_writes(answer.events)), dict(answer.headers))


def join_writes(events: Iterable[Event]) -> Iterator[tuple[float, bytes]]:
    """Join events that are sent together."""
    written = b""
    for due, data, _, mark in events:
        written += data
        if Mark.JOINED not in mark:
            yield due, written
            written = b""
