"""Tests that credentials of a scenario are masked, and restored when they are sent back."""

import io
import re

import pytest

from emulator.control.token_masks import mask_keys, restore_keys, show_text
from emulator.core.json import JSON, dump_text
from emulator.observability.access_log import AccessLog
from emulator.scenario.load import load_text
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from tests.conftest import Start
from tests.control.asking import KEY, control
from tests.control.test_events import Viewer
from tests.handler.toy import TOY
from tests.report_page import read_details

Keys = list[tuple[str, str]]


def load(keys: Keys) -> ParsedScenario:
    rows: JSON = [{"token": token, "principal": principal} for token, principal in keys]
    return load_text(dump_text({"version": 1, "keys": rows}))


def tokens(loaded: ParsedScenario) -> list[str]:
    return [key.token for key in loaded.scenario.keys or ()]


SAME: Keys = [("dapi-search-1", "a"), ("dapi-search-2", "a"), ("dapi-search-3", "b"), ("x", "c")]


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        pytest.param([("dapi-search-1", "a")], [("dapi…", "a")], ["dapi-search-1"], id="one"),
        pytest.param([("dapi-search-1", "a")], [("other", "a")], ["other"], id="another"),
        pytest.param([("dapi-search-1", "a")], [("dapi…", "a"), ("new", "b")], ["dapi-search-1", "new"], id="one more"),
        pytest.param(SAME, [("…", "c"), ("dapi…", "b")], ["x", "dapi-search-3"], id="fewer, in another order"),
        pytest.param(
            SAME,
            [("dapi…", "a"), ("dapi…", "b"), ("dapi…", "a")],
            ["dapi-search-1", "dapi-search-3", "dapi-search-2"],
            id="alike",
        ),
    ],
)
def test_what_was_shown_is_whole_again(before: Keys, after: Keys, whole: list[str]) -> None:
    restored = restore_keys(load(after), load(before))
    assert tokens(restored) == whole
    assert restored.digest == load([(token, who) for token, (_, who) in zip(whole, after, strict=True)]).digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([], [("dapi…", "a")], id="there was none"),
        pytest.param([("dapi-search-1", "a")], [("dapi…", "b")], id="another principal's"),
        pytest.param([("dapi-search-1", "a")], [("dabi…", "a")], id="another beginning"),
        pytest.param(SAME, [("dapi…", "a")], id="one of two alike"),
        pytest.param([("dapi-search-1", "a")], [("dapi…", "a"), ("dapi…", "a")], id="one more alike"),
    ],
)
def test_tokens_that_cannot_be_restored_are_refused(before: Keys, after: Keys) -> None:
    with pytest.raises(
        ScenarioError,
        match=r"keys\[\d\].token: .*… is redacted and matches no single current key; enter the full token",
    ):
        restore_keys(load(after), load(before))


@pytest.mark.parametrize("document", [None, {}, {"version": 1}, {"keys": None}, {"keys": []}, []])
def test_a_scenario_without_keys_is_shown_as_it_is(document: JSON) -> None:
    assert mask_keys(document) == document


async def test_no_token_is_shown(start: Start) -> None:
    toy = await start("keys: [{token: dapi-never-shown, principal: search}]\n", vendors=[TOY])
    shown = (await control(toy, "GET", "/scenario")).json()["document"]
    assert shown["keys"] == [{"token": "dapi…", "principal": "search"}]
    for path in ("/scenario", "/scenarios", "/requests?detail=true", "/deployments", "/metrics", "/sessions"):
        assert b"never-shown" not in (await control(toy, "GET", path)).body, path
    again = await control(toy, "PUT", "/scenario", dump_text(shown))
    assert again.status == 200
    assert b"never-shown" not in again.body
    assert (await toy.ask("toy", "/echo", headers={"x-key": "dapi-never-shown"})).status == 200
    assert (await toy.ask("toy", "/echo", headers=KEY)).status == 401


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("[{token: dapi-search-1, principal: a}]", "[{token: dapi…, principal: a}]", id="at its place"),
        pytest.param("[{token: 'dapi-search-1', principal: a}]", "[{token: 'dapi…', principal: a}]", id="in quotes"),
        pytest.param("[{token: k, principal: key}] # k", "[{token: …, principal: key}] # k", id="a word of others"),
        pytest.param(
            "[{token: dapi-search-1, principal: a}] # dapi-search-1",
            "[{token: dapi…, principal: a}] # dapi…",
            id="also in a comment",
        ),
        pytest.param(
            "[{token: dapi-search-1, principal: a}, {token: dapi-search-2, principal: b}]",
            "[{token: dapi…, principal: a}, {token: dapi…, principal: b}]",
            id="two on a line",
        ),
        pytest.param('[{token: "\\x64api-search-1", principal: a}]', '"token": "dapi…"', id="written in another way"),
        pytest.param("[{token: 'x1', principal: &p b}, {token: *p, principal: a}]", '"token": "…"', id="an alias"),
    ],
)
def test_the_text_of_a_scenario_is_shown_with_tokens_cut(text: str, shown: str) -> None:
    loaded = load_text(f"version: 1\nkeys: {text}\n")
    written = show_text(loaded)
    assert shown in re.sub(r"…[0-9a-f]{6}", "…", written)
    assert tokens(restore_keys(load_text(written), loaded)) == tokens(loaded)


@pytest.mark.parametrize("token", ["x", "any", "dapi-1", "dapi-search-1", "k" * 200])
async def test_text_that_is_shown_and_sent_back_is_the_same(start: Start, token: str) -> None:
    text = (
        (
            f"keys: [{{token: {token}, principal: a}}, {{token: {token}2, principal: a}}]  # {token}2\n"
            f'rules: [{{name: a, when: {{prompt: "{token}2"}}, reply: {{text: Said "{token}2".}}}}]\n'
        )
        .replace('Said "', "'Said \"")
        .replace('".}', "\".'}")
    )
    toy = await start(text, vendors=[TOY])
    first = (await control(toy, "GET", "/scenario")).json()
    for _ in range(3):
        shown = (await control(toy, "GET", "/scenario")).json()
        assert (shown["text"], shown["hash"]) == (first["text"], first["hash"])
        sent = await control(toy, "PUT", "/scenario", shown["text"].replace("principal: a}, ", "principal: a},  "))
        assert sent.status == 200, sent.body
        assert (await toy.ask("toy", "/chat", {"prompt": f"{token}2"}, headers={"x-key": f"{token}2"})).status == 200
        first["text"] = sent.json()["text"]


async def test_principal_of_a_masked_key_can_be_renamed(start: Start) -> None:
    toy = await start("keys: [{token: any, principal: a}, {token: other, principal: b}]\n", vendors=[TOY])
    text = (await control(toy, "GET", "/scenario")).json()["text"]
    assert "any" not in text
    assert (await control(toy, "PUT", "/scenario", text.replace("principal: a", "principal: c"))).status == 200
    await toy.ask("toy", "/chat", {"prompt": "Hi"}, headers={"x-key": "any"})
    assert (await control(toy, "GET", "/requests")).json()["requests"][-1]["principal"] == "c"


TOKEN = "dapi-NEVER-SHOWN-1"
SAYS = f"""
description: The key is {TOKEN}.
keys: [{{token: {TOKEN}, principal: search}}]
rules:
  - {{name: "{TOKEN} alone", when: {{header.authorization: Bearer {TOKEN}}}, reply: {{text: "Said {TOKEN}."}}}}
  - {{name: "dapi… alone", when: {{prompt: never}}, reply: {{text: a}}}}
  - {{name: near, when: {{prompt: {{contains: "{TOKEN}!"}}}}, reply: {{text: "Said {TOKEN}."}}}}
  - {{name: "asks for {TOKEN}", when: {{prompt: {{contains: {TOKEN}}}}}, reply: {{text: "Said {TOKEN}."}}}}
"""


async def test_listed_token_appears_in_no_response(start: Start) -> None:
    toy = await start(SAYS, vendors=[TOY])
    stream = io.StringIO()
    log = AccessLog(as_json=True, stream=stream)
    toy.built.journal.listeners.append(log)
    answer = await toy.ask(
        "toy", f"/chat?a={TOKEN}", {"prompt": f"Is it {TOKEN}?"}, headers={"x-key": TOKEN, "x-odd": TOKEN}
    )
    assert answer.body.startswith(b"Said dapi-NEVER")  # the text of a reply is the author's
    await toy.ask("toy", "/chat", {"prompt": "Hi"}, headers={"x-key": TOKEN})
    log.flush()
    for path in ("/scenario", "/rules", "/requests?detail=true", "/requests", "/scenarios", "/metrics", "/sessions"):
        said = (await control(toy, "GET", path)).body
        assert b"NEVER-SHOWN" not in said, path
    report = (await control(toy, "POST", "/report", {})).body.decode()
    assert "NEVER" not in report + "".join(read_details(report))
    assert "NEVER" not in stream.getvalue()
    names = (await control(toy, "GET", "/scenario")).json()["rules"]
    assert names == ["dapi… alone (2)", "dapi… alone", "near", "asks for dapi…"]
    assert len({row["name"] for row in (await control(toy, "GET", "/rules")).json()["rules"]}) == 4


async def test_events_contain_no_token(start: Start) -> None:
    toy = await start(SAYS, vendors=[TOY])
    async with Viewer(toy, "?since=0") as viewer:
        await toy.ask("toy", "/chat", {"prompt": f"Is it {TOKEN}?"}, headers={"x-key": TOKEN})
        _, entry = await viewer.event()
    assert entry["rule"] == "asks for dapi…"
    assert "NEVER" not in dump_text(entry)
