"""Bodies and values of which no credential is left, and of which all else is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from emulator.core.http import Request
from emulator.core.redaction.bodies import redact_body, redact_events
from emulator.core.redaction.values import redact, redact_request, redact_text
from tests.untyped_json import JSON

READABLE = (
    '{"messages":[{"role":"user","content":"password=abcdefghijkl"}],"max_tokens":4096,"stop":["token"]}',
    '{"usage":{"prompt_tokens":12,"completion_tokens":30},"token_count":1234567}',
    '{"choices":[{"logprobs":{"content":[{"token":"Hello there world","logprob":-0.1,"bytes":[72]}]}}]}',
    '{"details":{"tokens":[{"id":1,"text":"Hello there world","logprob":-1.5,"special":false}]}}',
    '{"token":{"id":9906,"text":"Hello there world","logprob":-0.5,"special":false}}',
    '{"tools":[{"function":{"parameters":{"properties":{"password":{"type":"string","description":"Of the user."}},'
    '"required":["password"]}}}]}',
    '{"properties":{"token":{"$ref":"#/$defs/Token"},"key":{"type":"string"}}}',
    '{"arguments":"{\\"key\\":\\"a-key-of-a-map\\",\\"value\\":\\"some-value-of-it\\"}"}',
    '{"key":"a-key-of-a-dictionary","code":"rate_limit_exceeded","session":"conversation-12"}',
    '{"metadata":[{"name":"colour-of-sea","value":"a-very-dark-blue"}],"prompt_cache_key":"team-search-1"}',
    '{"password":1.5,"token":[1e5,-0.5,7,-12],"auth":-1.5}',
    '{"credentials":{"type":"ApiKey"},"token":null,"auth":true,"password":""}',
    '{"author":"somebody-known","passage":"a-long-passage","keyboard":"qwerty-layout","tokenizer":"llama-tokenizer"}',
    '{"url":"https://example.com/a?page=2&tokens=512&author=somebody-known#part"}',
    '{"text":"Is a < b && c > d? Mail me@example.com; see {this} [there]."}',
    "a=b&grant_type=client_credentials&client_id=somebody-known&scope=all-apis",
    'data: {"token":{"id":1,"text":"Hello there","logprob":-1.0,"special":false}}\n\ndata: [DONE]\n\n',
    '{"content":[{"type":"thinking","thinking":"The tides","signature":"Xzx1KI2_5x1r8KeLmBO2isRXlZdFw1gDIczyT"}]}',
    '{"delta":{"type":"signature_delta","signature":"Xzx1KI2_5x1r8KeLmBO2isRXlZdFw1gDIczyT"}}',
    '{"summary":[{"type":"summary_text","text":"The tides","signature":"Xzx1KI2_5x1r8KeLmBO2isRXlZdFw1gDIczyT"}]}',
    '{"parts":[{"text":"The tides","thoughtSignature":"iTgdc9rmKMhdsKXyScY76KZ-brGpHHh97hTT64R4L8egrc"}]}',
    "Tides, and what the moon has to do with them.",
)


@pytest.mark.parametrize("text", READABLE)
def test_text_without_credentials_is_unchanged(text: str) -> None:
    assert redact_body(text.encode()).decode() == text
    assert redact_events(text.encode()).decode() == text


LINES = (
    *('{"content": "a word"}', "[DONE]", '{"password": "hunter2hunter2"}', '{"note": "left open', '"half": '),
    *("see https://user:hunter2hunter2@host/", "see /a?token=hunter2hunter2", "#token=hunter2hunter2", "a = b; c", "{"),
    *("password=hunter2hunter2;x=1", "\"{'password': 'hunter2hunter2'}\"", '{"a": "\\u0070assword"}', "", "data"),
)


@given(st.lists(st.sampled_from(LINES)))
def test_lines_of_a_stream_are_redacted_one_by_one(lines: list[str]) -> None:
    text = "\n".join([f"data: {line}" for line in lines])
    assert redact_events(text.encode()).decode() == "\n".join([f"data: {redact_text(line)}" for line in lines])


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        pytest.param("password=abc", "password=…", id="a short one is hidden"),
        pytest.param('{"password": "eleven-char"}', '{"password": "…"}', id="nor in JSON"),
        pytest.param('{"password": "twelve-chars"}', '{"password": "twel…"}', id="the beginning of a longer one"),
        pytest.param('{"password": 123456789}', '{"password": 0}', id="digits"),
        pytest.param(b'{"password": "\xff\xfe-long-enough"}', b'{"password": "\\udcff\\udcfe-l\\u2026"}', id="bytes"),
        pytest.param('{"a":"https:\\/\\/u:secret@h\\/"}', '{"a":"https://…@h/"}', id="slashes that are escaped"),
        pytest.param("{'password': 'abcdefghijkl'}", "{'password': …}", id="quotes of another language"),
        pytest.param(
            '{"secrets": {"type": "b", "of": "abcdefghijkl"}}', '{"secrets": {"type": "b", "of": "abcd…"}}', id="all"
        ),
        pytest.param('{"signature": "abcdefghijkl"}', '{"signature": "abcd…"}', id="a signature of no thoughts"),
        pytest.param("x=1\r\npassword=abcdefghijkl", "x=1\r\npassword=abcd…", id="lines"),
        pytest.param('data: {"password":"abcdefghijkl"}\n\n', 'data: {"password":"abcd…"}\n\n', id="events"),
        pytest.param('{"token": {"default": "abcdefghijkl"}}', '{"token": {"default": "abcd…"}}', id="an object"),
        pytest.param(
            '{"properties":{"token":{"type":"string","default":"abcdefghijkl"}}}',
            '{"properties":{"token":{"type":"string","default":"abcd…"}}}',
            id="what a schema gives for example",
        ),
    ],
)
def test_credentials_are_cut(body: str | bytes, kept: str | bytes) -> None:
    given = body.encode() if isinstance(body, str) else body
    wanted = kept.encode() if isinstance(kept, str) else kept
    assert redact_body(given) == wanted
    assert redact_body(wanted) == wanted


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer dapi-search-1", "Bearer dapi…"),
        ("Authorization", "Basic dG9rZW46a2V5LW9mLW1pbmU=", "Basic …"),
        ("Authorization", "Bearer", "Bearer"),
        ("Authorization", 'Digest username="u", uri="/"', 'Digest username="…", uri="…"'),
        ("Authorization", "$(id>pwned) x", "$(id…"),
        ("Cookie", "sid=abcdefghijkl; theme=dark", "sid=abcd…; theme=…"),
        ("Set-Cookie", "sid=abcdefghijkl; Path=/; HttpOnly", "sid=abcd…; Path=/; HttpOnly"),
        ("x-trace", "abcdefghijkl", "abcdefghijkl"),
        ("x-emulator-session", "abcdefghijkl", "abcdefghijkl"),
        ("x-odd", "Bearer dapi-search-1", "Bearer dapi…"),
        ("Referer", "https://u:p@h/?token=abcdefghijkl&a=b", "https://…@h/?token=abcd…&a=b"),
    ],
)
def test_redacted_header_keeps_scheme_and_prefix(name: str, value: str, shown: str) -> None:
    assert redact("header", name, value) == shown
    assert redact("header", name, shown) == shown


def test_redacted_values_compare_equal_to_originals() -> None:
    headers = CIMultiDict([("X-Goog-Api-Key", "abcdefghijkl"), ("x-goog-api-key", "second"), ("a", "b")])
    wire = Request("GET", "/", {"SIG": "abcdefghijkl", "q": "abcdefghijkl"}, headers)
    redact_request(wire)
    assert [*map(str.__str__, wire.headers.values())] == ["abcd…", "b"]
    assert wire.headers["x-goog-api-key"] == "abcdefghijkl"
    assert {name: str.__str__(value) for name, value in wire.query.items()} == {"SIG": "abcd…", "q": "abcdefghijkl"}


MARKER = "zqx-MARKER-of-a-secret"
_NAMES = st.sampled_from(["password", "clientSecret", "api_key", "Authorization", "x_plaintext", "cookie"])
_SECRETS = st.sampled_from([MARKER, f"Bearer {MARKER}", f'"{MARKER}', f"\\{MARKER}\n", f"é{MARKER}\ud7ff"])
_SCALARS = st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=8)


def _deepen(values: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
    named = st.dictionaries(st.text('abc "\\é', max_size=4), values, max_size=3)
    secret = st.dictionaries(_NAMES, _SECRETS | st.lists(_SECRETS, max_size=2), min_size=1, max_size=2)
    pair = st.fixed_dictionaries({"name": _NAMES, "value": _SECRETS})
    packed = values.map(json.dumps)
    return st.lists(values, max_size=3) | named | secret | pair | packed | st.tuples(named, secret).map(_join)


def _join(parts: tuple[dict[str, JSON], dict[str, JSON]]) -> JSON:
    return {**parts[0], **parts[1]}


_DOCUMENTS = st.dictionaries(st.text("xyz", max_size=3), st.recursive(_SCALARS, _deepen, max_leaves=12), max_size=3)


def shape(value: JSON) -> JSON:
    """The names, lists and kinds of values of a document."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


@given(
    document=_DOCUMENTS,
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    before=st.sampled_from(["", " \n"]),
)
def test_redacted_json_keeps_shape_without_credentials(
    document: JSON, indent: int | None, ascii_only: bool, before: str
) -> None:
    text = before + json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    shown = redact_body(text.encode()).decode()
    assert shape(json.loads(shown)) == shape(document)
    assert "MARKER" not in shown
    assert redact_body(shown.encode()).decode() == shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"value": "zqx-MARKER", "name": "', id="of a pair, before it begins"),
        pytest.param('{"value": "zqx-MARKER", "name": "pass', id="of a pair, within it"),
        pytest.param('{"key": "zqx-MARKER", "type": "api', id="kind of a key"),
        pytest.param(
            json.dumps({"x": json.dumps(json.dumps({"password": "zqx-MARKER"}))})[:-8], id="document in a text"
        ),
    ],
)
def test_truncated_json_hides_credential(text: str) -> None:
    assert "MARKER" not in redact_body(text.encode()).decode()


@given(document=_DOCUMENTS, data=st.data())
def test_truncated_json_reveals_no_credential(document: JSON, data: st.DataObject) -> None:
    text = json.dumps(document)
    end = data.draw(st.integers(0, len(text)))
    assert "MARKER" not in redact_body(text[:end].encode()).decode()
