"""Convert request and response of a journal entry to response models; bodies as JSON, text or base64.

``GET /_emulator/requests/{id}`` shows them; verdicts read the texts of responses by it.
"""

import base64
import json
from collections.abc import Iterable
from itertools import accumulate, pairwise

from emulator.control.models import RequestShown, ResponseShown, StrikeShown, ToolCallShown
from emulator.core.json import JSON, parse_json
from emulator.journal.entry import JournalEntry
from emulator.journal.payload import Payload

_MIN, _MAX = 1e-4, 1e15  # between them Python and JavaScript format numbers alike
_MAX_CHARACTER = 4  # bytes in UTF-8


def show_request(entry: JournalEntry, payload: Payload | None) -> RequestShown:
    if payload is None:
        return RequestShown(query={}, headers={}, body=None, bytes=entry.bytes_in, cut=entry.bytes_in > 0, kept=False)
    body, is_base64 = show_body(payload.request.body, cut=payload.request_cut)
    return RequestShown(
        query={name: str(value) for name, value in payload.request.query.items()},
        headers=show_headers(payload.request.headers.items()),
        body=body,
        raw=None if is_base64 or not payload.request.body else find_raw(payload.request.body, body),
        encoding="base64" if is_base64 else None,
        bytes=entry.bytes_in,
        cut=payload.request_cut,
        kept=True,
    )


def show_response(entry: JournalEntry, payload: Payload | None) -> ResponseShown:
    body, is_base64 = (None, False) if payload is None else show_body(payload.body or b"", cut=payload.response_cut)
    raw, strikes = (None, []) if payload is None else show_fault_sites(payload)
    return ResponseShown(
        headers={} if payload is None else show_headers(payload.headers),
        body=body,
        encoding="base64" if is_base64 else None,
        text=None if payload is None else payload.text,
        received=None if payload is None else payload.received,
        planned=None if payload is None else payload.planned,
        tool_calls=[
            ToolCallShown(name=name, arguments=_parse(arguments))
            for name, arguments in (() if payload is None else payload.tool_calls)
        ],
        raw=raw,
        strikes=strikes,
        writes=[] if payload is None else list(payload.writes),
        events=entry.events,
        bytes=entry.bytes_out,
        cut=entry.bytes_out > 0 if payload is None else payload.response_cut,
        kept=payload is not None,
    )


def show_body(body: bytes, *, cut: bool) -> tuple[JSON, bool]:
    """Return a body as JSON, else text, else base64, and whether it is base64; ``None`` for an empty body."""
    if not body:
        return None, False
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        if not cut or error.start <= len(body) - _MAX_CHARACTER:
            return base64.b64encode(body).decode(), True
        text = body[: error.start].decode()
    return (text if cut else _parse(text)), False


def find_raw(body: bytes, shown: JSON) -> str | None:
    """Return the text of a body, or ``None`` if JavaScript serialises ``shown`` to the same text."""
    text = body.decode("utf-8", "ignore")
    if shown == text or (_is_faithful(shown) and _write(shown) == text):
        return None
    return text


def _is_faithful(value: JSON) -> bool:
    """Return whether JavaScript serialises a value as Python does.

    False for scalars: a string would be shown as text, and null as no body.
    """
    if not isinstance(value, dict | list):
        return False
    waiting: list[JSON] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if any(map(str.isdecimal, one)):
                return False  # JavaScript puts integer keys first
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif not _is_common(one):
            return False
    return True


def _is_common(one: JSON) -> bool:
    """Return whether a scalar is no number that Python and JavaScript format differently."""
    if isinstance(one, float):
        return not one.is_integer() and _MIN < abs(one) < _MAX
    return not isinstance(one, int) or abs(one) < _MAX


def show_fault_sites(payload: Payload) -> tuple[str | None, list[StrikeShown]]:
    """Return the bytes of a response changed by faults as text, and the position of each fault in that text.

    Invalid UTF-8 is escaped with backslashes.
    """
    if payload.raw is None:
        return None, []
    places = sorted({min(strike.at, len(payload.raw)) for strike in payload.fault_sites} | {len(payload.raw)})
    parts = [payload.raw[start:end].decode("utf-8", "backslashreplace") for start, end in pairwise([0, *places])]
    reached = dict(zip(places, accumulate(map(len, parts)), strict=True))
    shown = [StrikeShown(fault=one.fault, at=reached[min(one.at, len(payload.raw))]) for one in payload.fault_sites]
    return "".join(parts), shown


def _write(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse(text: str) -> JSON:
    try:
        return parse_json(text)
    except ValueError:
        return text


def show_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by lower-case name; values of equal names are joined by commas."""
    shown: dict[str, str] = {}
    for written, value in headers:
        name = written.lower()
        shown[name] = f"{shown[name]}, {value}" if name in shown else str(value)
    return shown
