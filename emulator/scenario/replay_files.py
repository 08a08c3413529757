"""Read the exchanges that a scenario replays from their folder (``replay.from``).

Both the server's loader and the client, which sends a scenario, read them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.core.text import escape
from emulator.scenario.errors import Mistake
from emulator.scenario.locations import KeyPath
from emulator.scenario.models import Scenario
from emulator.scenario.source import Document, explain

GIVEN = ("<given>", "")  # in place of a file: the folder is named in code, not in a scenario's file
_PATH: KeyPath = ("replay", "from")
_EXCHANGES: KeyPath = ("replay", "exchanges")
_SUFFIX = "*.exchange"
_MAX_TEXT = 256 * 1024**2  # characters of all exchanges of a scenario


@fast_dataclass(slots=True)
class ReplayFiles:
    """Exchanges of a scenario.

    Fields:
        texts: each exchange as a line with the name of its file, then its text; ``None``: no folder.
        files: the files that were read.
        mistakes: why the folder cannot be read.
    """

    texts: tuple[str, ...] | None = None
    files: list[Path] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)


def read_replay_files(document: Document, *, sent: bool) -> ReplayFiles:
    """Read the exchanges of ``replay.from``; ``sent``: the scenario was sent as text, so there is no folder."""
    found = ReplayFiles()
    replay = document.data.get("replay") if isinstance(document.data, dict) else None
    if isinstance(replay, dict) and isinstance(replay.get("exchanges"), list):
        found.mistakes += _parse_texts(replay["exchanges"])
    name = replay.get("from") if isinstance(replay, dict) else None
    if not isinstance(name, str) or not name or "\0" in name:
        return found
    if sent:
        text = "a scenario sent over HTTP has no folder; send the texts of the exchanges as `exchanges`"
        found.mistakes.append(Mistake(_PATH, text))
        return found
    source = document.locations.values[_PATH].file
    try:
        _read(Path(source).parent / name, found, None if source in GIVEN else Path(source).parent)
    except OSError as error:
        found.mistakes.append(Mistake(_PATH, f"{name}: {explain(error)}"))
    except ValueError as error:
        found.mistakes.append(Mistake(_PATH, str(error)))
    return found


def _parse_texts(texts: Iterable[JSON]) -> Iterator[Mistake]:
    """Parse the exchanges that a scenario holds as texts; yield the mistake of each malformed one."""
    from emulator.recording.exchange import ExchangeError, parse_exchange, remember_exchanges  # rarely needed

    kept, exchanges = [], []
    for number, text in enumerate(texts):
        if isinstance(text, str):
            name, _, rest = text.partition("\n")
            try:
                exchanges.append(parse_exchange(rest, name))
                kept.append(text)
            except ExchangeError as error:
                yield Mistake((*_EXCHANGES, number), str(error))
    remember_exchanges(tuple(kept), tuple(exchanges))


def _read(folder: Path, found: ReplayFiles, within: Path | None) -> None:
    """Read the exchanges of a folder; ``within``: the scenario's own, which a file of a scenario cannot leave.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is malformed, or they are too long.
    """
    from emulator.recording.exchange import parse_exchange, remember_exchanges, split_exchanges  # rarely needed

    _require_within(folder, within)
    if not folder.is_dir():
        folder.stat()  # raises if there is nothing
    files = sorted(folder.rglob(_SUFFIX)) if folder.is_dir() else [folder]
    if not files:
        raise ValueError(
            f"{escape(str(folder))}: a folder without recordings ({_SUFFIX}); `emulator record` makes them"
        )
    texts, exchanges = [], []
    for file in files:
        _require_within(file, within)
        for line, text in split_exchanges(file.read_text(encoding="utf-8")):
            exchanges.append(parse_exchange(text, str(file), line))
            texts.append(f"{file.name}\n{text}")
    if sum(map(len, texts)) > _MAX_TEXT:
        raise ValueError(f"the exchanges have more than {_MAX_TEXT // 1024**2} Mi characters")
    found.texts, found.files = tuple(texts), files
    remember_exchanges(found.texts, tuple(exchanges))


def _require_within(path: Path, within: Path | None) -> None:
    if within is not None and not path.resolve().is_relative_to(within.resolve()):
        raise ValueError("expected a folder in the scenario's folder or below it, after links are resolved")


def insert_exchanges(scenario: Scenario, texts: tuple[str, ...] | None) -> Scenario:
    """Return the scenario with its exchanges in place of the name of their folder."""
    if texts is None or scenario.replay is None:
        return scenario
    replay = scenario.replay.model_copy(update={"exchanges": texts})
    return scenario.model_copy(update={"replay": replay})


def inline_exchanges(data: JSON, texts: tuple[str, ...] | None) -> None:
    """Replace the name of the folder in a document by the texts of the exchanges."""
    replay = data.get("replay") if isinstance(data, dict) else None
    if texts is not None and isinstance(replay, dict) and isinstance(data, dict):
        others: Mapping[str, JSON] = {key: value for key, value in replay.items() if key != "from"}
        inlined: Object = {**others, "exchanges": list(texts)}
        data["replay"] = inlined
