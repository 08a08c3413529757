"""Handlers of ``/_emulator/clock`` and ``/timing``: show and move the clock, and report how late responses were."""

from typing import Literal

from emulator.control import models
from emulator.core.clock import Clock, InstantClock, RealClock
from emulator.core.errors import ProblemError
from emulator.core.units import MAX_TIMESTAMP, parse_duration, write_date
from emulator.observability.timing import Errors, Quantiles
from emulator.runtime.runtime import Runtime


class ClockHandlers:
    """Handlers of clock and timing; each takes the query, the body and the name at the end of the path."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def get_clock(self, query: models.SessionQuery, body: bytes, name: str) -> models.ClockState:
        emulator = self._runtime.for_session(query.session).emulator
        clock = emulator.clock
        now = clock.now()
        scale = clock.scale if isinstance(clock, RealClock) else 0.0
        return models.ClockState(
            kind=_kind_of(clock),
            scale=scale,
            now=now,
            time=write_date(now),
            since_start=now - emulator.started,
        )

    async def move_clock(self, query: models.SessionQuery, body: models.Advance, name: str) -> models.ClockState:
        if body.advance is not None:
            seconds = parse_duration(body.advance)
            if self._runtime.for_session(query.session).emulator.clock.now() + seconds > MAX_TIMESTAMP:
                raise ProblemError(422, "Bad body", "advance: the clock ends with the year 9999")
            await self._runtime.controller.advance(seconds, query.session)
        if body.clock is not None:
            await self._runtime.controller.change_clock(body.clock, query.session)
        return await self.get_clock(query, b"", "")

    async def get_timing(self, query: models.NoQuery, body: bytes, name: str) -> models.TimingReport:
        timing = self._runtime.timing
        return models.TimingReport(
            valid=timing.invalid is None,
            reason=timing.invalid,
            invalid_above=timing.bound,
            since_reset=_show_errors(timing.latest),
            overall=_show_errors(timing.overall),
        )


def _show_errors(errors: Errors) -> models.TimingErrors:
    return models.TimingErrors(
        ttft=_show_quantiles(errors.ttft), itl=_show_quantiles(errors.itl), end=_show_quantiles(errors.end)
    )


def _show_quantiles(late: Quantiles) -> models.ScheduleErrorQuantiles:
    return models.ScheduleErrorQuantiles(
        count=late.count,
        mean=late.mean,
        p50=late.quantile(0.5),
        p90=late.quantile(0.9),
        p99=late.quantile(0.99),
        worst=late.worst,
    )


def _kind_of(clock: Clock) -> Literal["real", "scale", "instant", "frozen"]:
    if isinstance(clock, RealClock):
        return "real" if clock.scale == 1.0 else "scale"
    return "instant" if isinstance(clock, InstantClock) else "frozen"
