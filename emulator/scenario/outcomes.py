"""Models of a rule's outcome (error, reply, latency, faults) and of ``times``, which limits its matches."""

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
    """A burst at the beginning of every period."""

    every: Duration = Field(description="The length of a period; the first begins at the start or a reset.")
    for_: Duration = Field(alias="for", description="For how long of each period the rule applies.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(self.every > 0, "expected every to be above 0")
        return self


class Share(StrictModel):
    """Exactly one of each group of new calls, in order. A repeated call gets the result of the first."""

    of: Annotated[Whole, Field(ge=1, le=10**6)] = Field(description="The number of calls in a group.", examples=[10])
    salt: str = Field(
        default="", description="Any text; another text selects another call of each group.", examples=["canary"]
    )


class Times(StrictModel):
    """Selection among the matching calls; all keys must match."""

    first: Ordinal | None = Field(default=None, description="The first n calls.")
    nth: Annotated[tuple[Ordinal, ...], Field(strict=False, min_length=1), BeforeValidator(wrap_in_list)] | None = (
        Field(default=None, description="The n-th call, or each of a list.", examples=[3, [1, 3]])
    )
    every: Ordinal | None = Field(default=None, description="Every n-th call.")
    after: Annotated[Whole, Field(ge=0)] | None = Field(default=None, description="The calls after the first n.")
    probability: float | None = Field(
        default=None, description="The probability for each call, from 0 to 1.", examples=[0.05]
    )
    between: Annotated[tuple[Moment, Moment], Field(strict=False)] | None = Field(
        default=None,
        description="From one time to another: since start or reset, of every day (UTC), or with a date and zone.",
        examples=[["30s", "60s"], ["10:00", "10:05"], ["2026-11-23T10:00:00Z", "2026-11-23T10:05:00Z"]],
    )
    share: Share | None = Field(
        default=None,
        description="Exactly one of every n new calls; a repeated call gets the result of the first.",
        examples=[{"of": 10, "salt": "canary"}],
    )
    repeat: Burst | None = Field(
        default=None, description="Bursts: a part of every period.", examples=[{"every": "60s", "for": "10s"}]
    )
    per: Scope | None = Field(default=None, description="What has a count of its own; absent: the rule.")

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


FRAMING_HEADERS = frozenset(
    {"connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that frame a response or its connection; a scenario cannot set them."""


_OWN = "x-emulator-"
_MAX_FAULTS = 32  # each processes the whole response


def _check_name(name: str) -> str:
    text = ""
    if name.lower() in FRAMING_HEADERS:
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
    """Refuse with the vendor's own error; every key but ``kind`` overrides a part of it."""

    kind: Annotated[ErrorKind, Field(strict=False)] = Field(
        description="The kind of error, for every vendor the same name."
    )
    param: str | None = Field(default=None, description="The field of the request that is wrong.")
    limit: Literal["requests", "input_tokens", "output_tokens"] | None = Field(
        default=None, description="The quota that is used up, for rate_limited."
    )
    status: Annotated[Whole, Field(ge=200, le=599)] | None = Field(default=None, description="The HTTP status.")
    message: str | None = Field(default=None, description="The message that the client reads.")
    retry_after: Duration | None = Field(default=None, description="The wait that the response asks for.")
    body: JSON = Field(default=None, description="The whole response body: text, or a value sent as JSON.")
    headers: dict[HeaderName, HeaderValue] = Field(
        default={}, description="Headers to add; they replace the vendor's of the same name."
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
    """A tool call in the answer."""

    name: str = Field(min_length=1, description="The name of the tool.")
    arguments: JSON = Field(default={}, description="Its arguments; a string is sent as it is, valid JSON or not.")
    id: str | None = Field(default=None, description="The id of the call; absent: generated in the vendor's format.")


class FixedUsage(StrictModel):
    """Token counts to report in place of the true ones."""

    prompt_tokens: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="The number of prompt tokens."
    )
    completion_tokens: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="The number of completion tokens."
    )
    reasoning_tokens: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="The number of completion tokens that are reasoning."
    )


class InputVector(StrictModel):
    """The vector of some of the inputs of a batch."""

    when: Text = Field(description="The inputs: a string that they equal, or a comparison.", examples=["cat"])
    vector: Annotated[tuple[_Single, ...], Field(strict=False, min_length=1)] = Field(
        description="The numbers of the vector."
    )

    @cached_property
    def test(self) -> Callable[[str], bool]:
        """Return whether an input has this vector."""
        return compile_text(self.when)


class ReplyOutcome(StrictModel):
    """Set the answer. It is streamed, cut, counted and paced like any other."""

    template: bool = Field(
        default=False,
        description="Replace placeholders in the text by values of the request: {prompt}, {model}, …; {{ is a brace.",
    )
    text: str | None = Field(default=None, description="The text of the answer.", examples=["Hello."])
    file: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="A file with the text of the answer, in the scenario's folder or below it.",
        examples=["answers/tides.md"],
    )
    tool_calls: Annotated[tuple[FixedToolCall, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="The tool calls of the answer.", examples=[[{"name": "get_weather", "arguments": {}}]]
    )
    json_: JSON = Field(default=None, alias="json", description="The answer, as a value that is written as JSON.")
    refusal: str | None = Field(default=None, description="The text with which the model refuses.")
    embedding: Annotated[tuple[_Single, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="One vector for every input."
    )
    embeddings: Annotated[tuple[InputVector, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None,
        description="A vector for each input: that of the first entry that matches it, else the usual one.",
        examples=[[{"when": "cat", "vector": [0.6, 0.8]}]],
    )
    pad: bool = Field(default=False, description="Fill up a vector that is shorter than the model's with zeros.")
    reasoning: str | None = Field(default=None, description="The text of the reasoning before the answer.")
    chunks: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None, description="The text of the answer as a list of strings, one event for each."
    )
    generate: Literal["typical", "minimal", "boundary", "adversarial", "invalid"] | None = Field(
        default=None, description="Generate JSON for the schema of the request or of the called tool in this way."
    )
    finish_reason: Annotated[FinishReason, Field(description="The finish reason.")] | None = None
    usage: FixedUsage | None = Field(default=None, description="The token counts to report.")

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

    error: ErrorOutcome | None = Field(
        default=None, description="Refuse the call.", examples=[{"kind": "rate_limited"}]
    )
    reply: ReplyOutcome | None = Field(default=None, description="Set the answer.", examples=[{"text": "Hello."}])
    latency: Latency | None = Field(default=None, description="Replace parts of the latency for this answer.")
    faults: Annotated[tuple[AnyFault, ...], Field(strict=False, max_length=_MAX_FAULTS)] = Field(
        default=(),
        description="Break the response, with these faults in order.",
        examples=[[{"type": "disconnect", "after_tokens": 20}]],
    )
    pass_: bool = Field(default=False, alias="pass", description="Answer normally; later rules do not apply.")

    @property
    def given(self) -> frozenset[str]:
        """Names of the fields that are set."""
        return frozenset(self.model_fields_set & Outcome.model_fields.keys())

    def check_outcome(self) -> None:
        """Raise ``ValueError`` unless there is at most one of error, reply and pass, and a pass is alone."""
        require("pass_" not in self.given or self.pass_, "expected pass to be true")
        require(not (self.error and self.reply), "expected either error or reply")
        require(not self.pass_ or len(self.given) == 1, "expected pass to stand alone")


NO_OUTCOME = Outcome.model_construct()
PASS = Outcome.model_construct({"pass_"}, pass_=True)


class Step(Outcome):
    """One outcome of a sequence."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(bool(self.given), "expected an outcome: error, reply, latency, faults or pass")
        self.check_outcome()
        return self
