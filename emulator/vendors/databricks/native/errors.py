"""Refusals in the form of the API that a path speaks."""

from __future__ import annotations

from emulator.core.json import Object
from emulator.core.wire import WireRequest
from emulator.dialects.anthropic.codec import frame_error, shape_error

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


def is_anthropic(request: WireRequest) -> bool:
    """The path speaks the Messages API."""
    return "/anthropic/v1/" in request.path


def shape_native(status: int, message: str) -> Object:
    """A refusal as Anthropic's service words it."""
    return shape_error(_KINDS.get(status, "api_error"), message)


def frame_native(status: int, message: str) -> bytes:
    """The same inside a stream."""
    return frame_error(_KINDS.get(status, "api_error"), message)
