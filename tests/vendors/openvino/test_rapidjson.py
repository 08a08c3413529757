"""Accepted and refused JSON, and agreement with a strict reader on all other JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.json import dump_json
from emulator.vendors.openvino.rapidjson import TooDeepError, parse_json, parse_number
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, LATEST, SEED, Refusal, make_server, not_json

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_VALUES)
def test_valid_json_is_read_as_by_json_loads(value: JSON) -> None:
    text = json.dumps(value).encode()
    assert parse_json(text) == json.loads(text)
    assert parse_json(b" \r\n\t" + dump_json(value) + b" ") == json.loads(text)


@pytest.mark.slow
@pytest.mark.covers("openvino/numbers", "what RapidJSON alone takes")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b'{"a":1,"a":2}', {"a": 1}, id="of equal keys the first"),
        pytest.param(b'{"a":{"b":1,"b":2},"a":3}', {"a": {"b": 1}}, id="inside, too"),
        pytest.param(b'{"a":1,"\\u0061":2}', {"a": 1}, id="however it is written"),
        pytest.param(b'{"a":1,"a":{"b":2}}', {"a": 1}, id="a container in second place"),
        pytest.param(b'{"a":1}\0}]', {"a": 1}, id="a NUL ends it"),
        pytest.param(b'{"a":"\xff\xfe"}', {"a": "\ufffd\ufffd"}, id="bytes that are no text"),
        pytest.param(b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd", id="half a pair as bytes"),
        pytest.param(b'"\\ud83d\\ude00\\/\\b"', "\U0001f600/\b", id="escapes"),
        pytest.param(b"-0", 0, id="minus nothing is whole"),
        pytest.param(b"1e-999", 0.0, id="nearly nothing"),
        pytest.param(b"0e308", 0.0, id="the largest exponent"),
        pytest.param(b"0.00e310", 0.0, id="and with a fraction"),
        pytest.param(b"1e0000000000000000005", 1e5, id="an exponent with zeros"),
        pytest.param(b"9" * 308, int("9" * 308), id="many digits"),
        pytest.param(b"[" * 20000 + b"]" * 20000, ..., id="any nesting"),
        pytest.param(b"[[],{},[[]]]", [[], {}, [[]]], id="empty containers"),
    ],
)
def test_lenient_json_is_accepted(text: bytes, value: JSON) -> None:
    found = parse_json(text)
    if value is not ...:
        assert found == value
        assert type(found) is type(value)


@pytest.mark.covers("openvino/numbers", "no more than JSON")
@pytest.mark.parametrize(
    "text",
    [
        *(b"", b" ", b"{", b"[", b"[1", b"[1,", b"[,1]", b"[1,]", b'{"a"}', b'{"a":}', b'{"a":1,}', b"{,}", b'{"a" 1}'),
        *(b"01", b"1.", b".5", b"+1", b"-", b"1e", b"0x1", b"NaN", b"Infinity", b"-Infinity", b"tru", b"True", b"nul"),
        *(b'"a', b"'a'", b'"\n"', b'"\x01"', b'"\\x"', b'"\\u12"', b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\u0041"'),
        *(b"1 2", b"{} {}", b"[1}", b'{"a":1]', b"// a\n1", b"\xef\xbb\xbf{}", b'"a\0b"', b"\0", b"1\x0b", b"[1] ]"),
        *(
            b"1e309",
            b"-1e309",
            b"[" * 9 + b"1" + b"0" * 250 + b"e99" + b"]" * 9,
            b"0e309",
            b"1" + b"0" * 309,
            b"9" * 5000,
            b"0.00e311",
            b"1.5E+00400",
            b"2e308",
        ),
    ],
)
def test_invalid_json_is_rejected(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)
    unused = b'{"model":"llama3","messages":[],"user":' + text + b"}"
    assert SEED.refusal(unused) == Refusal(412, not_json("Cannot parse JSON body"))


@pytest.mark.covers("openvino/numbers", "number")
def test_number_type_follows_literal() -> None:
    assert [type(parse_number(text)) for text in ("1", "1.0", "1e0", "12345678901234567890123")] == [
        int,
        float,
        float,
        int,
    ]


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        pytest.param(b"[" * 100 + b"]" * 100, False, id="a hundred levels"),
        pytest.param(b"[" * 101 + b"]" * 101, True, id="one more"),
        pytest.param(b"[" * 101, True, id="and however it goes on"),
        pytest.param(b'{"a":1,"a":' * 60 + b"1" + b"}" * 60, False, id="a member that is not read"),
        pytest.param(b'{"a":1,"a":' + b"[" * 100 + b"]" * 100 + b"}", True, id="levels in such a member"),
    ],
)
def test_nesting_limit(text: bytes, deep: bool) -> None:
    if not deep:
        parse_json(text, 100)
        return
    with pytest.raises(TooDeepError):
        parse_json(text, 100)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(b"[" * 150, "JSON body exceeds maximum nesting depth", id="levels that never close"),
        pytest.param(b"[}" + b"[" * 150, "Cannot parse JSON body", id="a mistake before them"),
        pytest.param(
            b'{"model":"x","model":' + b"[" * 150 + b"]" * 150 + b"}",
            "JSON body exceeds maximum nesting depth",
            id="unread",
        ),
    ],
)
def test_first_error_is_reported(text: bytes, reason: str) -> None:
    assert LATEST.refusal(text) == Refusal(412, not_json(reason))
    old = make_server("2026.1").refusal(text)
    assert old is not None
    assert "nesting" not in old.error


def test_body_of_lenient_json_is_answered() -> None:
    body = dump_json(BASE)[:-1]
    for rest in (b',"user":"\xff"}', b"}\0 and more", b',"user":' + b"[" * 3000 + b"]" * 3000 + b"}"):
        assert SEED.call(body + rest).deployment.name == "llama3"
    assert SEED.call(body.replace(b'"llama3"', b'"llama3\\u0000x"') + b"}").deployment.name == "llama3"
