"""What holds for the request of every route: headers, body, and how long prompt and answer may be."""

import json

import pytest

from tests.conftest import Start
from tests.parsed import JSON
from tests.vendors.mindie.direct import (
    CHAT,
    HELLO,
    MODEL,
    PROMPT,
    accepted,
    ask,
    generate_codec,
    put,
    refused,
)

LONG = "word " * 600


TIGHT = "vendors: {mindie: {max_seq_len: 12, max_input_token_len: 8, max_iter_times: 6}}\n"


POSITIONS = "vendors: {mindie: {max_seq_len: 100, max_input_token_len: 90, max_position_embeddings: 4}}\n"


SIX = "a b c d e f"  # six tokens


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
def test_limit(section: str, text: str, parameters: JSON, limit: int) -> None:
    assert generate_codec(ask(parameters, inputs=text), section).limit == limit


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
def test_prompt_too_long(section: str, text: str, bound: str, count: int) -> None:
    answer = refused("/", ask({}, inputs=text), section)
    assert answer.status == 424
    assert json.loads(answer.body) == {
        "error": "Failed to enqueue inferRequest. This model's maximum input ids length cannot be greater than "
        f"{bound},the input ids length is {count}",
        "error_type": "Generation Error",
    }


def test_longest_prompt_is_taken() -> None:
    assert accepted("/", ask({}, inputs="a b c d e f g h"), TIGHT).prompt_tokens == (8,)


async def test_ignored_beyond_the_limit_of_the_server(start: Start) -> None:
    running = await start()
    answer = (await running.ask("mindie", "/", ask({"details": True, "max_new_tokens": 100000}, inputs=LONG))).json()[0]
    assert answer["details"]["generated_tokens"] <= 512


def test_ten_levels_of_nesting_are_taken() -> None:
    nested: JSON = 1
    for _ in range(9):
        nested = {"a": nested}
    accepted("/", {"inputs": PROMPT, "x": nested})


def test_content_type_does_not_matter() -> None:
    outcome = put("/", {"inputs": PROMPT}, **{"Content-Type": "text/plain"})
    assert hasattr(outcome, "ask")


async def test_body_of_more_than_forty_megabytes(start: Start) -> None:
    running = await start()
    head = b"POST / HTTP/1.1\r\nContent-Length: 41943041\r\n"
    answer = await running.send("mindie", head)
    assert answer.status == 413
    assert answer.json() == {"message": "Request body too large. Maximum allowed size is 40MB."}


def test_smaller_bound_of_a_body() -> None:
    answer = refused("/", {"inputs": "x" * 1024**2}, "vendors: {mindie: {max_request_length: 1}}\n")
    assert answer.status == 413
    assert json.loads(answer.body) == {"message": "Request body too large. Maximum allowed size is 1MB."}


@pytest.mark.parametrize("body", [b"{", {"inputs": 5}, {"inputs": [{"type": "text", "text": "x"}]}, {}])
def test_coordinator_takes_texts_only(body: JSON) -> None:
    answer = refused("/", body, "vendors: {mindie: {profile: motor}}\n")
    assert (answer.status, answer.body) == (400, b"Request format is invalid\r\n")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 400, id="none of them"),
        pytest.param({"req-type": "prefill", "req-id": "ab12", "d-target": "10.0.0.1;8080"}, 200, id="all of them"),
        pytest.param({"req-type": "decode", "req-id": "ab12", "d-target": "10.0.0.1"}, 400, id="another type"),
        pytest.param({"req-type": "prefill", "req-id": "xyz", "d-target": "10.0.0.1"}, 400, id="an id that is not hex"),
    ],
)
async def test_node_behind_a_coordinator_asks_for_headers(start: Start, headers: dict[str, str], status: int) -> None:
    running = await start("vendors: {mindie: {infer_mode: dmi}}\n")
    answer = await running.ask("mindie", "/", {"inputs": PROMPT}, headers=headers)
    assert answer.status == status
    if status == 400:
        text = "DMI request must have req-type, req-id, d-target headers"
        assert answer.json() == {"error": text, "error_type": "Bad Request"}


@pytest.mark.parametrize("path", ["/", "/infer", CHAT])
def test_a_mark_of_byte_order_is_skipped(path: str) -> None:
    body = {"model": MODEL, "messages": HELLO} if path == CHAT else {"inputs": PROMPT}
    assert accepted(path, b"\xef\xbb\xbf" + json.dumps(body).encode())
    assert refused(path, b"\xef\xbb{}").status == 422
