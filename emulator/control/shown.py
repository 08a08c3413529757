"""What is kept of a call as it may be shown."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.json import JSON


def shown_headers(headers: Mapping[str, str]) -> dict[str, JSON]:
    """Headers as they may be shown, names in lower case: credentials are cut to four characters."""
    return {name.lower(): cut_credential(name, value) for name, value in headers.items()}


_SECRET = frozenset({"authorization", "api-key", "x-api-key", "x-emulator-token", "cookie", "proxy-authorization"})


def cut_credential(name: str, value: str) -> str:
    """``Bearer dapi-search`` → ``Bearer dapi…``; other headers as they are."""
    if name.lower() not in _SECRET:
        return value
    scheme, space, token = value.rpartition(" ")
    return f"{scheme}{space}{token[:4]}…"
