"""Redact and write recorded exchanges in a process of its own, so that the search for credentials delays no stream.

``emulator record`` starts it.
"""

from __future__ import annotations

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
from emulator.recording.exchange import Exchange, RecordedWrite
from emulator.recording.writer import ExchangeSummary, LocalWriters

_MODULE = "emulator.recording.process"
_SIZE = struct.Struct(">Q")
_NICE = 10  # streams come first


class ProcessWriters:
    """Writer of exchanges in a process of its own, which ends with this one.

    The search takes about as long as passing a stream on: in a thread it would delay every event by milliseconds.
    Writes go over as two lists of plain values, as objects take ten times as long to pickle, for which streams wait.

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

    def open(self, number: int, path: Path, exchange: Exchange, *, is_stream: bool) -> None:
        self._ask("open", number, path, exchange, is_stream=is_stream)

    def add(self, number: int, writes: Sequence[RecordedWrite]) -> None:
        self._ask("add", number, [write.offset for write in writes], [write.data for write in writes])

    def finish(self, number: int, exchange: Exchange) -> ExchangeSummary:
        found = self._ask("finish", number, exchange)
        assert isinstance(found, ExchangeSummary)
        return found

    def close(self) -> None:
        self.process.communicate()

    def _ask(self, name: str, *arguments: object, **options: object) -> object:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            _send(self.process.stdin, (name, arguments, options))
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
        name, arguments, options = asked
        if name == "add":
            number, offsets, parts = arguments
            arguments = number, [RecordedWrite(*pair) for pair in zip(offsets, parts, strict=True)]
        try:
            found: object = getattr(writers, name)(*arguments, **options)
        except OSError as error:
            found = error
        except Exception as error:  # the next exchanges are written all the same
            found = OSError(f"a bug in the recorder: {error!r}")
        _send(sys.stdout.buffer, found)


if __name__ == "__main__":
    _run()
