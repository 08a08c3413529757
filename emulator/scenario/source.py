"""Scenario files as JSON values, with the file, line and column of every value and key."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emulator.core.json import JSON, Object, canonical_json
from emulator.scenario.errors import Diagnostic
from emulator.scenario.locations import KeyPath, Location, Locations


@dataclass(slots=True)
class Document:
    """One file: its value, where each part of it stands, and what is wrong with it; ``text``: as it was written."""

    data: JSON = None
    locations: Locations = field(default_factory=Locations)
    rows: list[Diagnostic] = field(default_factory=list)
    text: str | None = None


def join_documents(documents: Sequence[Document]) -> Document:
    """Several files as one: lists join in order; a single value that two files set must be the same."""
    data: Object = {}
    joined = Document(data)
    for document in documents:
        joined.rows.extend(document.rows)
        if isinstance(document.data, dict):
            lengths = {key: len(value) for key, value in data.items() if isinstance(value, list)}
            _merge(joined, data, document, document.data, ())
            _add_locations(joined.locations.values, document.locations.values, lengths)
            _add_locations(joined.locations.keys, document.locations.keys, lengths)
        elif not document.rows:
            message = "expected a mapping with version, rules and the like"
            joined.rows.append(Diagnostic.at(document.locations.values[()], message))
    return joined


def _merge(joined: Document, target: Object, document: Document, source: Object, path: KeyPath) -> None:
    for key, value in source.items():
        here = (*path, key)
        present = target.get(key)
        if key not in target:
            target[key] = value
        elif isinstance(present, dict) and isinstance(value, dict):
            target[key] = merged = dict(present)
            _merge(joined, merged, document, value, here)
        elif isinstance(present, list) and isinstance(value, list) and not path:
            target[key] = present + value
        elif canonical_json(present) != canonical_json(value):
            message = f"set twice, and differently at {joined.locations.values[here]}"
            joined.rows.append(Diagnostic.at(document.locations.values[here], message))


def _add_locations(
    joined: dict[KeyPath, Location], added: Mapping[KeyPath, Location], lengths: Mapping[str, int]
) -> None:
    """Add a file's locations; ``lengths``: of the lists that its own are joined to."""
    for path, location in added.items():
        joined.setdefault(_shift(path, lengths), location)


def _shift(path: KeyPath, lengths: Mapping[str, int]) -> KeyPath:
    """The path of a list's item behind the items of the files before."""
    match path:
        case (str(key), int(index), *rest) if key in lengths:
            return (key, index + lengths[key], *rest)
    return path


LARGEST = 16 * 1024**2  # bytes


def read_file(path: Path) -> bytes:
    """All of a file.

    Raises:
        OSError: it cannot be read; :func:`explain` says why.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for, and a device never ends
        raise OSError(errno.EINVAL, "not a file", str(path))
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"more than {LARGEST // 1024**2} MiB", str(path))
    return data


def explain(error: OSError) -> str:
    """Why a file cannot be read, as the end of a sentence."""
    reason = error.strerror or "cannot be read"
    return reason[:1].lower() + reason[1:]
