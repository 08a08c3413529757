"""Tests of scenarios that several workers can serve only with a shared store."""

import pytest

from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.worker_limits import validate_for_workers


def find(text: str) -> list[str]:
    loaded = load_text("version: 1\n" + text)
    try:
        validate_for_workers(loaded, loaded.scenario)
    except ScenarioError as error:
        return [row.path for row in error.rows]
    return []


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("limits: [{unit: requests, amount: 1, window: 1s}]", ["limits[0]"], id="a limit"),
        pytest.param("limits: [{unit: concurrency, amount: 1}]", ["limits[0]"], id="places"),
        pytest.param("budget: {output_tokens: 9, enforce: true}", ["budget.enforce"], id="a budget that is enforced"),
        pytest.param("budget: {output_tokens: 9}", [], id="a budget that judges"),
        pytest.param("latency: {load: {capacity: 1}}", ["latency.load"], id="load"),
        pytest.param(
            "rules: [{name: a, latency: {load: {capacity: 1}}}]", ["rules[0].latency.load"], id="load of a rule"
        ),
        pytest.param("rules: [{name: a, times: {first: 1}, reply: {text: a}}]", ["rules[0].times"], id="a count"),
        pytest.param(
            "rules: [{name: a, times: {probability: 0.5}, reply: {text: a}}]",
            ["rules[0].times.probability"],
            id="chance by attempt",
        ),
        pytest.param("rules: [{name: a, sequence: [{reply: {text: a}}]}]", ["rules[0].sequence"], id="a sequence"),
        pytest.param(
            "rules: [{name: a, reply: {text: 'try {attempt}', template: true}}]", ["rules[0].reply"], id="attempts"
        ),
        pytest.param("rules: [{name: a, reply: {text: 'try {attempt}'}}]", [], id="no template"),
        pytest.param("rules: [{name: a, reply: {text: 'try {{attempt}', template: true}}]", [], id="a brace"),
        pytest.param(
            "rules: [{name: a, reply: {text: '{{{attempt}', template: true}}]",
            ["rules[0].reply"],
            id="a brace before it",
        ),
        pytest.param("rules: [{name: a, when: {prompt: {contains: b}}, reply: {text: a}}]", [], id="a plain rule"),
        pytest.param("rules: [{name: a, times: {between: [1s, 2s]}, reply: {text: a}}]", [], id="a time"),
        pytest.param("latency: {ttft: 10ms}", [], id="latency"),
    ],
)
def test_worker_limit_reasons_name_scenario_paths(text: str, paths: list[str]) -> None:
    assert find(text) == paths
