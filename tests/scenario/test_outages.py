"""Tests of outages: which calls fail, and when."""

import random

import pytest

from emulator.core.clock import EPOCH
from emulator.scenario.load import load_text
from emulator.scenario.outages import DrawnWindows
from emulator.scenario.parsed import ScenarioError
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.control.asking import KEY, ask, control
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.tools.soak.load import CHATS

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


RECOVERY = "outages: [{name: north, kind: slow_recovery, between: [60s, 120s], for: 100s}]\n"


@pytest.mark.parametrize("strategy", ["bucket", "fixed", "sliding"])
async def test_quotas_come_back_slowly(start: Start, strategy: str) -> None:
    """Of 10 requests an hour, 1 is back after each tenth of the time; a refused call is told when."""
    limit = f"limits: [{{unit: requests, amount: 10, window: 10000s, strategy: {strategy}}}]"
    running = await start(RECOVERY + limit, vendors=[TOY])
    first, *failing = await statuses(running, 0, 60, 59)
    assert first == 200
    assert failing[0] == failing[1] >= 400
    await control(running, "POST", "/reset")
    await control(running, "POST", "/clock", {"advance": "120s"})
    taken = []
    for _ in range(11):
        taken.append(0)
        while (answer := await ask(running, f"{len(taken)} {taken}")).status == 200:
            taken[-1] += 1
        wait = answer.header("x-retry") or ""
        await control(running, "POST", "/clock", {"advance": "10s"})
        if len(taken) < 11:
            assert 9 < float(wait) <= 10.01
    assert taken == [0, *[1] * 10]


async def test_without_quotas_the_share_that_is_refused_falls(start: Start) -> None:
    running = await start(RECOVERY, vendors=[TOY])
    await control(running, "POST", "/clock", {"advance": "120s"})
    refused = []
    for tenth in range(11):
        answers = [await ask(running, f"{tenth} {number}") for number in range(30)]
        refused.append(sum(answer.status >= 400 for answer in answers))
        await control(running, "POST", "/clock", {"advance": "10s"})
    assert refused[0] == 30
    assert refused[10] == 0
    assert 8 < refused[5] < 22
    (call, *_) = (await control(running, "GET", "/requests?limit=1&detail=true&error=rate_limited")).json()["requests"]
    assert call["summary"].startswith("after the outage north, ")


RETIRED = "outages: [{name: old, kind: retirement, deployments: DEPLOYMENT, between: [60s, 120s]}]\n"


@pytest.mark.parametrize(
    ("vendor", "status"), [("databricks", 404), ("azure", 404), ("openvino", 404), ("mindie", 503), ("tgi", 424)]
)
async def test_retirement_warns_and_then_the_deployment_is_gone(start: Start, vendor: str, status: int) -> None:
    target, model = CHATS[vendor]
    running = await start(RETIRED.replace("deployments: DEPLOYMENT", f"vendor: {vendor}"), vendors=[VENDORS[vendor]])
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    headers = {"authorization": "Bearer a", "api-key": "a"}
    answers = []
    for step in ("0s", "60s", "59s", "1s", "10h"):
        await running.ask(vendor, "/_emulator/clock", {"advance": step}, method="POST")
        answers.append(await running.ask(vendor, target, body, headers=headers))
    assert [answer.status for answer in answers] == [200, 200, 200, status, status]
    warned = [answer.header("sunset") or "" for answer in answers]
    assert warned == ["", "Thu, 01 Jan 2026 00:02:00 GMT", "Thu, 01 Jan 2026 00:02:00 GMT", "", ""]
    assert answers[1].header("deprecation") == "@1767225660"
    warning = answers[1].header("warning") or ""
    assert warning.startswith('299 - "')
    assert warning.endswith(' is retired on Thu, 01 Jan 2026 00:02:00 GMT"')
    entries = (await running.ask(vendor, "/_emulator/requests?detail=true", method="GET")).json()["requests"]
    shown = [entry["response"]["headers"].get("sunset", "") for entry in entries]
    assert shown == warned  # also of calls that are read after the deployment is gone
    assert all(entry["response"]["text"] for entry in entries[:3])


async def test_retirement_spares_other_deployments(start: Start) -> None:
    running = await start(RETIRED.replace("DEPLOYMENT", "other"), vendors=[TOY])
    assert await statuses(running, 60, 60) == [200, 200]


@pytest.mark.parametrize("text", ["kind: region, for: 1s", "kind: slow_recovery", "kind: retirement, principal: a"])
def test_keys_of_other_kinds_are_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        load_text(f"version: 1\noutages: [{{name: a, {text}, between: [0s, 1s]}}]")


async def test_outages_are_the_same_in_any_order_of_calls_session_and_server(start: Start) -> None:
    text = """
version: 1
name: outages
clock: frozen
outages:
  - {name: drawn, kind: region, random: {every: 50s, mean: 10s, seed: 3}}
  - {name: brown, kind: brown_out, share: 0.3, ttft: 0s, random: {every: 40s, mean: 20s, seed: 4}}
  - {name: deploy, kind: bad_deploy, share: 0.3, between: [100s, 200s]}
  - {name: back, kind: slow_recovery, between: [210s, 230s], for: 100s}
"""
    seen = []
    for number, session in enumerate(("", "a", "b")):
        running = await start(text, vendors=[TOY])
        found = {}
        for moment in range(35):
            prompts = [f"{moment} {each}" for each in range(4)]
            random.Random(number).shuffle(prompts)
            for prompt in prompts:
                answer = await ask(running, prompt, session)
                found[prompt] = (answer.status, answer.header("x-emulator-rule"), answer.body)
            await control(running, "POST", f"/clock?session={session}", {"advance": "10s"})
        seen.append(found)
    assert seen[0] == seen[1] == seen[2]
    assert len({rule for _, rule, _ in seen[0].values()}) > 5


@pytest.mark.covers("language/facets", "served")
async def test_bad_deploy_is_one_served_entity_of_a_split(start: Start) -> None:
    running = await start(
        """
deployments: [{vendor: databricks, name: split, mode: provisioned, traits: {served_entities: {stable: 50, canary: 50}}}]
outages: [{name: deploy, kind: bad_deploy, served: canary, between: [0s, 60s]}]
""",
        vendors=[VENDORS["databricks"]],
    )
    headers = {"authorization": "Bearer a"}
    for number in range(40):
        body = {"messages": [{"role": "user", "content": f"{number}"}], "max_tokens": 2}
        await running.ask("databricks", "/serving-endpoints/split/invocations", body, headers=headers)
    entries = (await running.ask("databricks", "/_emulator/requests", method="GET")).json()["requests"]
    failed = sum(entry["rule"] == "outage deploy" for entry in entries)
    assert failed == sum(entry["status"] == 500 for entry in entries)
    assert 8 < failed < 32
    counts = []
    for served in ("stable", "canary"):
        query = {"calls": {"served": served, "rule": "outage deploy"}, "times": {"at_least": 0}}
        counts.append((await running.ask("databricks", "/_emulator/verify", query, method="POST")).json()["count"])
    assert counts == [0, failed]


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ('["60s", "120s"]', [(60.0, 120.0)]),
        ('["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"]', [(60.0, 120.0)]),
        ('["00:01", "00:02"]', [(60.0, 120.0), (86460.0, 86520.0)]),
        ('["23:59", "00:01"]', [(-60.0, 60.0), (86340.0, 86460.0)]),
    ],
)
def test_windows_are_counted_from_the_start(between: str, expected: list[tuple[float, float]]) -> None:
    scenario = load_text(f"version: 1\noutages: [{{name: a, kind: region, between: {between}}}]").scenario
    assert [*scenario.outages[0].list_windows(EPOCH)][:2] == expected
