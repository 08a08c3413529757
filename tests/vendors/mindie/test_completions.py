"""``/v1/completions``."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    MODEL,
    REPLY,
    error_of,
)

COMPLETIONS = [
    ({"prompt": None}, "Contains not prompt or prompt null"),
    ({"prompt": []}, "Prompt array cannot be empty."),
    ({"prompt": ["a"]}, "All elements of the prompt array must be integers."),
    ({"prompt": 5}, "The type of prompt is abnormal,prompt must be str or integer list."),
    ({"prompt": "x", "logprobs": 6}, "logprobs should be in range [0, 5], got 6."),
    ({"prompt": [2**64]}, "All elements of the prompt array must be integers."),
    ({"prompt": "x", "max_tokens": 2**64}, "Parameter max_tokens not number_integer"),
    ({"prompt": "x", "stop_token_ids": [2**64]}, "Parameter stop_token_ids not list[int]"),
    (
        {"prompt": "x", "stop_token_ids": 1, "include_stop_str_in_output": 1},
        "include_stop_str_in_output must be boolean type.",
    ),
    ({"model": "other"}, "Not found given model, please check modelName in config file."),
]


@pytest.mark.parametrize(("body", "text"), COMPLETIONS, ids=[json.dumps(body) for body, _ in COMPLETIONS])
def test_invalid_completion_is_rejected(body: JSON, text: str) -> None:
    assert error_of("/v1/completions", {"model": MODEL, **body}) == text


@pytest.mark.covers("mindie/routes", "POST /v1/completions")
async def test_completions_of_token_ids(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("mindie", "/v1/completions", {"model": MODEL, "prompt": [9707], "logprobs": 2})).json()
    (choice,) = answer["choices"]
    assert list(choice) == ["index", "text", "logprobs", "stop_reason", "finish_reason"]
    assert choice["logprobs"]["text_offset"] == [0, 4, 8, 14]
    assert answer["usage"]["prompt_tokens"] == 1


NO_SCHEMA = "Parameter response_format.json_schema is required when type is 'json_schema'"
BEAMS = "Please set the max_tokens to be not larger than 128 when the use_beam_search is on."
CHOICES: list[tuple[JSON, str]] = [
    ({"best_of": 2, "n": 3, "stream": True}, "best_of must be equal to n, but best_of is 2 and n is 3."),
    ({"best_of": 2, "stream": True}, "best_of must be equal to n in stream mode, but best_of is 2, n is None."),
    ({"best_of": 2, "n": 3}, "Best_of must be greater than or equal to n, but best_of is 2 and n is 3."),
    (
        {"n": 2},
        "Best_of and n shouldn't be greater than 1 when sampling is disabled, but best_of is null and n is 2.",
    ),
    (
        {"best_of": 2, "temperature": 0},
        "Best_of and n shouldn't be greater than 1 when sampling is disabled, but best_of is 2 and n is null.",
    ),
    ({"use_beam_search": True}, BEAMS),
    ({"response_format": "x"}, "Parameter response_format must be an object"),
    ({"response_format": {"type": "json_schema"}}, NO_SCHEMA),
]


@pytest.mark.covers("mindie/answers", "completions")
@pytest.mark.parametrize(("body", "text"), CHOICES, ids=[json.dumps(body) for body, _ in CHOICES])
def test_completions_choice_errors(body: JSON, text: str) -> None:
    assert error_of("/v1/completions", {"model": MODEL, "prompt": "x", **body}) == text


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
async def test_completions_match_response_format(start: Start, kind: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form: JSON = {"type": kind, "json_schema": {"name": "n", "schema": schema}}
    body = {"model": MODEL, "prompt": "x", "response_format": form}
    answer = (await (await start()).ask("mindie", "/v1/completions", body)).json()
    said = json.loads(answer["choices"][0]["text"])
    assert said
    assert kind == "json_object" or isinstance(said["n"], int)


@pytest.mark.parametrize("n", [1, 2])
async def test_beam_search_streams_one_final_event(start: Start, n: int) -> None:
    body = {"model": MODEL, "prompt": "x", "use_beam_search": True, "n": n, "max_tokens": 4}
    running = await start()
    whole = (await running.ask("mindie", "/v1/completions", body)).json()
    event, done = (await running.ask("mindie", "/v1/completions", {**body, "stream": True})).events()
    assert done == "[DONE]"
    assert event["choices"] == whole["choices"]
    assert len({choice["text"] for choice in event["choices"]}) == n
    assert event["usage"]["completion_tokens"] == 4 * n
