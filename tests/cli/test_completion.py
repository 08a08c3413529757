"""``emulator completion``: what shells complete."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.cli import build_parser, main
from emulator.cli.choices import SHELLS, VENDOR_NAMES
from emulator.cli.completion import render_completion

pytestmark = pytest.mark.slow

BASH = """
COMP_WORDS=({words}); COMP_CWORD={position}
_emulator
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


# Every word that the completion offers is printed, in a terminal of its own.
ZSH = """
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "source {inner}"
zpty -r -m z said '*RE''ADY*'
zpty -w -n z {line}$'\\t'
zpty -r -m z said '*DO''NE*'
print -r -- $said
"""
INNER = """
PROMPT=
autoload -Uz compinit && compinit -u -D
source {script}
compprefuncs=()
done-offering () {{ print -r -- DO''NE }}
comppostfuncs=(done-offering)
compadd () {{
  if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return $?; fi
  typeset -a found
  builtin compadd -A found "$@"
  for each in $found; do print -r -- "OFFER $each"; done
}}
bindkey '^I' complete-word
print RE''ADY
"""


def run(arguments: list[str]) -> str:
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=20, check=False)
    assert not ended.stderr
    return ended.stdout


def complete_in_bash(line: str, script: Path) -> list[str]:
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    asked = BASH.format(words=quoted, position=len(words) - 1)
    return run(["bash", "--norc", "-c", script.read_text() + asked]).split()


def complete_in_fish(line: str, script: Path) -> list[str]:
    offered = run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]).splitlines()
    return [each.partition("\t")[0] for each in offered]


def complete_in_zsh(line: str, script: Path) -> list[str]:
    inner = script.with_name("inner.zsh")
    inner.write_text(INNER.format(script=script))
    return re.findall(r"OFFER (\S+)", run(["zsh", "-f", "-c", ZSH.format(inner=inner, line=shlex.quote(line))]))


COMPLETE = {"bash": complete_in_bash, "zsh": complete_in_zsh, "fish": complete_in_fish}


def complete(shell: str, line: str, folder: Path) -> list[str]:
    """What a shell offers at the end of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = folder / "completion"
    script.write_text(render_completion(shell, build_parser()))
    return COMPLETE[shell](line, script)


@pytest.mark.covers("language/commands", "completion")
@pytest.mark.covers("promises/first steps", "completion")
@pytest.mark.parametrize("shell", SHELLS[:3])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        pytest.param("emulator che", ["check"], id="a verb"),
        pytest.param("emulator --ver", ["--version"], id="a flag before any verb"),
        pytest.param("llm-emulator env o", ["openvino"], id="a vendor"),
        pytest.param("emulator models ", [*VENDOR_NAMES], id="any vendor"),
        pytest.param("emulator serve --log-l", ["--log-level"], id="a flag"),
        pytest.param("emulator serve --log-format j", ["json"], id="the value of a flag"),
        pytest.param("emulator completion f", ["fish"], id="a shell"),
        pytest.param("emulator check --st", ["--strict"], id="a flag without a value"),
        pytest.param("emulator serve --scenario tok", ["token-quota"], id="a bundled scenario"),
    ],
)
def test_completion_offers_matching_words(shell: str, line: str, offered: list[str], tmp_path: Path) -> None:
    assert sorted(complete(shell, line, tmp_path)) == sorted(offered)


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_falls_back_to_file_names(shell: str, tmp_path: Path) -> None:
    (tmp_path / "calm.yaml").touch()
    offered = complete(shell, f"emulator serve {tmp_path}/ca", tmp_path)
    assert offered == ([] if shell == "bash" else [f"{tmp_path}/calm.yaml"])  # bash takes its own default


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_script_lists_verbs_and_flags(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("serve", "check", "completion", "port-file", "strict", "llm-emulator", *VENDOR_NAMES):
        assert word in script


@pytest.mark.parametrize("shell", SHELLS[:3])
def test_completion_script_passes_shell_syntax_check(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = render_completion(shell, build_parser())
    assert subprocess.run([shell, "-n"], input=script, text=True, timeout=20, check=False).returncode == 0
