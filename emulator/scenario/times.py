"""Which of the matching calls a rule takes: ``times``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from emulator.core.values import Closed, Duration, Whole, require
from emulator.scenario.conditions import wrap_in_list

Scope = Literal["rule", "request", "principal", "deployment"]
Ordinal = Annotated[Whole, Field(ge=1)]


class Burst(Closed):
    """A part of every period, from its beginning."""

    every: Duration = Field(description="The period, from start or reset.")
    for_: Duration = Field(alias="for", description="How long of it the rule applies.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(self.every > 0, "expected every to be above 0")
        return self


class Times(Closed):
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
    between: Annotated[tuple[Duration, Duration], Field(strict=False)] | None = Field(
        default=None, description="From one time since start or reset up to another.", examples=[["30s", "60s"]]
    )
    repeat: Burst | None = Field(default=None, description="Bursts.", examples=[{"every": "60s", "for": "10s"}])
    per: Scope | None = Field(default=None, description="What is counted apart; absent: rule.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(bool(self.model_fields_set), "expected first, nth, every, after, probability, between or repeat")
        require(self.between is None or self.between[0] < self.between[1], "expected between to end after it begins")
        return self

    @property
    def counts(self) -> bool:
        """Whether which call it is matters."""
        return not (self.first is None and self.nth is None and self.every is None and self.after is None)
