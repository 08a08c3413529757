"""What the control plane takes and gives, as published in its OpenAPI document."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from emulator.core.duration import parse_duration
from emulator.core.json import JSON


class Taken(BaseModel):
    """What a client sends; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Given(BaseModel):
    """What a client is sent."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


def _check_duration(text: str) -> str:
    parse_duration(text)
    return text


Duration = Annotated[str, AfterValidator(_check_duration), Field(examples=["60s"])]


class NoQuery(Taken):
    """No query parameter."""


class PutQuery(Taken):
    name: str | None = Field(default=None, description="A scenario of the library; absent: the body is one, as YAML.")


class ResetQuery(Taken):
    session: str | None = Field(default=None, description="Clear this session only; scenario time goes on.")


class RequestsQuery(Taken):
    vendor: str | None = Field(default=None, description="Calls of this vendor.")
    deployment: str | None = Field(default=None, description="Calls to this deployment.")
    status: int | None = Field(default=None, description="Answered with this HTTP status.")
    rule: str | None = Field(default=None, description="Taken by this rule.")
    session: str | None = Field(default=None, description="Of this session.")
    matched: Literal["true", "false"] | None = Field(default=None, description="Whether a rule took the call.")
    limit: int = Field(default=100, ge=1, le=10_000, description="How many at most; the latest are given.")


class Advance(Taken):
    advance: Duration = Field(description="How far the clock is to move, in scenario time.")


class ClockState(Given):
    kind: Literal["real", "scale", "instant", "frozen"] = Field(description="How time passes.")
    scale: float = Field(description="Scenario seconds in one real second; 0 where time does not pass by itself.")
    now: float = Field(description="Unix seconds.")
    time: str = Field(description="The same as ISO 8601.")
    since_start: float = Field(description="Scenario seconds since start or reset.")


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
    time: float = Field(description="Unix seconds at admission, by the scenario's clock.")
    vendor: str
    method: str
    path: str
    status: int = Field(description="0: ended without an answer.")
    deployment: str | None
    principal: str
    session: str
    rule: str | None = Field(description="Which rule took it.")
    error: str | None = Field(description="Kind of refusal.")
    prompt_tokens: int
    completion_tokens: int = Field(description="Of the answer as planned.")
    sent_tokens: int = Field(description="Those that went out.")
    planned_ttft: float | None = Field(description="Seconds after admission at which the body was to begin.")
    ttft: float | None = Field(description="Seconds after admission at which it began.")
    duration: float = Field(description="Seconds from admission to the end.")
    whole: bool = Field(description="The answer reached the client to its end.")
    faults: list[str] = Field(description="What bent the answer, in order.")


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
