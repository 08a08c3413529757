"""Fork the runs of a Python program from a process that has imported its libraries, for ``emulator sweep --preload``.

Most of a short run is the start of the interpreter and its imports. :class:`PreloadedCommand` pays for them once. It
works where a process can be awaited by others and the threads of a process are listed, which is on Linux.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, TypedDict

from emulator.sweep.command import Command, Process

if TYPE_CHECKING:
    from emulator.sweep.fork_server import Plan

_SERVER = Path(__file__).with_name("fork_server.py")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_FLAGS = re.compile(r"-[bBdEIOPqsSuv]+")
_MAX_STARTS = 12  # each without one more library that cannot be shared
_LIBRARIES = frozenset({"site-packages", "dist-packages"})
_LOADERS = frozenset({"SourceFileLoader", "SourcelessFileLoader", "ExtensionFileLoader"})
_REWRITES = "AssertionRewritingHook"  # of pytest


class _Reply(TypedDict, total=False):
    """Reply of a fork server: the process of a run, its status, or an error; a module that runs cannot share."""

    pid: int
    status: int
    error: str
    module: str
    why: str


class PreloadError(Exception):
    """Runs cannot be forked, with the reason."""


@dataclass(frozen=True, slots=True)
class PythonProgram:
    """A command that runs a Python program.

    Fields:
        interpreter: the interpreter and its flags.
        kind: ``-m``, ``-c`` or empty for a file.
        words: module, code or file, and its arguments.
    """

    interpreter: Sequence[str]
    kind: str
    words: Sequence[str]

    @property
    def orig_argv(self) -> list[str]:
        return [*self.interpreter, *([self.kind] if self.kind else []), *self.words]


def parse_command(words: Sequence[str]) -> PythonProgram:
    """Return the Python program that a command runs: ``python …``, or a script whose first line names Python.

    Raises:
        PreloadError: it runs none, or one that cannot be forked.
    """
    if _PYTHON.fullmatch(Path(words[0]).name):
        return _parse_arguments(words)
    file = shutil.which(words[0])
    if file is None:
        raise PreloadError(f"there is no {words[0]}")
    with open(file, "rb") as script:
        first = script.readline(1000).decode(errors="replace")
    try:
        named = shlex.split(first.removeprefix("#!")) if first.startswith("#!") else []
    except ValueError:
        named = []
    if named[:1] == ["/usr/bin/env"]:
        named = named[1:]
    if not named or not _PYTHON.fullmatch(Path(named[0]).name):
        raise PreloadError(f"{words[0]} is no Python program; name the interpreter, as in `python -m pytest`")
    return _parse_arguments([*named, file, *words[1:]])


def _parse_arguments(words: Sequence[str]) -> PythonProgram:
    """Split the arguments of an interpreter at its program."""
    at = 1
    while at < len(words):
        word = words[at]
        if _FLAGS.fullmatch(word) or (word[:2] in ("-W", "-X") and len(word) > 2):
            at += 1
        elif word in ("-W", "-X"):
            at += 2
        elif word[:2] in ("-m", "-c"):
            given = [word[2:], *words[at + 1 :]] if len(word) > 2 else list(words[at + 1 :])
            if given:
                return PythonProgram(words[:at], word[:2], given)
            break
        elif word.startswith("-"):
            raise PreloadError(f"the flag {word} of {words[0]} is not supported")
        elif Path(word).is_file() and Path(word).suffix not in (".pyc", ".pyz", ".zip"):
            return PythonProgram(words[:at], "", words[at:])
        else:
            raise PreloadError(f"{word} is no file of Python source")
    raise PreloadError(f"{shlex.join(words)} runs no program")


@dataclass(slots=True)
class _ForkServer:
    """Process that forks runs; it answers one message at a time."""

    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    replies: IO[bytes]
    lock: Lock = field(default_factory=Lock)

    def ask(self, message: object) -> _Reply:
        """Send a message; return the reply.

        Raises:
            PreloadError: the process has ended.
        """
        with self.lock:
            try:
                self.requests.write(json.dumps(message).encode() + b"\n")
                line = self.replies.readline()
            except (OSError, ValueError):
                line = b""
        if not line:
            raise PreloadError("the process that preloads libraries has ended")
        found: _Reply = json.loads(line)
        return found

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.requests, self.replies):
            with suppress(OSError):
                pipe.close()


class _Forked:
    """Run that the fork server has forked; it is no child of this process."""

    def __init__(self, server: _ForkServer, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._descriptor = os.pidfd_open(pid)  # readable once the process has ended
        self._lock = Lock()
        self._exit: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit status, negative for a signal."""
        with self._lock:
            if self._exit is None:
                ends = select.poll()
                ends.register(self._descriptor, select.POLLIN)
                if not ends.poll(None if timeout is None else max(0, timeout * 1000)):
                    raise subprocess.TimeoutExpired("", timeout or 0)
                self._exit = os.waitstatus_to_exitcode(self._server.ask({"wait": self.pid})["status"])
                os.close(self._descriptor)
            return self._exit


class PreloadedCommand(Command):
    """Python program whose runs are forked: first from a bare interpreter, then from one with the program's libraries.

    Fields:
        kept_out: libraries that each run imports by itself, with the reason.
    """

    kept_out: dict[str, str]

    def __init__(self, words: Sequence[str], varying: Sequence[str]) -> None:
        """Start to learn; ``varying``: environment variables that differ between runs.

        Raises:
            PreloadError: the system or the command does not allow it.
        """
        super().__init__(words)
        if not hasattr(os, "pidfd_open") or not Path("/proc/self/task").is_dir():
            raise PreloadError("this system cannot await forked processes and list their threads")
        self._program = parse_command(words)
        self._varying, self._set = varying, list[str]()
        self._folder = tempfile.TemporaryDirectory(prefix="emulator-preload-")
        self._learned = Path(self._folder.name, "modules.json")
        self.kept_out = {}
        self._server, _ = self._start_server(self._build_plan({}, [], [], learn=str(self._learned)))

    def preload(self) -> None:
        """Import the libraries that the program imported in its first run, but those that runs cannot share.

        Raises:
            PreloadError: there are none.
        """
        try:
            found = json.loads(self._learned.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise PreloadError("the program ends without the end of its interpreter") from None
        self._set = found["set"]
        files = {name: file for name, file, _ in found["modules"]}
        loaders = {name: loader for name, _, loader in found["modules"]}
        names = _list_libraries(files, loaders, self._program)
        rewritten = [name for name in names if loaders[name] == _REWRITES]
        for _ in range(_MAX_STARTS):
            self._server.end()
            names = [name for name in names if _find_top(name) not in self.kept_out]
            self._server, refused = self._start_server(self._build_plan(files, names, rewritten))
            if not names:
                break
            if not refused:
                return
            self.kept_out[_find_top(refused["module"])] = refused["why"]
        reasons = "; ".join(f"{name} {why}" for name, why in self.kept_out.items())
        raise PreloadError(f"no library can be preloaded{reasons and f': {reasons}'}")

    def _build_plan(
        self, files: Mapping[str, str], modules: Sequence[str], rewritten: Sequence[str], learn: str = ""
    ) -> Plan:
        program = self._program
        return {
            "kind": program.kind,
            "words": [*program.words],
            "orig_argv": program.orig_argv,
            "modules": [*modules],
            "files": {**files},
            "rewritten": [*rewritten],
            "varying": self._set,
            "given": [name for name in self._varying if name not in self._set],
            "learn": learn,
        }

    def _start_server(self, plan: Plan) -> tuple[_ForkServer, _Reply]:
        """Start a fork server; return it with the module that cannot be shared, if there is one."""
        (requests, to), (back, replies) = os.pipe(), os.pipe()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                [*self._program.interpreter, str(_SERVER), str(requests), str(replies)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=(requests, replies),
                start_new_session=True,
            )
        os.close(requests)
        os.close(replies)
        server = _ForkServer(process, os.fdopen(to, "wb", buffering=0), os.fdopen(back, "rb"))
        try:
            return server, server.ask(plan)
        except BaseException:
            server.end()
            raise

    def _start(self, variables: Mapping[str, str], out: IO[bytes], err: IO[bytes]) -> Process:
        with self._lock:
            if self._is_over:
                raise InterruptedError("the sweep is over")
            files = {name: f"/proc/{os.getpid()}/fd/{file.fileno()}" for name, file in (("out", out), ("err", err))}
            reply = self._server.ask({**files, "variables": {**variables}})
            if "error" in reply:
                raise PreloadError(f"a run cannot be forked: {reply['error']}")
            process = _Forked(self._server, reply["pid"])
            self._running.add(process)
            return process

    def end(self) -> None:
        """End all processes that run, and the one that forks them."""
        with suppress(PreloadError):  # it has ended before
            super().end()
        self._server.end()
        self._folder.cleanup()


def _list_libraries(files: Mapping[str, str], loaders: Mapping[str, str], program: PythonProgram) -> list[str]:
    """Return the modules of libraries and of Python itself, in the order of their import."""
    own = Path(files["os"]).parent
    started = {"__main__", "__mp_main__", program.words[0], f"{program.words[0]}.__main__"}
    return [
        name
        for name, file in files.items()
        if file
        and name not in started
        and loaders[name] in {*_LOADERS, _REWRITES}
        and (own in Path(file).parents or not _LIBRARIES.isdisjoint(Path(file).parts))
    ]


def _find_top(name: str) -> str:
    return name.partition(".")[0]
