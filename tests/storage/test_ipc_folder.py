"""The folder of the hub's socket, and what processes that were killed leave behind."""

import os
import socket
import stat
import time
from pathlib import Path

import pytest

from emulator.storage.ipc import HUB_SOCKET, hub_folder

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no such sockets")
LONG_AGO = time.time() - 3600


def leave(folder: Path, name: str) -> socket.socket:
    """The socket of a hub that has begun long ago; closed, it is one that was killed."""
    place = folder / f"emulator-hub-{name}"
    place.mkdir(mode=0o700)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place / HUB_SOCKET))
    server.listen()
    os.utime(place / HUB_SOCKET, (LONG_AGO, LONG_AGO))
    return server


def test_hub_folder_is_private_and_removed_at_exit(tmp_path: Path) -> None:
    with hub_folder(tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / HUB_SOCKET).touch()
    assert [*tmp_path.iterdir()] == []


def test_hub_folder_removes_leftovers_of_killed_processes(tmp_path: Path) -> None:
    leave(tmp_path, "killed").close()
    living = leave(tmp_path, "living")
    leave(tmp_path, "young").close()
    os.utime(tmp_path / "emulator-hub-young" / HUB_SOCKET)
    (tmp_path / "another").mkdir()
    with living, hub_folder(tmp_path) as folder:
        left = {path.name for path in tmp_path.iterdir()} - {folder.name}
    assert left == {"emulator-hub-living", "emulator-hub-young", "another"}
