"""Answers of TGI: keys and their order in both releases, headers, streams, grammars and several answers."""

import json
import re

import pytest

from emulator.core.json import JSON
from tests.conftest import Start
from tests.vendors.mindie.direct import PROMPT
from tests.wire import Running

REPLY = "rules: [{name: fixed, reply: {text: 'one two three'}}]\n"
OLD = "vendors: {tgi: {profile: '0.9.4'}}\n"


async def post(running: Running, body: JSON, path: str = "/generate") -> JSON:
    answer = await running.ask("tgi", path, body)
    assert answer.status == 200, answer.body
    return answer.json()


def ask(**parameters: JSON) -> JSON:
    return {"inputs": PROMPT, "parameters": parameters}


async def test_array_at_the_root_and_object_elsewhere(start: Start) -> None:
    running = await start(REPLY)
    assert await post(running, ask(return_full_text=False), "/") == [{"generated_text": "one two three"}]
    assert await post(running, ask(), "/generate") == {"generated_text": "one two three"}


@pytest.mark.parametrize("section", ["", OLD], ids=["3", "0.9.4"])
async def test_details(start: Start, section: str) -> None:
    running = await start(section + REPLY)
    answer = await post(running, ask(details=True, do_sample=True))
    assert list(answer) == ["generated_text", "details"]
    details = answer["details"]
    assert list(details) == ["finish_reason", "generated_tokens", "seed", "prefill", "tokens"]
    assert all(list(token) == ["id", "text", "logprob", "special"] for token in details["tokens"])
    assert all(token["logprob"] <= 0 for token in details["tokens"])
    assert details["tokens"][-1] | {"logprob": 0} == {"id": 2, "text": "</s>", "logprob": 0, "special": True}
    assert "".join(token["text"] for token in details["tokens"][:-1]) == answer["generated_text"]
    assert details["finish_reason"] == "eos_token"
    assert details["prefill"] == []


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        pytest.param({}, False, id="a greedy answer tells no seed"),
        pytest.param({"seed": 7}, False, id="even if one was sent"),
        pytest.param({"do_sample": True}, True, id="a sampled one draws one"),
        pytest.param({"do_sample": True, "seed": 7}, True, id="or repeats its own"),
    ],
)
async def test_seed(start: Start, parameters: JSON, told: bool) -> None:
    details = (await post(await start(REPLY), ask(details=True, **parameters)))["details"]
    assert (details["seed"] is not None) is told
    if told and "seed" in parameters:
        assert details["seed"] == 7


@pytest.mark.parametrize(
    ("section", "filled"),
    [
        pytest.param("", False, id="3 leaves it empty"),
        pytest.param("vendors: {tgi: {enable_prefill_logprobs: true}}\n", True, id="unless switched on"),
        pytest.param(OLD, True, id="0.9.4 fills it"),
    ],
)
async def test_prefill(start: Start, section: str, filled: bool) -> None:
    details = (await post(await start(section + REPLY), ask(decoder_input_details=True)))["details"]
    assert bool(details["prefill"]) is filled
    if filled:
        assert details["prefill"][0] == {"id": 1, "text": "<s>", "logprob": None}
        assert "".join(token["text"] for token in details["prefill"][1:]) == PROMPT
        assert all(token["logprob"] <= 0 for token in details["prefill"][1:])


async def test_top_tokens(start: Start) -> None:
    running = await start(REPLY)
    details = (await post(running, ask(details=True, top_n_tokens=3)))["details"]
    assert list(details)[-2:] == ["tokens", "top_tokens"]
    assert len(details["top_tokens"]) == len(details["tokens"])
    assert all(len(row) == 3 for row in details["top_tokens"])
    answer = await running.ask("tgi", "/generate_stream", ask(top_n_tokens=2))
    assert all(list(row)[:3] == ["index", "token", "top_tokens"] for row in answer.events())


async def test_best_of(start: Start) -> None:
    details = (await post(await start(), ask(details=True, best_of=2, do_sample=True, max_new_tokens=8)))["details"]
    (other,) = details["best_of_sequences"]
    assert list(other) == ["generated_text", "finish_reason", "generated_tokens", "seed", "prefill", "tokens"]

    def mean(sequence: JSON) -> float:
        return float(sum(token["logprob"] for token in sequence["tokens"]) / len(sequence["tokens"]))

    assert mean(details) >= mean(other)


async def test_stop_stays_in_the_text(start: Start) -> None:
    running = await start(REPLY)
    answer = await post(running, ask(details=True, stop=[" two"]))
    assert answer["generated_text"] == "one two"
    assert answer["details"]["finish_reason"] == "stop_sequence"
    assert (await post(running, ask(details=True, stop=[" two"], max_new_tokens=2)))["details"][
        "finish_reason"
    ] == "length"


@pytest.mark.parametrize(
    ("section", "keys", "details", "start_of_event"),
    [
        pytest.param(
            "",
            ["index", "token", "generated_text", "details"],
            ["finish_reason", "generated_tokens", "seed", "input_length"],
            b'data: {"index":1,',
            id="3",
        ),
        pytest.param(
            OLD,
            ["token", "generated_text", "details"],
            ["finish_reason", "generated_tokens", "seed"],
            b'data:{"token":',
            id="0.9.4",
        ),
    ],
)
async def test_stream(start: Start, section: str, keys: JSON, details: JSON, start_of_event: bytes) -> None:
    running = await start(section + REPLY)
    answer = await running.ask("tgi", "/generate_stream", ask(details=True))
    rows = answer.events()
    assert answer.body.startswith(start_of_event)
    assert all(list(row) == keys for row in rows)
    assert all(row["generated_text"] is row["details"] is None for row in rows[:-1])
    assert list(rows[-1]["details"]) == details
    assert rows[-1]["generated_text"] == "one two three" == "".join(row["token"]["text"] for row in rows[:-1])
    if "index" in keys:
        assert [row["index"] for row in rows] == list(range(1, len(rows) + 1))
        assert rows[-1]["details"]["input_length"] == 6
    assert b"[DONE]" not in answer.body


HEADS = [
    *("content-type", "x-compute-type", "x-compute-time", "x-compute-characters", "x-total-time"),
    *("x-validation-time", "x-queue-time", "x-inference-time", "x-time-per-token"),
]


async def test_headers(start: Start) -> None:
    running = await start("version: 1\nname: slow\nlatency: {ttft: 3ms}\n" + REPLY)
    new = await running.ask("tgi", "/generate", ask())
    assert [name for name, _ in new.headers][:11] == [*HEADS, "x-prompt-tokens", "x-generated-tokens"]
    assert (new.header("x-compute-time"), new.header("x-total-time")) == ("0.003", "3")
    assert (new.header("x-compute-characters"), new.header("x-prompt-tokens")) == (str(len(PROMPT)), "6")
    assert new.header("access-control-allow-origin") == "*"
    stream = await running.ask("tgi", "/generate_stream", ask())
    assert stream.header("cache-control") == "no-cache"
    assert stream.header("x-accel-buffering") == "no"


async def test_headers_of_the_old_release(start: Start) -> None:
    answer = await (await start(OLD + REPLY)).ask("tgi", "/generate", ask())
    names = [name for name, _ in answer.headers]
    assert names[: len(HEADS)] == HEADS
    assert "x-prompt-tokens" not in names


async def test_json_grammar(start: Start) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 3}}, "required": ["age"]}
    running = await start()
    for value in (schema, json.dumps(schema)):
        answer = await post(running, ask(max_new_tokens=200, grammar={"type": "json", "value": value}))
        assert json.loads(answer["generated_text"])["age"] >= 3
    wrapped = {"type": "json_schema", "value": {"name": "n", "schema": schema}}
    answer = await post(running, ask(max_new_tokens=200, grammar=wrapped))
    assert json.loads(answer["generated_text"])["age"] >= 3


async def test_regex_grammar(start: Start) -> None:
    grammar = {"type": "regex", "value": "[0-9]{3}-[a-c]+"}
    answer = await post(await start(), ask(max_new_tokens=200, grammar=grammar, details=True))
    assert re.fullmatch(grammar["value"], answer["generated_text"])
    assert answer["details"]["finish_reason"] == "eos_token"


async def test_truncate(start: Start) -> None:
    running = await start(OLD)
    details = (await post(running, ask(truncate=2, decoder_input_details=True)))["details"]
    assert [token["text"] for token in details["prefill"]] == [" the", " harbour"]


async def test_small_routes(start: Start) -> None:
    running = await start()
    for path in ("/", "/health", "/ping"):
        answer = await running.ask("tgi", path)
        assert (answer.status, answer.body) == (200, b"")
    models = (await running.ask("tgi", "/v1/models")).json()
    assert models["data"][0]["created"] == 0
    tokens = (await running.ask("tgi", "/tokenize", {"inputs": "Hé 世"})).json()
    assert all(list(token) == ["id", "text", "start", "stop"] for token in tokens)
    assert tokens[-1]["stop"] == len("Hé 世".encode())
    metrics = (await running.ask("tgi", "/metrics")).body.decode()
    assert "tgi_request_count" in metrics
    assert 'tgi_request_duration_bucket{le="+Inf"}' in metrics


@pytest.mark.parametrize(
    ("section", "present", "absent"),
    [
        pytest.param("", "max_input_tokens", "max_input_length", id="3"),
        pytest.param(OLD, "max_input_length", "router", id="0.9.4"),
    ],
)
async def test_info(start: Start, section: str, present: str, absent: str) -> None:
    info = (await (await start(section)).ask("tgi", "/info")).json()
    assert present in info
    assert absent not in info
    assert info["max_concurrent_requests"] == 128
