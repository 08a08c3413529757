"""Read and join scenario files as JSON values with source positions.

``scenario/load.py`` loads the server's scenarios so, and ``client/scenario.py`` those that a test sends.
"""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, canonical_json
from emulator.scenario.codes import TAKEN, Ignored
from emulator.scenario.errors import Diagnostic
from emulator.scenario.locations import KeyPath, Location, Locations


@fast_dataclass(slots=True)
class Document:
    """Parsed file: its value, source positions and diagnostics; ``text``: the source; ``ignored``: codes to hide."""

    data: JSON = None
    locations: Locations = field(default_factory=Locations)
    rows: list[Diagnostic] = field(default_factory=list)
    text: str | None = None
    ignored: Ignored = field(default_factory=dict)


def join_documents(documents: Sequence[Document]) -> Document:
    """Join files: lists in order; a single value that two files set must be equal."""
    data: Object = {}
    joined = Document(data)
    for document in documents:
        joined.rows.extend(document.rows)
        joined.ignored = {**joined.ignored, **document.ignored}
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
            joined.rows.append(Diagnostic.at(document.locations.values[here], message, TAKEN))


def _add_locations(
    joined: dict[KeyPath, Location], added: Mapping[KeyPath, Location], lengths: Mapping[str, int]
) -> None:
    """Add the positions of a file; ``lengths``: of the lists to which its own are appended."""
    for path, location in added.items():
        joined.setdefault(_shift(path, lengths), location)


def _shift(path: KeyPath, lengths: Mapping[str, int]) -> KeyPath:
    """Shift the index of a list item by the items of earlier files."""
    match path:
        case (str(key), int(index), *rest) if key in lengths:
            return (key, index + lengths[key], *rest)
    return path


def resolve_vocabulary_paths(document: Document) -> None:
    """Make the paths of vocabulary files in ``deployments`` absolute; they are relative to the file that names them."""
    deployments = document.data.get("deployments") if isinstance(document.data, dict) else None
    for position, entry in enumerate(deployments if isinstance(deployments, list) else ()):
        tokenizer = entry.get("tokenizer") if isinstance(entry, dict) else None
        file = tokenizer.get("file") if isinstance(tokenizer, dict) else None
        if isinstance(tokenizer, dict) and isinstance(file, str) and file and "\0" not in file:
            where = document.locations.values[("deployments", position, "tokenizer", "file")].file
            tokenizer["file"] = str((Path(where).parent / Path(file).expanduser()).absolute())


MAX_FILE_BYTES = 16 * 1024**2  # bytes


def read_file(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: it cannot be read, is no regular file, or has more than 16 MiB; see :func:`explain`.
    """
    if path.exists() and not path.is_file():  # reading a pipe blocks, and a device may never end
        raise OSError(errno.EINVAL, "not a file", str(path))
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, f"more than {MAX_FILE_BYTES // 1024**2} MiB", str(path))
    return data


def explain(error: OSError) -> str:
    """Format the reason of an error as the end of a sentence."""
    reason = error.strerror or "cannot be read"
    return reason[:1].lower() + reason[1:]
