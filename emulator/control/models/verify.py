"""What a test expects of the calls that were made."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from emulator.control.models.base import Duration, Given, SessionName, Taken
from emulator.core.values import require
from emulator.scenario.conditions import Names, Number, When


class Calls(When):
    """Facets of a call, as in a rule's `when`, and of what became of it; all must hold."""

    status: Number | None = Field(default=None, description="HTTP status; 0: it ended without an answer.")
    error: Names | None = Field(default=None, description="Kind of refusal.", examples=["rate_limited"])
    rule: Names | None = Field(default=None, description="The rule that took it.")
    fault: Names | None = Field(default=None, description="A fault among those that bent the answer.")
    attempt: Number | None = Field(default=None, description="Which attempt it is among equal requests, from 1.")
    retries: Number | None = Field(default=None, description="How many equal requests came after.")
    whole: bool | None = Field(default=None, description="The answer reached the client to its end.")
    client_left: bool | None = Field(default=None, description="The client did not wait for the end.")
    traced: bool | None = Field(default=None, description="The client sent a `traceparent` that names a trace.")
    finish_reason: Names | None = Field(default=None, description="Why the answer ends.", examples=["length"])
    completion_tokens: Number | None = Field(default=None, description="Tokens of the answer as planned.")


_Count = Annotated[int, Field(ge=0)]


class CallCount(Taken):
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


class Verify(Taken):
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


class Verified(Given):
    ok: bool = True
    count: int = Field(description="How many such calls there are.")
    ids: list[str] = Field(description="Theirs, in the order in which they came.")
    timing_invalid: str | None = Field(
        default=None, description="Why the run is no good as a measurement, where the scenario has a bound for that."
    )
