"""Shares of quotas as the scripts read and tell them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Literal, TypedDict
from urllib.parse import quote

from emulator.core.quota import Balance, Charge, Level, Per, Quota, Strategy, Unit

_RENEWED = 600.0  # real seconds, of a day
_MOST_RENEWALS = 20_000


class _Share(TypedDict):
    """A share as the scripts read it; ``key`` names it."""

    key: str
    name: str
    scope: str
    unit: Unit
    amount: int
    window: float
    strategy: Strategy | Literal["places"]
    per: Per | None


@dataclass(frozen=True, slots=True)
class Written:
    """A share as JSON: whole for whoever lists it, and the part that charging takes, to which costs are added."""

    told: str
    charged: str


@lru_cache(maxsize=4096)
def write_share(quota: Quota, scope: str) -> Written:
    share: _Share = {
        "key": f"{quote(quota.name, safe='')}:{quote(scope, safe='')}",
        "name": quota.name,
        "scope": scope,
        "unit": quota.unit,
        "amount": quota.amount,
        "window": quota.window,
        "strategy": "places" if quota.unit == "concurrency" else quota.strategy,
        "per": quota.per,
    }
    charged = {name: share[name] for name in ("key", "amount", "window", "strategy")}
    return Written(json.dumps(share), json.dumps(charged, separators=(",", ":"))[:-1])


class Renewals:
    """Which shares the store was asked lately to keep for a day: between two times it need not look at each."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}

    def is_time(self, base: str, shares: Iterable[Written], now: float) -> bool:
        """Whether it is to be asked now, in real seconds, of one of a session's shares; then it is asked of all."""
        until, due = self._until, False
        for share in shares:
            if until.get((base, share.told), 0.0) <= now:
                if len(until) >= _MOST_RENEWALS:
                    until.clear()
                until[base, share.told] = now + _RENEWED
                due = True
        return due


def read_balances(charges: Sequence[Charge], answer: Sequence[str]) -> tuple[Balance, ...]:
    rows = zip(charges, answer[::2], answer[1::2], strict=True)
    return tuple([Balance(charge.quota, int(left), _read_wait(wait)) for charge, left, wait in rows])


def read_level(text: str, left: str, wait: str) -> Level:
    share: _Share = json.loads(text)
    strategy: Strategy = "bucket" if share["strategy"] == "places" else share["strategy"]
    quota = Quota(
        name=share["name"],
        unit=share["unit"],
        amount=share["amount"],
        window=share["window"],
        strategy=strategy,
        per=share["per"],
    )
    seconds = _read_wait(wait)
    return Level(quota, share["scope"], int(left), None if seconds == inf else seconds or 0.0)


def _read_wait(text: str) -> float | None:
    return float(text) if text else None
