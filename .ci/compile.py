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


RUNTIME = Path("build", "misc_ops.c")  # mypyc's own, of which it writes a copy for each build
THROW = "PyObject_CallFunctionObjArgs(_m, type, value, traceback, NULL)"
THROW_ONE = "PyObject_CallFunctionObjArgs(_m, value, NULL)"  # with three arguments Python warns, from 3.12 on


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
    runtime = RUNTIME.read_text(encoding="utf-8")
    if THROW not in runtime:
        raise SystemExit(f"{RUNTIME} throws exceptions in another way than expected")
    RUNTIME.write_text(runtime.replace(THROW, THROW_ONE), encoding="utf-8")
    command = BuildInParallel(Distribution({"ext_modules": extensions}))
    command.build_lib = str(target)
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    compile_modules(Path(sys.argv[1]), sys.argv[2:])
