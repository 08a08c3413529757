"""Errors that become an error response: of a vendor (`EmulatedError`) or of the control API (`ProblemError`).

A parser raises one, and the handler has the vendor render it.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from math import ceil

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON

MAX_TEXT = 64 * 1024
"""Maximum characters of a text that an error message repeats."""


def shorten(text: str) -> str:
    """Return the first ``MAX_TEXT`` characters of a text."""
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT]


class ErrorKind(StrEnum):
    """The vendor-neutral kinds of refusal; each vendor words every one of them."""

    INVALID_REQUEST = "invalid_request"
    INVALID_PARAMETER = "invalid_parameter"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    CONTEXT_LENGTH = "context_length"
    CONTENT_FILTER = "content_filter"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    NOT_READY = "not_ready"
    TIMEOUT = "timeout"
    INTERNAL = "internal"


@fast_dataclass(slots=True, eq=False)
class EmulatedError(Exception):
    """Error in place of a response, rendered by the vendor's ``render_error``.

    Every field but ``kind`` is optional; the vendor supplies its own value for ``None``.

    Fields:
        message: text for the client.
        param: the request field at fault.
        limit: unit of the exceeded quota, for ``RATE_LIMITED``.
        status: HTTP status.
        retry_after: seconds.
        body: the whole response body: a mapping is sent as JSON, a string as it is.
        headers: added to the vendor's own, replacing equal names.
        details: further values for the renderer of the vendor that raised the error.
        is_final: no wait helps, so that the response names none.
    """

    kind: ErrorKind
    message: str | None = None
    param: str | None = None
    limit: str | None = None
    status: int | None = None
    retry_after: float | None = None
    body: JSON | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, JSON] = field(default_factory=dict)
    is_final: bool = False

    def __post_init__(self) -> None:
        """Shorten all texts, so that an error never echoes a long request in full."""
        if self.message is not None:
            self.message = shorten(self.message)
        if self.param is not None:
            self.param = shorten(self.param)
        if self.details:
            self.details = {
                name: shorten(value) if isinstance(value, str) else value for name, value in self.details.items()
            }

    @property
    def wait(self) -> int | None:
        """Whole seconds until a retry, rounded up; ``None``: the error has no ``retry_after``."""
        return None if self.retry_after is None else max(0, ceil(self.retry_after))

    @property
    def wait_ms(self) -> int | None:
        """Whole milliseconds until a retry, rounded up; ``None``: the error has no ``retry_after``."""
        return None if self.retry_after is None else max(0, ceil(round(self.retry_after * 1000, 3)))

    def retry_header(self, name: str = "Retry-After") -> tuple[tuple[str, str], ...]:
        """Return the header with the seconds until a retry, if the error has them."""
        return () if self.wait is None else ((name, str(self.wait)),)

    def clear_traceback(self) -> None:
        """Drop traceback, context and cause, which refer to the request and would form a reference cycle."""
        self.__traceback__ = self.__context__ = self.__cause__ = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class ProblemError(Exception):
    """A refused control request, sent as RFC 9457 problem details.

    Fields:
        headers: added to the response.
    """

    def __init__(self, status: int, title: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = headers or {}
        super().__init__(detail)
