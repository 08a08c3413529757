"""Models of a rule's outcome (error, reply, latency, faults) and of ``times``, which limits its matches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.plan import FinishReason
from emulator.core.units import Duration, HeaderValue, Moment, StrictModel, Whole, require, require_order
from emulator.faults import AnyFault
from emulator.latency import Latency
from emulator.scenario.conditions import Text, wrap_in_list
from emulator.scenario.matchers import compile_text
from emulator.scenario.placeholders import explain_template

Scope = Literal["rule", "request", "principal", "deployment"]
Ordinal = Annotated[Whole, Field(ge=1)]


class Burst(StrictModel):
    """A part of every period, from its beginning."""

    every: Duration = Field(description="The period, from start or reset.")
    for_: Duration = Field(alias="for", description="How long of it the rule applies.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(self.every > 0, "expected every to be above 0")
        return self


class Share(StrictModel):
    """Exactly one of each group of new calls, in order; a repeated call has the fate of the first."""

    of: Annotated[Whole, Field(ge=1, le=10**6)] = Field(description="Calls in a group.", examples=[10])
    salt: str = Field(default="", description="Another text, another place in each group.", examples=["canary"])


class Times(StrictModel):
    """Which of the matching calls; all keys must hold."""

    first: Ordinal | None = Field(default=None, description="The first n calls.")
    nth: Annotated[tuple[Ordinal, ...], Field(strict=False, min_length=1), BeforeValidator(wrap_in_list)] | None = (
        Field(default=None, description="The n-th call, or each of a list.", examples=[3, [1, 3]])
    )
    every: Ordinal | None = Field(default=None, description="Every n-th call.")
    after: Annotated[Whole, Field(ge=0)] | None = Field(default=None, description="The calls after the first n.")
    probability: float | None = Field(
        default=None, description="The chance of each call, from 0 to 1.", examples=[0.05]
    )
    between: Annotated[tuple[Moment, Moment], Field(strict=False)] | None = Field(
        default=None,
        description="From one time up to another: since start or reset, of every day (UTC), or with a date and zone.",
        examples=[["30s", "60s"], ["10:00", "10:05"], ["2026-11-23T10:00:00Z", "2026-11-23T10:05:00Z"]],
    )
    share: Share | None = Field(
        default=None,
        description="Exactly one of each n new calls, counted from the first; a repeat keeps its fate.",
        examples=[{"of": 10, "salt": "canary"}],
    )
    repeat: Burst | None = Field(default=None, description="Bursts.", examples=[{"every": "60s", "for": "10s"}])
    per: Scope | None = Field(default=None, description="What is counted apart; absent: rule.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(bool(self.model_fields_set), "expected first, nth, every, after, probability, between, share or repeat")
        if self.between is not None:
            require_order(*self.between)
        return self

    @property
    def counts(self) -> bool:
        """Whether a key depends on the ordinal of the request."""
        return not (self.first is None and self.nth is None and self.every is None and self.after is None)


FRAMING = frozenset(
    {"connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that frame a response or its connection; a scenario cannot set them."""


_OWN = "x-emulator-"
_MAX_FAULTS = 32  # each processes the whole response


def _check_name(name: str) -> str:
    text = ""
    if name.lower() in FRAMING:
        text = f"{name} says where the answer ends, which is not for a header to set; see the faults truncate and hang"
    elif name.lower().startswith(_OWN):
        text = f"{name} is what the emulator itself says of an answer; choose a name that does not begin with {_OWN}"
    if text:
        raise PydanticCustomError("key", "{text}", {"text": text})
    return name


HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"), AfterValidator(_check_name)]


_MAX_FLOAT32 = 3.4028234663852886e38
_Single = Annotated[float, Field(ge=-_MAX_FLOAT32, le=_MAX_FLOAT32)]


class ErrorOutcome(StrictModel):
    """Refuse in the vendor's own envelope; every key but ``kind`` overrides a part of it."""

    kind: Annotated[ErrorKind, Field(strict=False)] = Field(description="What is refused, in no vendor's words.")
    param: str | None = Field(default=None, description="The request field at fault.")
    limit: Literal["requests", "input_tokens", "output_tokens"] | None = Field(
        default=None, description="Which quota, for rate_limited."
    )
    status: Annotated[Whole, Field(ge=200, le=599)] | None = Field(default=None, description="HTTP status.")
    message: str | None = Field(default=None, description="The text a client reads.")
    retry_after: Duration | None = Field(default=None, description="The wait that the response asks for.")
    body: JSON = Field(default=None, description="The whole response body: text, or a value sent as JSON.")
    headers: dict[HeaderName, HeaderValue] = Field(
        default={}, description="Added to the vendor's, replacing equal names."
    )
    after: Literal["state"] | None = Field(
        default=None, description="`state`: a management call takes effect first, then failure is reported."
    )

    def to_error(self) -> EmulatedError:
        return EmulatedError(
            self.kind,
            message=self.message,
            param=self.param,
            limit=self.limit,
            status=self.status,
            retry_after=self.retry_after,
            body=self.body,
            headers=self.headers,
        )


class FixedToolCall(StrictModel):
    """A call of a tool the answer makes."""

    name: str = Field(min_length=1, description="The tool.")
    arguments: JSON = Field(default={}, description="Its arguments; a string is sent as it is, valid JSON or not.")
    id: str | None = Field(default=None, description="The call's id; absent: drawn in the vendor's form.")


class FixedUsage(StrictModel):
    """Token counts to report in place of the true ones."""

    prompt_tokens: Annotated[Whole, Field(ge=0)] | None = Field(default=None, description="Tokens of the prompt.")
    completion_tokens: Annotated[Whole, Field(ge=0)] | None = Field(default=None, description="Tokens of the answer.")
    reasoning_tokens: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="Those of them spent thinking."
    )


class InputVector(StrictModel):
    """The vector of some of the inputs of a batch."""

    when: Text = Field(description="Which inputs: a string they are equal to, or a comparison.", examples=["cat"])
    vector: Annotated[tuple[_Single, ...], Field(strict=False, min_length=1)] = Field(description="Its numbers.")

    @cached_property
    def test(self) -> Callable[[str], bool]:
        """Return whether an input has this vector."""
        return compile_text(self.when)


class ReplyOutcome(StrictModel):
    """Fix the answer; it is streamed, cut, counted and paced as any other."""

    template: bool = Field(
        default=False, description="The text says something of the request: {prompt}, {model}, …; {{ is a brace."
    )
    text: str | None = Field(default=None, description="What the answer says.", examples=["Hello."])
    file: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="What the answer says is in this file, in the scenario's folder or below it.",
        examples=["answers/tides.md"],
    )
    tool_calls: Annotated[tuple[FixedToolCall, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="The tools the answer calls.", examples=[[{"name": "get_weather", "arguments": {}}]]
    )
    json_: JSON = Field(default=None, alias="json", description="A value; the answer is its JSON text.")
    refusal: str | None = Field(default=None, description="The answer is this refusal.")
    embedding: Annotated[tuple[_Single, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="One vector for every input."
    )
    embeddings: Annotated[tuple[InputVector, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None,
        description="A vector for each input: that of the first entry which takes it, or else the usual one.",
        examples=[[{"when": "cat", "vector": [0.6, 0.8]}]],
    )
    pad: bool = Field(default=False, description="A vector shorter than the model's is filled up with zeros.")
    reasoning: str | None = Field(default=None, description="What the model thinks aloud before its text.")
    chunks: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="The answer's text as strings, one event each."
    )
    generate: Literal["typical", "minimal", "boundary", "adversarial", "invalid"] | None = Field(
        default=None, description="An instance of the request's schema, or of a called tool's, made this way."
    )
    finish_reason: Annotated[FinishReason, Field(description="Why the answer ends.")] | None = None
    usage: FixedUsage | None = Field(default=None, description="Token counts to report.")

    @field_validator("text", mode="after")
    @classmethod
    def _check_placeholders(cls, text: str | None, known: ValidationInfo) -> str | None:
        mistake = explain_template(text) if text is not None and known.data.get("template") else None
        require(mistake is None, mistake or "")
        return text

    @cached_property
    def is_long(self) -> bool:
        """Whether tokenising the reply would block the event loop for too long."""
        texts = (self.text, self.refusal, self.reasoning, *(self.chunks or ()))
        values = (self.json_, *(call.arguments for call in self.tool_calls or ()))
        return sum(map(len, filter(None, texts))) + sum(map(len, map(dump_json, values))) > INLINE_BYTES

    @property
    def vector_length(self) -> int:
        """Length of the longest vector; 0 without any."""
        return max(len(self.embedding or ()), *(len(entry.vector) for entry in self.embeddings or ()), 0)

    @property
    def has_json(self) -> bool:
        """Whether ``json`` is set; its value may be null."""
        return "json_" in self.model_fields_set

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = self.model_fields_set
        what = "text, file, tool_calls, json, refusal, embedding, embeddings, reasoning, chunks or generate"
        require(bool(given - {"template", "pad"}), f"expected {what}")
        require(not self.pad or bool(given & {"embedding", "embeddings"}), "expected embeddings with pad")
        require(not self.template or bool(given & {"text", "file"}), "expected a text or a file with template")
        require(not given >= {"text", "file"}, "expected either text or file")
        text = bool(given & {"text", "file", "chunks", "reasoning", "tool_calls"})
        answers = [text, *(name in given for name in ("json_", "refusal", "embedding", "embeddings", "generate"))]
        require(sum(answers) <= 1, "expected only one of text, json, refusal, embedding, embeddings, generate")
        return self


class Outcome(StrictModel):
    """What happens to a call."""

    error: ErrorOutcome | None = Field(default=None, description="Refuse.", examples=[{"kind": "rate_limited"}])
    reply: ReplyOutcome | None = Field(default=None, description="Fix the answer.", examples=[{"text": "Hello."}])
    latency: Latency | None = Field(default=None, description="Replace parts of the latency for this answer.")
    faults: Annotated[tuple[AnyFault, ...], Field(strict=False, max_length=_MAX_FAULTS)] = Field(
        default=(), description="Bend the answer, in order.", examples=[[{"type": "disconnect", "after_tokens": 20}]]
    )
    pass_: bool = Field(default=False, alias="pass", description="Answer normally, whatever later rules say.")

    @property
    def given(self) -> frozenset[str]:
        """Names of the fields that are set."""
        return frozenset(self.model_fields_set & Outcome.model_fields.keys())

    def check_outcome(self) -> None:
        """Raise ``ValueError`` unless there is at most one of error, reply and pass, and a pass is alone."""
        require("pass_" not in self.given or self.pass_, "expected pass to be true")
        require(not (self.error and self.reply), "expected either error or reply")
        require(not self.pass_ or len(self.given) == 1, "expected pass to stand alone")


NOTHING = Outcome.model_construct()
PASS = Outcome.model_construct({"pass_"}, pass_=True)


class Step(Outcome):
    """One outcome of a sequence."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(bool(self.given), "expected an outcome: error, reply, latency, faults or pass")
        self.check_outcome()
        return self
