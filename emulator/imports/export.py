"""Write exchanges as a vcrpy cassette, or one after the other as text.

Source: vcrpy, ``vcr/serialize.py``, version 1 of its cassettes.
"""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from emulator.recording.exchange import Exchange, format_exchange


def format_cassette(exchanges: Iterable[Exchange]) -> str:
    """Format a cassette of version 1."""
    rows = [_show(exchange) for exchange in exchanges]
    return yaml.safe_dump({"interactions": rows, "version": 1}, allow_unicode=True, sort_keys=True)


def _show(exchange: Exchange) -> dict[str, object]:
    return {
        "request": {
            "body": _show_body(exchange.request_body) or None,
            "headers": _show_headers(exchange.request_headers),
            "method": exchange.method,
            "uri": f"http://localhost{exchange.target}",
        },
        "response": {
            "body": {"string": _show_body(exchange.body)},
            "headers": _show_headers(exchange.headers),
            "status": {"code": exchange.status, "message": exchange.reason},
        },
    }


def _show_body(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _show_headers(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for name, value in headers:
        shown.setdefault(name, []).append(value)
    return shown


def format_exchanges(exchanges: Iterable[Exchange]) -> str:
    """Format exchanges one after the other, as a file of several."""
    return "\n".join(map(format_exchange, exchanges))
