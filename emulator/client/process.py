"""Run an emulator in a process of its own, started by a command such as ``uvx llm-emulator``, for the pytest plugin."""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from emulator.client.request import EmulatorError

_START_TIMEOUT = 120.0  # seconds; the first run of `uvx` downloads packages
_END_TIMEOUT = 10.0  # seconds for the process to end before it is killed
_GROUP_TIMEOUT = 2.0  # seconds for its child processes to end; an unreaped zombie counts as running
_POLL = 0.02  # seconds between two checks of a process that starts or ends
_MAX_LOG = 2000  # characters of the log in a message
_ARGUMENTS = ("serve", "--host", "127.0.0.1", "--port", "0", "--drain", "200ms", "--log-format", "text")


def split_command(command: str) -> list[str]:
    """Return the words of a command as a shell of this system separates them."""
    words = shlex.split(command, posix=os.name == "posix")
    return [word.strip("\"'") if os.name != "posix" else word for word in words]


@contextmanager
def run_command(command: Sequence[str], log: Path | None = None) -> Iterator[str]:
    """Run an emulator on free ports for the time of a block; yields the URL of its front port.

    Args:
        command: command line before ``serve`` and its flags.
        log: file that the emulator's log is appended to.

    Raises:
        EmulatorError: the command cannot be run, ends early, or serves nothing in time; with the end of its log.
    """
    with TemporaryDirectory(prefix="emulator-") as name:
        folder = Path(name)
        file = folder / "log" if log is None else log
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as stream:
            process = _start([*command, *_ARGUMENTS, "--port-file", str(folder / "ports.json")], stream.fileno())
        try:
            yield _wait_for_front(process, folder / "ports.json", file)
        finally:
            _end(process)


def _start(command: Sequence[str], output: int) -> subprocess.Popen[bytes]:
    try:
        # A process group of its own: Ctrl-C ends the tests first, and child processes end with the group.
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=os.name == "posix"
        )
    except OSError as error:
        raise EmulatorError(f"cannot run {shlex.join(command[: -len(_ARGUMENTS) - 2])!r}: {error}") from None


def _wait_for_front(process: subprocess.Popen[bytes], ports: Path, log: Path) -> str:
    """Return the URL of the front port once all ports are open."""
    deadline = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError):
            return str(json.loads(ports.read_text(encoding="utf-8"))["front"])
        if process.poll() is not None:
            raise EmulatorError(f"{_name(process)} ended with {process.returncode}{_read_end(log)}")
        time.sleep(_POLL)
    raise EmulatorError(f"{_name(process)} serves nothing after {_START_TIMEOUT:.0f} s{_read_end(log)}")


def _name(process: subprocess.Popen[bytes]) -> str:
    return repr(shlex.join(map(str, process.args)) if isinstance(process.args, list) else str(process.args))


def _read_end(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")[-_MAX_LOG:].strip()
    return f":\n{text}" if text else " and printed nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children, such as the server behind ``uvx``."""
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)
    _signal(process, signal.SIGTERM)
    try:
        process.wait(_END_TIMEOUT)
    except subprocess.TimeoutExpired:
        _signal(process, kill)
        process.wait(_END_TIMEOUT)
    # A front process, such as a shell, may end before the server behind it has drained.
    deadline = time.monotonic() + _GROUP_TIMEOUT
    while _signal(process, 0) and time.monotonic() < deadline:
        time.sleep(_POLL)
    _signal(process, kill)


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Signal the process group, or on Windows the process; return whether any process was left."""
    if os.name != "posix":
        process.terminate()  # no effect on a process that has ended
        return False
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS refuses where only zombies are left
        return False
    return True
