"""Warnings that need the vendors' settings."""

import pytest

from emulator.runtime.validation import validate_scenario
from emulator.scenario.load import load_text
from emulator.vendors import VENDORS


@pytest.mark.parametrize(
    ("vendors", "when", "found"),
    [
        pytest.param("", "vendor: openvino, tools: find", True, id="a profile without tools"),
        pytest.param("vendors: {openvino: {profile: '2026.3'}}", "vendor: openvino, tools: a", False, id="with tools"),
        pytest.param("vendors: {openvino: {tools: unary}}", "vendor: openvino, tools: find", False, id="by a switch"),
        pytest.param("", "vendor: [openvino, azure], tools: find", False, id="of one of two vendors"),
        pytest.param("", "tools: find", False, id="of any vendor"),
        pytest.param("", "vendor: openvino", False, id="no tools"),
    ],
)
def test_rule_for_ignored_tools_gets_warning(vendors: str, when: str, found: bool) -> None:
    text = f"version: 1\n{vendors}\nrules: [{{name: a, when: {{{when}}}, reply: {{text: b}}}}]\n"
    messages = [row.message for _, row in validate_scenario(lambda: load_text(text, "a"), VENDORS)]
    assert messages == (["the rule is never reached: the profile of openvino ignores tools"] if found else [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            "rules: [{name: a, when: {task: embeddings}, reply: {embeddings: [{when: b, vector: [1]}]}}]",
            "1 numbers, and text-embedding-3-large has 3072; `pad: true` adds zeros",
            id="a short vector",
        ),
        pytest.param(
            "rules: [{name: a, sequence: [{pass: true}, {reply: {embeddings: [{when: b, vector: [1]}]}}]}]",
            "1 numbers, and text-embedding-3-large has 3072; `pad: true` adds zeros",
            id="in a sequence",
        ),
        pytest.param("rules: [{name: a, reply: {embedding: [1]}}]", None, id="one vector of any length"),
        pytest.param(
            "outages: [{name: a, kind: region, deployments: [gpt-4o, zzz], between: [1s, 2s]}]",
            "the outage affects no call to zzz, which no vendor it is about serves",
            id="an outage of nothing",
        ),
        pytest.param(
            "keys: [{token: k}]\nlimits: [{per: principal, unit: requests, amount: 1, window: 1s}]",
            "missing key",
            id="no warning of callers where keys are wrong",
        ),
    ],
)
def test_mistake_that_only_vendors_know_is_found(text: str, says: str | None) -> None:
    found = validate_scenario(lambda: load_text(f"version: 1\n{text}\n", "a"), VENDORS)
    assert [row.message for severity, row in found if severity != "note"] == ([says] if says else [])
