"""Files to scenarios; every mistake with file, line and column, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from emulator.core.json import JSON, Object
from emulator.scenario.answers import put_answers, read_answers
from emulator.scenario.document import Document, join_documents, parse_document
from emulator.scenario.errors import ScenarioError
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.locations import KeyPath
from emulator.scenario.mistakes import Mistake, Row, explain_errors, nearest, sort_rows
from emulator.scenario.schema import BUILT_IN, Scenario, schema_json

_SUFFIXES = (".yaml", ".yml")


def load_text(text: str | bytes, name: str = "<string>") -> LoadedScenario:
    """Load one scenario from YAML text.

    Raises:
        ScenarioError: with every mistake.
    """
    return _load([parse_document(text, name)], (), name)


def load_scenario(paths: Sequence[Path]) -> LoadedScenario:
    """Load one scenario from one or several files: lists join in order, a value set twice must be the same.

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
    """The scenarios of a folder, in order of their names."""
    return sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)


def load_library(folder: Path) -> dict[str, LoadedScenario]:
    """Load each file of a folder as a scenario of its own, by the file's name without its ending.

    Raises:
        ScenarioError: with every mistake in all of them.
    """
    library: dict[str, LoadedScenario] = {}
    rows: list[Row] = []
    parts: list[LoadedScenario] = []
    for path in find_files(folder):
        name = _stem(path)
        if name in library:
            rows.append(Row(str(path), 0, 0, "", f"a second scenario called {name}"))
            continue
        try:
            library[name] = load_scenario([path])
        except ScenarioError as error:
            rows.extend(error.rows)
            parts.extend(error.parts)
    if rows:
        raise ScenarioError(rows, parts)
    return library


def load_paths(paths: Sequence[Path], name: str | None = None) -> tuple[LoadedScenario, dict[str, LoadedScenario]]:
    """What the command line means: the scenario to begin with, and the library to switch within.

    Files make one scenario; one folder is a library, of which ``name`` picks one (default: ``default`` if
    there is one, else the built-in); no path is the built-in.

    Raises:
        ScenarioError: a mistake in a file, an unknown name, or a folder beside other paths.
    """
    folders = [path for path in paths if path.is_dir()]
    if folders and len(paths) > 1:
        raise ScenarioError([Row(str(folders[0]), 0, 0, "", "a folder is a library and stands alone")])
    library = load_library(folders[0]) if folders else {}
    if not folders and paths:
        loaded = load_scenario(paths)
        library = {loaded.scenario.name: loaded}
    if name is not None:
        return select(library, name), library
    if not folders and library:
        return next(iter(library.values())), library
    return library.get("default") or LoadedScenario(BUILT_IN), library


def select(library: Mapping[str, LoadedScenario], name: str) -> LoadedScenario:
    """The scenario of a library by its file's name or its own.

    Raises:
        ScenarioError: there is none.
    """
    by_own_name = {loaded.scenario.name: loaded for loaded in library.values()}
    found = library.get(name) or by_own_name.get(name)
    if found is None:
        hint = nearest(name, [*library, *by_own_name])
        raise ScenarioError([Row(name, 0, 0, "", "no such scenario", hint)])
    return found


def _stem(path: Path) -> str:
    return path.stem.removesuffix(".emulator")


def _read(path: Path) -> Document:
    try:
        return parse_document(path.read_bytes(), str(path))
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        return Document(rows=[Row(str(path), 0, 0, "", reason)])


def _load(documents: Sequence[Document], sources: tuple[Path, ...], name: str) -> LoadedScenario:
    """Join and validate.

    Raises:
        ScenarioError: with every mistake.
    """
    joined = join_documents(documents)
    scenario, found = _validate(joined) if all(isinstance(d.data, dict) for d in documents) else (None, [])
    answers = read_answers(joined, sent=not sources)
    found += answers.mistakes
    noted = {(row.file, row.line, row.column) for row in joined.rows}
    rows = [mistake.locate(joined.locations, name) for mistake in found]
    rows = [*joined.rows, *(row for row in rows if (row.file, row.line, row.column) not in noted)]
    if rows or scenario is None:
        part = LoadedScenario(_read_vendor_sections(joined.data, name), sources, joined.data, joined.locations)
        raise ScenarioError(sort_rows(rows, [str(source) for source in sources]), [part])
    scenario = put_answers(scenario, answers.texts)
    return LoadedScenario(scenario, sources, joined.data, joined.locations, answers)


def _read_vendor_sections(data: JSON, name: str) -> Scenario:
    """A scenario of the sections that vendors check, as far as they can be read."""
    sections = data if isinstance(data, dict) else {}
    vendors = sections.get("vendors")
    known = vendors if isinstance(vendors, dict) else {}
    readable = {key: value for key, value in known.items() if value is False or isinstance(value, dict)}
    kept: Object = {"version": 1, "name": name, "vendors": readable}
    with suppress(ValidationError):
        return Scenario.model_validate({**kept, "deployments": sections.get("deployments", [])})
    return Scenario.model_validate(kept)


@cache
def _schema() -> Object:
    return schema_json()


def _validate(joined: Document) -> tuple[Scenario | None, list[Mistake]]:
    taken = list(_find_taken_names(joined))
    try:
        return Scenario.model_validate(joined.data), taken
    except ValidationError as error:
        return None, [*explain_errors(error, joined.data, _schema()), *taken]


def _find_taken_names(joined: Document) -> Iterable[Mistake]:
    """Rules that share a name."""
    rules = joined.data.get("rules") if isinstance(joined.data, dict) else None
    seen: dict[str, KeyPath] = {}
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        name = rule.get("name") if isinstance(rule, dict) else None
        if not isinstance(name, str):
            continue
        path = ("rules", index, "name")
        if seen.setdefault(name, path) != path:
            yield Mistake(path, f"the name is taken by the rule at {joined.locations.values[seen[name]]}")
