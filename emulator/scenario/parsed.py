"""A scenario with the positions of its parts, so that later errors can name file, line and column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from pydantic import BaseModel, ValidationError

from emulator.core.json import JSON, canonical_json
from emulator.scenario.errors import Diagnostic, Mistake, explain_errors, sort_diagnostics
from emulator.scenario.locations import KeyPath, Locations, look_up
from emulator.scenario.models import Scenario
from emulator.scenario.reply_files import ReplyFiles


@dataclass(frozen=True, slots=True, eq=False)
class ParsedScenario:
    """A scenario and where its parts stand.

    Fields:
        sources: the files, in the order given.
        data: the joined files as JSON values.
        locations: by path in ``data``.
        answers: what replies say that is in files beside these.
        text: as it was written; ``None``: it is in several files, or in none.
        known_as: its digest, where not all of it is here.
    """

    scenario: Scenario
    sources: tuple[Path, ...] = ()
    data: JSON = None
    locations: Locations = field(default_factory=Locations)
    answers: ReplyFiles = field(default_factory=ReplyFiles)
    text: str | None = None
    known_as: str | None = None

    @property
    def digest(self) -> str:
        """16 hex digits that change with the content."""
        if self.known_as is not None:
            return self.known_as
        texts = list(self.answers.texts.values())
        return blake2b(canonical_json([self.data, texts] if texts else self.data), digest_size=8).hexdigest()

    def drop_locations(self) -> ParsedScenario:
        """Return the scenario without locations, except those of the tokens in ``keys``.

        The control plane cuts the tokens in ``text`` by their locations.
        """
        paths: list[KeyPath] = [("keys", position, "token") for position in range(len(self.scenario.keys or ()))]
        values = self.locations.values
        return replace(self, locations=Locations({path: values[path] for path in paths if path in values}))

    def row(self, path: KeyPath, message: str, suggestion: str | None = None, *, at_key: bool = False) -> Diagnostic:
        """A mistake found after loading; ``at_key``: it is the key that is wrong, not its value."""
        return self._locate(Mistake(path, message, suggestion, at_key=at_key))

    def rows(self, error: ValidationError, model: type[BaseModel], under: KeyPath) -> list[Diagnostic]:
        """Mistakes another model found in a part of the data, such as a vendor's settings."""
        found = explain_errors(error, look_up(self.data, under), model.model_json_schema())
        return sort_diagnostics(self._locate(replace(mistake, path=(*under, *mistake.path))) for mistake in found)

    def _locate(self, mistake: Mistake) -> Diagnostic:
        return mistake.locate(self.locations, self.scenario.name)


class ScenarioError(Exception):
    """Everything that is wrong with a scenario; its text has one line per row.

    ``parts``: what can be read of it all the same, so that others can add what they find wrong with theirs.
    """

    def __init__(self, rows: Iterable[Diagnostic], parts: Iterable[ParsedScenario] = ()) -> None:
        self.rows = tuple(rows)
        self.parts = tuple(parts)
        super().__init__("\n".join(map(str, self.rows)))
