"""Parse bearer and basic credentials of the header ``Authorization``.

Azure, Databricks and OpenVINO find the principal of a request by it.
"""

import base64

from emulator.core.http import Request


def bearer_token(request: Request) -> str | None:
    """Return the token of ``Authorization: Bearer …``; the scheme is case-insensitive."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def basic_credentials(request: Request) -> tuple[str, str] | None:
    """Return user and password of ``Authorization: Basic …``."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, found, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:  # not base64 of UTF-8
        return None
    return (user, password) if found else None
