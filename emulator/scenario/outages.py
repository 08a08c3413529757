"""Model of ``outages``, and the rules that they stand for: errors for many calls at the same time.

``outage_effects.py`` has what no rule can express.
"""

from collections.abc import Iterator, Sequence
from math import log
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from emulator.core.json import Object
from emulator.core.rng import derive_key, draw_uniform
from emulator.core.units import (
    Duration,
    Instant,
    Moment,
    StrictModel,
    TimeOfDay,
    Whole,
    require,
    require_order,
    write_moment,
)
from emulator.scenario.conditions import Names

_MAX_DRAWN = 64  # windows of one outage
_DAY = 86_400.0  # seconds
_ERRORS = {
    "region": "overloaded",
    "brown_out": "overloaded",
    "bad_deploy": "internal",
    "key_rotation": "unauthenticated",
    "slow_recovery": "overloaded",
}
_PARTIAL = frozenset({"brown_out", "bad_deploy"})


class DrawnWindows(StrictModel):
    """Random times of outages; the first 64 are drawn."""

    every: Duration = Field(gt=0, description="The mean time from the end of one outage to the beginning of the next.")
    mean: Duration = Field(gt=0, description="The mean length of an outage.")
    seed: Whole = Field(default=0, description="Another seed gives other times.")

    def list_windows(self, name: str) -> Iterator[tuple[float, float]]:
        """Yield begin and end in seconds of scenario time; lengths and gaps are exponentially distributed."""
        key = derive_key("outage", name, self.seed)
        end = 0.0
        for number in range(_MAX_DRAWN):
            begin = end - self.every * log(1.0 - draw_uniform(key, "gap", number))
            end = begin - self.mean * log(1.0 - draw_uniform(key, "length", number))
            yield begin, end


class Outage(StrictModel):
    """Something that goes wrong for many calls at the same time, by the scenario's clock."""

    name: str = Field(
        pattern=r"^[^\x00-\x1f\x7f]+$", description="The name; the rule of the outage is called `outage NAME`."
    )
    kind: Literal["region", "brown_out", "slow_recovery", "bad_deploy", "key_rotation", "retirement"] = Field(
        description="All calls fail; a share fails and the rest is slow; all fail, and then quotas come back slowly; "
        "a share fails; keys are refused; headers warn, and then the deployments are gone."
    )
    vendor: Names | None = Field(default=None, description="Calls of these vendors; absent: all.")
    deployments: Names | None = Field(default=None, description="Calls to these deployments; absent: all.")
    principal: Names | None = Field(default=None, description="Calls of these principals; absent: all.")
    served: Names | None = Field(
        default=None, description="bad_deploy: all calls fail that these served models answer; in place of `share`."
    )
    between: Annotated[tuple[Moment, Moment], Field(strict=False)] | None = Field(
        default=None,
        description="From one time to another: since start or reset, of every day (UTC), or with a date and zone.",
        examples=[["60s", "120s"], ["10:00", "10:05"]],
    )
    random: DrawnWindows | None = Field(
        default=None, description="Random times in place of `between`; a retirement takes the first."
    )
    for_: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, alias="for", description="slow_recovery: the time after the outage until all quotas are back."
    )
    share: float = Field(
        default=0.5, strict=False, ge=0, le=1, description="brown_out and bad_deploy: the share of calls that fail."
    )
    ttft: Duration = Field(default=5.0, description="brown_out: the time to first token of the other calls.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require((self.between is None) != (self.random is None), "expected either between or random")
        if self.between is not None:
            require_order(*self.between)
        require((self.kind == "slow_recovery") == (self.for_ is not None), "for belongs to kind: slow_recovery")
        require(self.kind == "bad_deploy" or self.served is None, "served belongs to kind: bad_deploy")
        require(self.served is None or "share" not in self.model_fields_set, "expected either served or share")
        require(self.kind != "retirement" or self.principal is None, "a retirement is for every principal")
        return self

    def list_windows(self, started: float) -> Sequence[tuple[float, float]]:
        """Return begin and end of each time in seconds since the start, up to the 64th.

        A retirement has one, as nothing comes back. ``started``: Unix seconds.
        """
        windows = [window for window in self._locate(started) if window[1] > 0][:_MAX_DRAWN]
        return windows[:1] if self.kind == "retirement" else windows

    def _locate(self, started: float) -> Iterator[tuple[float, float]]:
        begin, end = self.between or (0.0, 0.0)
        if self.between is None:
            yield from self._draw()
        elif isinstance(begin, TimeOfDay):
            midnight = started // _DAY * _DAY - started
            lasts = (end - begin) % _DAY
            yield from ((at, at + lasts) for at in (midnight + begin + day * _DAY for day in range(-1, _MAX_DRAWN)))
        else:
            zero = started if isinstance(begin, Instant) else 0.0
            yield begin - zero, end - zero

    def list_rules(self) -> Iterator[Object]:
        """Yield the rules of the outage, as a scenario has them; a retirement has none."""
        windows = [self.between] if self.between is not None else [*self._draw()]
        for number, (begin, end) in enumerate(windows if self.kind in _ERRORS else (), 1):
            name = f"outage {self.name}" + (f" {number}" if self.random is not None else "")
            between: Object = {"between": [write_moment(begin), write_moment(end)]}
            is_partial = self.kind in _PARTIAL and self.served is None
            chance: Object = {"probability": self.share} if is_partial else {}
            when = self._when()
            yield {"name": name, "when": when, "times": {**between, **chance}, "error": {"kind": _ERRORS[self.kind]}}
            if self.kind == "brown_out":
                slow: Object = {"ttft": f"{self.ttft:.6f}s"}
                yield {"name": f"{name}, slow", "when": when, "times": between, "latency": slow}

    def _draw(self) -> Iterator[tuple[float, float]]:
        return iter(()) if self.random is None else self.random.list_windows(self.name)

    def _when(self) -> Object:
        given = {"vendor": self.vendor, "deployment": self.deployments, "principal": self.principal}
        given["served"] = self.served
        return {name: [*value] for name, value in given.items() if value is not None}
