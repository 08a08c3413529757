"""Tests of the timing report."""

import pytest

from emulator.observability.timing import Quantiles, TimingAccuracy
from tests.conftest import Start
from tests.handler.toy import TOY
from tests.http_client import Running

REAL = "version: 1\nname: t\nlatency: {ttft: 2ms, itl: 1ms}\nrules: [{name: r, reply: {chunks: [a, b, c]}}]\n"
KEY = {"x-key": "k"}
TOLD = {**KEY, "x-emulator-timing": "1"}


def test_quantiles_are_within_two_percent() -> None:
    late = Quantiles()
    late.add([number / 1000 for number in range(1, 601)])
    late.add([])
    more = Quantiles()
    more.add([number / 1000 for number in range(601, 1001)])
    late = late.merge(more)
    assert (late.count, late.worst) == (1000, 1.0)
    assert late.mean == pytest.approx(0.5005)
    assert [late.quantile(part) for part in (0.5, 0.9, 0.99, 1.0)] == [
        pytest.approx(value, rel=0.02) for value in (0.5, 0.9, 0.99, 1.0)
    ]
    assert Quantiles().quantile(0.99) == 0.0


async def test_timing_counts_responses(start: Start) -> None:
    running = await start(REAL, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "stream": True}, headers=KEY)
    await running.ask("toy", "/chat", {"prompt": "Hi"}, headers=KEY)
    reported = await running.ask("front", "/_emulator/timing")
    value = reported.json()
    assert (value["valid"], value["reason"], value["invalid_above"]) == (True, None, None)
    counts = [value[since][name]["count"] for since in ("since_reset", "overall") for name in ("ttft", "end")]
    assert counts == [2, 2, 2, 2]
    assert value["overall"]["ttft"]["worst"] >= value["overall"]["ttft"]["p50"] >= 0.0


@pytest.mark.covers("promises/journal", "times as planned and as they were")
@pytest.mark.parametrize("stream", [True, False])
async def test_journal_has_planned_and_actual_times(start: Start, stream: bool) -> None:
    running = await start(REAL, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "stream": stream}, headers=KEY)
    (call,) = (await running.ask("front", "/_emulator/requests")).json()["requests"]
    assert (call["planned_ttft"], call["planned_end"]) == (
        pytest.approx(0.002 if stream else 0.004),
        pytest.approx(0.004),
    )
    assert call["planned_ttft"] <= call["ttft"] <= call["last_token"] <= call["duration"]
    assert call["planned_end"] <= call["last_token"]


async def test_faulted_response_has_no_last_token_time(start: Start) -> None:
    running = await start("version: 1\nname: t\nrules: [{name: r, faults: [{type: truncate}]}]\n", vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi"}, headers=KEY)
    (call,) = (await running.ask("front", "/_emulator/requests")).json()["requests"]
    assert call["last_token"] is None


async def test_reset_restarts_timing_since_reset(start: Start) -> None:
    running = await start(REAL, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi"}, headers=KEY)
    await running.ask("front", "/_emulator/reset", method="POST")
    value = (await running.ask("front", "/_emulator/timing")).json()
    assert [value[since]["end"]["count"] for since in ("since_reset", "overall")] == [0, 1]


@pytest.mark.parametrize(
    ("scenario", "counted"),
    [
        pytest.param("clock: frozen", 0, id="a frozen clock has no lateness"),
        pytest.param("rules: [{name: r, faults: [{type: truncate}]}]", 0, id="nor has an answer that is bent"),
        pytest.param("rules: [{name: r, error: {kind: internal}}]", 0, id="nor a refusal"),
        pytest.param("clock: {scale: 10}", 1, id="a hurried clock has"),
    ],
)
async def test_timing_counts_only_scheduled_responses(start: Start, scenario: str, counted: int) -> None:
    running = await start(f"version: 1\nname: t\n{scenario}\n", vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "stream": True}, headers=KEY)
    assert (await running.ask("front", "/_emulator/timing")).json()["overall"]["ttft"]["count"] == counted


async def test_timing_header_returned_on_request(start: Start) -> None:
    running = await start(REAL, vendors=[TOY])
    plain = await running.ask("toy", "/chat", {"prompt": "Hi"}, headers=KEY)
    assert plain.header("x-emulator-timing") is None
    reported = await running.ask("toy", "/chat", {"prompt": "Hi"}, headers=TOLD)
    assert (reported.header("x-emulator-timing") or "").startswith("ttft;planned=4.000;dur=")


async def test_stream_returns_timing_in_trailer(start: Start) -> None:
    running = await start(REAL, vendors=[TOY])
    head = b"POST /chat HTTP/1.1\r\nx-key: k\r\nx-emulator-timing: 1\r\nConnection: close\r\n"
    raw = await read_all(running, head, b'{"prompt":"Hi","stream":true}')
    front, _, body = raw.partition(b"\r\n\r\n")
    assert b"\r\nTrailer: x-emulator-timing" in front
    data, _, trailer = body.partition(b"\r\n0\r\n")
    assert b"x-emulator-timing" not in data
    assert trailer.startswith(b"x-emulator-timing: ttft;planned=2.000;dur=")
    assert b", end;planned=4.000;dur=" in trailer
    assert trailer.endswith(b"\r\n\r\n")


async def read_all(running: Running, head: bytes, body: bytes) -> bytes:

    reader, writer = await running.connect("toy")
    writer.write(head + b"Host: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    data = await reader.read()
    writer.close()
    return data


@pytest.mark.covers("language/control plane", "GET /timing")
async def test_late_run_is_invalid(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    running = await start(REAL + "timing: {invalid_above: 1us}\n", vendors=[TOY])
    for _ in range(3):
        await running.ask("toy", "/chat", {"prompt": "Hi", "stream": True}, headers=KEY)
    value = (await running.ask("front", "/_emulator/timing")).json()
    assert value["valid"] is False
    assert "above 0.001 ms" in value["reason"]
    verified = (await running.ask("front", "/_emulator/verify", {"calls": {"status": 200}})).json()
    assert (verified["ok"], "above 0.001 ms" in verified["timing_invalid"]) == (True, True)


def test_bound_not_exceeded_is_valid() -> None:
    timing = TimingAccuracy()
    timing.set_bound(5.0)
    assert timing.invalid is None
