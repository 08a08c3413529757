"""Pydantic models of a scenario file, version 1: ``Scenario`` and its sections.

Conditions of rules are in ``conditions.py``, what a rule does in ``outcomes.py``.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from emulator.core.cost_limits import DEFAULT_BOUNDS, CallBounds
from emulator.core.json import JSON, Object, as_object
from emulator.core.requests import Deployment, Task
from emulator.core.units import SIZE_SCHEMA, Duration, Size, StrictModel, Timestamp, Whole, require
from emulator.latency import Latency
from emulator.scenario.captures import list_groups
from emulator.scenario.conditions import Names, When
from emulator.scenario.expect import BudgetSettings, Expect, Prices, TokenPrice
from emulator.scenario.geometry import EmbeddingSettings
from emulator.scenario.outages import Outage
from emulator.scenario.outcomes import (
    Outcome,
    Scope,
    Step,
    Times,
)
from emulator.scenario.placeholders import find_unknown_group

Positive = Annotated[Whole, Field(ge=1, le=10**15)]


ClockKind = Literal["real", "instant", "frozen"]
_BEGIN = Field(
    default=None,
    description="When the clock begins; absent: now, or 2026-01-01T00:00:00Z for instant and frozen.",
)


class Scale(StrictModel):
    """A clock that runs faster or slower than real time."""

    scale: float = Field(
        ge=1e-6, le=1e6, description="How many seconds of the scenario pass in one real second.", examples=[60]
    )
    start: Timestamp | None = _BEGIN


class ClockSettings(StrictModel):
    """A clock that begins at a given time."""

    kind: ClockKind = Field(description="The kind of clock: real, instant or frozen.")
    start: Timestamp | None = _BEGIN
    retry_after_ms: bool = Field(
        default=True,
        description="Under instant, a refusal that OpenAI's clients retry, and whose vendor names no wait, has "
        "`retry-after-ms: 1`.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = "retry_after_ms" in self.model_fields_set
        require(self.kind == "instant" or not given, "retry_after_ms needs kind: instant")
        return self


def _tag_clock(value: JSON) -> str | None:
    if isinstance(value, str):
        return "<name>"
    if isinstance(value, ClockSettings) or (isinstance(value, dict) and "kind" in value):
        return "<kind>"
    return "<scale>" if isinstance(value, dict | Scale) else None


Clock = Annotated[
    Annotated[ClockKind, Tag("<name>")] | Annotated[Scale, Tag("<scale>")] | Annotated[ClockSettings, Tag("<kind>")],
    Discriminator(
        _tag_clock, custom_error_type="wanted", custom_error_message="expected real, instant, frozen or a scale"
    ),
]


def _tag_vendor(value: JSON) -> str | None:
    if value is False:
        return "<off>"
    return "<settings>" if isinstance(value, dict) else None


VendorEntry = Annotated[
    Annotated[Literal[False], Tag("<off>")] | Annotated[dict[str, JSON], Tag("<settings>")],
    Discriminator(_tag_vendor, custom_error_type="wanted", custom_error_message="expected false or a mapping"),
]
"""Settings of a vendor, validated by the vendor; ``False``: not served."""


class Key(StrictModel):
    """A credential that is accepted."""

    token: str = Field(min_length=1, description="The credential that the client sends.")
    principal: str = Field(min_length=1, description="The name of the caller that this credential stands for.")


def _tag_state(value: JSON) -> str | None:
    if isinstance(value, str):
        return "<name>"
    return "<for a time>" if isinstance(value, dict) and len(value) == 1 else None


State = Annotated[
    Annotated[str, Tag("<name>")]
    | Annotated[dict[str, Duration], Field(min_length=1, max_length=1), Tag("<for a time>")],
    Discriminator(
        _tag_state,
        custom_error_type="wanted",
        custom_error_message="expected a state, or one and how long it lasts, such as {loading: 20s}",
    ),
]
"""State of a deployment, or an initial state with its duration."""


class TokenizerFile(StrictModel):
    """A vocabulary in a file of yours."""

    file: str = Field(
        min_length=1,
        description="A tokenizer.json, tekken.json, tokenizer.model or *.tiktoken, or a folder with one of them.",
        examples=["models/llama/tokenizer.json"],
    )


def _tag_tokenizer(value: object) -> str:
    return "<file>" if isinstance(value, dict | TokenizerFile) else "<name>"


TokenizerChoice = Annotated[
    Annotated[str, Tag("<name>")] | Annotated[TokenizerFile, Tag("<file>")], Discriminator(_tag_tokenizer)
]


class DeploymentEntry(StrictModel):
    """A deployment to serve. One of that name in the vendor's list sets the absent keys."""

    vendor: str = Field(min_length=1, description="The vendor that serves it.")
    name: str = Field(min_length=1, description="The name that clients address.")
    task: Task | None = Field(
        default=None,
        description="chat (default), completions, embeddings, rerank, images, transcription or speech.",
    )
    model: str | None = Field(default=None, description="The answer's `model` field; absent: the deployment's name.")
    context: Positive | None = Field(
        default=None, description="The maximum number of tokens of prompt and answer together."
    )
    max_output: Positive | None = Field(default=None, description="The maximum number of tokens of one answer.")
    default_max_tokens: Positive | None = Field(
        default=None, description="The maximum number of tokens of an answer if the request sets none."
    )
    dimensions: Annotated[Positive, Field(le=65_536)] | None = Field(
        default=None, description="The number of dimensions of an embedding."
    )
    normalized: bool | None = Field(default=None, description="Embeddings have unit length.")
    embeddings: EmbeddingSettings | None = Field(default=None, description="Which texts have close vectors.")
    tokenizer: TokenizerChoice | None = Field(
        default=None,
        description="How tokens are counted: a built-in profile, a vocabulary that a package contains, or a file.",
        examples=["llama3", {"file": "tokenizer.json"}],
    )
    mode: Literal["pay_per_token", "provisioned", "external", "custom"] | None = Field(
        default=None, description="How it is billed and scaled."
    )
    state: State | None = Field(
        default=None,
        description="The state: ready (default), loading, retired or stopped; or one of these for a time, then ready.",
        examples=["loading", {"loading": "20s"}],
    )
    kind: str | None = Field(
        default=None, description="A kind of deployment that only this vendor has.", examples=["speculative"]
    )
    traits: dict[str, JSON] | None = Field(default=None, description="Further properties, which only this vendor has.")

    def to_deployment(self, builtin: Deployment | None) -> Deployment:
        """Build the deployment; absent fields come from the catalogue's deployment of the same name."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        if isinstance(self.tokenizer, TokenizerFile):
            given["tokenizer"] = f"file:{self.tokenizer.file}"
        if (embeddings := given.pop("embeddings", None)) is not None:
            given["geometry"] = embeddings.to_geometry()
        if isinstance(self.state, dict):
            ((given["state"], given["state_lasts"]),) = self.state.items()
        return Deployment(**given) if builtin is None else dataclasses.replace(builtin, **given)


class Limit(StrictModel):
    """A quota. If several limits apply to a call, it is admitted only if all of them have room."""

    name: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f\[\]]+$")] | None = Field(
        default=None,
        description="A unique name, for the console, the journal and refusals; absent: `limits[0]` and so on.",
        examples=["tokens a minute"],
    )
    vendor: Names | None = Field(default=None, description="Only calls to this vendor count.")
    deployment: Names | None = Field(default=None, description="Only calls to this deployment count.")
    principal: Names | None = Field(default=None, description="Only calls of this principal count.", examples=["batch"])
    per: Literal["principal", "deployment"] | None = Field(
        default=None,
        description="Who has a quota of its own; absent: one quota for all calls of a session.",
    )
    unit: Literal["requests", "input_tokens", "output_tokens", "tokens", "concurrency"] = Field(
        description="What is counted."
    )
    amount: Positive = Field(description="The size of the quota.")
    window: Duration | None = Field(
        default=None, description="The time in which the amount may be used; every unit but concurrency needs it."
    )
    strategy: Literal["bucket", "fixed", "sliding"] = Field(
        default="bucket",
        description="How it refills: bucket all the time, fixed at the end of a window, sliding as calls leave it.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.unit == "concurrency":
            require(not self.model_fields_set & {"window", "strategy"}, "concurrency has no window and no strategy")
        else:
            require(bool(self.window), "expected a window above 0, such as 60s")
        return self


class Rule(Outcome):
    """A rule says what happens to some calls. The first rule that matches a call wins."""

    name: str = Field(
        pattern=r"^[^\x00-\x1f\x7f]+$",
        description="A unique name. It seeds the rule's random draws, and the header x-emulator-rule returns it.",
    )
    when: When = Field(default_factory=When.model_construct, description="The calls that the rule is for; absent: all.")
    times: Times | None = Field(default=None, description="Which of the matching calls the rule takes; absent: all.")
    per: Scope | None = Field(default=None, description="What has a count of its own in a sequence; absent: the rule.")
    sequence: Annotated[tuple[Step, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="A list of outcomes, one for each matching call, in place of a single outcome."
    )
    then: Literal["pass", "repeat", "last"] | None = Field(
        default=None, description="What follows the last outcome of a sequence."
    )

    @property
    def scope(self) -> Scope:
        """Scope of the counters, from ``times.per`` or ``per``; ``rule`` by default."""
        return (self.times.per if self.times else None) or self.per or "rule"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.sequence is None:
            require(bool(self.given), "expected an outcome: error, reply, latency, faults, pass or sequence")
            require(self.then is None and self.per is None, "then and per need a sequence")
        else:
            require(not self.given, "expected either a sequence or one outcome")
            require(not (self.times and self.times.per and self.per), "expected per only once")
        self.check_outcome()
        replies = [self.reply, *(step.reply for step in self.sequence or ())]
        for reply in replies:
            if reply is not None and reply.template and reply.text is not None:
                mistake = find_unknown_group(reply.text, list_groups(self.when))
                require(mistake is None, mistake or "")
        return self


_BODIES_SCHEMA: JSON = {"anyOf": [SIZE_SCHEMA, {"const": "none"}]}


def _read_bodies(value: JSON) -> JSON:
    return "0B" if value == "none" else value


class JournalSettings(StrictModel):
    """What the journal keeps."""

    bodies: Annotated[Size, BeforeValidator(_read_bodies), WithJsonSchema(_BODIES_SCHEMA)] = Field(
        default=64 * 1024,
        description="The maximum number of bytes to keep of each request and each answer; `none` keeps none.",
    )
    entries: Annotated[Whole, Field(ge=1, le=100_000)] = Field(
        default=10_000, description="The maximum number of calls to keep in a session; the oldest are removed first."
    )


class TimingSettings(StrictModel):
    """How exact the times of responses have to be."""

    invalid_above: Duration | None = Field(
        default=None,
        description="The run is marked as invalid if more than 1 % of the writes are later than this; absent: never.",
        examples=["5ms"],
    )


class TimingScale(StrictModel):
    """Recorded times, multiplied by a factor."""

    scaled: float = Field(ge=0.001, le=1000, description="The factor of every recorded time.", examples=[2])


def _tag_replay_timing(value: JSON) -> str | None:
    if isinstance(value, str):
        return "<name>"
    return "<factor>" if isinstance(value, dict | TimingScale) else None


ReplayTiming = Annotated[
    Annotated[Literal["recorded", "none", "fitted"], Tag("<name>")] | Annotated[TimingScale, Tag("<factor>")],
    Discriminator(
        _tag_replay_timing,
        custom_error_type="wanted",
        custom_error_message="expected recorded, none, fitted or a factor such as {scaled: 2}",
    ),
]
"""When the events of a replayed response are due."""


class Replay(StrictModel):
    """Answer from a recording."""

    from_: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        alias="from",
        description="A folder with a recording, or a file with exchanges, in the scenario's folder or below it.",
        examples=["recordings/today"],
    )
    exchanges: Annotated[tuple[str, ...], Field(strict=False)] | None = Field(
        default=None, description="The exchanges as texts, in place of a folder; each begins with a line with its name."
    )
    match: Annotated[
        tuple[Literal["prompt", "model", "tools", "parameters"], ...], Field(strict=False, min_length=1)
    ] = Field(
        default=("prompt", "model", "tools"),
        description="What has to be equal in a request and a recorded one, besides method and path.",
    )
    timing: ReplayTiming = Field(
        default="recorded",
        description="The pace: `recorded`, `none`, `fitted` (as `latency` says), or a factor.",
        examples=["none", {"scaled": 2}],
    )
    after: Literal["last", "repeat", "refuse"] = Field(
        default="last", description="What follows the last of several answers to the same request."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        require((self.from_ is None) != (self.exchanges is None), "expected either from or exchanges")
        return self


class Scenario(StrictModel):
    """How the emulator behaves: who is served, how fast, within which limits, and what goes wrong."""

    version: Literal[1] = Field(description="The version of the scenario language.")
    name: str = Field(default="", description="The name of the scenario; absent: the name of its file.")
    description: str = Field(default="", description="One line about the scenario, for readers.")
    seed: Whole = Field(default=0, description="All random values derive from this number.")
    clock: Clock = Field(
        default="real",
        description="How time passes: real, instant, frozen, or a scale.",
        examples=["instant", {"scale": 60}, {"kind": "frozen", "start": "2026-11-23T09:55:00Z"}],
    )
    strict: bool = Field(default=False, description="Refuse and report calls that match no rule.")
    vendors: dict[str, VendorEntry] = Field(
        default={}, description="The settings of each vendor; `false` turns a vendor off.", examples=[{"tgi": False}]
    )
    keys: Annotated[tuple[Key, ...], Field(strict=False, max_length=1000)] | None = Field(
        default=None, description="The credentials that are accepted; absent: any."
    )
    deployments: Annotated[tuple[DeploymentEntry, ...], Field(strict=False)] = Field(
        default=(), description="Deployments to add to the vendors' lists of models."
    )
    latency: Latency = Field(
        default_factory=Latency.model_construct,
        description="The latency of every answer; a rule can replace any part of it.",
    )
    limits: Annotated[tuple[Limit, ...], Field(strict=False)] = Field(
        default=(), description="Quotas of requests, tokens or concurrent calls."
    )
    journal: JournalSettings = Field(
        default_factory=JournalSettings.model_construct,
        description="What the journal keeps.",
        examples=[{"bodies": "64KiB", "entries": 10000}],
    )
    timing: TimingSettings = Field(
        default_factory=TimingSettings.model_construct,
        description="How exact the times of responses have to be.",
        examples=[{"invalid_above": "5ms"}],
    )
    bounds: CallBounds = Field(
        default_factory=lambda: DEFAULT_BOUNDS,
        description="The maximum cost of one call.",
        examples=[{"inputs": 10000}],
    )
    replay: Replay | None = Field(
        default=None, description="Answer from a recording.", examples=[{"from": "recordings/today"}]
    )
    unmatched: Literal["answer", "refuse", "forward", "record"] | None = Field(
        default=None,
        description="What happens to a call that neither a rule nor a recording answers; "
        "absent: refuse with a replay or strict, else answer.",
    )
    outages: Annotated[tuple[Outage, ...], Field(strict=False, max_length=100)] = Field(
        default=(), description="Failures of many calls at the same time; they come before the rules."
    )
    expect: Expect | None = Field(
        default=None,
        description="What a verdict expects of clients; absent: robust.",
        examples=["robust", {"deadline": "30s", "concurrency": 8}],
    )
    prices: Prices = Field(
        default={},
        description="Prices of deployments, by name or pattern, or a file of them; they override the package's.",
        examples=[{"gpt-4o*": {"input": 2.5, "output": 10}}, "prices.yaml"],
    )
    budget: BudgetSettings | None = Field(
        default=None, description="What a session may spend.", examples=[{"output_tokens": 5000}]
    )
    rules: Annotated[tuple[Rule, ...], Field(strict=False)] = Field(
        default=(), description="What happens to which calls; the first rule that matches a call wins."
    )

    @property
    def price_table(self) -> Mapping[str, TokenPrice]:
        """Prices by name or pattern of a deployment; loading replaces a file by what it says."""
        return {} if isinstance(self.prices, str) else self.prices

    @property
    def miss_policy(self) -> Literal["answer", "refuse", "forward", "record"]:
        """What happens to a call that neither a rule nor a recording answers."""
        if self.strict:
            return "refuse"
        return self.unmatched or ("answer" if self.replay is None else "refuse")

    def with_outages(self) -> "Scenario":
        """Return this scenario with its outages as rules before its own; itself if it has none."""
        if not self.outages:
            return self
        rules = [Rule.model_validate(rule) for outage in self.outages for rule in outage.list_rules()]
        return self.model_copy(update={"rules": (*rules, *self.rules)})

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(not self.strict or self.unmatched in (None, "refuse"), "strict refuses unmatched calls: leave one out")
        return self


BUILT_IN = Scenario.model_construct(version=1, name="built-in", description="Every deployment simply answers.")


def schema_json() -> Object:
    """Return the JSON Schema 2020-12 of a scenario file as pydantic derives it."""
    schema = as_object(_drop_null(Scenario.model_json_schema(by_alias=True)))
    head: Object = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:emulator:scenario:1"}
    return {**head, **schema, "title": "Emulator scenario, version 1"}


def _drop_null(node: JSON) -> JSON:
    """Remove null from defaults and unions: null stands for an absent key."""
    if isinstance(node, list):
        return [_drop_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept: Object = {key: _drop_null(value) for key, value in node.items() if not (key == "default" and value is None)}
    options = kept.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        options = [option for option in options if option != {"type": "null"}]
        kept["anyOf"] = options
        if len(options) == 1:
            del kept["anyOf"]
            return {**as_object(options[0]), **kept}
    return kept
