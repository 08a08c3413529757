"""Handlers of scenarios, sessions, clock, deployments and timing."""

from collections.abc import Iterable, Mapping
from typing import Literal, ParamSpec, TypeVar

from emulator.control import models
from emulator.control.handlers.requests import RequestHandlers
from emulator.control.handlers.status import StatusHandlers
from emulator.control.openapi import dump_openapi
from emulator.control.problem import show_file
from emulator.control.token_masks import mask_keys, restore_keys, show_text
from emulator.core.clock import Clock, InstantClock, RealClock
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.errors import ProblemError
from emulator.core.executor import run_in_thread, run_parsing
from emulator.core.json import JSON, as_array
from emulator.core.text import escape
from emulator.core.units import LAST, parse_duration, write_date
from emulator.observability.timing import Errors, Quantiles
from emulator.scenario.credentials import list_credentials
from emulator.scenario.errors import find_nearest_name
from emulator.scenario.load import load_bundled
from emulator.scenario.parsed import ParsedScenario

P = ParamSpec("P")
T = TypeVar("T")


class Handlers(RequestHandlers, StatusHandlers):
    """All handlers but the report."""

    async def get_scenario(self, query: models.SessionQuery, body: bytes, name: str) -> models.ScenarioState:
        active = self._runtime.for_session(query.session)
        loaded, scenario, emulator = active.loaded, active.loaded.scenario, active.emulator
        long = len(loaded.text or "") > INLINE_BYTES
        document, text = await run_in_thread(_show, loaded) if long else _show(loaded)
        return models.ScenarioState(
            name=scenario.name,
            description=scenario.description,
            hash=loaded.digest,
            seed=emulator.seed,
            strict=emulator.strict,
            vendors=list(active.apps),
            rules=[rule.name for rule in scenario.rules],
            sources=[escape(show_file(str(path))) for path in loaded.sources],
            document=document,
            text=text,
        )

    async def put_scenario(self, query: models.PutQuery, body: bytes, name: str) -> models.ScenarioState:
        if query.name is not None and body:
            raise ProblemError(400, "Two scenarios", "Send a scenario or name one of the library, not both.")
        if query.name is None:
            sent = await run_parsing(body, self._runtime.load, body)
            loaded = restore_keys(sent, self._runtime.for_session(query.session).loaded)
        else:
            loaded = self._select(query.name)
        await self._runtime.controller.put(loaded, query.session, query.seed)
        return await self.get_scenario(query, b"", "")

    @property
    def _library(self) -> Mapping[str, ParsedScenario]:
        """Return the scenarios to switch between: those of the command line, or else the bundled ones."""
        return self._runtime.library or load_bundled()

    def _select(self, name: str) -> ParsedScenario:
        library = self._library
        by_title = {loaded.scenario.name: loaded for loaded in library.values()}
        found = library.get(name) or by_title.get(name)
        if found is None:
            hint = find_nearest_name(name, [*library, *by_title])
            detail = f"The library has no scenario {name!r}" + (f"; did you mean {hint}?" if hint else ".")
            raise ProblemError(404, "No such scenario", detail)
        return found

    async def list_scenarios(self, query: models.NoQuery, body: bytes, name: str) -> models.Library:
        active = self._runtime.active.loaded
        return models.Library(
            scenarios=[
                models.LibraryEntry(
                    name=key,
                    title=loaded.scenario.name,
                    description=loaded.scenario.description,
                    hash=loaded.digest,
                    active=loaded is active,
                )
                for key, loaded in self._library.items()
            ]
        )

    async def reset(self, query: models.SessionQuery, body: bytes, name: str) -> models.ScenarioState:
        await self._runtime.controller.reset(query.session)
        return await self.get_scenario(query, b"", "")

    async def list_sessions(self, query: models.NoQuery, body: bytes, name: str) -> models.SessionList:
        found: dict[str, models.SessionState] = {}
        for rows in (await self._runtime.controller.gather("sessions")).values():
            for state in map(models.SessionState.model_validate, as_array(rows)):
                found[state.name] = _join(found.get(state.name), state)
        sessions = sorted(found.values(), key=lambda state: -state.idle_seconds)
        return models.SessionList(sessions=sessions)

    async def end_session(self, query: models.NoQuery, body: bytes, name: str) -> models.SessionEnded:
        if not await self._runtime.controller.end_session(name):
            raise ProblemError(404, "No such session", f"There is no session {name!r}.")
        return models.SessionEnded(name=name)

    async def listen(self, query: models.NoQuery, body: models.Listen, name: str) -> models.Listening:
        try:
            models.check_session(name)
        except ValueError as error:
            raise ProblemError(400, "Bad session", f"{error}, not {name!r}.") from None
        _check_vendor(body.vendor, self._runtime.find(name).apps)
        self._runtime.for_session(name)  # creates the session
        return models.Listening(url=await self._runtime.listen(name, body.vendor))

    async def list_deployments(self, query: models.DeploymentsQuery, body: bytes, name: str) -> models.Deployments:
        apps = self._runtime.for_session(query.session).apps
        if query.vendor is not None:
            _check_vendor(query.vendor, apps)
        return models.Deployments(
            deployments=[
                models.DeploymentEntry.model_validate(deployment)
                for vendor, app in apps.items()
                if query.vendor in (None, vendor)
                for deployment in app.service.deployments.values()
            ]
        )

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
            if self._runtime.for_session(query.session).emulator.clock.now() + seconds > LAST:
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

    async def get_openapi(self, query: models.NoQuery, body: bytes, name: str) -> bytes:
        return dump_openapi()


def _join(one: models.SessionState | None, other: models.SessionState) -> models.SessionState:
    """Merge the state of one session in two processes."""
    if one is None:
        return other
    idle = min(one.idle_seconds, other.idle_seconds)
    return other.model_copy(update={"calls": one.calls + other.calls, "idle_seconds": idle})


def _show(loaded: ParsedScenario) -> tuple[JSON, str]:
    return list_credentials(loaded.scenario).redact_value(mask_keys(loaded.data)), show_text(loaded)


def _check_vendor(name: str, served: Iterable[str]) -> None:
    known = list(served)
    if name not in known:
        raise ProblemError(404, "No such vendor", f"No vendor {name!r} is served; there are {', '.join(known)}.")


def _show_errors(errors: Errors) -> models.TimingErrors:
    return models.TimingErrors(
        ttft=_show_quantiles(errors.ttft), itl=_show_quantiles(errors.itl), end=_show_quantiles(errors.end)
    )


def _show_quantiles(late: Quantiles) -> models.LatenessQuantiles:
    return models.LatenessQuantiles(
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
