"""Pydantic models of the control API's queries, requests and responses, from which its OpenAPI document is made.

The clients and commands parse responses with the same models.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticSerializationError

from emulator.core.conversation import Body, find_prompt, list_messages
from emulator.core.json import JSON, dump_text
from emulator.core.units import parse_duration_value, require
from emulator.scenario.conditions import Names, Number, When
from emulator.scenario.models import Clock


class RequestModel(BaseModel):
    """What a client sends; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ResponseModel(BaseModel):
    """What a client is sent."""

    model_config = ConfigDict(frozen=True, from_attributes=True, defer_build=True)


def dump_model(model: BaseModel, *, include: set[str] | None = None, exclude_none: bool = False) -> str:
    """Serialise a model as JSON; lone surrogates, such as header bytes that are no UTF-8, become U+FFFD."""
    try:
        return model.model_dump_json(include=include, exclude_none=exclude_none)
    except PydanticSerializationError:
        return dump_text(model.model_dump(include=include, exclude_none=exclude_none))


def _check_duration(value: JSON) -> JSON:
    parse_duration_value(value)
    return value


Duration = Annotated[str, BeforeValidator(_check_duration), Field(examples=["60s"])]


class NoQuery(RequestModel):
    """No query parameter."""


def check_session(name: str) -> str:
    """Return the name of a session if it is valid or empty.

    Raises:
        ValueError: the name is invalid.
    """
    if name and not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
        raise ValueError("a session's name takes 1 to 64 of A-Z a-z 0-9 . _ -")
    return name


SessionName = Annotated[str, AfterValidator(check_session)]


class SessionQuery(RequestModel):
    session: SessionName = Field(default="", description="Of this session alone; absent: the server's own.")


class MetricsQuery(RequestModel):
    session: SessionName | None = Field(default=None, description="Of this session's calls alone.")


class MistakeRow(ResponseModel):
    file: str
    line: int = Field(description="From 1; 0 where there is no text.")
    column: int
    path: str
    message: str
    suggestion: str | None = None
    code: str = Field(default="EM004", description="Kind of the mistake, warning or note: see `docs/scenarios.md`.")


class Problem(ResponseModel):
    """RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[MistakeRow] | None = Field(default=None, description="Every mistake in a scenario.")


class LimitLevel(ResponseModel):
    limit: str = Field(
        description="Which it is: by its name or place in the scenario, or by the name a vendor's own API gave it."
    )
    unit: str
    amount: int = Field(description="Units in a window.")
    window: float = Field(description="Seconds; 0 for concurrency.")
    strategy: str
    per: str | None
    scope: str = Field(description="Whose share it is: a principal, or vendor/deployment; empty where all share one.")
    principal: str = Field(default="", description="Principals that alone are charged; empty: any.")
    left: int = Field(description="Units that can be had at once.")
    full_in: float | None = Field(description="Scenario seconds until all of it can be had; null: unknown.")


class Limits(ResponseModel):
    limits: list[LimitLevel] = Field(description="Shares that were asked for, and those that all callers share.")


class RuleHits(ResponseModel):
    name: str
    hits: int = Field(description="Calls that it took: those in the journal, and open ones.")
    last: str | None = Field(description="Id of the latest of them.")
    draw: float | None = Field(description="Probability draw: the latest, whether the rule matched or not.")
    nearest: int = Field(description="Near misses: of the latest 100 unmatched calls those that it was nearest to.")


class Rules(ResponseModel):
    rules: list[RuleHits] = Field(description="In the order in which they are asked.")


class VendorLoad(ResponseModel):
    vendor: str
    open: int = Field(description="Answers that have begun and not ended.")
    requests: int = Field(description="Since the process began.")
    failed: int


class ServerLoad(ResponseModel):
    session: str
    vendor: str
    deployment: str
    running: int
    queued: int = Field(description="Calls that wait for a place.")


class JournalState(ResponseModel):
    entries: int
    bytes: int = Field(description="Of bodies and headers that are kept.")
    forgotten: int = Field(description="Dropped calls: entries that gave way to newer ones since the process began.")
    emptied: int = Field(
        description="Calls with dropped bodies, which gave way to newer ones, since the process began."
    )


class ServerStatus(ResponseModel):
    version: str
    uptime_seconds: float
    memory: int = Field(description="Resident bytes of the process; 0 where the system does not say.")
    tasks: int = Field(description="What the event loop has under way, connections that rest included.")
    vendors: list[VendorLoad]
    servers: list[ServerLoad] = Field(description="Capacity: deployments with `load` that are busy.")
    journal: JournalState
    sessions: int
    own_sessions: int = Field(description="Sessions with a scenario, clock or port of their own, which no others end.")
    forgotten_sessions: int = Field(description="Dropped sessions: without any of their own, when there were too many.")
    lateness_p99: float = Field(
        description="Schedule error: real seconds that 99 % of first tokens were late at most, since reset."
    )
    valid: bool = Field(description="The bound of `timing` was kept.")


class Checked(ResponseModel):
    ok: bool = Field(description="It can be served.")
    errors: list[MistakeRow]
    warnings: list[MistakeRow]
    notes: list[MistakeRow] = Field(default=[], description="Remarks, such as what depends on the order of requests.")


class Place(ResponseModel):
    path: list[str | int] = Field(description="Of a value in the document.")
    line: int = Field(description="From 1.")
    column: int


class Parsed(ResponseModel):
    document: JSON = Field(description="The text as JSON; null where it is not YAML.")
    values: list[Place] = Field(description="Where each value begins.")
    keys: list[Place] = Field(description="Where the key of each value begins.")
    errors: list[MistakeRow] = Field(description="What cannot be read.")


class ReportAsked(RequestModel):
    session: SessionName | None = Field(default=None, description="Of this session alone; absent: every call.")
    title: str = Field(default="emulator report", description="What the page says it is about.")
    outcome: str = Field(default="", description="What is shown above the calls, such as why a test failed.")


class RequestEntry(ResponseModel):
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
    rule: str | None = Field(description="Which rule matched.")
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
    lateness_p99: float | None = Field(description="Schedule error: seconds that 99 % of the writes were late at most.")
    whole: bool = Field(description="The answer reached the client to its end.")
    client_left: bool = Field(description="The client did not wait for the end.")
    traceparent: str | None = Field(default=None, description="The trace that the client named.")
    prompt_line: str = Field(default="", description="First line of the user's last message, or of the input.")
    summary: str = Field(
        description="Which rule matched, or why none did, in one line; an event among many does not name the nearest."
    )


def _describe_filters(schema: JsonDict) -> None:
    """Copy the descriptions of fields to the filters of the same names."""
    match schema["properties"]:
        case dict(properties):
            for name, field in RequestEntry.model_fields.items():
                match properties[name]:
                    case dict(filter_):
                        filter_.setdefault("description", field.description or "")


Flag = Literal["true", "false"]


class Filters(RequestModel):
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
    prompt_line: str | None = None
    summary: str | None = None
    fault: str | None = Field(default=None, description="A fault among those that bent the answer.")
    matched: Flag | None = Field(default=None, description="Whether a rule matched.")


class EventsQuery(Filters):
    since: int | None = Field(default=None, ge=0, description="First what came after this `seq`; as `Last-Event-ID`.")
    most: int | None = Field(
        default=None,
        ge=1,
        description="Maximum of calls a second, the latest ones; an event `skipped` counts the others.",
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
    format: Literal["json", "har"] = Field(
        default="json",
        description="har: a HAR 1.2 document in place of the list; each call has `_vendor` and `_session`.",
    )


class RequestShown(ResponseModel):
    """What the client sent."""

    query: dict[str, str]
    headers: dict[str, str] = Field(description="Names in lower case; of credentials four characters, or none.")
    body: Body = Field(description="Parsed where it is JSON, else text, else base64; null: none, or it is not kept.")
    raw: str | None = Field(default=None, description="The text of a body of JSON, where `body` may not give it back.")
    encoding: Literal["base64"] | None = Field(
        default=None, description="How the body is written, where it is no text."
    )
    bytes: int = Field(description="Of the body as it came.")
    cut: bool = Field(description="The body was longer than what is kept of it, which may be nothing.")
    kept: bool = Field(description="false: query, headers and body are not kept, or no longer.")


class ToolCallShown(ResponseModel):
    name: str
    arguments: Body = Field(description="Parsed where they are JSON.")


class StrikeShown(ResponseModel):
    fault: str
    at: int = Field(description="Before which character of `raw`.")


class ResponseShown(ResponseModel):
    """What the client was sent."""

    headers: dict[str, str] = Field(description="Names in lower case.")
    body: Body = Field(description="As that of the request; null for a stream, which has its words in `text`.")
    encoding: Literal["base64"] | None = Field(description="How the body is written, where it is no text.")
    text: str | None = Field(description="What the model said, as far as it was sent; null: nothing was asked of one.")
    received: str | None = Field(default=None, description="The same of a stream that ended early; else null.")
    planned: str | None = Field(default=None, description="Full answer (not sent) of one that ended early; else null.")
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


class LimitRow(ResponseModel):
    limit: str = Field(examples=["limits[0]"])
    unit: str
    asked: int
    available: int
    wait: float | None = Field(description="Seconds until there is enough; null: unknown, or never.")


class RuleVerdict(ResponseModel):
    rule: str
    takes: bool
    failed: str | None = Field(description="The first facet that does not hold.")
    detail: str = Field(description="What was found and what was wanted.")
    draw: float | None = Field(description="The chance that was drawn, for a rule with a probability.")
    text: str = Field(description="The same as a sentence.")


class RequestQuery(RequestModel):
    session: SessionName | None = Field(default=None, description="Of this session; equal calls have equal ids.")


class RequestDetail(RequestEntry):
    request: RequestShown
    response: ResponseShown
    limits: list[LimitRow] = Field(description="Those that refused it.")
    explanation: list[RuleVerdict] = Field(description="The result of each rule, up to the one that matched.")

    @property
    def prompt(self) -> str | None:
        """Text of the user's last message, or of the last prompt or input, as far as the body is kept."""
        return find_prompt(self.request.body)

    @property
    def messages(self) -> list[dict[str, Body]]:
        """Messages as the client sent them; empty if the request has none."""
        return list_messages(self.request.body)


class Requests(ResponseModel):
    requests: list[RequestDetail | RequestEntry] = Field(description="Oldest first.")
    total: int = Field(description="How many match, those past the limit too.")


class RequestDetails(ResponseModel):
    """What `detail=true` gives."""

    requests: list[RequestDetail]
    total: int


class ScheduleErrorQuantiles(ResponseModel):
    """Schedule error, in real seconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    worst: float


class TimingErrors(ResponseModel):
    ttft: ScheduleErrorQuantiles = Field(description="Of first tokens: how late they were.")
    itl: ScheduleErrorQuantiles = Field(description="Of gaps between two writes: how far they were off.")
    end: ScheduleErrorQuantiles = Field(description="Of ends of responses: how late they were.")


class TimingReport(ResponseModel):
    valid: bool = Field(description="No p99 since reset is above `invalid_above`.")
    reason: str | None = Field(description="Why not.")
    invalid_above: float | None = Field(description="Seconds; null: no bound.")
    since_reset: TimingErrors
    overall: TimingErrors = Field(description="Since the process began.")


class Calls(When):
    """Facets of a call, as in a rule's `when`, and of its result; all must hold."""

    status: Number | None = Field(default=None, description="HTTP status; 0: it ended without an answer.")
    error: Names | None = Field(default=None, description="Kind of refusal.", examples=["rate_limited"])
    rule: Names | None = Field(default=None, description="The rule that matched.")
    fault: Names | None = Field(default=None, description="A fault among those that bent the answer.")
    attempt: Number | None = Field(default=None, description="Which attempt it is among equal requests, from 1.")
    retries: Number | None = Field(default=None, description="How many equal requests came after.")
    whole: bool | None = Field(default=None, description="The answer reached the client to its end.")
    client_left: bool | None = Field(default=None, description="The client did not wait for the end.")
    traced: bool | None = Field(default=None, description="The client sent a `traceparent` that names a trace.")
    finish_reason: Names | None = Field(default=None, description="Why the answer ends.", examples=["length"])
    completion_tokens: Number | None = Field(default=None, description="Tokens of the answer as planned.")


_Count = Annotated[int, Field(ge=0)]


class CallCount(RequestModel):
    """How many calls; without a word at least one."""

    exactly: _Count | None = Field(default=None, description="As many, and no more.")
    at_least: _Count | None = Field(default=None, description="As many, or more.")
    at_most: _Count | None = Field(default=None, description="As many, or fewer.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        bounded = self.at_least is not None or self.at_most is not None
        require(self.exactly is None or not bounded, "expected exactly, or at_least and at_most")
        require(self.most is None or self.least <= self.most, "expected at_least to be no more than at_most")
        return self

    @property
    def least(self) -> int:
        if self.exactly is not None:
            return self.exactly
        return self.at_least if self.at_least is not None else int(self.at_most is None)

    @property
    def most(self) -> int | None:
        """``None``: any number."""
        return self.at_most if self.exactly is None else self.exactly


class Verify(RequestModel):
    session: SessionName | None = Field(default=None, description="Calls of this session alone.")
    calls: Calls | None = Field(default=None, description="Which calls are meant; absent: all.")
    order: list[Calls] | None = Field(
        default=None, min_length=1, description="In place of `calls`: such calls came in this order, others between."
    )
    times: CallCount | None = Field(default=None, description="How many such calls; absent: at least one.")
    within: Duration | None = Field(
        default=None, description="Wait so long, in real time, until it holds; for none at all, until the time is over."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        alone = self.calls is None and self.times is None
        require(self.order is None or alone, "expected order, or calls and times")
        return self


class Verified(ResponseModel):
    ok: bool = True
    count: int = Field(description="How many such calls there are.")
    ids: list[str] = Field(description="Theirs, in the order in which they came.")
    timing_invalid: str | None = Field(
        default=None, description="Why the run is no good as a measurement, where the scenario has a bound for that."
    )


class RuleKept(ResponseModel):
    rule: str
    kept: bool | None = Field(description="Absent a verdict: null.")
    why: str | None = Field(default=None, description="Why there is no verdict.")


class BrokenRule(ResponseModel):
    rule: str
    calls: list[str] = Field(description="Ids of the calls that break it.")
    sentence: str = Field(description="What happened, and what a sound client does.")
    figures: dict[str, float] = Field(description="The figures in the sentence.")


class Verdict(ResponseModel):
    ok: bool = Field(description="No rule is broken.")
    rules: list[RuleKept] = Field(description="Every rule.")
    broken: list[BrokenRule] = Field(description="Each breach of a rule.")


class UsageQuery(SessionQuery):
    all: Literal["true", "false"] = Field(default="false", description="true: of all sessions together.")


class Waste(ResponseModel):
    refused: int = Field(description="Of answers that ended in an error.")
    cut: int = Field(description="Of answers that broke off or ended early.")
    abandoned: int = Field(description="Of answers whose client left.")
    superseded: int = Field(description="Of whole answers to a request that an equal call answered first.")


class OutputTokens(ResponseModel):
    sent: int = Field(description="Written to clients that were still there: delivered and wasted together.")
    delivered: int = Field(description="Of whole answers.")
    wasted: int = Field(description="Of all others.")
    waste: Waste = Field(description="Why.")


class Cost(ResponseModel):
    usd: float = Field(description="Of prompts and output; deployments without a price cost nothing.")


class Usage(ResponseModel):
    output_tokens: OutputTokens
    prompt_tokens: int
    cost: Cost
    calls: int = Field(description="How many there were, those that are open included.")
    amplification: float = Field(description="Calls for each question: attempts and hedges add to it.")


class PutQuery(SessionQuery):
    name: str | None = Field(default=None, description="A scenario of the library; absent: the body is one, as YAML.")
    default_name: str = Field(default="", max_length=200, description="Name of the scenario if its text has none.")
    seed: int | None = Field(default=None, ge=0, description="In place of the scenario's own.")


class ScenarioName(ResponseModel):
    name: str
    hash: str = Field(description="Changes with the content.")


class ScenarioState(ResponseModel):
    name: str
    description: str
    hash: str = Field(description="Changes with the content.")
    seed: int
    strict: bool
    vendors: list[str] = Field(description="Those that are served.")
    rules: list[str] = Field(description="Names, in order.")
    sources: list[str] = Field(description="Files it was read from, without the folders of the machine.")
    document: JSON = Field(description="The scenario as it was written; tokens of `keys` are cut.")
    text: str = Field(description="The same as text to edit; tokens of `keys` are cut.")


class LibraryEntry(ResponseModel):
    name: str = Field(description="What `PUT /scenario?name=` takes.")
    title: str = Field(description="The scenario's own name.")
    description: str
    hash: str
    active: bool


class Library(ResponseModel):
    scenarios: list[LibraryEntry]


class Advance(RequestModel):
    advance: Duration | None = Field(default=None, description="How far the clock is to move, in scenario time.")
    clock: Clock | None = Field(
        default=None, description="How time is to go from now on: real, instant, frozen, or a scale."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.advance is None and self.clock is None:
            raise ValueError("expected advance, clock or both")
        return self


class ClockState(ResponseModel):
    kind: Literal["real", "scale", "instant", "frozen"] = Field(description="How time passes.")
    scale: float = Field(description="Scenario seconds in one real second; 0 where time does not pass by itself.")
    now: float = Field(description="Unix seconds.")
    time: str = Field(description="The same as ISO 8601.")
    since_start: float = Field(description="Scenario seconds since start or reset.")


class Listen(RequestModel):
    vendor: str = Field(description="Whose paths begin at the root of the port.")


class Listening(ResponseModel):
    url: str = Field(description="The vendor's base URL, until the session ends.")


class SessionState(ResponseModel):
    name: str
    scenario: str = Field(description="Name of the scenario it runs.")
    calls: int = Field(description="How many calls it had.")
    idle_seconds: float = Field(description="Real seconds since its last use.")


class SessionList(ResponseModel):
    sessions: list[SessionState] = Field(description="Least recently used first.")


class SessionEnded(ResponseModel):
    name: str


class Health(ResponseModel):
    status: Literal["ok"] = "ok"
    version: str
    uptime_seconds: float
    scenario: ScenarioName


class Ready(ResponseModel):
    ready: bool
    urls: dict[str, str] = Field(description="Base URL of the front and of each vendor.")


class DeploymentsQuery(SessionQuery):
    vendor: str | None = Field(default=None, description="Of this vendor alone.")


class ServedDeployment(ResponseModel):
    vendor: str
    name: str = Field(description="What a client asks for.")
    task: str = Field(description="chat, completions, embeddings, rerank, images, transcription or speech.")
    model: str = Field(description="What the answer's `model` field says.")
    state: str = Field(description="ready, or why it does not answer.")
    context: int | None = Field(description="Tokens of prompt and answer together; null: no bound.")


class OpenCall(ResponseModel):
    start_seq: int = Field(description="Rises over the whole server.")
    time: float = Field(description="Unix seconds at admission, by the scenario's clock.")
    elapsed: float = Field(description="Scenario seconds since.")
    vendor: str
    session: str
    principal: str
    method: str
    path: str
    deployment: str | None
    stream: bool
    rule: str | None
    prompt_line: str
    sent_tokens: int
    completion_tokens: int = Field(description="Of the response as planned; 0 before it is.")


class OpenCalls(ResponseModel):
    calls: list[OpenCall] = Field(description="The longest open first, at most 100.")
    total: int


class HistorySample(ResponseModel):
    time: float = Field(description="Unix seconds of the wall clock.")
    open: int
    running: int
    queued: int
    requests: int = Field(description="Since the start.")
    lateness_p99: float


class History(ResponseModel):
    samples: list[HistorySample]


class ExampleCall(ResponseModel):
    vendor: str
    path: str = Field(description="Of a chat, on the vendor's port.")
    model: str = Field(description="What the body's `model` names; empty where nothing chats.")
    key: str = Field(description="A credential that is accepted; masked where the scenario lists `keys`.")


class Examples(ResponseModel):
    examples: list[ExampleCall]


class Deployments(ResponseModel):
    deployments: list[ServedDeployment] = Field(description="By vendor, each in the order of its catalogue.")
