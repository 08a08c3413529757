"""``emulator health`` where nothing runs."""

import socket

import pytest

from emulator.cli import main


def test_health_of_nothing_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["health", "--port", str(port)]) == 1
    assert "not ready" in capsys.readouterr().err
