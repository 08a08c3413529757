"""Limits on the wire, with real vendors and a clock that the test advances."""

import asyncio

import pytest

from tests.conftest import Start
from tests.handler.toy import TOY
from tests.ratelimit.clients import (
    AZURE,
    DATABRICKS,
    FOUNDRY,
    MINDIE,
    OPENAI,
    OPENVINO,
    TGI,
    Chat,
    move,
    toy_stream,
    wait_for,
)
from tests.untyped_json import JSON

everyone = pytest.mark.parametrize(
    "chat", [pytest.param(c, id=c.vendor) for c in (DATABRICKS, AZURE, MINDIE, TGI, OPENVINO)]
)
two = pytest.mark.parametrize("chat", [pytest.param(c, id=c.vendor) for c in (DATABRICKS, AZURE)])


@pytest.mark.slow
@pytest.mark.covers("language/units", "requests")
@pytest.mark.covers("language/keys of a limit", "amount", "window", "strategy")
@everyone
@pytest.mark.parametrize("strategy", ["bucket", "fixed", "sliding"])
async def test_limit_refuses_beyond_amount_with_exact_retry_after(start: Start, chat: Chat, strategy: str) -> None:
    limit = f"{{vendor: {chat.vendor}, unit: requests, amount: 60, window: 60s, strategy: {strategy}}}"
    running = await start(f"limits: [{limit}]")
    move(running, 10)
    assert [(await chat.ask(running)).status for _ in range(60)] == [200] * 60
    refused = await chat.ask(running)
    wait = {"bucket": "1", "fixed": "50", "sliding": "60"}[strategy]
    assert (refused.status, refused.header("Retry-After")) == (429, wait)
    move(running, int(wait) - 0.5)
    assert (await chat.ask(running)).status == 429
    move(running, 0.5)
    assert (await chat.ask(running)).status == 200


@pytest.mark.covers("azure/headers of an answer", "UserByModelByMinuteTokens", "UserByModelByMinuteUncachedInputTokens")
@pytest.mark.parametrize(
    ("chat", "profile", "unit", "text"),
    [
        pytest.param(DATABRICKS, "real", "requests", "Exceeded workspace QPM rate limit for", id="calls of Databricks"),
        pytest.param(
            DATABRICKS, "real", "input_tokens", "workspace input tokens per minute rate", id="prompts of Databricks"
        ),
        pytest.param(DATABRICKS, "real", "tokens", "Exceeded workspace rate limit for", id="tokens of Databricks"),
        pytest.param(
            DATABRICKS, "real", "concurrency", "exceeded the concurrent limit of 9 requests.", id="Databricks at once"
        ),
        pytest.param(AZURE, "seed", "requests", "Rate limit reached. Retry after", id="Azure's seed"),
        pytest.param(AZURE, "maas", "tokens", "Rate limit reached. Retry after", id="Azure's serverless models"),
        pytest.param(
            FOUNDRY, "foundry", "requests", "of 9 per 60s exceeded for UserByModelByMinute.", id="calls of Foundry"
        ),
        pytest.param(FOUNDRY, "foundry", "output_tokens", "for UserByModelByMinuteTokens.", id="tokens of Foundry"),
        pytest.param(
            FOUNDRY, "foundry", "input_tokens", "for UserByModelByMinuteUncachedInputTokens.", id="prompts of Foundry"
        ),
        pytest.param(
            FOUNDRY, "foundry", "concurrency", "of 9 per 0s exceeded for UserConcurrentRequests.", id="Foundry at once"
        ),
        pytest.param(OPENAI, "aoai", "tokens", "have exceeded token rate limit", id="tokens of Azure OpenAI"),
        pytest.param(OPENAI, "aoai", "concurrency", "have exceeded call rate limit", id="Azure OpenAI at once"),
        pytest.param(MINDIE, "strict", "requests", "Too many requests", id="MindIE"),
    ],
)
async def test_refusal_uses_vendor_message(start: Start, chat: Chat, profile: str, unit: str, text: str) -> None:
    window = "" if unit == "concurrency" else ", window: 60s"
    running = await start(
        f"vendors: {{{chat.vendor}: {{profile: {profile}}}}}\nlatency: {{ttft: 10s}}\n"
        f"limits: [{{unit: {unit}, amount: 9{window}}}]\n"
    )
    calls = [asyncio.create_task(chat.ask(running, max_tokens=5)) for _ in range(10)]
    refused = (await wait_for(running, calls, 1))[0]
    assert (refused.status, text in refused.body.decode()) == (429, True), refused.body
    while not all(call.done() for call in calls):
        move(running, 10)
        await asyncio.sleep(0.001)


@pytest.mark.covers("language/units", "concurrency")
@two
async def test_concurrency_limit_admits_eight(start: Start, chat: Chat) -> None:
    running = await start(
        "latency: {ttft: 10s}\nlimits: [{per: deployment, unit: concurrency, amount: 8}]\n",
    )
    calls = [asyncio.create_task(chat.ask(running)) for _ in range(12)]
    refused = await wait_for(running, calls, 4)
    assert [(answer.status, answer.header("Retry-After")) for answer in refused] == [(429, "10")] * 4
    move(running, 9.9)
    assert ((await chat.ask(running)).status, sum(call.done() for call in calls)) == (429, 4)
    move(running, 0.1)
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status for answer in answers) == [200] * 8 + [429] * 4
    again = [asyncio.create_task(chat.ask(running)) for _ in range(9)]
    assert [answer.status for answer in await wait_for(running, again, 1)] == [429]
    move(running, 10)
    await asyncio.gather(*again)


async def test_errors_do_not_consume_quota(start: Start) -> None:
    running = await start(
        "limits: [{unit: requests, amount: 2, window: 60s}]\n"
        "rules: [{name: r, when: {prompt: Fail}, error: {kind: overloaded}}]\n",
    )
    failing = {"messages": [{"role": "user", "content": "Fail"}]}
    for _ in range(3):
        answer = await running.ask("databricks", DATABRICKS.path, failing, headers=DATABRICKS.headers)
        assert answer.status == 503
        answer = await running.ask("databricks", DATABRICKS.path, {"messages": 3}, headers=DATABRICKS.headers)
        assert answer.status == 400
        answer = await running.ask("databricks", "/api/2.0/serving-endpoints", headers=DATABRICKS.headers)
        assert answer.status == 200
    assert [(await DATABRICKS.ask(running)).status for _ in range(3)] == [200, 200, 429]


async def test_unused_reservation_is_refunded(start: Start) -> None:
    running = await start(
        "limits: [{unit: output_tokens, amount: 100, window: 60s}]\nrules: [{name: r, reply: {text: Hi}}]\n"
    )
    for _ in range(20):
        assert (await DATABRICKS.ask(running, max_tokens=80)).status == 200
    refused = await DATABRICKS.ask(running, max_tokens=90)
    assert (refused.status, refused.header("Retry-After")) == (429, "6")


async def test_impossible_request_has_no_retry_after(start: Start) -> None:
    running = await start("limits: [{unit: output_tokens, amount: 100, window: 30s}]")
    refused = await DATABRICKS.ask(running, max_tokens=101)
    assert (refused.status, refused.header("Retry-After")) == (429, None)


@pytest.mark.covers("promises/sessions", "quotas of its own")
async def test_principals_and_sessions_have_separate_quotas(start: Start) -> None:
    keys = "keys: [{token: search, principal: search}, {token: batch, principal: batch}]\n"
    running = await start(keys + "limits: [{per: principal, unit: requests, amount: 1, window: 60s}]")
    batch = Chat("databricks", DATABRICKS.path, headers={"Authorization": "Bearer batch"})
    assert [(await DATABRICKS.ask(running)).status for _ in range(2)] == [200, 429]
    assert [(await batch.ask(running)).status for _ in range(2)] == [200, 429]
    assert (await batch.ask(running, x_emulator_session="other")).status == 200


async def test_reset_clears_quotas(start: Start) -> None:
    running = await start("limits: [{unit: requests, amount: 1, window: 60s, strategy: fixed}]")
    move(running, 30)
    assert [(await DATABRICKS.ask(running)).status for _ in range(2)] == [200, 429]
    assert (await running.ask("front", "/_emulator/reset", method="POST")).status < 300
    assert (await DATABRICKS.ask(running)).status == 200
    assert (await DATABRICKS.ask(running)).header("Retry-After") == "60"


async def test_disconnected_client_is_charged_for_sent_tokens(start: Start) -> None:
    limits = "limits: [{unit: output_tokens, amount: 20, window: 1000h, strategy: fixed}]\n"
    quick = "rules: [{name: quick, when: {prompt: Quick}, latency: {ttft: 0s, itl: 0s}}]\n"
    running = await start("latency: {ttft: 1s, itl: 1s}\n" + limits + quick, vendors=[TOY])
    reader, writer = await toy_stream(running, 20)
    for _ in range(4):
        move(running, 1)
        await reader.readuntil(b"\r\n")
        await reader.readuntil(b"\r\n")
    writer.close()
    await writer.wait_closed()
    while not list(running.built.journal):
        move(running, 1)
        await asyncio.sleep(0.001)
    sent = next(iter(running.built.journal)).sent_tokens
    assert 4 <= sent <= 6
    for tokens, status in ((21 - sent, 400), (20 - sent, 200)):
        answer = await running.ask("toy", "/chat", {"prompt": "Quick", "max": tokens}, headers={"x-key": "k"})
        assert answer.status == status


async def test_faulted_response_is_charged_for_delivered_tokens(start: Start) -> None:
    running = await start(
        "limits: [{unit: output_tokens, amount: 100, window: 60s}]\n"
        "rules: [{name: r, times: {first: 1}, faults: [{type: disconnect, after_tokens: 7}]}]\n",
        vendors=[TOY],
    )
    body: JSON = {"prompt": "Hi", "max": 60, "stream": True}
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await running.ask("toy", "/chat", body, headers={"x-key": "k"})
    for tokens, status in ((94, 400), (93, 200)):
        answer = await running.ask("toy", "/chat", {"prompt": "Hi", "max": tokens}, headers={"x-key": "k"})
        assert answer.status == status


async def test_retry_after_is_in_client_seconds(start: Start) -> None:
    limit = "limits: [{unit: requests, amount: 1, window: 600s, strategy: fixed}]\n"
    scaled = await start("version: 1\nname: fast\nclock: {scale: 60}\n" + limit)
    assert [(await DATABRICKS.ask(scaled)).header("Retry-After") for _ in range(2)] == [None, "10"]
    instant = await start("version: 1\nname: instant\nclock: instant\n" + limit)
    for _ in range(3):
        assert (await DATABRICKS.ask(instant)).status == 200
        refused = await DATABRICKS.ask(instant)
        assert (refused.status, refused.header("Retry-After")) == (429, "0")
