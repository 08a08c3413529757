"""Streaming responses of the TGI-style routes."""

import pytest

from tests.conftest import Start
from tests.vendors.mindie.direct import (
    PROMPT,
    REPLY,
    events,
    post,
)

SAMPLE = "My name is Olivier and I"


FRENCH = "'m a French guy who is looking for a place to live in. I'm a"


LLAMA = "deployments: [{vendor: mindie, name: own, tokenizer: llama2}]\n"


@pytest.mark.covers("mindie/answers", "stream")
@pytest.mark.covers("mindie/decisions", "13 two tokenizers")
async def test_documented_stream_sample(start: Start) -> None:
    running = await start(LLAMA)
    rows = await events(running, {"inputs": SAMPLE, "stream": True, "parameters": {"details": True}})
    assert [row["token"]["id"] for row in rows] == [
        [token]
        for token in [
            *[29915, 29885, 263, 5176, 1410, 29891, 1058, 338, 3063, 363],
            *[263, 2058, 304, 5735, 297, 29889, 306, 29915, 29885, 263],
        ]
    ]
    assert "".join(row["token"]["text"] for row in rows) == rows[-1]["generated_text"] == FRENCH
    assert rows[-1]["details"] == {
        "prompt_tokens": 8,
        "finish_reason": "length",
        "generated_tokens": 20,
        "seed": 218884523,
    }


@pytest.mark.covers("mindie/answers", "stream of full texts")
async def test_documented_full_text_sample(start: Start) -> None:
    running = await start(
        "vendors: {mindie: {full_text: true}}\nrules: [{name: fixed, reply: {text: ', i need you'}}]\n"
    )
    rows = await events(
        running, {"inputs": "Hello", "stream": True, "parameters": {"details": True, "seed": 1621189503}}
    )
    assert [(row["token"]["id"], row["token"]["text"]) for row in rows] == [
        ([11], ","),
        ([600], ", i"),
        ([1184], ", i need"),
        ([498], ", i need you"),
        ([151645], ", i need you"),
    ]
    assert rows[-1]["generated_text"] == ", i need you"
    assert rows[-1]["details"] == {
        "prompt_tokens": 1,
        "finish_reason": "eos_token",
        "generated_tokens": 5,
        "seed": 1621189503,
    }


@pytest.mark.covers("mindie/HTTP", "bytes of a stream")
async def test_stream_bytes(start: Start) -> None:
    running = await start(REPLY)
    answer = await running.ask("mindie", "/", {"inputs": PROMPT, "stream": True, "parameters": {"max_new_tokens": 2}})
    first, last = answer.body.decode().split("\n\n")[:2]
    assert answer.header("Content-Type") == "text/event-stream"
    assert answer.header("Cache-Control") is None
    assert first.endswith('],"text":" one","logprob":null,"special":null},"generated_text":null,"details":null}')
    assert last.endswith('],"text":" two","logprob":null,"special":null},"generated_text":" one two","details":null}')
    assert b"[DONE]" not in answer.body


@pytest.mark.covers("mindie/answers", "details of a stream")
async def test_stream_details_require_details_parameter(start: Start) -> None:
    running = await start(REPLY)
    rows = await events(running, {"inputs": PROMPT, "stream": True})
    assert all(row["details"] is None for row in rows)
    assert [row["generated_text"] for row in rows[:-1]] == [None] * (len(rows) - 1)
    rows = await events(running, {"inputs": PROMPT, "stream": True, "parameters": {"details": True}})
    assert list(rows[-1]["details"]) == ["prompt_tokens", "finish_reason", "generated_tokens", "seed"]
    assert list(rows[-1]) == ["token", "generated_text", "details"]
    assert list(rows[-1]["token"]) == ["id", "text", "logprob", "special"]
    assert (rows[-1]["token"]["id"], rows[-1]["token"]["text"]) == ([151645], "")


@pytest.mark.covers("mindie/interplay", "control characters")
async def test_control_characters_are_removed_from_generated_text_only(start: Start) -> None:
    running = await start('rules: [{name: fixed, reply: {text: "a\\u0001b\\u007f\\n\\t世"}}]\n')
    rows = await events(running, {"inputs": PROMPT, "stream": True})
    assert rows[-1]["generated_text"] == "ab\n\t世"
    assert "".join(row["token"]["text"] for row in rows) == "a\x01b\x7f\n\t世"


@pytest.mark.covers("mindie/interplay", "stop in a stream")
async def test_stop_string_is_held_back_while_streaming(start: Start) -> None:
    running = await start("rules: [{name: fixed, reply: {chunks: [' one', ' tw', 'o th', 'ree', ' four']}}]\n")
    body = {"inputs": PROMPT, "stream": True, "parameters": {"stop": " two three", "details": True}}
    rows = await events(running, body)
    assert "".join(row["token"]["text"] for row in rows) == rows[-1]["generated_text"] == " one"
    assert rows[-1]["details"]["finish_reason"] == "stop_sequence"
    assert rows[-1]["details"]["generated_tokens"] == sum(len(row["token"]["id"]) for row in rows)


async def test_settings_override_profile(start: Start) -> None:
    running = await start("vendors: {mindie: {profile: tgi, token_fields: null, stream_token_id: list}}\n" + REPLY)
    rows = await events(running, {"inputs": PROMPT, "stream": True})
    assert all(isinstance(row["token"]["id"], list) and row["token"]["logprob"] is None for row in rows)


@pytest.mark.covers("mindie/routes", "POST /generate_stream")
@pytest.mark.parametrize("path", ["/generate", "/generate_stream"])
async def test_other_generate_routes_match_root(start: Start, path: str) -> None:
    running = await start(REPLY)
    whole = {"inputs": PROMPT, "parameters": {"details": True, "seed": 5}}
    if path == "/generate":
        assert await post(running, {**whole, "stream": True}, path) == (await post(running, whole))[0]
    else:
        streamed = await events(running, {**whole, "stream": False}, path)
        assert streamed == await events(running, {**whole, "stream": True})
