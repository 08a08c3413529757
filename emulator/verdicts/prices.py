"""Find the price of a call by the name of its deployment or model: of the scenario, else of ``prices.json``.

Usage and budgets take the cost of calls from it.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import Object, as_array, as_number, as_object, as_text, parse_json
from emulator.core.requests import Deployment

_MILLION = 1_000_000
_HOUR = 3600.0  # seconds


@fast_dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens, and for each hour in which a deployment is used."""

    input: float = 0.0
    output: float = 0.0
    hourly: float = 0.0

    def find_cost(self, prompt_tokens: int, output_tokens: int) -> float:
        """Return the USD for the tokens of a call."""
        return (prompt_tokens * self.input + output_tokens * self.output) / _MILLION

    def find_rent(self, seconds: float) -> float:
        """Return the USD for a time, in seconds, in which a deployment was used, by its price per hour."""
        return self.hourly * seconds / _HOUR


@cache
def _load() -> Object:
    return as_object(parse_json(files("emulator.verdicts").joinpath("prices.json").read_bytes()))


@cache
def load_units() -> Mapping[str, float]:
    """Return the USD for one unit of each kind: ``USD``, ``DBU``, and ``PTU``, whose price is that of an hour."""
    units = as_object(_load()["units"])
    return {"USD": 1.0, **{name: as_number(as_object(row)["usd"]) for name, row in units.items()}}


@cache
def load_prices() -> Mapping[str, Price]:
    """Return the prices of the package by pattern of a name; ``prices.json`` has their sources and dates."""
    rows = [as_object(row) for row in as_array(_load()["prices"])]
    return {as_text(row["deployment"]): Price(as_number(row["input"]), as_number(row["output"])) for row in rows}


class PriceList:
    """Prices of a scenario, then those of ``prices.json`` for deployments that the scenario does not price.

    The latter are for a deployment that is paid by the token, under its own name or that of its model.
    """

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = own
        self._known: dict[tuple[str, ...], Price | None] = {}

    def find(self, served: str, name: str, deployment: Deployment | None = None) -> Price | None:
        """Return the price of a call to a deployment; ``served``: which of its served models answered."""
        names = (served, name, deployment.model if deployment is not None else "")
        is_rented = deployment is not None and deployment.mode == "provisioned"
        key = (*names, "rented" if is_rented else "")
        if key not in self._known:
            found = _match(self._own, names)
            self._known[key] = found if found is not None or is_rented else _match(load_prices(), names)
        return self._known[key]


def _match(prices: Mapping[str, Price], names: Sequence[str]) -> Price | None:
    for pattern, price in prices.items():
        if any(fnmatchcase(name.lower(), pattern.lower()) for name in names if name):
            return price
    return None
