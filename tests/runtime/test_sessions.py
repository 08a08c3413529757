"""Sessions on a live server: isolated state."""

import asyncio
import base64
import json
from urllib.parse import urlsplit

import pytest

from emulator.core.json import dump_json
from emulator.runtime.sessions import IDLE_TIMEOUT, Session, SessionLimits, Sessions
from tests.conftest import FROZEN, Start
from tests.handler.toy import TOY
from tests.http_client import Answer, Running, read_answer
from tests.untyped_json import JSON

SECOND = "rules: [{name: second, when: {endpoint: /chat}, times: {nth: 2}, error: {kind: rate_limited}}]\n"
KEY = {"x-key": "k"}


async def ask(running: Running, session: str = "", prompt: str = "Hi") -> Answer:
    named = {"x-emulator-session": session} if session else {}
    return await running.ask("toy", "/chat", {"prompt": prompt, "max": 3}, headers={**KEY, **named})


async def ask_until_it_fails(running: Running) -> None:
    while True:
        await ask(running)


async def control(running: Running, method: str, target: str, body: bytes = b"") -> Answer:
    return await running.ask("front", f"/_emulator{target}", body or None, method=method)


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(SECOND, vendors=[TOY])


@pytest.mark.covers("promises/sessions", "counters of its own, under the server's scenario too")
async def test_session_has_separate_counters(toy: Running) -> None:
    statuses = [(await ask(toy, session)).status for session in ("a", "b", "", "a", "b", "")]
    assert statuses == [200, 200, 200, 400, 400, 400]


@pytest.mark.covers("promises/sessions", "a scenario of its own")
async def test_session_scenario_does_not_affect_others(toy: Running) -> None:
    text = b"version: 1\nname: mine\nrules: [{name: never, error: {kind: internal}}]\n"
    put = await control(toy, "PUT", "/scenario?session=a", text)
    assert (put.status, put.json()["name"]) == (200, "mine")
    assert [(await ask(toy, session)).status for session in ("a", "b", "")] == [400, 200, 200]
    assert (await control(toy, "GET", "/scenario?session=b")).json()["name"] == "test"
    assert (await control(toy, "GET", "/scenario?session=a")).json()["name"] == "mine"


@pytest.mark.covers("promises/sessions", "what it does not set is the server's")
async def test_session_inherits_unset_server_state(toy: Running) -> None:
    before = (await control(toy, "GET", "/clock")).json()["now"]
    await control(toy, "PUT", "/scenario?session=a", b"version: 1\nname: mine\n")
    assert (await control(toy, "GET", "/clock?session=a")).json()["now"] == before
    await control(toy, "POST", "/clock", b'{"advance": "60s"}')
    assert (await control(toy, "GET", "/clock?session=a")).json()["now"] == before + 60


@pytest.mark.covers("promises/sessions", "a clock of its own")
async def test_session_clock_advance_does_not_affect_server(toy: Running) -> None:
    before = (await control(toy, "GET", "/clock")).json()["now"]
    await ask(toy, "a")
    await control(toy, "POST", "/clock?session=a", b'{"advance": "60s"}')
    assert (await control(toy, "GET", "/clock?session=a")).json()["now"] == before + 60
    assert (await control(toy, "GET", "/clock")).json()["now"] == before
    assert (await ask(toy, "a")).status == 400  # its counters went with it


@pytest.mark.covers("promises/sessions", "a seed of its own")
async def test_session_seed_changes_responses(toy: Running) -> None:
    await control(toy, "PUT", "/scenario?session=a&seed=7", FROZEN.encode())
    await control(toy, "PUT", "/scenario?session=b&seed=7", FROZEN.encode())
    texts = [(await ask(toy, session)).body for session in ("", "a", "b")]
    assert texts[1] == texts[2] != texts[0]


@pytest.mark.covers("promises/sessions", "its reset")
async def test_reset_affects_one_session(toy: Running) -> None:
    for session in ("a", "b"):
        await ask(toy, session)
    await control(toy, "POST", "/reset?session=a")
    assert [(await ask(toy, session)).status for session in ("a", "b")] == [200, 400]
    listed = (await control(toy, "GET", "/requests?session=a")).json()["requests"]
    assert [entry["attempt"] for entry in listed] == [1]


@pytest.mark.covers("language/control plane", "GET /sessions", "DELETE /sessions/{name}")
@pytest.mark.covers("promises/sessions", "from its first use until it is ended", "to end one that is not there is 404")
async def test_sessions_are_listed_from_first_use_until_deleted(toy: Running) -> None:
    await ask(toy, "a")
    await ask(toy, "a")
    await control(toy, "PUT", "/scenario?session=b", b"version: 1\nname: mine\n")
    listed = (await control(toy, "GET", "/sessions")).json()["sessions"]
    assert [(row["name"], row["scenario"], row["calls"]) for row in listed] == [("a", "test", 2), ("b", "mine", 0)]
    assert (await control(toy, "DELETE", "/sessions/a")).status == 200
    assert (await control(toy, "DELETE", "/sessions/a")).status == 404
    assert (await control(toy, "GET", "/requests?session=a")).json()["total"] == 0
    assert (await ask(toy, "a")).status == 200


@pytest.mark.covers("language/control plane", "POST /sessions/{name}/listen")
@pytest.mark.covers("promises/sessions", "that port closes with the session")
async def test_session_port_lasts_until_session_ends(toy: Running) -> None:
    opened = (await control(toy, "POST", "/sessions/a/listen", dump_json({"vendor": "toy"}))).json()["url"]
    assert (await control(toy, "POST", "/sessions/a/listen", dump_json({"vendor": "toy"}))).json()["url"] == opened
    own = Running(toy.built, {"toy": opened})
    assert [(await ask(own)).status for _ in range(2)] == [200, 400]
    assert (await ask(toy)).status == 200
    assert (await control(toy, "GET", "/requests?session=a")).json()["total"] == 2
    await control(toy, "DELETE", "/sessions/a")
    with pytest.raises(OSError, match="Connect call failed"):
        await ask_until_it_fails(own)


async def test_port_for_unserved_vendor_is_rejected(toy: Running) -> None:
    answer = await control(toy, "POST", "/sessions/a/listen", dump_json({"vendor": "toi"}))
    assert (answer.status, "there are toy" in answer.json()["detail"]) == (404, True)


@pytest.mark.covers("promises/sessions", "links carry its path")
async def test_session_path_works_on_both_ports_and_in_links(toy: Running) -> None:
    own = await toy.ask("toy", "/_s/a/open", headers=KEY)
    front = await toy.ask("front", "/_s/a/toy/open", headers=KEY)
    assert [answer.json()["base_url"].rpartition(":")[2].partition("/")[2] for answer in (own, front)] == [
        "_s/a",
        "_s/a/toy",
    ]
    assert {answer.json()["path"] for answer in (own, front)} == {"/open"}
    listed = (await control(toy, "GET", "/requests?session=a")).json()["requests"]
    assert [entry["path"] for entry in listed] == ["/open", "/open"]


CHAT = "/serving-endpoints/chat/completions"
HELLO: JSON = [{"role": "user", "content": "Hi"}]
SAID: JSON = {"model": "databricks-meta-llama-3-3-70b-instruct", "messages": HELLO, "max_tokens": 3}
HERE = f"rules: [{{name: here, when: {{session: a, endpoint: {CHAT}}}, reply: {{text: Here.}}}}]"
BASIC = "Basic " + base64.b64encode(b"token:k~a").decode()


@pytest.mark.covers("promises/sessions", "by a header", case="a header")
@pytest.mark.covers("promises/sessions", "by the path", case="the path")
@pytest.mark.covers("promises/sessions", "by the path on the front", case="the path on the front")
@pytest.mark.covers("promises/sessions", "by a bearer key", case="a bearer token")
@pytest.mark.covers("promises/sessions", "by a basic password", case="a basic password")
@pytest.mark.covers("promises/sessions", "by baggage", case="baggage")
@pytest.mark.covers("promises/sessions", "by a port of its own", case="a port of its own")
@pytest.mark.parametrize(
    ("where", "path", "headers"),
    [
        pytest.param("databricks", CHAT, {"x-emulator-session": "a"}, id="a header"),
        pytest.param("databricks", f"/_s/a{CHAT}", {}, id="the path"),
        pytest.param("front", f"/_s/a/databricks{CHAT}", {}, id="the path on the front"),
        pytest.param("databricks", CHAT, {"Authorization": "Bearer k~a"}, id="a bearer token"),
        pytest.param("databricks", CHAT, {"Authorization": BASIC}, id="a basic password"),
        pytest.param("databricks", CHAT, {"baggage": "b=1,emulator.session=a"}, id="baggage"),
        pytest.param("own", CHAT, {}, id="a port of its own"),
        pytest.param("own", CHAT, {"x-emulator-session": "a"}, id="a header on another's port"),
    ],
)
async def test_session_selector_leaves_request_unchanged(
    start: Start, where: str, path: str, headers: dict[str, str]
) -> None:
    running = await start(HERE)
    plain = await running.ask("databricks", CHAT, SAID, headers={"Authorization": "Bearer k"})
    owner = "b" if headers and where == "own" else "a"
    listen = dump_json({"vendor": "databricks"})
    url = (await control(running, "POST", f"/sessions/{owner}/listen", listen)).json()["url"]
    reached = Running(running.built, {**running.urls, "own": url})
    answer = await reached.ask(where, path, SAID, headers={"Authorization": "Bearer k", **headers})
    assert answer.header("x-emulator-rule") == "here"
    assert answer.header("x-emulator-request-id") == plain.header("x-emulator-request-id")  # the same request
    (entry,) = (await control(running, "GET", "/requests?session=a")).json()["requests"]
    assert (entry["path"], entry["principal"], entry["attempt"]) == (CHAT, "default", 1)


@pytest.mark.covers("promises/sessions", "also one a session's scenario lists")
async def test_key_listed_by_session_scenario_is_not_split(start: Start) -> None:
    running = await start()
    own = b"version: 1\nname: own\nkeys: [{token: team~one, principal: search}]\n"
    await control(running, "PUT", "/scenario?session=a", own)
    url = (await control(running, "POST", "/sessions/a/listen", dump_json({"vendor": "databricks"}))).json()["url"]
    reached = Running(running.built, {**running.urls, "own": url})
    for where, path, headers in (
        ("own", CHAT, {}),
        ("databricks", CHAT, {"x-emulator-session": "a"}),
        ("databricks", f"/_s/a{CHAT}", {}),
    ):
        answer = await reached.ask(where, path, SAID, headers={"Authorization": "Bearer team~one", **headers})
        assert answer.status == 200
    assert [(entry.session, entry.principal) for entry in running.built.journal] == [("a", "search")] * 3


@pytest.mark.covers("promises/sessions", "by the host, in lower case")
async def test_host_selects_session_in_lower_case(start: Start) -> None:
    running = await start()
    body = dump_json(SAID)
    url = urlsplit(running.urls["databricks"])
    head = f"POST {CHAT} HTTP/1.1\r\nHost: Mine.localhost:{url.port}\r\nAuthorization: Bearer k\r\n"
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert (await read_answer(reader)).status == 200
    writer.close()
    assert [entry.session for entry in running.built.journal] == ["mine"]


@pytest.mark.parametrize(
    ("name", "vendor", "status"),
    [
        pytest.param("a%20b", "toy", 400, id="not a session name"),
        pytest.param("a" * 65, "toy", 400, id="too long"),
        pytest.param("a", "toi", 404, id="no such vendor"),
    ],
)
async def test_rejected_port_creates_no_session(toy: Running, name: str, vendor: str, status: int) -> None:
    answer = await control(toy, "POST", f"/sessions/{name}/listen", dump_json({"vendor": vendor}))
    assert (answer.status, answer.header("Content-Type")) == (status, "application/problem+json")
    assert (await control(toy, "GET", "/sessions")).json()["sessions"] == []


@pytest.mark.covers("promises/sessions", "one of the library, with a seed")
async def test_bundled_scenario_is_put_to_session(start: Start) -> None:
    running = await start()
    listed = (await control(running, "GET", "/scenarios")).json()["scenarios"]
    assert "throttled-tenant" in [entry["name"] for entry in listed]
    put = await control(running, "PUT", "/scenario?session=a&name=throttled-tenant&seed=9")
    assert (put.json()["name"], put.json()["seed"]) == ("throttled-tenant", 9)
    assert (await control(running, "GET", "/scenario")).json()["name"] == "test"


@pytest.mark.covers("promises/sessions", "they are refused as a problem")
async def test_invalid_session_name_is_rejected(toy: Running) -> None:
    answer = await toy.ask("toy", "/chat", {"prompt": "Hi"}, headers={**KEY, "x-emulator-session": "a b"})
    assert (answer.status, answer.header("Content-Type")) == (400, "application/problem+json")
    assert "not a session name" in json.loads(answer.body)["detail"]


def test_idle_session_is_evicted_on_use() -> None:
    now = 0.0
    gone: list[str] = []

    def forget(session: Session[object]) -> None:
        gone.append(session.name)

    sessions: Sessions[object] = Sessions(forget, lambda: now)
    sessions.use("old")
    sessions.use("young")
    now = IDLE_TIMEOUT
    sessions.use("young")
    now = IDLE_TIMEOUT + 1
    sessions.use("new")
    assert gone == ["old"]
    assert [session.name for session in sessions] == ["young", "new"]


@pytest.mark.covers("promises/sessions", "unused for long, it goes")
def test_evict_idle_removes_sessions_unused_for_one_hour() -> None:
    now = 0.0
    gone: list[str] = []
    sessions: Sessions[object] = Sessions(lambda session: gone.append(session.name), lambda: now)
    sessions.use("old")
    now = IDLE_TIMEOUT
    sessions.evict_idle()
    assert gone == []
    now = IDLE_TIMEOUT + 1
    sessions.evict_idle()
    assert gone == ["old"]
    assert [*sessions] == []


def test_least_recently_used_session_is_evicted() -> None:
    gone: list[str] = []
    sessions: Sessions[object] = Sessions(
        lambda session: gone.append(session.name), lambda: 0.0, SessionLimits(max_sessions=2)
    )
    for name in ("a", "b", "a", "c"):
        sessions.use(name)
    assert gone == ["b"]


async def test_clock_that_a_session_shares_outlives_the_scenario_of_the_server(toy: Running) -> None:
    await control(toy, "PUT", "/scenario?session=a", b"version: 1\nname: mine\n")
    clock = toy.built.runtime.for_session("a").emulator.clock
    assert clock is toy.built.runtime.active.emulator.clock
    await control(toy, "PUT", "/scenario", b"version: 1\nname: next\nclock: frozen\n")
    sleeping = asyncio.ensure_future(clock.sleep_until(clock.now() + 60))
    await asyncio.sleep(0)
    assert not sleeping.done()
    clock.advance(60)
    await sleeping
    await control(toy, "DELETE", "/sessions/a")
    await clock.sleep_until(clock.now() + 60)  # nobody is left to advance it


async def test_two_requests_for_a_port_at_once_open_one(toy: Running) -> None:
    asked = [control(toy, "POST", "/sessions/a/listen", b'{"vendor": "toy"}') for _ in range(4)]
    assert len({(await each).json()["url"] for each in asyncio.as_completed(asked)}) == 1
    open_for = toy.built.runtime.open_for
    assert open_for is not None
    made = await asyncio.gather(*(open_for("b", "toy") for _ in range(4)))
    assert len(set(made)) == 1
