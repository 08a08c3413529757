"""What every part of the control plane takes and gives."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticSerializationError

from emulator.core.duration import parse_duration
from emulator.core.json import dump_text


class Taken(BaseModel):
    """What a client sends; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Given(BaseModel):
    """What a client is sent."""

    model_config = ConfigDict(frozen=True, from_attributes=True, defer_build=True)


def dump_model(model: BaseModel, *, include: set[str] | None = None, exclude_none: bool = False) -> str:
    """As JSON; what is no text, such as bytes of a header that are no UTF-8, becomes U+FFFD."""
    try:
        return model.model_dump_json(include=include, exclude_none=exclude_none)
    except PydanticSerializationError:
        return dump_text(model.model_dump(include=include, exclude_none=exclude_none))


def _check_duration(text: str) -> str:
    parse_duration(text)
    return text


Duration = Annotated[str, AfterValidator(_check_duration), Field(examples=["60s"])]


class NoQuery(Taken):
    """No query parameter."""


def check_session(name: str) -> str:
    """The name of a session, or nothing.

    Raises:
        ValueError: it cannot be one.
    """
    if name and not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
        raise ValueError("a session's name takes 1 to 64 of A-Z a-z 0-9 . _ -")
    return name


SessionName = Annotated[str, AfterValidator(check_session)]


class SessionQuery(Taken):
    session: SessionName = Field(default="", description="Of this session alone; absent: the server's own.")


class MetricsQuery(Taken):
    session: SessionName | None = Field(default=None, description="Of this session's calls alone.")


class MistakeRow(Given):
    file: str
    line: int = Field(description="From 1; 0 where there is no text.")
    column: int
    path: str
    message: str
    suggestion: str | None = None


class Problem(Given):
    """RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[MistakeRow] | None = Field(default=None, description="Every mistake in a scenario.")
