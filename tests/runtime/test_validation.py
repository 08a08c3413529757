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
