"""Validation after deserialization, and token limits."""

import json

import pytest

from emulator.core.requests import CompletionRequest
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import OLD, accept, ask, generate_options, refuse

PREFIX = "Input validation error: "


TIGHT = "vendors: {tgi: {max_input_tokens: 8, max_total_tokens: 12}}\n"


@pytest.mark.parametrize(
    ("section", "asked", "limit"),
    [
        pytest.param("", {}, 7, id="none asked"),
        pytest.param("", {"max_new_tokens": 9}, 9, id="some asked"),
        pytest.param(OLD, {}, 7, id="none asked of 0.9.4"),
    ],
)
def test_deployment_default_max_tokens(section: str, asked: JSON, limit: int) -> None:
    deployment = "deployments: [{vendor: tgi, name: m, default_max_tokens: 7}]\n"
    found = accept("/", ask(asked), section + deployment).request
    assert isinstance(found, CompletionRequest)
    assert found.sampling.max_tokens == limit


def test_empty_inputs() -> None:
    assert json.loads(refuse("/", {"inputs": ""}).body)["error"] == f"{PREFIX}`inputs` cannot be empty"


@pytest.mark.covers("mindie/TGI", "texts of a length there is no room for")
@pytest.mark.parametrize(
    ("text", "parameters", "words"),
    [
        pytest.param(
            "a b c d",
            {"max_new_tokens": 9},
            "`inputs` tokens + `max_new_tokens` must be <= 12. Given: 5 `inputs` tokens and 9 `max_new_tokens`",
            id="prompt and answer together",
        ),
        pytest.param(
            "a b c d e f g h",
            {"max_new_tokens": 1},
            "`inputs` must have less than 8 tokens. Given: 9",
            id="prompt alone",
        ),
    ],
)
def test_token_limit_errors(text: str, parameters: JSON, words: str) -> None:
    answer = refuse("/", {"inputs": text, "parameters": parameters}, TIGHT)
    assert json.loads(answer.body)["error"] == PREFIX + words


@pytest.mark.covers("mindie/TGI beside it", "default of max_new_tokens")
@pytest.mark.parametrize(
    ("section", "parameters", "limit"),
    [
        pytest.param("", {"max_new_tokens": 7}, 7, id="as asked"),
        pytest.param(TIGHT, {}, 6, id="what is left where nothing is asked"),
        pytest.param(OLD, {}, 20, id="twenty in 0.9.4"),
        pytest.param("", {"max_new_tokens": 100000}, 4090, id="only the first thousand must fit"),
    ],
)
def test_max_new_tokens_limit(section: str, parameters: JSON, limit: int) -> None:
    assert generate_options("/", ask(parameters), section).limit == limit
