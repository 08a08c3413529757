"""Records read after documents, clock and scenario have changed: what was sent and received."""

import json
from collections.abc import Awaitable, Callable

import pytest

from emulator.control.models import RequestEntry
from emulator.core.json import Object, as_array, as_object
from emulator.handler.call_record import CallRecord
from tests.conftest import Start
from tests.http.calls import HEAD, MODEL, chat
from tests.http_client import Answer, Running
from tests.report_page import read_details

SECRET = "key-of-mine"  # in the head
Change = Callable[[Running], Awaitable[object]]


def control(method: str, target: str, body: str = "") -> Change:
    return lambda running: running.ask("front", f"/_emulator{target}", body.encode() or None, method=method)


async def tag(running: Running) -> object:
    """Store a document that changes the responses of later calls."""
    tags = {"add_tags": [{"key": "team", "value": "tides"}]}
    path = f"/api/2.0/serving-endpoints/{MODEL}/tags"
    return await running.ask("databricks", path, tags, method="PATCH", headers={"Authorization": "Bearer k"})


async def crowd(running: Running) -> object:
    """Send other bodies with the same head."""
    return [await running.send("databricks", HEAD.encode(), chat(f"Question {number}")) for number in range(20)]


OTHER = "version: 1\nname: other\nseed: 9\nclock: frozen\n"
RULE = "rules: [{name: other, reply: {text: Something else.}}]\n"
CHANGES = [
    pytest.param(control("POST", "/clock", '{"advance": "1h"}'), id="time goes by"),
    pytest.param(control("PUT", "/scenario", OTHER), id="another seed"),
    pytest.param(control("PUT", "/scenario", OTHER + RULE), id="a rule that takes it"),
    pytest.param(control("PUT", "/scenario", OTHER + "vendors: {databricks: {profile: seed}}\n"), id="another profile"),
    pytest.param(control("PUT", "/scenario", OTHER + "vendors: {databricks: false}\n"), id="its vendor is gone"),
    pytest.param(control("PUT", "/scenario", OTHER + "journal: {bodies: none}\n"), id="bodies are no longer kept"),
    pytest.param(control("PUT", "/scenario?session=a", OTHER + RULE), id="another scenario of another session"),
    pytest.param(control("POST", "/clock?session=a", '{"advance": "1h"}'), id="a clock of another session"),
    pytest.param(tag, id="a document is kept"),
    pytest.param(crowd, id="others ask with the same head"),
]


async def ask_twice(running: Running, head: str, body: bytes) -> list[Answer]:
    return [await running.send("databricks", head.encode(), body) for _ in range(2)]


@pytest.mark.parametrize("stream", [False, True], ids=["in one piece", "a stream"])
async def test_to_list_a_call_its_answer_is_not_made_once_more(start: Start, stream: bool) -> None:
    running = await start()
    await ask_twice(running, HEAD, chat("Hello", stream=stream))
    slip = running.built.journal.list_calls()[-1]
    assert isinstance(slip, CallRecord)
    for path in ("/requests", "/rules", f"/requests?deployment={MODEL}"):
        await running.ask("front", f"/_emulator{path}")
    assert slip.entry is None
    glanced = {name: getattr(slip.without_payload(), name) for name in RequestEntry.model_fields}
    assert glanced == {name: getattr(slip.load(), name) for name in RequestEntry.model_fields}
    assert glanced["summary"] == "No rules apply."


async def whole(running: Running, answer: Answer, session: str = "") -> Object:
    target = f"/_emulator/requests/{answer.header('x-emulator-request-id')}?session={session}"
    found = await running.ask("front", target)
    assert found.status == 200, found.body
    return as_object(found.json())


def compare(entry: Object, answer: Answer, body: bytes) -> None:
    """Assert that an entry equals what the client sent and received."""
    request, response = as_object(entry["request"]), as_object(entry["response"])
    assert (request["body"], request["bytes"], entry["status"]) == (json.loads(body), len(body), answer.status)
    assert as_object(request["headers"])["authorization"] == "Bearer …"
    sent = {name.lower(): value for name, value in answer.headers}
    assert as_object(response["headers"]).items() <= sent.items()
    assert response["bytes"] == len(answer.body)
    if not entry["stream"]:
        assert response["body"] == answer.json()
        said = answer.json()["choices"][0]["message"]["content"]
    else:
        events = answer.events()
        assert response["events"] == len(events)  # the terminator too
        said = "".join(event["choices"][0]["delta"].get("content", "") for event in events[:-1] if event["choices"])
    assert response["text"] == said
    assert SECRET not in json.dumps(entry)


@pytest.mark.covers("promises/journal", "a call read after time went by", case="time goes by")
@pytest.mark.covers("promises/journal", "a call read after its scenario", case="a rule that takes it")
@pytest.mark.covers("promises/journal", "a call read after its vendor", case="its vendor is gone")
@pytest.mark.parametrize("stream", [False, True], ids=["in one piece", "streamed"])
@pytest.mark.parametrize("change", CHANGES)
async def test_record_shows_the_bytes_sent(start: Start, change: Change, stream: bool) -> None:
    running = await start()
    body = chat(stream=stream)
    answers = await ask_twice(running, HEAD, body)
    await change(running)
    for number, answer in enumerate(answers):
        entry = await whole(running, answer)
        compare(entry, answer, body)
        assert (entry["attempt"], entry["retries"]) == (number + 1, 1 - number)
        assert (entry["summary"], entry["explanation"], entry["principal"]) == ("No rules apply.", [], "default")


@pytest.mark.covers("promises/verification", "a call of the fast path")
async def test_it_can_be_verified_and_is_among_the_nearest_after_another_scenario(start: Start) -> None:
    running = await start()
    await ask_twice(running, HEAD, chat())
    await control("PUT", "/scenario", OTHER + RULE)(running)
    facets = {"prompt": {"contains": "tide"}, "header.authorization": f"Bearer {SECRET}", "attempt": 2, "whole": True}
    found = await running.ask("front", "/_emulator/verify", {"calls": facets, "times": {"exactly": 1}})
    assert found.status == 200, found.body
    missed = await running.ask("front", "/_emulator/verify", {"calls": {**facets, "finish_reason": "length"}})
    assert "prompt ✓" in missed.json()["detail"]
    assert SECRET not in missed.json()["detail"].partition("\n")[2]


WAYS = [
    pytest.param("x-emulator-session: a\r\n", "", "", id="header"),
    pytest.param("baggage: emulator.session=a\r\n", "", "", id="baggage"),
    pytest.param("", "/_s/a", "", id="path"),
    pytest.param("", "", "~a", id="key"),
]


@pytest.mark.covers("promises/journal", "a quick call is its session's")
@pytest.mark.parametrize(("more", "prefix", "suffix"), WAYS)
async def test_it_is_its_sessions_by_every_way(start: Start, more: str, prefix: str, suffix: str) -> None:
    running = await start()
    head = HEAD.replace("POST ", f"POST {prefix}").replace(SECRET, SECRET + suffix) + more
    body = chat()
    await ask_twice(running, HEAD, body)  # of no session, which asks the same
    for answer in await ask_twice(running, head, body):
        entry = await whole(running, answer, "a")
        compare(entry, answer, body)
        assert (entry["session"], str(entry["path"])[:3]) == ("a", "/se")
    listed = (await running.ask("front", "/_emulator/requests?session=a")).json()["requests"]
    assert [row["attempt"] for row in listed] == [1, 2]
    await running.ask("front", "/_emulator/sessions/a", method="DELETE")
    assert (await running.ask("front", "/_emulator/requests?session=a")).json()["total"] == 0
    assert (await running.ask("front", "/_emulator/requests?session=")).json()["total"] == 2


async def test_a_port_of_its_own_is_its_sessions(start: Start) -> None:
    running = await start()
    opened = await running.ask("front", "/_emulator/sessions/a/listen", {"vendor": "databricks"})
    own = Running(running.built, {**running.urls, "databricks": opened.json()["url"]})
    body = chat()
    for answer in await ask_twice(own, HEAD, body):
        compare(await whole(running, answer, "a"), answer, body)


@pytest.mark.covers("promises/journal", "a quick call shows no credential")
async def test_a_report_has_it_whole_and_no_credential(start: Start) -> None:
    running = await start()
    answers = await ask_twice(running, HEAD, chat("Where do tides come from?"))
    await control("PUT", "/scenario", OTHER + RULE)(running)
    page = (await running.ask("front", "/_emulator/report", {}, method="POST")).body.decode()
    details = "".join(read_details(page))
    assert details.count("Where do tides come from?") >= 2
    assert all(str(answer.header("x-emulator-request-id")) in page for answer in answers)
    assert SECRET not in page + details


async def test_what_is_not_kept_is_not_made_again(start: Start) -> None:
    running = await start("journal: {bodies: none}\n")
    for answer in await ask_twice(running, HEAD, chat()):
        entry = await whole(running, answer)
        request, response = as_object(entry["request"]), as_object(entry["response"])
        assert (request["kept"], request["body"], request["headers"]) == (False, None, {})
        assert (response["kept"], response["text"], response["bytes"]) == (False, None, len(answer.body))
        assert as_array(entry["explanation"]) == []
