"""The programs that make the calls of a plan, where they are installed: ``.ci/tools`` builds those of Go and Java."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.conformance.strict.cases import write_plan
from tests.node import find_reason as find_node_reason
from tests.untyped_json import JSON

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Report:
    """What a program says of the calls of a plan.

    Fields:
        answers: number of answers and events that were compared.
        deviations: the calls by ``language target call place: kind``.
        failed: calls that had another outcome than the plan says, or no answer.
    """

    answers: int
    deviations: Mapping[str, str]
    failed: Sequence[str]


def run(language: str, targets: Sequence[JSON]) -> Report:
    """Return the report of a language's program."""
    command = _COMMANDS[language]()
    done = subprocess.run(
        command, input=write_plan([*targets], language), capture_output=True, text=True, check=False, timeout=130
    )
    assert done.returncode == 0, done.stderr
    return _read(language, [json.loads(line) for line in done.stdout.splitlines()])


def _read(language: str, said: Sequence[JSON]) -> Report:
    deviations: dict[str, str] = {}
    failed: list[str] = []
    for each in said:
        where = f"{language} {each['target']} {each['call']}"
        if each.get("failed") or not each["answers"]:
            failed.append(f"{where} {each['name']}: {each.get('failed') or 'no answer'}")
        for one in each["found"] or ():
            deviations.setdefault(f"{where} {one['place']}: {one['kind']}", each["name"])
    return Report(sum(each["answers"] for each in said), deviations, failed)


def find_reason(language: str) -> str:
    """Return why a program cannot run here; empty: it can."""
    return _REASONS[language]()


def _find_python() -> str:
    missing = [name for name in ("openai", "anthropic") if find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def _find_node() -> str:
    return find_node_reason("openai", "@anthropic-ai/sdk", "typescript")


def _find_java() -> str:
    if shutil.which("java") is None:
        return "java is not installed"
    return "" if os.environ.get("STRICT_JAVA") else "STRICT_JAVA has no class path; .ci/tools builds it"


def _find_go() -> str:
    return "" if shutil.which("strict-go") else "strict-go is not on the path; .ci/tools builds it"


_REASONS = {"python": _find_python, "node": _find_node, "java": _find_java, "go": _find_go}
_COMMANDS = {
    "python": lambda: [sys.executable, "-W", "ignore", "-m", "tests.conformance.strict.python"],
    "node": lambda: ["node", str(_FOLDER / "node" / "main.cjs")],
    "java": lambda: ["java", "-cp", os.environ["STRICT_JAVA"], "Strict"],
    "go": lambda: ["strict-go"],
}
