"""Hook of hatchling that makes the wheel a compiled one: ``HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 pip wheel --no-deps .``."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledWheel(BuildHookInterface):
    """Compiles the modules that ``pyproject.toml`` lists by folder and adds them to the wheel, beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in a temporary copy; the checkout stays as it is. An editable installation is not compiled."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        copy, target = Path(self._folder.name, "copy"), Path(self._folder.name, "target")
        shutil.copytree(Path(self.root, "emulator"), copy / "emulator", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(Path(self.root, "pyproject.toml"), copy)  # mypy's options
        script = Path(self.root, ".ci", "compile.py")
        subprocess.run([sys.executable, script, target, *self._list_files()], cwd=copy, check=True)
        built = [path for path in target.rglob("*") if path.is_file()]
        build_data["force_include"].update({str(path): path.relative_to(target).as_posix() for path in built})
        build_data["infer_tag"], build_data["pure_python"] = True, False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copy and what was built in it."""
        if version != "editable":
            self._folder.cleanup()

    def _list_files(self) -> Iterator[str]:
        for folder, modules in self.config["modules"].items():
            for module in modules:
                yield f"{folder}/{module}.py"
