"""One strict parser and one compact encoder."""

import json
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emulator.core.json import as_array, canonical_json, dump_json, dump_string, dump_text
from tests.untyped_json import JSON, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def nest(inside: bytes, depth: int = 400) -> bytes:
    """Deeper than the fast parser goes."""
    return b"[" * depth + inside + b"]" * depth


@given(VALUES)
def test_dump_and_parse_round_trip(value: JSON) -> None:
    assert parse_json(dump_json(value)) == value
    assert parse_json(dump_text(value)) == value
    assert parse_json(canonical_json(value)) == value


@given(VALUES)
def test_dump_is_valid_json(value: JSON) -> None:
    assert json.loads(dump_json(value)) == value


@pytest.mark.parametrize(
    ("value", "body"),
    [
        pytest.param({"b": 1, "a": [1, 2]}, b'{"b":1,"a":[1,2]}', id="compact, in insertion order"),
        pytest.param("Grüße 你好 😀", '"Grüße 你好 😀"'.encode(), id="non-ASCII as raw UTF-8"),
        pytest.param(
            {"f": 1.0, "t": True, "n": None}, b'{"f":1.0,"t":true,"n":null}', id="a whole float keeps its point"
        ),
        pytest.param('"\\\n\x00', b'"\\"\\\\\\n\\u0000"', id="escapes"),
    ],
)
def test_dump_bytes(value: JSON, body: bytes) -> None:
    assert dump_json(value) == body
    assert dump_text(value).encode() == body


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param(b" [1] ", [1], id="blanks around it"),
        pytest.param(b'{"a":1,"a":2}', {"a": 2}, id="the last of equal keys"),
        pytest.param(b"123456789012345678901234567890", 123456789012345678901234567890, id="every digit of an integer"),
        pytest.param(b'"\\ud83d\\ude00"', "😀", id="a pair of surrogates is one character"),
    ],
)
def test_parse(body: bytes, value: JSON) -> None:
    assert parse_json(body) == value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{} x", id="text behind it"),
        pytest.param(b"{'a':1}", id="single quotes"),
        pytest.param(b"[1,]", id="a comma too many"),
        pytest.param(b"01", id="a leading zero"),
        pytest.param(b"NaN", id="not a number"),
        pytest.param(b"-Infinity", id="infinity"),
        pytest.param(b'"\\ud800"', id="a lone surrogate"),
        pytest.param(b'"\xff"', id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", id="a byte order mark"),
        pytest.param(b'"\n"', id="a raw line break in a string"),
        pytest.param(nest(b"NaN"), id="not a number, deep inside"),
        pytest.param(nest(b'"\\ud800"'), id="a lone surrogate, deep inside"),
        pytest.param(nest(b'"\xff"'), id="not UTF-8, deep inside"),
        pytest.param(nest(b"1") + b"x", id="text behind a deep one"),
        pytest.param(nest(b"", 300_000), id="deeper than the stack"),
    ],
)
def test_parse_rejects_invalid_json(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(body)


def test_deep_nesting_is_parsed() -> None:
    value = parse_json(nest(b'"deep"'))
    for _ in range(400):
        (value,) = as_array(value)
    assert value == "deep"


@pytest.mark.parametrize("levels", [254, 255, 600, 900])
def test_deeply_nested_value_can_be_dumped(levels: int) -> None:
    body = nest(b'"\xc3\xa4"', levels)
    value = {"a": [parse_json(body)]}
    assert dump_json(value) == b'{"a":[%b]}' % body
    assert dump_text(value) == f'{{"a":[{body.decode()}]}}'


@given(VALUES)
@example([1e16, 1e-7, 1.0, -0.0, 10**30, True, None, "ä\u2028\x7f\x1f"])
def test_deep_json_dumps_like_shallow(value: JSON) -> None:
    deep = value
    for _ in range(300):
        deep = [deep]
    assert dump_json(deep) == b"[" * 300 + dump_json(json.loads(json.dumps(value))) + b"]" * 300


def test_lone_surrogates_are_replaced() -> None:
    assert dump_json({"a\udccd": ["\ud800b", "ä", 1.5]}) == '{"a\ufffd":["\ufffdb","ä",1.5]}'.encode()


def test_stored_string_uses_little_memory() -> None:
    tracemalloc.start()
    kept = [dump_string(f"token {number}") for number in range(1000)]
    room, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert room < 200 * len(kept)


def test_canonical_json_ignores_key_order() -> None:
    one: JSON = {"a": 1, "b": {"c": "é", "d": 2}}
    other: JSON = {"b": {"d": 2, "c": "é"}, "a": 1}
    assert canonical_json(one) == canonical_json(other) == '{"a":1,"b":{"c":"é","d":2}}'.encode()
    assert canonical_json([1, 2]) != canonical_json([2, 1])


@given(st.text(st.characters(codec="utf-8")))
def test_dump_string_equals_dump_json(text: str) -> None:
    assert dump_string(text) == dump_json(text)
