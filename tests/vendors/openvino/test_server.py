"""Server on a port: generation, framing and authentication."""

from collections.abc import Awaitable, Callable

import pytest

from emulator.vendors.openvino.routes import VENDOR
from tests.http_client import Running
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, CHAT, COMPLETIONS, PROMPT
from tests.vendors.openvino.scenario import SCENARIO

Start = Callable[..., Awaitable[Running]]


async def begin(start: Start, profile: str = "seed") -> Running:
    return await start(SCENARIO % profile, vendors=(VENDOR,))


@pytest.mark.covers("openvino/cases", "47")
async def test_beams_return_choices(start: Start) -> None:
    running = await begin(start)
    body = (await running.ask("openvino", CHAT, {**BASE, "best_of": 16, "n": 8, "max_tokens": 5})).json()
    assert [choice["index"] for choice in body["choices"]] == list(range(8))
    assert body["usage"]["completion_tokens"] == 40
    texts = {choice["message"]["content"] for choice in body["choices"]}
    assert len(texts) > 1


@pytest.mark.covers("openvino/cases", "55")
async def test_stop_strings_end_every_beam(start: Start) -> None:
    running = await begin(start)
    fields = {"stop": [".", ","], "include_stop_str_in_output": True, "best_of": 4, "n": 4, "max_tokens": 500}
    body = (await running.ask("openvino", CHAT, {**BASE, **fields})).json()
    assert len(body["choices"]) == 4
    assert all(choice["message"]["content"].endswith((".", ",")) for choice in body["choices"])
    assert {choice["finish_reason"] for choice in body["choices"]} == {"stop"}


@pytest.mark.covers("openvino/cases", "58")
async def test_stream_includes_stop_string(start: Start) -> None:
    running = await begin(start)
    answer = await running.ask("openvino", CHAT, {**BASE, "max_tokens": 500, "stream": True, "stop": "."})
    last = answer.events()[-2]["choices"][0]
    assert last["finish_reason"] == "stop"
    assert last["delta"]["content"].endswith(".")


@pytest.mark.parametrize("stop", [["ow", "Ho", "How c"], ["How c", "Ho", "ow"]], ids=["listed last", "listed second"])
async def test_first_of_sorted_stop_strings_ends_text(start: Start, stop: list[str]) -> None:
    """Of two that the token `` How`` completes, the lesser ends the text, in whatever order they are listed."""
    running = await begin(start)
    body = {**BASE, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 50, "stop": stop}
    answer = (await running.ask("openvino", CHAT, body)).json()
    assert answer["choices"][0]["message"]["content"] == "\n\n"


async def test_ignore_eos_generates_until_limit(start: Start) -> None:
    running = await begin(start)
    answer = await running.ask("openvino", CHAT, {**BASE, "stream": True, "ignore_eos": True, "max_tokens": 5})
    choices = [event["choices"][0] for event in answer.events()[:-1]]
    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + ["length"]
    whole = (await running.ask("openvino", CHAT, {**BASE, "ignore_eos": True, "max_tokens": 900})).json()
    assert whole["usage"]["completion_tokens"] == 900


@pytest.mark.parametrize("fields", [{}, {"temperature": 0}, {"best_of": 3}], ids=["sampled", "greedy", "beams"])
async def test_equal_requests_return_equal_text_unary_and_streamed(start: Start, fields: JSON) -> None:
    running = await begin(start)
    ask = {**BASE, "max_tokens": 30, **fields}
    first, second = [(await running.ask("openvino", CHAT, ask)).json()["choices"] for _ in range(2)]
    assert first == second
    if "best_of" not in fields:
        events = (await running.ask("openvino", CHAT, {**ask, "stream": True})).events()
        text = "".join(event["choices"][0]["delta"]["content"] for event in events[:-1])
        assert text == first[0]["message"]["content"]


@pytest.mark.covers("openvino/completions", "max_tokens 0")
@pytest.mark.covers("openvino/cases", "71, its answer")
async def test_echo_with_max_tokens_0_returns_prompt(start: Start) -> None:
    running = await begin(start)
    ask = {**PROMPT, "echo": True, "max_tokens": 0, "logprobs": 1}
    body = (await running.ask("openvino", COMPLETIONS, ask)).json()
    choice = body["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == ("What is OpenVINO?", "length")
    assert body["usage"]["completion_tokens"] == 0
    weights = choice["logprobs"]["token_logprobs"]
    assert weights[0] is None
    assert len(weights) == body["usage"]["prompt_tokens"]


async def test_echo_is_not_counted(start: Start) -> None:
    running = await begin(start)
    body = (await running.ask("openvino", COMPLETIONS, {**PROMPT, "echo": True, "max_tokens": 5, "best_of": 16})).json()
    assert body["choices"][0]["text"].startswith("What is OpenVINO?")
    assert body["usage"]["completion_tokens"] == 5


@pytest.mark.covers("openvino/errors", "headers")
async def test_responses_have_no_date_or_server_header(start: Start) -> None:
    running = await begin(start)
    for body in (BASE, {**BASE, "stream": True}, {"model": 1}):
        answer = await running.ask("openvino", CHAT, body)
        assert answer.header("date") is None
        assert answer.header("server") is None


async def test_final_events_share_one_chunk(start: Start) -> None:
    running = await begin(start)
    body = {"model": "llama3", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    usage = {"stream_options": {"include_usage": True}}
    answer = await running.ask("openvino", CHAT, {**body, **usage})
    assert answer.chunks[-1].count(b"data: ") == 3
    assert all(chunk.count(b"data: ") == 1 for chunk in answer.chunks[:-1])


async def test_rerank(start: Start) -> None:
    running = await begin(start)
    ask = {"model": "rerank", "query": "red apple", "documents": ["a blue car", "the red apple", "an apple"]}
    first, second = [(await running.ask("openvino", "/v3/rerank", ask)) for _ in range(2)]
    assert first.body == second.body
    assert [result["index"] for result in first.json()["results"]] == [1, 2, 0]


@pytest.mark.covers("openvino/embeddings and rerank", "unit vectors")
async def test_embeddings_are_unit_vectors(start: Start) -> None:
    running = await begin(start)
    ask = {"model": "embeddings", "input": ["one", "two", "one"]}
    body = (await running.ask("openvino", "/v3/embeddings", ask)).json()
    one, two, again = [entry["embedding"] for entry in body["data"]]
    assert one == again != two
    assert len(one) == 1024
    assert sum(value * value for value in one) == pytest.approx(1.0, abs=1e-5)
    assert [entry["index"] for entry in body["data"]] == [0, 1, 2]


async def test_key_is_checked(start: Start) -> None:
    keys = "keys: [{token: right, principal: search}]\nvendors: {openvino: {profile: latest}}\n"
    running = await start(keys, vendors=(VENDOR,))
    for header, status in (("Bearer right", 200), ("Bearer wrong", 500)):
        answer = await running.ask("openvino", CHAT, BASE, headers={"Authorization": header})
        assert answer.status == status


async def test_response_follows_schema(start: Start) -> None:
    running = await begin(start, "latest")
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
    body = (await running.ask("openvino", CHAT, {**BASE, "max_tokens": 200, "response_format": form})).json()
    text = body["choices"][0]["message"]["content"]
    assert text.startswith("{")
    assert '"n"' in text


@pytest.mark.covers("openvino/a stream that fails", "midway")
async def test_stream_failure_ends_with_error_object(start: Start) -> None:
    faults = "rules:\n  - {name: late, faults: [{type: late_error, after_tokens: 2}]}\n"
    running = await start(faults, vendors=(VENDOR,))
    answer = await running.ask("openvino", CHAT, {**BASE, "max_tokens": 20, "stream": True})
    assert answer.status == 200
    *chunks, last = answer.body.split(b"\n\n")
    assert chunks
    assert all(chunk.startswith(b"data: {") for chunk in chunks)
    assert last == (
        rb'{"error":"Mediapipe execution failed. MP status - INTERNAL: CalculatorGraph::Run() failed: '
        rb'\nCalculator::Process() for node \"LLMExecutor\" failed: Response generation failed"}'
    )
