"""Tests of preloaded commands: a forked run does what a run of the interpreter does."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from emulator.sweep.command import Command, CommandResult
from emulator.sweep.preload import PreloadedCommand, PreloadError, parse_command

PATIENCE = 60.0  # seconds
PYTHON = [sys.executable, "-S"]  # without site-packages it starts sooner
needs_pidfd = pytest.mark.skipif(
    not (hasattr(os, "pidfd_open") and Path("/proc/self/task").is_dir()), reason="the system has no such processes"
)


@contextmanager
def preloaded(words: Sequence[str], varying: Sequence[str] = ("NUMBER",)) -> Iterator[PreloadedCommand]:
    """Learn from a run with NUMBER=1, then preload."""
    command = PreloadedCommand(words, varying)
    try:
        assert show(command.run({"NUMBER": "1"}, PATIENCE)) == show(Command(words).run({"NUMBER": "1"}, PATIENCE))
        command.preload()
        yield command
    finally:
        command.end()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param(["python", "app.py", "-x"], (["python"], "", ["app.py", "-x"]), id="file"),
        pytest.param(["python3.12", "-m", "a.b", "-m"], (["python3.12"], "-m", ["a.b", "-m"]), id="module"),
        pytest.param(["/a/python", "-mpytest", "-q"], (["/a/python"], "-m", ["pytest", "-q"]), id="joined module"),
        pytest.param(
            ["python", "-bb", "-W", "error", "-Xdev", "-c", "1", "2"],
            (["python", "-bb", "-W", "error", "-Xdev"], "-c", ["1", "2"]),
            id="code behind flags",
        ),
        pytest.param(["script", "-q"], (["/a/python3", "-E"], "", ["{bin}/script", "-q"]), id="console script"),
        pytest.param(["through_env"], (["python3"], "", ["{bin}/through_env"]), id="through env"),
    ],
)
def test_python_program_is_found_in_a_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    found: tuple[list[str], str, list[str]],
) -> None:
    put_scripts(tmp_path, monkeypatch)
    interpreter, kind, rest = found
    program = parse_command(words)
    rest = [word.replace("{bin}", str(tmp_path)) for word in rest]
    assert ([*program.interpreter], program.kind, [*program.words]) == (interpreter, kind, rest)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["shell"], "shell is no Python program", id="shell script"),
        pytest.param(["binary"], "binary is no Python program", id="binary"),
        pytest.param(["no_such_program"], "there is no no_such_program", id="nothing"),
        pytest.param(["python"], "python runs no program", id="no program"),
        pytest.param(["python", "-m"], "python -m runs no program", id="no module"),
        pytest.param(["python", "-i", "app.py"], "the flag -i of python is not supported", id="interactive"),
        pytest.param(["python", "-"], "the flag - of python is not supported", id="standard input"),
        pytest.param(["python", "app.zip"], "app.zip is no file of Python source", id="archive"),
        pytest.param(["python", "."], ". is no file of Python source", id="folder"),
    ],
)
def test_command_that_cannot_be_forked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    put_scripts(tmp_path, monkeypatch)
    with pytest.raises(PreloadError) as caught:
        parse_command(words)
    assert str(caught.value).startswith(said)


def put_scripts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put programs into a folder, which is the current one and that of commands."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(folder))
    scripts = {
        "script": b"#!/a/python3 -E\n",
        "through_env": b"#!/usr/bin/env python3\n",
        "shell": b"#!/bin/sh\n",
        "binary": b"\x7fELF",
        "app.py": b"",
        "app.zip": b"",
    }
    for name, text in scripts.items():
        (folder / name).write_bytes(text)
        (folder / name).chmod(0o755)


PROGRAMS = {
    "arguments, paths and flags": """
        import __main__, sys
        print(sys.argv, sys.path[0], sys.orig_argv, sys.flags, __name__, __file__, __package__, __spec__)
        print(sorted(set(vars(__main__)) - {"__annotations__"}), __loader__.get_source("__main__")[:9])
    """,
    "exit status": "raise SystemExit(7)",
    "exit with words": "import sys; sys.exit('no answer')",
    "exit without status": "import sys; sys.exit()",
    "exception": """
        import json
        def fail():
            json.loads("{")
        fail()
    """,
    "exception hook": "import sys; sys.excepthook = lambda *found: print('hook', found[0]); 1 / 0",
    "syntax error": "print('never')\nif",
    "streams to their ends": """
        import atexit, sys
        atexit.register(print, "at exit", end="")
        sys.stdout.write("x" * 100_000)
        sys.stderr.write("y")
    """,
    "thread that ends last": """
        import threading, time
        threading.Thread(target=lambda: (threading.main_thread().join(), print("last"))).start()
        print(threading.current_thread() is threading.main_thread())
    """,
    "killed by itself": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "leader of its session": "import os; print(os.getsid(0) == os.getpid() == os.getpgid(0), os.read(0, 1))",
    "open files": "import os; print(sorted(os.listdir('/proc/self/fd')))",
    "forks": """
        import os
        pid = os.fork()
        if not pid:
            os._exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """,
    "processes": """
        import multiprocessing, sys, subprocess
        def double(number):
            return 2 * number
        if __name__ == "__main__":
            for kind in ("fork", "spawn"):
                with multiprocessing.get_context(kind).Pool(1) as pool:
                    print(kind, pool.map(double, [1, 2]))
            print(subprocess.run([sys.executable, "-S", "-c", "print(3)"], capture_output=True).stdout)
    """,
    "pickled by its main module": """
        import pickle
        class Mine:
            pass
        print(type(pickle.loads(pickle.dumps(Mine()))))
    """,
    "signals": """
        import signal
        print([signal.getsignal(one) for one in (signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD)])
    """,
    "environment": """
        import os, subprocess
        print(os.environ["NUMBER"], os.getenv("NUMBER"), os.environb[b"NUMBER"])
        print(subprocess.run(["printenv", "NUMBER"], capture_output=True).stdout)
    """,
}


def show(ended: CommandResult) -> tuple[int | None, str, str]:
    return ended.exit, ended.out, ended.err


@needs_pidfd
@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_forked_run_is_like_one_of_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(f"import decimal\n{dedent(PROGRAMS[name])}", encoding="utf-8")
    words = [*PYTHON, "app.py", "-q", "two words"]
    if name == "killed by itself":  # it ends before its interpreter, so nothing is learnt
        with pytest.raises(PreloadError, match="ends without the end of its interpreter"), preloaded(words):
            pass
        forked = PreloadedCommand(words, [])
        try:
            assert show(forked.run({}, PATIENCE)) == show(Command(words).run({}, PATIENCE)) == (-15, "", "")
        finally:
            forked.end()
        return
    with preloaded(words) as forked:
        for number in ("2", "3"):
            variables = {"NUMBER": number}
            assert show(forked.run(variables, PATIENCE)) == show(Command(words).run(variables, PATIENCE))


@needs_pidfd
@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["-m", "package", "-q"], id="package"),
        pytest.param(["-mpackage.part"], id="module that fails"),
        pytest.param(["-m", "package.nothing"], id="no such module"),
        pytest.param(["-c", "import decimal, sys; print(sys.argv, sys.path[0]); sys.exit(3)", "-q"], id="code"),
        pytest.param(["-E", "-I", "-c", "import decimal, sys; print(sys.argv, sys.path[0])"], id="isolated"),
        pytest.param(["-P", "link.py"], id="safe path"),
        pytest.param(["-u", "link.py"], id="through a link, unbuffered"),
        pytest.param(["-W", "error", "-c", "import decimal, warnings; warnings.warn('so')"], id="warnings"),
    ],
)
def test_modules_and_code_run_as_by_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("package").mkdir()
    said = "import decimal, sys\nprint(__name__, __package__, __spec__.name, sys.argv, sys.path[0], sys.flags)\n"
    Path("package", "__init__.py").write_text("", encoding="utf-8")
    Path("package", "__main__.py").write_text(said, encoding="utf-8")
    Path("package", "part.py").write_text(f"{said}1 / 0\n", encoding="utf-8")
    Path("bin").mkdir()
    Path("bin", "app.py").write_text("import decimal, sys; print(sys.path[0], __file__)", encoding="utf-8")
    Path("link.py").symlink_to(Path("bin", "app.py"))
    with preloaded([*PYTHON, *words]) as forked:
        plain = Command([*PYTHON, *words]).run({}, PATIENCE)
        found = forked.run({}, PATIENCE)
    assert (found.exit, found.out) == (plain.exit, plain.out)
    assert found.err.splitlines()[-1:] == plain.err.splitlines()[-1:]


@needs_pidfd
@pytest.mark.slow
def test_interrupted_program_ends_by_the_signal(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text("import decimal, os, signal\nif os.environ['NUMBER'] == '2': raise KeyboardInterrupt", "utf-8")
    with preloaded([*PYTHON, str(app)]) as forked:
        assert forked.run({"NUMBER": "2"}, PATIENCE).exit == -2


LIBRARIES = {
    "harmless": "",
    "reads": "import os; os.environ.get('NUMBER') or 1",
    "joins": "import os; 'a' + os.environ['NUMBER']",
    "keeps": "import os; numbers = [os.environ.get('NUMBER')]",
    "passes_on": "import os; number: str | None = os.getenv('NUMBER')",
    "reads_what_the_program_sets": "import os; os.getenv('SET')",
    "copies": "import os; dict(os.environ)",
    "starts_a_thread": "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "starts_a_process": "import subprocess; process = subprocess.Popen(['sleep', '0'])",
    "sets_for_itself": "import os; 'SET' in os.environ; os.environ['SET'] = 'b'",
    "opens": "file = open(__file__)",
    "prints": "print('imported')",
}


@needs_pidfd
@pytest.mark.slow
def test_library_that_runs_cannot_share_is_imported_by_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is shared was imported by another process."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    for name, text in LIBRARIES.items():
        (folder / f"{name}.py").write_text(f"import os\nPID = os.getpid()\n{text}\n", encoding="utf-8")
    (folder / "shadowed.py").write_text("import another\nPID = another.PID\n", encoding="utf-8")
    (folder / "another.py").write_text("import os\nPID = os.getpid()\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    for name in ("another", "own"):
        (tmp_path / f"{name}.py").write_text("import os\nPID = os.getpid()\n", encoding="utf-8")
    names = [*LIBRARIES, "shadowed", "own"]
    app = tmp_path / "app.py"
    app.write_text(
        f"import os\nos.environ['SET'] = 'a'\nimport {', '.join(names)}\n"
        f"for one in ({', '.join(names)}):\n    if one.PID != os.getpid(): print(one.__name__)\n"
        "print(passes_on.number, type(passes_on.number))\n",
        encoding="utf-8",
    )
    with preloaded([*PYTHON, str(app)]) as forked:
        found = forked.run({"NUMBER": "2"}, PATIENCE)
    assert forked.kept_out == {
        "reads": "reads NUMBER of the environment when it is imported",
        "joins": "reads NUMBER of the environment when it is imported",
        "keeps": "reads NUMBER of the environment when it is imported",
        "reads_what_the_program_sets": "reads SET of the environment when it is imported",
        "copies": "reads all variables of the environment when it is imported",
        "starts_a_thread": "starts a thread when it is imported",
        "starts_a_process": "starts a process when it is imported",
        "opens": "opens a file when it is imported",
        "prints": "prints when it is imported",
        "shadowed": "imports another module another than the program",
    }
    assert (found.exit, found.out) == (0, "imported\nharmless\npasses_on\nsets_for_itself\n2 <class 'str'>\n")


@needs_pidfd
@pytest.mark.slow
@pytest.mark.parametrize(
    "finish",
    [
        pytest.param(lambda command: command.end(), id="the sweep ends"),
        pytest.param(None, id="the time is over"),
    ],
)
def test_run_that_hangs_is_ended_with_its_processes(tmp_path: Path, finish: Callable[[Command], None] | None) -> None:
    """The grandchild has one end of a pipe by its name; once that is closed, it has ended."""
    app, pipe = tmp_path / "app.py", tmp_path / "pipe"
    os.mkfifo(pipe)
    app.write_text(
        "import decimal, os, signal\n"
        "if os.environ['NUMBER'] == '2':\n"
        f"    os.fork() or os.write(os.open({str(pipe)!r}, os.O_WRONLY), b'.')\n"
        "    signal.pause()\n",
        encoding="utf-8",
    )
    results: list[CommandResult] = []
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with preloaded([*PYTHON, str(app)]) as forked:
        limit = PATIENCE if finish else 0.0
        run = threading.Thread(target=lambda: results.append(forked.run({"NUMBER": "2"}, limit)))
        run.start()
        if finish:
            wait_for(lambda: read(reader) == b".")
            finish(forked)
        run.join(PATIENCE)
        assert not run.is_alive()
    wait_for(lambda: read(reader) == b"")
    os.close(reader)
    assert results[0].exit == (-9 if finish else None)


def read(descriptor: int) -> bytes | None:
    try:
        return os.read(descriptor, 1)
    except BlockingIOError:
        return None


def wait_for(is_done: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not is_done():
        assert time.monotonic() < ends
        time.sleep(0.01)


@needs_pidfd
@pytest.mark.slow
def test_lost_fork_server_is_an_error(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text("import decimal, os\nif os.environ['NUMBER'] == '2': os.kill(os.getppid(), 9)", encoding="utf-8")
    with preloaded([*PYTHON, str(app)]) as forked, pytest.raises(PreloadError, match="has ended"):
        forked.run({"NUMBER": "2"}, PATIENCE)


@pytest.mark.skipif(hasattr(os, "pidfd_open"), reason="this system can preload")
def test_other_systems_start_each_run() -> None:
    with pytest.raises(PreloadError, match="this system cannot await forked processes"):
        PreloadedCommand([sys.executable, "-c", ""], [])


@needs_pidfd
def test_system_that_refuses_to_await_processes_starts_each_run() -> None:
    """Without free descriptors the call fails, as it does in a sandbox that refuses it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(PreloadError, match="this system does not let processes be awaited"):
            PreloadedCommand([sys.executable, "-c", ""], [])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@needs_pidfd
def test_interpreter_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("", encoding="utf-8")
    with pytest.raises(PreloadError, match="python cannot be started: Permission denied"):
        PreloadedCommand([str(tmp_path / "python"), "-c", ""], [])


@needs_pidfd
@pytest.mark.slow
def test_exit_status_is_known_where_the_end_of_children_is_ignored(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(
        "import decimal, os, signal\nprint(signal.getsignal(signal.SIGCHLD))\n"
        "raise SystemExit(int(os.environ['NUMBER']) - 1)\n",
        encoding="utf-8",
    )
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with preloaded([*PYTHON, str(app)]) as forked:
            assert forked.run({"NUMBER": "4"}, PATIENCE).exit == 3
    finally:
        signal.signal(signal.SIGCHLD, before)


@contextmanager
def preloaded_hook(folder: Path, monkeypatch: pytest.MonkeyPatch, hook: str) -> Iterator[PreloadedCommand]:
    """Preload a library whose hook is called in each forked process, from now on."""
    (folder / "site-packages").mkdir()
    flag = folder / "flag"
    (folder / "site-packages" / "hooked.py").write_text(
        "import os, signal\n"
        f"def hook():\n    if os.path.exists({str(flag)!r}): {hook}\n"
        "os.register_at_fork(after_in_child=hook)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(folder / "site-packages"))
    with preloaded([*PYTHON, "-c", "import hooked"]) as forked:
        flag.touch()
        yield forked


@needs_pidfd
@pytest.mark.slow
def test_run_that_ends_in_its_fork_has_its_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with preloaded_hook(tmp_path, monkeypatch, "os._exit(9)") as forked:
        assert forked.run({}, PATIENCE).exit == 9


@needs_pidfd
@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "is_ended"),
    [
        pytest.param("", True, id="the sweep ends"),
        pytest.param("os.kill(os.getppid(), 9)", True, id="the sweep ends after the server"),
        pytest.param("", False, id="no answer"),
    ],
)
def test_run_that_hangs_in_its_fork_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, *, is_ended: bool
) -> None:
    pipe, said = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def run() -> None:
        with pytest.raises(PreloadError) as caught:
            forked.run({}, PATIENCE)
        said.append(str(caught.value))

    hook = f"{before or 'pass'}; os.write(os.open({str(pipe)!r}, os.O_WRONLY), b'.'); signal.pause()"
    with preloaded_hook(tmp_path, monkeypatch, hook) as forked:
        if is_ended:
            thread = threading.Thread(target=run)
            thread.start()
            wait_for(lambda: read(reader) == b".")
            forked.end()
            thread.join(PATIENCE)
            assert not thread.is_alive()
        else:
            forked.patience = 0.0
            run()
    wait_for(lambda: read(reader) == b"")  # the hanging process has ended
    os.close(reader)
    assert said == [f"the process that preloads libraries {'has ended' if is_ended else 'does not answer for 0 s'}"]
