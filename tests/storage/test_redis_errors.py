"""Errors of the server: the emulator's own, or those of its configuration."""

import pytest

from emulator.storage.redis.pipeline import is_command_error

_AT = "script: 6e102ce9, on @user_script:1."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("OOM command not allowed when used memory > 'maxmemory'.", id="full"),
        pytest.param(f"OOM command not allowed when used memory > 'maxmemory'. {_AT}", id="full within a script"),
        pytest.param("READONLY You can't write against a read only replica. " + _AT, id="a replica"),
        pytest.param("MISCONF Redis is configured to save RDB snapshots " + _AT, id="a full disk"),
        pytest.param("NOPERM this user has no permissions to run the 'eval' command", id="a command forbidden"),
        pytest.param(f"ERR The user executing the script can't run this command {_AT}", id="one within a script"),
        pytest.param(
            "The user executing the script can't access at least one of the keys " + _AT, id="a key forbidden"
        ),
        pytest.param(
            "ERR Error running script (call to f_6e10): @user_script:7: @user_script: 7: -OOM command not allowed",
            id="full, of an older server",
        ),
        pytest.param("ERR unknown command 'EVALSHA'", id="a command that has another name"),
        pytest.param("ERR max number of clients reached", id="too many clients"),
        pytest.param("NOAUTH Authentication required.", id="no password"),
        pytest.param("Protocol Error: b'HTTP/1.1 400 Bad Request'", id="another kind of server"),
    ],
)
def test_server_failures_are_not_command_errors(text: str) -> None:
    assert not is_command_error(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("NOSCRIPT No matching script. Please use EVAL.", id="an unknown script"),
        pytest.param(f"ERR user_script:1: attempt to index local 'a' (a nil value) {_AT}", id="a script that fails"),
        pytest.param(f"user_script:1: attempt to index local 'a' (a nil value) {_AT}", id="the same without its code"),
        pytest.param(
            f"WRONGTYPE Operation against a key holding the wrong kind of value {_AT}", id="another kind of key"
        ),
        pytest.param(f"ERR value is not an integer or out of range {_AT}", id="a command that fails within a script"),
        pytest.param("ERR Error compiling script (new function): user_script:1: unexpected symbol", id="no script"),
    ],
)
def test_script_failures_are_command_errors(text: str) -> None:
    assert is_command_error(text)
