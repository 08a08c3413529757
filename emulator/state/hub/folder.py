"""The folder of the hub's socket, which only this user can enter."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HUB = "hub"
_PREFIX = "emulator-hub-"
_FRESH = 60.0  # real seconds in which a hub may still be about to listen


@contextmanager
def hub_folder(within: Path | None = None) -> Iterator[Path]:
    """Give a new folder that goes at the end; those of processes that were killed go now.

    Args:
        within: the folder for temporary files; absent: the system's.
    """
    place = Path(tempfile.gettempdir()) if within is None else within
    for left in place.glob(f"{_PREFIX}*"):
        if _is_dead(left / HUB):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _is_dead(hub: Path) -> bool:
    """Return whether nobody listens there any more; what cannot be asked, such as another user's, lives."""
    try:
        if time.time() - hub.lstat().st_mtime < _FRESH:
            return False
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1.0)
            client.connect(str(hub))
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
