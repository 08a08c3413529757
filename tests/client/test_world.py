"""Where a server is reached that knows itself by another name."""

import pytest

from emulator.client.steps import World


@pytest.mark.parametrize(
    ("ours", "theirs", "reached"),
    [
        pytest.param("http://127.0.0.1:4010", "http://127.0.0.1:4011", "http://127.0.0.1:4011", id="on this machine"),
        pytest.param("http://localhost:4010", "http://127.0.0.1:4011", "http://127.0.0.1:4011", id="by its name"),
        pytest.param("http://emulator:4010", "http://127.0.0.1:4011", "http://emulator:4011", id="in a container"),
        pytest.param("http://[fd00::2]:4010", "http://127.0.0.1:4011", "http://[fd00::2]:4011", id="by number"),
        pytest.param("http://emulator:4010", "http://10.1.2.3:4011", "http://10.1.2.3:4011", id="told where it is"),
    ],
)
def test_a_port_is_reached_where_the_server_is(ours: str, theirs: str, reached: str) -> None:
    assert World(ours).reach(theirs) == reached
