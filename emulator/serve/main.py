"""Run ``emulator serve``: one process or several workers, with port file, banner and exit code."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace

from emulator import __version__
from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.http.listeners import PortInUse, number_ports
from emulator.http.tls import Tls
from emulator.observability.access_log import configure_logging, write_row, writes_json
from emulator.observability.spans import Spans, open_spans
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ParsedScenario
from emulator.serve.application import Application
from emulator.serve.port_file import PortFile
from emulator.serve.server import Announce, PreparedServer, prepare, serve
from emulator.serve.signals import allow_connections, stoppable
from emulator.serve.supervisor import Supervisor, reserved
from emulator.settings import LAST_PORT, Settings, SettingsError
from emulator.storage import HUB_PREFIX, is_memory
from emulator.vendors import VENDORS

log = logging.getLogger("emulator")


def run(settings: Settings) -> int:
    """Serve until a signal; return 0 after SIGTERM, 130 after SIGINT, 2 after an error that is printed."""
    allow_connections()
    with stoppable(), PortFile(settings.port_file) as port_file:
        if settings.workers == 1:
            with open_spans(os.environ) as spans:
                return _serve(settings, port_file, spans)
        return _supervise(settings, port_file)


def _serve(settings: Settings, port_file: PortFile, spans: Spans | None) -> int:
    prepared = prepare(settings, spans)
    if prepared is None:
        return 2
    return prepared.run(serve(prepared, _number_ports(settings.port), _build_announce(prepared, port_file)))


def _supervise(settings: Settings, port_file: PortFile) -> int:
    """Validate the settings here, then supervise workers."""
    prepared = prepare(replace(settings, state_url=HUB_PREFIX) if is_memory(settings.state_url) else settings)
    if prepared is None:
        return 2
    configure_logging(settings.log_level, settings.log_format)
    warning = find_workers_warning(sys.platform)
    if warning is not None:
        log.warning("%s", warning)
    ports = {**_number_ports(settings.port), **prepared.built.runtime.active.apps.planes}
    try:
        with reserved(settings.host, ports) as shared:
            return asyncio.run(Supervisor(settings, shared, _build_announce(prepared, port_file)).run())
    except PortInUse as error:
        print(f"emulator: error: {error}", file=sys.stderr)
        return 2


def find_workers_warning(system: str) -> str | None:
    """Return why several workers are of no use on a system. Source: LWN 601711."""
    if system != "darwin":
        return None
    return "--workers: macOS gives every connection to the worker that listened last; use --workers 1"


def _number_ports(front: int) -> Mapping[str, int]:
    ports = number_ports(VENDORS, front)
    last = max(ports.values())
    if last > LAST_PORT:
        maximum = LAST_PORT - len(VENDORS)
        raise SettingsError(
            f"the port {front} is too high: the vendors take the {len(VENDORS)} that follow it; "
            f"try --port 0, which takes free ports, or at most {maximum}"
        )
    return ports


def _build_announce(prepared: PreparedServer, port_file: PortFile) -> Announce:
    """Return the callback that writes the port file and the banner."""
    settings = prepared.settings

    def announce(urls: Mapping[str, str]) -> None:
        try:
            port_file.write(urls)
        except OSError as error:
            raise SettingsError(f"--port-file: cannot write {settings.port_file}: {explain_file(error)}") from None
        if writes_json(settings.log_format, sys.stderr):
            lines = [write_row("listening", _describe(prepared, urls))]
        else:
            lines = [escape(line) for line in banner(prepared.loaded, prepared.built, urls, prepared.tls)]
        print(*lines, sep="\n", file=sys.stderr, flush=True)
        if (warning := find_missing_target(prepared.loaded.scenario, settings)) is not None:
            log.warning("%s", warning)
        if settings.open:
            open_browser(f"{urls['front']}/_emulator/")

    return announce


def find_missing_target(scenario: Scenario, settings: Settings) -> str | None:
    """Name the flags that a scenario which forwards calls lacks."""
    policy = scenario.miss_policy
    flags = [] if settings.forward else ["--forward VENDOR=URL"]
    if policy == "record" and settings.record_to is None:
        flags.append("--record-to FOLDER")
    if policy not in ("forward", "record") or not flags:
        return None
    return f"the scenario has `unmatched: {policy}`, which needs {' '.join(flags)}; without it such calls get 501"


def open_browser(url: str) -> None:
    """Open a page in the user's browser, on a thread: a browser in a terminal ends when the user closes it."""
    import webbrowser  # slow to import

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _describe(prepared: PreparedServer, urls: Mapping[str, str]) -> Mapping[str, object]:
    """Return the content of the banner as JSON fields."""
    loaded, authority, forwarding = prepared.loaded, prepared.tls.authority, prepared.built.forwarding
    targets = {} if forwarding is None else {name: str(target) for name, target in forwarding.upstreams.items()}
    recorded_to = None if forwarding is None or forwarding.path is None else str(forwarding.path)
    return {
        "version": __version__,
        "scenario": loaded.scenario.name,
        "sources": [str(source) for source in loaded.sources],
        "seed": prepared.built.emulator.seed,
        "urls": dict(urls),
        "console": f"{urls['front']}/_emulator/",
        "ca": None if authority is None else str(authority.path),
        **({"forward": targets, "record_to": recorded_to} if targets else {}),
    }


def banner(loaded: ParsedScenario, built: Application, urls: Mapping[str, str], tls: Tls) -> Iterator[str]:
    """Yield the lines of the banner; ``emulator env VENDOR`` prints the variables of a vendor's clients."""
    sources = " ".join(map(str, loaded.sources))
    title = f"{loaded.scenario.name} ({sources})" if sources else loaded.scenario.name
    yield f"emulator {__version__}   scenario {title}   seed {built.emulator.seed}"
    for name in built.runtime.active.apps:
        yield f"  {name:<11} {urls[name]}"
    for name in built.runtime.active.apps.planes:
        yield f"  {name:<11} {urls.get(name, '')}"
    if built.forwarding is not None:
        for name, target in built.forwarding.upstreams.items():
            where = f", recorded to {built.forwarding.path}" if built.forwarding.path else ""
            yield f"  {name}: calls that the scenario forwards go to {target}{where}"
    front = urls["front"]
    yield f"  {'all':<11} {front}/<vendor>"
    yield f"  {'console':<11} {front}/_emulator/"
    yield "  variables   emulator env VENDOR"
    if tls.authority is not None:
        yield f"  to trust it, give clients  SSL_CERT_FILE={tls.authority.path}"
