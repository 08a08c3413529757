"""One question to the control plane and its answer, without a word of how they travel."""

from __future__ import annotations

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

PATIENCE = 30.0  # real seconds for an answer, beside what the server was asked to wait
DEFAULT_URL = "http://127.0.0.1:4010"


def name_token(token: str | None, environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """The header that carries a token, or that of the environment, if there is one."""
    found = environment.get(variable("control_token")) if token is None else token
    return {"x-emulator-token": found} if found else {}


class EmulatorError(Exception):
    """What the emulator refuses to do for a test; one sentence for a person.

    ``status``: of its answer; 0 where it was not asked.
    """

    def __init__(self, detail: str, status: int = 0) -> None:
        self.status = status
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Request:
    """A question; ``timeout`` in real seconds."""

    method: str
    path: str
    body: bytes = b""
    timeout: float = PATIENCE


@dataclass(frozen=True, slots=True)
class Reply:
    """Its answer."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        return self.status < 300

    def read(self, model: type[M]) -> M:
        """What was asked for.

        Raises:
            EmulatorError: the emulator says no, or something that this client does not know.
        """
        if not self.is_success:
            raise self.to_error()
        try:
            return model.model_validate_json(self.body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise EmulatorError(
                "the emulator answers in a form that this client does not know; are both of one release? "
                f"{place}: {first['msg'].lower()}",
                self.status,
            ) from error

    def read_text(self) -> str:
        """A document that is no JSON.

        Raises:
            EmulatorError: the emulator says no.
        """
        if not self.is_success:
            raise self.to_error()
        return self.body.decode()

    def to_error(self) -> EmulatorError:
        """Why the emulator says no."""
        problem = self.read_problem()
        detail = self.body.decode(errors="replace").strip()[:500] if problem is None else problem.detail
        return EmulatorError(detail or f"HTTP {self.status} and no reason", self.status)

    def read_problem(self) -> Problem | None:
        """The answer as problem details; ``None``: it has another form, and comes from somebody else."""
        try:
            return Problem.model_validate_json(self.body)
        except ValidationError:
            return None


Steps = Generator[Request, Reply, T]
"""What a method does: it yields each question, is sent its answer, and returns what the caller wants."""


def ask(
    method: str, path: str, query: Mapping[str, JSON] | None = None, body: JSON = None, wait: float = 0.0
) -> Steps[Reply]:
    """One question; ``wait``: seconds that the server may take on purpose."""
    given = {name: _to_text(value) for name, value in (query or {}).items()}
    target = f"/_emulator{path}" + (f"?{urlencode(given)}" if given else "")
    return (yield Request(method, target, b"" if body is None else dump_json(body), PATIENCE + wait))


def _to_text(value: JSON) -> str:
    """A value as the control plane reads it in a query: null is an empty text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
