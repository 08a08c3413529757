"""Play scenarios with a client, and read the verdicts."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import yaml

from emulator.client import EmulatorClient
from emulator.core.json import Object
from emulator.sweep.swept_tests import renumber
from tests.tools.sdks.clients import ENVIRONMENT, OPENAI_PLACES, Sdk
from tests.tools.sdks.plays import PLAYS, ROOT, find_file
from tests.untyped_json import JSON

PATIENCE = 120.0  # real seconds for all scenarios of a client, most of which run at once
_WARM = "default"  # the scenario that is played first, alone
_FIRST = (  # what begins with the scenario's time, then what takes long
    "burst-outage",
    "ovms-graph-not-loaded",
    "never-answers",
    "long-wait",
    "always-overloaded",
    "always-throttled",
    "stalled-stream",
    "token-quota",
)
_BETWEEN = 1.5  # seconds; many that begin at once would keep each other from their waits
_FOREIGN = ("OPENAI", "AZURE", "DATABRICKS", "HF_", "ANTHROPIC", "LITELLM", "CO_", "EMULATOR")  # settings of clients
_MODELS = {("databricks", "context-too-long"): "small-context"}
_INHERITED = {name: text for name, text in os.environ.items() if not name.startswith(_FOREIGN)}


def list_scenarios(sdk: Sdk, only: Sequence[str] = ()) -> dict[str, str]:
    """Return the scenarios that a client can meet, in the order in which they begin, with the vendor that it calls."""
    vendors = {name: PLAYS[name].vendor or sdk.vendors[0] for name in [*_FIRST, *sorted({*PLAYS} - {*_FIRST})]}
    return {name: vendor for name, vendor in vendors.items() if vendor in sdk.vendors and (not only or name in only)}


def judge(server: EmulatorClient, sdk: Sdk, only: Sequence[str] = (), patience: float = PATIENCE) -> Mapping[str, JSON]:
    """Return the outcome of each scenario: of each rule, the breaches, and the errors that the client raised."""
    vendors = list_scenarios(sdk, only)
    with ExitStack() as sessions:
        clients = {name: sessions.enter_context(server.session(f"{_name(sdk)}-{name}")) for name in vendors}
        scenarios = [_describe(sdk, name, vendor, clients[name].url(vendor)) for name, vendor in vendors.items()]
        todo = {"warm": _WARM, "between": _BETWEEN, "scenarios": scenarios}

        def begin() -> None:
            for name, client in clients.items():
                client.load(find_file(name), expect=_read_expected(name))
                client.reset()

        with _playing(sdk, json.dumps(todo), begin, patience) as raised:
            return {name: _read(client, raised.get(name)) for name, client in clients.items()}


def _name(sdk: Sdk) -> str:
    """Return the name of a client as a session may have it."""
    return re.sub(r"[^A-Za-z0-9]+", "-", sdk.name).strip("-")


def _describe(sdk: Sdk, name: str, vendor: str, url: str) -> Object:
    """Return what the process of a client reads of a scenario; ``given``: the model that this scenario needs."""
    path, usual = OPENAI_PLACES[vendor]
    steps = [step._asdict() for step in PLAYS[name].steps if sdk.streams or step.do == "ask"]
    place = {"vendor": vendor, "url": url, "path": path, "usual": usual, "given": _MODELS.get((vendor, name))}
    return {"scenario": name, **place, "steps": steps}


def _read_expected(name: str) -> Object:
    """Return what a scenario expects, and connections that are used again where calls follow at once."""
    expected = yaml.safe_load(find_file(name).read_text(encoding="utf-8"))["expect"]
    return {**(expected if isinstance(expected, dict) else {}), "reuses_connections": name == "default"}


@contextmanager
def _playing(sdk: Sdk, todo: str, begin: Callable[[], None], patience: float) -> Iterator[Mapping[str, list[str]]]:
    """Run a client until it ends or ``patience`` is over; yield the errors that it raised in each ended scenario.

    ``begin`` is called when its imports are done. The process lives as long as the block, with
    the calls that are still open.
    """
    process = subprocess.Popen(
        sdk.command,
        cwd=ROOT,
        env={**_INHERITED, **ENVIRONMENT.get(sdk.name, {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{todo}\n".encode())
        process.stdin.flush()
        while (line := process.stdout.readline()) != b"ready\n":
            assert line, "the client cannot be made"
        begin()
        try:
            said, _ = process.communicate(b"\n", patience)
        except subprocess.TimeoutExpired as late:
            said = late.stdout or b""
        rows = [json.loads(line) for line in said.splitlines() if line.startswith(b'{"scenario"')]
        yield {row["scenario"]: row["errors"] for row in rows}
    finally:
        process.kill()
        process.communicate()


def _read(client: EmulatorClient, errors: list[str] | None) -> JSON:
    """Return the verdict, of each rule the first breach; ``errors``: those raised, ``None``: it has not ended."""
    verdict, calls = client.verdict(), client.requests()
    found: dict[str, list[JSON]] = {}
    for row in verdict.broken:
        found.setdefault(row.rule, []).append(row)
    return {
        "rules": {row.rule: row.kept for row in verdict.rules if row.kept is not None},
        "broken": [
            {
                "rule": rule,
                "breaches": len(rows),
                "figures": dict(rows[0].figures),
                "sentence": _number(rows[0].sentence, calls),
            }
            for rule, rows in found.items()
        ],
        "calls": len(calls),
        "raised": errors,
    }


def _number(sentence: str, calls: Sequence[JSON]) -> str:
    return renumber(sentence, {str(call.seq): number for number, call in enumerate(calls, 1)})
