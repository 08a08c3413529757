"""Shells that run a command line in a folder where nothing else may happen."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SHELLS = ("sh", "bash", "zsh", "fish")
TOKEN = "t\u00f6ken '\"$(touch token)`!\\"
ODD = (
    *("'", '"', "\\", "\\'", "''", "\\\\", "\n", "\r", "\t", " ", "!", "!!", "=", "~", "-", "#", "%", "&", ";", "|", "*", "?"),  # noqa: E501
    *("$(touch made)", "`touch made`", "${IFS}", "$TOKEN", "'; touch made; '", '"; touch made; "', "<(touch made)"),
    *("{a,b}", "[x]", "(y)", "> made", "\x03", "\x15", "\x1b[201~", "\x7f", "\x85", "\u202e", "\u00e9", "\U0001f600", "\ufffd"),  # noqa: E501
    *("a", "made", "\\n", "%s", "@made", "=ls", "~root"),
)  # fmt: skip
"""What shells, terminals and people read as more than a letter."""
_FLAGS = {"bash": ("--norc", "--noprofile"), "zsh": ("-f",), "fish": ("--no-config",)}
_DUMP = "#!/bin/sh\nprintf '%s\\0' \"$@\" END\n"


class Ground:
    """Folder with few programs, among them a ``curl`` that prints its arguments and its input."""

    def __init__(self, folder: Path) -> None:
        self._programs, self._ground = folder / "programs", folder / "ground"
        self._programs.mkdir()
        self._ground.mkdir()
        for name in ("sh", "base64"):
            (self._programs / name).symlink_to(shutil.which(name) or name)
        self.add("curl", f"{_DUMP}case \"$*\" in *@-*) base64 -w0;; esac; printf '\\0'\n")

    def add(self, name: str, text: str) -> None:
        program = self._programs / name
        program.write_text(text)
        program.chmod(0o755)

    def run(self, shell: str, script: bytes) -> list[bytes]:
        """Return the output of a script, cut at each NUL; check that no error and no file is left.

        No program but the few is found: one that ran would be complained of.
        """
        found = shutil.which(shell)
        if found is None:
            pytest.skip(f"{shell} is not installed")
        file = self._programs / "script"
        file.write_bytes(script)
        environment = {"PATH": str(self._programs), "TOKEN": TOKEN, "HOME": str(self._programs), "LC_ALL": "C.UTF-8"}
        words = [found, *_FLAGS.get(shell, ()), str(file)]
        done = subprocess.run(words, cwd=self._ground, env=environment, capture_output=True, timeout=100, check=False)
        assert (done.returncode, done.stderr[:2000]) == (0, b"")
        assert os.listdir(self._ground) == []
        return done.stdout.split(b"\0")[:-1]
