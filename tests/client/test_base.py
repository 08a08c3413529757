"""URLs of a server that reports another host name."""

import pytest

from emulator.client.base import Target


@pytest.mark.parametrize(
    ("ours", "theirs", "reached"),
    [
        pytest.param("http://127.0.0.1:4010", "http://127.0.0.1:4011", "http://127.0.0.1:4011", id="on this machine"),
        pytest.param("http://localhost:4010", "http://127.0.0.1:4011", "http://127.0.0.1:4011", id="by its name"),
        pytest.param("http://emulator:4010", "http://127.0.0.1:4011", "http://emulator:4011", id="in a container"),
        pytest.param("http://[fd00::2]:4010", "http://127.0.0.1:4011", "http://[fd00::2]:4011", id="by number"),
        pytest.param(
            "http://emulator:4010", "http://10.1.2.3:4011", "http://10.1.2.3:4011", id="an address that is given"
        ),
    ],
)
def test_reach_replaces_loopback_host_with_server_host(ours: str, theirs: str, reached: str) -> None:
    assert Target(ours).reach(theirs) == reached


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("http://127.0.0.1:4010", "http://127.0.0.1:4010", True),
        ("http://emulator:4010", "http://127.0.0.1:4010", True),
        ("http://127.0.0.1:14010", "http://127.0.0.1:4010", False),
        ("https://127.0.0.1:4010", "http://127.0.0.1:4010", False),
        ("https://emulator.test", "https://127.0.0.1:443", True),
        ("http://emulator.test", "http://127.0.0.1:4010", False),
    ],
)
def test_is_at_compares_front_by_port(ours: str, theirs: str, same: bool) -> None:
    assert Target(ours).is_at(theirs) is same
