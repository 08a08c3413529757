"""Golden requests by vendor and profile, and the answers to their mutants."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import yaml

from tests.conformance.mutants.mutate import Mutant, list_mutants
from tests.conftest import running
from tests.golden import read_request
from tests.http_client import OBSERVERS, Answer, Running, read_answer
from tests.untyped_json import JSON

_VENDORS = Path(__file__).parents[2] / "vendors"
_SCENARIOS = {"openvino": "scenario"}


@dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """Request of a golden exchange with a JSON body; ``names`` are those of the files that have it."""

    vendor: str
    profile: str
    head: str
    body: JSON
    names: tuple[str, ...]

    @property
    def method(self) -> str:
        return self.head.split(" ")[0]

    @property
    def target(self) -> str:
        return self.head.split(" ")[1]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def described(self) -> str:
        """The target by which official descriptions know it: the root speaks Azure OpenAI in its profile."""
        is_root = self.profile == "aoai" and not self.path.startswith("/openai/")
        return f"/openai/deployments/d{self.target}" if is_root else self.target

    def encode(self, body: str) -> bytes:
        """Return the request with another body."""
        data = body.encode()
        lines = "".join(f"{line}\r\n" for line in self.head.split("\n"))
        return f"{lines}Host: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data

    def list_mutants(self) -> Iterator[Mutant]:
        return list_mutants(self.body)


def list_goldens(vendor: str) -> list[Golden]:
    """Return the golden requests of a vendor that differ, by profile and text."""
    found: dict[tuple[str, str, bytes], list[str]] = {}
    for path in sorted((_VENDORS / vendor / "golden").glob("*.http")):
        head, body = read_request(path)
        profile = "" if vendor == "databricks" else path.stem.partition("_")[0]
        found.setdefault((profile, head, body), []).append(path.stem)
    goldens = []
    for (profile, head, body), names in found.items():
        if body[:1] in (b"{", b"["):
            try:
                goldens.append(Golden(vendor, profile, head, json.loads(body), tuple(names)))
            except ValueError:
                continue  # the golden of a body that is not JSON
    return goldens


@asynccontextmanager
async def serve_profile(vendor: str, profile: str) -> AsyncIterator[Running]:
    """Serve a vendor with the deployments of its goldens, but without their rules: each answer is the vendor's own."""
    text = import_module(f"tests.vendors.{vendor}.{_SCENARIOS.get(vendor, 'test_golden')}").SCENARIO
    scenario = yaml.safe_load(text % profile if vendor == "openvino" else text)
    scenario.pop("rules", None)
    if profile:
        scenario["vendors"] = {vendor: {"profile": profile}}
    head = {"version": 1, "name": "mutants", "clock": "frozen", "latency": {}}
    async with running(yaml.safe_dump({**head, **scenario})) as value:
        yield value


async def exchange(running: Running, golden: Golden, bodies: Sequence[str]) -> list[Answer]:
    """Send a golden's request with each body over one connection, as far as the server keeps it."""
    head = f"{golden.method} {golden.described} HTTP/1.1\r\n".encode()
    reader, writer = await running.connect(golden.vendor, limit=2**26)
    answers = []
    for body in bodies:
        writer.write(golden.encode(body))
        answer = await asyncio.wait_for(read_answer(reader), timeout=20)
        answers.append(answer)
        for observe in OBSERVERS:
            observe(golden.vendor, head, body.encode(), answer)
        if (answer.header("Connection") or "").lower() == "close":
            writer.close()
            reader, writer = await running.connect(golden.vendor, limit=2**26)
    writer.close()
    return answers


def is_refused(answer: Answer) -> bool:
    """Return whether an answer is an error, by its status, its body or the first event of its stream."""
    if answer.status >= 400 or answer.body[:9] in (b'{"error":', b'{"error" '):
        return True
    if not (answer.header("content-type") or "").startswith("text/event-stream"):
        return False
    try:
        first = next(iter(answer.events()), None)
    except ValueError:
        return False
    return isinstance(first, dict) and first.get("error") is not None
