"""Tests of the console's page as served; `tests/console` opens it in a browser."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from emulator.core.json import as_array, as_object
from tests.conftest import Start
from tests.control.asking import ask, control
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.report_page import read_run


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start("", vendors=[TOY])


@pytest.mark.covers("language/control plane", "GET ")
@pytest.mark.parametrize("port", ["front", "toy"])
async def test_console_is_one_page_without_external_sources(toy: Running, port: str) -> None:
    answer = await toy.ask(port, "/_emulator/")
    assert (answer.status, answer.header("Content-Type")) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in (answer.header("Content-Security-Policy") or "")
    page = answer.body.decode()
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in (answer.header("Content-Security-Policy") or "")
    assert page.startswith("<!doctype html>")
    assert not re.search(r"(src|href)=[\"'](?!data:|#)|@import|https?://(?!www\.w3\.org|127\.0\.0\.1:4010/)", page)


@pytest.mark.covers("language/control plane", "POST /report")
async def test_report_embeds_calls_in_page(toy: Running) -> None:
    await ask(toy, "Hello")
    await ask(toy, "Goodbye", session="a")
    for session, count in ((None, 2), ("a", 1), ("nobody", 0)):
        asked = {"title": "run", **({} if session is None else {"session": session})}
        answer = await control(toy, "POST", "/report", asked)
        assert (answer.status, answer.header("Content-Type")) == (200, "text/html; charset=utf-8")
        page = answer.body.decode()
        policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src'
        assert policy in page
        assert "connect-src 'none'" in page
        run = read_run(page)
        assert (run["title"], len(as_array(run["calls"]))) == ("run", count)
        views = {"/scenario", "/rules", "/limits", "/deployments", "/status", "/timing", "/usage"}
        assert set(as_object(run["answers"])) == views


async def test_requests_before_returns_older_page(toy: Running) -> None:
    for _ in range(5):
        await ask(toy)
    rows = (await control(toy, "GET", "/requests?limit=2&before=4")).json()["requests"]
    assert [row["seq"] for row in rows] == [2, 3]
