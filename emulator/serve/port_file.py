"""Write the port file: the base URLs of a running server as JSON, for programs that wait for its start.

``emulator serve --port-file`` and ``emulator record`` write it.
"""

import errno
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class PortFile:
    """File with the base URLs; it exists only while they respond, and a stale one is removed first."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text: str | None = None

    def __enter__(self) -> Self:
        if self._path is not None and self._path.is_file():
            with suppress(OSError):  # writing it fails later with a message
                self._path.unlink()
        return self

    def write(self, urls: Mapping[str, str]) -> None:
        """Write the file atomically, so that a reader never sees a partial one.

        Raises:
            OSError: the file cannot be written; a path that is no file, such as ``/dev/null``, is left alone.
        """
        if self._path is None:
            return
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if self._path.exists() and not self._path.is_file():
            raise OSError(errno.EINVAL, "not a file")
        text = json.dumps(urls, indent=1) + "\n"
        descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}-", dir=self._path.parent)
        partial = Path(name)  # a new file, so that no symbolic link is followed
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            partial.chmod(0o666 & ~_read_umask())
            partial.replace(self._path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        self._text = text

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            if self._path is not None and self._path.is_file() and self._path.read_text(encoding="utf-8") == self._text:
                self._path.unlink()


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
