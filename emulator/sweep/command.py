"""Run the command that ``emulator sweep`` tests, once for each fault, with the URLs of a session in its environment.

A command that hangs is ended after a time limit, with the processes that it started.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import IO, Protocol

_MAX_OUTPUT = 4000  # bytes kept of what a command prints last


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a command; ``exit``: ``None`` if it hung and was ended; ``out``, ``err``: what it printed last."""

    exit: int | None
    out: str = ""
    err: str = ""

    @property
    def last_output(self) -> str:
        return "\n".join(filter(None, (self.out.strip(), self.err.strip())))


class Process(Protocol):
    """Process that leads a session of its own where the system has sessions."""

    pid: int

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, negative for a signal.

        Raises:
            subprocess.TimeoutExpired: the process runs longer.
        """


@dataclass
class Command:
    """A command, and its processes that run."""

    words: Sequence[str]
    _running: set[Process] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _is_over: bool = False

    def run(self, variables: Mapping[str, str], limit: float) -> CommandResult:
        """Run the command for at most ``limit`` seconds.

        Raises:
            OSError: it cannot be started.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self._start(variables, out, err)
            try:
                code: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                try:
                    end(process)  # with what it left behind
                finally:
                    with self._lock:
                        self._running.discard(process)
            return CommandResult(code, _read(out), _read(err))

    def _start(self, variables: Mapping[str, str], out: IO[bytes], err: IO[bytes]) -> Process:
        with self._lock:
            if self._is_over:
                raise InterruptedError("the sweep is over")
            process = subprocess.Popen(
                self.words,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=os.name == "posix",
            )
            self._running.add(process)
            return process

    def end(self) -> None:
        """End all processes that run, and start no more."""
        with self._lock:
            self._is_over = True
            for process in self._running:
                _kill(process)
            for process in self._running:
                process.wait()


def end(process: Process) -> None:
    """End a process with those that it started."""
    _kill(process)
    process.wait()


def _kill(process: Process) -> None:
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif isinstance(process, subprocess.Popen) and process.poll() is None:
        process.kill()


def _read(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MAX_OUTPUT))
    return file.read().decode(errors="replace").replace("\r\n", "\n")
