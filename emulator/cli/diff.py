"""``emulator diff``: compare two recordings, or a recording with what the emulator answers to its requests.

``recording/compare.py`` finds the differences; this module sends the recorded requests and prints the result.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import aiohttp
from yarl import URL

from emulator.core.http import Headers
from emulator.core.json import dump_text
from emulator.core.os_errors import explain_file
from emulator.core.text import escape, wants_colour
from emulator.handler.replay import Resolver
from emulator.recording.canonical import PARTS
from emulator.recording.compare import RecordingComparison, build_overlay, compare, format_table, to_json
from emulator.recording.exchange import Exchange, ExchangeError, load_folder
from emulator.recording.folder import ExchangeFolder
from emulator.recording.relay import Relay, select_headers
from emulator.recording.replay import RecordedExchange, Recording, find_models
from emulator.recording.server import RecordServer
from emulator.serve.in_process import start_here
from emulator.vendors import VENDORS

_CANNOT = 2
_TIMEOUT = 30.0  # seconds for one response of the emulator
_KEY = ("Authorization", "Bearer emulator-key"), ("api-key", "emulator-key")


def diff(first: Path, second: Path | None, against: str | None, *, as_json: bool, profile: Path | None) -> int:
    """Compare; return 0 if equal, 1 with drift, 2 if the recordings cannot be compared."""
    try:
        one = load_folder(first)
        two = load_folder(second) if second is not None else _ask_emulator(one, against or "")
    except ExchangeError as error:
        print(f"emulator: error: {escape(str(error))}", file=sys.stderr)
        return _CANNOT
    except OSError as error:
        print(
            f"emulator: error: {escape(f'cannot read {error.filename}: {explain_file(error, error.filename)}')}",
            file=sys.stderr,
        )
        return _CANNOT
    if against:
        one = [exchange for exchange in one if exchange.vendor == against]
    comparison = compare(_index(one), _index(two))
    if profile is not None:
        _write_overlay(comparison, profile, against or (one[0].vendor if one else ""))
    if as_json:
        print(dump_text(dict(to_json(comparison))))
    else:
        print(*map(_keep_colours, format_table(comparison, colour=wants_colour(sys.stdout))), sep="\n")
    return comparison.exit_code


def _keep_colours(line: str) -> str:
    return "\x1b".join(map(escape, line.split("\x1b")))


def _index(exchanges: Sequence[Exchange]) -> list[RecordedExchange]:
    """Return exchanges with their canonical requests, in order; those of unknown vendors are left out."""
    found: list[RecordedExchange] = []
    for vendor in dict.fromkeys(exchange.vendor for exchange in exchanges):
        if vendor in VENDORS:
            found += Recording(exchanges, vendor, Resolver(VENDORS[vendor]), PARTS).calls
    return found


def _ask_emulator(exchanges: Sequence[Exchange], vendor: str) -> list[Exchange]:
    """Send the recorded requests to an emulator of this process, and record its responses."""
    mine = [exchange for exchange in exchanges if exchange.vendor == vendor]
    with tempfile.TemporaryDirectory(prefix="emulator-diff-") as place:
        asyncio.run(_record(mine, vendor, Path(place)))
        return load_folder(Path(place))


async def _record(exchanges: Sequence[Exchange], vendor: str, place: Path) -> None:
    models = find_models(exchanges, vendor, Resolver(VENDORS[vendor]))
    known = VENDORS[vendor].catalogue(VENDORS[vendor].settings())
    names = {deployment.name for deployment in known}
    added = [{"vendor": vendor, "name": name, "task": task} for name, task in models.items() if name not in names]
    emulator = await asyncio.to_thread(start_here, [], {"deployments": list(added)} if added else {})
    folder = ExchangeFolder(place)
    folder.prepare()
    server = RecordServer(Relay({vendor: emulator.url(vendor)}), folder)
    await server.open("127.0.0.1", {})
    try:
        async with aiohttp.ClientSession(auto_decompress=False) as client:
            for exchange in exchanges:
                await _send(client, server.urls[vendor], exchange)
    finally:
        await server.close()
        await asyncio.to_thread(emulator.close)


async def _send(client: aiohttp.ClientSession, url: str, exchange: Exchange) -> None:
    """Send a recorded request with a credential in place of the one that was cut; its response is recorded."""
    headers: Headers = tuple(
        (name, value)
        for name, value in exchange.request_headers
        if name.lower() not in ("authorization", "api-key") and not name.lower().startswith("x-emulator-")
    )
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
    try:
        async with client.request(
            exchange.method,
            URL(url + exchange.target, encoded=True),
            headers=select_headers((*headers, *_KEY)),
            data=exchange.request_body or None,
            allow_redirects=False,
            timeout=timeout,
        ) as response:
            await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError):
        return  # how it ended is recorded


def _write_overlay(comparison: RecordingComparison, file: Path, vendor: str) -> None:
    """Write accepted drift as a scenario; print what no rule expresses."""
    rules, left = build_overlay(comparison, vendor)
    lines = ["version: 1", "rules:" if rules else "rules: []", *(f"  - {dump_text(dict(rule))}" for rule in rules)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for line in left:
        print(f"no rule expresses: {escape(line)}", file=sys.stderr)
