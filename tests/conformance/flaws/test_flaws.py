"""Real clients on a live port: each flaw is found by its rule, and nobody else is accused."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from emulator import start
from emulator.client import EmulatorClient
from emulator.control.models import Verdict
from tests.conformance.flaws.application import PROGRAMS
from tests.conformance.flaws.sdks import SDKS
from tests.conformance.flaws.stages import ALSO, BUDGET, RULES, STAGES, write_stage
from tests.node import NODE, find_reason

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]  # waits of seconds, some thousand calls of each client

NODE_SDKS: Mapping[str, tuple[str, Sequence[str]]] = {
    "openai (Node)": ("azure", ("openai",)),
    "openai (Node) on Databricks": ("databricks", ("openai",)),
    "@azure-rest/ai-inference": ("azure", ("@azure-rest/ai-inference", "@azure/core-auth", "@azure/core-sse")),
    "@huggingface/inference": ("tgi", ("@huggingface/inference",)),
}
FOLDER = Path(__file__).parent
Cell = tuple[str, str]
CELLS: Sequence[Cell] = [(program, stage) for program in PROGRAMS for stage in STAGES]
WANTED = {
    cell: [rule] for cell, rule in {**{(flaw, stage): rule for flaw, (stage, rule) in RULES.items()}, **ALSO}.items()
}
_FIRST = ("no jitter", "refused together")  # its calls are refused together: the others begin after them
_LONG = ("hangs", "leaks streams", "retries a content filter")
_PAUSE = 0.06  # seconds between programs, so that no client is short of a processor


def find_command(sdk: str) -> Sequence[str]:
    """Return the command that plays programs over a client; skip the test where that is not installed."""
    if sdk in SDKS:
        for module in SDKS[sdk].modules:
            if find_spec(module.partition(".")[0]) is None:
                pytest.skip(f"{module} is not installed")
        return [sys.executable, "-m", "tests.conformance.flaws.play", sdk]
    if reason := find_reason(*NODE_SDKS[sdk][1]):
        pytest.skip(reason)
    return [NODE or "", str(FOLDER / "play.js"), sdk]


def play(server: EmulatorClient, sdk: str, command: Sequence[str], cells: Sequence[Cell]) -> Mapping[Cell, Verdict]:
    """Play programs side by side, each in a session of its own; return the verdicts."""
    vendor = SDKS[sdk].vendor if sdk in SDKS else NODE_SDKS[sdk][0]
    sessions, lines = {}, []
    for number, (program, stage) in enumerate(sorted(cells, key=lambda cell: (cell != _FIRST, cell[0] not in _LONG))):
        session = sessions[program, stage] = server.session(f"play-{number}")
        session.load(write_stage(stage))
        part = {
            "program": program,
            "url": server.url(vendor),
            "key": f"k~play-{number}",
            "budget": BUDGET if stage == "no usage" else None,
            "pause": 2.0 if (program, stage) == _FIRST else _PAUSE,
        }
        lines.append(json.dumps(part))
    given = {"input": "\n".join(lines), "text": True, "env": {**os.environ, "PYTHONPATH": str(FOLDER.parents[2])}}
    subprocess.run([*command], check=True, timeout=240, **given)  # type: ignore[call-overload]
    return {cell: session.verdict() for cell, session in sessions.items()}


@pytest.mark.parametrize("sdk", [*SDKS, *NODE_SDKS])
def test_each_flaw_is_found_by_its_rule_and_nobody_else_is_accused(sdk: str) -> None:
    command = find_command(sdk)
    with start() as server:
        verdicts = play(server, sdk, command, CELLS)
    found = {cell: verdict.broken for cell, verdict in verdicts.items() if verdict.broken}
    rules = {cell: sorted({row.rule for row in broken}) for cell, broken in found.items()}
    assert rules == WANTED, "\n".join(f"{cell}: {row.sentence}" for cell, broken in found.items() for row in broken)
    assert all(verdict.ok == (cell not in WANTED) for cell, verdict in verdicts.items())
    for stage, rule in RULES.values():
        kept = {row.rule: row.kept for row in verdicts["sound", stage].rules}
        assert kept[rule] or rule == "closes_within", (stage, rule)  # a stream that is closed early may not be judged
