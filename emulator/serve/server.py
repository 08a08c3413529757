"""Run one server process from its settings to its shutdown: alone, or as a worker."""

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from emulator.cluster.replica import await_store, end_tasks, join_cluster
from emulator.control.auth import ControlAuth
from emulator.core.dataclass import fast_dataclass
from emulator.core.os_errors import explain_file
from emulator.core.storage import StoreLostError
from emulator.core.units import parse_duration
from emulator.handler.forward import Forwarding
from emulator.http.listeners import Listeners, PortInUse
from emulator.http.proactor import find_loop_class
from emulator.http.timeouts import Timeouts
from emulator.http.tls import Tls, open_tls
from emulator.latency import Latency
from emulator.observability.access_log import AccessLog, configure_logging
from emulator.observability.spans import Spans
from emulator.runtime.services import adding_vendor_mistakes
from emulator.scenario.code_frame import format_rows
from emulator.scenario.load import load_paths
from emulator.scenario.models import ClockSettings
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.serve import warmup
from emulator.serve.application import Application, create_application
from emulator.serve.signals import stop_signals, warn_of_few_files
from emulator.serve.warmup import warm_up
from emulator.serve.watch import Stamps, Watcher, read_stamps
from emulator.settings import Settings, SettingsError, variable
from emulator.storage import StoreError, show_url
from emulator.vendors import VENDORS

T = TypeVar("T")


def has_uvloop() -> bool:
    """Return whether the extra ``speed`` is installed."""
    return find_spec("uvloop") is not None


def run(main: Coroutine[object, object, T], *, uvloop: bool | None = None) -> T:
    """Run a coroutine; ``uvloop``: on uvloop or asyncio; absent: on uvloop if it is installed."""
    with asyncio.Runner(loop_factory=_factory(has_uvloop() if uvloop is None else uvloop)) as runner:
        return runner.run(main)


def _factory(uvloop: bool) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if not uvloop:
        return find_loop_class()
    from uvloop import new_event_loop

    return new_event_loop


log = logging.getLogger("emulator")
_STATE_URL = f"--state-url ({variable('state_url')})"
Announce = Callable[[Mapping[str, str]], None]
"""Callback with the base URLs once all ports are open; may raise SettingsError."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class PreparedServer:
    """Validated settings and the application, before any port is open."""

    settings: Settings
    loaded: ParsedScenario
    built: Application
    tls: Tls
    stamps: Stamps

    def run(self, work: Coroutine[object, object, int]) -> int:
        """Run a coroutine; return its exit code, or 2 after an error that is printed."""
        try:
            return run(work)
        except StoreLostError as error:
            raise SettingsError(f"{_STATE_URL}: {error}") from None
        except PortInUse as error:
            print(f"emulator: error: {error}", file=sys.stderr)
            return 2


def prepare(settings: Settings, spans: Spans | None = None) -> PreparedServer | None:
    """Load the scenario and create the application; ``None``: the scenario has mistakes, which are printed.

    Args:
        spans: exports calls as traces, if tracing is on.

    Raises:
        SettingsError: a setting cannot be used.
    """
    _require_paths(settings.paths)
    _try_report(settings.report)
    stamps = read_stamps(settings.paths)
    try:
        with adding_vendor_mistakes(VENDORS):
            loaded, library = load_paths(settings.paths, settings.scenario)
        built = create_application(
            loaded,
            library=library,
            seed=settings.seed,
            clock=_clock(settings),
            latency=_latency(settings),
            strict=settings.strict,
            header_faults=settings.header_faults,
            state_url=settings.state_url,
            state_loss=settings.state_loss,
            spans=spans,
            forwarding=_open_forwarding(settings),
        )
    except StoreError as error:
        raise SettingsError(f"{_STATE_URL}: {error}") from None
    except ScenarioError as error:
        print(format_rows(error.rows), file=sys.stderr)
        return None
    return PreparedServer(settings, loaded, built, open_tls(settings), stamps)


def _clock(settings: Settings) -> ClockSettings | None:
    """Return the clock set by a flag, such as ``frozen@2026-11-23T09:55:00Z``."""
    if settings.clock is None:
        return None
    kind, at, start = settings.clock.partition("@")
    try:
        return ClockSettings.model_validate({"kind": kind, "start": start} if at else {"kind": kind})
    except ValidationError:
        form = "real, instant or frozen, or one of them with a start, such as frozen@2026-11-23T09:55:00Z"
        raise SettingsError(f"--clock ({variable('clock')}) takes {form}, not {settings.clock!r}") from None


def _require_paths(paths: Sequence[Path]) -> None:
    """Validate that the scenario paths exist.

    Raises:
        SettingsError: one does not; the message names the folder it was looked for in.
    """
    for path in paths:
        try:
            path.stat()
        except OSError as error:
            raise SettingsError(f"cannot read {path}: {explain_file(error, path)}") from None


def _try_report(file: Path | None) -> None:
    """Validate at the start that the report file can be written, as it is written only at the end.

    Raises:
        SettingsError: it cannot be written.
    """
    if file is None:
        return
    try:
        is_new = not file.exists()
        with file.open("ab"):
            pass
        if is_new:
            file.unlink()
    except OSError as error:
        raise SettingsError(f"--report: cannot write {file}: {explain_file(error, file)}") from None


def _open_forwarding(settings: Settings) -> Forwarding | None:
    """Return the targets of unmatched calls; ``None`` without ``--forward``.

    Raises:
        SettingsError: a target or the folder cannot be used.
    """
    if not settings.forward:
        if settings.record_to is not None:
            raise SettingsError("--record-to needs --forward VENDOR=URL")
        return None
    from emulator.recording.relay import UpstreamError, open_context, parse_upstreams

    try:
        upstreams = parse_upstreams(settings.forward, VENDORS)
        if settings.upstream_ca is not None:
            open_context(settings.upstream_ca)
    except UpstreamError as error:
        raise SettingsError(f"--forward: {error}") from None
    except OSError as error:
        raise SettingsError(f"--upstream-ca: {explain_file(error)}") from None
    try:
        if settings.record_to is not None:
            settings.record_to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"--record-to: {error.filename}: {explain_file(error)}; name a folder") from None
    return Forwarding(upstreams, settings.record_to, settings.upstream_ca)


def _latency(settings: Settings) -> Latency | None:
    """Return the latency set by flags."""
    given = {name: value for name in ("ttft", "itl") if (value := getattr(settings, name)) is not None}
    for name, value in given.items():
        try:
            parse_duration(value)
        except ValueError as error:
            raise SettingsError(f"--{name} (EMULATOR_{name.upper()}): {error}") from None
    return Latency.model_validate(given) if given else None


async def serve(
    prepared: PreparedServer, ports: Mapping[str, int], announce: Announce, *, shares_ports: bool = False
) -> int:
    """Serve until a signal; return 0 after SIGTERM, 130 after SIGINT; ``shares_ports``: with other workers."""
    settings, built = prepared.settings, prepared.built
    access = AccessLog(as_json=configure_logging(settings.log_level, settings.log_format))
    if settings.log_level in ("debug", "info"):
        built.journal.listeners.append(access)
    warn_of_few_files()
    limits = Timeouts(settings.head_timeout, settings.body_timeout, settings.idle_timeout)
    listeners = Listeners(built.runtime, built.control, settings.drain, limits, shares_ports=shares_ports)
    async with stop_signals() as stops:
        if settings.state_loss != "local":
            store = await_store(built.runtime, show_url(settings.state_url), settings.state_wait)
            stopped = await _wait_until_stopped(store, stops)
            if stopped is not None:
                return _name_exit(stopped)
        async with join_cluster(built.runtime, is_patient=settings.state_loss == "local"):
            stopped = await _serve_until_stopped(prepared, listeners, ports, announce, stops)
    access.flush()
    return _name_exit(stopped)


async def _serve_until_stopped(
    prepared: PreparedServer,
    listeners: Listeners,
    ports: Mapping[str, int],
    announce: Announce,
    stops: asyncio.Queue[signal.Signals],
) -> signal.Signals:
    """Open the ports, serve until a signal, then drain and report; return the signal."""
    settings, built, tls = prepared.settings, prepared.built, prepared.tls
    names = (*settings.allow_host, *settings.tls_name)
    built.control.auth = ControlAuth(tuple(map(str.lower, names)), settings.control_token)
    if tls.authority is not None:
        built.control.authority = tls.authority.pem
    await listeners.open(settings.host, ports, tls.context)
    try:
        announce(listeners.urls)
    except SettingsError:
        await listeners.close()
        raise
    warmup.begin()
    collector = warmup.CollectionPolicy(lambda: listeners.open_answers > 0)
    built.runtime.on_change.append(collector.expect)
    listeners.housekeeping.append(collector.tidy)
    async with _watching(settings, built, listeners, prepared.stamps):
        warm_up(VENDORS, built.runtime.active.apps)
        stopped = await stops.get()
    await _close(listeners, stops)
    if built.forwarding is not None:
        await built.forwarding.close()
    await _report(settings, built)
    return stopped


def _name_exit(stopped: signal.Signals) -> int:
    return 130 if stopped is signal.SIGINT else 0


async def _wait_until_stopped(
    work: Coroutine[object, object, None], stops: asyncio.Queue[signal.Signals]
) -> signal.Signals | None:
    """Run a coroutine to its end, or until the signal that is returned; it may raise what the coroutine raises.

    A signal in the turn of the event loop in which the coroutine ends counts: it has left the queue.
    """
    working, stopping = asyncio.create_task(work), asyncio.create_task(stops.get())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not stopping.done():
        stopping.cancel()
        working.result()
        return None
    await end_tasks([working])
    with suppress(asyncio.CancelledError, StoreLostError):
        working.result()
    return stopping.result()


async def _close(listeners: Listeners, stops: asyncio.Queue[signal.Signals]) -> None:
    """Drain open responses; a second signal ends them at once."""
    closing = asyncio.create_task(listeners.close())
    again = asyncio.create_task(stops.get())
    count = listeners.open_answers
    if count:
        what = "1 response is" if count == 1 else f"{count} responses are"
        log.warning("stopping: %s still open; a second Ctrl-C or SIGTERM ends at once", what)
    await asyncio.wait({closing, again}, return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    closing.cancel()
    with suppress(asyncio.CancelledError):
        await closing


async def _report(settings: Settings, built: Application) -> None:
    """Write the report of all calls, if ``--report`` is set."""
    if settings.report is None:
        return
    from emulator.control.handlers.report import write_report  # slow to import
    from emulator.control.models import ReportAsked

    await built.runtime.controller.catch_up()
    report = await write_report(built.runtime, ReportAsked())
    try:
        with settings.report.open("w", encoding="utf-8", newline="\n") as file:
            async for piece in report:
                file.write(piece)
    except OSError as error:
        log.error("--report: cannot write %s: %s", settings.report, explain_file(error))


@asynccontextmanager
async def _watching(
    settings: Settings, built: Application, listeners: Listeners, stamps: Stamps
) -> AsyncIterator[None]:
    """Reload scenario files that change inside the block."""
    wanted = sys.stderr.isatty() if settings.watch is None else settings.watch
    if not (wanted and settings.paths):
        yield
        return
    watcher = Watcher(built.runtime, settings.paths, settings.scenario, listeners.follow, stamps)
    task = asyncio.create_task(watcher.run())
    try:
        yield
    finally:
        await end_tasks([task])
