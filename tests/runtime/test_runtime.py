"""State of a session, and its lifetime."""

import asyncio
from collections.abc import Mapping

import pytest

from emulator.core.json import Object
from emulator.runtime.sessions import IDLE_TIMEOUT, MAX_SESSIONS, Sessions
from tests.conftest import Start
from tests.control.asking import ask, control
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.ratelimit.clients import move, wait_for


async def now_of(running: Running, session: str) -> float:
    clock: Object = (await control(running, "GET", f"/clock?session={session}")).json()
    return float(str(clock["now"]))


@pytest.mark.covers("promises/sessions", "places of its own")
async def test_session_has_separate_capacity(start: Start) -> None:
    running = await start("latency: {ttft: 10s, load: {capacity: 1, queue: 0}}\n", vendors=[TOY])
    calls = [asyncio.create_task(ask(running, prompt, session)) for session in ("a", "b", "") for prompt in ("1", "2")]
    refused = await wait_for(running, calls, 3)
    assert [answer.body.split(b":")[0] for answer in refused] == [b"overloaded"] * 3
    move(running, 10)
    await asyncio.gather(*calls)
    assert [sorted(call.result().status for call in calls[at : at + 2])[0] for at in (0, 2, 4)] == [200] * 3


@pytest.mark.covers("promises/sessions", "running calls of its own")
async def test_session_has_separate_concurrency(start: Start) -> None:
    limit = "latency: {ttft: 10s}\nlimits: [{unit: concurrency, amount: 1}]\n"
    running = await start(limit, vendors=[TOY])
    calls = [asyncio.create_task(ask(running, prompt, session)) for session in ("a", "b") for prompt in ("1", "2")]
    await wait_for(running, calls, 2)
    move(running, 10)
    await asyncio.gather(*calls)
    listed: list[Mapping[str, object]] = (await control(running, "GET", "/requests")).json()["requests"]
    assert sorted((str(row["session"]), str(row["error"])) for row in listed) == [
        ("a", "None"),
        ("a", "rate_limited"),
        ("b", "None"),
        ("b", "rate_limited"),
    ]


@pytest.mark.covers("promises/sessions", "attempts of its own")
async def test_attempts_are_counted_per_session(start: Start) -> None:
    running = await start(vendors=[TOY])
    for session in ("a", "b", "a", ""):
        await ask(running, "Hi", session)
    assert [(entry.session, entry.attempt) for entry in running.built.journal] == [
        ("a", 1),
        ("b", 1),
        ("a", 2),
        ("", 1),
    ]


@pytest.mark.covers("promises/sessions", "its clock ends with it")
async def test_session_clock_ends_with_session(start: Start) -> None:
    running = await start(vendors=[TOY])
    before = await now_of(running, "a")
    await control(running, "POST", "/clock?session=a", b'{"advance": "1h"}')
    assert await now_of(running, "a") == before + 3600
    assert (await control(running, "DELETE", "/sessions/a")).status == 200
    assert await now_of(running, "a") == before


@pytest.mark.covers("promises/sessions", "its scenario ends with it")
async def test_session_scenario_ends_with_session(start: Start) -> None:
    running = await start(vendors=[TOY])
    await control(running, "PUT", "/scenario?session=a", "version: 1\nname: own\n")
    assert (await control(running, "GET", "/scenario?session=a")).json()["name"] == "own"
    await control(running, "DELETE", "/sessions/a")
    assert (await control(running, "GET", "/scenario?session=a")).json()["name"] == "test"


@pytest.mark.covers("promises/sessions", "the list says when it was used")
async def test_sessions_list_idle_time(start: Start) -> None:
    running = await start(vendors=[TOY])
    for session in ("old", "young"):
        await ask(running, "Hi", session)
    rows = {row["name"]: row["idle_seconds"] for row in (await control(running, "GET", "/sessions")).json()["sessions"]}
    assert rows["old"] >= rows["young"] >= 0
    await ask(running, "Hi", "old")
    rows = {row["name"]: row["idle_seconds"] for row in (await control(running, "GET", "/sessions")).json()["sessions"]}
    assert rows["young"] >= rows["old"]


@pytest.mark.covers("promises/sessions", "names that are taken")
@pytest.mark.parametrize("name", ["a", "A-Za-z0-9._-", "x" * 64])
async def test_valid_session_name_is_accepted(start: Start, name: str) -> None:
    running = await start(vendors=[TOY])
    assert (await ask(running, "Hi", name)).status == 200
    assert (await control(running, "GET", f"/requests?session={name}")).json()["total"] == 1


@pytest.mark.covers("promises/sessions", "how long that is, and how many there are")
def test_session_limits_are_one_hour_and_ten_thousand() -> None:
    gone: list[str] = []
    now = 0.0
    sessions: Sessions[object] = Sessions(lambda session: gone.append(session.name), lambda: now)
    for number in range(10_001):
        sessions.use(str(number))
    assert gone == ["0"]
    now = 3600.0
    sessions.evict_idle()
    assert len(gone) == 1
    now = 3600.1
    sessions.evict_idle()
    assert (len(gone), IDLE_TIMEOUT, MAX_SESSIONS) == (10_001, 3600.0, 10_000)
