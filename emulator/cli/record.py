"""``emulator record``: stand between clients and the real services, and write every call to a folder.

``recording/server.py`` listens and passes calls on; this module has the banner, a line for each call and the summary.
"""

import asyncio
import gc
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from emulator.core.os_errors import explain_file
from emulator.core.text import escape
from emulator.http.listeners import PortInUse, number_ports
from emulator.http.timeouts import Timeouts
from emulator.http.tls import Tls, open_tls
from emulator.recording.exchange import Exchange
from emulator.recording.folder import ExchangeFolder, Totals
from emulator.recording.process import ProcessWriters
from emulator.recording.relay import Relay, UpstreamError, open_context, parse_upstreams
from emulator.recording.server import RecordServer
from emulator.serve.port_file import PortFile
from emulator.serve.server import run
from emulator.serve.signals import allow_connections, stop_signals, stoppable
from emulator.settings import Settings, SettingsError
from emulator.vendors import VENDORS, environment_of

_SHOWN = 3  # variables of a vendor with its URL; the credentials remain those of the service


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Options of the command.

    Fields:
        silence: seconds without a byte after which a response is given up.
        fails_on_secret: exit with 1 if a credential stood anywhere but in credential headers.
    """

    folder: Path
    upstreams: Sequence[str]
    authority: Path | None = None
    silence: float = 600.0
    fails_on_secret: bool = False


def record(options: RecordOptions, settings: Settings) -> int:
    """Record until a signal; return 0, or 1 with ``--fail-on-secret`` after an exposed credential."""
    try:
        upstreams = parse_upstreams(options.upstreams, VENDORS)
        open_context(options.authority)
    except UpstreamError as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(f"--upstream-ca: {explain_file(error)}") from None
    allow_connections()
    with stoppable(), PortFile(settings.port_file) as port_file:
        try:
            return run(_record(options, settings, upstreams, port_file, open_tls(settings)))
        except PortInUse as error:
            print(f"emulator: error: {error}", file=sys.stderr)
            return 2


async def _record(
    options: RecordOptions, settings: Settings, upstreams: dict[str, str], port_file: PortFile, tls: Tls
) -> int:
    progress = _Progress()
    folder = ExchangeFolder(options.folder, progress.show)
    progress.totals = folder.totals
    try:
        folder.prepare()
    except OSError as error:
        raise SettingsError(f"--to: {escape(str(error.filename))}: {explain_file(error)}; name a folder") from None
    folder.writers = ProcessWriters()
    limits = Timeouts(settings.head_timeout, settings.body_timeout, settings.idle_timeout)
    relay = Relay(upstreams, authority=options.authority, silence=options.silence)
    server = RecordServer(relay, folder, limits)
    async with stop_signals() as stops:
        await server.open(settings.host, number_ports(VENDORS, settings.port), tls.context)
        gc.freeze()  # a full collection takes milliseconds, for which streams wait; imported modules stay
        try:
            port_file.write(server.urls)
        except OSError as error:
            await server.close()
            raise SettingsError(f"--port-file: {explain_file(error)}") from None
        print(*_banner(server, upstreams, options.folder, tls), sep="\n", file=sys.stderr, flush=True)
        stopped = await stops.get()
        closing = asyncio.create_task(server.close())
        with suppress(asyncio.CancelledError):
            await closing
    print(*map(escape, summarize(folder.totals, options.folder)), sep="\n", file=sys.stderr)
    if options.fails_on_secret and folder.totals.exposed:
        return 1
    return 0 if stopped in (signal.SIGTERM, signal.SIGINT) else 130


def _banner(server: RecordServer, upstreams: dict[str, str], folder: Path, tls: Tls) -> Iterator[str]:
    yield f"recording to {escape(str(folder))}"
    for name, upstream in upstreams.items():
        url = server.urls[name]
        bases = [f"{key}={value}" for key, value in environment_of(name, url).items() if value.startswith(url)]
        yield f"  {name:<11} {url} -> {escape(upstream)}   {' '.join(bases[:_SHOWN])}"
    yield f"  {'all':<11} {server.urls['front']}/<vendor>"
    if tls.authority is not None:
        yield f"  to trust it, give clients  SSL_CERT_FILE={tls.authority.path}"


class _Progress:
    """One line for each call."""

    totals = Totals()

    def show(self, path: Path, exchange: Exchange) -> None:
        count = self.totals.calls
        print(
            escape(
                f"{count:>5}  {exchange.vendor} {exchange.method} {exchange.path} {exchange.status or '-'} "
                f"{exchange.ending} {exchange.ended:.3f} s   {path.name}   in all {self.totals.tokens} tokens, "
                f"credentials cut: {self.totals.secrets}"
            ),
            file=sys.stderr,
            flush=True,
        )


def summarize(totals: Totals, folder: Path) -> Iterator[str]:
    """Yield the lines at the end of a recording."""
    ends = ", ".join(f"{count} {ending}" for ending, count in sorted(totals.endings.items()))
    yield f"{totals.calls} calls recorded in {folder}" + (f" ({ends})" if ends else "")
    yield f"{totals.tokens} tokens, {totals.received} bytes received, {totals.unkept} bytes of long bodies left out"
    yield f"credentials cut: {totals.secrets}"
    if totals.exposed:
        yield f"{len(totals.exposed)} of the places are not credential headers:"
        yield from (f"  {place}" for place in totals.exposed)
    yield from (f"not recorded: {reason}" for reason in totals.failed)
