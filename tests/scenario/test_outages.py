"""Tests of outages: which calls fail, and when."""

import pytest

from emulator.scenario.outages import DrawnWindows
from tests.conftest import Start
from tests.control.asking import KEY, ask, control
from tests.handler.toy import TOY
from tests.http_client import Running

NORTH = "outages: [{name: north, kind: region, deployments: [toy], between: [60s, 120s]}]"


async def statuses(running: Running, *steps: int) -> list[int]:
    """Return the status of a call after each step of the clock, in seconds."""
    found = []
    for step in steps:
        await control(running, "POST", "/clock", {"advance": f"{step}s"})
        found.append((await ask(running)).status)
    return found


@pytest.mark.covers("language/sections", "outages")
async def test_region_fails_between_its_times(start: Start) -> None:
    running = await start(NORTH, vendors=[TOY])
    first, *rest = await statuses(running, 0, 59, 1, 59, 1)
    assert first == 200
    failed = rest[1]
    assert failed >= 400
    assert rest == [200, failed, failed, 200]
    entries = (await control(running, "GET", "/requests")).json()["requests"]
    assert [entry["rule"] for entry in entries] == [None, None, "outage north", "outage north", None]


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        pytest.param("[09:56, 09:57]", ".x.", id="times of day"),
        pytest.param("['23:00', '09:55:30']", "x..", id="past midnight"),
        pytest.param("[2026-11-23T09:56:00Z, 2026-11-23T10:57:00+01:00]", ".x.", id="dates"),
        pytest.param("[1m, 2m]", ".x.", id="since the start"),
    ],
)
async def test_times_are_those_of_rules(start: Start, between: str, expected: str) -> None:
    clock = "clock: {kind: frozen, start: 2026-11-23T09:55:00Z}"
    running = await start(
        f"version: 1\n{clock}\noutages: [{{name: a, kind: region, between: {between}}}]", vendors=[TOY]
    )
    found = await statuses(running, 0, 60, 60)
    assert "".join("x" if status >= 400 else "." for status in found) == expected


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        pytest.param("kind: region, deployments: [other]", 0, id="another region"),
        pytest.param("kind: region, vendor: toy", 40, id="a vendor"),
        pytest.param("kind: key_rotation", 40, id="every key"),
        pytest.param("kind: brown_out, share: 0", 0, id="all slow"),
        pytest.param("kind: brown_out, share: 1", 40, id="all fail"),
        pytest.param("kind: bad_deploy, share: 0.5", None, id="half of them"),
    ],
)
async def test_kinds_fail_their_share(start: Start, text: str, failing: int | None) -> None:
    outages = f"outages: [{{name: a, {text}, between: [0s, 1h]}}]"
    running = await start(f"version: 1\nclock: instant\n{outages}", vendors=[TOY])
    answers = [await ask(running, f"Hi {number}") for number in range(40)]
    failed = sum(answer.status >= 400 for answer in answers)
    assert failed == failing if failing is not None else 8 < failed < 32


async def test_brown_out_makes_the_others_slow(start: Start) -> None:
    text = "version: 1\nclock: instant\noutages: [{name: a, kind: brown_out, share: 0, ttft: 7s, between: [0s, 1h]}]"
    running = await start(text, vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3}, headers=KEY)
    (entry,) = (await control(running, "GET", "/requests")).json()["requests"]
    assert (entry["rule"], entry["planned_ttft"]) == ("outage a, slow", 7.0)


def test_drawn_windows_are_the_same_each_time_and_do_not_overlap() -> None:
    drawn = DrawnWindows(every="1h", mean="5m", seed=3)  # type: ignore[arg-type]  # as a scenario has them
    windows = [*drawn.list_windows("north")]
    assert windows == [*drawn.list_windows("north")]
    assert windows != [*drawn.list_windows("south")]
    edges = [edge for window in windows for edge in window]
    assert edges == sorted(edges)
    assert 150 < sum(end - begin for begin, end in windows) / len(windows) < 450
