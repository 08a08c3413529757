"""Credentials as most vendors take them."""

import base64

from emulator.core.http import Request


def bearer_token(request: Request) -> str | None:
    """The token of ``Authorization: Bearer …``; the scheme's case does not matter."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def basic_credentials(request: Request) -> tuple[str, str] | None:
    """User and password of ``Authorization: Basic …``."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, found, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:  # it is no base64 of UTF-8
        return None
    return (user, password) if found else None
