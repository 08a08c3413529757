"""``ParsedScenario``: a valid scenario with source positions, so that later errors name file, line and column.

``ScenarioError`` has the mistakes of one that is not valid.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from hashlib import blake2b
from pathlib import Path

from pydantic import BaseModel, ValidationError

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, canonical_json
from emulator.scenario.codes import WRONG_VALUE, Ignored
from emulator.scenario.errors import Diagnostic, Mistake, explain_errors, sort_diagnostics
from emulator.scenario.locations import KeyPath, Locations, look_up
from emulator.scenario.models import Scenario
from emulator.scenario.reply_files import ReplyFiles


@fast_dataclass(frozen=True, slots=True, eq=False)
class ParsedScenario:
    """Scenario with its source.

    Fields:
        sources: the files, in the order given.
        data: the joined files as JSON values.
        locations: source positions by path in ``data``.
        answers: texts of the reply files.
        text: source text; ``None`` for a scenario of several files, or of none.
        ignored: codes that comments hide, by file and line.
        original_digest: digest of the original scenario, if this one is incomplete.
    """

    scenario: Scenario
    sources: tuple[Path, ...] = ()
    data: JSON = None
    locations: Locations = field(default_factory=Locations)
    answers: ReplyFiles = field(default_factory=ReplyFiles)
    text: str | None = None
    ignored: Ignored = field(default_factory=dict)
    original_digest: str | None = None

    @property
    def digest(self) -> str:
        """Hash of the content, 16 hex digits."""
        if self.original_digest is not None:
            return self.original_digest
        texts = list(self.answers.texts.values())
        return blake2b(canonical_json([self.data, texts] if texts else self.data), digest_size=8).hexdigest()

    def drop_locations(self) -> "ParsedScenario":
        """Return the scenario without locations, except those of the tokens in ``keys``.

        The control plane cuts the tokens in ``text`` by their locations.
        """
        paths: list[KeyPath] = [("keys", position, "token") for position in range(len(self.scenario.keys or ()))]
        values = self.locations.values
        return replace(self, locations=Locations({path: values[path] for path in paths if path in values}))

    def row(
        self,
        path: KeyPath,
        message: str,
        suggestion: str | None = None,
        *,
        at_key: bool = False,
        code: str = WRONG_VALUE,
    ) -> Diagnostic:
        """Build a diagnostic for a path; ``at_key``: the key is wrong, not its value."""
        return self._locate(Mistake(path, message, suggestion, at_key=at_key, code=code))

    def rows(self, error: ValidationError, model: type[BaseModel], under: KeyPath) -> list[Diagnostic]:
        """Build the diagnostics of a part that another model validated, such as a vendor's settings."""
        found = explain_errors(error, look_up(self.data, under), model.model_json_schema())
        return sort_diagnostics(self._locate(replace(mistake, path=(*under, *mistake.path))) for mistake in found)

    def _locate(self, mistake: Mistake) -> Diagnostic:
        return mistake.locate(self.locations, self.scenario.name)


class ScenarioError(Exception):
    """Invalid scenario; the message has one line for each of ``rows``.

    ``parts``: scenarios of the valid parts, for further validation.
    """

    def __init__(self, rows: Iterable[Diagnostic], parts: Iterable[ParsedScenario] = ()) -> None:
        self.rows = tuple(rows)
        self.parts = tuple(parts)
        super().__init__("\n".join(map(str, self.rows)))
