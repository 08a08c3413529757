"""Non-streaming responses of the TGI-style routes: keys and their order."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    PROMPT,
    REPLY,
    events,
    post,
)

SAMPLE = "My name is Olivier and I"


SOFTWARE = "'m a software engineer from France. I love to build things, especially web applications and mobile apps."


TOKEN = ["id", "logprob", "special", "text"]


@pytest.mark.covers("mindie/answers", "text")
@pytest.mark.covers("mindie/what clients accept", "a bare object")
async def test_plain_text(start: Start) -> None:
    running = await start(REPLY)
    assert await post(running, {"inputs": PROMPT}) == [{"generated_text": " one two three"}]


@pytest.mark.covers("mindie/parameters", "details")
@pytest.mark.covers("mindie/interplay", "details and prefill")
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


@pytest.mark.covers("mindie/answers", "text with details")
@pytest.mark.covers("mindie/tokens", "samples")
@pytest.mark.covers("mindie/programs", "samples of the manuals")
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


@pytest.mark.covers("mindie/parameters", "return_full_text")
@pytest.mark.covers("mindie/interplay", "text in front")
@pytest.mark.covers("mindie/vectors", "return_full_text")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_full_text_is_prefixed_with_prompt(start: Start, stream: bool) -> None:
    running = await start(REPLY)
    body = {"inputs": PROMPT, "stream": stream, "parameters": {"return_full_text": True}}
    if stream:
        rows = await events(running, body)
        assert rows[-1]["generated_text"] == f"{PROMPT}  one two three"
        assert rows[0]["token"]["text"] == " one"
    else:
        assert await post(running, body) == [{"generated_text": f"{PROMPT}  one two three"}]


async def test_list_input_is_returned_as_json(start: Start) -> None:
    running = await start(REPLY)
    inputs = [{"type": "text", "text": "你好"}, {"type": "image_url", "image_url": "a.png"}]
    (answer,) = await post(running, {"inputs": inputs, "parameters": {"return_full_text": True}})
    dumped = json.dumps(inputs, ensure_ascii=False, separators=(",", ":"))
    assert answer["generated_text"] == f"{dumped}  one two three"


@pytest.mark.covers("mindie/tokens", "media")
async def test_prefill_includes_media(start: Start) -> None:
    running = await start(REPLY)
    inputs = [{"type": "text", "text": PROMPT}, {"type": "image_url", "image_url": "a.png"}]
    (answer,) = await post(running, {"inputs": inputs, "parameters": {"decoder_input_details": True}})
    assert len(answer["details"]["prefill"]) == answer["details"]["prompt_tokens"] > 5


async def test_tgi_profile_fills_token_fields(start: Start) -> None:
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


@pytest.mark.covers("mindie/interplay", "seed")
async def test_seed_is_echoed_or_drawn_per_request(start: Start) -> None:
    running = await start()
    body = {"inputs": PROMPT, "parameters": {"details": True, "seed": 18446744073709551615}}
    assert (await post(running, body))[0]["details"]["seed"] == 18446744073709551615
    unset = {"inputs": PROMPT, "parameters": {"details": True}}
    seeds = [(await post(running, unset))[0]["details"]["seed"] for _ in range(3)]
    assert len(set(seeds)) == 3


@pytest.mark.covers("mindie/HTTP", "head of an answer")
async def test_response_head(start: Start) -> None:
    running = await start()
    answer = await running.ask("mindie", "/", {"inputs": PROMPT})
    names = [name for name, _ in answer.headers]
    assert names[:3] == ["Content-Type", "Connection", "RequestUUID"]
    assert answer.header("Connection") == "close"
    assert len(answer.header("RequestUUID") or "") == 32
    assert "Date" not in names


async def test_scenario_sets_token_counts(start: Start) -> None:
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
