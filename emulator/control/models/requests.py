"""The journal: calls in short, one call whole, and what a list is filtered by."""

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from emulator.control.models.base import Duration, Given, SessionName, Taken
from emulator.core.json import JSON


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
    last_token: float | None = Field(
        description="Seconds after admission at which it went out; null of an answer that was cut short or bent."
    )
    duration: float = Field(description="Seconds from admission to the end.")
    lateness_p99: float | None = Field(description="Seconds that 99 % of the writes were late at most.")
    whole: bool = Field(description="The answer reached the client to its end.")
    client_left: bool = Field(description="The client did not wait for the end.")
    traceparent: str | None = Field(default=None, description="The trace that the client named.")
    summary: str = Field(
        description="Which rule took it, or why none did, in one line; an event among many does not name the nearest."
    )


def _describe_filters(schema: JsonDict) -> None:
    """A filter means the field of its name."""
    match schema["properties"]:
        case dict(properties):
            for name, field in RequestEntry.model_fields.items():
                match properties[name]:
                    case dict(filter_):
                        filter_.setdefault("description", field.description or "")


Flag = Literal["true", "false"]


class Filters(Taken):
    """Fields of an entry: what is given must be equal; an empty text stands for null."""

    model_config = ConfigDict(json_schema_extra=_describe_filters)

    id: str | None = None
    seq: int | None = None
    time: float | None = None
    vendor: str | None = None
    session: SessionName | None = None
    principal: str | None = None
    method: str | None = None
    path: str | None = None
    operation: str | None = None
    deployment: str | None = None
    stream: Flag | None = None
    status: int | None = None
    attempt: int | None = None
    retry_of: str | None = None
    retries: int | None = None
    rule: str | None = None
    faults: str | None = Field(default=None, description="The same as `fault`.")
    error: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    sent_tokens: int | None = None
    planned_ttft: float | None = None
    ttft: float | None = None
    planned_end: float | None = None
    last_token: float | None = None
    duration: float | None = None
    lateness_p99: float | None = None
    whole: Flag | None = None
    client_left: Flag | None = None
    traceparent: str | None = None
    summary: str | None = None
    fault: str | None = Field(default=None, description="A fault among those that bent the answer.")
    matched: Flag | None = Field(default=None, description="Whether a rule took the call.")


class EventsQuery(Filters):
    since: int | None = Field(default=None, ge=0, description="First what came after this `seq`; as `Last-Event-ID`.")
    most: int | None = Field(
        default=None,
        ge=1,
        description="Calls a second that are told at most: of more the latest; an event `skipped` counts the others.",
    )


class RequestsQuery(Filters):
    since: int | None = Field(default=None, ge=0, description="What came after this `seq`.")
    before: int | None = Field(default=None, ge=1, description="What came before this `seq`: the page before.")
    limit: int = Field(
        default=100, ge=1, le=10_000, description="How many at most: the latest; with `since` the earliest after it."
    )
    wait: Duration | None = Field(
        default=None,
        description="Wait so long, in real time, until something new matches; new is what came after `since`, or after "
        "this request.",
    )
    detail: Flag = Field(default="false", description="Each call whole, as `/requests/{id}` gives it.")


class RequestShown(Given):
    """What the client sent."""

    query: dict[str, str]
    headers: dict[str, str] = Field(description="Names in lower case; of credentials four characters, or none.")
    body: JSON = Field(description="Parsed where it is JSON, else text, else base64; null: none, or it is not kept.")
    raw: str | None = Field(default=None, description="The text of a body of JSON, where `body` may not give it back.")
    encoding: Literal["base64"] | None = Field(
        default=None, description="How the body is written, where it is no text."
    )
    bytes: int = Field(description="Of the body as it came.")
    cut: bool = Field(description="The body was longer than what is kept of it.")
    kept: bool = Field(description="false: query, headers and body are not kept, or no longer.")


class ToolCallShown(Given):
    name: str
    arguments: JSON = Field(description="Parsed where they are JSON.")


class StrikeShown(Given):
    fault: str
    at: int = Field(description="Before which character of `raw`.")


class ResponseShown(Given):
    """What the client was sent."""

    headers: dict[str, str] = Field(description="Names in lower case.")
    body: JSON = Field(description="As that of the request; null for a stream, whose words are in `text`.")
    encoding: Literal["base64"] | None = Field(description="How the body is written, where it is no text.")
    text: str | None = Field(description="What the model said; null: nothing was asked of one.")
    tool_calls: list[ToolCallShown]
    raw: str | None = Field(
        description="The body of an answer that was bent, as far as it was sent; bytes that are no text as `\\xNN`."
    )
    strikes: list[StrikeShown] = Field(description="Where faults struck in it; one that changed nothing did not.")
    writes: list[tuple[float, float]] = Field(
        description="Of a stream, when each write was due and when it went out, seconds after admission; of more than "
        "200 some, those that were most late."
    )
    events: int = Field(description="Of a stream, the terminator too.")
    bytes: int = Field(description="Of the body as it went out.")
    cut: bool = Field(description="Body or text was longer than what is kept of it.")
    kept: bool = Field(description="false: headers, body and text are not kept, or no longer.")


class LimitRow(Given):
    limit: str = Field(examples=["limits[0]"])
    unit: str
    asked: int
    available: int
    wait: float | None = Field(description="Seconds until there is enough; null: nobody knows, or never.")


class RuleVerdict(Given):
    rule: str
    takes: bool
    failed: str | None = Field(description="The first facet that does not hold.")
    detail: str = Field(description="What was found and what was wanted.")
    draw: float | None = Field(description="The chance that was drawn, for a rule with a probability.")
    text: str = Field(description="The same as a sentence.")


class RequestQuery(Taken):
    session: SessionName | None = Field(default=None, description="Of this session; equal calls have equal ids.")


class RequestDetail(RequestEntry):
    request: RequestShown
    response: ResponseShown
    limits: list[LimitRow] = Field(description="Those that refused it.")
    explanation: list[RuleVerdict] = Field(description="Every rule's word, up to the one that took the call.")


class Requests(Given):
    requests: list[RequestDetail | RequestEntry] = Field(description="Oldest first.")
    total: int = Field(description="How many match, those past the limit too.")


class RequestDetails(Given):
    """What `detail=true` gives."""

    requests: list[RequestDetail]
    total: int
