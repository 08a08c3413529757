"""YAML as 1.2 has it, every mistake with its place, several files and folders."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from emulator.core.json import JSON
from emulator.scenario.errors import ScenarioError
from emulator.scenario.load import load_library, load_paths, load_scenario, load_text, select
from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.mistakes import Row
from emulator.scenario.schema import BUILT_IN, Scenario

HEAD = "version: 1\n"


def rows_of(text: str | bytes) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "a.yaml")
    return [str(row) for row in caught.value.rows]


def write(folder: Path, **files: str) -> list[Path]:
    paths = [folder / name.replace("__", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def error_value(yaml: str) -> JSON:
    """What a scalar is, seen through a field that takes any value."""
    loaded = load_text(f"{HEAD}rules: [{{name: r, error: {{kind: internal, body: {yaml}}}}}]")
    outcome = loaded.scenario.rules[0].error
    assert outcome is not None
    return outcome.body


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        pytest.param("no", "no", id="no is a string"),
        pytest.param("on", "on", id="on is a string"),
        pytest.param("yes", "yes", id="yes is a string"),
        pytest.param("off", "off", id="off is a string"),
        pytest.param("y", "y", id="y is a string"),
        pytest.param("true", True, id="true is true"),
        pytest.param("False", False, id="False is false"),
        pytest.param("~", None, id="a tilde is null"),
        pytest.param("null", None, id="null is null"),
        pytest.param("1e3", 1000.0, id="1e3 is a number"),
        pytest.param("-.5", -0.5, id="a number may begin with its point"),
        pytest.param("0o17", 15, id="octal has a letter"),
        pytest.param("017", 17, id="a leading zero is not octal"),
        pytest.param("0xFF", 255, id="hexadecimal"),
        pytest.param("1:30", "1:30", id="no base sixty"),
        pytest.param("1_000", "1_000", id="no underscores in numbers"),
        pytest.param("0b11", "0b11", id="no binary numbers"),
        pytest.param("2026-01-01", "2026-01-01", id="a date is a string"),
        pytest.param("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", id="a timestamp is a string"),
        pytest.param("'12'", "12", id="quotes make a string"),
        pytest.param("!!str 12", "12", id="a tag makes a string"),
        pytest.param("!!float 12", 12.0, id="a tag makes a float"),
        pytest.param("{<<: 1}", {"<<": 1}, id="no merge key"),
        pytest.param("{429: x, on: y}", {"429": "x", "on": "y"}, id="keys are their text"),
        pytest.param("=", "=", id="an equals sign is a string"),
        pytest.param("Grüße", "Grüße", id="text of any language"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(yaml: str, value: JSON) -> None:
    found = error_value(yaml)
    assert (type(found), found) == (type(value), value)


def test_an_alias_repeats_what_it_stands_for() -> None:
    text = HEAD + "rules:\n- {name: a, error: &e {kind: internal}}\n- {name: b, error: *e}\n"
    first, second = load_text(text).scenario.rules
    assert first.error == second.error is not None


@pytest.mark.parametrize(
    ("text", "row"),
    [
        pytest.param("nam: x", "a.yaml:2:1: nam: unknown key; did you mean name?", id="key"),
        pytest.param("qqqq: x", "a.yaml:2:1: qqqq: unknown key", id="key like no other"),
        pytest.param("seed: x", 'a.yaml:2:7: seed: expected a whole number, got "x"', id="whole number"),
        pytest.param("seed: 1.5", "a.yaml:2:7: seed: expected a whole number, got 1.5", id="fraction"),
        pytest.param("seed:", "a.yaml:2:6: seed: expected a whole number, got null", id="key without value"),
        pytest.param("strict: yes", 'a.yaml:2:9: strict: expected true or false, got "yes"', id="yes is not true"),
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
            "a.yaml:2:42: latency.ttft.mean: unknown key",
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
        pytest.param("clock: {scale: 0}", "a.yaml:2:16: clock.scale: expected more than 0, got 0", id="clock"),
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
            "a.yaml:2:46: deployments[0].task: expected chat, completions, embeddings or rerank, "
            'got "embedding"; did you mean embeddings?',
            id="task",
        ),
        pytest.param("keys: [{token: x}]", "a.yaml:2:8: keys[0].principal: missing key", id="missing key"),
    ],
)
def test_mistake(text: str, row: str) -> None:
    assert row in rows_of(HEAD + text)


@pytest.mark.parametrize(
    ("rule", "row"),
    [
        pytest.param(
            "error: {kind: internal, retry_afer: 2s}",
            "a.yaml:4:29: rules[0].error.retry_afer: unknown key; did you mean retry_after?",
            id="unknown key",
        ),
        pytest.param(
            "error: {kind: overload}",
            "a.yaml:4:19: rules[0].error.kind: expected invalid_request, invalid_parameter, unauthenticated, "
            "forbidden, not_found, method_not_allowed, payload_too_large, context_length, content_filter, "
            'rate_limited, overloaded, not_ready, timeout or internal, got "overload"; did you mean overloaded?',
            id="unknown error kind",
        ),
        pytest.param(
            "error: {kind: internal, headers: {'a b': c}}",
            "a.yaml:4:39: rules[0].error.headers.a b: expected a name that matches ^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
            id="header name",
        ),
        pytest.param(
            "when: {promt: x}\n    pass: true",
            "a.yaml:4:12: rules[0].when.promt: unknown key; did you mean prompt?",
            id="unknown facet",
        ),
        pytest.param(
            "when: {prompt: {contain: x}}\n    pass: true",
            "a.yaml:4:21: rules[0].when.prompt.contain: unknown key; did you mean contains?",
            id="unknown comparison",
        ),
        pytest.param(
            "when: {prompt: {}}\n    pass: true",
            "a.yaml:4:20: rules[0].when.prompt: expected contains, prefix, suffix, regex or not",
            id="empty comparison",
        ),
        pytest.param(
            "when: {prompt: 5}\n    pass: true",
            "a.yaml:4:20: rules[0].when.prompt: expected a string or a comparison such as contains, got 5",
            id="a number is no text",
        ),
        pytest.param(
            "when: {header.x-a: {not: {contain: x}}}\n    pass: true",
            "a.yaml:4:31: rules[0].when.header.x-a.not.contain: unknown key; did you mean contains?",
            id="unknown comparison under not, of a header",
        ),
        pytest.param(
            "when: {prompt: {regex: '('}}\n    pass: true",
            "a.yaml:4:28: rules[0].when.prompt.regex: expected a regular expression "
            '(missing ), unterminated subpattern at position 0), got "("',
            id="regular expression",
        ),
        pytest.param(
            "when: {body.a..b: x}\n    pass: true",
            "a.yaml:4:12: rules[0].when.body.a..b: expected a dotted path with [n], such as body.messages[0].role",
            id="body path",
        ),
        pytest.param(
            "when: {header.: x}\n    pass: true", "a.yaml:4:12: rules[0].when.header.: unknown key", id="no name"
        ),
        pytest.param(
            "when: {prompt_tokens: {over: 5}}\n    pass: true",
            "a.yaml:4:28: rules[0].when.prompt_tokens.over: unknown key; did you mean above?",
            id="unknown bound",
        ),
        pytest.param(
            "when: {principal: [a, 5]}\n    pass: true",
            "a.yaml:4:27: rules[0].when.principal[1]: expected a string, got 5",
            id="wrong item of a list",
        ),
        pytest.param(
            "when: {principal: }\n    pass: true",
            "a.yaml:4:23: rules[0].when.principal: expected a name or a list of names, got null",
            id="facet without value",
        ),
        pytest.param(
            "times: {evry: 3}\n    pass: true",
            "a.yaml:4:13: rules[0].times.evry: unknown key; did you mean every?",
            id="unknown times",
        ),
        pytest.param(
            "times: {every: 0}\n    pass: true",
            "a.yaml:4:20: rules[0].times.every: expected at least 1, got 0",
            id="every zeroth",
        ),
        pytest.param(
            "times: {between: [60s, 30s]}\n    pass: true",
            "a.yaml:4:12: rules[0].times: expected between to end after it begins",
            id="between the wrong way round",
        ),
        pytest.param(
            "times: {first: 1, per: caller}\n    pass: true",
            'a.yaml:4:28: rules[0].times.per: expected rule, request, principal or deployment, got "caller"',
            id="unknown scope",
        ),
        pytest.param(
            "faults: [{type: disconect}]",
            "a.yaml:4:21: rules[0].faults[0].type: unknown type, expected disconnect, truncate, stall, hang, drip, "
            "late_error, garbage, drop, duplicate, reorder, wrong_usage, wrong_content_type, empty_body, "
            "extra_fields, split, status, got disconect; did you mean disconnect?",
            id="unknown fault",
        ),
        pytest.param(
            "faults: [{for: 2s}]", "a.yaml:4:14: rules[0].faults[0].type: missing key", id="fault without type"
        ),
        pytest.param(
            "reply: {text: a, json: 1}",
            "a.yaml:4:12: rules[0].reply: expected only one of text, json, refusal, embedding, generate",
            id="two answers",
        ),
        pytest.param(
            "reply: {generate: typicl}",
            "a.yaml:4:23: rules[0].reply.generate: expected typical, minimal, boundary, adversarial or invalid, "
            'got "typicl"; did you mean typical?',
            id="unknown way to generate",
        ),
        pytest.param(
            "when: {}",
            "a.yaml:3:5: rules[0]: expected an outcome: error, reply, latency, faults, pass or sequence",
            id="no outcome",
        ),
        pytest.param(
            "error: {kind: internal}\n    reply: {text: a}",
            "a.yaml:3:5: rules[0]: expected either error or reply",
            id="error and reply",
        ),
        pytest.param(
            "pass: true\n    reply: {text: a}",
            "a.yaml:3:5: rules[0]: expected pass to stand alone",
            id="pass and reply",
        ),
        pytest.param("pass: false", "a.yaml:3:5: rules[0]: expected pass to be true", id="pass that does not"),
        pytest.param(
            "pass: true\n    then: last", "a.yaml:3:5: rules[0]: then and per stand beside a sequence", id="then alone"
        ),
        pytest.param(
            "pass: true\n    sequence: [{pass: true}]",
            "a.yaml:3:5: rules[0]: expected either a sequence or one outcome",
            id="sequence and outcome",
        ),
        pytest.param(
            "sequence: [{eror: {kind: timeout}}]",
            "a.yaml:4:17: rules[0].sequence[0].eror: unknown key; did you mean error?",
            id="a step with a wrong key is no missing step",
        ),
        pytest.param(
            "sequence: []", "a.yaml:4:15: rules[0].sequence: expected a list of at least 1, got a list", id="no steps"
        ),
        pytest.param(
            "sequence: [{pass: true}, {}]",
            "a.yaml:4:30: rules[0].sequence[1]: expected an outcome: error, reply, latency, faults or pass",
            id="empty step",
        ),
    ],
)
def test_mistake_in_a_rule(rule: str, row: str) -> None:
    assert rows_of(f"version: 1\nrules:\n  - name: r\n    {rule}\n") == [row]


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


def test_twelve_mistakes_are_twelve_rows() -> None:
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


@pytest.mark.parametrize(
    ("text", "row"),
    [
        pytest.param("a: [1", "a.yaml:2:1: not YAML: did not find expected ',' or ']'", id="a bracket left open"),
        pytest.param("\t- x", "a.yaml:1:1: not YAML: found character that cannot start any token", id="a tab"),
        pytest.param("a: 1\n---\nb: 1", "a.yaml:2:1: not YAML: but found another document", id="two documents"),
        pytest.param("a: *b", "a.yaml:1:4: not YAML: found undefined alias", id="an alias of nothing"),
        pytest.param("", "a.yaml:1:1: expected a mapping", id="an empty file"),
        pytest.param("[1]", "a.yaml:1:1: expected a mapping", id="a list"),
        pytest.param(b"a: 1\nb: \xff", "a.yaml:2:1: not UTF-8", id="bytes that are no text"),
        pytest.param("a: 1\nb: \ud800", "a.yaml:2:1: not UTF-8", id="half a character"),
        pytest.param("a: \x00", "a.yaml:1:1: not YAML: unacceptable character", id="a control character"),
        pytest.param("[" * 100_000, "a.yaml:1:1: nested too deeply", id="a hundred thousand brackets"),
        pytest.param("- " * 100_000, "a.yaml:1:1: nested too deeply", id="a hundred thousand dashes"),
    ],
)
def test_no_scenario_at_all(text: str | bytes, row: str) -> None:
    rows = rows_of(text)
    assert len(rows) == 1
    assert rows[0].startswith(row)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 7)]
    assert rows_of("\n".join(lines)) == ["a.yaml:1:1: nested too deeply"]


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


@settings(max_examples=25, deadline=None)
@given(data=st.dictionaries(st.sampled_from(TOP), documents))
def test_whatever_is_wrong_is_a_row_with_a_place(data: JSON) -> None:
    rows: Sequence[Row] = ()
    try:
        load_text(json.dumps({**data, "version": 1}), "a.yaml")
    except ScenarioError as error:
        rows = error.rows
    assert all(row.line == 1 and row.column >= 1 and row.message for row in rows)
    assert not any("<" in row.path or ".*" in row.path for row in rows)


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert load_text(b"\xef\xbb\xbfversion: 1\nname: x").scenario.name == "x"


def test_columns_count_characters() -> None:
    assert rows_of(HEAD + "keys: [{token: 'äöü', principl: x, principal: y}]") == [
        "a.yaml:2:23: keys[0].principl: unknown key; did you mean principal?"
    ]


# Several files


def test_lists_of_several_files_join_in_order(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        b__yaml="version: 1\nseed: 7\nvendors: {tgi: false}\nrules: [{name: one, pass: true}]",
        a__yaml="version: 1\nvendors: {azure: {profile: maas}}\nrules: [{name: two, pass: true}]",
    )
    loaded = load_scenario(paths)
    assert [rule.name for rule in loaded.scenario.rules] == ["one", "two"]
    assert loaded.scenario.vendors == {"tgi": False, "azure": {"profile": "maas"}}
    assert (loaded.scenario.seed, loaded.scenario.name) == (7, "b+a")
    assert loaded.sources == tuple(paths)
    assert str(loaded.row(("rules", 1, "name"), "wrong")).startswith(f"{paths[1]}:3:16: ")


def test_a_value_set_twice_the_same_is_no_mistake(tmp_path: Path) -> None:
    paths = write(tmp_path, a__yaml="version: 1\nseed: 7", b__yaml="version: 1\nseed: 7")
    assert load_scenario(paths).scenario.seed == 7


@pytest.mark.parametrize(
    ("first", "second", "place", "path"),
    [
        pytest.param("seed: 7", "seed: 8", "2:7", "seed", id="a number"),
        pytest.param("vendors: {tgi: false}", "vendors: {tgi: {}}", "2:16", "vendors.tgi", id="off and on"),
        pytest.param(
            "latency: {ttft: {type: constant, value: 1s}}",
            "latency: {ttft: {type: constant, value: 2s}}",
            "2:41",
            "latency.ttft.value",
            id="a part of a latency",
        ),
    ],
)
def test_a_value_set_twice_differently(tmp_path: Path, first: str, second: str, place: str, path: str) -> None:
    paths = write(tmp_path, a__yaml=HEAD + first, b__yaml=HEAD + second)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(paths)
    assert str(caught.value) == f"{paths[1]}:{place}: {path}: set twice, and differently at {paths[0]}:{place}"


def test_mistakes_of_all_files_are_reported_with_their_own_places(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        z__yaml="version: 1\nrules:\n- {name: one, pass: true}\n- {name: two, pas: true, pass: true}",
        a__yaml="version: 1\nrules:\n- {name: one, pass: true}\n- {name: three, pass: 1}",
    )
    with pytest.raises(ScenarioError) as caught:
        load_scenario(paths)
    assert str(caught.value).splitlines() == [
        f"{paths[0]}:4:15: rules[1].pas: unknown key; did you mean pass?",
        f"{paths[1]}:3:10: rules[0].name: the name is taken by the rule at {paths[0]}:3:10",
        f"{paths[1]}:4:23: rules[1].pass: expected true or false, got 1",
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file or directory"):
        load_scenario([tmp_path / "nowhere.yaml"])


# Libraries


def test_a_folder_is_a_library(tmp_path: Path) -> None:
    write(
        tmp_path,
        slow__yaml="version: 1\nname: own-name",
        broken__emulator__yml="version: 1",
        schema__json="{}",
        notes__txt="not a scenario",
    )
    library = load_library(tmp_path)
    assert {name: loaded.scenario.name for name, loaded in library.items()} == {"broken": "broken", "slow": "own-name"}
    assert select(library, "slow") is select(library, "own-name") is library["slow"]


def test_a_library_reports_the_mistakes_of_all_its_files(tmp_path: Path) -> None:
    write(tmp_path, a__yaml="version: 2", b__yaml="version: 1", c__yaml="version: 3", b__yml="version: 1")
    with pytest.raises(ScenarioError) as caught:
        load_library(tmp_path)
    assert [Path(row.file).name for row in caught.value.rows] == ["a.yaml", "b.yml", "c.yaml"]


@pytest.mark.parametrize(
    ("files", "name", "chosen"),
    [
        pytest.param({}, None, "built-in", id="an empty folder"),
        pytest.param({"a__yaml": HEAD}, None, "built-in", id="no default"),
        pytest.param({"a__yaml": HEAD, "default__yaml": HEAD}, None, "default", id="a default"),
        pytest.param({"a__yaml": HEAD, "default__yaml": HEAD}, "a", "a", id="by name"),
    ],
)
def test_which_scenario_of_a_folder(tmp_path: Path, files: dict[str, str], name: str | None, chosen: str) -> None:
    write(tmp_path, **files)
    loaded, library = load_paths([tmp_path], name)
    assert loaded.scenario.name == chosen
    assert len(library) == len(files)


def test_an_unknown_name_suggests_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, throttled__yaml=HEAD)
    with pytest.raises(ScenarioError, match=r"throtled: no such scenario; did you mean throttled\?"):
        load_paths([tmp_path], "throtled")


def test_without_paths_everything_simply_answers() -> None:
    loaded, library = load_paths([])
    assert (loaded.scenario, library) == (BUILT_IN, {})
    assert loaded.row(("vendors", "tgi"), "unknown vendor") == Row("built-in", 0, 0, "vendors.tgi", "unknown vendor")


def test_files_make_one_scenario(tmp_path: Path) -> None:
    paths = write(tmp_path, a__yaml=HEAD, b__yaml=HEAD)
    loaded, library = load_paths(paths)
    assert loaded.scenario.name == "a+b"
    assert list(library) == ["a+b"]


def test_a_folder_stands_alone(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="a folder is a library and stands alone"):
        load_paths([tmp_path, *write(tmp_path, a__yaml=HEAD)])


# Mistakes found later


LATER = "version: 1\nvendors:\n  tgi: {profil: x}\nrules:\n- {name: a, pass: true}\n"


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    profile: str = "real"


def find_settings_error(loaded: LoadedScenario) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(loaded.scenario.vendors["tgi"])
    return caught.value


def test_a_vendor_reports_mistakes_in_its_settings_as_rows() -> None:
    loaded = load_text(LATER, "a.yaml")
    rows = loaded.rows(find_settings_error(loaded), Settings, ("vendors", "tgi"))
    assert [str(row) for row in rows] == ["a.yaml:3:9: vendors.tgi.profil: unknown key; did you mean profile?"]


@pytest.mark.parametrize(
    ("path", "row"),
    [
        pytest.param(("vendors", "tgi"), "a.yaml:3:8: vendors.tgi: wrong", id="a value"),
        pytest.param(("vendors", "tgi", "profile"), "a.yaml:3:8: vendors.tgi.profile: wrong", id="a key not written"),
        pytest.param(("rules", 0, "name"), "a.yaml:5:10: rules[0].name: wrong", id="in a list"),
        pytest.param((), "a.yaml:1:1: wrong", id="the whole file"),
    ],
)
def test_a_row_for_a_mistake_found_later(path: tuple[str | int, ...], row: str) -> None:
    loaded = load_text(LATER, "a.yaml")
    assert str(loaded.row(path, "wrong")) == row


def test_rows_are_data_too() -> None:
    row = Row("a.yaml", 1, 2, "seed", "wrong", "right")
    assert json.loads(json.dumps(row.as_json())) == {
        "file": "a.yaml",
        "line": 1,
        "column": 2,
        "path": "seed",
        "message": "wrong",
        "suggestion": "right",
    }


def test_the_digest_changes_with_the_content_and_not_with_its_form() -> None:
    digest = load_text("version: 1\nseed: 7").digest
    assert load_text("{seed: 7, version: 1}  # the same").digest == digest
    assert load_text("version: 1\nseed: 8").digest != digest
