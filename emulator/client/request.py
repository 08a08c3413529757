"""Requests to the control API and its responses, as data: ``steps.py`` builds and reads them, without sending any.

``sync.py`` and ``aio.py`` send them, blocking and on asyncio.
"""

import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ValidationError

from emulator.control.models import Problem
from emulator.core.json import JSON, dump_json
from emulator.settings import variable

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

TIMEOUT = 30.0  # wall-clock seconds for a response, in addition to the time the server may wait
DEFAULT_URL = "http://127.0.0.1:4010"


def build_token_header(token: str | None, environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the header for a control token, by default that of the environment; empty without a token."""
    found = environment.get(variable("control_token")) if token is None else token
    return {"x-emulator-token": found} if found else {}


class EmulatorError(Exception):
    """Error that the methods of a client raise; its message is one sentence for the user.

    ``status``: HTTP status; 0 if no request was sent.
    """

    def __init__(self, detail: str, status: int = 0) -> None:
        self.status = status
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """Request to the control API; ``timeout``: wall-clock seconds."""

    method: str
    path: str
    body: bytes = b""
    timeout: float = TIMEOUT


@dataclass(frozen=True, slots=True)
class Reply:
    """Response of the control API."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        return self.status < 300

    def read(self, model: type[M]) -> M:
        """Parse the body as a model.

        Raises:
            EmulatorError: the status is an error, or the body does not fit the model.
        """
        __tracebackhide__ = True
        if not self.is_success:
            raise self.to_error()
        try:
            return model.model_validate_json(self.body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise EmulatorError(
                "the response of the emulator does not fit this client; are both of the same release? "
                f"{place}: {first['msg'].lower()}",
                self.status,
            ) from error

    def read_text(self) -> str:
        """Return a body that is not JSON.

        Raises:
            EmulatorError: the status is an error.
        """
        if not self.is_success:
            raise self.to_error()
        return self.body.decode()

    def to_error(self) -> EmulatorError:
        """Return the error response as an exception."""
        problem = self.read_problem()
        detail = self.body.decode(errors="replace").strip()[:500] if problem is None else problem.detail
        return EmulatorError(detail or f"HTTP {self.status} and no reason", self.status)

    def read_problem(self) -> Problem | None:
        """Return the body as problem details; ``None`` if it is none, as from another server."""
        try:
            return Problem.model_validate_json(self.body)
        except ValidationError:
            return None


Steps = Generator[ControlRequest, Reply, T]
"""Client method as a generator: it yields requests, receives replies and returns the result."""


def ask(
    method: str, path: str, query: Mapping[str, JSON] | None = None, body: JSON = None, wait: float = 0.0
) -> Steps[Reply]:
    """Send one request; ``wait``: seconds that the server may wait before it responds."""
    given = {name: _format_value(value) for name, value in (query or {}).items()}
    target = f"/_emulator{path}" + (f"?{urlencode(given)}" if given else "")
    return (yield ControlRequest(method, target, b"" if body is None else dump_json(body), TIMEOUT + wait))


def _format_value(value: JSON) -> str:
    """Format a value for a query; null is an empty text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
