"""Load scenarios: from files, folders, text or the package; report every mistake with file, line and column.

The server and all commands that take a scenario load it here.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path

from pydantic import ValidationError

from emulator.core.json import JSON, Object
from emulator.core.text import escape
from emulator.scenario import codes
from emulator.scenario.credentials import redact_names
from emulator.scenario.errors import Diagnostic, Mistake, explain_errors, find_nearest_name, sort_diagnostics
from emulator.scenario.locations import KeyPath
from emulator.scenario.models import BUILT_IN, Scenario, schema_json
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.scenario.price_files import find_price_file, insert_prices, refuse_price_file
from emulator.scenario.regex import Expressions
from emulator.scenario.replay_files import insert_exchanges, read_replay_files
from emulator.scenario.reply_files import insert_replies, read_reply_files
from emulator.scenario.source import Document, explain, join_documents, read_file, resolve_vocabulary_paths

# Replaces an invalid rule or limit, so that later ones keep their index; it matches no request.
_STAND_INS: Mapping[str, Object] = {
    "rules": {"name": "…", "times": {"probability": 0}, "pass": True},
    "limits": {"vendor": "…", "unit": "requests", "amount": 1, "window": "1s"},
}


def parse_valid_parts(data: JSON, mistakes: Iterable[KeyPath], name: str) -> Scenario:
    """Build a scenario from the valid parts: invalid items or sections are left out."""
    parts: Object = {**data} if isinstance(data, dict) else {}
    for path in mistakes:
        _leave_out(parts, path)
    try:
        return Scenario.model_validate({"name": name, **parts, "version": 1}, context=Expressions())
    except ValidationError:
        return Scenario(version=1, name=name)


def _leave_out(parts: Object, path: KeyPath) -> None:
    match path:
        case (str(section), int(index), *_) if section in _STAND_INS and isinstance(items := parts.get(section), list):
            parts[section] = [*items[:index], _STAND_INS[section], *items[index + 1 :]]
        case ("vendors", str(vendor), *_) if isinstance(vendors := parts.get("vendors"), dict):
            parts["vendors"] = {key: value for key, value in vendors.items() if key != vendor}
        case (str(section), *_):
            parts.pop(section, None)


_PACKAGE = Path(__file__).parent.parent
_PLACES = (_PACKAGE / "shipped", _PACKAGE.parent / "scenarios")


def find_bundled() -> Path:
    """Return the folder of the bundled scenarios."""
    return next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])


_SUFFIXES = (".yaml", ".yml")


def load_text(text: str | bytes, name: str = "<string>") -> ParsedScenario:
    """Load one scenario from YAML text.

    Raises:
        ScenarioError: with every mistake.
    """
    return _load([_parse(text, name)], (), name)


def load_scenario(paths: Sequence[Path]) -> ParsedScenario:
    """Load one scenario from one or several files; lists are joined in order, a value set twice must be equal.

    Raises:
        ScenarioError: with every mistake in all of them.
    """
    documents = [_read(path) for path in paths]
    loaded = _load(documents, tuple(paths), "+".join(str(path) for path in paths))
    if loaded.scenario.name:
        return loaded
    name = "+".join(_stem(path) for path in paths)
    named = loaded.scenario.model_copy(update={"name": name})
    return replace(loaded, scenario=named)


def find_files(folder: Path) -> list[Path]:
    """Return the scenario files of a folder, sorted by name.

    Raises:
        ScenarioError: the folder cannot be read.
    """
    try:
        return sorted((path for path in folder.iterdir() if path.suffix in _SUFFIXES), key=attrgetter("name"))
    except OSError as error:
        raise _unreadable(folder, error) from None


def load_library(folder: Path) -> dict[str, ParsedScenario]:
    """Load each file of a folder as a scenario, by file name without suffix.

    Raises:
        ScenarioError: with every mistake in all of them, or as the folder has no scenario.
    """
    library: dict[str, ParsedScenario] = {}
    rows: list[Diagnostic] = []
    parts: list[ParsedScenario] = []
    for path in find_files(folder):
        name = _stem(path)
        if name in library:
            rows.append(Diagnostic(str(path), 0, 0, "", f"a second scenario called {name}", code=codes.TAKEN))
            continue
        try:
            library[name] = load_scenario([path])
        except ScenarioError as error:
            rows.extend(error.rows)
            parts.extend(error.parts)
    if not library and not rows:
        rows.append(Diagnostic(str(folder), 0, 0, "", f"a folder without scenarios (*{', *'.join(_SUFFIXES)})"))
    if rows:
        raise ScenarioError(rows, parts)
    return library


def load_paths(paths: Sequence[Path], name: str | None = None) -> tuple[ParsedScenario, dict[str, ParsedScenario]]:
    """Load the first scenario and the library from the paths of the command line.

    Several files make one scenario. One folder is a library, of which ``name`` selects one; the default is the only
    one, or ``default``. Without paths it is the built-in scenario, or with ``name`` a bundled one.

    Raises:
        ScenarioError: a mistake in a file, an unknown name, a folder among other paths, or an ambiguous folder.
    """
    folders = [path for path in paths if os.path.isdir(path)]  # false for a path that cannot be read
    if folders and len(paths) > 1:
        raise ScenarioError([Diagnostic(str(folders[0]), 0, 0, "", "a folder is a library and stands alone")])
    if not paths and name is None:
        return ParsedScenario(BUILT_IN), {}
    if paths and not folders:
        loaded = load_scenario(paths)
        library = {loaded.scenario.name: loaded}
        return (loaded if name is None else select(library, name)), library
    folder = folders[0] if folders else find_bundled()
    library = load_library(folder)
    return (_choose(library, folder) if name is None else select(library, name)), library


@cache
def load_bundled() -> Mapping[str, ParsedScenario]:
    """Return the bundled scenarios, loaded at the first call."""
    return load_library(find_bundled())


def _choose(library: Mapping[str, ParsedScenario], folder: Path) -> ParsedScenario:
    """Return the default scenario of a folder.

    Raises:
        ScenarioError: there are several, and none is called ``default``.
    """
    if "default" in library or len(library) == 1:
        return library.get("default") or next(iter(library.values()))
    message = f"several scenarios and no default.yaml: {', '.join(library)}; choose one with --scenario NAME"
    raise ScenarioError([Diagnostic(str(folder), 0, 0, "", message)])


def select(library: Mapping[str, ParsedScenario], name: str) -> ParsedScenario:
    """Return the scenario of a library by its file name or its own name.

    Raises:
        ScenarioError: there is no such scenario.
    """
    by_own_name = {loaded.scenario.name: loaded for loaded in library.values()}
    found = library.get(name) or by_own_name.get(name)
    if found is None:
        hint = find_nearest_name(name, [*library, *by_own_name])
        there_are = "" if hint else f"; there are {', '.join(library)}"
        raise ScenarioError([Diagnostic(name, 0, 0, "", f"no such scenario{there_are}", hint)])
    return found


def _stem(path: Path) -> str:
    return escape(path.stem.removesuffix(".emulator"))  # escapes bytes of the name that are no UTF-8


def _read(path: Path) -> Document:
    try:
        return _parse(read_file(path), str(path))
    except OSError as error:
        return Document(rows=list(_unreadable(path, error).rows))


def _unreadable(path: Path, error: OSError) -> ScenarioError:
    return ScenarioError([Diagnostic(str(path), 0, 0, "", explain(error), code=codes.UNREADABLE)])


def _parse(text: str | bytes, file: str) -> Document:
    # PyYAML is slow to import, and the built-in scenario needs none.
    from emulator.scenario.yaml_reader import parse_document

    document = parse_document(text, file)
    document.text = text if isinstance(text, str) else text.decode(errors="replace")
    document.ignored = dict(codes.read_ignored(document.text, file))
    return document


def _load(documents: Sequence[Document], sources: tuple[Path, ...], name: str) -> ParsedScenario:
    """Join and validate documents.

    Raises:
        ScenarioError: with every mistake.
    """
    joined = join_documents(documents)
    if sources:
        resolve_vocabulary_paths(joined)
    prices = _read_prices(joined, sent=not sources)
    scenario, found = _validate(joined) if all(isinstance(d.data, dict) for d in documents) else (None, [])
    answers = read_reply_files(joined, sent=not sources)
    recorded = read_replay_files(joined, sent=not sources)
    found += [*answers.mistakes, *recorded.mistakes]
    noted = {(row.file, row.line, row.column) for row in joined.rows}
    rows = [mistake.locate(joined.locations, name) for mistake in found]
    rows = [*joined.rows, *(row for row in rows if (row.file, row.line, row.column) not in noted)]
    if rows or scenario is None:
        part = ParsedScenario(
            parse_valid_parts(joined.data, [mistake.path for mistake in found], name),
            sources,
            joined.data,
            joined.locations,
            ignored=joined.ignored,
        )
        raise ScenarioError(sort_diagnostics(rows, [str(source) for source in sources]), [part])
    scenario = redact_names(insert_exchanges(insert_replies(scenario, answers.texts), recorded.texts))
    answers.files += recorded.files if prices is None else [*recorded.files, prices]
    answers.texts |= {("replay", "exchanges", number): text for number, text in enumerate(recorded.texts or ())}
    text = documents[0].text if len(documents) == 1 else None
    return ParsedScenario(scenario, sources, joined.data, joined.locations, answers, text, joined.ignored)


def _read_prices(document: Document, *, sent: bool) -> Path | None:
    """Put the prices of a file into the scenario; return the file, if it names one."""
    file = find_price_file(document)
    if file is None:
        return None
    if sent:
        refuse_price_file(document)
        return None
    try:
        insert_prices(document, _parse(read_file(file), str(file)))
    except OSError as error:
        refuse_price_file(document, error)
    return file


@cache
def _schema() -> Object:
    return schema_json()


def _validate(joined: Document) -> tuple[Scenario | None, list[Mistake]]:
    taken = list(_find_taken_names(joined))
    try:
        return Scenario.model_validate(joined.data, context=Expressions()), taken
    except ValidationError as error:
        return None, [*explain_errors(error, joined.data, _schema()), *taken]


def _find_taken_names(joined: Document) -> Iterable[Mistake]:
    """Yield a mistake for each rule or limit with the name of an earlier one."""
    for section, what in (("rules", "rule"), ("limits", "limit")):
        items = joined.data.get(section) if isinstance(joined.data, dict) else None
        seen: dict[str, KeyPath] = {}
        for index, item in enumerate(items if isinstance(items, list) else ()):
            name = item.get("name") if isinstance(item, dict) else None
            if not isinstance(name, str):
                continue
            path = (section, index, "name")
            if seen.setdefault(name, path) != path:
                message = f"the name is taken by the {what} at {joined.locations.values[seen[name]]}"
                yield Mistake(path, message, code=codes.TAKEN)
