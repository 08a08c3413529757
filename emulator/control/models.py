"""What the control plane takes and gives, as published in its OpenAPI document."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from emulator.core.duration import parse_duration
from emulator.core.json import JSON


class Taken(BaseModel):
    """What a client sends; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Given(BaseModel):
    """What a client is sent."""

    model_config = ConfigDict(frozen=True, from_attributes=True, defer_build=True)


def _check_duration(text: str) -> str:
    parse_duration(text)
    return text


Duration = Annotated[str, AfterValidator(_check_duration), Field(examples=["60s"])]


class NoQuery(Taken):
    """No query parameter."""


def _check_session(name: str) -> str:
    if name and not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
        raise ValueError("a session's name takes 1 to 64 of A-Z a-z 0-9 . _ -")
    return name


SessionName = Annotated[str, AfterValidator(_check_session)]


class SessionQuery(Taken):
    session: SessionName = Field(default="", description="Of this session alone; absent: the server's own.")


class PutQuery(SessionQuery):
    name: str | None = Field(default=None, description="A scenario of the library; absent: the body is one, as YAML.")
    seed: int | None = Field(default=None, ge=0, description="In place of the scenario's own.")


class RequestsQuery(Taken):
    vendor: str | None = Field(default=None, description="Calls of this vendor.")
    deployment: str | None = Field(default=None, description="Calls to this deployment.")
    status: int | None = Field(default=None, description="Answered with this HTTP status.")
    rule: str | None = Field(default=None, description="Taken by this rule.")
    session: str | None = Field(default=None, description="Of this session.")
    matched: Literal["true", "false"] | None = Field(default=None, description="Whether a rule took the call.")
    limit: int = Field(default=100, ge=1, le=10_000, description="How many at most; the latest are given.")


class Listen(Taken):
    vendor: str = Field(description="Whose paths begin at the root of the port.")


class Advance(Taken):
    advance: Duration = Field(description="How far the clock is to move, in scenario time.")


class ClockState(Given):
    kind: Literal["real", "scale", "instant", "frozen"] = Field(description="How time passes.")
    scale: float = Field(description="Scenario seconds in one real second; 0 where time does not pass by itself.")
    now: float = Field(description="Unix seconds.")
    time: str = Field(description="The same as ISO 8601.")
    since_start: float = Field(description="Scenario seconds since start or reset.")


class SessionState(Given):
    name: str
    scenario: str = Field(description="Name of the scenario it runs.")
    calls: int = Field(description="How many calls it had.")
    idle_seconds: float = Field(description="Real seconds since its last use.")


class SessionList(Given):
    sessions: list[SessionState] = Field(description="Least recently used first.")


class SessionEnded(Given):
    name: str


class Listening(Given):
    url: str = Field(description="The vendor's base URL, until the session ends.")


class ScenarioName(Given):
    name: str
    hash: str = Field(description="Changes with the content.")


class Health(Given):
    status: Literal["ok"] = "ok"
    version: str
    uptime_seconds: float
    scenario: ScenarioName


class Ready(Given):
    ready: bool
    urls: dict[str, str] = Field(description="Base URL of the front and of each vendor.")


class ScenarioState(Given):
    name: str
    description: str
    hash: str = Field(description="Changes with the content.")
    seed: int
    strict: bool
    vendors: list[str] = Field(description="Those that are served.")
    rules: list[str] = Field(description="Names, in order.")
    sources: list[str] = Field(description="Files it was read from.")
    document: JSON = Field(description="The scenario as it was written.")


class LibraryEntry(Given):
    name: str = Field(description="What `PUT /scenario?name=` takes.")
    title: str = Field(description="The scenario's own name.")
    description: str
    hash: str
    active: bool


class Library(Given):
    scenarios: list[LibraryEntry]


class RequestEntry(Given):
    id: str = Field(description="As in `x-emulator-request-id`.")
    seq: int = Field(description="Rises over the whole server.")
    time: float = Field(description="Unix seconds at admission, by the scenario's clock.")
    vendor: str | None = Field(description="null: no vendor has the path.")
    session: str
    principal: str
    method: str
    path: str
    operation: str | None = Field(description="What was asked of a model.")
    deployment: str | None
    stream: bool
    status: int = Field(description="0: ended without an answer.")
    attempt: int = Field(description="Which attempt it is among equal requests of its session, from 1.")
    retry_of: str | None = Field(description="The attempt before.")
    retries: int = Field(description="How many equal requests came after.")
    rule: str | None = Field(description="Which rule took it.")
    faults: list[str] = Field(description="What bent the answer, in order.")
    error: str | None = Field(description="Kind of refusal.")
    finish_reason: str | None
    prompt_tokens: int
    completion_tokens: int = Field(description="Of the answer as planned.")
    sent_tokens: int = Field(description="Those that went out.")
    planned_ttft: float | None = Field(description="Seconds after admission at which the body was to begin.")
    ttft: float | None = Field(description="Seconds after admission at which it began.")
    planned_end: float | None = Field(description="Seconds after admission at which the last token was due.")
    duration: float = Field(description="Seconds from admission to the end.")
    lateness_p99: float | None = Field(description="Seconds that 99 % of the writes were late at most.")
    whole: bool = Field(description="The answer reached the client to its end.")
    client_left: bool = Field(description="The client did not wait for the end.")


class Requests(Given):
    requests: list[RequestEntry] = Field(description="Oldest first.")
    total: int = Field(description="How many match, those past the limit too.")


class RuleVerdict(Given):
    rule: str
    takes: bool
    failed: str | None = Field(description="The first facet that does not hold.")
    detail: str = Field(description="What was found and what was wanted.")
    draw: float | None = Field(description="The chance that was drawn, for a rule with a probability.")
    text: str = Field(description="The same as a sentence.")


class RequestDetail(RequestEntry):
    summary: str = Field(description="Which rule took the call, or which came closest.")
    explanation: list[RuleVerdict] = Field(description="Every rule's word, up to the one that took the call.")


class MistakeRow(Given):
    file: str
    line: int = Field(description="From 1; 0 where there is no text.")
    column: int
    path: str
    message: str
    suggestion: str | None


class Problem(Given):
    """RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[MistakeRow] | None = Field(default=None, description="Every mistake in a scenario.")
