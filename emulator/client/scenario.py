"""Compose a test's scenario from files, YAML text, mappings and single keys, before a client sends it.

Files that the scenario names (replies, exchanges, prices) are read here, as the emulator may run on another machine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from emulator.client.request import ControlRequest, Steps
from emulator.control.models import Parsed, Place, Problem
from emulator.core.json import JSON, Object, as_object, dump_json, parse_json
from emulator.core.os_errors import explain_file
from emulator.scenario.codes import UNREADABLE
from emulator.scenario.errors import Diagnostic
from emulator.scenario.locations import KeyPath, Location, Locations, format_path, look_up
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.price_files import find_price_file, insert_prices, refuse_price_file
from emulator.scenario.replay_files import inline_exchanges, read_replay_files
from emulator.scenario.reply_files import read_reply_files
from emulator.scenario.source import Document, join_documents, read_file, resolve_vocabulary_paths

Value = object
"""Value of a scenario's key, as JSON has it; any type, so that mypy accepts mappings that were inferred."""
Source = str | Path | Mapping[str, Value]

_INLINE = "<given>"  # in place of a file's name
_OF_OTHER = re.compile(r"by the (rule|limit) at \S+:\d+:\d+")
_SUFFIXES = (".yaml", ".yml", ".json")


def compose(sources: Sequence[Source], keys: Mapping[str, Value], name: str = "test") -> Steps[Document]:
    """Join sources into one scenario; keys win over sources, and lists in keys come first.

    ``version`` and ``name`` may be missing. The emulator parses YAML, so that the client needs no parser.

    Raises:
        ScenarioError: a source cannot be read or is not YAML, or two sources set a key differently.
    """
    __tracebackhide__ = True
    documents = []
    for source in sources:
        documents.append((yield from _read(source)))
    given = {key: value for key, value in keys.items() if value is not None}
    for document in documents:
        if isinstance(document.data, dict):
            document.data = {key: value for key, value in document.data.items() if _stays(value, given.get(key))}
    joined = join_documents([_locate(given), *documents])
    resolve_vocabulary_paths(joined)
    yield from _inline_prices(joined)
    rows = [*joined.rows, *_inline_reply_files(joined), *_inline_exchanges(joined)]
    if rows:
        raise ScenarioError([_drop_location(row) for row in rows])
    joined.data = complete(joined.data, name)
    return joined


def _inline_reply_files(document: Document) -> list[Diagnostic]:
    """Replace references to reply files by their texts, as files are not sent; return the mistakes in them."""
    answers = read_reply_files(document, sent=False)
    for path, text in answers.texts.items():
        reply = as_object(look_up(document.data, path))
        del reply["file"]
        reply["text"] = text
    return [mistake.locate(document.locations, "") for mistake in answers.mistakes]


def _inline_exchanges(document: Document) -> list[Diagnostic]:
    """Replace the folder of a replay by its exchanges; return the mistakes in them."""
    recorded = read_replay_files(document, sent=False)
    inline_exchanges(document.data, recorded.texts)
    return [mistake.locate(document.locations, "") for mistake in recorded.mistakes]


def _inline_prices(document: Document) -> Steps[None]:
    """Replace the name of a price file by its prices, as files are not sent."""
    file = find_price_file(document)
    if file is not None:
        try:
            data = read_file(file)
        except OSError as error:
            refuse_price_file(document, error)
        else:
            insert_prices(document, (yield from _parse(data, str(file))))


def complete(data: JSON, name: str) -> Object:
    """Add the keys that every scenario has."""
    return {"version": 1, "name": name, **(data if isinstance(data, dict) else {})}


def _stays(value: JSON, given: Value) -> bool:
    """Return whether a file's value stays when a key is given: the key is absent, or both are lists."""
    return given is None or (isinstance(value, list) and isinstance(given, list | tuple))


def _read(source: Source) -> Steps[Document]:
    if isinstance(source, Mapping):
        return _locate(source)
    if isinstance(source, Path) or _is_path(source):
        return (yield from _parse(_read_file(Path(source)), str(source)))
    return (yield from _parse(source.encode("utf-8", "surrogatepass"), _INLINE))


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        row = Diagnostic(str(path), 0, 0, "", explain_file(error, path), code=UNREADABLE)
        raise ScenarioError([row]) from None


def _locate(source: Mapping[str, Value]) -> Document:
    """Convert a mapping into a document; each part is located in line 1, as a mapping has no text."""
    document = Document(parse_json(dump_json({**source})))  # type: ignore[dict-item]  # the server validates
    waiting: list[tuple[KeyPath, JSON]] = [((), document.data)]
    while waiting:
        path, value = waiting.pop()
        document.locations.values[path] = Location(_INLINE, 1, 1, path)
        if isinstance(value, dict):
            waiting.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, list):
            waiting.extend(((*path, number), item) for number, item in enumerate(value))
    return document


def _parse(text: bytes, file: str) -> Steps[Document]:
    parsed = (yield ControlRequest("POST", "/_emulator/parse", text)).read(Parsed)
    locations = Locations(_place(parsed.values, file), _place(parsed.keys, file))
    rows = [Diagnostic(**{**dict(row), "file": file}) for row in parsed.errors]
    return Document(parsed.document, locations, rows)


def _place(places: Sequence[Place], file: str) -> dict[KeyPath, Location]:
    return {(*place.path,): Location(file, place.line, place.column, (*place.path,)) for place in places}


def _is_path(text: str) -> bool:
    return "\n" not in text and text.endswith(_SUFFIXES)


def explain_refusal(problem: Problem, document: Document) -> ScenarioError:
    """Convert the emulator's mistakes into locations in the author's sources."""
    rows = [_drop_place_of_other(Diagnostic(**dict(row))) for row in problem.errors or ()]
    return ScenarioError([_drop_location(_find_place(row, document)) for row in rows])


def _drop_place_of_other(row: Diagnostic) -> Diagnostic:
    """Remove the position of another rule or limit from a message, as it is in a text that the client has made."""
    return replace(row, message=_OF_OTHER.sub(r"by another \1", row.message))


def _find_place(row: Diagnostic, document: Document) -> Diagnostic:
    """Locate a mistake in the file its part came from."""
    places = {format_path(path): place for path, place in document.locations.values.items()}
    places |= {format_path(path): place for path, place in document.locations.keys.items()}
    known = max((path for path in places if _lies_in(row.path, path)), key=len, default="")
    place = places.get(known)
    if place is None or not known:
        return replace(row, file=_INLINE)
    path = format_path(place.path) + row.path[len(known) :]
    return replace(row, file=place.file, line=place.line, column=place.column, path=path)


def _lies_in(path: str, outer: str) -> bool:
    return path == outer or path.startswith((outer + ".", outer + "["))


def _drop_location(row: Diagnostic) -> Diagnostic:
    """Remove the location of a mistake that is in no file."""
    return replace(row, file="", line=0, column=0) if row.file == _INLINE else row
