"""``POST /vertex``."""

import json

import pytest

from emulator.core.requests import CompletionRequest
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import accept, refuse

TEXT: JSON = {"inputs": "Tell me"}
CHAT: JSON = {"messages": [{"role": "user", "content": "Tell me about weather"}]}
SCENARIO = """
rules:
  - {name: refused, when: {prompt: too fast}, error: {kind: overloaded}}
  - {name: weather, when: {prompt: {prefix: Tell me about weather}}, reply: {text: 'Rain.'}}
  - {name: fixed, reply: {text: ' one two three'}}
"""


@pytest.mark.parametrize(
    ("instances", "predictions"),
    [
        pytest.param([TEXT], [" one two three"], id="a text"),
        pytest.param([CHAT], ["Rain."], id="a conversation"),
        pytest.param([TEXT, TEXT], [" one two three"] * 2, id="two texts"),
        pytest.param([TEXT, CHAT], ["Rain."] * 2, id="of several the last finds the rule"),
        pytest.param(
            [{**TEXT, "parameters": {"max_new_tokens": 2}}, TEXT, {**TEXT, "parameters": {"max_new_tokens": 1}}],
            [" one two", " one two three", " one"],
            id="each has a length of its own",
        ),
    ],
)
async def test_predictions_of_all_instances(start: Start, instances: JSON, predictions: JSON) -> None:
    running = await start(SCENARIO)
    answer = await running.ask("tgi", "/vertex", {"instances": instances})
    assert (answer.status, answer.json()) == (200, {"predictions": predictions})


async def test_failure_is_incomplete_generation(start: Start) -> None:
    running = await start(SCENARIO)
    answer = await running.ask("tgi", "/vertex", {"instances": [{"inputs": "too fast"}]})
    words = {"error": "Incomplete generation", "error_type": "Incomplete generation"}
    assert (answer.status, answer.json()) == (500, words)


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        pytest.param({"instances": []}, 422, '{"error":"Input validation error",', id="none"),
        pytest.param({"instances": [{"inputs": ""}]}, 500, '{"error":"Incomplete generation",', id="an empty one"),
        pytest.param({}, 422, "missing field `instances` at line 1 column 2", id="no list"),
        pytest.param({"instances": [{}]}, 422, "instances[0]: data did not match any variant", id="neither form"),
    ],
)
def test_invalid_request_is_rejected(body: JSON, status: int, text: str) -> None:
    answer = refuse("/vertex", body)
    assert answer.status == status
    assert text in answer.body.decode()


def test_only_max_tokens_and_seed_are_used() -> None:
    parameters = {"max_new_tokens": 7, "seed": 3, "temperature": -1.0, "stop": ["x"]}
    call = accept("/vertex", {"instances": [{**TEXT, "parameters": parameters}]})
    assert isinstance(call.request, CompletionRequest)
    sampling = call.request.sampling
    assert (sampling.max_tokens, sampling.seed, sampling.stop, sampling.parameters) == (7, 3, (), ())


def test_instances_are_converted_before_any_runs() -> None:
    """``router/src/vertex.rs:98-133``."""
    wrong = {"messages": [{"role": "user", "content": "x"}], "tools": [], "tool_choice": "f"}
    answer = refuse("/vertex", {"instances": [{"inputs": ""}, wrong]})
    assert (answer.status, json.loads(answer.body)["error_type"]) == (422, "tool_error")
