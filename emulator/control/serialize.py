"""What is kept of a call as it is shown: bodies in the form they have."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from itertools import accumulate, pairwise

from emulator.control.models import RequestShown, ResponseShown, StrikeShown, ToolCallShown
from emulator.core.json import JSON, parse_json
from emulator.journal.record import JournalEntry, Payload

_LEAST, _MOST = 1e-4, 1e15  # between them Python and JavaScript write numbers alike
_LONGEST_CHARACTER = 4  # bytes in UTF-8


def show_request(entry: JournalEntry, kept: Payload | None) -> RequestShown:
    """What the client sent."""
    if kept is None:
        return RequestShown(query={}, headers={}, body=None, bytes=entry.bytes_in, cut=False, kept=False)
    body, is_base64 = show_body(kept.request.body, cut=kept.request_cut)
    return RequestShown(
        query={name: str(value) for name, value in kept.request.query.items()},
        headers=show_headers(kept.request.headers.items()),
        body=body,
        raw=None if is_base64 or not kept.request.body else find_raw(kept.request.body, body),
        encoding="base64" if is_base64 else None,
        bytes=entry.bytes_in,
        cut=kept.request_cut,
        kept=True,
    )


def show_response(entry: JournalEntry, kept: Payload | None) -> ResponseShown:
    """What the client was sent."""
    body, is_base64 = (None, False) if kept is None else show_body(kept.body or b"", cut=kept.response_cut)
    raw, strikes = (None, []) if kept is None else show_strikes(kept)
    return ResponseShown(
        headers={} if kept is None else show_headers(kept.headers),
        body=body,
        encoding="base64" if is_base64 else None,
        text=None if kept is None else kept.text,
        tool_calls=[
            ToolCallShown(name=name, arguments=_parse(arguments))
            for name, arguments in (() if kept is None else kept.tool_calls)
        ],
        raw=raw,
        strikes=strikes,
        writes=[] if kept is None else list(kept.writes),
        events=entry.events,
        bytes=entry.bytes_out,
        cut=kept is not None and kept.response_cut,
        kept=kept is not None,
    )


def show_body(body: bytes, *, cut: bool) -> tuple[JSON, bool]:
    """JSON where it is JSON, else text, else base64, and whether it is that; nothing is ``None``."""
    if not body:
        return None, False
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        if not cut or error.start <= len(body) - _LONGEST_CHARACTER:
            return base64.b64encode(body).decode(), True
        text = body[: error.start].decode()
    return (text if cut else _parse(text)), False


def find_raw(body: bytes, shown: JSON) -> str | None:
    """The text of a body that was parsed, unless JavaScript writes what is shown as the same text."""
    text = body.decode("utf-8", "ignore")
    if shown == text or (_is_faithful(shown) and _write(shown) == text):
        return None
    return text


def _is_faithful(value: JSON) -> bool:
    """A browser writes it as Python does; a text or null alone would be taken for no JSON, or for no body."""
    if not isinstance(value, dict | list):
        return False
    waiting: list[JSON] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if any(map(str.isdecimal, one)):
                return False  # JavaScript moves such members to the front
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif not _is_common(one):
            return False
    return True


def _is_common(one: JSON) -> bool:
    """No number that Python and JavaScript write in different ways."""
    if isinstance(one, float):
        return not one.is_integer() and _LEAST < abs(one) < _MOST
    return not isinstance(one, int) or abs(one) < _MOST


def show_strikes(kept: Payload) -> tuple[str | None, list[StrikeShown]]:
    """The bytes of a bent answer as text, a character that was broken too, and before which of it faults struck."""
    if kept.raw is None:
        return None, []
    places = sorted({min(strike.at, len(kept.raw)) for strike in kept.strikes} | {len(kept.raw)})
    parts = [kept.raw[start:end].decode("utf-8", "backslashreplace") for start, end in pairwise([0, *places])]
    reached = dict(zip(places, accumulate(map(len, parts)), strict=True))
    shown = [StrikeShown(fault=one.fault, at=reached[min(one.at, len(kept.raw))]) for one in kept.strikes]
    return "".join(parts), shown


def _write(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse(text: str) -> JSON:
    try:
        return parse_json(text)
    except ValueError:
        return text


def show_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names in lower case; values of equal names stand together."""
    shown: dict[str, str] = {}
    for written, value in headers:
        name = written.lower()
        shown[name] = f"{shown[name]}, {value}" if name in shown else str(value)
    return shown
