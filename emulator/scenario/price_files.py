"""Insert the prices of the file that ``prices`` of a scenario names; a mistake if the file cannot be read.

Both the server's loader and the client, which sends a scenario, insert them.
"""

from pathlib import Path

from emulator.core.json import JSON
from emulator.scenario import codes
from emulator.scenario.errors import Diagnostic
from emulator.scenario.source import Document, explain

_KEY = "prices"


def find_price_file(document: Document) -> Path | None:
    """Return the file that ``prices`` names, which is relative to the scenario's; ``None`` if it names none."""
    name = _read_name(document.data)
    if name is None:
        return None
    return Path(document.locations.values[_KEY,].file).parent / Path(name).expanduser()


def _read_name(data: JSON) -> str | None:
    name = data.get(_KEY) if isinstance(data, dict) else None
    return name if isinstance(name, str) and name and "\0" not in name else None


def refuse_price_file(document: Document, error: OSError | None = None) -> None:
    """Add a mistake: the file cannot be read, or the scenario was sent as text."""
    text = "a scenario sent over HTTP has no folder of files; write the prices themselves"
    if error is not None:
        text = f"{_read_name(document.data)}: {explain(error)}"
    document.rows.append(Diagnostic.at(document.locations.values[_KEY,], text, codes.UNREADABLE))


def insert_prices(document: Document, prices: Document) -> None:
    """Replace the file's name by its prices, each of which stays located in the file."""
    document.rows += prices.rows
    if not isinstance(document.data, dict):
        return
    if not isinstance(prices.data, dict) and not prices.rows:
        place = prices.locations.values.get((), document.locations.values[_KEY,])
        text = "expected a mapping from deployments to their prices, such as gpt-4o: {input: 2.5, output: 10}"
        document.rows.append(Diagnostic.at(place, text))
    document.data[_KEY] = prices.data if isinstance(prices.data, dict) else {}
    for known, added in (
        (document.locations.values, prices.locations.values),
        (document.locations.keys, prices.locations.keys),
    ):
        known.update({(_KEY, *path): place for path, place in added.items()})
