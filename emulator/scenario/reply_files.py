"""Read the texts of replies that a scenario keeps in files (``reply: {file: …}``), below the scenario's folder."""

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from pydantic import ValidationError

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.scenario import codes
from emulator.scenario.captures import list_groups
from emulator.scenario.conditions import When
from emulator.scenario.errors import Mistake
from emulator.scenario.locations import KeyPath, look_up
from emulator.scenario.models import Rule, Scenario
from emulator.scenario.outcomes import Outcome, ReplyOutcome
from emulator.scenario.placeholders import explain_template, find_unknown_group
from emulator.scenario.source import Document, explain, read_file

_MAX_TEXT = 64 * 1024**2  # characters of all reply files of a scenario


class _NoAnswerError(Exception):
    """Unusable reply file; the message is the end of a sentence, ``code`` one of :mod:`emulator.scenario.codes`."""

    def __init__(self, message: str, code: str = codes.WRONG_VALUE) -> None:
        super().__init__(message)
        self.code = code


@fast_dataclass(slots=True, eq=False)
class ReplyFiles:
    """Reply files of a scenario.

    Fields:
        texts: texts of replies by the path of the reply in the scenario.
        files: the files that were read.
        mistakes: files that could not be read.
    """

    texts: dict[KeyPath, str] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    _known: dict[Path, str] = field(default_factory=dict)
    _left: int = _MAX_TEXT

    def read(self, file: Path) -> str:
        """Return the text of a file, read once."""
        if file not in self._known:
            text = _read(file)
            self._left -= len(text)
            if self._left < 0:
                raise _NoAnswerError(f"with it the answers are more than {_MAX_TEXT // 1024**2} Mi characters")
            self._known[file] = text
        return self._known[file]


def read_reply_files(document: Document, *, sent: bool) -> ReplyFiles:
    """Read every file that a reply names; ``sent``: the scenario was sent as text, so reply files are mistakes."""
    answers = ReplyFiles()
    for path, reply in _find_replies(document.data):
        name = reply.get("file")
        if not isinstance(name, str) or not name:
            continue
        here = (*path, "file")
        try:
            if sent:
                raise _NoAnswerError("a scenario sent over HTTP has no folder of files; write the text itself")
            file = _find(name, Path(document.locations.values[here].file).parent)
            text = answers.read(file)
            mistake = _explain(text, document.data, path) if reply.get("template") is True else None
            if mistake is not None:
                raise _NoAnswerError(f"{name}: {mistake}")
        except _NoAnswerError as error:
            answers.mistakes.append(Mistake(here, str(error), code=error.code))
        else:
            answers.files.append(file)
            answers.texts[path] = text
    return answers


def _explain(text: str, data: JSON, path: KeyPath) -> str | None:
    """Return what is wrong with the placeholders of a reply's text, or ``None``."""
    mistake = explain_template(text)
    if mistake is not None:
        return mistake
    try:
        groups = list_groups(When.model_validate(look_up(data, (*path[:2], "when"))))
    except (LookupError, ValidationError):  # the condition is absent, or reported elsewhere
        groups = []
    return find_unknown_group(text, groups)


def _find_replies(data: JSON) -> Iterator[tuple[KeyPath, Mapping[str, JSON]]]:
    """Yield each reply of the rules and of their sequences, with its path."""
    for rule in _find_each(data, ("rules",)):
        for outcome in (rule, *_find_each(data, (*rule, "sequence"))):
            path: KeyPath = (*outcome, "reply")
            try:
                reply = look_up(data, path)
            except LookupError:
                continue
            if isinstance(reply, dict):
                yield path, reply


def _find_each(data: JSON, path: KeyPath) -> Sequence[KeyPath]:
    """Return the paths of the mappings in a list."""
    try:
        items = look_up(data, path)
    except LookupError:
        return []
    return [(*path, n) for n, item in enumerate(items if isinstance(items, list) else ()) if isinstance(item, dict)]


def _find(name: str, folder: Path) -> Path:
    file = folder / name
    if "\0" in name:
        raise _NoAnswerError("no file has such a name")
    try:
        if not file.resolve().is_relative_to(folder.resolve()):
            raise _NoAnswerError("expected a file in the scenario's folder or below it")
        is_file = stat.S_ISREG(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_file = False
    except (OSError, RuntimeError) as error:  # links in a circle: before Python 3.13 `resolve` raises RuntimeError
        if isinstance(error, OSError) and error.errno != errno.ELOOP:
            raise _NoAnswerError(f"{name}: {explain(error)}") from None
        raise _NoAnswerError(f"{name} leads nowhere") from None
    if not is_file:
        raise _NoAnswerError(f"there is no file {name}")
    _require_spelling(name, folder)
    return file


def _require_spelling(name: str, folder: Path) -> None:
    spelled = _find_spelling(name, folder)
    if spelled != name:
        raise _NoAnswerError(f"there is no file {name} on every system; write {spelled}")


def _find_spelling(name: str, folder: Path) -> str:
    """Return a path in the spelling that every system finds: ``/`` as separator, letters in the case of the disk's.

    Windows and macOS find ``Answers\\W.txt`` or ``Answers/W.txt`` where the file is ``answers/w.txt``.
    """
    if os.sep != "/":
        name = name.replace(os.sep, "/")
    parts = name.split("/")
    for position, part in enumerate(parts):
        entries = os.listdir(folder) if part not in ("", ".", "..") else [part]
        if part not in entries:
            alike = {unicodedata.normalize("NFC", entry).casefold(): entry for entry in entries}
            entry = alike.get(unicodedata.normalize("NFC", part).casefold(), part)
            if unicodedata.normalize("NFC", entry) != unicodedata.normalize("NFC", part):  # macOS may decompose letters
                parts[position] = entry
        folder /= parts[position]
    return "/".join(parts)


def _read(file: Path) -> str:
    """Read a text with LF line ends, without the last one."""
    try:
        return read_file(file).decode().replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    except OSError as error:
        raise _NoAnswerError(explain(error), codes.UNREADABLE) from None
    except UnicodeDecodeError:
        raise _NoAnswerError("not UTF-8") from None


def insert_replies(scenario: Scenario, texts: Mapping[KeyPath, str]) -> Scenario:
    """Return the scenario with the texts of reply files inserted."""
    if not texts:
        return scenario
    rules = tuple(_put_rule(rule, ("rules", position), texts) for position, rule in enumerate(scenario.rules))
    return scenario.model_copy(update={"rules": rules})


def _put_rule(rule: Rule, path: KeyPath, texts: Mapping[KeyPath, str]) -> Rule:
    changes: dict[str, object] = {}
    steps = rule.sequence or ()
    if any((*path, "sequence", number, "reply") in texts for number in range(len(steps))):
        changes["sequence"] = tuple(
            step.model_copy(update=_put(step, (*path, "sequence", number), texts)) for number, step in enumerate(steps)
        )
    changes |= _put(rule, path, texts)
    return rule.model_copy(update=changes) if changes else rule


def _put(outcome: Outcome, path: KeyPath, texts: Mapping[KeyPath, str]) -> Mapping[str, ReplyOutcome]:
    text = texts.get((*path, "reply"))
    if text is None or outcome.reply is None:
        return {}
    return {"reply": outcome.reply.model_copy(update={"text": text})}
