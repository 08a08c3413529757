"""Record modes of the pytest plugin (``--emulator-record``), with vcrpy's names and meaning.

Source: vcrpy, ``docs/usage.rst``, "Record Modes".
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from emulator.recording.exchange import list_files

RecordMode = Literal["none", "once", "new_episodes", "all"]
MODES: tuple[str, ...] = get_args(RecordMode)


@dataclass(frozen=True, slots=True)
class ModePlan:
    """Steps of a record mode for one recording.

    Fields:
        replays: recorded calls are replayed.
        records: others go to the service and are recorded.
        deletes: exchanges to delete before.
    """

    replays: bool
    records: bool
    deletes: tuple[Path, ...] = ()


def plan_mode(mode: str, folder: Path) -> ModePlan:
    """Return the steps of a mode for a folder of exchanges.

    Raises:
        ValueError: there is no such mode.
    """
    if mode not in MODES:
        raise ValueError(f"record is {', '.join(MODES[:-1])} or {MODES[-1]}, not {mode!r}")
    files = list_files(folder) if folder.is_dir() else []
    if mode == "all":
        return ModePlan(replays=False, records=True, deletes=tuple(files))
    if mode == "once":
        return ModePlan(replays=bool(files), records=not files)
    return ModePlan(replays=bool(files) or mode == "none", records=mode == "new_episodes")


def delete_older(files: Iterable[Path], began: float) -> None:
    """Delete the files that were last written before a Unix time; other processes may delete them, too."""
    for file in files:
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < began:
                file.unlink()
