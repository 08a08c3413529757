"""An emulator in a process of its own, started by a command such as ``uvx llm-emulator``."""

from __future__ import annotations

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

_START = 120.0  # seconds for the command to serve; the first run of `uvx` downloads packages
_END = 10.0  # seconds for the process to end before it is killed
_REST = 2.0  # seconds for what the process leaves behind to end; a zombie that nobody reaps counts as there
_POLL = 0.02  # seconds between two looks at a process that starts or ends
_LAST = 2000  # characters of the log in a message
_ARGUMENTS = ("serve", "--host", "127.0.0.1", "--port", "0", "--drain", "200ms", "--log-format", "text")


def split_command(command: str) -> list[str]:
    """Return the words of a command as a shell of this system separates them."""
    words = shlex.split(command, posix=os.name == "posix")
    return [word.strip("\"'") if os.name != "posix" else word for word in words]


@contextmanager
def run_command(command: Sequence[str], log: Path | None = None) -> Iterator[str]:
    """Run an emulator for the time of a block, on free ports; gives the URL of its front.

    Args:
        command: what ``serve`` and its flags are added to.
        log: a file to which the emulator's log is added.

    Raises:
        EmulatorError: the command cannot be run, ends, or serves nothing in time; the message has the end of its log.
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
        # A session of its own: Ctrl-C ends the tests first, and what the command starts ends with it.
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=os.name == "posix"
        )
    except OSError as error:
        raise EmulatorError(f"cannot run {shlex.join(command[: -len(_ARGUMENTS) - 2])!r}: {error}") from None


def _wait_for_front(process: subprocess.Popen[bytes], ports: Path, log: Path) -> str:
    """Return the URL of the front, once everything listens."""
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError):
            return str(json.loads(ports.read_text(encoding="utf-8"))["front"])
        if process.poll() is not None:
            raise EmulatorError(f"{_name(process)} ended with {process.returncode}{_read_end(log)}")
        time.sleep(_POLL)
    raise EmulatorError(f"{_name(process)} serves nothing after {_START:.0f} s{_read_end(log)}")


def _name(process: subprocess.Popen[bytes]) -> str:
    return repr(shlex.join(map(str, process.args)) if isinstance(process.args, list) else str(process.args))


def _read_end(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")[-_LAST:].strip()
    return f":\n{text}" if text else " and printed nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started, such as the server behind ``uvx``."""
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)
    _signal(process, signal.SIGTERM)
    try:
        process.wait(_END)
    except subprocess.TimeoutExpired:
        _signal(process, kill)
        process.wait(_END)
    # A front process, such as a shell, may end before the server behind it has drained.
    deadline = time.monotonic() + _REST
    while _signal(process, 0) and time.monotonic() < deadline:
        time.sleep(_POLL)
    _signal(process, kill)


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Return whether any process of the group, or on Windows the process, was there to be signalled."""
    if os.name != "posix":
        process.terminate()  # nothing happens to a process that has ended
        return False
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS refuses where only zombies are left
        return False
    return True
