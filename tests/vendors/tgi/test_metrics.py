"""Route ``/metrics``, and its metrics of load."""

import asyncio

import pytest

from tests.conftest import Start
from tests.http_client import Running
from tests.ratelimit.clients import move, wait_for
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, HELLO, OLD, REPLY

OVERLOADED = {"error": "Model is overloaded", "error_type": "overloaded"}
TWO = "vendors: {tgi: {max_concurrent_requests: 2}}\nlatency: {ttft: 10s}\n"


async def scrape(running: Running) -> list[str]:
    return (await running.ask("tgi", "/metrics")).body.decode().splitlines()


@pytest.mark.covers("mindie/TGI", "too many at once")
async def test_requests_over_concurrency_limit_are_rejected(start: Start) -> None:
    running = await start(TWO)
    calls = [asyncio.create_task(running.ask("tgi", "/generate", {"inputs": str(n)})) for n in range(3)]
    (refused,) = await wait_for(running, calls, 1)
    assert (refused.status, refused.json()) == (429, OVERLOADED)
    assert "tgi_batch_current_size 2" in await scrape(running)
    assert (await running.ask("tgi", "/tokenize", {"inputs": "x"})).status == 200
    move(running, 10)
    assert sorted(answer.status for answer in await asyncio.gather(*calls)) == [200, 200, 429]
    lines = await scrape(running)
    assert {"tgi_batch_current_size 0", 'tgi_request_failure{err="overloaded"} 1', "tgi_request_count 3"} <= set(lines)


async def test_overloaded_stream_gets_error_event(start: Start) -> None:
    running = await start(TWO)
    calls = [asyncio.create_task(running.ask("tgi", "/generate", {"inputs": str(n)})) for n in range(2)]
    while "tgi_batch_current_size 2" not in await scrape(running):
        await asyncio.sleep(0.001)
    refused = await running.ask("tgi", "/generate_stream", {"inputs": "x"})
    assert (refused.status, refused.events()) == (200, [OVERLOADED])
    move(running, 10)
    await asyncio.gather(*calls)


async def test_waiting_requests_are_counted_in_queue_size(start: Start) -> None:
    running = await start("latency: {ttft: 10s, load: {capacity: 1}}\n")
    calls = [asyncio.create_task(running.ask("tgi", "/generate", {"inputs": str(n)})) for n in range(3)]
    while not {"tgi_queue_size 2", "tgi_batch_current_size 1"} <= set(await scrape(running)):
        await asyncio.sleep(0.001)
    while not all(call.done() for call in calls):
        move(running, 10)
        await asyncio.sleep(0.001)
    assert "tgi_queue_size 0" in await scrape(running)


@pytest.mark.covers("mindie/TGI", "metrics")
@pytest.mark.parametrize("release", [pytest.param("", id="3"), pytest.param(OLD, id="0.9.4")])
async def test_only_inference_is_counted(start: Start, release: str) -> None:
    running = await start(release + REPLY)
    for path in ("/health", "/info", "/metrics", "/nowhere"):
        await running.ask("tgi", path)
    await running.ask("tgi", "/generate", {"inputs": "x"})
    await running.ask("tgi", "/generate", {"inputs": "x", "parameters": {"top_k": 0}})
    await running.ask("tgi", "/generate", {"inputs": 5})
    assert {
        "tgi_request_count 2",
        "tgi_request_success 1",
        'tgi_request_failure{err="validation"} 1',
        'tgi_batch_inference_count{method="prefill"} 1',
        'tgi_batch_inference_count{method="decode"} 3',
        'tgi_batch_inference_success{method="decode"} 3',
        'tgi_batch_inference_duration_count{method="prefill"} 1',
        'tgi_batch_inference_duration_count{method="decode"} 3',
        'tgi_batch_next_size_bucket{le="1"} 1',
    } <= set(await scrape(running))


async def test_lots_and_steps_are_counted(start: Start) -> None:
    """``router/src/validation.rs:433`` and ``backends/v3/src/backend.rs:386-399``, as the router answered.

    A request records the tokens of its first lot, each step its duration, and the first of two descriptions stays.
    """
    running = await start("rules: [{name: fixed, reply: {text: one two}}, {name: more, reply: {text: one}}]\n")
    for parameters in ({}, {"max_new_tokens": 2000}, {"max_new_tokens": 7}):
        await running.ask("tgi", "/generate", {"inputs": "x", "parameters": parameters})
    lines = set(await scrape(running))
    assert {
        "tgi_request_max_new_tokens_sum 2055",
        'tgi_batch_decode_duration_count{method="decode"} 6',
        'tgi_batch_filter_duration_count{method="prefill"} 3',
        "# HELP tgi_request_duration Request duration",
        "# HELP tgi_request_queue_duration Request queue duration",
        "# HELP tgi_request_validation_duration Request validation duration",
    } <= lines
    assert not any("batch_total_tokens" in line for line in lines)


@pytest.mark.parametrize(
    ("path", "body", "counted", "failure"),
    [
        pytest.param(CHAT, {"messages": [*HELLO, *HELLO]}, 1, 'err="template"', id="template"),
        pytest.param("/chat_tokenize", {"messages": [*HELLO, *HELLO]}, 1, 'err="template"', id="template, tokenized"),
        pytest.param(CHAT, {"messages": HELLO, "tools": [], "tool_choice": "f"}, 1, None, id="tool"),
        pytest.param("/v1/completions", {"prompt": "x", "suffix": "y"}, 1, 'err="validation"', id="suffix"),
        pytest.param("/v1/completions", {"prompt": ["x"] * 5}, 1, 'err="validation"', id="too many prompts"),
        pytest.param("/vertex", {"instances": []}, 1, None, id="no instance"),
        pytest.param("/generate", {"inputs": "x", "parameters": {"best_of": 3}}, 1, None, id="best of too many"),
        pytest.param(
            "/generate_stream",
            {"inputs": "x", "parameters": {"best_of": 2}},
            1,
            'err="validation"',
            id="best of several in a stream",
        ),
        pytest.param(CHAT, {"messages": HELLO, "top_p": 3}, 2, 'err="validation"', id="parameters"),
        pytest.param("/generate", {"inputs": 5}, 0, None, id="body"),
    ],
)
async def test_refusals_are_counted_where_they_are_found(
    start: Start, path: str, body: JSON, counted: int, failure: str | None
) -> None:
    """``router/src/infer/mod.rs:252-256``, ``router/src/server.rs:739-775``, as the router answered."""
    running = await start()
    for _ in range(2):
        await running.ask("tgi", path, body)
    lines = [line for line in await scrape(running) if line.startswith(("tgi_request_count", "tgi_request_failure"))]
    count = [f"tgi_request_count {2 * counted}"] if counted else []
    failed = [f"tgi_request_failure{{{failure}}} 2"] if failure else []
    assert lines == [*count, *failed]


async def test_metric_type_is_declared_once(start: Start) -> None:
    running = await start(REPLY)
    await running.ask("tgi", "/generate", {"inputs": "x"})
    types = [line for line in await scrape(running) if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) > 10


async def test_concurrent_requests_count_as_concatenated_batches(start: Start) -> None:
    running = await start(TWO)
    calls = [asyncio.create_task(running.ask("tgi", "/generate", {"inputs": str(n)})) for n in range(2)]
    while "tgi_batch_current_size 2" not in await scrape(running):
        await asyncio.sleep(0.001)
    assert {'tgi_batch_concat{reason="chunking"} 1'} <= set(await scrape(running))
    move(running, 10)
    await asyncio.gather(*calls)
    assert 'tgi_batch_concat_duration_count{method="decode"} 1' in await scrape(running)


async def test_requested_lengths_are_reported(start: Start) -> None:
    running = await start("vendors: {tgi: {max_total_tokens: 200, max_input_tokens: 100}}\n" + REPLY)
    await running.ask("tgi", "/generate", {"inputs": "x", "parameters": {"max_new_tokens": 7}})
    lines = set(await scrape(running))
    assert {"tgi_request_max_new_tokens_sum 7", 'tgi_request_max_new_tokens_bucket{le="8"} 1'} <= lines
    assert 'tgi_request_input_length_bucket{le="100"} 1' in lines


async def test_failures_are_counted_by_kind(start: Start) -> None:
    running = await start("rules: [{name: f, when: {prompt: x}, error: {kind: internal}}]\n")
    await running.ask("tgi", "/generate", {"inputs": "x"})
    lines = await scrape(running)
    assert {'tgi_request_failure{err="incomplete"} 1', 'tgi_batch_inference_failure{method="prefill"} 1'} <= set(lines)
    assert not [line for line in lines if 'err="generation"' in line or line.startswith("tgi_request_success")]


@pytest.mark.parametrize(
    ("path", "body", "requests", "others"),
    [
        ("/generate", {"inputs": "x"}, 1, ["tgi_request_success 1"]),
        ("/generate", {"inputs": "x", "parameters": {"best_of": 2, "do_sample": True}}, 1, ["tgi_request_success 1"]),
        (CHAT, {"messages": HELLO}, 2, ["tgi_request_success 1"]),
        (CHAT, {"messages": HELLO, "stream": True}, 2, ["tgi_request_success 1"]),
        ("/v1/completions", {"prompt": "x"}, 2, ["tgi_request_success 1"]),
        ("/v1/completions", {"prompt": ["x", "y"]}, 3, ["tgi_request_success 2"]),
        ("/vertex", {"instances": [{"inputs": "x"}, {"inputs": "y"}]}, 3, ["tgi_request_success 2"]),
        ("/invocations", {"inputs": "x"}, 1, ["tgi_request_success 1"]),
        ("/chat_tokenize", {"messages": HELLO}, 1, []),
        ("/tokenize", {"inputs": "x"}, None, []),
        ("/generate", {"inputs": ""}, 1, ['tgi_request_failure{err="validation"} 1']),
        ("/generate_stream", {"inputs": ""}, 1, ['tgi_request_failure{err="validation"} 1']),
        (CHAT, {"messages": HELLO, "top_p": 5}, 2, ['tgi_request_failure{err="validation"} 1']),
        (CHAT, {"messages": HELLO, "top_p": 5, "stream": True}, 2, ['tgi_request_failure{err="validation"} 1']),
        ("/generate", {"inputs": 5}, None, []),
        ("/nowhere", {"inputs": "x"}, None, []),
    ],
)
async def test_requests_are_counted(
    start: Start, path: str, body: JSON, requests: int | None, others: list[str]
) -> None:
    """``router/src/server.rs``: ``tgi_request_count`` grows in the handler and in each generation."""
    running = await start(REPLY)
    await running.ask("tgi", path, body)
    lines = await scrape(running)
    assert [line for line in lines if line.startswith("tgi_request_count")] == (
        [] if requests is None else [f"tgi_request_count {requests}"]
    )
    counted = [line for line in lines if line.startswith(("tgi_request_success", "tgi_request_failure"))]
    assert counted == others


async def test_page_begins_empty(start: Start) -> None:
    """metrics-exporter-prometheus 0.15.3: a metric appears with its first value."""
    for release in ("", OLD):
        assert await scrape(await start(release)) == []


async def test_form_of_page(start: Start) -> None:
    """``router/src/server.rs:1898-2113``; metrics-exporter-prometheus 0.15.3."""
    for release in ("", OLD):
        running = await start(release + REPLY)
        await running.ask("tgi", "/generate", {"inputs": "x"})
        lines = await scrape(running)
        bounds = [line for line in lines if line.startswith("tgi_request_duration_bucket")]
        assert bounds[0].startswith('tgi_request_duration_bucket{le="0.00015000000000000001"}')
        assert len(bounds) == 36
        assert ("# HELP tgi_request_success Number of successful requests" in lines) is not bool(release)
        assert [line for line in lines if line.startswith("# HELP")] == [] or not release
        summary = ["# TYPE tgi_request_skipped_tokens summary", 'tgi_request_skipped_tokens{quantile="0.999"} 0']
        assert (set(summary) <= set(lines)) is not bool(release)


LATE = "rules: [{name: late, when: {prompt: Hello}, faults: [{type: late_error, after_tokens: 1}]}]\n"


async def test_broken_stream_is_a_failure(start: Start) -> None:
    """``router/src/server.rs``, generate_stream_internal: a success is counted at the end of a stream."""
    running = await start(LATE)
    await running.ask("tgi", CHAT, {"messages": HELLO, "stream": True})
    lines = await scrape(running)
    counted = [
        line for line in lines if line.startswith(("tgi_request_success", "tgi_request_failure", "tgi_request_co"))
    ]
    assert counted == ["tgi_request_count 2", 'tgi_request_failure{err="generation"} 1']


async def test_injected_overload_is_counted_once(start: Start) -> None:
    running = await start("rules: [{name: full, when: {prompt: x}, error: {kind: overloaded}}]\n")
    await running.ask("tgi", "/generate", {"inputs": "x"})
    assert {"tgi_request_count 1", 'tgi_request_failure{err="overloaded"} 1'} <= set(await scrape(running))
