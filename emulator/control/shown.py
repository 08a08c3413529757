"""What is kept of a call as it is shown: bodies in the form they have."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from emulator.control.entry import Entry
from emulator.control.models import RequestShown, ResponseShown, ToolCallShown
from emulator.core.json import JSON, parse_json

_LONGEST_CHARACTER = 4  # bytes in UTF-8


def show_request(entry: Entry) -> RequestShown:
    """What the client sent."""
    kept = entry.kept
    if kept is None:
        return RequestShown(query={}, headers={}, body=None, encoding=None, bytes=entry.bytes_in, cut=False, kept=False)
    body, is_base64 = show_body(kept.request.body, cut=kept.request_cut)
    return RequestShown(
        query={name: str(value) for name, value in kept.request.query.items()},
        headers=show_headers(kept.request.headers.items()),
        body=body,
        encoding="base64" if is_base64 else None,
        bytes=entry.bytes_in,
        cut=kept.request_cut,
        kept=True,
    )


def show_response(entry: Entry) -> ResponseShown:
    """What the client was sent."""
    kept = entry.kept
    body, is_base64 = (None, False) if kept is None else show_body(kept.body or b"", cut=kept.response_cut)
    return ResponseShown(
        headers={} if kept is None else show_headers(kept.headers),
        body=body,
        encoding="base64" if is_base64 else None,
        text=None if kept is None else kept.text,
        tool_calls=[
            ToolCallShown(name=name, arguments=_parse(arguments))
            for name, arguments in (() if kept is None else kept.tool_calls)
        ],
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
