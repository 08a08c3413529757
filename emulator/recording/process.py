"""Redact and write recorded exchanges in a process of its own, so that the search for credentials delays no stream.

``emulator record`` starts it.
"""

import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from emulator.core.processes import name_command
from emulator.recording.exchange import Exchange
from emulator.recording.writer import ExchangeSummary, LocalWriters

_MODULE = "emulator.recording.process"
_SIZE = struct.Struct(">Q")
_NICE = 10  # streams come first
_Opening = tuple[Path, Exchange, bool]
"""Path, request and head of the response, and whether that is a stream."""


class ProcessWriters:
    """Writer of exchanges in a process of its own, which ends with this one.

    The search takes about as long as passing a stream on: in a thread it would delay every event by milliseconds.
    Parts go over as plain values, as objects take ten times as long to pickle, for which streams wait.

    ``process``: the child process.
    """

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            name_command(_MODULE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0 if os.name == "posix" else None,  # Ctrl-C ends this process, which then ends that one
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._openings: dict[int, _Opening] = {}

    def open(self, number: int, path: Path, exchange: Exchange, *, is_stream: bool) -> None:
        """Begin a file with its first parts, or its end: most exchanges take one message."""
        self._openings[number] = path, exchange, is_stream

    def add(self, number: int, offsets: Sequence[float], parts: Sequence[bytes]) -> None:
        self._ask(number, offsets, parts, None)

    def finish(
        self, number: int, exchange: Exchange, offsets: Sequence[float] = (), parts: Sequence[bytes] = ()
    ) -> ExchangeSummary:
        found = self._ask(number, offsets, parts, exchange)
        assert isinstance(found, ExchangeSummary)
        return found

    def close(self) -> None:
        self.process.communicate()

    def _ask(self, number: int, offsets: Sequence[float], parts: Sequence[bytes], ending: Exchange | None) -> object:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            _send(self.process.stdin, (number, self._openings.pop(number, None), offsets, parts, ending))
            found = _receive(self.process.stdout)
        except (BrokenPipeError, EOFError):
            raise OSError("the process that writes the files has ended") from None
        if isinstance(found, OSError):
            raise found
        return found


def _send(file: IO[bytes], value: object) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(_SIZE.pack(len(data)) + data)
    file.flush()


def _receive(file: IO[bytes]) -> object:
    head = file.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise EOFError
    (size,) = _SIZE.unpack(head)
    value: object = pickle.loads(file.read(size))  # noqa: S301  # of the other process of this program
    return value


def _step_back() -> None:
    """Let streams come first: this process takes a smaller share, and does not interrupt another when it wakes."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    if sys.platform == "linux":
        with suppress(OSError):  # a container may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _write(
    writers: LocalWriters,
    number: int,
    opening: _Opening | None,
    offsets: Sequence[float],
    parts: Sequence[bytes],
    ending: Exchange | None,
) -> ExchangeSummary | None:
    """Write some parts of an exchange, and its begin or its end if they are given."""
    if opening is not None:
        path, exchange, is_stream = opening
        writers.open(number, path, exchange, is_stream=is_stream)
    if ending is not None:
        return writers.finish(number, ending, offsets, parts)
    writers.add(number, offsets, parts)
    return None


def _run() -> None:
    """Write exchanges as the parent process commands, until its pipe is closed."""
    _step_back()
    writers = LocalWriters()
    while True:
        try:
            asked = _receive(sys.stdin.buffer)
        except EOFError:
            return
        assert isinstance(asked, tuple)
        try:
            found: object = _write(writers, *asked)
        except OSError as error:
            found = error
        except Exception as error:  # the next exchanges are written all the same
            found = OSError(f"a bug in the recorder: {error!r}")
        _send(sys.stdout.buffer, found)


if __name__ == "__main__":
    _run()
