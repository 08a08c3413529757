"""Tests that values without a sensible meaning are refused with position and reason."""

import os
import threading
from pathlib import Path

import pytest

from emulator.scenario.load import load_library, load_text
from emulator.scenario.parsed import ScenarioError

_RULE = "rules:\n- name: r\n  when: {prompt: {regex: '%s'}}\n  pass: true"
_FIXED = "rules: [{name: r, reply: {%s}}]"
_ALIASES = "a: &a " + "x" * 100_000 + "\nb: &b [" + ", ".join(["*a"] * 100) + "]\nc: [" + ", ".join(["*b"] * 100) + "]"


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        pytest.param("clock: {scale: 1.0e300}", "clock.scale", "at most 1e+06", id="a scale"),
        pytest.param("clock: {scale: 1.0e-300}", "clock.scale", "at least 1e-06", id="a scale of almost 0"),
        pytest.param("latency: {ttft: 99999999999d}", "latency.ttft", "at most 36525d", id="a wait"),
        pytest.param(f"latency: {{ttft: {'9' * 5000}s}}", "latency.ttft", "at most 36525d", id="a wait of many digits"),
        pytest.param(
            f"limits: [{{unit: requests, amount: {10**40}, window: 1s}}]", "limits[0].amount", "at most", id="an amount"
        ),
        pytest.param(
            "deployments: [{vendor: azure, name: a, dimensions: 1000000000}]",
            "deployments[0].dimensions",
            "at most 65536",
            id="dimensions",
        ),
        pytest.param(f"keys: [{'{token: a, principal: b}, ' * 1001}]", "keys", "at most 1000", id="credentials"),
        pytest.param(f"seed: 0x{'f' * 100_000}", "seed", "more than 4300 digits", id="a number without end"),
        pytest.param(f"seed: {'9' * 100_000}", "seed", "more than 4300 digits", id="a decimal one"),
        pytest.param(
            f"description: {{{_ALIASES}}}".replace("\n", ", "), "", "8 Mi characters", id="texts times aliases"
        ),
        pytest.param(f"description: {'a' * 9_000_000}", "", "8 Mi characters", id="a text"),
        pytest.param(f"rules: [{'{}, ' * 60_000}]", "", "more than 50,000 values", id="rules"),
        pytest.param("journal: {bodies: 99999999999999999999GiB}", "journal.bodies", "size", id="a size"),
        pytest.param(f"description: {'[' * 250}{']' * 250}", "", "nested too deeply", id="levels"),
        pytest.param(_FIXED % f"json: {'[' * 250}{']' * 250}", "", "nested too deeply", id="levels of an answer"),
        pytest.param(_FIXED % "embedding: [1.0e300]", "embedding[0]", "at most 3.4", id="a number of a vector"),
        pytest.param(
            f"rules: [{{name: r, faults: [{'{type: reorder}, ' * 33}]}}]", "faults", "at most 32", id="faults of a rule"
        ),
        pytest.param(
            "rules: [{name: r, error: {kind: internal, headers: {X-Emulator-Bug: '1'}}}]",
            "headers",
            "choose a name that does not begin with x-emulator-",
            id="a header of our own",
        ),
        pytest.param(_RULE % ("(" * 5000), "regex", "missing )", id="a regular expression"),
    ],
)
def test_extreme_value_is_rejected_with_position(text: str, path: str, reason: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_text(f"version: 1\n{text}\n")
    row = refused.value.rows[0]
    assert row.line
    assert path in row.path
    assert reason in row.message
    assert len(row.message) < 300


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_named_pipe_in_folder_is_not_scenario(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    found: list[str] = []

    def load() -> None:
        try:
            load_library(tmp_path)
        except ScenarioError as error:
            found.extend(row.message for row in error.rows)

    loading = threading.Thread(target=load, daemon=True)
    loading.start()
    loading.join(10)
    assert found == ["not a file"]
