"""Requests of the server's own tests in every release, and their results."""

import base64
import json
from collections.abc import Mapping

import pytest

from emulator.core.calls import InferenceCall
from emulator.vendors.openvino.media.images import draw_png
from emulator.vendors.openvino.release import RELEASES
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, CHAT, COMPLETIONS, PROMPT, failure, make_server, not_json

_ALL = tuple(name for name in RELEASES if name[0] == "2" and name != "2024.2")  # 2024.2 has tests of its own
_SEED = ("2025.0",)
_LATEST = ("2026.3",)
_FREE = tuple(name for name in _ALL if name != "2025.0")
_OK = None
_URL = 'Url should contain base64 encoded string followed by "base64," prefix'
_CONTENT = "Invalid message structure - content "
_ROLE = "Every message must have 'role' field"
_OPTIONS = "Found unexpected stream options. Properties accepted in stream_options: include_usage"
_DRAFT: JSON = {"model": "draft"}
_NEITHER = "Speculative decoding requires either num_assistant_tokens or assistant_confidence_threshold to be set."
_EMPTY = "Final prompt after applying chat template is empty"
_LONG = "when ignore_eos is true max_tokens can not be greater than 4000"
_PNG = "data:image/png;base64," + base64.b64encode(draw_png(1, 1, b"")).decode()


def messages(*given: JSON) -> JSON:
    return {"messages": list(given)}


def parts(*given: JSON) -> JSON:
    return messages({"role": "user", "content": list(given)})


def picture(url: str) -> JSON:
    return {"type": "image_url", "image_url": {"url": url}}


def bounds(name: str, *reasons: tuple[JSON, str | None]) -> list[tuple[Mapping[str, JSON], str | None]]:
    return [({name: value}, reason) for value, reason in reasons]


CHATS: dict[str, tuple[tuple[str, ...], list[tuple[Mapping[str, JSON], str | None]]]] = {
    "10 max_tokens beyond 32 bits": (
        _ALL,
        bounds("max_tokens", (4294967296, "max_tokens value can't be greater than 4294967295")),
    ),
    "11 ignore_eos has a cap": (_SEED, [({"ignore_eos": True, "max_tokens": 4001}, _LONG)]),
    "13 max_completion_tokens a text": (
        _ALL,
        bounds("max_completion_tokens", ("INVALID", "max_completion_tokens is not an unsigned integer")),
    ),
    "14 max_completion_tokens beyond 32 bits": (
        _ALL,
        bounds("max_completion_tokens", (4294967296, "max_completion_tokens value can't be greater than 4294967295")),
    ),
    "16 messages a text": (_ALL, [({"messages": "text"}, "Messages are not an array")]),
    "17 no messages": (_ALL, [({"messages": ...}, "Messages missing in request")]),
    "19 a message is a text": (_ALL, [(messages("text"), "Message is not a JSON object")]),
    "20 content a number": (
        _SEED,
        [(messages({"role": "user", "content": 1}), _CONTENT + "should be string or array")],
    ),
    "22 role a boolean": (_LATEST, [(messages({"role": False, "content": "a"}), _ROLE)]),
    "23 messages without content": (
        _SEED,
        [
            ({"model": "stock", **messages({})}, _EMPTY),
            ({"model": "stock", **messages({"role": "user"})}, _EMPTY),
        ],
    ),
    "25 only content": (_SEED, [(messages({"content": "def"}), _OK)]),
    "26 only content, later": (_LATEST, [(messages({"content": "def"}), _ROLE)]),
    "29 ignore_eos": (
        _ALL,
        bounds("ignore_eos", (False, _OK), ("INVALID", "ignore_eos accepts values true or false")),
    ),
    "31 diversity_penalty": (
        _SEED,
        bounds("diversity_penalty", (2.0, _OK), ("INVALID", "diversity_penalty is not a valid number")),
    ),
    "32 length_penalty": (
        _ALL,
        bounds("length_penalty", (2.0, _OK), (2, _OK), ("INVALID", "length_penalty is not a valid number")),
    ),
    "34 temperature": (
        _ALL,
        bounds(
            "temperature",
            ("INVALID", "temperature is not a valid number"),
            (3.0, "temperature out of range(0.0, 2.0)"),
        ),
    ),
    "35 frequency_penalty": (
        _ALL,
        bounds(
            "frequency_penalty",
            (1.5, _OK),
            (1, _OK),
            ("INVALID", "frequency_penalty is not a valid number"),
            (3.0, "frequency_penalty out of range(-2.0, 2.0)"),
        ),
    ),
    "37 top_p": (
        _ALL,
        bounds(
            "top_p",
            (0.5, _OK),
            (1, _OK),
            ("INVALID", "top_p is not a valid number"),
            (3.0, "top_p out of range(0.0, 1.0)"),
        ),
    ),
    "38 top_k": (_ALL, bounds("top_k", (2, _OK), ("INVALID", "top_k is not an integer"))),
    "40 min_p": (
        _LATEST,
        bounds(
            "min_p",
            (0.05, _OK),
            ("INVALID", "min_p is not a valid number"),
            (1.0, "min_p out of range [0.0, 1.0)"),
            (-0.1, "min_p out of range [0.0, 1.0)"),
        ),
    ),
    "41 seed": (_ALL, bounds("seed", (1, _OK))),
    "43 bounds of seed": (
        _LATEST,
        bounds(
            "seed",
            (0, _OK),
            (4294967295, _OK),
            (-1, "seed out of range [0, 4294967295]"),
            (4294967296, "seed out of range [0, 4294967295]"),
            ("INVALID", "seed is not an integer"),
        ),
    ),
    "44 best_of": (
        _ALL,
        bounds(
            "best_of",
            (1, _OK),
            ("INVALID", "best_of is not an unsigned integer"),
            (-1, "best_of is not an unsigned integer"),
            (40, "best_of exceeds limit provided in graph config: 20"),
        ),
    ),
    "46 n above best_of": (
        _ALL,
        [
            ({"best_of": 1, "n": 2}, "n value cannot be greater than best_of"),
            ({"best_of": 2, "n": 3}, "n value cannot be greater than best_of"),
        ],
    ),
    "49 best_of in a stream": (_ALL, [({"best_of": 2, "stream": True}, "best_of cannot be used in streaming mode")]),
    "50 stop an object": (
        _ALL,
        [
            ({"stop": {}}, "stop is not a string or array of strings"),
            ({"stop": {}, "stream": True}, "stop is not a string or array of strings"),
        ],
    ),
    "52 five stop strings": (_SEED, bounds("stop", ([*"abcde"], "stop array must have no more than 4 strings"))),
    "53 seventeen stop strings": (
        _FREE,
        bounds(
            "stop",
            ([*"abcdefghijklmnop"], _OK),
            ([*"abcdefghijklmnopq"], "stop array must have no more than 16 strings"),
        ),
    ),
    "56 include_stop_str_in_output a text": (
        _ALL,
        bounds("include_stop_str_in_output", ("yes", "include_stop_str_in_output accepts values true or false")),
    ),
    "59 stream_options without a stream": (
        _ALL,
        [
            (
                {"stream": False, "stream_options": {"include_usage": True}},
                "stream_options provided, but stream not set to true",
            )
        ],
    ),
    "61 other stream_options": (
        _ALL,
        [
            ({"stream": True, "stream_options": {"option": "A"}}, _OPTIONS),
            ({"stream": True, "stream_options": {"option": "A", "include_usage": True}}, _OPTIONS),
        ],
    ),
    "62 include_usage a number": (
        _ALL,
        [
            (
                {"stream": True, "stream_options": {"include_usage": 123}},
                "stream_options.include_usage is not a boolean",
            )
        ],
    ),
    "65 logprobs in a stream": (
        _ALL,
        [({"stream": True, "logprobs": True}, "logprobs are not supported in streaming mode.")],
    ),
    "73 a speculative graph has to be told": (_SEED, [(_DRAFT, _NEITHER)]),
    "74 a speculative graph is told": (
        _ALL,
        [
            ({**_DRAFT, "num_assistant_tokens": 3}, _OK),
            ({**_DRAFT, "assistant_confidence_threshold": 0.4}, _OK),
        ],
    ),
    "76 a text part": (_ALL, [(parts({"type": "text", "text": "a"}), _OK)]),
    "77 a picture for a text graph": (_SEED, [(parts({"type": "text", "text": "a"}, picture(_PNG)), _OK)]),
    "79 a part of another type": (_ALL, [(parts({"type": "INVALID"}), "Unsupported content type")]),
    "80 a picture without its prefix": (_SEED, [(parts(picture("abc")), _URL), (parts(picture("")), _URL)]),
    "82 no part": (_SEED, [(parts(), _CONTENT + "array is empty")]),
    "82 no part, later": (_LATEST, [(parts(), _OK)]),
    "83 parts that are numbers": (_LATEST, [(parts(1, 2, 3), _CONTENT + "array should contain objects")]),
    "88 tool_choice": (
        _LATEST,
        bounds(
            "tool_choice",
            (1, "tool_choice is not a valid JSON object or string"),
            ("get_weather", "tool_choice should be either 'none' or 'auto' or 'required'"),
            ({"type": "function", "function": {"name": 1}}, "tool_choice.function.name is not a valid string"),
            ({"type": "function"}, "tool_choice.name is not a valid string"),
        ),
    ),
}


@pytest.mark.covers("openvino/fields of 2025.0", "max_completion_tokens", "cap of ignore_eos")
@pytest.mark.covers("openvino/fields of 2026.3", "stop", "seed", "min_p")
@pytest.mark.covers("openvino/decisions", "13 max_completion_tokens", "15 stop")
@pytest.mark.covers("openvino/traps", "10 n", "12 stop")
@pytest.mark.covers(
    "openvino/cases",
    "10",
    "11",
    "13",
    "14",
    "16",
    "17",
    "19",
    "20",
    "22",
    "23",
    "25",
    "26",
    "29",
    "31",
    "32",
    "34",
    "35",
    "37",
    "38",
    "40",
    "41",
    "43",
    "44",
    "46",
    "49",
    "50",
    "52",
    "53",
    "56",
    "59",
    "61",
    "62",
    "65",
    "73",
    "74",
    "76",
    "77",
    "79",
    "80",
    "82",
    "83",
    "88",
)
@pytest.mark.parametrize(
    ("release", "fields", "reason"),
    [
        pytest.param(release, fields, reason, id=f"{name}-{number}-{release}")
        for name, (releases, rows) in CHATS.items()
        for number, (fields, reason) in enumerate(rows)
        for release in releases
    ],
)
def test_chat(release: str, fields: Mapping[str, JSON], reason: str | None) -> None:
    body = {name: value for name, value in {**BASE, **fields}.items() if value is not ...}
    answer = make_server(release).send(CHAT, body)
    if reason is None:
        assert isinstance(answer, InferenceCall), answer.body
        return
    assert not isinstance(answer, InferenceCall)
    silent = bool(body.get("stream")) and release in ("2025.0", "2025.1")
    assert (answer.status, json.loads(answer.body)) == (200 if silent else 400, {"error": failure(reason)})


@pytest.mark.covers("openvino/cases", "1", "2", "4", "5")
@pytest.mark.parametrize("release", _ALL)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"not a json", "Cannot parse JSON body", id="1 no JSON"),
        pytest.param(b"[1, 2, 3]", "JSON body must be an object", id="2 an array"),
        pytest.param({**BASE, "model": 2}, "model field is not a string", id="4 model a number"),
        pytest.param({**BASE, "stream": 2}, "stream field is not a boolean", id="5 stream a number"),
        pytest.param({**BASE, "stream": "INVALID"}, "stream field is not a boolean", id="5 stream a text"),
    ],
)
def test_request_is_rejected_before_graph(release: str, body: JSON, reason: str) -> None:
    refusal = make_server(release).refusal(body)
    assert refusal is not None
    assert (refusal.status, refusal.error) == (412, not_json(reason))


@pytest.mark.covers("openvino/cases", "67", "68", "70", "71")
@pytest.mark.parametrize("release", _ALL)
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"logprobs": 1}, _OK, id="67 logprobs 1"),
        pytest.param({"logprobs": 2}, "accepted logprobs value is currently 1 only", id="68 logprobs 2"),
        pytest.param({"echo": True, "max_tokens": 5, "best_of": 16}, _OK, id="70 echo"),
        pytest.param({"echo": True, "max_tokens": 0, "logprobs": 1}, _OK, id="71 echo alone"),
    ],
)
def test_completions(release: str, fields: Mapping[str, JSON], reason: str | None) -> None:
    refusal = make_server(release).refusal({**PROMPT, **fields}, COMPLETIONS)
    assert (refusal and refusal.error) == (reason and failure(reason))
