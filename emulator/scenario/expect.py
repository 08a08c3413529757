"""Models of ``expect``, ``budget`` and ``prices``: what a scenario asks of clients, and what their tokens cost.

``expect: robust`` asks for all rules of ``verdicts/`` with their usual figures; a mapping changes some figures, or
with ``robust: false`` asks only for the rules that it names. ``control/verdict.py`` reads it; ``handler/budget.py``
enforces ``budget``. Of a price, ``source`` is the page that states it and ``date`` the day on which it did.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from emulator.core.json import JSON
from emulator.core.units import DURATION_SCHEMA, Duration, StrictModel, Whole, require

_Count = Annotated[Whole, Field(ge=1, le=10**9)]
_COUNT_SCHEMA = {"type": "integer", "minimum": 1, "maximum": 10**9}
_OFF_SCHEMA = {"const": False}
_COST = r"^\s*\d{1,9}(\.\d{1,9})?\s*USD\s*$"


def _parse_off(value: JSON) -> JSON:
    return None if value is False else value


_CountOrOff = Annotated[
    _Count | None, BeforeValidator(_parse_off), WithJsonSchema({"anyOf": [_COUNT_SCHEMA, _OFF_SCHEMA]})
]
_DurationOrOff = Annotated[
    Duration | None, BeforeValidator(_parse_off), WithJsonSchema({"anyOf": [DURATION_SCHEMA, _OFF_SCHEMA]})
]
"""``None``: the rule is off, written as ``false``."""


class ExpectedConduct(StrictModel):
    """What a verdict judges, and its figures. Each key is a rule for a sound client."""

    robust: bool = Field(default=True, description="Judge all rules; false: only the rules that are named here.")
    honours_retry_after: bool = Field(
        default=True, description="It waits as long as `Retry-After` says; 10 % early is fine."
    )
    backs_off: bool = Field(
        default=True, description="It waits at least 1.5 times as long before each further attempt."
    )
    jitter: bool = Field(
        default=True,
        description="Three callers that are refused together do not come back together.",
    )
    attempts: _CountOrOff = Field(default=5, description="The maximum number of attempts of one request.")
    no_useless_retry: bool = Field(default=True, description="It does not repeat what cannot succeed.")
    retries_after_delivery: bool = Field(
        default=False, description="It may retry although bytes of the answer were delivered."
    )
    deadline: _DurationOrOff = Field(
        default=60.0, description="The maximum duration of a call, after which the client disconnects."
    )
    hedges: _CountOrOff = Field(default=1, description="The maximum number of equal calls at once.")
    closes_within: _DurationOrOff = Field(
        default=5.0, description="How long a stream may stay open that the client no longer reads."
    )
    incomplete_stream_failed: bool = Field(
        default=True, description="It does not use the text of a stream without an end."
    )
    no_bad_arguments: bool = Field(default=True, description="It runs no tool with arguments that do not parse.")
    one_idempotency_key: bool = Field(default=True, description="It sends the same idempotency key with all attempts.")
    concurrency: _Count | None = Field(
        default=None, description="The maximum number of calls at once; absent: not judged."
    )
    reuses_connections: bool = Field(
        default=False, description="It opens no more connections than it has calls at once; absent: not judged."
    )


def _tag(value: JSON) -> str | None:
    if isinstance(value, str):
        return "<name>"
    return "<conduct>" if isinstance(value, dict | ExpectedConduct) else None


Expect = Annotated[
    Annotated[Literal["robust"], Tag("<name>")] | Annotated[ExpectedConduct, Tag("<conduct>")],
    Discriminator(_tag, custom_error_type="wanted", custom_error_message="expected robust or a mapping"),
]


def _parse_cost(value: JSON) -> JSON:
    if not isinstance(value, str) or re.fullmatch(_COST, value) is None:
        raise ValueError("expected an amount such as 0.02 USD")
    return float(value.replace("USD", ""))


Cost = Annotated[
    float,
    BeforeValidator(_parse_cost),
    WithJsonSchema({"type": "string", "pattern": _COST, "examples": ["0.02 USD"]}),
]
"""USD."""


class BudgetSettings(StrictModel):
    """What a session may spend."""

    output_tokens: _Count | None = Field(
        default=None, description="The maximum number of output tokens sent, wasted ones included."
    )
    cost: Cost | None = Field(
        default=None, description="The maximum cost of prompts and answers.", examples=["0.02 USD"]
    )
    attempts: _Count | None = Field(default=None, description="The maximum number of attempts of one request.")
    enforce: bool = Field(
        default=False,
        description="Refuse calls as rate_limited once the budget is spent; else only a verdict judges it.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = self.output_tokens is not None or self.cost is not None or self.attempts is not None
        require(given, "expected output_tokens, cost or attempts")
        return self


_Amount = Annotated[float, Field(strict=False, ge=0, le=10**6)]


class TokenPrice(StrictModel):
    """The price of a million tokens, or of an hour."""

    input: _Amount = Field(default=0.0, description="The price of a million prompt tokens.")
    output: _Amount = Field(default=0.0, description="The price of a million completion tokens.")
    per_hour: _Amount = Field(
        default=0.0,
        description="The price of each hour from the first call to the last, as for provisioned throughput.",
    )
    unit: Literal["USD", "DBU", "PTU"] = Field(
        default="USD", description="The unit of the amounts; PTU: the number that is provisioned, with `per_hour`."
    )
    source: str | None = Field(default=None, description="Where the price comes from, for your readers.")
    date: str | None = Field(
        default=None, description="The date of the price, for your readers.", examples=["2026-11-26"]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(bool(self.model_fields_set & {"input", "output", "per_hour"}), "expected input, output or per_hour")
        tokens = bool(self.model_fields_set & {"input", "output"})
        require(self.unit != "PTU" or not tokens, "PTU are paid by the hour: expected per_hour, no input and output")
        return self


def _tag_prices(value: JSON) -> str | None:
    if isinstance(value, str):
        return "<file>"
    return "<prices>" if isinstance(value, dict) else None


PriceTable = dict[str, TokenPrice]
Prices = Annotated[
    Annotated[str, Field(min_length=1), Tag("<file>")] | Annotated[PriceTable, Tag("<prices>")],
    Discriminator(_tag_prices, custom_error_type="wanted", custom_error_message="expected a file or a mapping"),
]
"""Prices by name or pattern of a deployment, or the file that has them."""
