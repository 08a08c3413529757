"""Tests of the Prometheus metrics against the requests that were sent."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from emulator.core.json import dump_json
from emulator.journal.entry import JournalEntry
from emulator.observability.metrics import FAMILIES, SCHEMA, Family
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.control.asking import KEY, ask, control
from tests.handler.toy import TOY
from tests.http.calls import HEAD, chat, connect, frame_request
from tests.http_client import Running
from tests.untyped_json import JSON

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
RULES = """
rules:
  - {name: busy, when: {prompt: {contains: rivers}}, error: {kind: rate_limited, retry_after: 2s}}
  - name: bent
    when: {prompt: {contains: tides}}
    faults: [{type: truncate, after_tokens: 2}, {type: status, status: 502}]
"""


async def scrape(running: Running, query: str = "") -> Samples:
    """Return every sample by name and labels, after a check against the documented families."""
    name = next(name for name in running.urls if name != "front")
    answer = await running.ask(name, f"/_emulator/metrics{query}")
    assert answer.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    families = {family.name: family for family in FAMILIES}
    samples = {}
    for found in text_string_to_metric_families(answer.body.decode()):
        family = families[found.name + "_total" if found.type == "counter" else found.name]
        assert (found.type, found.documentation) == (family.kind, family.text)
        for sample in found.samples:
            assert sample.labels.keys() <= {*family.labels, "le"}
            assert all(sample.labels.values())
            samples[sample.name, frozenset(sample.labels.items())] = sample.value
    return samples


def pick(samples: Samples, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """Return samples of one name summed by the values of some labels."""
    found: Counter[tuple[str, ...]] = Counter()
    for (sample, pairs), value in samples.items():
        if sample == name:
            found[tuple(dict(pairs).get(label, "") for label in labels)] += value  # type: ignore[assignment]
    return dict(found)


async def test_requests_are_counted_by_outcome(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    for prompt in ("Hi", "Hi", "rivers", "tides"):
        await ask(running, prompt, stream=True)
    await running.ask("toy", "/nowhere", headers=KEY)
    samples = await scrape(running)
    assert pick(samples, "emulator_requests_total", "vendor", "model", "code", "error") == {
        ("toy", "toy", "200", ""): 2,
        ("toy", "toy", "400", "rate_limited"): 1,
        ("toy", "toy", "502", "502"): 1,
        ("toy", "", "404", "not_found"): 1,
    }
    assert pick(samples, "emulator_completion_tokens_total", "model") == {("toy",): 3 + 3 + 2}
    assert pick(samples, "emulator_faults_total", "fault") == {("truncate",): 1, ("status",): 1}
    assert pick(samples, "emulator_rule_matches_total", "rule") == {("busy",): 1, ("bent",): 1}
    assert pick(samples, "emulator_in_flight_requests", "vendor") == {("toy",): 0}
    assert pick(samples, "emulator_build_info", "schema_url") == {(SCHEMA,): 1}


async def test_gen_ai_histograms_have_conventional_labels_and_buckets(start: Start) -> None:
    running = await start("version: 1\nclock: instant\nlatency: {ttft: 300ms, itl: 40ms}\n" + RULES, vendors=[TOY])
    for prompt in ("Hi", "rivers"):
        await ask(running, prompt, stream=True)
    await ask(running, "Hi")
    samples = await scrape(running)
    labels = ("gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "error_type")
    assert pick(samples, "gen_ai_server_request_duration_seconds_count", *labels) == {
        ("chat", "toy", "toy", ""): 2,
        ("chat", "toy", "toy", "rate_limited"): 1,
    }
    assert pick(samples, "gen_ai_server_time_to_first_token_seconds_sum", "error_type") == {("",): pytest.approx(0.3)}
    first = pick(samples, "gen_ai_server_time_to_first_token_seconds_bucket", "le")
    assert (first["0.25",], first["0.5",], first["+Inf",]) == (0, 1, 1)
    rest = pick(samples, "gen_ai_server_time_per_output_token_seconds_bucket", "le")
    assert (rest["0.025",], rest["0.05",], rest["+Inf",]) == (0, 1, 1)


async def test_fast_path_calls_are_counted(start: Start) -> None:
    running = await start(vendors=[VENDORS["databricks"]])
    body: JSON = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "stream": True}
    path = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
    for _ in range(5):
        await running.ask("databricks", path, body, headers={"Authorization": "Bearer k"})
    samples = await scrape(running)
    for name in ("request_duration", "time_to_first_token", "time_per_output_token"):
        assert sum(pick(samples, f"gen_ai_server_{name}_seconds_count").values()) == 5
    sent = sum(entry.sent_tokens for entry in running.built.journal)
    assert sum(pick(samples, "emulator_completion_tokens_total").values()) == sent > 0


@pytest.mark.parametrize(
    ("path", "provider"),
    [
        pytest.param("/chat/completions?api-version=2024-05-01-preview", "azure.ai.inference", id="model inference"),
        pytest.param("/openai/v1/chat/completions", "azure.ai.openai", id="Azure OpenAI"),
    ],
)
async def test_provider_label_is_registered_name(start: Start, path: str, provider: str) -> None:
    running = await start(vendors=[VENDORS["azure"]])
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
    answer = await running.ask("azure", path, body, headers={"api-key": "k"})
    assert answer.status == 200
    served = pick(await scrape(running), "gen_ai_server_request_duration_seconds_count", "gen_ai_provider_name")
    assert served == {(provider,): 1}


async def test_model_label_is_bounded_by_configuration(start: Start) -> None:
    running = await start("deployments: [{vendor: databricks, name: mine}]\n", vendors=[VENDORS["databricks"]])
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
    for name in ("mine", "databricks-gpt-oss-20b", *(f"made-up-{number}" for number in range(20))):
        path = f"/serving-endpoints/{name}/invocations"
        await running.ask("databricks", path, body, headers={"Authorization": "Bearer k"})
    models = pick(await scrape(running), "emulator_requests_total", "model")
    assert models.keys() <= {("mine",), ("databricks-gpt-oss-20b",), ("_OTHER",), ("",)}
    assert sum(models.values()) == 22


LIMITED = """
keys: [{token: a, principal: a}, {token: b, principal: b}]
limits:
  - {per: principal, unit: requests, amount: 5, window: 60s}
  - {unit: tokens, amount: 900, window: 60s}
"""


async def test_quota_gauge_reports_smallest_remaining_share(start: Start) -> None:
    running = await start(LIMITED, vendors=[TOY])
    for key in ("a", "a", "b"):
        await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3}, headers={"x-key": key})
    left = pick(await scrape(running), "emulator_quota_remaining", "limit", "unit")
    assert left["limits[0]", "requests"] == 3
    assert 800 < left["limits[1]", "tokens"] < 900


async def test_session_metrics_are_separate(start: Start) -> None:
    running = await start(RULES, vendors=[TOY])
    await ask(running, "Hi")
    await ask(running, "tides", session="a")
    own = await scrape(running, "?session=a")
    assert pick(own, "emulator_requests_total", "code") == {("502",): 1}
    assert {name for name, _ in own} & {"emulator_build_info", "emulator_in_flight_requests"} == set()
    assert sum(pick(await scrape(running), "emulator_requests_total").values()) == 2
    assert pick(await scrape(running, "?session=b"), "emulator_requests_total") == {}
    await control(running, "DELETE", "/sessions/a")
    assert pick(await scrape(running, "?session=a"), "emulator_requests_total") == {}
    assert sum(pick(await scrape(running), "emulator_requests_total").values()) == 2


async def hang_up(running: Running, body: JSON, session: str) -> None:
    """Send a request, read the first byte of the response and disconnect."""
    url, payload = urlsplit(running.urls["toy"]), dump_json(body)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    headers = {"Host": "x", "x-key": "k", "x-emulator-session": session, "Content-Length": str(len(payload))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"POST /chat HTTP/1.1\r\n{head}\r\n".encode() + payload)
    await reader.readuntil(b"\r\n\r\n")
    await reader.read(1)
    writer.transport.abort()


LIVELY = """
version: 1
latency: {ttft: 1ms, itl: 2ms}
rules:
  - {name: busy, when: {prompt: {contains: "7"}}, error: {kind: overloaded}}
  - name: bent
    when: {prompt: {contains: "5"}}
    faults: [{type: truncate, after_tokens: 2}, {type: split, writes: line}]
"""


def compare(samples: Samples, entries: Sequence[JournalEntry]) -> None:
    """Check that metrics add up to the journal."""
    assert pick(samples, "emulator_requests_total", "code") == Counter((str(e.status),) for e in entries)
    assert sum(pick(samples, "emulator_completion_tokens_total").values()) == sum(e.sent_tokens for e in entries)
    assert sum(pick(samples, "emulator_prompt_tokens_total").values()) == sum(e.prompt_tokens for e in entries)
    assert pick(samples, "emulator_faults_total", "fault") == Counter((f,) for e in entries for f in e.faults)
    assert pick(samples, "emulator_rule_matches_total", "rule") == Counter((e.rule,) for e in entries if e.rule)
    durations = sum(pick(samples, "gen_ai_server_request_duration_seconds_sum").values())
    assert durations == pytest.approx(sum(e.duration for e in entries if e.operation is not None))
    left = pick(samples, "emulator_requests_total", "error").get(("client_left",), 0)
    assert left == sum(e.client_left and not e.error for e in entries)


@pytest.mark.slow
async def test_metrics_equal_journal_under_concurrent_clients(start: Start) -> None:
    running = await start(LIVELY, vendors=[TOY])

    async def client(number: int) -> None:
        session = f"s{number % 3}"
        for turn in range(4):
            body: JSON = {"prompt": f"number {number}, turn {turn}", "max": 20, "stream": (number + turn) % 3 != 0}
            if (number + turn) % 4 == 0:
                await hang_up(running, {**body, "max": 400, "stream": True}, session)
            else:
                await running.ask("toy", "/chat", body, headers={**KEY, "x-emulator-session": session})
            if turn == 2:
                await scrape(running)

    async with asyncio.TaskGroup() as group:
        for number in range(32):
            group.create_task(client(number))
    async with asyncio.timeout(60):
        while running.built.runtime.metrics["toy"].in_flight():
            await asyncio.sleep(0.01)
    for session in (None, "s0", "s1", "s2"):
        entries = [call.load() for call in running.built.journal.list_calls(session)]
        compare(await scrape(running, "" if session is None else f"?session={session}"), entries)
    assert sum(e.client_left for e in running.built.journal) >= 20


@pytest.mark.slow
async def test_metrics_equal_journal_on_fast_path(start: Start) -> None:
    running = await start()

    async def client(number: int) -> None:
        for turn in range(6):
            body = chat(f"number {number}, turn {turn // 2}", stream=number % 2 == 0, max_tokens=8)
            if (number + turn) % 6 == 0:
                _, writer = await connect(running)
                writer.write(frame_request(body))
                await writer.drain()
                writer.transport.abort()
            else:
                await running.send("databricks", HEAD.encode(), body)
            if turn == 3:
                await scrape(running)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(32):
            group.create_task(client(number))
    calls = running.built.journal.list_calls()
    compare(await scrape(running), [call.load() for call in calls])


def test_metric_families_are_unique_and_named_by_unit() -> None:
    def check(family: Family) -> bool:
        ends = {"counter": "_total", "histogram": "_seconds", "gauge": ""}
        return family.name.endswith(ends[family.kind]) and family.text.endswith(".")

    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(map(check, FAMILIES))


async def test_cache_hits_and_misses_are_counted(start: Start) -> None:
    running = await start()
    await running.send("databricks", HEAD.encode(), chat("two"))
    asked = [chat(text) for text in ("one", "one", "one", "one", "six")]
    before = await scrape(running)
    for body in asked:
        await running.send("databricks", HEAD.encode(), body)
    after = await scrape(running)

    def grown(name: str) -> dict[str, float]:
        earlier = pick(before, name, "cache")
        return {cache: value - earlier[cache,] for (cache,), value in pick(after, name, "cache").items()}

    hits, misses = grown("emulator_cache_hits_total"), grown("emulator_cache_misses_total")
    assert hits.keys() == misses.keys() == {"heads", "calls", "texts"}
    assert (hits["heads"], misses["heads"]) == (6, 0)  # that of the metrics comes again, too
    assert hits["calls"] >= 1  # the fourth of four
    assert misses["calls"] >= 4
    assert not any(name.startswith("emulator_cache") for name, _ in await scrape(running, "?session=a"))
