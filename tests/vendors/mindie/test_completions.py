"""``/v1/completions``."""

import json

import pytest

from tests.conftest import Start
from tests.parsed import JSON
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
    ({"model": "other"}, "Not found given model, please check modelName in config file."),
]


@pytest.mark.parametrize(("body", "text"), COMPLETIONS, ids=[json.dumps(body) for body, _ in COMPLETIONS])
def test_completions_refused(body: JSON, text: str) -> None:
    assert error_of("/v1/completions", {"model": MODEL, **body}) == text


async def test_completions_of_ids(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("mindie", "/v1/completions", {"model": MODEL, "prompt": [9707], "logprobs": 2})).json()
    (choice,) = answer["choices"]
    assert list(choice) == ["index", "text", "logprobs", "stop_reason", "finish_reason"]
    assert choice["logprobs"]["text_offset"] == [0, 4, 8, 14]
    assert answer["usage"]["prompt_tokens"] == 1
