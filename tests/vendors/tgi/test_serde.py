"""Bodies that serde rejects, and how: where it was, how far it had read, and in which words.

The expectations are those of axum 0.7.9, serde 1.0.219, serde_json 1.0.140 and serde_path_to_error 0.1.17, the releases
that router 3.3.7 pins (``Cargo.lock``), with the router's types (``router/src/lib.rs``).
"""

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.http import Response
from emulator.core.requests import ChatRequest
from tests.vendors.tgi.direct import CHAT, HELLO, OLD, accept, refuse, send

LEADS = {
    400: "Failed to parse the request body as JSON: ",
    422: "Failed to deserialize the JSON body into the target type: ",
}


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop":["a"',
            400,
            "parameters.stop: EOF while parsing a list at line 1 column 39",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop":["a",',
            400,
            "parameters.stop: EOF while parsing a value at line 1 column 40",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop":[',
            400,
            "parameters.stop: EOF while parsing a list at line 1 column 36",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop":[ "a" x',
            400,
            "parameters.stop: expected `,` or `]` at line 1 column 42",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop":["a",]',
            400,
            "parameters.stop: trailing comma at line 1 column 41",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop":["',
            400,
            "parameters.stop[0]: EOF while parsing a string at line 1 column 37",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop"',
            400,
            "parameters: EOF while parsing an object at line 1 column 34",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"sto',
            400,
            "parameters.?: EOF while parsing a string at line 1 column 32",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"stop":',
            400,
            "parameters.stop: EOF while parsing a value at line 1 column 35",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"do_sample":tru',
            400,
            "parameters.do_sample: EOF while parsing a value at line 1 column 43",
        ),
        ("/generate", '{"inputs":"x",', 400, "EOF while parsing a value at line 1 column 14"),
        ("/generate", "{", 400, "EOF while parsing an object at line 1 column 1"),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":{"type":"json","value":{"a":{"b',
            400,
            "parameters.grammar.value.a.?: EOF while parsing a string at line 1 column 69",
        ),
        ("/v1/completions", '{"prompt":{"a":1', 400, "prompt.?: EOF while parsing an object at line 1 column 16"),
        (
            "/v1/completions",
            '{"prompt":[{"a":[1,{"b',
            400,
            "prompt[0].a[1].?: EOF while parsing a string at line 1 column 22",
        ),
        (
            "/v1/chat/completions",
            '{"messages":[{',
            400,
            "messages[0].?: EOF while parsing an object at line 1 column 14",
        ),
        (
            "/v1/chat/completions",
            '{"messages":[{"role":"a"',
            400,
            "messages[0].?: EOF while parsing an object at line 1 column 24",
        ),
        ("/invocations", '{"prompt"', 400, "EOF while parsing an object at line 1 column 9"),
        ("/invocations", "[1", 400, "EOF while parsing a list at line 1 column 2"),
        ("/v1/completions", '{"prompt":["a",1e400]}', 400, "prompt[1]: number out of range at line 1 column 20"),
        ("/invocations", '{"a":1e400}', 400, "a: number out of range at line 1 column 10"),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":{"type":"json","value":[1e400]}}}',
            400,
            "parameters.grammar.value[0]: number out of range at line 1 column 67",
        ),
        (
            "/v1/chat/completions",
            '{"messages":[],"tools":[{"type":"f","function":{"name":"f","parameters":[1e400]}}]}',
            400,
            "tools[0].function.parameters[0]: number out of range at line 1 column 78",
        ),
        (
            "/generate",
            '{"inputs":1e16}',
            422,
            "inputs: invalid type: floating point `1e16`, expected a string at line 1 column 14",
        ),
        *(
            (
                path,
                '{"inputs":"x","parameters":{"grammar":' + "[" * 130 + "]" * 130 + "}}",
                422,
                f"missing field {text}",
            )
            for path, text in (
                (CHAT, "`messages` at line 1 column 300"),
                ("/v1/completions", "`prompt` at line 1 column 300"),
                ("/vertex", "`instances` at line 1 column 300"),
            )
        ),
        (CHAT, '{"inputs":"\\ud800"}', 422, "missing field `messages` at line 1 column 19"),
        (CHAT, '{"a":"\\ud800","b":["\\udc00x"]}', 422, "missing field `messages` at line 1 column 30"),
        (
            CHAT,
            '{"inputs":"a\nb"}',
            400,
            "inputs: control character (\\u0000-\\u001F) found while parsing a string at line 1 column 12",
        ),
        (
            "/generate",
            '{"inputs":"a\nb"}',
            400,
            "inputs: control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0",
        ),
        (
            "/generate",
            '{"inputs":-0}',
            422,
            "inputs: invalid type: floating point `-0.0`, expected a string at line 1 column 12",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"max_new_tokens":-0}}',
            422,
            "parameters.max_new_tokens: invalid type: floating point `-0.0`, expected u32 at line 1 column 47",
        ),
        (
            "/v1/completions",
            '{"prompt":"x","seed":-0,"nope":-0}',
            422,
            "seed: invalid type: floating point `-0.0`, expected u64 at line 1 column 23",
        ),
        (
            "/generate",
            '{"inputs":1000.0}',
            422,
            "inputs: invalid type: floating point `1000.0`, expected a string at line 1 column 16",
        ),
        (
            "/generate",
            '{"inputs":18446744073709551616}',
            422,
            ("inputs: invalid type: floating point `1.8446744073709552e19`, expected a string at line 1 column 30"),
        ),
        (
            "/generate",
            '{"inputs":-9223372036854775809}',
            422,
            ("inputs: invalid type: floating point `-9.223372036854776e18`, expected a string at line 1 column 30"),
        ),
        (
            "/generate",
            '{"inputs":0.00001}',
            422,
            ("inputs: invalid type: floating point `0.00001`, expected a string at line 1 column 17"),
        ),
        (
            "/generate",
            '{"inputs":0.0000001}',
            422,
            "inputs: invalid type: floating point `1e-7`, expected a string at line 1 column 19",
        ),
        (
            "/generate",
            '{"inputs":1234567890123456.0}',
            422,
            ("inputs: invalid type: floating point `1234567890123456.0`, expected a string at line 1 column 28"),
        ),
        (
            "/generate",
            '{"inputs":1.5e-7}',
            422,
            "inputs: invalid type: floating point `1.5e-7`, expected a string at line 1 column 16",
        ),
        (
            "/v1/completions",
            '{"prompt":5}',
            422,
            ("prompt: data did not match any variant of untagged enum PromptDeserializer at line 1 column 12"),
        ),
        (
            "/v1/completions",
            '{"prompt":5 }',
            422,
            ("prompt: data did not match any variant of untagged enum PromptDeserializer at line 1 column 13"),
        ),
        (
            "/v1/completions",
            '{"prompt":5,"x":1}',
            422,
            ("prompt: data did not match any variant of untagged enum PromptDeserializer at line 1 column 11"),
        ),
        (
            "/v1/completions",
            '{"prompt":5 , "x":1}',
            422,
            ("prompt: data did not match any variant of untagged enum PromptDeserializer at line 1 column 12"),
        ),
        (
            "/v1/completions",
            '{"prompt":[]}',
            422,
            ("prompt: Empty array detected. Do not use an empty array for the prompt. at line 1 column 13"),
        ),
        (
            "/v1/completions",
            '{"prompt":[5]\n}',
            422,
            ("prompt: data did not match any variant of untagged enum PromptDeserializer at line 2 column 1"),
        ),
        ("/invocations", '{"prompt":5}', 422, "data did not match any variant of untagged enum SagemakerRequest"),
        ("/invocations", "{}", 422, "data did not match any variant of untagged enum SagemakerRequest"),
        ("/invocations", "5", 422, "data did not match any variant of untagged enum SagemakerRequest"),
        ("/invocations", '"x"', 422, "data did not match any variant of untagged enum SagemakerRequest"),
        (
            "/vertex",
            '{"instances":[{"inputs":5}]}',
            422,
            ("instances[0]: data did not match any variant of untagged enum VertexInstance at line 1 column 27"),
        ),
        (
            "/vertex",
            '{"instances":[{"inputs":5}, {"inputs":"x"}]}',
            422,
            ("instances[0]: data did not match any variant of untagged enum VertexInstance at line 1 column 28"),
        ),
        (
            "/vertex",
            '{"instances":[{"inputs":5} ]}',
            422,
            ("instances[0]: data did not match any variant of untagged enum VertexInstance at line 1 column 28"),
        ),
        (
            "/vertex",
            '{"instances":["x"]}',
            422,
            ("instances[0]: data did not match any variant of untagged enum VertexInstance at line 1 column 18"),
        ),
        (
            "/vertex",
            '{"instances":[["x"]]}',
            422,
            ("instances[0]: data did not match any variant of untagged enum VertexInstance at line 1 column 20"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[{"role":"user","content":5}]}',
            422,
            ("messages[0]: data did not match any variant of untagged enum MessageBody at line 1 column 40"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[{"role":"user","content":["text","x"]}]}',
            422,
            ("messages[0]: data did not match any variant of untagged enum MessageBody at line 1 column 51"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[{"role":"user","content":[["text",5]]}]}',
            422,
            ("messages[0]: data did not match any variant of untagged enum MessageBody at line 1 column 51"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[{"role":"user","content":[["nope","x"]]}]}',
            422,
            ("messages[0]: data did not match any variant of untagged enum MessageBody at line 1 column 53"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[["user","x"]]}',
            422,
            "messages[0]: invalid type: sequence, expected struct Message at line 1 column 13",
        ),
        (
            "/v1/chat/completions",
            '{"messages":[],"tool_choice":{"type":"nope"}}',
            422,
            ("tool_choice: data did not match any variant of untagged enum ToolTypeDeserializer at line 1 column 45"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[],"tool_choice":["function"]}',
            422,
            ("tool_choice: data did not match any variant of untagged enum ToolTypeDeserializer at line 1 column 42"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[],"tool_choice":{"function":{"name":"f"}} , "n":1}',
            422,
            ("tool_choice: data did not match any variant of untagged enum ToolTypeDeserializer at line 1 column 55"),
        ),
        (
            "/v1/chat/completions",
            '{"messages":[],"stream_options":["x"]}',
            422,
            'stream_options[0]: invalid type: string "x", expected a boolean at line 1 column 36',
        ),
        (
            "/v1/chat/completions",
            '["m",5]',
            422,
            "[1]: invalid type: integer `5`, expected a sequence at line 1 column 6",
        ),
        (
            "/v1/chat/completions",
            '["m"]',
            422,
            "invalid length 1, expected struct ChatRequest with 19 elements at line 1 column 5",
        ),
        (
            "/v1/chat/completions",
            "[]",
            422,
            "invalid length 0, expected struct ChatRequest with 19 elements at line 1 column 2",
        ),
        (
            "/v1/chat/completions",
            '["m",[],null,null,null,null,null,null,null,null,false]',
            422,
            "invalid length 11, expected struct ChatRequest with 19 elements at line 1 column 54",
        ),
        (
            "/generate",
            "[]",
            422,
            "invalid length 0, expected struct GenerateRequest with 2 elements at line 1 column 2",
        ),
        (
            "/generate",
            '["x",5]',
            422,
            ("[1]: invalid type: integer `5`, expected struct GenerateParameters at line 1 column 6"),
        ),
        ("/generate", '["x",[],1]', 400, "trailing characters at line 1 column 9"),
        ("/generate", '["x",["y"]]', 422, '[1][0]: invalid type: string "y", expected usize at line 1 column 9'),
        (
            "/v1/completions",
            '["m"]',
            422,
            ("invalid length 1, expected struct CompletionRequest with 11 elements at line 1 column 5"),
        ),
        (
            "/v1/completions",
            '["m","p"]',
            422,
            ("invalid length 6, expected struct CompletionRequest with 11 elements at line 1 column 9"),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":5}}',
            422,
            (
                "parameters.grammar: invalid type: integer `5`, expected adja"
                "cently tagged enum GrammarType at line 1 column 39"
            ),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":[]}}',
            422,
            ("parameters.grammar: invalid length 0, expected adjacently tagged enum GrammarType at line 1 column 40"),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":["json"]}}',
            422,
            ("parameters.grammar: invalid length 1, expected adjacently tagged enum GrammarType at line 1 column 46"),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":["nope",1]}}',
            422,
            (
                "parameters.grammar[0]: unknown variant `nope`, expected one "
                "of `json`, `json_object`, `regex`, `json_schema` at line 1 column 45"
            ),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":[5,1]}}',
            422,
            ("parameters.grammar[0]: invalid type: integer `5`, expected variant identifier at line 1 column 40"),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":["json_schema",[]]}}',
            422,
            (
                "parameters.grammar[1]: invalid length 0, expected struct Jso"
                "nSchemaConfig with 2 elements at line 1 column 55"
            ),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":{"type":5,"value":1}}}',
            400,
            "parameters.grammar.type: expected value at line 1 column 47",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":{"type":{"a":1},"value":1}}}',
            422,
            (
                "parameters.grammar.type: unknown variant `a`, expected one o"
                "f `json`, `json_object`, `regex`, `json_schema` at line 1 column 50"
            ),
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":{"type":{},"value":1}}}',
            400,
            "parameters.grammar.type: expected value at line 1 column 48",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"grammar":{"type":[],"value":1}}}',
            400,
            "parameters.grammar.type: expected value at line 1 column 47",
        ),
        (
            "/generate",
            '{"inputs":"x","parameters":{"nope":{"a":',
            400,
            "parameters.nope: EOF while parsing a value at line 1 column 40",
        ),
        ("/generate", '{"nope":{"a":[{', 400, "nope: EOF while parsing an object at line 1 column 15"),
        (CHAT, '{"messages":[],"nope":[1', 400, "nope: EOF while parsing a list at line 1 column 24"),
        (CHAT, '{"messages":[{"nope":[1', 400, "messages[0].nope: EOF while parsing a list at line 1 column 23"),
        (CHAT, '{"tools":[{"x":[1', 400, "tools[0].x: EOF while parsing a list at line 1 column 17"),
    ],
)
def test_rejected_bodies(path: str, body: str, status: int, text: str) -> None:
    answer = refuse(path, body.encode())
    assert (answer.status, answer.body.decode()) == (status, LEADS[status] + text)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", '["x"]'),
        ("/generate", '["x", [null, 0.5]]'),
        ("/generate", '{"inputs":"x","parameters":{"grammar":["regex","a"]}}'),
        ("/generate", '["x", {"grammar":{"type":"json_schema","value":[null,{"properties":{}}]}}]'),
        ("/", '["x", [], false]'),
        ("/v1/completions", '["m", "p", null, null, null, false, null]'),
        (CHAT, '{"messages":[{"role":"user","content":[["text","x"],["image_url",["http://x"]]]}]}'),
        (CHAT, '{"messages":[],"stream_options":[]}'),
        (CHAT, '{"messages":[],"tools":[["function",[null,"f",{}]]],"tool_choice":["function",["f"]]}'),
        (CHAT, '["m", [], null, null, null, null, null, null, null, null, false, null]'),
        ("/invocations", '["x", []]'),
    ],
)
def test_structs_written_as_lists(path: str, body: str) -> None:
    assert isinstance(send(path, body.encode()), InferenceCall)


@pytest.mark.parametrize(
    ("written", "shown"), [("1000.0", "1000"), ("-0", "-0"), ("1e21", "1" + "0" * 21), ("1e-7", "0.0000001")]
)
def test_floats_of_old_release(written: str, shown: str) -> None:
    """serde 1.0.171 of 0.9.4 writes a float as ``Display`` does."""
    answer = refuse("/generate", f'{{"inputs":{written}}}'.encode(), OLD)
    assert f"invalid type: floating point `{shown}`, expected a string" in answer.body.decode()


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/generate", 400, "inputs: invalid unicode code point at line 1 column 15"),
        (CHAT, 422, "missing field `messages` at line 1 column 16"),
        ("/vertex", 422, "missing field `instances` at line 1 column 16"),
    ],
)
def test_bytes_that_are_no_text(path: str, status: int, text: str) -> None:
    """serde_json 1.0.140, ``src/read.rs`` (parse_str, ignore_str): a string is read whole before it is validated."""
    answer = refuse(path, b'{"inputs":"\xffbc"}')
    assert (answer.status, answer.body.decode()) == (status, LEADS[status] + text)


def test_negative_zero_is_number() -> None:
    """``-0`` is a float of serde_json, and a text of digits elsewhere stays what it is."""
    body = b'{"messages":[{"role":"user","content":"-0"}],"temperature":-0,"max_tokens":10}'
    request = accept(CHAT, body).request
    assert isinstance(request, ChatRequest)
    assert (request.sampling.greedy, request.messages[0].text) == (True, "-0")


def test_tiny_temperature_is_greedy() -> None:
    """``router/src/lib.rs``, try_into_generate: it is 0 in single precision."""
    for value, greedy in ((1e-50, True), (1e-30, False)):
        request = accept(CHAT, {"messages": HELLO, "temperature": value}).request
        assert isinstance(request, ChatRequest)
        assert request.sampling.greedy is greedy


def nest(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("path", "body", "deep"),
    [
        ("/generate", '{{"inputs":"x","parameters":{{"grammar":{{"type":"json","value":{}}}}}}}', 124),
        (CHAT, '{{"messages":[{{"role":"user","content":"x","z":{}}}]}}', 124),
        (CHAT, '{{"messages":[],"tools":[{{"type":"f","function":{{"name":"f","parameters":{}}}}}]}}', 123),
        ("/v1/completions", '{{"prompt":{}}}', 126),
        ("/invocations", '{{"z":{}}}', 126),
    ],
)
def test_recursion_limit(path: str, body: str, deep: int) -> None:
    """serde_json 1.0.140, ``src/de.rs`` (check_recursion): 127 levels are read."""
    text = "recursion limit exceeded at line 1 column"
    for depth, found in ((deep, False), (deep + 1, True)):
        answer = send(path, body.format(nest(depth)).encode())
        assert (isinstance(answer, Response) and text in answer.body.decode()) is found
        if isinstance(answer, Response) and found:
            assert answer.status == 400
            assert answer.body.decode().endswith(f"[0]: {text} {body.index('{}') - body.count('{{') + deep + 1}")


def test_unknown_fields_have_no_recursion_limit() -> None:
    for body in ('{"inputs":"x","z":' + nest(300) + "}", '{"inputs":"x","parameters":{"z":' + nest(300) + "}}"):
        assert isinstance(send("/generate", body.encode()), InferenceCall)
    value = {"inputs": "x", "parameters": {"grammar": {"type": "json", "value": nest(128)}}}
    text = "Input validation error: grammar is not valid: recursion limit exceeded at line 1 column 128"
    assert text in refuse("/generate", value).body.decode()
