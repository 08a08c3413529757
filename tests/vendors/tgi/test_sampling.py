"""Validation of sampling fields: error texts, order, and error delivery."""

import json

import pytest

from tests.untyped_json import JSON
from tests.vendors.tgi.direct import OLD, PROMPT, accept, ask, generate_options, refuse

PREFIX = "Input validation error: "


CASES = [
    pytest.param({"best_of": 3}, "`best_of` must be > 0 and <= 2. Given: 3", id="best_of beyond the limit"),
    pytest.param({"best_of": 2}, "you must use sampling when `best_of` is > 1", id="best_of without sampling"),
    pytest.param(
        {"best_of": 2, "do_sample": True, "seed": 1},
        "`seed` must not be set when `best_of` > 1",
        id="best_of and a seed",
    ),
    pytest.param({"temperature": 0}, "`temperature` must be strictly positive", id="temperature 0"),
    pytest.param({"temperature": -0.5}, "`temperature` must be strictly positive", id="temperature below zero"),
    pytest.param(
        {"repetition_penalty": 0.0}, "`repetition_penalty` must be strictly positive", id="repetition_penalty 0"
    ),
    pytest.param({"frequency_penalty": 2.1}, "`frequency_penalty` must be >= -2.0 and <= 2.0", id="frequency_penalty"),
    pytest.param({"top_p": 0.0}, "`top_p` must be > 0.0 and < 1.0", id="top_p 0"),
    pytest.param({"top_p": 1.0}, "`top_p` must be > 0.0 and < 1.0", id="top_p 1"),
    pytest.param({"temperature": 1e-46}, "`temperature` must be strictly positive", id="0 in single precision"),
    pytest.param({"top_p": 0.99999999}, "`top_p` must be > 0.0 and < 1.0", id="1 in single precision"),
    pytest.param({"typical_p": 0.99999999}, "`typical_p` must be > 0.0 and < 1.0", id="typical_p of nearly 1"),
    pytest.param({"typical_p": 1.0}, "`typical_p` must be > 0.0 and < 1.0", id="typical_p 1, which MindIE takes"),
    pytest.param({"top_k": 0}, "`top_k` must be strictly positive", id="top_k 0"),
    pytest.param({"max_new_tokens": 0}, "`max_new_tokens` must be strictly positive", id="no new tokens"),
    pytest.param({"stop": list("abcde")}, "`stop` supports up to 4 stop sequences. Given: 5", id="five stops"),
    pytest.param({"top_n_tokens": 6}, "`top_n_tokens` must be >= 0 and <= 5. Given: 6", id="six top tokens"),
    pytest.param({"truncate": 0}, "`truncate` must be strictly positive and less than 4095. Given: 0", id="truncate 0"),
    pytest.param(
        {"truncate": 4096}, "`truncate` must be strictly positive and less than 4095. Given: 4096", id="truncate beyond"
    ),
    pytest.param({"grammar": {"type": "json", "value": 5}}, "grammar is not supported", id="a number as grammar"),
    pytest.param(
        {"grammar": {"type": "json", "value": {}}},
        "grammar is not valid: Grammar must have a 'properties' field",
        id="a grammar without properties",
    ),
]


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"temperature": 1.5e-45}, id="the smallest temperature"),
        pytest.param({"top_p": 0.9999999}, id="the largest top_p"),
        pytest.param({"frequency_penalty": 2.0000001}, id="2 in single precision"),
        pytest.param({"frequency_penalty": -2}, id="frequency_penalty -2"),
        pytest.param({"temperature": 1e300}, id="a temperature beyond single precision"),
    ],
)
def test_boundary_parameters_are_accepted(parameters: JSON) -> None:
    accept("/", ask(parameters))


@pytest.mark.covers("mindie/TGI beside it", "forms of stop", case="five stops")
@pytest.mark.covers("mindie/TGI", "texts of validation")
@pytest.mark.parametrize(("parameters", "text"), CASES)
@pytest.mark.parametrize("path", ["/", "/generate"])
def test_invalid_parameters_are_rejected(path: str, parameters: JSON, text: str) -> None:
    answer = refuse(path, ask(parameters))
    assert answer.status == 422
    assert json.loads(answer.body) == {"error": PREFIX + text, "error_type": "validation"}


@pytest.mark.covers("mindie/TGI beside it", "refused while streaming")
@pytest.mark.parametrize(("parameters", "text"), CASES[3:])
def test_invalid_parameters_are_rejected_in_stream(parameters: JSON, text: str) -> None:
    answer = refuse("/", ask(parameters, stream=True))
    expected = json.dumps({"error": PREFIX + text, "error_type": "validation"}, separators=(",", ":"))
    assert (answer.status, answer.body.decode()) == (200, f"data: {expected}\n\n")
    assert dict(answer.headers)["content-type"] == "text/event-stream"


@pytest.mark.parametrize(("section", "space"), [pytest.param("", " ", id="3"), pytest.param(OLD, "", id="0.9.4")])
@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        pytest.param({"best_of": 0}, "`best_of` != 1 is not supported when streaming tokens", id="best_of 0"),
        pytest.param({"best_of": 2}, "`best_of` != 1 is not supported when streaming tokens", id="best_of 2"),
        pytest.param(
            {"decoder_input_details": True},
            "`decoder_input_details` == true is not supported when streaming tokens",
            id="input details",
        ),
    ],
)
def test_stream_is_refused_once(parameters: JSON, text: str, section: str, space: str) -> None:
    """``router/src/server.rs``, generate_stream_internal: the end is looked for only behind a generation."""
    answer = refuse("/generate_stream", ask(parameters), section)
    first = json.dumps({"error": PREFIX + text, "error_type": "validation"}, separators=(",", ":"))
    assert answer.body.decode() == f"data:{space}{first}\n\n"


@pytest.mark.parametrize(
    ("section", "body", "greedy"),
    [
        pytest.param("", {"inputs": PROMPT}, False, id="no parameters at all means sampling in 3"),
        pytest.param(OLD, {"inputs": PROMPT}, True, id="and greedy in 0.9.4"),
        pytest.param("", ask({}), True, id="empty parameters are greedy"),
        pytest.param("", ask({"temperature": 1.0}), True, id="the neutral temperature is greedy"),
        pytest.param("", ask({"temperature": 0.5}), False, id="another samples"),
    ],
)
def test_greedy_or_sampled(section: str, body: JSON, greedy: bool) -> None:
    assert generate_options("/", body, section).seeded is not greedy
