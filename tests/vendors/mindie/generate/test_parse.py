"""Validation and truncation of requests in TGI's form."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    PROMPT,
    REPLY,
    accept,
    ask,
    error_of,
    generate_codec,
    post,
    refuse,
)


@pytest.mark.covers("mindie/other checks", "no JSON", case="half a document")
@pytest.mark.covers("mindie/other checks", "stream", case="stream as a text")
@pytest.mark.covers("mindie/other checks", "no inputs", case="no inputs")
@pytest.mark.covers("mindie/other checks", "inputs of another type", case="an object")
@pytest.mark.covers("mindie/other checks", "an empty list", case="an empty list")
@pytest.mark.covers("mindie/other checks", "no UTF-16", case="half a surrogate pair")
@pytest.mark.covers("mindie/vectors", "stream of another type", case="stream as a number")
@pytest.mark.covers("mindie/vectors", "inputs", case="a number")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({}, "Request should contain 'inputs' and the type should be string.", id="no inputs"),
        pytest.param({"inputs": None}, "Request should contain 'inputs' and the type should be string.", id="null"),
        pytest.param([], "Request should contain 'inputs' and the type should be string.", id="a body that is a list"),
        pytest.param(
            "hi", "Request should contain 'inputs' and the type should be string.", id="a body that is a text"
        ),
        pytest.param({"inputs": 5}, "The type of inputs is abnormal", id="a number"),
        pytest.param({"inputs": True}, "The type of inputs is abnormal", id="a boolean"),
        pytest.param({"inputs": {}}, "The type of inputs is abnormal", id="an object"),
        pytest.param({"inputs": []}, "Inputs arr is empty", id="an empty list"),
        pytest.param({"inputs": ""}, "Inputs length must be in (0, 4194304], but got 0", id="an empty text"),
        pytest.param({"inputs": "x", "stream": "true"}, "Stream must be boolean type.", id="stream as a text"),
        pytest.param({"inputs": "x", "stream": 1}, "Stream must be boolean type.", id="stream as a number"),
        pytest.param({"stream": 0}, "Stream must be boolean type.", id="stream is looked at before inputs"),
        pytest.param(b"{", "Failed to parse context to json body", id="half a document"),
        pytest.param(b"", "Failed to parse context to json body", id="no body"),
        pytest.param(b'{"inputs": NaN}', "Failed to parse context to json body", id="NaN"),
        pytest.param(b'{"inputs": "\xff"}', "Failed to parse context to json body", id="bytes that are no UTF-8"),
        pytest.param(b'{"inputs": "\\ud800"}', "Failed to parse context to json body", id="half a surrogate pair"),
        pytest.param(b"[" * 11 + b"]" * 11, "Failed to parse context to json body", id="eleven levels of nothing"),
        pytest.param(b"[" * 500 + b"]" * 500, "Failed to parse context to json body", id="500 levels of nesting"),
        pytest.param(
            b'{"a":' * 11 + b"1" + b"}" * 11, "Failed to parse context to json body", id="eleven levels of nesting"
        ),
    ],
)
def test_invalid_body_is_rejected(body: JSON | bytes, text: str) -> None:
    assert error_of("/", body) == text


@pytest.mark.parametrize("stream", [None, False], ids=["null", "false"])
def test_no_stream(stream: JSON) -> None:
    assert accept("/", {"inputs": PROMPT, "stream": stream}).stream is False


TIGHT = "vendors: {mindie: {max_seq_len: 12, max_input_token_len: 8, max_iter_times: 6}}\n"


SIX = "a b c d e f"  # six tokens


@pytest.mark.parametrize(
    ("truncation", "prompt"),
    [
        pytest.param(-1, "a b c d e f g h", id="on the right"),
        pytest.param(True, "a b c d e f g h", id="as true, on the right"),
        pytest.param(1, " b c d e f g h i", id="on the left"),
    ],
)
def test_server_truncation(truncation: JSON, prompt: str) -> None:
    section = TIGHT.replace("max_iter_times: 6", f"max_iter_times: 6, truncation: {json.dumps(truncation)}")
    body = ask({"decoder_input_details": True}, inputs="a b c d e f g h i")
    call = accept("/", body, section)
    assert (call.request.prompt, call.prompt_tokens) == (prompt, (8,))
    assert len(generate_codec(body, section).prefill) == 8


@pytest.mark.covers("mindie/interplay", "truncate")
@pytest.mark.parametrize(
    ("truncate", "prompt", "count"),
    [
        pytest.param(2, " e f", 2, id="keeps the last tokens"),
        pytest.param(6, SIX, 6, id="has no effect at the very count"),
        pytest.param(100, SIX, 6, id="nor above it"),
    ],
)
def test_truncate(truncate: int, prompt: str, count: int) -> None:
    body = ask({"truncate": truncate, "decoder_input_details": True}, inputs=SIX)
    call = accept("/", body)
    assert call.request.prompt == prompt
    assert call.prompt_tokens == (count,)
    assert len(generate_codec(body).prefill) == count


@pytest.mark.covers("mindie/interplay", "truncate first")
def test_truncate_admits_long_prompt() -> None:
    accept("/", ask({"truncate": 8}, inputs="a b c d e f g h i"), TIGHT)


@pytest.mark.covers("mindie/tokens", "begin of a sequence")
def test_truncate_with_begin_of_sequence_token() -> None:
    section = "deployments: [{vendor: mindie, name: own, tokenizer: llama2}]\n"
    whole = generate_codec(ask({"decoder_input_details": True}), section)
    cut = generate_codec(ask({"decoder_input_details": True, "truncate": 2}), section)
    assert whole.prefill[0] == 1
    assert cut.prefill == whole.prefill[-2:]


@pytest.mark.covers("mindie/other checks", "the parameters")
def test_parameters_are_checked_before_prompt_length() -> None:
    assert refuse("/", ask({"temperature": 0}, inputs="a b c d e f g h i"), TIGHT).status == 422


SAMPLE = "My name is Olivier and I"


SOFTWARE = "'m a software engineer from France. I love to build things, especially web applications and mobile apps."


async def test_documented_sample_respects_stop_and_sampling(start: Start) -> None:
    running = await start()
    (answer,) = await post(running, {"inputs": SAMPLE, "parameters": {"stop": ["France"]}})
    assert answer["generated_text"] == "'m a software engineer from "
    (other,) = await post(running, {"inputs": SAMPLE, "parameters": {"seed": 7, "do_sample": True}})
    assert other["generated_text"] != SOFTWARE


@pytest.mark.covers("mindie/interplay", "an adapter nobody knows")
async def test_adapter(start: Start) -> None:
    running = await start("deployments: [{vendor: mindie, name: poet, kind: lora, tokenizer: qwen2}]\n")

    async def say(**parameters: JSON) -> str:
        return str((await post(running, {"inputs": PROMPT, "parameters": parameters}))[0]["generated_text"])

    base = await say()
    assert await say(adapter_id="None") == await say(adapter_id="nobody") == base
    assert await say(adapter_id="poet") != base


async def test_root_under_front_prefix(start: Start) -> None:
    running = await start(REPLY)
    body = json.dumps({"inputs": PROMPT}).encode()
    for target in ("/mindie", "/mindie/"):
        answer = await running.send("front", f"POST {target} HTTP/1.1\r\n".encode(), body)
        assert answer.json() == [{"generated_text": " one two three"}]
