"""Credentials of a scenario: shown cut, and whole again when they come back."""

import pytest

from emulator.control.keys import hide_keys, restore_keys, show_text
from emulator.core.json import JSON, dump_text
from emulator.scenario.errors import ScenarioError
from emulator.scenario.load import load_text
from emulator.scenario.loaded import LoadedScenario
from tests.conftest import Start
from tests.control.asking import KEY, control
from tests.server.toy import TOY

Keys = list[tuple[str, str]]


def load(keys: Keys) -> LoadedScenario:
    rows: JSON = [{"token": token, "principal": principal} for token, principal in keys]
    return load_text(dump_text({"version": 1, "keys": rows}))


def tokens(loaded: LoadedScenario) -> list[str]:
    return [key.token for key in loaded.scenario.keys or ()]


SAME: Keys = [("dapi-1", "a"), ("dapi-2", "a"), ("dapi-3", "b"), ("x", "c")]


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        pytest.param([("dapi-1", "a")], [("dapi…", "a")], ["dapi-1"], id="one"),
        pytest.param([("dapi-1", "a")], [("other", "a")], ["other"], id="another"),
        pytest.param([("dapi-1", "a")], [("dapi…", "a"), ("new", "b")], ["dapi-1", "new"], id="one more"),
        pytest.param(SAME, [("x…", "c"), ("dapi…", "b")], ["x", "dapi-3"], id="fewer, in another order"),
        pytest.param(
            SAME, [("dapi…", "a"), ("dapi…", "b"), ("dapi…", "a")], ["dapi-1", "dapi-3", "dapi-2"], id="alike"
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
        pytest.param([("dapi-1", "a")], [("dapi…", "b")], id="another principal's"),
        pytest.param([("dapi-1", "a")], [("dabi…", "a")], id="another beginning"),
        pytest.param(SAME, [("dapi…", "a")], id="one of two alike"),
        pytest.param([("dapi-1", "a")], [("dapi…", "a"), ("dapi…", "a")], id="one more alike"),
    ],
)
def test_what_cannot_be_told_is_refused(before: Keys, after: Keys) -> None:
    with pytest.raises(ScenarioError, match=r"keys\[\d\].token: .*… is cut; write it whole"):
        restore_keys(load(after), load(before))


@pytest.mark.parametrize("document", [None, {}, {"version": 1}, {"keys": None}, {"keys": []}, []])
def test_a_scenario_without_keys_is_shown_as_it_is(document: JSON) -> None:
    assert hide_keys(document) == document


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
        pytest.param("[{token: dapi-1, principal: a}]", "[{token: dapi…, principal: a}]", id="where it stands"),
        pytest.param("[{token: 'dapi-1', principal: a}]", "[{token: 'dapi…', principal: a}]", id="in quotes"),
        pytest.param("[{token: k, principal: key}] # k", "[{token: k…, principal: key}] # k", id="a word of others"),
        pytest.param(
            "[{token: dapi-1, principal: a}] # dapi-1", "[{token: dapi…, principal: a}] # dapi…", id="also in a comment"
        ),
        pytest.param(
            "[{token: dapi-1, principal: a}, {token: dapi-2, principal: b}]",
            "[{token: dapi…, principal: a}, {token: dapi…, principal: b}]",
            id="two on a line",
        ),
        pytest.param('[{token: "\\x64api-1", principal: a}]', '"token": "dapi…"', id="written in another way"),
        pytest.param("[{token: 'x1', principal: &p b}, {token: *p, principal: a}]", '"token": "b…"', id="an alias"),
    ],
)
def test_the_text_of_a_scenario_is_shown_with_tokens_cut(text: str, shown: str) -> None:
    loaded = load_text(f"version: 1\nkeys: {text}\n")
    written = show_text(loaded)
    assert shown in written
    assert tokens(restore_keys(load_text(written), loaded)) == tokens(loaded)
