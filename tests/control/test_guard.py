"""Who may steer: tables of what browsers and strangers send, and the same over a live port."""

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict

from emulator.control.guard import Guard
from emulator.control.problem import ProblemError
from emulator.control.routes import ROUTES
from tests.conftest import Start
from tests.server.toy import TOY
from tests.wire import Answer, Running, read_answer

GUARD = Guard(("emulator.test", "*.svc.test"), machine="Build-7")
STEERING = [(route.method, route.path) for route in ROUTES]


def check(guard: Guard, headers: Mapping[str, str] | list[tuple[str, str]]) -> int:
    """200, or the status of the refusal."""
    try:
        guard.check_browser(CIMultiDict(headers))
    except ProblemError as error:
        return error.problem.status
    return 200


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:4010",
        "localhost.",
        "a.localhost:4011",
        "127.0.0.1:4010",
        "127.9.9.9",
        "10.0.0.7:4010",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.2:80",
        "169.254.7.7",
        "[::1]:4010",
        "[fe80::1]",
        "[fd12::1]:4010",
        "[::ffff:127.0.0.1]:4010",
        "emulator",
        "emulator:4010",
        "build-7:4010",
        "build-7.local",
        "emulator.test:4010",
        "a.b.svc.test",
    ],
)
def test_it_may_be_asked_for_as(host: str) -> None:
    assert check(GUARD, {"Host": host}) == 200
    assert check(GUARD, {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4010",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "notlocalhost.example",
        "8.8.8.8:4010",
        "172.32.0.1",
        "[2001:4860:4860::8888]:4010",
        "[::ffff:8.8.8.8]",
        "svc.test",
        "xemulator.test",
        "x.emulator.test",
        "build-7.example",
        "[::1",
        "",
    ],
)
def test_a_name_that_others_may_own_is_refused(host: str) -> None:
    assert check(GUARD, {"Host": host}) == 403
    assert check(GUARD, {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}) == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="no browser"),
        pytest.param({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200, id="an address that was typed"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, 200, id="a page of ours that reads"),
        pytest.param({"Origin": "http://localhost:4010", "Sec-Fetch-Site": "same-origin"}, 200, id="one that steers"),
        pytest.param({"Origin": "http://localhost:4010"}, 200, id="one in a browser that says no site"),
        pytest.param({"Origin": "http://localhost:3000"}, 403, id="another port of the same host"),
        pytest.param({"Origin": "http://localhost"}, 403, id="the usual port of the same host"),
        pytest.param({"Origin": "http://127.0.0.1:4010"}, 403, id="another name of the same machine"),
        pytest.param({"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}, 403, id="the same site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 403, id="the same site, reading"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="another origin"),
        pytest.param({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403, id="another site"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="a simple request that reads"),
        pytest.param({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403, id="a link, a frame"),
        pytest.param({"Sec-Fetch-Site": "what"}, 403, id="a site that is not known yet"),
        pytest.param({"Origin": "null"}, 403, id="a page without an origin"),
        pytest.param({"Origin": ""}, 403, id="an empty origin"),
        pytest.param({"Origin": "http://[::1"}, 403, id="an origin that is none"),
        pytest.param({"Origin": "http://localhost:4010.evil.example"}, 403, id="a name that begins like ours"),
        pytest.param({"Origin": "http://localhost:4010@evil.example"}, 403, id="our name as a user's"),
        pytest.param({"Origin": "https://emulator.test", "Sec-Fetch-Site": "cross-site"}, 200, id="a host let in"),
        pytest.param({"Origin": "https://a.svc.test:8443"}, 200, id="a host below one let in"),
        pytest.param({"Origin": "https://emulator.test.evil.example"}, 403, id="one that begins like it"),
    ],
)
def test_pages_of_other_origins_are_refused(headers: dict[str, str], status: int) -> None:
    assert check(GUARD, {"Host": "localhost:4010", **headers}) == status


@pytest.mark.parametrize("name", ["Host", "Origin", "Sec-Fetch-Site"])
def test_a_second_header_hides_nothing(name: str) -> None:
    good = {"Host": "localhost", "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    bad = {"Host": "evil.example", "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert check(GUARD, [*good.items(), (name, bad[name])]) == 403


def test_who_names_no_host_is_no_browser() -> None:
    assert check(GUARD, {}) == 200


def let_in(guard: Guard, remote: str | None, headers: Mapping[str, str]) -> int:
    """200, or the status of the refusal."""
    try:
        guard.check_caller(CIMultiDict(headers), remote)
    except ProblemError as error:
        return error.problem.status
    return 200


@pytest.mark.parametrize(
    ("remote", "status"),
    [
        ("127.0.0.1", 200),
        ("::1", 200),
        ("10.1.2.3", 200),
        ("172.17.0.1", 200),
        ("192.168.0.9", 200),
        ("fe80::1%eth0", 200),
        ("fd00::7", 200),
        ("::ffff:10.0.0.1", 200),
        (None, 200),
        ("8.8.8.8", 403),
        ("172.32.0.1", 403),
        ("::ffff:8.8.8.8", 403),
        ("2001:4860:4860::8888", 403),
    ],
)
def test_without_a_token_callers_of_private_addresses_may_steer(remote: str, status: int) -> None:
    assert let_in(Guard(), remote, {}) == status
    assert let_in(Guard(token="t"), remote, {"x-emulator-token": "t"}) == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Authorization": "Bearer s3cret"}, 200, id="as a bearer"),
        pytest.param({"authorization": "bearer  s3cret "}, 200, id="in any case, with blanks"),
        pytest.param({"x-emulator-token": "s3cret"}, 200, id="in a header of its own"),
        pytest.param({"x-emulator-token": "s3cret", "Authorization": "Bearer other"}, 200, id="beside another"),
        pytest.param({}, 401, id="none"),
        pytest.param({"x-emulator-token": ""}, 401, id="an empty one"),
        pytest.param({"x-emulator-token": "s3cre"}, 401, id="half of it"),
        pytest.param({"x-emulator-token": "s3cret\udcff"}, 401, id="bytes that are no text"),
        pytest.param({"Authorization": "s3cret"}, 401, id="without a scheme"),
        pytest.param({"Authorization": "Basic s3cret"}, 401, id="with another scheme"),
    ],
)
def test_a_token_is_asked_for_where_there_is_one(headers: dict[str, str], status: int) -> None:
    assert let_in(Guard(token="s3cret"), "127.0.0.1", headers) == status


async def send(running: Running, method: str, path: str, headers: str) -> Answer:
    """A head as a browser sends it, on the vendor's port."""
    url = urlsplit(running.urls["toy"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    try:
        lines = headers.format(port=url.port)
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        return await read_answer(reader)
    finally:
        writer.close()


REBOUND = "Host: rebound.evil.example:{port}\r\nSec-Fetch-Site: same-origin\r\n"
FROM_ELSEWHERE = "Host: 127.0.0.1:{port}\r\nOrigin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n"
READS_ELSEWHERE = "Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"


@pytest.mark.parametrize("headers", [REBOUND, FROM_ELSEWHERE, READS_ELSEWHERE], ids=["rebound", "steers", "reads"])
async def test_no_page_from_elsewhere_steers_or_reads(start: Start, headers: str) -> None:
    toy = await start("keys: [{token: k, principal: me}]\nrules: [{name: r, reply: {text: Hi}}]\n", vendors=[TOY])
    before = toy.built.runtime.active
    for method, path in STEERING:
        answer = await send(toy, method, f"/_emulator{path}", headers)
        assert answer.status == 403, path
        assert answer.header("Content-Type") == "application/problem+json"
        assert answer.header("Access-Control-Allow-Origin") is None
    assert (await send(toy, "OPTIONS", "/_emulator/reset", headers)).status == 403
    assert toy.built.runtime.active is before
    assert (await send(toy, "GET", "/echo", headers)).status == 401  # vendors are asked as ever


async def test_a_page_of_ours_may_steer(start: Start) -> None:
    toy = await start("", vendors=[TOY])
    ours = "Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n"
    assert (await send(toy, "POST", "/_emulator/reset", ours)).status == 200


async def test_only_probes_and_the_bare_page_answer_without_the_token(start: Start) -> None:
    toy = await start("", vendors=[TOY])
    toy.built.control.guard = Guard(token="t")
    for method, path in STEERING:
        answer = await send(toy, method, f"/_emulator{path}", "Host: x\r\n")
        assert answer.status == (200 if path in ("", "/health", "/ready") else 401), path
    refused = await send(toy, "POST", "/_emulator/reset", "Host: x\r\n")
    assert refused.header("WWW-Authenticate") == 'Bearer realm="emulator"'
    assert (await send(toy, "POST", "/_emulator/reset", "Host: x\r\nx-emulator-token: t\r\n")).status == 200
