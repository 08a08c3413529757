"""Bodies that do not fit their type: status, path, text and position of the error."""

import time

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, accept, refuse, send

FIT = "Failed to deserialize the JSON body into the target type: "


def body(parameters: str) -> bytes:
    return b'{"inputs":"x","parameters":{' + parameters.encode() + b"}}"


@pytest.mark.covers("mindie/TGI beside it", "null", case="null do_sample")
@pytest.mark.covers("mindie/TGI", "what does not fit")
@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(b"{}", "missing field `inputs` at line 1 column 2", id="nothing"),
        pytest.param(
            b"5", "invalid type: integer `5`, expected struct CompatGenerateRequest at line 1 column 1", id="5"
        ),
        pytest.param(
            b'{"inputs":5}', "inputs: invalid type: integer `5`, expected a string at line 1 column 11", id="a number"
        ),
        pytest.param(
            b'{"inputs":null}', "inputs: invalid type: null, expected a string at line 1 column 14", id="null inputs"
        ),
        pytest.param(
            b'{"inputs":["x"]}', "inputs: invalid type: sequence, expected a string at line 1 column 10", id="a list"
        ),
        pytest.param(
            b"[]",
            "invalid length 0, expected struct CompatGenerateRequest with 3 elements at line 1 column 2",
            id="an empty sequence as the whole",
        ),
        pytest.param(
            b'["x",{"stop":1}]',
            "[1].stop: invalid type: integer `1`, expected a sequence at line 1 column 14",
            id="a wrong type inside a sequence",
        ),
        pytest.param(
            b'{"inputs":"x",\n "parameters":null}',
            "parameters: invalid type: null, expected struct GenerateParameters at line 2 column 18",
            id="null parameters, on the second line",
        ),
        pytest.param(
            b'{"inputs":"x","stream":null}',
            "stream: invalid type: null, expected a boolean at line 1 column 27",
            id="null stream",
        ),
        pytest.param(
            body('"max_new_tokens":20.0'),
            "parameters.max_new_tokens: invalid type: floating point `20.0`, expected u32 at line 1 column 49",
            id="a fraction in place of a whole number",
        ),
        pytest.param(
            body('"max_new_tokens":-1'),
            "parameters.max_new_tokens: invalid value: integer `-1`, expected u32 at line 1 column 47",
            id="a number below the type's range",
        ),
        pytest.param(
            body('"stop":null'),
            "parameters.stop: invalid type: null, expected a sequence at line 1 column 39",
            id="null stops",
        ),
        pytest.param(
            body('"stop":["a",1]'),
            "parameters.stop[1]: invalid type: integer `1`, expected a string at line 1 column 41",
            id="a number among the stops",
        ),
        pytest.param(
            body('"do_sample":null'),
            "parameters.do_sample: invalid type: null, expected a boolean at line 1 column 44",
            id="null do_sample",
        ),
        pytest.param(
            body('"temperature":"hot"'),
            'parameters.temperature: invalid type: string "hot", expected f32 at line 1 column 47',
            id="a text as temperature",
        ),
        pytest.param(
            body('"temperature":true'),
            "parameters.temperature: invalid type: boolean `true`, expected f32 at line 1 column 46",
            id="a boolean as temperature",
        ),
        pytest.param(
            body('"grammar":{"value":{}}'),
            "parameters.grammar: missing field `type` at line 1 column 50",
            id="a grammar without a type",
        ),
    ],
)
def test_mismatched_body_returns_422_with_position(raw: bytes, text: str) -> None:
    answer = refuse("/", raw)
    assert (answer.status, answer.body.decode()) == (422, FIT + text)
    assert dict(answer.headers)["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b'{"inputs": NaN}', b'{"inputs":"\xff"}'],
    ids=["empty", "half", "NaN", "no UTF-8"],
)
def test_invalid_json_returns_400(raw: bytes) -> None:
    answer = refuse("/generate", raw)
    assert answer.status == 400
    assert answer.body.decode().startswith("Failed to parse the request body as JSON: ")


@pytest.mark.covers("mindie/TGI", "what is no JSON")
@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'{"inputs":', "inputs: EOF while parsing a value at line 1 column 10"),
        (b'{"inputs":"a', "inputs: EOF while parsing a string at line 1 column 12"),
        (b'{"inputs":"a"', "EOF while parsing an object at line 1 column 13"),
        (b'{"inputs" "a"}', "expected `:` at line 1 column 11"),
        (b'{"inputs":"a",}', "trailing comma at line 1 column 15"),
        (b'{"inputs":"a" "b"}', "expected `,` or `}` at line 1 column 15"),
        (b'{"inputs":"\\ud800"}', "inputs: unexpected end of hex escape at line 1 column 18"),
        (
            b'{"inputs":"a",\n"parameters":{"details":true,"temperature":NaN}}',
            "parameters.temperature: expected value at line 2 column 44",
        ),
        (b'{"parameters":{"stop":["a","b"', "parameters.stop: EOF while parsing a list at line 1 column 30"),
        (b'{"parameters":{"temperature":1e400}}', "parameters.temperature: number out of range at line 1 column 34"),
        (b'{"inputs":-1e999}', "inputs: number out of range at line 1 column 16"),
    ],
)
def test_invalid_json_error_gives_position(raw: bytes, text: str) -> None:
    answer = refuse("/generate", raw)
    assert (answer.status, answer.body.decode()) == (400, f"Failed to parse the request body as JSON: {text}")


_MESSAGES = b'{"messages":[{"role":"user","content":"hi"}'


@pytest.mark.covers("mindie/TGI", "what does not fit before what is no JSON")
@pytest.mark.parametrize(
    ("path", "raw", "text"),
    [
        ("/", b'{"inputs":5,', "inputs: invalid type: integer `5`, expected a string at line 1 column 11"),
        ("/", b'{"inputs":5', "inputs: invalid type: integer `5`, expected a string at line 1 column 11"),
        ("/", b'{"inputs":5x}', "inputs: invalid type: integer `5`, expected a string at line 1 column 11"),
        ("/", b'{"inputs":true "x"}', "inputs: invalid type: boolean `true`, expected a string at line 1 column 14"),
        ("/", b'{"inputs":["x", oops', "inputs: invalid type: sequence, expected a string at line 1 column 10"),
        ("/", b'{"inputs":{"x":', "inputs: invalid type: map, expected a string at line 1 column 10"),
        ("/", b"[5,", "[0]: invalid type: integer `5`, expected a string at line 1 column 2"),
        (
            "/",
            b'{"parameters":{"stop":[1,"a"],"seed":NaN}}',
            "parameters.stop[0]: invalid type: integer `1`, expected a string at line 1 column 24",
        ),
        (
            "/",
            b'{"inputs":"x","inputs":"y",}',
            "duplicate field `inputs` at line 1 column 22",
        ),
        (
            CHAT,
            _MESSAGES + b'],"stream":1,"n":}',
            "stream: invalid type: integer `1`, expected a boolean at line 1 column 55",
        ),
        (
            CHAT,
            _MESSAGES + b',{"role":5,}',
            "messages[1].role: invalid type: integer `5`, expected a string at line 1 column 53",
        ),
        (
            CHAT,
            _MESSAGES + b',{"role":"user"},]',
            "messages[1]: data did not match any variant of untagged enum MessageBody at line 1 column 59",
        ),
    ],
)
def test_mismatch_is_reported_before_later_invalid_json(path: str, raw: bytes, text: str) -> None:
    answer = refuse(path, raw)
    assert (answer.status, answer.body.decode()) == (422, FIT + text)


@pytest.mark.parametrize(
    ("path", "raw", "text"),
    [
        pytest.param("/", b'{"parameters":{},}', "trailing comma at line 1 column 18", id="a field still to come"),
        pytest.param("/", b'{"x":[{"y":', "x: EOF while parsing a value at line 1 column 11", id="of no field"),
        pytest.param("/", b'{"stream":tru}', "stream: expected ident at line 1 column 14", id="half a word"),
        pytest.param("/", b'{"inputs":01}', "inputs: invalid number at line 1 column 12", id="a zero in front"),
        pytest.param("/", b'["x",', "EOF while parsing a value at line 1 column 5", id="a sequence not yet whole"),
        pytest.param(
            CHAT,
            _MESSAGES + b',{"role":"user",}',
            "messages[1].?: trailing comma at line 1 column 60",
            id="a message not yet whole",
        ),
        pytest.param(
            CHAT,
            _MESSAGES[:-1] + b',"content":5,}',
            "messages[0].?: trailing comma at line 1 column 56",
            id="an enum not yet whole",
        ),
    ],
)
def test_invalid_json_is_reported_before_unread_mismatch(path: str, raw: bytes, text: str) -> None:
    answer = refuse(path, raw)
    assert (answer.status, answer.body.decode()) == (400, f"Failed to parse the request body as JSON: {text}")


@pytest.mark.parametrize("rest", [b" x", b"}", b"{}", b"\xff"])
def test_data_after_body_is_ignored(rest: bytes) -> None:
    assert accept("/generate", b'{"inputs":"a"}' + rest)
    answer = refuse("/generate", b"{}" + rest)
    assert (answer.status, answer.body.decode()) == (422, FIT + "missing field `inputs` at line 1 column 2")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'9\x8e{"inputs":1}', "integer `9`, expected struct GenerateRequest at line 1 column 1"),
        (b"-1.5e3x", "floating point `-1500.0`, expected struct GenerateRequest at line 1 column 6"),
        (b"nullnull", "null, expected struct GenerateRequest at line 1 column 4"),
        (b'"a"\xff', 'string "a", expected struct GenerateRequest at line 1 column 3'),
    ],
)
def test_scalar_body_ends_at_first_foreign_byte(raw: bytes, text: str) -> None:
    answer = refuse("/generate", raw)
    assert (answer.status, answer.body.decode()) == (422, f"{FIT}invalid type: {text}")


@pytest.mark.covers("mindie/TGI", "no JSON content type")
@pytest.mark.parametrize("content_type", ["text/plain", "", "application/x-www-form-urlencoded"])
def test_other_content_type(content_type: str) -> None:
    answer = send("/", {"inputs": "x"}, headers={"Content-Type": content_type})
    assert isinstance(answer, Response)
    assert (answer.status, answer.body) == (415, b"Expected request with `Content-Type: application/json`")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "application/problem+json"])
def test_json_content_type_variants_are_accepted(content_type: str) -> None:
    assert isinstance(send("/", {"inputs": "x"}, headers={"Content-Type": content_type}), InferenceCall)


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param({"temperature": None, "top_p": None, "seed": None, "truncate": None}, id="null where it may be"),
        pytest.param({"unknown": 1, "typical": []}, id="fields nobody knows"),
        pytest.param({"temperature": 1}, id="a whole number as float"),
        pytest.param({"seed": 2**64 - 1}, id="the largest seed"),
    ],
)
def test_optional_and_extra_fields_are_accepted(extra: JSON) -> None:
    assert isinstance(send("/", {"inputs": "x", "parameters": extra}), InferenceCall)


def test_struct_may_be_sequence_of_fields() -> None:
    plain = accept("/", {"inputs": "x", "parameters": {"temperature": 0.5, "details": True}, "stream": True})
    parameters: list[JSON] = [None, 0.5, *[None] * 5, False, None, None, [], None, False, True]
    flat = accept("/", ["x", parameters, True])
    assert (flat.request, flat.stream, flat.codec) == (plain.request, plain.stream, plain.codec)
    assert (
        accept("/", {"inputs": "x", "parameters": []}).request == accept("/", {"inputs": "x", "parameters": {}}).request
    )


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        pytest.param(
            "/generate", b'{"inputs":"a","inputs":"b"}', "duplicate field `inputs` at line 1 column 22", id="top"
        ),
        pytest.param(
            "/generate", b'{"inputs":"a",\n"inputs" : "b"}', "duplicate field `inputs` at line 2 column 9", id="blank"
        ),
        pytest.param(
            "/generate",
            b'{"inputs":"a","parameters":{"seed":1,"seed":2}}',
            "parameters: duplicate field `seed` at line 1 column 43",
            id="inside",
        ),
        pytest.param(
            "/generate",
            b'{"inputs":5,"inputs":"b"}',
            "inputs: invalid type: integer `5`, expected a string at line 1 column 11",
            id="what comes first is read first",
        ),
        pytest.param(
            "/invocations",
            b'{"inputs":"a","inputs":"b"}',
            "data did not match any variant of untagged enum SagemakerRequest",
            id="no variant fits",
        ),
        pytest.param(
            CHAT,
            b'{"messages":[{"role":"user","role":"user","content":"a"}]}',
            "messages[0]: duplicate field `role` at line 1 column 34",
            id="role of a message",
        ),
    ],
)
def test_duplicate_field_is_refused(path: str, body: bytes, text: str) -> None:
    answer = refuse(path, body)
    assert (answer.status, answer.body.decode()) == (422, FIT + text)


def test_duplicate_unknown_field_is_accepted() -> None:
    assert isinstance(send("/generate", b'{"inputs":"a","x":1,"x":2}'), InferenceCall)


@pytest.mark.parametrize("depth", [10, 300, 900])
def test_unread_field_may_be_deeply_nested(depth: int) -> None:
    assert isinstance(send("/generate", b'{"inputs":"a","x":' + b"[" * depth + b"]" * depth + b"}"), InferenceCall)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (
            '"max_completion_tokens":1,"max_tokens":2',
            "duplicate field `max_tokens` at line 1 column 53",
        ),
        (
            '"max_tokens":1,"seed":-1,"max_completion_tokens":2',
            "seed: invalid value: integer `-1`, expected u64 at line 1 column 39",
        ),
        (
            '"tools":[{"type":"function","function":{"name":"f","parameters":{},"arguments":{}}}]',
            "tools[0].function: duplicate field `arguments` at line 1 column 93",
        ),
        (
            '"response_format":{"type":"text"}',
            "response_format.type: unknown variant `text`, expected one of "
            "`json`, `json_object`, `regex`, `json_schema` at line 1 column 47",
        ),
    ],
)
def test_field_aliases_and_variants(members: str, text: str) -> None:
    answer = refuse("/v1/chat/completions", f'{{"messages":[],{members}}}'.encode())
    assert (answer.status, answer.body.decode()) == (422, FIT + text)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'"' + b'\\"' * 900_000, id="a text that never ends"),
        pytest.param(b'{"inputs":"' + b'\\"' * 30_000, id="a shorter one"),
        pytest.param(b"[" * 1_900_000, id="lists in lists"),
        pytest.param(b"\n" * 1_900_000 + b"{", id="lines"),
        pytest.param(b'{"a":1,' * 200_000, id="members"),
        pytest.param(b'{"a\\', id="half a key"),
        pytest.param(b'{"a\xff":1}', id="a key that is no text"),
    ],
)
def test_hostile_body_is_refused_within_two_seconds(raw: bytes) -> None:
    before = time.process_time()
    assert refuse("/generate", raw).status == 400
    assert time.process_time() - before < 2


_WHOLE = (
    b'{"model":"tgi", "messages":[{"role":"user","content":[{"type":"text","text":"a\\"}"}]},'
    b'{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"a":[1,{}]}}}]}],'
    b'"logit_bias":[1,2.5e-3],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],'
    b'"tool_choice":{"type":"function","function":{"name":"f"}},"stream_options":{"include_usage":true},"stop":["x"],"seed":12}'
)


def test_every_prefix_of_valid_body_is_invalid_json() -> None:
    assert accept(CHAT, _WHOLE)
    assert {refuse(CHAT, _WHOLE[:end]).status for end in range(len(_WHOLE))} == {400}


def test_error_depends_on_first_part_read() -> None:
    wrong = _WHOLE.replace(b'["x"]', b'["x",5]')
    whole = refuse(CHAT, wrong)
    read = wrong.index(b"5]") + 1
    responses = [refuse(CHAT, wrong[:end] + b"\x01") for end in range(len(wrong))]
    assert {answer.status for answer in responses[:read]} == {400}
    assert {(answer.status, answer.body) for answer in responses[read:]} == {(422, whole.body)}
