"""Requests and responses of the Triton form, text and tensors."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    MODEL,
    PROMPT,
    REPLY,
    accept,
    error_of,
)

INFER = f"/v2/models/{MODEL}/infer"


TENSOR = {"name": "input0", "shape": [1, 2], "datatype": "UINT32", "data": [9707, 0]}


OUTPUTS = [{"name": "output0"}]


@pytest.mark.covers("mindie/routes", "POST /v2/models/infer", "POST /v2/models/generate, generate_stream")
@pytest.mark.covers("mindie/answers", "Triton")
async def test_triton_generate_stream_and_infer(start: Start) -> None:
    running = await start(REPLY)
    path = f"/v2/models/{MODEL}/generate"
    body = {"id": "a-1", "text_input": "Hello", "parameters": {"details": True}}
    answer = (await running.ask("mindie", path, body)).json()
    assert list(answer) == ["id", "model_name", "model_version", "text_output", "details"]
    assert (answer["id"], answer["text_output"]) == ("a-1", " one two three")
    stream = await running.ask("mindie", f"{path}_stream", body)
    assert stream.body.startswith(b'data:{"id":"a-1"')
    assert "".join(row["text_output"] for row in stream.events()) == " one two three"
    assert ["finish_reason" in row["details"] for row in stream.events()] == [False, False, False, True]
    tensor = (await running.ask("mindie", INFER, {"id": "a-1", "inputs": [TENSOR], "outputs": OUTPUTS})).json()
    assert tensor["outputs"][0]["shape"] == [1, len(tensor["outputs"][0]["data"])]


TRITON = [
    ({}, "Req should contain 'inputs' and the type should be array."),
    ({"inputs": []}, "Inputs count must be 1."),
    ({"inputs": [{}]}, "Cannot find name in inputs or its type is not string"),
    ({"inputs": [{**TENSOR, "name": "x" * 257}]}, "The length of name set in inputs exceeds 256."),
    ({"inputs": [{**TENSOR, "shape": None}]}, "Cannot find shape in inputs or its type is not array"),
    ({"inputs": [{**TENSOR, "shape": [1, -2]}]}, "Shape element must be integer type."),
    (
        {"inputs": [{**TENSOR, "shape": [2, 2]}]},
        "Shape must be at most two-dimensional, and the last element's value must be in (0,1048576].",
    ),
    ({"inputs": [{**TENSOR, "datatype": "FP32"}]}, "Unsupported datatype, got FP32."),
    ({"inputs": [{**TENSOR, "data": [1]}]}, "Data size should be 2, got 1."),
    ({"inputs": [TENSOR]}, "Req should contain 'outputs' and the type should be array."),
    ({"inputs": [TENSOR], "outputs": []}, "Outputs size should be 1, got 0."),
    (
        {"inputs": [TENSOR], "outputs": OUTPUTS, "id": "a b"},
        "The id can contain only digits, letters, underscores(_), hyphens(-) and no more than 256 words in length.",
    ),
]


@pytest.mark.parametrize(("body", "text"), TRITON, ids=[json.dumps(body)[:60] for body, _ in TRITON])
def test_triton_refused(body: JSON, text: str) -> None:
    assert error_of(INFER, body) == text


def test_unknown_model() -> None:
    assert error_of("/v2/models/other/generate", {"text_input": "x"}, status=404) == "Model other not found."


STATISTICS = {"text_input": PROMPT, "parameters": {"details": True, "perf_stat": True, "max_new_tokens": 3}}


async def test_perf_stat_lists_each_token_with_time(start: Start) -> None:
    running = await start("latency: {ttft: 28ms, itl: 9ms}\nversion: 1\nname: t\nclock: instant\n")
    path = f"/v2/models/{MODEL}/generate"
    details = (await running.ask("mindie", path, STATISTICS)).json()["details"]
    assert list(details)[2:5] == ["first_token_cost", "decode_cost", "perf_stat"]
    assert [taken for _, taken in details["perf_stat"]] == [28, 9, 9]
    rows = [
        event["details"]["perf_stat"] for event in (await running.ask("mindie", f"{path}_stream", STATISTICS)).events()
    ]
    assert [len(row) for row in rows] == [1, 2, 3]
    assert rows[-1] == details["perf_stat"]


def test_perf_stat_must_be_boolean() -> None:
    body = {"text_input": PROMPT, "parameters": {"perf_stat": "yes"}}
    assert error_of(f"/v2/models/{MODEL}/generate", body) == "perf_stat must be boolean type."


TEXT = f"/v2/models/{MODEL}/generate"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({"text_input": []}, "Parameter text_input arr is empty", id="an empty list"),
        pytest.param({"text_input": True}, "endpoint_common_", id="no text"),
        pytest.param(
            {"text_input": [{"type": "text"}]},
            "text_input token length must be in (0, 1048576], but got 0",
            id="an element without its text",
        ),
    ],
)
def test_invalid_text_input_is_refused(body: JSON, text: str) -> None:
    assert text in error_of(TEXT, body)


async def test_refusal_names_request_id(start: Start) -> None:
    answer = await (await start()).ask("mindie", TEXT, {"id": "a", "text_input": 3}, headers={"req-id": "ab12"})
    assert answer.json()["error"] == "The type of text_input is abnormal. The requestId is ab12"


LARGE = 2**64  # the server's JSON library reads it as a float
BATCH_TYPE = "batch_size must be integer type."


@pytest.mark.parametrize("value", [1.0, 1.5, "1", True, LARGE], ids=repr)
def test_batch_size_is_an_integer(value: JSON) -> None:
    assert error_of(TEXT, {"text_input": "x", "parameters": {"batch_size": value}}) == BATCH_TYPE


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        ({"shape": [LARGE]}, "Shape element must be integer type."),
        ({"data": [LARGE, 1]}, "Data element must be integer type."),
    ],
    ids=["shape", "data"],
)
def test_tensor_of_integers_beyond_64_bits(tensor: JSON, text: str) -> None:
    assert error_of(INFER, {"inputs": [{**TENSOR, **tensor}], "outputs": OUTPUTS}) == text


BAD = {"details": 1, "batch_size": 0, "timeout": 0, "typical_p": 2}
DETAILS, BATCH = "details must be boolean type.", "Parameter batch_size must be in (0,2147483647], got 0."
TIMEOUT = "Parameter timeout must be strictly positive and small than 65535 seconds, got 0."
TYPICAL = "Parameter typical_p must be in (0.0,1.0], got 2."


@pytest.mark.parametrize(
    ("path", "body", "order"),
    [
        pytest.param(TEXT, {"text_input": "x"}, (TYPICAL, DETAILS, BATCH, TIMEOUT), id="text"),
        pytest.param(INFER, {"inputs": [TENSOR], "outputs": OUTPUTS}, (TIMEOUT, DETAILS, BATCH), id="tensor"),
        pytest.param("/infer", {"inputs": "x"}, (TYPICAL, TIMEOUT, DETAILS), id="the server's own"),
    ],
)
def test_first_invalid_parameter_is_reported(path: str, body: dict[str, JSON], order: tuple[str, ...]) -> None:
    wrong = dict(BAD)
    fields = {TYPICAL: "typical_p", DETAILS: "details", BATCH: "batch_size", TIMEOUT: "timeout"}
    for text in order:
        assert error_of(path, {**body, "parameters": wrong}) == text
        del wrong[fields[text]]
    assert accept(path, {**body, "parameters": wrong})
