"""Validation that all routes share: headers, body and token limits."""

import json

import pytest

from emulator.vendors.mindie.routes import VENDOR
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.client import Client
from tests.vendors.mindie.direct import (
    CHAT,
    HELLO,
    MODEL,
    PROMPT,
    accept,
    ask,
    error_of,
    generate_codec,
    refuse,
    send,
)

LONG = "word " * 600


TIGHT = "vendors: {mindie: {max_seq_len: 12, max_input_token_len: 8, max_iter_times: 6}}\n"


POSITIONS = "vendors: {mindie: {max_seq_len: 100, max_input_token_len: 90, max_position_embeddings: 4}}\n"


SIX = "a b c d e f"  # six tokens


@pytest.mark.covers("mindie/interplay", "limit")
@pytest.mark.parametrize(
    ("section", "text", "parameters", "limit"),
    [
        pytest.param("", PROMPT, {}, 20, id="twenty by default"),
        pytest.param("", PROMPT, {"max_new_tokens": 7}, 7, id="as asked"),
        pytest.param("", PROMPT, {"max_new_tokens": 100000}, 512, id="maxIterTimes bounds what is asked"),
        pytest.param(TIGHT, SIX, {"max_new_tokens": 100}, 6, id="a smaller maxIterTimes"),
        pytest.param(TIGHT, SIX + " g h", {"max_new_tokens": 100}, 4, id="what maxSeqLen leaves"),
        pytest.param(POSITIONS, "a b c", {"max_new_tokens": 50}, 1, id="what the weights' positions leave"),
        pytest.param(
            "vendors: {mindie: {pd_mode: true, max_iter_times: 6}}\n",
            SIX,
            {"max_new_tokens": 100},
            7,
            id="one more where the prefill's token is counted too",
        ),
        pytest.param(
            "vendors: {mindie: {pd_mode: true, max_iter_times: 6}}\n",
            SIX,
            {"max_new_tokens": 5},
            5,
            id="but not if less is asked",
        ),
        pytest.param(
            "deployments: [{vendor: mindie, name: own, tokenizer: qwen2, default_max_tokens: 3}]\n",
            SIX,
            {},
            3,
            id="a deployment's own default",
        ),
    ],
)
def test_max_new_tokens_limit(section: str, text: str, parameters: JSON, limit: int) -> None:
    assert generate_codec(ask(parameters, inputs=text), section).limit == limit


@pytest.mark.covers("mindie/other checks", "count of tokens", "beyond the weights", "beyond the server")
@pytest.mark.covers("mindie/decisions", "9 a prompt too long")
@pytest.mark.parametrize(
    ("section", "text", "bound", "count"),
    [
        pytest.param(TIGHT, "a b c d e f g h i", "8", 9, id="more than maxInputTokenLen"),
        pytest.param(
            "vendors: {mindie: {max_seq_len: 6, max_input_token_len: 100}}\n", SIX, "5", 6, id="as many as maxSeqLen"
        ),
        pytest.param(POSITIONS, "a b c d e", "maxPositionEmbeddings 4", 5, id="more than the weights' positions"),
    ],
)
def test_prompt_over_length_limit_is_refused(section: str, text: str, bound: str, count: int) -> None:
    answer = refuse("/", ask({}, inputs=text), section)
    assert answer.status == 424
    assert json.loads(answer.body) == {
        "error": "Failed to enqueue inferRequest. This model's maximum input ids length cannot be greater than "
        f"{bound},the input ids length is {count}",
        "error_type": "Generation Error",
    }


def test_longest_allowed_prompt_is_accepted() -> None:
    assert accept("/", ask({}, inputs="a b c d e f g h"), TIGHT).prompt_tokens == (8,)


async def test_generated_tokens_are_capped_at_server_limit(start: Start) -> None:
    running = await start()
    answer = (await running.ask("mindie", "/", ask({"details": True, "max_new_tokens": 100000}, inputs=LONG))).json()[0]
    assert answer["details"]["generated_tokens"] <= 512


def test_ten_levels_of_nesting_are_accepted() -> None:
    nested: JSON = 1
    for _ in range(9):
        nested = {"a": nested}
    accept("/", {"inputs": PROMPT, "x": nested})


@pytest.mark.parametrize(
    "body",
    [
        b'{"inputs":"a","x":1e400}',
        b'{"inputs":"a","x":-1e400}',
        b'{"inputs":5,"parameters":{"max_new_tokens":1e400}}',
        b'{"inputs":"a","parameters":{"x":1e400}}',
        b'{"inputs":"a","x":1%b}' % (b"0" * 309),
        b'{"inputs":"a","parameters":{"x":-2%b}}' % (b"0" * 308),
        b'{"inputs":"a","x":[[{"y":[1e999]}]]}',
        b'{"inputs":"a","parameters":{"x":{"y":[-3%be99]}}}' % (b"0" * 210),
        b'{"inputs":"a","x":17976931348623159%b}' % (b"0" * 292),
        b'{"inputs":"a","x":1e999,"x":1}',
        b'\xef\xbb\xbf{"inputs":"a","x":[1e999]}',
        b"[1e999]",
    ],
)
def test_number_beyond_doubles_is_no_json(body: bytes) -> None:
    assert error_of("/", body) == "Failed to parse context to json body"
    assert error_of("/generate_stream", body) == "Failed to parse request context to json"


def test_number_within_doubles_is_read() -> None:
    assert accept("/", b'{"inputs":"a","x":1e-400}')
    assert accept("/", b'{"inputs":"a","x":1%b}' % (b"0" * 308))
    assert accept("/", b'{"inputs":"a","x":["1e999",0e999,{"y":[9%be99]}]}' % (b"0" * 200))
    assert error_of("/", b'{"inputs":"a","parameters":{"top_p":1e-400}}').endswith("got 0.0.")


def test_options_of_remembered_chat_have_no_number_beyond_doubles() -> None:
    start = b'{"model":"llama_65b","messages":[{"role":"user","content":"Hello"}],'
    client = Client(VENDOR)
    for _ in range(3):
        client.accept(CHAT, start + b'"x":1,"top_logprobs":0,"logprobs":true}')
    assert client.refuse(CHAT, start + b'"x":1e999,"x":1,"top_logprobs":0,"logprobs":true}').status == 422
    assert client.refuse(CHAT, start + b'"x":1,"top_logprobs":-0,"logprobs":true}').status == 422


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("/", b'{"inputs":"a","parameters":{"seed":-0}}', "seed must be unsigned type."),
        ("/infer", b'{"inputs":"a","parameters":{"seed": -0 }}', "seed must be unsigned type."),
        ("/generate", b'{"prompt":"a","n":-0}', "n must be unsigned type."),
        ("/", b'{"inputs":"a","parameters":{"top_k":-0}}', "Parameter top_k must be in -1 || (0,2147483647], got 0"),
        ("/", b'{"inputs":"a","parameters":{"top_p":-0}}', "Parameter top_p must be in (0.0,1.0], got 0."),
        ("/", b'{"inputs":"a","parameters":{"top_p":-0.0}}', "Parameter top_p must be in (0.0,1.0], got -0.0."),
        ("/", b'{"inputs":"a-0","parameters":{"seed":0}}', "seed must be in (0, 18446744073709551615], got 0."),
    ],
)
def test_negative_zero_is_integer_with_sign(path: str, body: bytes, text: str) -> None:
    assert error_of(path, body) == text


@pytest.mark.covers("mindie/HTTP", "content type")
def test_content_type_is_ignored() -> None:
    outcome = send("/", {"inputs": PROMPT}, headers={"Content-Type": "text/plain"})
    assert hasattr(outcome, "request")


@pytest.mark.covers("mindie/HTTP", "a body too large")
async def test_body_over_40_megabytes_is_refused(start: Start) -> None:
    running = await start()
    head = b"POST / HTTP/1.1\r\nContent-Length: 41943041\r\n"
    answer = await running.send("mindie", head)
    assert answer.status == 413
    assert answer.json() == {"message": "Request body too large. Maximum allowed size is 40MB."}


def test_body_limit_follows_setting() -> None:
    answer = refuse("/", {"inputs": "x" * 1024**2}, "vendors: {mindie: {max_request_length: 1}}\n")
    assert answer.status == 413
    assert json.loads(answer.body) == {"message": "Request body too large. Maximum allowed size is 1MB."}


FORMAT = "Request format is invalid"
NEITHER = "Invalid request format: Missing both 'prompt' or 'messages'"
TRITON = "/v2/models/llama_65b/"
TENSOR: JSON = {"name": "i", "shape": [1], "datatype": "UINT32", "data": [1]}


@pytest.mark.covers("mindie/Coordinator", "inputs that are no text")
@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        pytest.param("/", b"{", FORMAT, id="no JSON"),
        pytest.param("/", {"inputs": 5}, FORMAT, id="a number"),
        pytest.param("/", {"inputs": [{"type": "text", "text": "x"}]}, FORMAT, id="a list"),
        pytest.param("/", {}, FORMAT, id="nothing"),
        pytest.param("/", {"inputs": "x", "stream": None}, FORMAT, id="null stream"),
        pytest.param("/generate", {"prompt": ["x"]}, FORMAT, id="a list as vLLM's prompt"),
        pytest.param("/generate", {"prompt": "x", "inputs": None}, FORMAT, id="null inputs with a prompt"),
        pytest.param("/generate", {"prompt": "x", "stream": 1}, FORMAT, id="vLLM's stream a number"),
        pytest.param("/generate", {}, FORMAT, id="neither form"),
        pytest.param("/generate_stream", {"prompt": "x"}, FORMAT, id="no inputs to stream"),
        pytest.param("/infer", {"inputs": "x", "input_id": [1]}, FORMAT, id="both forms of the native route"),
        pytest.param("/infer", {}, FORMAT, id="neither form of the native route"),
        pytest.param("/infer_token", {"input_id": ["a"]}, FORMAT, id="ids that are texts"),
        pytest.param("/infer", {"inputs": "x", "stream": "yes"}, FORMAT, id="the native stream a text"),
        pytest.param(CHAT, {"model": "m"}, NEITHER, id="no messages"),
        pytest.param(CHAT, [], NEITHER, id="a chat that is a list"),
        pytest.param("/v1/completions", {"model": "m"}, NEITHER, id="no prompt"),
        pytest.param(CHAT, {"messages": 5, "stream": None}, FORMAT, id="null stream of a chat"),
        pytest.param(f"{TRITON}generate", {"text_input": ["x"]}, FORMAT, id="a list as Triton's text"),
        pytest.param(
            f"{TRITON}infer", {"inputs": [{**TENSOR, "datatype": "INT8"}]}, FORMAT, id="another type of tokens"
        ),
        pytest.param(f"{TRITON}infer", {"inputs": []}, FORMAT, id="no tensor"),
    ],
)
def test_coordinator_refuses_unreadable_body(path: str, body: JSON, text: str) -> None:
    answer = refuse(path, body, "vendors: {mindie: {profile: motor}}\n")
    assert (answer.status, answer.body) == (400, f"{text}\r\n".encode())
    assert dict(answer.headers)["Server"] == "MindIE-MS"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param(CHAT, {"messages": 5}, 422, id="messages that are none"),
        pytest.param("/v1/completions", {"prompt": {}}, 422, id="a prompt that is none"),
        pytest.param("/generate", {"inputs": "x", "stream": 5}, 200, id="stream where it is not read"),
        pytest.param("/generate", {"inputs": "x", "prompt": "y", "stream": False}, 200, id="both forms"),
        pytest.param(f"{TRITON}generate", {"text_input": "x", "stream": 5}, 200, id="nor with Triton"),
        pytest.param("/infer", {"input_id": [1.0]}, 422, id="a fraction as an id"),
        pytest.param("/v1/tokenizer", {}, 422, id="the tokenizer's body"),
    ],
)
async def test_coordinator_leaves_other_checks_to_node(start: Start, path: str, body: JSON, status: int) -> None:
    running = await start("vendors: {mindie: {profile: motor}}\n")
    answer = await running.ask("mindie", path, body)
    assert answer.status == status
    assert answer.header("Content-Type") == "application/json; charset=utf-8"


async def test_coordinator_checks_readiness_before_body(start: Start) -> None:
    section = "vendors: {mindie: {profile: motor}}\ndeployments: [{name: m, vendor: mindie, state: loading}]\n"
    answer = await (await start(section)).ask("mindie", CHAT, {"stream": 5})
    assert (answer.status, answer.body) == (503, b"MindIE-MS Coordinator is not ready\r\n")


@pytest.mark.covers("mindie/error bodies", "headers that are demanded")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 400, id="none of them"),
        pytest.param({"req-type": "prefill", "req-id": "ab12", "d-target": "10.0.0.1;8080"}, 200, id="all of them"),
        pytest.param({"req-type": "decode", "req-id": "ab12", "d-target": "10.0.0.1"}, 400, id="another type"),
        pytest.param({"req-type": "prefill", "req-id": "xyz", "d-target": "10.0.0.1"}, 400, id="an id that is not hex"),
    ],
)
async def test_dmi_node_requires_headers(start: Start, headers: dict[str, str], status: int) -> None:
    running = await start("vendors: {mindie: {infer_mode: dmi}}\n")
    answer = await running.ask("mindie", "/", {"inputs": PROMPT}, headers=headers)
    assert answer.status == status
    if status == 400:
        text = "DMI request must have req-type, req-id, d-target headers"
        assert answer.json() == {"error": text, "error_type": "Bad Request"}


@pytest.mark.parametrize("path", ["/", "/infer", CHAT])
def test_byte_order_mark_is_skipped(path: str) -> None:
    body = {"model": MODEL, "messages": HELLO} if path == CHAT else {"inputs": PROMPT}
    assert accept(path, b"\xef\xbb\xbf" + json.dumps(body).encode())
    assert refuse(path, b"\xef\xbb{}").status == 422
