"""Reload scenario files that change (``--watch``); with mistakes, the last good scenario stays active.

``server.py`` starts it.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from emulator.runtime.runtime import Runtime
from emulator.runtime.services import adding_vendor_mistakes
from emulator.scenario.codes import UNREADABLE
from emulator.scenario.errors import Diagnostic
from emulator.scenario.load import find_files, load_paths
from emulator.scenario.parsed import ScenarioError

log = logging.getLogger("emulator")
_EVERY = 0.5  # seconds; polling also works on bind mounts and network drives, where file events often do not

Stamps = Mapping[Path, tuple[int, int]]


class Watcher:
    """Watcher of scenario files; ``name`` selects a scenario of a folder.

    ``before``: stamps of ``paths`` from before they were loaded, so that no change is missed.
    """

    def __init__(
        self,
        runtime: Runtime,
        paths: Sequence[Path],
        name: str | None,
        follow: Callable[[], Awaitable[None]],
        before: Stamps,
    ) -> None:
        self._runtime = runtime
        self._paths = paths
        self._name = name
        self._follow = follow
        self._stamps: Stamps = {**read_stamps(self._list_reply_files()), **before}
        self._digest = runtime.active.loaded.digest
        self._reported = ""

    async def run(self) -> None:
        """Poll the files until cancelled."""
        while True:
            await asyncio.sleep(_EVERY)
            try:
                await self.poll()
            except Exception:  # a bug in one reload must not end the watch
                log.exception("the scenario could not be reloaded, the last good one stays")

    async def poll(self) -> None:
        """Reload if a file has changed since the last poll."""
        stamps = self._read_stamps()
        if stamps == self._stamps:
            return
        before, self._stamps = self._stamps, stamps
        try:
            self._reload()
        except ScenarioError as error:
            if any(map(_is_unreadable, error.rows)):  # Windows refuses a file that an editor or scanner still holds
                self._stamps = before
            if str(error) != self._reported:
                log.error("the scenario has mistakes, the last good one stays:\n%s", error)
            self._reported = str(error)
        else:
            self._reported = ""
            await self._follow()

    def _read_stamps(self) -> Stamps:
        """Return the stamps of the scenario files and of their reply files."""
        return read_stamps([*self._paths, *self._list_reply_files()])

    def _list_reply_files(self) -> list[Path]:
        return [file for loaded in self._runtime.library.values() for file in loaded.answers.files]

    def _reload(self) -> None:
        """Reload the library, and activate the active scenario again if its file changed."""
        runtime = self._runtime
        active = runtime.active.loaded
        name = next((key for key, loaded in runtime.library.items() if loaded is active), None)
        is_folder = any(map(os.path.isdir, self._paths))
        with adding_vendor_mistakes(runtime.vendors):
            loaded, library = load_paths(self._paths, (name or self._name) if is_folder else None)
        if loaded.digest != (active.digest if name is not None else self._digest):
            runtime.put(loaded)
            log.info("reloaded scenario %s", loaded.scenario.name)
        elif name is not None:
            library = {key: active if found is loaded else found for key, found in library.items()}
        self._digest = loaded.digest
        runtime.library = library


def _is_unreadable(row: Diagnostic) -> bool:
    """Return whether a file could not be read; a YAML error has the same code, a line and no path."""
    return row.code == UNREADABLE and (not row.line or bool(row.path))


def read_stamps(paths: Sequence[Path]) -> Stamps:
    """Return modification time and size of each file; zeros if it cannot be read."""
    stamps: dict[Path, tuple[int, int]] = {}
    for path in paths:
        for file in _list_files(path):
            try:
                status = file.stat()
                stamps[file] = (status.st_mtime_ns, status.st_size)
            except OSError:  # a dangling link counts as a file until it is removed
                stamps[file] = (0, 0)
    return stamps


def _list_files(path: Path) -> Sequence[Path]:
    try:
        return find_files(path) if os.path.isdir(path) else [path]
    except ScenarioError:
        return []
