"""Answers of the TGI-style routes: keys and their order, text mode and both ways to stream."""

import json

import pytest

from tests.conftest import Start
from tests.parsed import JSON
from tests.vendors.mindie.direct import PROMPT
from tests.wire import Running

REPLY = "rules: [{name: fixed, reply: {text: ' one two three'}}]\n"
SAMPLE = "My name is Olivier and I"
SOFTWARE = "'m a software engineer from France. I love to build things, especially web applications and mobile apps."
FRENCH = "'m a French guy who is looking for a place to live in. I'm a"
LLAMA = "deployments: [{vendor: mindie, name: own, tokenizer: llama2}]\n"
TOKEN = ["id", "logprob", "special", "text"]


async def post(running: Running, body: JSON, path: str = "/") -> JSON:
    return (await running.ask("mindie", path, body)).json()


async def events(running: Running, body: JSON, path: str = "/") -> list[JSON]:
    return (await running.ask("mindie", path, body)).events()


async def test_plain_text(start: Start) -> None:
    running = await start(REPLY)
    assert await post(running, {"inputs": PROMPT}) == [{"generated_text": " one two three"}]


@pytest.mark.parametrize(
    ("parameters", "prefill"),
    [
        pytest.param({"details": True}, 0, id="details alone leave the prefill empty"),
        pytest.param({"decoder_input_details": True}, 5, id="input details alone bring all details"),
        pytest.param({"details": True, "decoder_input_details": True}, 5, id="both"),
    ],
)
async def test_details(start: Start, parameters: JSON, prefill: int) -> None:
    running = await start(REPLY)
    (answer,) = await post(running, {"inputs": PROMPT, "parameters": parameters})
    details = answer["details"]
    assert list(answer) == ["details", "generated_text"]
    assert list(details) == ["prompt_tokens", "finish_reason", "generated_tokens", "prefill", "seed", "tokens"]
    assert details["prompt_tokens"] == 5
    assert len(details["prefill"]) == prefill
    assert len(details["tokens"]) == details["generated_tokens"] == 4
    for token in details["prefill"] + details["tokens"]:
        assert list(token) == TOKEN
        assert isinstance(token["id"], int)
        assert token["logprob"] is token["special"] is token["text"] is None
    assert details["tokens"][-1]["id"] == 151645
    assert 0 <= details["seed"] < 2**32


async def test_documented_text_sample(start: Start) -> None:
    running = await start()
    parameters = {
        **{"decoder_input_details": True, "details": True, "do_sample": True, "max_new_tokens": 20},
        **{"repetition_penalty": 1.03, "return_full_text": False, "seed": None, "temperature": 0.5, "top_k": 10},
        **{"top_p": 0.95, "truncate": None, "typical_p": 0.5, "watermark": False, "stop": ["stop1", "stop2"]},
        "adapter_id": "None",
    }
    (answer,) = await post(running, {"inputs": SAMPLE, "parameters": parameters, "stream": False})
    details = answer["details"]
    assert answer["generated_text"] == SOFTWARE
    assert [token["id"] for token in details["prefill"]] == [5050, 829, 374, 77018, 323, 358]
    assert [token["id"] for token in details["tokens"]] == [
        *[2776, 264, 3162, 23576, 504, 9625, 13, 358, 2948, 311],
        *[1936, 2513, 11, 5310, 3482, 8357, 323, 6371, 10500, 13],
    ]
    assert (details["prompt_tokens"], details["finish_reason"]) == (6, "length")
    assert (details["generated_tokens"], details["seed"]) == (20, 789070824)


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


async def test_sample_is_cut_like_any_answer(start: Start) -> None:
    running = await start()
    (answer,) = await post(running, {"inputs": SAMPLE, "parameters": {"stop": ["France"]}})
    assert answer["generated_text"] == "'m a software engineer from "
    (other,) = await post(running, {"inputs": SAMPLE, "parameters": {"seed": 7, "do_sample": True}})
    assert other["generated_text"] != SOFTWARE


async def test_stream_bytes(start: Start) -> None:
    running = await start(REPLY)
    answer = await running.ask("mindie", "/", {"inputs": PROMPT, "stream": True, "parameters": {"max_new_tokens": 2}})
    first, last = answer.body.decode().split("\n\n")[:2]
    assert answer.header("Content-Type") == "text/event-stream"
    assert answer.header("Cache-Control") is None
    assert first.endswith('],"text":" one","logprob":null,"special":null},"generated_text":null,"details":null}')
    assert last.endswith('],"text":" two","logprob":null,"special":null},"generated_text":" one two","details":null}')
    assert b"[DONE]" not in answer.body


async def test_details_of_a_stream_need_details(start: Start) -> None:
    running = await start(REPLY)
    rows = await events(running, {"inputs": PROMPT, "stream": True})
    assert all(row["details"] is None for row in rows)
    assert [row["generated_text"] for row in rows[:-1]] == [None] * (len(rows) - 1)
    rows = await events(running, {"inputs": PROMPT, "stream": True, "parameters": {"details": True}})
    assert list(rows[-1]["details"]) == ["prompt_tokens", "finish_reason", "generated_tokens", "seed"]
    assert list(rows[-1]) == ["token", "generated_text", "details"]
    assert list(rows[-1]["token"]) == ["id", "text", "logprob", "special"]
    assert (rows[-1]["token"]["id"], rows[-1]["token"]["text"]) == ([151645], "")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_full_text_in_front(start: Start, stream: bool) -> None:
    running = await start(REPLY)
    body = {"inputs": PROMPT, "stream": stream, "parameters": {"return_full_text": True}}
    if stream:
        rows = await events(running, body)
        assert rows[-1]["generated_text"] == f"{PROMPT}  one two three"
        assert rows[0]["token"]["text"] == " one"
    else:
        assert await post(running, body) == [{"generated_text": f"{PROMPT}  one two three"}]


async def test_list_comes_back_as_json(start: Start) -> None:
    running = await start(REPLY)
    inputs = [{"type": "text", "text": "你好"}, {"type": "image_url", "image_url": "a.png"}]
    (answer,) = await post(running, {"inputs": inputs, "parameters": {"return_full_text": True}})
    dumped = json.dumps(inputs, ensure_ascii=False, separators=(",", ":"))
    assert answer["generated_text"] == f"{dumped}  one two three"


async def test_prefill_of_media(start: Start) -> None:
    running = await start(REPLY)
    inputs = [{"type": "text", "text": PROMPT}, {"type": "image_url", "image_url": "a.png"}]
    (answer,) = await post(running, {"inputs": inputs, "parameters": {"decoder_input_details": True}})
    assert len(answer["details"]["prefill"]) == answer["details"]["prompt_tokens"] > 5


async def test_control_characters_leave_the_text_only(start: Start) -> None:
    running = await start('rules: [{name: fixed, reply: {text: "a\\u0001b\\u007f\\n\\t世"}}]\n')
    rows = await events(running, {"inputs": PROMPT, "stream": True})
    assert rows[-1]["generated_text"] == "ab\n\t世"
    assert "".join(row["token"]["text"] for row in rows) == "a\x01b\x7f\n\t世"


async def test_stop_held_back_while_streaming(start: Start) -> None:
    running = await start("rules: [{name: fixed, reply: {chunks: [' one', ' tw', 'o th', 'ree', ' four']}}]\n")
    body = {"inputs": PROMPT, "stream": True, "parameters": {"stop": " two three", "details": True}}
    rows = await events(running, body)
    assert "".join(row["token"]["text"] for row in rows) == rows[-1]["generated_text"] == " one"
    assert rows[-1]["details"]["finish_reason"] == "stop_sequence"
    assert rows[-1]["details"]["generated_tokens"] == sum(len(row["token"]["id"]) for row in rows)


async def test_filled_fields(start: Start) -> None:
    running = await start("vendors: {mindie: {profile: tgi}}\n" + REPLY)
    (answer,) = await post(running, {"inputs": PROMPT, "parameters": {"decoder_input_details": True}})
    tokens = answer["details"]["tokens"]
    assert [token["text"] for token in tokens] == [" one", " two", " three", ""]
    assert [token["special"] for token in tokens] == [False, False, False, True]
    assert all(token["logprob"] <= 0 for token in tokens)
    assert "".join(token["text"] for token in answer["details"]["prefill"]) == PROMPT
    assert answer["details"]["prefill"][0]["logprob"] is None
    rows = await events(running, {"inputs": PROMPT, "stream": True})
    assert all(isinstance(row["token"]["id"], int) and row["token"]["logprob"] <= 0 for row in rows)


async def test_switches_win_over_the_profile(start: Start) -> None:
    running = await start("vendors: {mindie: {profile: tgi, token_fields: null, stream_token_id: list}}\n" + REPLY)
    rows = await events(running, {"inputs": PROMPT, "stream": True})
    assert all(isinstance(row["token"]["id"], list) and row["token"]["logprob"] is None for row in rows)


@pytest.mark.parametrize("path", ["/generate", "/generate_stream"])
async def test_routes_beside_the_root(start: Start, path: str) -> None:
    running = await start(REPLY)
    whole = {"inputs": PROMPT, "parameters": {"details": True, "seed": 5}}
    if path == "/generate":
        assert await post(running, {**whole, "stream": True}, path) == (await post(running, whole))[0]
    else:
        streamed = await events(running, {**whole, "stream": False}, path)
        assert streamed == await events(running, {**whole, "stream": True})


async def test_seed_is_echoed_exactly_and_drawn_anew_each_time(start: Start) -> None:
    running = await start()
    body = {"inputs": PROMPT, "parameters": {"details": True, "seed": 18446744073709551615}}
    assert (await post(running, body))[0]["details"]["seed"] == 18446744073709551615
    unset = {"inputs": PROMPT, "parameters": {"details": True}}
    seeds = [(await post(running, unset))[0]["details"]["seed"] for _ in range(3)]
    assert len(set(seeds)) == 3


async def test_adapter(start: Start) -> None:
    running = await start("deployments: [{vendor: mindie, name: poet, kind: lora, tokenizer: qwen2}]\n")

    async def say(**parameters: JSON) -> str:
        return str((await post(running, {"inputs": PROMPT, "parameters": parameters}))[0]["generated_text"])

    base = await say()
    assert await say(adapter_id="None") == await say(adapter_id="nobody") == base
    assert await say(adapter_id="poet") != base


async def test_head_of_an_answer(start: Start) -> None:
    running = await start()
    answer = await running.ask("mindie", "/", {"inputs": PROMPT})
    names = [name for name, _ in answer.headers]
    assert names[:3] == ["Content-Type", "Connection", "RequestUUID"]
    assert answer.header("Connection") == "close"
    assert len(answer.header("RequestUUID") or "") == 32
    assert "Date" not in names


async def test_root_under_the_front_prefix(start: Start) -> None:
    running = await start(REPLY)
    body = json.dumps({"inputs": PROMPT}).encode()
    for target in ("/mindie", "/mindie/"):
        answer = await running.send("front", f"POST {target} HTTP/1.1\r\n".encode(), body)
        assert answer.json() == [{"generated_text": " one two three"}]


async def test_counts_a_scenario_fixes(start: Start) -> None:
    rule = "rules: [{name: fixed, reply: {text: x, usage: {prompt_tokens: 70, completion_tokens: 90}}}]\n"
    running = await start(rule)
    body = {"inputs": PROMPT, "parameters": {"details": True}}
    for details in (
        (await post(running, body))[0]["details"],
        (await events(running, {**body, "stream": True}))[-1]["details"],
    ):
        assert (details["prompt_tokens"], details["generated_tokens"]) == (70, 90)
    chat = {"model": "llama_65b", "messages": [{"role": "user", "content": "x"}]}
    assert (await post(running, chat, "/v1/chat/completions"))["usage"]["total_tokens"] == 160
    answer = await running.ask("tgi", "/generate_stream", {"inputs": PROMPT, "parameters": {"details": True}})
    told = answer.events()[-1]["details"]
    assert (told["input_length"], told["generated_tokens"]) == (70, 90)
