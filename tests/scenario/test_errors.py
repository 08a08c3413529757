"""Tests of diagnostics and their positions."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.json import Object
from emulator.scenario.errors import Diagnostic
from emulator.scenario.load import load_text
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ScenarioError
from tests.scenario.texts import HEAD, rows_of


@pytest.mark.parametrize(
    ("text", "row"),
    [
        pytest.param(
            "a: &a {x: 1}\n<<: *a",
            "a.yaml:3:1: <<: unknown key; YAML 1.2 has no merge keys: an alias stands for a whole value, "
            "so write these keys out",
            id="merge key",
        ),
        pytest.param("nam: x", "a.yaml:2:1: nam: unknown key; did you mean name?", id="key"),
        pytest.param(
            "keys: [{token: t, principal: p, qqqq: x}]",
            "a.yaml:2:33: keys[0].qqqq: unknown key; there are principal, token",
            id="key like no other",
        ),
        pytest.param("keys: dapi-1", "a.yaml:2:7: keys: expected a list, got a string", id="a credential for a list"),
        pytest.param(
            "keys: [dapi-1]", "a.yaml:2:8: keys[0]: expected a mapping, got a string", id="a credential alone"
        ),
        pytest.param(
            "keys: [{token: 123456, principal: p}]",
            "a.yaml:2:16: keys[0].token: expected a string, got a number",
            id="a credential of digits",
        ),
        pytest.param(
            "keys: [{token: '', principal: p}]",
            'a.yaml:2:16: keys[0].token: expected a string that is not empty, got ""',
            id="no credential",
        ),
        pytest.param(
            "keys: [{token: t, principal: 5}]",
            "a.yaml:2:30: keys[0].principal: expected a string, got 5",
            id="the owner of a credential",
        ),
        pytest.param(
            "rules: [{name: a, when: {header.api-key: 123456}, pass: true}]",
            "a.yaml:2:42: rules[0].when.header.api-key: expected a string or a comparison such as contains, "
            "got a number",
            id="a credential that is compared",
        ),
        pytest.param("seed: x", 'a.yaml:2:7: seed: expected a whole number, got "x"', id="whole number"),
        pytest.param("seed: 1.5", "a.yaml:2:7: seed: expected a whole number, got 1.5", id="fraction"),
        pytest.param("seed:", "a.yaml:2:6: seed: expected a whole number, got null", id="key without value"),
        pytest.param("strict: yes", 'a.yaml:2:9: strict: expected true or false, got "yes"', id="yes is not true"),
        pytest.param(
            "deployments: [{vendor: azure, name: a, state: {loading: 20}}]",
            "a.yaml:2:57: deployments[0].state.loading: expected a duration with a unit, such as 250ms, got 20",
            id="how long a state lasts",
        ),
        pytest.param(
            "deployments: [{vendor: azure, name: a, state: {loading: 20s, stopped: 5s}}]",
            "a.yaml:2:47: deployments[0].state: expected a state, or one and how long it lasts, such as "
            "{loading: 20s}, got a mapping",
            id="two states",
        ),
        pytest.param(
            "timing: {invalid: 5ms}",
            "a.yaml:2:10: timing.invalid: unknown key; did you mean invalid_above?",
            id="timing",
        ),
        pytest.param("rules: {a: b}", "a.yaml:2:8: rules: expected a list, got a mapping", id="list"),
        pytest.param("latency: [1]", "a.yaml:2:10: latency: expected a mapping, got a list", id="mapping"),
        pytest.param("name: a\nname: b", "a.yaml:3:1: name: duplicate key, first on line 2", id="duplicate key"),
        pytest.param(
            "vendors: {tgi: {a: 1, a: 1}}",
            "a.yaml:2:23: vendors.tgi.a: duplicate key, first on line 2",
            id="duplicate key in raw settings",
        ),
        pytest.param("seed: .inf", "a.yaml:2:7: seed: infinity and NaN are no JSON numbers", id="infinity"),
        pytest.param("seed: 1e999", "a.yaml:2:7: seed: number too large", id="a number past all floats"),
        pytest.param("name: !!binary aa", "a.yaml:2:7: name: unknown tag tag:yaml.org,2002:binary", id="tag"),
        pytest.param("name: !!int x", "a.yaml:2:7: name: not a value of type int", id="value against its tag"),
        pytest.param("keys: &k [*k]", "a.yaml:2:7: keys[0]: an alias inside what it stands for", id="alias of itself"),
        pytest.param(
            "latency: {ttft: 12}",
            "a.yaml:2:17: latency.ttft: expected a duration with a unit, such as 250ms, or a mapping with type, got 12",
            id="duration without unit",
        ),
        pytest.param(
            "latency: {prefill: 12}",
            "a.yaml:2:20: latency.prefill: expected a duration with a unit, such as 250ms, got 12",
            id="duration as a number",
        ),
        pytest.param(
            "outages: [{name: a, kind: region, between: ['25:00', 1h]}]",
            "a.yaml:2:45: outages[0].between[0]: expected a time of day from 00:00 to 23:59, such as 09:55 or "
            '09:55:30, in UTC, got "25:00"',
            id="no time of day",
        ),
        pytest.param(
            "latency: {prefill: 12parsecs}",
            "a.yaml:2:20: latency.prefill: '12parsecs' is not a duration; "
            "write a number with a unit, such as 250ms, 1.5s or 2m",
            id="duration of an unknown unit",
        ),
        pytest.param(
            "latency: {ttft: {type: lognorml, median: 1s}}",
            "a.yaml:2:24: latency.ttft.type: unknown type, expected constant, uniform, normal, lognormal, gamma, "
            "pareto, empirical, histogram, mixture, got lognorml; did you mean lognormal?",
            id="type of latency",
        ),
        pytest.param(
            "latency: {ttft: {median: 1s}}", "a.yaml:2:17: latency.ttft.type: missing key", id="type left out"
        ),
        pytest.param(
            "latency: {ttft: {type: lognormal, mediam: 1s}}",
            "a.yaml:2:35: latency.ttft.mediam: unknown key; did you mean median?",
            id="key of a type",
        ),
        pytest.param(
            "latency: {ttft: {type: uniform, low: 1s, mean: 1s, high: 2s}}",
            "a.yaml:2:42: latency.ttft.mean: unknown key; there are high, low, max, type",
            id="key of another type is not suggested",
        ),
        pytest.param(
            "limits: [{unit: token, amount: 1, window: 1s}]",
            "a.yaml:2:17: limits[0].unit: expected requests, input_tokens, output_tokens, tokens or concurrency, "
            'got "token"; did you mean tokens?',
            id="unit",
        ),
        pytest.param(
            "limits: [{unit: tokens, amount: 1}]",
            "a.yaml:2:10: limits[0]: expected a window above 0, such as 60s",
            id="limit without window",
        ),
        pytest.param(
            "limits: [{unit: concurrency, amount: 1, window: 1s}]",
            "a.yaml:2:10: limits[0]: concurrency has no window and no strategy",
            id="concurrency with window",
        ),
        pytest.param("clock: {scale: 0}", "a.yaml:2:16: clock.scale: expected at least 1e-06, got 0", id="clock"),
        pytest.param(
            "clock: fast",
            'a.yaml:2:8: clock: expected real, instant or frozen, got "fast"',
            id="clock by an unknown name",
        ),
        pytest.param(
            "vendors: {tgi: true}", "a.yaml:2:16: vendors.tgi: expected false or a mapping, got true", id="on"
        ),
        pytest.param(
            "deployments: [{vendor: azure, name: x, task: embedding}]",
            "a.yaml:2:46: deployments[0].task: expected chat, completions, embeddings, rerank, images, "
            'transcription or speech, got "embedding"; did you mean embeddings?',
            id="task",
        ),
        pytest.param("keys: [{token: x}]", "a.yaml:2:8: keys[0].principal: missing key", id="missing key"),
    ],
)
def test_mistake_is_reported_with_location(text: str, row: str) -> None:
    assert row in rows_of(HEAD + text)


TWELVE = """\
version: 2
titel: twelve mistakes
seed: seven
clock: slow
vendors:
  tgi: 5
latency:
  itl: 12
limits:
  - {unit: tokens, amount: none, window: 60s}
rules:
  - name: first
    when: {promt: x}
    error: {kind: rate_limted}
  - name: first
    faults:
      - type: explode
    times:
      nth: [1, 0]
"""


@pytest.mark.covers("language/sections", "version")
def test_each_of_twelve_mistakes_is_reported() -> None:
    with pytest.raises(ScenarioError) as caught:
        load_text(TWELVE, "a.yaml")
    assert [(row.line, row.column, row.path) for row in caught.value.rows] == [
        (1, 10, "version"),
        (2, 1, "titel"),
        (3, 7, "seed"),
        (4, 8, "clock"),
        (6, 8, "vendors.tgi"),
        (8, 8, "latency.itl"),
        (10, 28, "limits[0].amount"),
        (13, 12, "rules[0].when.promt"),
        (14, 19, "rules[0].error.kind"),
        (15, 11, "rules[1].name"),
        (17, 15, "rules[1].faults[0].type"),
        (19, 16, "rules[1].times.nth[1]"),
    ]
    assert len(str(caught.value).splitlines()) == 12


TOP = list(Scenario.model_fields)
KEYS = ["name", "when", "times", "error", "reply", "latency", "faults", "pass", "sequence", "then", "per", "kind"]
KEYS += ["type", "vendor", "prompt", "tools", "header.a", "query.a", "body.a[0]", "body..a", "contains", "not"]
KEYS += ["regex", "above", "below", "every", "nth", "between", "repeat", "for", "median", "p99", "parts"]
documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from([*TOP, *KEYS, "1s", "", "*"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*TOP, *KEYS]), inner, max_size=6),
    max_leaves=30,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(data=st.dictionaries(st.sampled_from(TOP), documents))
def test_every_mistake_has_location(data: Object) -> None:
    rows: Sequence[Diagnostic] = ()
    try:
        load_text(json.dumps({**data, "version": 1}), "a.yaml")
    except ScenarioError as error:
        rows = error.rows
    assert all(row.line == 1 and row.column >= 1 and row.message for row in rows)
    assert not any("<" in row.path or ".*" in row.path for row in rows)


def test_diagnostic_is_json_serializable() -> None:
    row = Diagnostic("a.yaml", 1, 2, "seed", "wrong", "right")
    assert json.loads(json.dumps(row.as_json())) == {
        "file": "a.yaml",
        "line": 1,
        "column": 2,
        "path": "seed",
        "message": "wrong",
        "suggestion": "right",
        "code": "EM004",
    }
