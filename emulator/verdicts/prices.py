"""Prices of tokens, by the name of a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from emulator.core.json import as_array, as_object, as_text, parse_json

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens."""

    input: float
    output: float

    def find_cost(self, prompt_tokens: int, output_tokens: int) -> float:
        """Return the USD for a call."""
        return (prompt_tokens * self.input + output_tokens * self.output) / _MILLION


@cache
def load_prices() -> Mapping[str, Price]:
    """Return the prices of the package by pattern of a deployment's name; ``prices.json`` has their sources."""
    document = as_object(parse_json(files("emulator.verdicts").joinpath("prices.json").read_bytes()))
    rows = [as_object(row) for row in as_array(document["prices"])]
    return {as_text(row["deployment"]): Price(_number(row["input"]), _number(row["output"])) for row in rows}


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError(value)
    return float(value)


def find_price(deployment: str, own: Mapping[str, Price]) -> Price | None:
    """Return the first price that matches a deployment, of ``own`` and then of the package; ``None`` without any."""
    for prices in (own, load_prices()):
        for pattern, price in prices.items():
            if fnmatchcase(deployment.lower(), pattern.lower()):
                return price
    return None
