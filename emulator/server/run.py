"""From settings to a running emulator, and out again."""

import asyncio
import gc
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from emulator import __version__
from emulator.core.duration import parse_duration
from emulator.engine.text import load_bank
from emulator.engine.tokenizer import tokenizer_for
from emulator.latency import Latency
from emulator.scenario.errors import ScenarioError
from emulator.scenario.load import load_paths
from emulator.scenario.loaded import LoadedScenario
from emulator.server import loop
from emulator.server.listen import Listeners, PortInUse, number_ports, stop_signals, write_port_file
from emulator.server.log import AccessLog, configure_logging
from emulator.server.runtime import Built, build
from emulator.server.serving import with_vendor_mistakes
from emulator.server.tls import Tls, open_tls
from emulator.server.watch import Watcher
from emulator.settings import Settings, SettingsError
from emulator.state import StoreError
from emulator.vendors import VENDORS, environment_of

_GARBAGE = (50_000, 20, 100)  # what lives long is the journal's, which is no garbage and need not be searched often
_YIELD = 0.0002  # seconds after which the warm-up lets an answer go first


def run(settings: Settings) -> int:
    """Serve until told to stop: 0 after SIGTERM, 130 after SIGINT; 2 with one clear line for what cannot be used."""
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
        )
    except StoreError as error:
        raise SettingsError(f"--state-url: {error}") from None
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    tls = open_tls(settings)
    try:
        stopped = loop.run(_serve(settings, loaded, built, tls))
    except PortInUse as error:
        print(f"emulator: error: {error}", file=sys.stderr)
        return 2
    return 130 if stopped is signal.SIGINT else 0


def _latency(settings: Settings) -> Latency | None:
    """Latency given by flags."""
    given = {name: value for name in ("ttft", "itl") if (value := getattr(settings, name)) is not None}
    try:
        for value in given.values():
            parse_duration(value)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return Latency.model_validate(given) if given else None


async def _serve(settings: Settings, loaded: LoadedScenario, built: Built, tls: Tls) -> signal.Signals:
    access = AccessLog(as_json=configure_logging(settings.log_level, settings.log_format))
    if settings.log_level in ("debug", "info"):
        built.journal.listeners.append(access)
    listeners = Listeners(built.runtime, built.control)
    ports = number_ports(VENDORS, settings.port)
    async with stop_signals() as stopped:
        if tls.authority is not None:
            built.control.authority = tls.authority.pem
        await listeners.open(settings.host, ports, tls.context)
        if settings.port_file is not None:
            write_port_file(settings.port_file, listeners.urls)
        for line in banner(loaded, built, listeners, tls):
            print(line, file=sys.stderr)
        sys.stderr.flush()
        gc.freeze()
        gc.set_threshold(*_GARBAGE)
        async with _watching(settings, built, listeners):
            threading.Thread(target=_warm_up, args=(built,), daemon=True).start()  # nobody waits for it at the end
            await stopped
        await listeners.close()
    access.flush()
    return stopped.result()


def _warm_up(built: Built) -> None:
    """Have the prose of each vendor's first model ready, so that no early answer waits for it."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_YIELD)
    for app in built.apps:
        model = next((d.tokenizer for d in app.service.deployments.values() if d.task == "chat"), None)
        if model is not None:
            load_bank(tokenizer_for(model), "en_US")
    sys.setswitchinterval(usual)


@asynccontextmanager
async def _watching(settings: Settings, built: Built, listeners: Listeners) -> AsyncIterator[None]:
    """Files that change are reloaded meanwhile."""
    wanted = sys.stderr.isatty() if settings.watch is None else settings.watch
    if not (wanted and settings.paths):
        yield
        return
    watcher = Watcher(built.runtime, settings.paths, settings.scenario, listeners.follow)
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
    front = listeners.urls["front"]
    for name in built.runtime.active.apps:
        exports = " ".join(f"{key}={value}" for key, value in environment_of(name, listeners.urls[name]).items())
        yield f"  {name:<11} {front}/{name:<12} {exports}"
    yield f"  {'health':<11} {front}/_emulator/health"
    if tls.authority is not None:
        yield f"  to trust it, give clients  SSL_CERT_FILE={tls.authority.path}"
