"""The port file, and an end that comes before the beginning is over."""

import json
import os
import resource
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from emulator.server.process.lifetime import PortFile, allow_connections, stoppable

URLS = {"front": "http://127.0.0.1:4010"}


def test_it_is_there_while_it_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    with PortFile(path) as file:
        assert not path.exists()
        file.write(URLS)
        assert json.loads(path.read_text()) == URLS
    assert [*tmp_path.iterdir()] == []


def test_one_that_was_left_behind_is_gone_before_anything_begins(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    path.write_text(json.dumps({"front": "http://127.0.0.1:1"}))
    with PortFile(path):
        assert not path.exists()


def test_one_that_another_has_written_since_stays(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    with PortFile(path) as file:
        file.write(URLS)
        path.write_text("{}")
    assert path.read_text() == "{}"


def test_it_goes_with_whatever_ends_the_process(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    with suppress(SystemExit), PortFile(path) as file:
        file.write(URLS)
        raise SystemExit
    assert not path.exists()


def test_one_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    path.mkdir()
    with PortFile(path) as file, pytest.raises(IsADirectoryError):
        file.write(URLS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["ports.json"]


def test_nobody_wants_one() -> None:
    with PortFile(None) as file:
        file.write(URLS)


def test_as_many_connections_as_the_user_may_have() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
        allow_connections()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[1], 2**20)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_sigterm_lets_what_has_begun_tidy_up() -> None:
    tidied = []
    before = signal.getsignal(signal.SIGTERM)
    code = None
    try:
        with stoppable():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                tidied.append(True)
    except SystemExit as ended:
        code = ended.code
    assert (code, tidied) == (0, [True])
    assert signal.getsignal(signal.SIGTERM) is before
