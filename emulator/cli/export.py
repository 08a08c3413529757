"""``emulator export``: print a running emulator's journal as HAR, as a vcrpy cassette, or as recorded exchanges."""

import json
import sys
from collections.abc import Iterable
from warnings import catch_warnings, simplefilter

from emulator.cli.trust import choose_trust
from emulator.client import EmulatorClient, EmulatorError
from emulator.client.exposure import TokenExposedWarning
from emulator.client.request import build_token_header
from emulator.core.text import escape
from emulator.imports.cassettes import format_cassette, read_har
from emulator.recording.exchange import Exchange, format_exchange
from emulator.settings import Settings


def export(url: str, form: str, session: str, settings: Settings) -> int:
    """Print the journal; return 1 if no emulator responds. What the format cannot hold is listed."""
    try:
        text = _fetch(url, session, settings)
    except (EmulatorError, OSError, ValueError) as error:
        print(f"no export: {escape(str(error))}", file=sys.stderr)
        return 1
    if form == "har":
        print(text)
        return 0
    found = read_har(json.loads(text), "journal", "")
    early = sum(exchange.ending != "whole" for exchange in found.exchanges)
    if form == "vcr" and early:
        found.lost.append(f"journal: vcrpy keeps no endings: {early} responses that ended early count as whole")
    for line in found.lost:
        print(f"not carried over: {escape(line)}", file=sys.stderr)
    calls = zip(found.urls, found.exchanges, strict=True)
    print(format_cassette(calls) if form == "vcr" else _format_exchanges(found.exchanges), end="")
    return 0


def _fetch(url: str, session: str, settings: Settings) -> str:
    headers = build_token_header(None)
    with catch_warnings():
        simplefilter("ignore", TokenExposedWarning)
        with EmulatorClient(url, tls=choose_trust(url, settings, has_token=bool(headers))) as client:
            return client.session(session).har() if session else client.har()


def _format_exchanges(exchanges: Iterable[Exchange]) -> str:
    """Format exchanges one after the other, as a file of several recordings."""
    return "\n".join(map(format_exchange, exchanges))
