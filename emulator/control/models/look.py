"""What people look at: limits, rules, the load, and what is wrong with a scenario."""

from pydantic import Field

from emulator.control.models.base import Given, MistakeRow, SessionName, Taken
from emulator.core.json import JSON


class LimitLevel(Given):
    limit: str = Field(
        description="Which it is: by its place in the scenario, or by the name a vendor's own API gave it."
    )
    unit: str
    amount: int = Field(description="Units in a window.")
    window: float = Field(description="Seconds; 0 for concurrency.")
    strategy: str
    per: str | None
    scope: str = Field(description="Whose share it is: a principal, or vendor/deployment; empty where all share one.")
    left: int = Field(description="Units that can be had at once.")
    full_in: float | None = Field(description="Scenario seconds until all of it can be had; null: nobody knows.")


class Limits(Given):
    limits: list[LimitLevel] = Field(description="Shares that were asked for, and those that all callers share.")


class RuleHits(Given):
    name: str
    hits: int = Field(description="Calls in the journal that it took.")
    last: str | None = Field(description="Id of the latest of them.")
    draw: float | None = Field(description="What was last drawn for its probability, whether it took the call or not.")
    nearest: int = Field(description="Unmatched calls of the latest 100 that it came nearest to.")


class Rules(Given):
    rules: list[RuleHits] = Field(description="In the order in which they are asked.")


class VendorLoad(Given):
    vendor: str
    open: int = Field(description="Answers that have begun and not ended.")
    requests: int = Field(description="Since the process began.")
    failed: int


class ServerLoad(Given):
    session: str
    vendor: str
    deployment: str
    running: int
    queued: int = Field(description="Calls that wait for a place.")


class JournalState(Given):
    entries: int
    bytes: int = Field(description="Of bodies and headers that are kept.")
    forgotten: int = Field(description="Entries that were dropped for want of room since the process began.")
    emptied: int = Field(description="Entries that lost their bodies for want of room since the process began.")


class Status(Given):
    version: str
    uptime_seconds: float
    memory: int = Field(description="Resident bytes of the process; 0 where the system does not say.")
    tasks: int = Field(description="What the event loop has under way, connections that rest included.")
    vendors: list[VendorLoad]
    servers: list[ServerLoad] = Field(description="Deployments with `load` that are busy.")
    journal: JournalState
    sessions: int
    own_sessions: int = Field(description="Sessions with a scenario, clock or port of their own, which no others end.")
    forgotten_sessions: int = Field(description="Sessions without, which were forgotten as there were too many.")
    lateness_p99: float = Field(description="Real seconds that 99 % of first tokens were late at most, since reset.")
    valid: bool = Field(description="The bound of `timing` was kept.")


class Checked(Given):
    ok: bool = Field(description="It can be served.")
    errors: list[MistakeRow]
    warnings: list[MistakeRow]


class Place(Given):
    path: list[str | int] = Field(description="Of a value in the document.")
    line: int = Field(description="From 1.")
    column: int


class Parsed(Given):
    document: JSON = Field(description="The text as JSON; null where it is not YAML.")
    values: list[Place] = Field(description="Where each value begins.")
    keys: list[Place] = Field(description="Where the key of each value begins.")
    errors: list[MistakeRow] = Field(description="What cannot be read.")


class ReportAsked(Taken):
    session: SessionName | None = Field(default=None, description="Of this session alone; absent: every call.")
    title: str = Field(default="emulator report", description="What the page says it is about.")
    outcome: str = Field(default="", description="What is shown above the calls, such as why a test failed.")
