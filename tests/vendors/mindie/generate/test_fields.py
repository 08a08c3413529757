"""Validation of ``parameters`` of ``POST /``."""

import json

import pytest

from emulator.core.requests import CompletionRequest
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    accept,
    ask,
    generate_codec,
    refuse,
)

PD = "vendors: {mindie: {pd_mode: true}}\n"


STOP_LIST = (
    "Input validation error: `stop` must be list[string] if list, and item length in [1, 1024] with total <= 32768"
)


MAX_UINT64 = 18446744073709551615


@pytest.mark.covers("mindie/order and types", "null is absent", case="every field null")
@pytest.mark.covers("mindie/order and types", "fields nobody knows", case="fields nobody knows")
@pytest.mark.covers("mindie/decisions", "1 seed", case="the largest seed")
@pytest.mark.covers("mindie/decisions", "2 temperature and top_p", case="temperature just above a millionth")
@pytest.mark.covers("mindie/decisions", "14 max_new_tokens", case="as many new tokens as a 32-bit integer holds")
@pytest.mark.covers("mindie/vectors", "null", case="every field null")
@pytest.mark.covers("mindie/vectors", "top_p", case="top_p just below one")
@pytest.mark.covers("mindie/vectors", "typical_p", case="typical_p of one")
@pytest.mark.covers("mindie/vectors", "repetition_penalty", case="repetition_penalty that rewards")
@pytest.mark.covers("mindie/vectors", "adapter_id", case="every sign an adapter's name may have")
@pytest.mark.covers("mindie/vectors", "unknown keys", case="fields nobody knows")
@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param(None, id="no parameters at all"),
        pytest.param({}, id="empty parameters"),
        pytest.param({"temperature": 1.0000001e-6}, id="temperature just above a millionth"),
        pytest.param({"temperature": 100}, id="temperature has no upper bound, and may be whole"),
        pytest.param({"top_k": 1}, id="top_k of one"),
        pytest.param({"top_k": 2147483647}, id="top_k of the largest 32-bit integer"),
        pytest.param({"top_p": 0.999999}, id="top_p just below one"),
        pytest.param({"top_p": 1.1e-6}, id="top_p just above a millionth"),
        pytest.param({"typical_p": 1.0}, id="typical_p of one"),
        pytest.param({"typical_p": 1}, id="typical_p of one, written whole"),
        pytest.param({"typical_p": 1e-9}, id="typical_p just above zero"),
        pytest.param({"seed": 1}, id="the smallest seed"),
        pytest.param({"seed": MAX_UINT64}, id="the largest seed"),
        pytest.param({"repetition_penalty": 0.0001}, id="repetition_penalty that rewards"),
        pytest.param({"repetition_penalty": 5}, id="repetition_penalty above the advised two"),
        pytest.param({"max_new_tokens": 1}, id="one new token"),
        pytest.param({"max_new_tokens": 2147483647}, id="as many new tokens as a 32-bit integer holds"),
        pytest.param({"truncate": 1}, id="truncate to one"),
        pytest.param({"truncate": 2147483647}, id="truncate to more than there is"),
        pytest.param({"stop": []}, id="an empty list of stops"),
        pytest.param({"stop": "x" * 1024}, id="one stop of 1024 characters"),
        pytest.param({"stop": ["x" * 32] * 1024}, id="1024 stops of 32768 characters together"),
        pytest.param({"stop": "𝄞" * 512}, id="a stop of 1024 code units outside the basic plane"),
        pytest.param({"adapter_id": "a/b-c_d.e"}, id="every sign an adapter's name may have"),
        pytest.param({"adapter_id": "a" * 256}, id="an adapter's name of 256 characters"),
        pytest.param({"adapter_id": "None"}, id="no adapter, by its default name"),
        pytest.param({"do_sample": True, "watermark": True, "details": True}, id="switches that are on"),
        pytest.param({"frequency_penalty": [], "best_of": "x", "grammar": 1}, id="fields nobody knows"),
        pytest.param(
            dict.fromkeys(
                [
                    *("stop", "temperature", "top_k", "top_p", "typical_p", "do_sample", "seed", "adapter_id"),
                    *("repetition_penalty", "watermark", "max_new_tokens", "details", "decoder_input_details"),
                    *("return_full_text", "truncate"),
                ]
            ),
            id="every field null",
        ),
    ],
)
def test_accepted(parameters: JSON) -> None:
    accept("/", ask(parameters))


RANGES = [
    pytest.param("temperature", 0, "Parameter temperature must be in (0.0,3.40282e+38], got 0.", id="temperature 0"),
    pytest.param(
        "temperature",
        1e-6,
        "Parameter temperature must be in (0.0,3.40282e+38], got 1e-06.",
        id="temperature of a millionth",
    ),
    pytest.param(
        "temperature", -1, "Parameter temperature must be in (0.0,3.40282e+38], got -1.", id="temperature below zero"
    ),
    pytest.param("top_k", 0, "Parameter top_k must be in -1 || (0,2147483647], got 0", id="top_k 0"),
    pytest.param(
        "top_k", -1, "Parameter top_k must be in -1 || (0,2147483647], got -1", id="top_k -1 in spite of the words"
    ),
    pytest.param(
        "top_k", 2147483648, "Parameter top_k must be in -1 || (0,2147483647], got 2147483648", id="top_k of 33 bits"
    ),
    pytest.param("top_p", 1.0, "Parameter top_p must be in (0.0,1.0], got 1.0.", id="top_p 1.0 in spite of the words"),
    pytest.param("top_p", 1, "Parameter top_p must be in (0.0,1.0], got 1.", id="top_p 1"),
    pytest.param("top_p", 0, "Parameter top_p must be in (0.0,1.0], got 0.", id="top_p 0"),
    pytest.param("top_p", 1e-6, "Parameter top_p must be in (0.0,1.0], got 1e-06.", id="top_p of a millionth"),
    pytest.param("typical_p", 0, "Parameter typical_p must be in (0.0,1.0], got 0.", id="typical_p 0"),
    pytest.param("typical_p", 1.1, "Parameter typical_p must be in (0.0,1.0], got 1.1.", id="typical_p above one"),
    pytest.param("seed", 0, f"seed must be in (0, {MAX_UINT64}], got 0.", id="seed 0"),
    pytest.param(
        "repetition_penalty",
        0,
        "Parameter 'repetition_penalty' must be in (0.0, 3.40282e+38], got 0.",
        id="repetition_penalty 0",
    ),
    pytest.param(
        "repetition_penalty",
        -0.5,
        "Parameter 'repetition_penalty' must be in (0.0, 3.40282e+38], got -0.5.",
        id="repetition_penalty below zero",
    ),
    pytest.param("max_new_tokens", 0, "Parameter max_new_tokens must be in (0,2147483647], got 0.", id="no new tokens"),
    pytest.param(
        "max_new_tokens", -1, "Parameter max_new_tokens must be in (0,2147483647], got -1.", id="fewer than none"
    ),
    pytest.param(
        "max_new_tokens",
        2147483648,
        "Parameter max_new_tokens must be in (0,2147483647], got 2147483648.",
        id="new tokens of 33 bits",
    ),
    pytest.param("truncate", 0, "truncate must be in (0,2147483647], got 0.", id="truncate 0"),
    pytest.param(
        "truncate", 2147483648, "truncate must be in (0,2147483647], got 2147483648.", id="truncate of 33 bits"
    ),
    pytest.param("adapter_id", "", "The format of adapter_id is invalid.", id="an adapter without a name"),
    pytest.param("adapter_id", "a b", "The format of adapter_id is invalid.", id="an adapter's name with a space"),
    pytest.param(
        "adapter_id", "a" * 257, "The format of adapter_id is invalid.", id="an adapter's name of 257 characters"
    ),
    pytest.param("adapter_id", "名", "The format of adapter_id is invalid.", id="an adapter's name in Chinese"),
    pytest.param("adapter_id", "a\n", "The format of adapter_id is invalid.", id="an adapter's name with a line end"),
    pytest.param(
        "stop", "", "Input validation error: length of `stop` must be in [1, 1024], but got 0", id="an empty stop"
    ),
    pytest.param(
        "stop",
        "x" * 1025,
        "Input validation error: length of `stop` must be in [1, 1024], but got 1025",
        id="a stop of 1025 characters",
    ),
    pytest.param(
        "stop",
        "𝄞" * 513,
        "Input validation error: length of `stop` must be in [1, 1024], but got 1026",
        id="a stop of 513 characters in two code units each",
    ),
    pytest.param("stop", [""], STOP_LIST, id="a list with an empty stop"),
    pytest.param("stop", ["x" * 1025], STOP_LIST, id="a list with a stop of 1025 characters"),
    pytest.param("stop", ["x"] * 1025, STOP_LIST, id="1025 stops"),
    pytest.param("stop", ["x" * 1000] * 33, STOP_LIST, id="33000 characters of stops"),
    pytest.param("stop", [1], STOP_LIST, id="a list with a number"),
    pytest.param(
        "stop", {}, "Input validation error: param stop must be string or list[string]", id="stops in an object"
    ),
    pytest.param("stop", 5, "Input validation error: param stop must be string or list[string]", id="a number as stop"),
]


@pytest.mark.covers("mindie/parameters", "stop", case="a list with a number")
@pytest.mark.covers("mindie/parameters", "temperature", case="temperature of a millionth")
@pytest.mark.covers("mindie/parameters", "top_k", case="top_k -1 in spite of the words")
@pytest.mark.covers("mindie/parameters", "top_p", case="top_p 1.0 in spite of the words")
@pytest.mark.covers("mindie/parameters", "typical_p", case="typical_p above one")
@pytest.mark.covers("mindie/parameters", "seed", case="seed 0")
@pytest.mark.covers("mindie/parameters", "repetition_penalty", case="repetition_penalty 0")
@pytest.mark.covers("mindie/parameters", "adapter_id", case="an adapter's name of 257 characters")
@pytest.mark.covers("mindie/parameters", "max_new_tokens", case="new tokens of 33 bits")
@pytest.mark.covers("mindie/parameters", "truncate", case="truncate of 33 bits")
@pytest.mark.covers("mindie/decisions", "7 an adapter without a name", case="an adapter without a name")
@pytest.mark.covers("mindie/decisions", "10 a list of stops", case="a list with a number")
@pytest.mark.covers("mindie/decisions", "15 truncate", case="truncate of 33 bits")
@pytest.mark.covers("mindie/vectors", "stop, bounds", case="1025 stops")
@pytest.mark.parametrize(("field", "value", "text"), RANGES)
def test_out_of_range(field: str, value: JSON, text: str) -> None:
    answer = refuse("/", ask({field: value}))
    assert answer.status == 422
    assert json.loads(answer.body) == {"error": text, "error_type": "Input Validation Error"}


TYPES = {
    "float": ("temperature", "top_p", "typical_p", "repetition_penalty"),
    "integer": ("top_k", "max_new_tokens", "truncate"),
    "unsigned": ("seed",),
    "boolean": ("do_sample", "watermark", "details", "decoder_input_details", "return_full_text"),
    "string": ("adapter_id",),
}


WRONG: dict[str, list[JSON]] = {
    "float": ["0.5", True, [], {}],
    "integer": [20.0, 1e3, True, "5", [], MAX_UINT64 + 1],
    "unsigned": [-1, 1.5, 7.0, True, "7", MAX_UINT64 + 1],
    "boolean": [0, 1, "true", [], {}],
    "string": [5, True, [], {}],
}


@pytest.mark.covers("mindie/order and types", "type errors")
@pytest.mark.covers("mindie/vectors", "max_new_tokens")
@pytest.mark.parametrize(
    ("field", "kind", "value"),
    [
        pytest.param(field, kind, value, id=f"{field} as {json.dumps(value)}")
        for kind, fields in TYPES.items()
        for field in fields
        for value in WRONG[kind]
    ],
)
def test_wrong_type(field: str, kind: str, value: JSON) -> None:
    answer = refuse("/", ask({field: value}))
    assert answer.status == 422
    assert json.loads(answer.body)["error"] == f"{field} must be {kind} type."


@pytest.mark.parametrize("value", [5, "x", [], True], ids=["a number", "a string", "a list", "a boolean"])
def test_parameters_must_be_object(value: JSON) -> None:
    answer = refuse("/", ask(value))
    assert json.loads(answer.body)["error"] == "parameters must be object type."


ORDER = [
    ("stop", "", "`stop`"),
    ("temperature", -1, "temperature"),
    ("top_k", 0, "top_k"),
    ("top_p", 1.0, "top_p"),
    ("typical_p", 0, "typical_p"),
    ("do_sample", 1, "do_sample"),
    ("seed", 0, "seed"),
    ("repetition_penalty", 0, "repetition_penalty"),
    ("watermark", 1, "watermark"),
    ("adapter_id", "", "adapter_id"),
    ("max_new_tokens", 0, "max_new_tokens"),
    ("details", 1, "details"),
    ("decoder_input_details", 1, "decoder_input_details"),
    ("return_full_text", 1, "return_full_text"),
    ("truncate", 0, "truncate"),
]


@pytest.mark.covers("mindie/order and types", "order of checking")
@pytest.mark.covers("mindie/vectors", "two bad fields")
@pytest.mark.parametrize("position", range(len(ORDER)), ids=[f"{row[0]} hides what follows" for row in ORDER])
def test_first_failed_check_is_reported(position: int) -> None:
    answer = refuse("/", ask({field: value for field, value, _ in ORDER[position:]}))
    assert ORDER[position][2] in json.loads(answer.body)["error"]


@pytest.mark.covers("mindie/parameters", "stream and decoder_input_details")
def test_input_details_with_stream_are_refused() -> None:
    answer = refuse("/", ask({"decoder_input_details": True}, stream=True))
    assert json.loads(answer.body)["error"] == "The decoder_input_details must not be true when stream is true."
    assert dict(answer.headers)["Content-Type"] == "application/json"


@pytest.mark.covers("mindie/parameters", "prefill and decode apart")
@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        pytest.param({"stop": ["x"]}, "stop is not supported in dmi mode", id="stop"),
        pytest.param({"adapter_id": "a"}, "adapter_id is not supported in dmi mode", id="adapter_id"),
    ],
)
def test_pd_disaggregation_refuses_stop_and_adapter(parameters: JSON, text: str) -> None:
    assert json.loads(refuse("/", ask(parameters), PD).body)["error"] == text
    accept("/", ask({"stop": [], "adapter_id": "None"}), PD)


@pytest.mark.covers("mindie/parameters", "do_sample")
@pytest.mark.covers("mindie/interplay", "greedy or not")
@pytest.mark.parametrize(
    ("parameters", "greedy"),
    [
        pytest.param({}, True, id="nothing set is greedy"),
        pytest.param({"do_sample": True}, False, id="asked to sample"),
        pytest.param({"do_sample": False, "temperature": 0.7}, True, id="not wanted, with any temperature"),
        pytest.param({"temperature": 0.7}, False, id="a temperature means sampling"),
        pytest.param({"top_k": 5}, False, id="so does top_k"),
        pytest.param({"top_p": 0.5}, False, id="and top_p"),
        pytest.param({"top_k": 1}, True, id="but one candidate is no choice"),
        pytest.param({"typical_p": 0.5, "watermark": True}, True, id="what has no effect decides nothing"),
    ],
)
def test_sampling(parameters: JSON, greedy: bool) -> None:
    call = accept("/", ask(parameters))
    assert isinstance(call.request, CompletionRequest)
    assert call.request.sampling.greedy is greedy


@pytest.mark.covers("mindie/parameters", "watermark", case="nor has watermark")
@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param({"temperature": 0.7}, {"temperature": 0.8}, False, id="temperature"),
        pytest.param({"top_k": 5}, {"top_k": 6}, False, id="top_k"),
        pytest.param({"top_p": 0.5}, {"top_p": 0.6}, False, id="top_p"),
        pytest.param({"do_sample": True, "seed": 1}, {"do_sample": True, "seed": 2}, False, id="seed"),
        pytest.param(
            {"do_sample": True}, {"do_sample": True, "repetition_penalty": 1.1}, False, id="repetition_penalty"
        ),
        pytest.param({"top_k": 151936}, {"top_k": 2147483647}, True, id="top_k beyond the vocabulary is no limit"),
        pytest.param(
            {"do_sample": True}, {"do_sample": True, "repetition_penalty": 1.0}, True, id="the neutral penalty"
        ),
        pytest.param({"do_sample": True}, {"do_sample": True, "typical_p": 0.3}, True, id="typical_p has no effect"),
        pytest.param({"do_sample": True}, {"do_sample": True, "watermark": True}, True, id="nor has watermark"),
    ],
)
def test_request_equality_depends_on_effective_parameters(left: JSON, right: JSON, same: bool) -> None:
    first, second = (accept("/", ask(parameters)).request for parameters in (left, right))
    assert (first == second) is same


@pytest.mark.covers("mindie/vectors", "seed")
def test_largest_seed_keeps_every_digit() -> None:
    assert generate_codec(ask({"seed": MAX_UINT64})).seed == MAX_UINT64


@pytest.mark.parametrize("field", ["temperature", "top_p", "typical_p", "repetition_penalty"])
@pytest.mark.parametrize("number", [b"1e400", b"-1e400"])
def test_number_beyond_double_range_is_invalid_json(field: str, number: bytes) -> None:
    body = b'{"inputs":"a","parameters":{"%b":%b}}' % (field.encode(), number)
    answer = refuse("/", body)
    assert json.loads(answer.body)["error"] == "Failed to parse context to json body"
