"""What is kept of a call as somebody reads it: no credential of it is whole."""

from __future__ import annotations

from collections.abc import Mapping

from multidict import CIMultiDict

from emulator.control.entry import Kept
from emulator.core.plan import Choice
from emulator.core.redaction.bodies import redact_body, redact_events
from emulator.core.redaction.values import redact, redact_request, redact_text
from emulator.core.secret import CutCredential
from emulator.core.wire import Headers, WireRequest
from emulator.scenario.tokens import Tokens


def keep(
    wire: WireRequest, headers: Headers, body: bytes | None, choice: Choice | None, most: int, tokens: Tokens
) -> Kept:
    """Request and answer, each body up to ``most`` bytes; ``tokens``: what the scenario lists."""
    redact_request(wire)
    wire.body = tokens.cut_bytes(redact_body(wire.body))
    wire.forget_json()
    wire.query = _cut_values(wire.query, tokens)
    if (heads := _cut_values(wire.headers, tokens)) is not wire.headers:
        wire.headers = CIMultiDict(heads)
    kept = Kept(wire, tuple([(name, tokens.cut(redact("header", name, value))) for name, value in headers]))
    if body is not None:
        kept.body = tokens.cut_bytes(redact_body(body[:most]))
    if choice is not None:
        text = choice.said.text if len(choice.spans) == 1 else choice.text()
        kept.text = tokens.cut(redact_text(text[:most]))
        kept.tool_calls = tuple([(name, tokens.cut(redact_text(said))) for name, said in choice.tool_calls])
        kept.response_cut = len(text) > most
    kept.response_cut |= body is not None and len(body) > most
    return kept


def _cut_values(values: Mapping[str, str], tokens: Tokens) -> Mapping[str, str]:
    """Headers or a query; what is cut is still equal to the whole."""
    changed = {
        name: CutCredential(value, shown) for name, value in values.items() if (shown := tokens.cut(value)) != value
    }
    return {**values, **changed} if changed else values


def is_telling(raw: bytes, tokens: Tokens) -> bool:
    """Whether bytes hold a credential: where it was cut, places in them would be others."""
    return not raw == redact_body(raw) == redact_events(raw) == tokens.cut_bytes(raw)
