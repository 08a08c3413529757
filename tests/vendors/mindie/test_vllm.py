"""``/generate`` in vLLM's form."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    REPLY,
    accept,
    error_of,
)


@pytest.mark.covers("mindie/answers", "vLLM")
async def test_vllm(start: Start) -> None:
    running = await start(REPLY)
    whole = await running.ask("mindie", "/generate", {"prompt": "Hello"})
    assert whole.body == b'{"text":["Hello  one two three"]}'
    answer = await running.ask("mindie", "/generate", {"prompt": "Hello", "stream": True})
    assert answer.header("Content-Type") == "text/event-stream"
    *rows, rest = answer.body.split(b"\0")
    assert rest == b""
    assert "".join(json.loads(row)["text"][0] for row in rows) == " one two three"


async def test_vllm_list_prompt_echoes_first_text(start: Start) -> None:
    prompt = [
        {"type": "image_url", "image_url": "a.png"},
        {"type": "text", "text": "Hi"},
        {"type": "text", "text": "x"},
    ]
    answer = await (await start(REPLY)).ask("mindie", "/generate", {"prompt": prompt})
    assert answer.json() == {"text": ["Hi  one two three"]}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({"stop": " two"}, " one", id="a stop string"),
        pytest.param({"stop": " two", "include_stop_str_in_output": True}, " one two", id="that stays"),
        pytest.param({"stop_token_ids": [5297]}, " one", id="a stop id"),
        pytest.param(
            {"stop_token_ids": [5297], "include_stop_str_in_output": True}, " one two", id="with its text kept"
        ),
        pytest.param({"stop_token_ids": [2**40, -1]}, " one two three", id="what is no id is skipped"),
        pytest.param({"max_tokens": 2}, " one two", id="the limit"),
    ],
)
async def test_vllm_stop_conditions(start: Start, body: JSON, text: str) -> None:
    running = await start(REPLY)
    answer = await running.ask("mindie", "/generate", {"prompt": "Hello", **body})
    assert answer.json() == {"text": [f"Hello {text}"]}


async def test_vllm_multiple_choices(start: Start) -> None:
    running = await start()
    body = {"prompt": "Hello", "n": 3, "temperature": 0.8, "max_tokens": 4}
    assert len((await running.ask("mindie", "/generate", body)).json()["text"]) == 3
    streamed = await running.ask("mindie", "/generate", {**body, "stream": True})
    assert all(len(json.loads(row)["text"]) == 3 for row in streamed.body.split(b"\0")[:-1])


@pytest.mark.covers("mindie/routes", "POST /generate")
def test_prompt_takes_precedence_over_inputs() -> None:
    assert accept("/generate", {"inputs": "a", "prompt": "b"}).request.prompt == "b"


VLLM = [
    ({"prompt": 5}, "The type of prompt is abnormal"),
    ({"prompt": []}, "Prompt arr is empty"),
    ({"temperature": -0.1}, "Parameter temperature must be in (0.0,3.40282e+38], got -0.1."),
    ({"top_k": 0}, "Parameter top_k must be in -1 || (0,2147483647], got 0"),
    ({"top_p": 1.1}, "Parameter top_p must be in (0.0,1.0], got 1.1."),
    ({"repetition_penalty": 2.1}, "Parameter 'repetition_penalty' must be in (0.0, 2], got 2.1."),
    ({"frequency_penalty": 2.1}, "Parameter frequency_penalty should be in [-2.0, 2.0], got 2.1."),
    ({"presence_penalty": -3}, "Parameter presence_penalty not in [-2.0, 2.0], but got -3."),
    ({"stop_token_ids": 5}, "Parameter stop_token_ids not array"),
    ({"stop_token_ids": ["x"]}, "Parameter stop_token_ids not list[int]"),
    ({"best_of": 129}, "Parameter [best_of] should be in [1, 128], got 129."),
    ({"n": 2}, "Best_of/N can not greater than 1 when temperature is 0 or not set, but best_of is None, n is 2."),
    ({"best_of": 1, "n": 2, "temperature": 1}, "best_of should greater than or equal to n, but best_of is 1, n is 2."),
    ({"model": 5}, "Model must be string type."),
    ({"max_tokens": 1.5}, "Parameter max_tokens not number_integer"),
    ({"max_tokens": 0}, "Parameter max_tokens must be (0,2147483647], got 0"),
    ({"stream": "x"}, "stream must be boolean type."),
]


@pytest.mark.parametrize(("body", "text"), VLLM, ids=[json.dumps(body) for body, _ in VLLM])
def test_vllm_invalid_request_is_rejected(body: JSON, text: str) -> None:
    assert error_of("/generate", {"prompt": "Hello", **body}) == text


@pytest.mark.parametrize(
    "body", [pytest.param({}, id="neither"), pytest.param([], id="a list"), pytest.param(b"{", id="no JSON")]
)
def test_body_without_prompt_or_inputs_is_rejected(body: JSON) -> None:
    inner = json.loads(error_of("/generate", body))
    assert inner["error_type"] == "validation"
