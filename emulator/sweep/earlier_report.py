"""Read the report of an earlier sweep, and decide which of its outcomes still hold after changes of calls or files."""

import os
import subprocess
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from emulator.core.json import JSON, as_array, as_object, as_text, parse_json
from emulator.sweep.plan import Key
from emulator.sweep.run import NO_FAULT, Row

_BUILT = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class SweepReport:
    """Outcomes of a sweep.

    Fields:
        calls: digest of each class of calls.
        command: words of the command that was run.
        files: digest of the files that the command names.
        is_complete: every cell has its outcome.
    """

    rows: Mapping[Key, Row] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()
    files: str = ""
    is_complete: bool = False

    def find(self, key: Key, scenario: str, digest: str) -> Row | None:
        """Return the outcome of a cell if neither its class of calls nor its scenario has changed since the report."""
        row = self.rows.get(key)
        is_same = row is not None and row.scenario == scenario and self.calls.get(key[0]) == digest
        return row if is_same and row is not None and tuple(row.like) != (NO_FAULT,) else None


def parse_report(text: bytes | str, name: str) -> SweepReport:
    """Parse the JSON of a sweep.

    Raises:
        ValueError: it is no report of a sweep.
    """
    try:
        found = as_object(parse_json(text))
        rows = [_read_row(as_object(cell)) for cell in as_array(found["cells"])]
        calls = {call: as_text(digest) for call, digest in as_object(found["calls"]).items()}
        command = tuple(as_text(word) for word in as_array(found["command"]))
        return SweepReport(
            {row.key: row for row in rows}, calls, command, as_text(found["files"]), found["complete"] is True
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is no report of a sweep: {error}") from None


def _read_row(cell: Mapping[str, JSON]) -> Row:
    call, fault, position = (as_text(cell[name]) for name in ("call", "fault", "position"))
    outcome, scenario, said = (as_text(cell[name]) for name in ("outcome", "scenario", "said"))
    broken, like = (tuple(map(as_text, as_array(cell[name]))) for name in ("broken", "like"))
    return Row(call, fault, position, outcome, scenario, broken, like, said, as_text(cell.get("test", "")))


def join_reports(reports: Iterable[SweepReport]) -> SweepReport:
    """Join reports of the same command and files; of a cell the last one counts."""
    rows: dict[Key, Row] = {}
    calls: dict[str, str] = {}
    for report in reports:
        rows |= report.rows
        calls |= report.calls
    return SweepReport(rows, calls)


def list_watched(command: Sequence[str], more: Sequence[Path], folder: Path) -> list[Path]:
    """Return the files and folders that a command names, and ``more``; the folder itself if there are none."""
    named = [Path(word.partition("::")[0]) for word in command[1:] if not word.startswith("-")]
    found = [path for path in (*named, *more) if path.parts and (folder / path).exists()]
    return found or [Path()]


def hash_files(paths: Sequence[Path], folder: Path, without: Sequence[Path]) -> str:
    """Return a digest of names and contents; ``without``: files that sweeps write."""
    found = blake2b(digest_size=16)
    left_out = {(folder / path).resolve() for path in without}
    files = {file.resolve() for path in paths for file in _list_files(folder / path)}
    files = {file for file in files if left_out.isdisjoint((file, *file.parents))}
    for name, file in sorted((Path(os.path.relpath(file, folder)).as_posix(), file) for file in files):
        data = file.read_bytes()
        found.update(f"{name}\0{len(data)}\0".encode() + data)
    return found.hexdigest()


def _list_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for child in path.iterdir():
            if not child.name.startswith(".") and child.name not in _BUILT:
                yield from _list_files(child)


def list_changed(revision: str, paths: Sequence[Path], folder: Path, without: Sequence[Path]) -> list[str]:
    """Return the files that changed since a revision of Git, new ones included.

    Raises:
        ValueError: Git does not know the revision.
    """
    names = [path.as_posix() or "." for path in paths]
    changed = _git(folder, "diff", "--name-only", "--relative", revision, "--", *names).splitlines()
    new = _git(folder, "ls-files", "--others", "--exclude-standard", "--", *names).splitlines()
    left_out = {(folder / path).resolve() for path in without}
    return [name for name in sorted({*changed, *new}) if not _is_built(name, (folder / name).resolve(), left_out)]


def _is_built(name: str, file: Path, left_out: Container[Path]) -> bool:
    return any(one in left_out for one in (file, *file.parents)) or bool(_BUILT & {*Path(name).parts})


def read_at(revision: str, file: Path, folder: Path) -> bytes | None:
    """Return the content of a file at a Git revision; ``None`` if the revision does not have it."""
    place = Path(os.path.relpath(folder / file, folder)).as_posix()
    try:
        return _git(folder, "show", f"{revision}:./{place}").encode()
    except ValueError:
        return None


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        raise ValueError(f"cannot run git: {error.strerror}") from None
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "git failed")
    return done.stdout
