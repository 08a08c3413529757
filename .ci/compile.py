"""Compile modules with mypyc: ``compile.py TARGET FILE…``, in a copy of the sources, whose dataclasses it changes.

``TARGET`` receives the shared objects, each where the wheel has it.
"""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dataclass_constructors import write_constructors
from mypyc.build import mypycify
from setuptools import Distribution
from setuptools.command.build_ext import build_ext

OPTIONS = [
    "--ignore-missing-imports",  # of the extras, which a build does not install
    "--no-warn-unused-ignores",
    "--no-warn-return-any",
    "--allow-untyped-defs",
    "--allow-incomplete-defs",  # parameters for the fields of other modules' classes
    "--hide-error-context",
]


RUNTIME = Path("build")  # mypyc writes a copy of its own functions there
PATCHES = (  # of these functions: the file, what is replaced, and by what
    (  # from 3.12 on Python warns of three arguments
        "misc_ops.c",
        "PyObject_CallFunctionObjArgs(_m, type, value, traceback, NULL)",
        "PyObject_CallFunctionObjArgs(_m, value, NULL)",
    ),
    (  # an exception that is thrown into a coroutine would lose where it comes from
        "exc_ops.c",
        """    Py_INCREF(type);
    Py_INCREF(value);
    Py_INCREF(traceback);
    PyErr_Restore(type, value, traceback);
""",
        """    if (traceback == Py_None && PyExceptionInstance_Check(value)) {
        traceback = PyException_GetTraceback(value);
    } else {
        Py_INCREF(traceback);
    }
    Py_INCREF(type);
    Py_INCREF(value);
    PyErr_Restore(type, value, traceback);
""",
    ),
    (  # a traceback finds the lines of a source by the whole path; it lies beside the module
        "exc_ops.c",
        "    PyCodeObject *code_obj = PyCode_NewEmpty(filename, funcname, line);\n",
        """    char path[4096];
    PyObject *file = PyDict_GetItemString(globals, "__file__");
    const char *module = file != NULL && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
#ifdef _WIN32
    const char *end = module == NULL ? NULL : strrchr(module, '\\\\');
#else
    const char *end = module == NULL ? NULL : strrchr(module, '/');
#endif
    const char *name = strrchr(filename, '/');
    if (end != NULL && name != NULL) {
        snprintf(path, sizeof(path), "%.*s%c%s", (int)(end - module), module, *end, name + 1);
        filename = path;
    }
    PyErr_Clear();
    PyCodeObject *code_obj = PyCode_NewEmpty(filename, funcname, line);
""",
    ),
)


class BuildInParallel(build_ext):
    """Compiles several sources of an extension at once; nearly all belong to one."""

    def build_extensions(self) -> None:
        compile_sources = self.compiler.compile

        def compile_each(sources: Sequence[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                built = pool.map(lambda source: compile_sources([source], **options), sources)
                return [path for paths in built for path in paths]

        self.compiler.compile = compile_each
        super().build_extensions()


def compile_modules(target: Path, files: list[str]) -> None:
    """Compile the files of the current folder; exit with the errors of mypyc, if there are any."""
    names = {file: file.removesuffix(".py").replace("/", ".") for file in files}
    written = write_constructors({name: Path(file).read_text(encoding="utf-8") for file, name in names.items()})
    for file, name in names.items():
        Path(file).write_text(written[name], encoding="utf-8")
    # One file of C a module, as one for all takes gigabytes; no debug information, as it doubles the wheel.
    extensions = mypycify([*OPTIONS, *files], opt_level="2", debug_level="0", multi_file=True, group_name="emulator")
    if os.name == "posix":  # what no other object looks up is called directly, and needs no symbol at the start
        for extension in extensions:
            extension.extra_compile_args.append("-fvisibility=hidden")
    _patch_runtime()
    command = BuildInParallel(Distribution({"ext_modules": extensions}))
    command.build_lib = str(target)
    command.ensure_finalized()
    command.run()


def _patch_runtime() -> None:
    for name, old, new in PATCHES:
        text = (RUNTIME / name).read_text(encoding="utf-8")
        if old not in text:
            raise SystemExit(f"{name}: the patch fits another release of mypyc")
        (RUNTIME / name).write_text(text.replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    compile_modules(Path(sys.argv[1]), sys.argv[2:])
