"""The port file exists exactly while the server responds."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from emulator.serve.port_file import PortFile

URLS = {"front": "http://127.0.0.1:4010"}


def test_port_file_exists_only_while_serving(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    with PortFile(path) as file:
        assert not path.exists()
        file.write(URLS)
        assert json.loads(path.read_text()) == URLS
    assert [*tmp_path.iterdir()] == []


def test_stale_port_file_is_removed_on_entry(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    path.write_text(json.dumps({"front": "http://127.0.0.1:1"}))
    with PortFile(path):
        assert not path.exists()


def test_port_file_rewritten_by_another_process_stays(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    with PortFile(path) as file:
        file.write(URLS)
        path.write_text("{}")
    assert path.read_text() == "{}"


def test_port_file_is_removed_on_system_exit(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    with suppress(SystemExit), PortFile(path) as file:
        file.write(URLS)
        raise SystemExit
    assert not path.exists()


def test_port_file_write_follows_no_symlink_and_sets_mode_0644(tmp_path: Path) -> None:
    path, kept = tmp_path / "ports.json", tmp_path / "kept"
    kept.write_text("mine")
    for name in ("ports.json.partial", ".ports.json.partial"):
        (tmp_path / name).symlink_to(kept)
    mask = os.umask(0o022)
    try:
        with PortFile(path) as file:
            file.write(URLS)
            assert not path.is_symlink()
            assert path.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(mask)
    assert kept.read_text() == "mine"


def test_failed_port_file_write_leaves_no_partial_file(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    path.mkdir()
    with PortFile(path) as file, pytest.raises(IsADirectoryError):
        file.write(URLS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["ports.json"]


@pytest.mark.parametrize("link", [False, True], ids=["itself", "by a link"])
def test_port_file_leaves_non_regular_file_alone(tmp_path: Path, link: bool) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    if link:
        path = tmp_path / "ports.json"
        path.symlink_to("pipe")
    before = sorted(tmp_path.iterdir())
    with PortFile(path) as file, pytest.raises(OSError, match="not a file"):
        file.write(URLS)
    assert sorted(tmp_path.iterdir()) == before
    assert path.is_fifo()


def test_port_file_replaces_symlink_and_leaves_its_target(tmp_path: Path) -> None:
    path, old = tmp_path / "ports.json", tmp_path / "old.json"
    old.write_text("{}")
    path.symlink_to(old)
    with PortFile(path) as file:
        assert not path.exists()
        file.write(URLS)
    assert [*tmp_path.iterdir()] == [old]


def test_empty_port_file_path_is_refused(tmp_path: Path) -> None:
    with PortFile(Path("")) as file, pytest.raises(IsADirectoryError):
        file.write(URLS)


def test_port_file_without_path_does_nothing() -> None:
    with PortFile(None) as file:
        file.write(URLS)
