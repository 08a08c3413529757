"""Sessions set up by control requests, among crowds that vendor requests create by name."""

import logging
import re
from pathlib import Path

import pytest

from emulator.http.listeners import MAX_PORTS, MAX_PORTS_OF_SESSION
from emulator.runtime.sessions import IDLE_TIMEOUT, SessionLimits, Sessions, estimate_size
from emulator.scenario.load import load_text
from tests.conftest import Start
from tests.handler.shared import PLAIN, open_replicas
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.runtime.test_sessions import ask, control
from tests.storage.servers import KINDS, find_server
from tests.storage.servers import running as running_store

LIMITED = b"version: 1\nrules: [{name: a, error: {kind: rate_limited}}]\n"
REFUSED = 400  # the toy's status of a body that is too large
FEW = SessionLimits(max_sessions=5, max_own=3)


@pytest.fixture
async def toy(start: Start) -> Running:
    running = await start("", vendors=[TOY])
    running.built.runtime.sessions.limits = FEW
    return running


async def crowd(toy: Running, count: int = 12) -> None:
    """Make calls in many sessions that no control request set up."""
    for number in range(count):
        assert (await ask(toy, f"z{number}")).status == 200


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        pytest.param("PUT", "/scenario?session=victim", LIMITED, id="a scenario"),
        pytest.param("POST", "/clock?session=victim", b'{"advance": "1h"}', id="a clock that was moved"),
        pytest.param("POST", "/clock?session=victim", b'{"clock": "frozen"}', id="a clock of another kind"),
        pytest.param("POST", "/reset?session=victim", b"", id="a beginning"),
        pytest.param("POST", "/sessions/victim/listen", b'{"vendor": "toy"}', id="a port"),
    ],
)
async def test_configured_session_survives_eviction(
    toy: Running, method: str, target: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await control(toy, method, target, body)).status == 200
    before = (await control(toy, "GET", "/clock?session=victim")).json()["kind"]
    with caplog.at_level(logging.WARNING):
        await crowd(toy)
    names = {session.name for session in toy.built.runtime.sessions}
    assert names == {"victim", *(f"z{number}" for number in range(7, 12))}
    assert (await control(toy, "GET", "/clock?session=victim")).json()["kind"] == before
    assert (await ask(toy, "victim")).status == (REFUSED if body == LIMITED else 200)
    status = (await control(toy, "GET", "/status")).json()
    assert (status["sessions"], status["own_sessions"], status["forgotten_sessions"]) == (6, 1, 7)
    assert sum("more than 5 sessions" in record.message for record in caplog.records) == 1


async def test_configured_sessions_have_separate_limit(toy: Running) -> None:
    for name in ("a", "b", "c"):
        assert (await control(toy, "PUT", f"/scenario?session={name}", LIMITED)).status == 200
    for method, target, body in (
        ("PUT", "/scenario?session=d", LIMITED),
        ("POST", "/reset?session=d", b""),
        ("POST", "/clock?session=d", b'{"advance": "1h"}'),
        ("POST", "/clock?session=d", b'{"clock": "frozen"}'),
        ("POST", "/sessions/d/listen", b'{"vendor": "toy"}'),
    ):
        refused = await control(toy, method, target, body)
        assert (refused.status, refused.header("Content-Type")) == (429, "application/problem+json"), target
        assert "3 sessions have a scenario, clock or port of their own" in refused.json()["detail"]
    assert (await ask(toy, "d")).status == 200
    assert (await control(toy, "PUT", "/scenario?session=a", LIMITED)).status == 200
    assert (await control(toy, "PUT", "/scenario", LIMITED)).status == 200
    assert (await control(toy, "DELETE", "/sessions/b")).status == 200
    assert (await control(toy, "PUT", "/scenario?session=d", LIMITED)).status == 200


def make_rules(count: int) -> bytes:
    rules = (f"- {{name: r{number}, when: {{prompt: word}}, reply: {{text: a}}}}\n" for number in range(count))
    return b"version: 1\nrules:\n" + "".join(rules).encode()


@pytest.mark.slow
async def test_session_scenarios_are_limited_by_size(toy: Running) -> None:
    text = make_rules(200)
    weight = estimate_size(load_text(text, "scenario"))
    toy.built.runtime.sessions.limits = SessionLimits(max_weight=2 * weight + 1000)
    statuses = [(await control(toy, "PUT", f"/scenario?session={name}", text)).status for name in ("a", "b", "c", "a")]
    assert statuses == [200, 200, 429, 200]
    refused = await control(toy, "PUT", "/scenario?session=c", text)
    assert "scenarios of sessions take" in refused.json()["detail"].lower()
    assert (await control(toy, "DELETE", "/sessions/a")).status == 200
    assert (await control(toy, "PUT", "/scenario?session=c", text)).status == 200


async def test_session_scenario_stores_only_token_locations(toy: Running) -> None:
    text = make_rules(3) + b"keys: [{token: dapi-search-secret, principal: search}]  # ours\n"
    for session in ("a", ""):
        assert (await control(toy, "PUT", f"/scenario?session={session}", text)).status == 200
        shown = (await control(toy, "GET", f"/scenario?session={session}")).json()["text"]
        expected = re.escape(text.decode()).replace(re.escape("dapi-search-secret"), "dapi…[0-9a-f]{6}")
        assert re.fullmatch(expected, shown)
    sent = load_text(text, "scenario").locations
    own = toy.built.runtime.for_session("a").loaded.locations
    assert own.values == {("keys", 0, "token"): sent.values["keys", 0, "token"]}
    assert own.keys == {}
    assert toy.built.runtime.active.loaded.locations.values == sent.values
    broken = await control(toy, "PUT", "/scenario?session=a", text + b"seed: x\n")
    assert (broken.status, broken.json()["errors"][0]["line"]) == (422, 7)


@pytest.mark.slow
def test_estimate_size_grows_with_scenario() -> None:
    least, more, text = (
        estimate_size(load_text(each, "scenario"))
        for each in (b"version: 1\n", make_rules(1000), b"version: 1\nname: " + b"x" * 8_000_000)
    )
    assert least < 64 * 1024
    assert 5_000_000 < more < 15_000_000
    assert text > 16_000_000


async def test_session_ports_are_limited(toy: Running) -> None:
    listeners = toy.built.runtime.open_for
    assert listeners is not None
    own = listeners.__self__._own  # type: ignore[attr-defined]
    assert (await control(toy, "POST", "/sessions/a/listen", b'{"vendor": "toy"}')).status == 200
    kept = dict(own)
    try:
        for name, count, owner in (("b", MAX_PORTS_OF_SESSION, "this session"), ("", MAX_PORTS, "sessions")):
            sock = next(iter(kept.values()))
            own.clear()
            own.update({(name or f"s{number}", f"v{number}"): sock for number in range(count)})
            refused = await control(toy, "POST", "/sessions/b/listen", b'{"vendor": "toy"}')
            assert (refused.status, refused.header("Content-Type")) == (429, "application/problem+json")
            assert f"{count:,} ports of {owner} are open" in refused.json()["detail"]
    finally:
        own.clear()
        own.update(kept)
    assert (await control(toy, "POST", "/sessions/b/listen", b'{"vendor": "toy"}')).status == 200


def test_configured_session_expires_when_idle() -> None:
    now = 0.0
    gone: list[str] = []
    sessions: Sessions[object] = Sessions(lambda session: gone.append(session.name), lambda: now, FEW)
    sessions.keep("own")
    sessions.use("plain")
    now = IDLE_TIMEOUT + 1
    sessions.evict_idle()
    assert sorted(gone) == ["own", "plain"]
    assert sessions.explain_full("d") is None


@pytest.mark.parametrize("kind", KINDS)
async def test_configured_session_survives_eviction_on_every_replica(kind: str, tmp_path: Path) -> None:
    if find_server(kind) is None:
        pytest.skip(f"no {kind} is installed")
    with running_store(kind, tmp_path) as url:
        async with open_replicas(url, PLAIN, 2) as replicas:
            for replica in replicas:
                replica.built.runtime.sessions.limits = SessionLimits(max_sessions=5, max_own=1)
            assert (await control(replicas[0], "PUT", "/scenario?session=victim", LIMITED)).status == 200
            for replica in replicas:
                await crowd(replica)
            assert [(await ask(replica, "victim")).status for replica in replicas] == [REFUSED] * 2
            refused = [await control(replica, "PUT", "/scenario?session=d", LIMITED) for replica in replicas]
            assert [answer.status for answer in refused] == [429, 429]
