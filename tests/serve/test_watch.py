"""Scenario files that change while they are served."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.scenario.load import load_paths, load_text
from emulator.serve.application import Application, create_application
from emulator.serve.watch import Watcher, read_stamps
from tests.handler.toy import TOY


def write(path: Path, text: str) -> None:
    """Write a file with a new modification time."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text("version: 1\n" + text, encoding="utf-8")
    os.utime(path, ns=(before + 10**9, before + 10**9))


class Folder:
    """Served folder or file, and its watcher."""

    def __init__(self, path: Path, name: str | None = None, while_loading: Callable[[], None] | None = None) -> None:
        before = read_stamps([path])
        loaded, library = load_paths([path], name)
        if while_loading is not None:
            while_loading()
        self.built: Application = create_application(loaded, library=library, vendors={"toy": TOY})
        self.followed = 0
        self.watcher = Watcher(self.built.runtime, [path], name, self._follow, before)

    async def _follow(self) -> None:
        self.followed += 1

    @property
    def description(self) -> str:
        return self.built.runtime.active.loaded.scenario.description


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.yaml"
    write(path, "description: first\n")
    return path


async def test_changed_file_is_reloaded(file: Path) -> None:
    folder = Folder(file)
    running = folder.built.runtime.active
    await folder.watcher.poll()
    assert (folder.built.runtime.active, folder.followed) == (running, 0)
    write(file, "description: second\n")
    await folder.watcher.poll()
    assert (folder.description, folder.followed) == ("second", 1)


async def test_file_changed_while_loading_is_reloaded(file: Path) -> None:
    folder = Folder(file, while_loading=lambda: write(file, "description: second\n"))
    assert folder.description == "first"
    await folder.watcher.poll()
    assert folder.description == "second"


async def test_file_added_while_loading_joins_library(tmp_path: Path, file: Path) -> None:
    folder = Folder(tmp_path, "one", while_loading=lambda: write(tmp_path / "two.yaml", "description: another\n"))
    await folder.watcher.poll()
    assert list(folder.built.runtime.library) == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("rulez: []\n", id="an unknown key"),
        pytest.param("rules: a: b\n", id="not YAML"),
        pytest.param("vendors: {toy: {quiet: true}}\n", id="a setting the vendor has not"),
    ],
)
async def test_invalid_file_is_reported_once_and_last_scenario_stays(
    file: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(file)
    write(file, text)
    await folder.watcher.poll()
    assert folder.description == "first"
    assert "one.yaml:2" in caplog.text
    caplog.clear()
    await folder.watcher.poll()
    assert not caplog.text
    write(file, "description: mended\n")
    await folder.watcher.poll()
    assert folder.description == "mended"


async def test_missing_file_is_reported_and_last_scenario_stays(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = Folder(file)
    file.unlink()
    await folder.watcher.poll()
    assert (folder.description, "no such file" in caplog.text) == ("first", True)


async def test_file_that_cannot_be_read_for_a_moment_is_loaded_later(
    tmp_path: Path, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(tmp_path, "one")
    held = tmp_path / "two.yaml"
    held.mkdir()  # it cannot be read, and its stamp is that of the file later
    stamp = held.stat()
    for _ in range(3):
        await folder.watcher.poll()
    assert caplog.text.count("two.yaml: not a file") == 1
    held.rmdir()
    held.write_text("version: 1\n# ".ljust(stamp.st_size, "."), encoding="utf-8")
    os.utime(held, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
    await folder.watcher.poll()
    assert list(folder.built.runtime.library) == ["one", "two"]


async def test_put_scenario_stays_until_file_changes(file: Path) -> None:
    folder = Folder(file)
    folder.built.runtime.put(load_text("version: 1\ndescription: sent\n"))
    write(file, "description: first\n")
    await folder.watcher.poll()
    assert folder.description == "sent"
    write(file, "description: second\n")
    await folder.watcher.poll()
    assert folder.description == "second"


async def test_new_file_in_folder_joins_library_without_reload(tmp_path: Path, file: Path) -> None:
    folder = Folder(tmp_path, "one")
    running = folder.built.runtime.active
    write(tmp_path / "two.yaml", "description: another\n")
    await folder.watcher.poll()
    assert folder.built.runtime.active is running
    assert list(folder.built.runtime.library) == ["one", "two"]
    write(file, "description: second\n")
    await folder.watcher.poll()
    assert folder.description == "second"


async def test_selected_scenario_is_reloaded_when_its_file_changes(tmp_path: Path, file: Path) -> None:
    write(tmp_path / "two.yaml", "description: another\n")
    folder = Folder(tmp_path, "one")
    runtime = folder.built.runtime
    runtime.put(runtime.library["two"])
    write(tmp_path / "two.yaml", "description: changed\n")
    await folder.watcher.poll()
    assert folder.description == "changed"
    assert next(key for key, loaded in runtime.library.items() if loaded is runtime.active.loaded) == "two"


async def test_changed_reply_file_is_reloaded(file: Path) -> None:
    answer = file.with_name("answer.md")
    write(answer, "first")
    write(file, "rules: [{name: r, reply: {file: answer.md}}]\n")
    folder = Folder(file)
    await folder.watcher.poll()
    write(answer, "second")
    await folder.watcher.poll()
    (rule,) = folder.built.runtime.active.loaded.scenario.rules
    assert rule.reply is not None
    assert (rule.reply.text, folder.followed) == ("version: 1\nsecond", 1)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _dangle(path: Path) -> None:
    path.symlink_to(path.with_name("gone"))


def _lock(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser can read every file")
    write(path, "description: locked\n")
    path.chmod(0)


def _fill(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 * 1024**3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(_pipe, "not a file", id="a pipe"),
        pytest.param(Path.mkdir, "not a file", id="a folder"),
        pytest.param(_loop, "too many levels of symbolic links", id="a link to itself"),
        pytest.param(_dangle, "no such file or directory", id="a link to nothing"),
        pytest.param(_lock, "permission denied", id="a file that may not be read"),
        pytest.param(_fill, "more than 16 MiB", id="a giant"),
    ],
)
async def test_unreadable_file_in_folder_does_not_stop_watcher(
    tmp_path: Path, file: Path, make: Callable[[Path], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(tmp_path, "one")
    strange = tmp_path / "aaa.yaml"  # looked at before all others
    make(strange)
    write(file, "description: second\n")
    await asyncio.wait_for(folder.watcher.poll(), 20)
    assert (folder.description, reason in caplog.text) == ("first", True)
    strange.rmdir() if strange.is_dir() else strange.unlink()
    await folder.watcher.poll()
    assert folder.description == "second"


async def test_read_stamps_looks_past_dangling_symlink(tmp_path: Path, file: Path) -> None:
    _dangle(tmp_path / "aaa.yaml")
    before = read_stamps([tmp_path])
    write(file, "description: second\n")
    assert read_stamps([tmp_path]) != before


async def test_partially_written_file_is_read_again(
    tmp_path: Path, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(file)
    write(file, "description: second\nrules:\n- {name: r, repl")  # half of it is written
    await folder.watcher.poll()
    assert (folder.description, "one.yaml:" in caplog.text) == ("first", True)
    write(file, "description: second\nrules:\n- {name: r, reply: {text: Hi}}\n")
    await folder.watcher.poll()
    assert folder.description == "second"
