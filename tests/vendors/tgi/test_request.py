"""Validation after deserialization, and token limits."""

import json

import pytest

from emulator.core.requests import CompletionRequest, Deployment
from emulator.vendors.tgi.request import measure_limit
from emulator.vendors.tgi.settings import TgiSettings
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
        pytest.param("", {"max_new_tokens": 100000}, 3072, id="only the first thousand must fit"),
    ],
)
def test_max_new_tokens_limit(section: str, parameters: JSON, limit: int) -> None:
    assert generate_options("/", ask(parameters), section).limit == limit


@pytest.mark.parametrize(
    ("prompt", "asked", "limit"),
    [
        (10, None, 4086),
        (10, 1024, 1024),
        (10, 1025, 2048),
        (10, 1500, 2048),
        (10, 2048, 2048),
        (10, 3100, 3072),
        (1023, 3000, 3072),
        (1025, 3000, 2048),
        (2500, 1500, 1024),
        (2500, None, 1596),
        (3072, 5000, 1024),
        (4095, None, 1),
    ],
)
def test_responses_grow_by_whole_lots(prompt: int, asked: int | None, limit: int) -> None:
    """``router/src/validation.rs:136-178`` and ``router/src/infer/mod.rs:148-187``."""
    assert measure_limit(TgiSettings(), Deployment(vendor="tgi", name="m"), prompt, asked) == limit


def test_lot_ends_at_longest_prompt() -> None:
    settings, model = TgiSettings(max_input_tokens=1500, max_total_tokens=8192), Deployment(vendor="tgi", name="m")
    assert measure_limit(settings, model, 100, None) == 2048
    assert measure_limit(settings, model, 100, 8000) == 2048
    assert measure_limit(settings, model, 100, 8000, truncate=100) == 8192
    assert measure_limit(TgiSettings(profile="0.9.4"), model, 100, 1500) == 1500
