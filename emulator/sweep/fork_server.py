"""Fork a process for each run of a Python program, from one that has imported the libraries of that program.

``preload.py`` starts this file with the interpreter of the program, which may be older and may lack this package, so it
imports nothing of ours. Messages are lines of JSON on two pipes. The first has the :class:`Plan`; its answer is empty
or names a library that cannot be shared. Then ``{"out", "err", "variables"}`` forks a run, ``{"wait": PID}`` reaps it.

The forked process leaves :func:`serve` and runs the program as the interpreter does, with the interpreter's own end.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType
    from typing import BinaryIO, TypedDict

    class Run(TypedDict):
        """A run to fork: its files of output and its environment variables."""

        out: str
        err: str
        variables: dict[str, str]

    class Plan(TypedDict):
        """What to import, and what to run.

        Fields:
            kind: ``-m``, ``-c`` or empty for a file.
            words: module, code or file, and its arguments.
            orig_argv: value of ``sys.orig_argv``.
            modules: modules to import, in order.
            files: file of each module of the program by its name; empty: it has none.
            rewritten: modules whose assertions pytest rewrites.
            varying: environment variables that the program sets.
            given: environment variables of which each run has its own.
            learn: file to which the forked process writes its modules at its end; empty: none.
        """

        kind: str
        words: list[str]
        orig_argv: list[str]
        modules: list[str]
        files: dict[str, str]
        rewritten: list[str]
        varying: list[str]
        given: list[str]
        learn: str


_TASKS, _FILES = "/proc/self/task", "/proc/self/fd"
_WHOLE = "all variables"
_PLACEHOLDER = "http://127.0.0.1:9/no-run"  # where nothing answers
_USES = set(dir(str)) - set(dir(object)) | {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"}
_USES |= {"__str__", "__repr__", "__format__", "__reduce_ex__"}
_READS = "reads {} of the environment when it is imported"
_given: dict[str, _Given] = {}
_places: dict[str, list[tuple[dict[str, object], str]]] = {}
_read: set[str] = set()
_written: set[str] = set()


class _Given(str):
    """Value that stands for a variable of a run while libraries are imported; it notes any use but to pass it on."""

    is_used = False
    reader = ""

    def __radd__(self, other: str) -> str:
        self.is_used = True
        return other


def _note(name: str) -> Callable[..., object]:
    """Return a method of ``str`` that notes its use."""
    method = getattr(str, name)

    def noted(self: _Given, *args: object, **named: object) -> object:
        self.is_used = True
        return method(self, *args, **named)

    return noted


for _name in _USES:
    setattr(_Given, _name, _note(_name))


class _Watched(os._Environ):  # type: ignore[type-arg]  # subscripts fail at run time in old releases
    """Environment that notes which variables are read and set."""

    def __getitem__(self, key: str) -> str:
        _read.add(key)
        if key in _given:
            return _given[key]
        found: str = super().__getitem__(key)
        return found

    def __setitem__(self, key: str, value: str) -> None:
        _written.add(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        _written.add(key)
        super().__delitem__(key)

    def __iter__(self) -> Iterator[str]:
        _read.add(_WHOLE)
        return super().__iter__()


def _preload(plan: Plan) -> dict[str, str]:
    """Import the modules of a plan; return the first that cannot be shared by forked processes, with the reason."""
    _given.update((name, _Given(_PLACEHOLDER)) for name in plan["given"])
    plain, seen, files = type(os.environ), set(sys.modules), set(os.listdir(_FILES))
    os.environ.__class__ = _Watched
    for name in plan["modules"]:
        _read.clear()
        _written.clear()
        try:
            __import__(name)
        except BaseException as error:
            return {"module": name, "why": f"cannot be imported alone: {error!r}"}
        new = set(sys.modules) - seen
        seen |= new
        why = _find_other(new, plan["files"]) or _find_use(name) or _find_harm(plan["varying"], files)
        if why:
            return {"module": name, "why": why}
    os.environ.__class__ = plain
    for variable in _given:  # not of items(), whose pair would hold the value
        given = _given[variable]
        places = _find_places(given) if given.reader else []
        if places is None:
            return {"module": given.reader, "why": _READS.format(variable)}
        _places[variable] = places
    for name in plan["rewritten"]:
        if name in sys.modules:  # else pytest warns that it came too late to rewrite the assertions of a plugin
            sys.modules[name].__doc__ = f"{sys.modules[name].__doc__ or ''}\n\nPYTEST_DONT_REWRITE"
    return {}


def _find_use(module: str) -> str:
    """Return why a module must not be shared that used a variable of a run, and note that it read one."""
    for variable in _read & set(_given):
        given = _given[variable]
        given.reader = given.reader or module
        if given.is_used:
            return _READS.format(variable)
    return ""


def _find_places(given: _Given) -> list[tuple[dict[str, object], str]] | None:
    """Return the global variables of modules that are this value; ``None``: something else has it, too."""
    import gc

    modules = {id(vars(module)) for module in list(sys.modules.values())}
    places: list[tuple[dict[str, object], str]] = []
    for holder in gc.get_referrers(given):
        if isinstance(holder, dict) and id(holder) in modules:
            for name in holder:  # not in a comprehension, whose cell would hold the value
                if holder[name] is given:
                    places.append((holder, name))
        elif holder is not _given and not isinstance(holder, type(sys._getframe())):
            return None
    return places


def _fill(variables: dict[str, str]) -> None:
    """Give the environment and the libraries their variables."""
    _given.clear()
    os.environ.update(variables)
    for variable, places in _places.items():
        for holder, name in places:
            holder[name] = variables[variable]


def _find_other(names: set[str], files: dict[str, str]) -> str:
    """Return a reason if a module comes from another file than in the program."""
    for name in names - {"__mp_main__"}:
        if name in files and files[name] != find_file(sys.modules[name]):
            return f"imports another module {name} than the program"
    return ""


def _find_harm(varying: list[str], files: set[str]) -> str:
    """Return why a module must not be shared that was imported just now; empty if it may be."""
    read = _read.intersection([*varying, _WHOLE]) - _written  # some set one for the time of their import
    if read:
        return _READS.format(min(read))
    if len(os.listdir(_TASKS)) > 1:
        return "starts a thread when it is imported"
    if set(os.listdir(_FILES)) - files:
        return "opens a file when it is imported"
    if _has_children():
        return "starts a process when it is imported"
    sys.stdout.flush()
    sys.stderr.flush()
    return "prints when it is imported" if os.fstat(1).st_size + os.fstat(2).st_size else ""


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def find_file(module: ModuleType) -> str:
    """Return the file of a module; empty if it has none."""
    return str(getattr(module, "__file__", None) or "")


def _learn(file: str) -> None:
    """Note at the end of this process which modules it has, and which environment variables it set."""
    import atexit
    import json

    os.environ.__class__ = _Watched

    def write() -> None:
        rows = [
            (name, find_file(module), type(getattr(getattr(module, "__spec__", None), "loader", None)).__name__)
            for name, module in list(sys.modules.items())
        ]
        with open(file, "w", encoding="utf-8") as written:
            json.dump({"modules": rows, "set": sorted(_written)}, written)

    atexit.register(write)  # the first that is registered is called last


def serve(requests: BinaryIO, replies: BinaryIO) -> Plan:
    """Fork a process for each request; return only in such a process, to run the program."""
    import json
    import signal

    def send(message: object) -> None:
        replies.write(json.dumps(message).encode() + b"\n")

    plan: Plan = json.loads(requests.readline())
    refused = _preload(plan)
    if plan["modules"] and not refused:
        _keep_libraries()
    send(refused)
    inherited = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, no status is kept
    for line in iter(requests.readline, b""):
        request = json.loads(line)
        if "wait" in request:
            send({"status": os.waitpid(request["wait"], 0)[1]})
            continue
        reply = _fork(request, (requests, replies))
        if not reply:
            signal.signal(signal.SIGCHLD, inherited)
            return plan
        send(reply)
    os._exit(0)


def _keep_libraries() -> None:
    """Keep what is imported out of the search for garbage, which takes longest at the end of a run."""
    import gc

    gc.collect()
    if hasattr(gc, "freeze"):  # PyPy has none
        gc.freeze()


def _fork(request: Run, pipes: Iterable[BinaryIO]) -> dict[str, object]:
    """Fork a run; return an empty reply in it, and its process or the error in this one, once it has begun or ended."""
    try:
        errors, to = os.pipe()
    except OSError as error:
        return {"error": repr(error)}
    try:
        pid = os.fork()
    except OSError as error:
        os.close(errors)
        os.close(to)
        return {"error": repr(error)}
    if pid == 0:
        try:
            for pipe in pipes:
                pipe.close()
            os.close(errors)
            _become(request["out"], request["err"], request["variables"])
        except BaseException as error:
            os.write(to, repr(error).encode())
            os._exit(1)
        os.close(to)
        return {}
    os.close(to)
    with os.fdopen(errors, "rb") as told:
        found = told.read().decode()
    if found:
        os.waitpid(pid, 0)
        return {"error": found}
    return {"pid": pid}


def _become(out: str, err: str, variables: dict[str, str]) -> None:
    """Print to files, take variables, and lead a session, as each run does; until then it ends with this server."""
    for file, to in ((out, 1), (err, 2)):
        opened = os.open(file, os.O_WRONLY)
        os.dup2(opened, to)
        os.close(opened)
    _fill(variables)
    os.setsid()


def prepare(plan: Plan) -> Callable[[], None]:
    """Set ``sys`` and ``__main__`` as the interpreter does; return a function that runs the program."""
    import builtins

    kind, words = plan["kind"], plan["words"]
    main = type(sys)("__main__")
    vars(main).update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = main
    if "__mp_main__" in sys.modules:  # another name of the main module
        sys.modules["__mp_main__"] = main
    sys.argv = [kind or words[0], *words[1:]]
    sys.orig_argv = plan["orig_argv"]
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        folder = os.path.dirname(os.path.realpath(words[0])) if not kind else os.getcwd() if kind == "-m" else ""
        sys.path.insert(0, folder)
    if kind == "-m":
        import runpy

        return lambda: runpy._run_module_as_main(words[0])  # type: ignore[attr-defined]
    if kind == "-c":
        code = compile(words[0], "<string>", "exec", dont_inherit=True)
        _show_source(code, words[0])
        return lambda: exec(code, vars(main))  # noqa: S102
    from importlib.machinery import SourceFileLoader

    name = os.path.join(os.getcwd(), words[0])
    vars(main).update(__file__=name, __cached__=None, __loader__=SourceFileLoader("__main__", name))

    def run_file() -> None:
        with open(name, "rb") as file:
            source = file.read()
        exec(compile(source, name, "exec", dont_inherit=True), vars(main))  # noqa: S102

    return run_file


def _show_source(code: object, source: str) -> None:
    """Let tracebacks show the lines of code given with ``-c``, as Python does from 3.13 on."""
    import linecache

    register = getattr(linecache, "_register_code", None)
    if register is not None:  # 3.13.0 finds the lines by the name of the file, later releases by the code
        register(code if hasattr(linecache, "_getline_from_code") else "<string>", source, "<string>")


def run(plan: Plan) -> None:
    """Run the program; SystemExit and KeyboardInterrupt are left to the interpreter, which knows their exit status."""
    if plan["learn"]:
        _learn(plan["learn"])
    program = prepare(plan)
    try:
        program()
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        ours = error.__traceback__
        theirs = ours.tb_next.tb_next if ours is not None and ours.tb_next is not None else None
        sys.excepthook(type(error), error.with_traceback(theirs), theirs)
        raise SystemExit(1) from None


if __name__ == "__main__":
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        del sys.path[0]  # the folder of this file
    run(serve(os.fdopen(int(sys.argv[1]), "rb"), os.fdopen(int(sys.argv[2]), "wb", buffering=0)))
