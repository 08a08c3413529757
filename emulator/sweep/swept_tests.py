"""Join the tests of a pytest suite to the sweep that runs it: each test has a session on the emulator of the sweep.

A run passes :data:`SWEEP_VARIABLE` to its command. The pytest plugin then gives each test a :class:`SweptClient`, which
writes a file of what the test did; one of these tests meets the fault.
"""

import os
import re
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from pydantic import BaseModel, Field

from emulator.client import EmulatorClient
from emulator.client.request import ControlRequest, Reply, Steps
from emulator.control.models import RequestDetail
from emulator.core.json import JSON, Object, dump_json, parse_json

T = TypeVar("T")
SWEEP_VARIABLE = "EMULATOR_SWEEP"
_SCENARIO = "/_emulator/scenario"


class SweptRun(BaseModel):
    """One run of the command as its tests learn of it.

    Fields:
        url: URL of the emulator's front port.
        session: session of the run, for calls outside tests; its scenario is that of tests without one.
        folder: for a file of each test.
        clock: clock of scenarios that name none.
        test: the test that meets the fault; empty: none.
        rule: the rule that causes it.
    """

    url: str
    session: str
    folder: str
    clock: str
    test: str = ""
    rule: Object = Field(default_factory=dict)


class FinishedTest(BaseModel):
    """What one test did: its last scenario, its calls, and a sentence for each rule for sound clients that it broke."""

    test: str
    document: JSON
    calls: list[RequestDetail]
    broken: dict[str, str]


def read_run(environment: Mapping[str, str] = os.environ) -> SweptRun:
    """Return the run of a sweep that this process is part of."""
    return SweptRun.model_validate_json(environment[SWEEP_VARIABLE])


def read_tests(folder: Path) -> list[FinishedTest]:
    """Return what the tests of a run did, in the order of their ends."""
    return [FinishedTest.model_validate_json(file.read_bytes()) for file in sorted(folder.glob("*.json"))]


class SweptClient(EmulatorClient):
    """Client of the sweep's emulator; a test's session leaves a file, and one test has the rule of the fault."""

    def __init__(self, run: SweptRun) -> None:
        super().__init__(run.url, session=run.session)
        self._swept = run
        self._test: str | None = None

    def begin_test(self, test: str) -> Self:
        """Set the scenario of a test's session to that of the run."""
        parent = super().session(self._swept.session)
        document = parent.scenario().document
        self._test = test
        self.load(document if isinstance(document, dict) else {})
        return self

    def close(self) -> None:
        """End the test's session after its file is written; without a test, leave the session to the sweep."""
        if self._test is None:
            self._connections.close()
            return
        with suppress(ConnectionError):  # the sweep is over
            self._write(self._test)
            super().close()

    def _write(self, test: str) -> None:
        calls = self.requests()
        numbers = {str(call.seq): number for number, call in enumerate(calls, 1)}
        broken = {row.rule: renumber(row.sentence, numbers) for row in self.verdict().broken}
        done = FinishedTest(test=test, document=self.scenario().document, calls=calls, broken=broken)
        file = Path(self._swept.folder, f"{time.time_ns()}-{os.urandom(4).hex()}.part")
        file.write_text(done.model_dump_json(), encoding="utf-8")
        file.rename(file.with_suffix(".json"))

    def _run(self, todo: Steps[T]) -> T:
        __tracebackhide__ = True
        return super()._run(self._follow(todo))

    def _follow(self, todo: Steps[T]) -> Generator[ControlRequest, Reply, T]:
        try:
            request = next(todo)
            while True:
                request = todo.send((yield self._complete(request)))
        except StopIteration as end:
            value: T = end.value
            return value

    def _complete(self, request: ControlRequest) -> ControlRequest:
        """Give a scenario the clock of the run, and in the test that meets the fault its rule, before all others."""
        is_scenario = request.method == "PUT" and request.path.startswith(_SCENARIO)
        document = parse_json(request.body) if is_scenario and self._test is not None else None
        if not isinstance(document, dict):
            return request
        document.setdefault("clock", self._swept.clock)
        if self._test == self._swept.test:
            rule, rules = self._swept.rule, document.get("rules")
            others = rules if isinstance(rules, list) else []
            document["rules"] = [rule, *(one for one in others if one != rule)]
        return replace(request, body=dump_json(document))


def renumber(sentence: str, numbers: Mapping[str, int]) -> str:
    """Return a sentence with numbers of calls that count those of the run, not of the server."""
    return re.sub(r"#(\d+)", lambda found: f"#{numbers.get(found[1], found[1])}", sentence)
