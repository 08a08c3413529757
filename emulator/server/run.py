"""From settings to a running emulator, and out again."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress

from emulator import __version__
from emulator.control.guard import Guard
from emulator.control.models import ReportAsked
from emulator.control.report import make_report
from emulator.core.duration import parse_duration
from emulator.core.state import StoreLostError
from emulator.latency import Latency
from emulator.scenario.errors import ScenarioError
from emulator.scenario.load import load_paths
from emulator.scenario.loaded import LoadedScenario
from emulator.server import garbage, loop
from emulator.server.build import Built, build
from emulator.server.complain import explain_file
from emulator.server.join import joined
from emulator.server.lifetime import PortFile, allow_connections, stop_signals, stoppable
from emulator.server.listen import Listeners, PortInUse, number_ports
from emulator.server.log import AccessLog, configure_logging
from emulator.server.patience import TimeLimits
from emulator.server.serving import with_vendor_mistakes
from emulator.server.spans import Spans
from emulator.server.tls import Tls, open_tls
from emulator.server.tracing import open_spans
from emulator.server.warm import warm_up
from emulator.server.watch import Stamps, Watcher, read_stamps
from emulator.settings import LAST_PORT, Settings, SettingsError
from emulator.state import StoreError
from emulator.vendors import VENDORS, environment_of

log = logging.getLogger("emulator")


def run(settings: Settings) -> int:
    """Serve until told to stop: 0 after SIGTERM, 130 after SIGINT; 2 with one clear line for what cannot be used."""
    allow_connections()
    with stoppable(), PortFile(settings.port_file) as port_file, open_spans(os.environ) as spans:
        return _run(settings, port_file, spans)


def _run(settings: Settings, port_file: PortFile, spans: Spans | None) -> int:
    stamps = read_stamps(settings.paths)
    try:
        with with_vendor_mistakes(VENDORS):
            loaded, library = load_paths(settings.paths, settings.scenario)
        built = build(
            loaded,
            library=library,
            seed=settings.seed,
            latency=_latency(settings),
            strict=settings.strict,
            header_faults=settings.header_faults,
            state_url=settings.state_url,
            state_loss=settings.state_loss,
            spans=spans,
        )
    except StoreError as error:
        raise SettingsError(f"--state-url: {error}") from None
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    tls = open_tls(settings)
    ports = _number_ports(settings.port)
    try:
        stopped = loop.run(_serve(settings, loaded, built, ports, tls, port_file, stamps))
    except StoreLostError as error:
        raise SettingsError(f"--state-url: {error}") from None
    except PortInUse as error:
        print(f"emulator: error: {error}", file=sys.stderr)
        return 2
    return 130 if stopped is signal.SIGINT else 0


def _number_ports(front: int) -> Mapping[str, int]:
    ports = number_ports(VENDORS, front)
    last = max(ports.values())
    if last > LAST_PORT:
        most = LAST_PORT - len(VENDORS)
        raise SettingsError(
            f"the port {front} is too high: the vendors take the {len(VENDORS)} that follow it; "
            f"try --port 0, which takes free ports, or at most {most}"
        )
    return ports


def _latency(settings: Settings) -> Latency | None:
    """Latency given by flags."""
    given = {name: value for name in ("ttft", "itl") if (value := getattr(settings, name)) is not None}
    try:
        for value in given.values():
            parse_duration(value)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return Latency.model_validate(given) if given else None


async def _serve(
    settings: Settings,
    loaded: LoadedScenario,
    built: Built,
    ports: Mapping[str, int],
    tls: Tls,
    port_file: PortFile,
    stamps: Stamps,
) -> signal.Signals:
    access = AccessLog(as_json=configure_logging(settings.log_level, settings.log_format))
    if settings.log_level in ("debug", "info"):
        built.journal.listeners.append(access)
    limits = TimeLimits(settings.head_timeout, settings.body_timeout, settings.idle_timeout)
    listeners = Listeners(built.runtime, built.control, settings.drain, limits)
    async with stop_signals() as stops, joined(built.runtime):
        names = (*settings.allow_host, *settings.tls_name)
        built.control.guard = Guard(tuple(map(str.lower, names)), settings.control_token)
        if tls.authority is not None:
            built.control.authority = tls.authority.pem
        await listeners.open(settings.host, ports, tls.context)
        await _announce(port_file, settings, listeners)
        for line in banner(loaded, built, listeners, tls):
            print(line, file=sys.stderr)
        sys.stderr.flush()
        garbage.begin()
        listeners.chores.append(garbage.Garbage(lambda: listeners.open_answers > 0).tidy)
        async with _watching(settings, built, listeners, stamps):
            warm_up(VENDORS, built.runtime.active.apps)
            stopped = await stops.get()
        await _close(listeners, stops)
        await _report(settings, built)
    access.flush()
    return stopped


async def _announce(port_file: PortFile, settings: Settings, listeners: Listeners) -> None:
    """Tell whoever waits for the port file."""
    try:
        port_file.write(listeners.urls)
    except OSError as error:
        await listeners.close()
        raise SettingsError(f"--port-file: cannot write {settings.port_file}: {explain_file(error)}") from None


async def _close(listeners: Listeners, stops: asyncio.Queue[signal.Signals]) -> None:
    """Let open answers end, unless told a second time to stop."""
    closing = asyncio.create_task(listeners.close())
    again = asyncio.create_task(stops.get())
    count = listeners.open_answers
    if count:
        what = "1 answer is" if count == 1 else f"{count} answers are"
        log.warning("stopping: %s still open; Ctrl-C or SIGTERM once more ends at once", what)
    await asyncio.wait({closing, again}, return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    closing.cancel()
    with suppress(asyncio.CancelledError):
        await closing


async def _report(settings: Settings, built: Built) -> None:
    """Write what was asked while it ran, for whoever looks at it afterwards."""
    if settings.report is None:
        return
    report = await make_report(built.runtime, ReportAsked())
    try:
        settings.report.write_text(report.render(), encoding="utf-8")
    except OSError as error:
        log.error("--report: cannot write %s: %s", settings.report, explain_file(error))


@asynccontextmanager
async def _watching(settings: Settings, built: Built, listeners: Listeners, stamps: Stamps) -> AsyncIterator[None]:
    """Files that change are reloaded meanwhile."""
    wanted = sys.stderr.isatty() if settings.watch is None else settings.watch
    if not (wanted and settings.paths):
        yield
        return
    watcher = Watcher(built.runtime, settings.paths, settings.scenario, listeners.follow, stamps)
    task = asyncio.create_task(watcher.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def banner(loaded: LoadedScenario, built: Built, listeners: Listeners, tls: Tls) -> Iterator[str]:
    """What a user copies from: one complete line for each client."""
    sources = " ".join(map(str, loaded.sources))
    title = f"{loaded.scenario.name} ({sources})" if sources else loaded.scenario.name
    yield f"emulator {__version__}   scenario {title}   seed {built.emulator.seed}"
    for name in built.runtime.active.apps:
        url = listeners.urls[name]
        exports = " ".join(f"{key}={value}" for key, value in environment_of(name, url).items())
        yield f"  {name:<11} {url}   {exports}"
    for name in built.runtime.active.apps.planes:
        yield f"  {name:<11} {listeners.urls.get(name, '')}"
    front = listeners.urls["front"]
    yield f"  {'all':<11} {front}/<vendor>"
    yield f"  {'console':<11} {front}/_emulator/"
    if tls.authority is not None:
        yield f"  to trust it, give clients  SSL_CERT_FILE={tls.authority.path}"
