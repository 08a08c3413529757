"""Fork the runs of a Python program from a process that has imported its libraries, for ``emulator sweep``.

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
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
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
_MAX_IMPORT = 600.0  # seconds
_MAX_ANSWER = 60.0  # seconds
_MAX_STARTS = 12  # each without one more library that cannot be shared
_LIBRARIES = frozenset({"site-packages", "dist-packages"})
_LOADERS = frozenset({"SourceFileLoader", "SourcelessFileLoader", "ExtensionFileLoader"})
_REWRITES = "AssertionRewritingHook"  # of pytest
_PATCHES = ("gevent.monkey", "eventlet.patcher")  # they change libraries before others import them


class _Reply(TypedDict, total=False):
    """Reply of a fork server: the process of a run, its status, or an error; a module that runs cannot share."""

    pid: int
    status: int
    error: str
    module: str
    why: str


class PreloadError(Exception):
    """Runs cannot be forked, with the reason."""


class UnsuitableError(PreloadError):
    """The command is no Python program in a form that is known, or the system has no such processes."""


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
        UnsuitableError: it runs none, or one that cannot be forked.
    """
    if _PYTHON.fullmatch(Path(words[0]).name):
        return _parse_arguments(words)
    file = shutil.which(words[0])
    if file is None:
        raise UnsuitableError(f"there is no {words[0]}")
    with open(file, "rb") as script:
        first = script.readline(1000).decode(errors="replace")
    try:
        named = shlex.split(first.removeprefix("#!")) if first.startswith("#!") else []
    except ValueError:
        named = []
    if named[:1] == ["/usr/bin/env"]:
        named = named[1:]
    if not named or not _PYTHON.fullmatch(Path(named[0]).name):
        raise UnsuitableError(f"{words[0]} is no Python program")
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
            raise UnsuitableError(f"the flag {word} of {words[0]} is not supported")
        elif Path(word).is_file() and Path(word).suffix not in (".pyc", ".pyz", ".zip"):
            return PythonProgram(words[:at], "", words[at:])
        else:
            raise UnsuitableError(f"{word} is no file of Python source")
    raise UnsuitableError(f"{shlex.join(words)} runs no program")


@dataclass(slots=True)
class _ForkServer:
    """Process that forks runs; it answers one message at a time. ``is_over``: it was ended on purpose."""

    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    replies: IO[bytes]
    lock: Lock = field(default_factory=Lock)
    is_over: bool = False

    def ask(self, message: object, limit: float = _MAX_ANSWER) -> _Reply:
        """Send a message; return the reply.

        Raises:
            PreloadError: the process has ended, or is ended as it does not answer for ``limit`` seconds.
        """
        with self.lock:
            try:
                self.requests.write(json.dumps(message).encode() + b"\n")
                answers = select.poll()
                answers.register(self.replies, select.POLLIN)
                if not answers.poll(limit * 1000):
                    self._kill()
                    raise PreloadError(f"the process that preloads libraries does not answer for {limit:g} s")
                line = self.replies.readline()
            except (OSError, ValueError):
                line = b""
        if not line:
            raise PreloadError("the process that preloads libraries has ended")
        found: _Reply = json.loads(line)
        return found

    def stop(self) -> None:
        """End the process, and with it the wait for an answer."""
        self.is_over = True
        self._kill()

    def end(self) -> None:
        self.stop()
        self.process.wait()
        with self.lock:
            for pipe in (self.requests, self.replies):
                with suppress(OSError):
                    pipe.close()

    def _kill(self) -> None:
        """Kill the process, with a run that it forks just now."""
        if self.process.returncode is None:  # until it is awaited its group has this number
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)


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
                try:
                    self._exit = os.waitstatus_to_exitcode(self._server.ask({"wait": self.pid})["status"])
                except PreloadError:
                    if not self._server.is_over:
                        raise
                    self._exit = -signal.SIGKILL  # as all that still ran
                os.close(self._descriptor)
            return self._exit


class PreloadedCommand(Command):
    """Python program whose runs are forked: first from a bare interpreter, then from one with the program's libraries.

    Fields:
        kept_out: libraries that each run imports by itself, with the reason.
        patience: seconds in which a run is forked.
    """

    kept_out: dict[str, str]
    patience: float = _MAX_ANSWER

    def __init__(self, words: Sequence[str], varying: Sequence[str]) -> None:
        """Start to learn; ``varying``: environment variables that differ between runs.

        Raises:
            PreloadError: the system or the command does not allow it.
        """
        super().__init__(words)
        if not hasattr(os, "pidfd_open") or not Path("/proc/self/task").is_dir():
            raise UnsuitableError("this system cannot await forked processes and list their threads")
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError as error:
            raise UnsuitableError(f"this system does not let processes be awaited: {error.strerror}") from None
        self._varying, self._set = varying, list[str]()
        self.kept_out = {}
        try:
            self._program = parse_command(words)
            self._folder = tempfile.TemporaryDirectory(prefix="emulator-preload-")
        except OSError as error:
            raise PreloadError(str(error)) from None
        self._learned = Path(self._folder.name, "modules.json")
        try:
            self._server, _ = self._start_server(self._build_plan({}, [], [], learn=str(self._learned)))
        except BaseException:
            self._folder.cleanup()
            raise

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
        for patch in files.keys() & _PATCHES:
            raise PreloadError(f"the program imports {patch}, which changes libraries")
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
        """Start a fork server; return it with the module that cannot be shared, if there is one.

        Raises:
            PreloadError: it cannot be started, or ends.
        """
        try:
            server = self._open_server()
        except OSError as error:
            raise PreloadError(f"{self._program.interpreter[0]} cannot be started: {error.strerror}") from None
        try:
            return server, server.ask(plan, _MAX_IMPORT)
        except BaseException:
            server.end()
            raise

    def _open_server(self) -> _ForkServer:
        with ExitStack() as ours, ExitStack() as theirs:
            out, err = (theirs.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            (requests, to), (back, replies) = os.pipe(), os.pipe()
            theirs.callback(os.close, requests)
            theirs.callback(os.close, replies)
            kept = ours.enter_context(os.fdopen(to, "wb", buffering=0)), ours.enter_context(os.fdopen(back, "rb"))
            process = subprocess.Popen(
                [*self._program.interpreter, str(_SERVER), str(requests), str(replies)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=(requests, replies),
                start_new_session=True,
            )
            ours.pop_all()
            return _ForkServer(process, *kept)

    def _start(self, variables: Mapping[str, str], out: IO[bytes], err: IO[bytes]) -> Process:
        with self._lock:
            if self._is_over:
                raise InterruptedError("the sweep is over")
            files = {name: f"/proc/{os.getpid()}/fd/{file.fileno()}" for name, file in (("out", out), ("err", err))}
            reply = self._server.ask({**files, "variables": {**variables}}, self.patience)
            if "error" in reply:
                raise PreloadError(f"a run cannot be forked: {reply['error']}")
            try:
                process = _Forked(self._server, reply["pid"])
            except OSError as error:
                with suppress(ProcessLookupError):
                    os.killpg(reply["pid"], signal.SIGKILL)
                raise PreloadError(f"a run cannot be awaited: {error.strerror}") from None
            self._running.add(process)
            return process

    def end(self) -> None:
        """End all processes that run, and the one that forks them."""
        self._is_over = True
        self._server.stop()  # before the lock is taken, which is held while a run is forked
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
