"""Tests of YAML 1.2 scalars and of invalid YAML."""

import pytest

from emulator.scenario.load import load_text
from tests.scenario.texts import HEAD, rows_of
from tests.untyped_json import JSON


def error_value(yaml: str) -> JSON:
    """Return the parsed value of a scalar."""
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
def test_scalars_follow_yaml_1_2(yaml: str, value: JSON) -> None:
    found = error_value(yaml)
    assert (type(found), found) == (type(value), value)


def test_alias_repeats_its_anchor() -> None:
    text = HEAD + "rules:\n- {name: a, error: &e {kind: internal}}\n- {name: b, error: *e}\n"
    first, second = load_text(text).scenario.rules
    assert first.error == second.error is not None


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
        pytest.param(
            '{"version": 1,\n "a": "\\\\\\ud83d"}',
            r"a.yaml:2:10: \ud83d is half of a surrogate pair, and no character by itself",
            id="half a pair",
        ),
        pytest.param(
            '{"a": "\\ude00\\ud83d"}',
            r"a.yaml:1:8: \ude00 is half of a surrogate pair, and no character by itself",
            id="a pair in the wrong order",
        ),
        pytest.param(
            'a: "\\ud83d\\ude00"',
            r"a.yaml:1:7: not YAML: an escape that is no character; YAML writes a pair such as \ud83d\ude00",
            id="a pair in what is no JSON",
        ),
        pytest.param("a: \x00", "a.yaml:1:1: not YAML: unacceptable character", id="a control character"),
        pytest.param("[" * 100_000, "a.yaml:1:1: nested too deeply", id="a hundred thousand brackets"),
        pytest.param("- " * 100_000, "a.yaml:1:1: nested too deeply", id="a hundred thousand dashes"),
    ],
)
def test_invalid_yaml_is_rejected(text: str | bytes, row: str) -> None:
    rows = rows_of(text)
    assert len(rows) == 1
    assert rows[0].startswith(row)


def test_alias_expansion_is_bounded() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 7)]
    assert rows_of("\n".join(lines)) == [
        "a.yaml:1:26: a4[3][3][8][8][8]: more than 50,000 values or 8 Mi characters once aliases are written out"
    ]


def test_byte_order_mark_is_ignored() -> None:
    assert load_text(b"\xef\xbb\xbfversion: 1\nname: x").scenario.name == "x"


def test_columns_count_characters() -> None:
    assert rows_of(HEAD + "keys: [{token: 'äöü', principl: x, principal: y}]") == [
        "a.yaml:2:23: keys[0].principl: unknown key; did you mean principal?"
    ]
