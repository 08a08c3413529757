"""``emulator completion``: what shells complete."""

import shutil
import subprocess

import pytest

from emulator.cli import build_parser, main
from emulator.cli.completion import render_completion
from emulator.cli.names import SHELLS, VENDOR_NAMES

BASH = """
COMP_WORDS=({words}); COMP_CWORD={position}
_emulator
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete(line: str) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = render_completion("bash", build_parser()) + BASH.format(words=quoted, position=len(words) - 1)
    ended = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert not ended.stderr
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        pytest.param("emulator che", ["check"], id="a verb"),
        pytest.param("emulator --ver", ["--version"], id="a flag before any verb"),
        pytest.param("llm-emulator env o", ["openvino"], id="a vendor"),
        pytest.param("emulator models ", [*VENDOR_NAMES], id="any vendor"),
        pytest.param("emulator serve --log-l", ["--log-level"], id="a flag"),
        pytest.param("emulator serve --log-format j", ["json"], id="the value of a flag"),
        pytest.param("emulator serve ", [], id="nothing is known, so files are offered"),
        pytest.param("emulator completion f", ["fish"], id="a shell"),
    ],
)
def test_bash_completes(line: str, offered: list[str]) -> None:
    assert complete(line) == offered


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_and_flag_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("serve", "check", "completion", "port-file", "strict", "llm-emulator", *VENDOR_NAMES):
        assert word in script


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_can_read_its_script(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = render_completion(shell, build_parser())
    assert subprocess.run([shell, "-n"], input=script, text=True, timeout=20, check=False).returncode == 0
