"""Every shipped scenario teaches its lesson through the real server."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import jsonschema_rs
import pytest

from emulator.cli.schema import render_schema
from emulator.core.clock import EPOCH
from emulator.scenario.load import find_files, load_library, load_scenario
from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

FOLDER = Path(__file__).parent.parent / "scenarios"
FILES = find_files(FOLDER)
CHATS = {
    "databricks": "/serving-endpoints/chat/completions",
    "azure": "/chat/completions?api-version=2024-05-01-preview",
    "mindie": "/v1/chat/completions",
    "tgi": "/v1/chat/completions",
    "openvino": "/v3/chat/completions",
}
MODELS = {
    "databricks": "databricks-meta-llama-3-3-70b-instruct",
    "azure": "mistral-small-2503",
    "mindie": "llama_65b",
    "tgi": "tgi",
    "openvino": "llama3",
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

Play = Callable[[str], Awaitable[Running]]


@pytest.fixture
def play(start: Start) -> Play:
    """Serve a shipped scenario; waits cost nothing."""

    async def begin(name: str) -> Running:
        text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        return await start(text.replace("version: 1\n", "version: 1\nclock: instant\n", 1))

    return begin


async def chat(running: Running, vendor: str, prompt: str = "Hello", *, key: str = "dapi-1", **fields: JSON) -> Answer:
    fields.setdefault("messages", [{"role": "user", "content": prompt}])
    body = {"model": MODELS[vendor], "max_tokens": 8, **fields}
    credentials = {"Authorization": f"Bearer {key}", "api-key": key}
    return await running.ask(vendor, CHATS[vendor], body, headers=credentials)


async def advance(running: Running, duration: str) -> None:
    body = json.dumps({"advance": duration}).encode()
    assert (await running.ask("front", "/_emulator/clock", body)).status == 200


# All of them


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario_references_schema_and_is_named_like_file(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["# yaml-language-server: $schema=./schema.json", "# $schema: ./schema.json"]
    loaded = load_scenario([path])
    assert loaded.scenario.name == path.stem
    assert loaded.scenario.description.endswith(".")
    assert jsonschema_rs.is_valid(json.loads(render_schema()), loaded.data)


def test_editor_schema_is_current() -> None:
    written = (FOLDER / "schema.json").read_text(encoding="utf-8")
    assert written == render_schema(), "run: emulator schema > scenarios/schema.json"


@pytest.mark.parametrize("name", list(load_library(FOLDER)))
async def test_every_served_vendor_is_healthy(play: Play, name: str) -> None:
    running = await play(name)
    paths = {
        "databricks": "/.well-known/databricks-config",
        "azure": "/info?api-version=2024-05-01-preview",
        "openvino": "/v2/health/live",
    }
    keys = running.built.runtime.active.loaded.scenario.keys
    headers = {"api-key": keys[0].token if keys else "any"}
    for app in running.built.apps:
        answer = await running.ask(app.vendor.name, paths.get(app.vendor.name, "/health"), headers=headers)
        assert answer.status == 200


# One by one


@pytest.mark.parametrize("vendor", CHATS)
async def test_default(play: Play, vendor: str) -> None:
    running = await play("default")
    answer = await chat(running, vendor)
    assert answer.status == 200
    assert answer.json()["choices"][0]["message"]["content"]
    assert running.built.clock.now() == EPOCH


async def test_throttled_tenant(play: Play) -> None:
    running = await play("throttled-tenant")
    search = [await chat(running, "databricks", f"Number {n}", key="dapi-search") for n in range(6)]
    batch = [await chat(running, "databricks", f"Number {n}", key="dapi-batch") for n in range(6)]
    assert [answer.status for answer in search] == [200, 200, 429, 200, 200, 429]
    assert {answer.status for answer in batch} == {200}
    assert search[2].header("x-emulator-rule") == "every third call of search is throttled"


async def test_burst_outage(play: Play) -> None:
    running = await play("burst-outage")
    assert (await chat(running, "azure")).status == 503
    await advance(running, "10s")
    assert (await chat(running, "azure")).status == 200
    await advance(running, "50s")
    assert (await chat(running, "databricks")).status == 503


@pytest.mark.parametrize(
    ("prompt", "ttft"), [pytest.param("Hi", 0.2, id="short"), pytest.param("word " * 250, 20.0, id="long")]
)
async def test_slow_first_token(play: Play, prompt: str, ttft: float) -> None:
    running = await play("slow-first-token")
    assert (await chat(running, "openvino", prompt, stream=True)).events()[-1] == "[DONE]"
    (entry,) = running.built.journal
    assert entry.planned_ttft == ttft
    assert entry.duration == pytest.approx(ttft + 0.07)


async def test_long_tail_latency(play: Play) -> None:
    running = await play("long-tail-latency")
    for number in range(200):
        await chat(running, "openvino", f"Number {number}", stream=True)
    waits = sorted(entry.planned_ttft or 0.0 for entry in running.built.journal)
    assert waits[100] < 0.5
    assert 2 <= sum(wait >= 4.0 for wait in waits) <= 20
    assert waits[-1] <= 8.0


async def test_content_filter(play: Play) -> None:
    running = await play("content-filter")
    refused = await chat(running, "azure", "How is poison made?")
    assert refused.status == 400
    assert "content_filter" in refused.body.decode() or "content management policy" in refused.body.decode()
    cut = (await chat(running, "databricks", "How is a knife held?", max_tokens=50)).json()["choices"][0]
    assert (cut["finish_reason"], cut["message"]["content"]) == ("content_filter", "First of all, hold the blade")
    assert (await chat(running, "azure", "How is tea made?")).json()["choices"][0]["finish_reason"] != "content_filter"


async def test_context_too_long(play: Play) -> None:
    running = await play("context-too-long")
    for vendor, model in (("databricks", "small-context"), ("azure", MODELS["azure"]), ("openvino", "llama3")):
        assert (await chat(running, vendor, "Hi", model=model)).status == 200
        long = await chat(running, vendor, "word " * 400, model=model)
        assert 400 <= long.status < 500


async def test_expired_key(play: Play) -> None:
    running = await play("expired-key")
    old = [(await chat(running, "databricks", f"Number {n}", key="dapi-old")).status for n in range(3)]
    assert old[:2] == [200, 200]
    assert old[2] in (401, 403)
    assert (await chat(running, "databricks", key="dapi-new")).status == 200
    assert (await chat(running, "databricks", key="dapi-unknown")).status in (401, 403)


@pytest.mark.parametrize("vendor", ["databricks", "azure", "tgi", "openvino"])
async def test_retry_then_succeed(play: Play, vendor: str) -> None:
    running = await play("retry-then-succeed")
    statuses = [(await chat(running, vendor)).status for _ in range(4)]
    assert statuses == [503, 429, 200, 200]
    assert (await chat(running, vendor, "Another")).status == 503


@pytest.mark.parametrize("vendor", ["databricks", "azure", "tgi"])
async def test_tool_call(play: Play, vendor: str) -> None:
    running = await play("tool-call")
    question: JSON = {"role": "user", "content": "How is the weather in Paris?"}
    first = (await chat(running, vendor, messages=[question], tools=[WEATHER], max_tokens=60)).json()["choices"][0]
    (call,) = first["message"]["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    arguments = call["function"]["arguments"]
    assert (json.loads(arguments) if isinstance(arguments, str) else arguments) == {"city": "Paris"}
    turn = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "18"}
    second = await chat(running, vendor, messages=[question, turn, result], tools=[WEATHER], max_tokens=60)
    assert second.json()["choices"][0]["message"]["content"] == "It is 18 degrees in Paris."


async def test_mindie_over_length(play: Play) -> None:
    running = await play("mindie-over-length")
    assert (await chat(running, "mindie", "Hi")).status == 200
    refused = await chat(running, "mindie", "word " * 200)
    assert 400 <= refused.status < 500
    assert "length" in refused.body.decode().lower()


@pytest.mark.covers("promises/first steps", "the lesson about readiness")
async def test_ovms_graph_not_loaded(play: Play) -> None:
    running = await play("ovms-graph-not-loaded")

    async def ask(path: str) -> Answer:
        return await running.ask("openvino", path)

    assert (await ask("/v2/health/ready")).status == 500
    assert (await ask("/v2/models/llama3/ready")).status == 404
    assert "LOADING" in (await ask("/v1/config")).body.decode()
    assert (await chat(running, "openvino")).status >= 400
    assert (await ask("/v2/health/live")).status == 200
    await advance(running, "30s")
    assert (await ask("/v2/health/ready")).status == 200
    assert (await ask("/v2/models/llama3/ready")).status == 200
    assert "LOADING" not in (await ask("/v1/config")).body.decode()
    assert (await chat(running, "openvino")).status == 200


async def test_lost_connection(play: Play) -> None:
    running = await play("lost-connection")
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await chat(running, "tgi", stream=True)
    assert (await chat(running, "tgi", stream=True)).events()
    assert (await chat(running, "tgi", "Another")).status == 200
    (cut, whole, _) = running.built.journal
    assert (cut.status, cut.whole, cut.sent_tokens, cut.faults) == (200, False, 5, ("disconnect",))
    assert (whole.whole, whole.sent_tokens) == (True, 8)


@pytest.mark.parametrize("vendor", ["databricks", "azure", "tgi"])
async def test_late_error(play: Play, vendor: str) -> None:
    running = await play("late-error")
    streamed = await chat(running, vendor, stream=True, max_tokens=40)
    assert streamed.status == 200
    assert "error" in streamed.body.decode()
    assert '"finish_reason":"' not in streamed.body.decode()
    assert (await chat(running, vendor, max_tokens=40)).json()["choices"][0]["finish_reason"]


async def test_stalled_stream(play: Play) -> None:
    running = await play("stalled-stream")
    assert (await chat(running, "databricks", stream=True, max_tokens=30)).events()[-1] == "[DONE]"
    (entry,) = running.built.journal
    assert (entry.planned_ttft, entry.sent_tokens) == (0.2, 30)
    assert entry.duration == pytest.approx(60.0 + 0.2 + 29 * 0.01, abs=0.02)


async def test_token_quota(play: Play) -> None:
    running = await play("token-quota")
    statuses = [
        (await chat(running, "databricks", f"Number {n}", key="dapi-search", max_tokens=300)).status for n in range(3)
    ]
    assert statuses == [200, 200, 429]
    assert (await chat(running, "databricks", key="dapi-batch", max_tokens=300)).status == 200
    again = await chat(running, "databricks", "Number 2", key="dapi-search", max_tokens=300)
    assert again.status == 200  # the clock has jumped to the end of the wait
