"""Tests of the authorisation of control requests, by table and over a live port."""

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict

from emulator.control.auth import ControlAuth
from emulator.control.routes import ROUTES
from emulator.core.errors import ProblemError
from tests.conftest import Start
from tests.handler.toy import TOY
from tests.http_client import Answer, Running, read_answer

GUARD = ControlAuth(("emulator.test", "*.svc.test"), hostname="Build-7")
STEERING = [(route.method, route.path) for route in ROUTES]


LOOPBACK: tuple[str | None, ...] = ("127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1", None)
PRIVATE: tuple[str | None, ...] = (
    "172.18.0.2",
    "10.0.0.7",
    "192.168.1.5",
    "169.254.7.7",
    "fd00::7",
    "fe80::1%eth0",
    "::ffff:10.0.0.1",
)
PUBLIC: tuple[str | None, ...] = ("203.1.113.7", "2001:4860:4860::1", "::ffff:203.1.113.7")


def check(
    guard: ControlAuth,
    headers: Mapping[str, str] | list[tuple[str, str]],
    local: str | None = "127.0.0.1",
    target: str = "/",
) -> int:
    """Return 200, or the status of the refusal."""
    try:
        guard.check_browser(CIMultiDict(headers), target, local)
    except ProblemError as error:
        return error.status
    return 200


LOCAL_NAMES = [
    "localhost",
    "LOCALHOST:4010",
    "localhost.",
    "a.localhost:4011",
    "127.0.0.1:4010",
    "127.9.9.9",
    "[::1]:4010",
    "[::1]",
    "[::ffff:127.0.0.1]:4010",
    "build-7:4010",
    "build-7.",
    "emulator.test:4010",
    "a.b.svc.test",
    "EMULATOR.test.:4010",
]
"""Names of loopback, of this machine, and of the setting."""
ADDRESSES = [
    "10.0.0.7:4010",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.2:80",
    "169.254.7.7",
    "[fe80::1]",
    "[fd12::1]:4010",
    "[fe80::1%25eth0]:4010",
    "[::ffff:10.0.0.1]",
    "0.0.0.0:4010",
    "build-7.local",
]
"""Names of this machine on a private network."""
SHORT_NAMES = ["emulator", "emulator:4010", "free-wifi:4010", "x", "wpad", "EMULATOR.:4010"]
"""Names that a private network resolves."""
TOKENS = pytest.mark.parametrize("token", [None, "t"], ids=["no token", "token"])


def look(host: str, local: str | None, token: str | None) -> set[int]:
    """Return the statuses for a host: plain, with a same origin, and in an absolute URL."""
    guard = ControlAuth(GUARD.hosts, token, GUARD.hostname)
    page = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    whole = check(guard, {"Host": "localhost"}, local, f"http://{host}/_emulator/reset")
    return {check(guard, {"Host": host}, local), check(guard, page, local), whole}


@TOKENS
@pytest.mark.parametrize("host", LOCAL_NAMES)
def test_local_host_names_are_allowed(host: str, token: str | None) -> None:
    for local in (*LOOPBACK, *PRIVATE, *PUBLIC):
        assert look(host, local, token) == {200}, local


@TOKENS
@pytest.mark.parametrize("host", ADDRESSES)
def test_private_addresses_are_allowed_except_on_loopback(host: str, token: str | None) -> None:
    for local in (*PRIVATE, *PUBLIC):
        assert look(host, local, token) == {200}, local
    for local in LOOPBACK:
        assert look(host, local, token) == {403}, local


@TOKENS
@pytest.mark.parametrize("host", SHORT_NAMES)
def test_undotted_names_are_allowed_only_on_private_addresses(host: str, token: str | None) -> None:
    for local in PRIVATE:
        assert look(host, local, token) == {200}, local
    for local in (*LOOPBACK, *PUBLIC):
        assert look(host, local, token) == {403}, local


@pytest.mark.parametrize("local", [*LOOPBACK, *PRIVATE, *PUBLIC])
def test_cross_origin_page_is_rejected_for_every_local_name(local: str | None) -> None:
    for host in LOCAL_NAMES:
        for origin in ("http://free-wifi:4010", "http://localhost:3000", "https://evil.example", "null"):
            assert check(GUARD, {"Host": host, "Origin": origin}, local) == 403, (host, origin)
        assert check(GUARD, {"Host": host, "Sec-Fetch-Site": "cross-site"}, local) == 403, host


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
        "evil.example.",
        "EVIL.EXAMPLE.:4010",
        "localhost..",
        "evil.localhost.example",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost:4010@evil.example:4010",
        "evil.example#@localhost",
        "localhost#.evil.example",
        "localhost/.evil.example",
        "localhost?.evil.example",
        "localhost\\.evil.example",
        "localhost evil.example",
        "[2001:4860:4860::8888%25eth0]:4010",
        "[64:ff9b::808:808]",
        "8.8.8.8.",
        "127.0.0.1.nip.io",
        "%6cocalhost.example",
    ],
)
def test_foreign_host_is_rejected(host: str) -> None:
    page = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    for local in (*LOOPBACK, *PRIVATE, *PUBLIC):
        assert check(GUARD, {"Host": host}, local) == 403
        assert check(GUARD, page, local) == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="no browser"),
        pytest.param({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200, id="an address that was typed"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, 200, id="a page of ours that reads"),
        pytest.param({"Origin": "http://localhost:4010", "Sec-Fetch-Site": "same-origin"}, 200, id="one that steers"),
        pytest.param({"Origin": "http://localhost:4010"}, 200, id="one in a browser that sends no site"),
        pytest.param({"Origin": "http://localhost:3000"}, 403, id="another port of the same host"),
        pytest.param({"Origin": "http://localhost"}, 403, id="the usual port of the same host"),
        pytest.param({"Origin": "http://127.0.0.1:4010"}, 403, id="another name of the same machine"),
        pytest.param({"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}, 403, id="the same site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 403, id="the same site, reading"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="another origin"),
        pytest.param({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403, id="another site"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="a simple request that reads"),
        pytest.param({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403, id="a link, a frame"),
        pytest.param({"Sec-Fetch-Site": "what"}, 403, id="an unknown site"),
        pytest.param({"Origin": "null"}, 403, id="a page without an origin"),
        pytest.param({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 403, id="a sandbox that claims our origin"),
        pytest.param({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403, id="what another site led here"),
        pytest.param({"Origin": "http://localhost:4010, null"}, 403, id="two origins in one"),
        pytest.param({"Origin": "HTTP://LOCALHOST:4010"}, 200, id="ours in upper case"),
        pytest.param({"Origin": "http://localhost.:4010"}, 403, id="ours with a dot behind it"),
        pytest.param({"Origin": "http://localhost:04010"}, 200, id="ours with a nought before its port"),
        pytest.param({"Origin": "http://localhost:4010:80"}, 403, id="two ports"),
        pytest.param({"Origin": "http://localhost:69546"}, 403, id="a port beyond all"),
        pytest.param({"Origin": "http://evil.example:4010"}, 403, id="our port elsewhere"),
        pytest.param({"Origin": "http://user@localhost:4011"}, 403, id="a user of another port"),
        pytest.param({"Origin": "capacitor://localhost:4010"}, 403, id="an app"),
        pytest.param({"Origin": "file://"}, 403, id="a file"),
        pytest.param({"Origin": "chrome-extension://abcdef"}, 403, id="an extension"),
        pytest.param({"Origin": "http://[::1%25lo]:4010"}, 403, id="an address with a zone"),
        pytest.param({"Sec-Fetch-Site": "Same-Origin"}, 403, id="a site in other letters than browsers have"),
        pytest.param({"Sec-Fetch-Site": "none, cross-site"}, 403, id="two sites in one"),
        pytest.param({"Origin": ""}, 403, id="an empty origin"),
        pytest.param({"Origin": "http://[::1"}, 403, id="an origin that is none"),
        pytest.param({"Origin": "http://localhost:4010.evil.example"}, 403, id="a name that begins like ours"),
        pytest.param({"Origin": "http://localhost:4010@evil.example"}, 403, id="our name as a user's"),
        pytest.param({"Origin": "https://emulator.test", "Sec-Fetch-Site": "cross-site"}, 200, id="a host let in"),
        pytest.param({"Origin": "https://a.svc.test:8443"}, 200, id="a host below one let in"),
        pytest.param({"Origin": "https://emulator.test.evil.example"}, 403, id="one that begins like it"),
    ],
)
def test_cross_origin_pages_are_rejected(headers: dict[str, str], status: int) -> None:
    assert check(GUARD, {"Host": "localhost:4010", **headers}) == status


@pytest.mark.parametrize("name", ["Host", "Origin", "Sec-Fetch-Site"])
def test_duplicate_header_is_rejected(name: str) -> None:
    good = {"Host": "localhost", "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    bad = {"Host": "evil.example", "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert check(GUARD, [*good.items(), (name, bad[name])]) == 403


def test_app_scheme_on_default_port_is_rejected() -> None:
    assert check(GUARD, {"Host": "localhost", "Origin": "capacitor://localhost"}) == 403
    assert check(GUARD, {"Host": "localhost", "Origin": "http://localhost"}) == 200


def test_request_without_host_is_allowed() -> None:
    assert check(GUARD, {}) == 200


def let_in(guard: ControlAuth, remote: str | None, headers: Mapping[str, str]) -> int:
    """Return 200, or the status of the refusal."""
    try:
        guard.check_caller(CIMultiDict(headers), remote)
    except ProblemError as error:
        return error.status
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
def test_without_token_only_private_callers_are_allowed(remote: str, status: int) -> None:
    assert let_in(ControlAuth(), remote, {}) == status
    assert let_in(ControlAuth(token="t"), remote, {"x-emulator-token": "t"}) == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Authorization": "Bearer s3cret"}, 200, id="as a bearer"),
        pytest.param({"authorization": "bearer  s3cret "}, 200, id="in any case, with blanks"),
        pytest.param({"x-emulator-token": "s3cret"}, 200, id="in a header of its own"),
        pytest.param({"x-emulator-token": "s3cret", "Authorization": "Bearer other"}, 200, id="with another"),
        pytest.param({}, 401, id="none"),
        pytest.param({"x-emulator-token": ""}, 401, id="an empty one"),
        pytest.param({"x-emulator-token": "s3cre"}, 401, id="half of it"),
        pytest.param({"x-emulator-token": "s3cret\udcff"}, 401, id="bytes that are no text"),
        pytest.param({"Authorization": "s3cret"}, 401, id="without a scheme"),
        pytest.param({"Authorization": "Basic s3cret"}, 401, id="with another scheme"),
    ],
)
def test_configured_token_is_required(headers: dict[str, str], status: int) -> None:
    assert let_in(ControlAuth(token="s3cret"), "127.0.0.1", headers) == status


async def send(running: Running, method: str, path: str, headers: str) -> Answer:
    """Return the request head of a browser on the vendor's port."""
    url = urlsplit(running.urls["toy"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    try:
        lines = headers.format(port=url.port)
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        return await read_answer(reader)
    finally:
        writer.close()


REBOUND_SHORT = "Host: free-wifi:{port}\r\nOrigin: http://free-wifi:{port}\r\nSec-Fetch-Site: same-origin\r\n"
REBOUND = "Host: rebound.evil.example:{port}\r\nSec-Fetch-Site: same-origin\r\n"
OURS = "Host: localhost\r\n"
FROM_ELSEWHERE = "Host: 127.0.0.1:{port}\r\nOrigin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n"
READS_ELSEWHERE = "Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"
HERE = "Host: 127.0.0.1:{port}\r\n"
BROWSERS = {
    "rebound": REBOUND,
    "rebound by a name without a dot": REBOUND_SHORT,
    "rebound by mDNS": "Host: free-wifi.local:{port}\r\n",
    "rebound, with a dot": "Host: evil.example.:{port}\r\n",
    "steers": FROM_ELSEWHERE,
    "reads": READS_ELSEWHERE,
    "from a sandbox": f"{HERE}Origin: null\r\n",
    "from another port": f"{HERE}Origin: http://127.0.0.1:1\r\nSec-Fetch-Site: same-site\r\n",
    "reads from another port": f"{HERE}Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n",
    "led here": f"{HERE}Origin: null\r\nSec-Fetch-Site: cross-site\r\nReferer: https://evil.example/\r\n",
    "asks before": f"{HERE}Origin: https://evil.example\r\nAccess-Control-Request-Method: PUT\r\n"
    "Access-Control-Request-Headers: content-type\r\nAccess-Control-Request-Private-Network: true\r\n",
    "a socket": f"{HERE}Origin: https://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    "a form": f"{HERE}Origin: https://evil.example\r\nContent-Type: text/plain\r\n",
    "a user of ours": "Host: 127.0.0.1:{port}@evil.example\r\n",
}


@pytest.mark.parametrize("headers", [pytest.param(lines, id=name) for name, lines in BROWSERS.items()])
async def test_cross_origin_page_cannot_change_or_read_state(start: Start, headers: str) -> None:
    toy = await start("keys: [{token: k, principal: me}]\nrules: [{name: r, reply: {text: Hi}}]\n", vendors=[TOY])
    before = toy.built.runtime.active
    for method, path in STEERING:
        answer = await send(toy, method, f"/_emulator{path}", headers)
        assert answer.status == 403, path
        assert answer.header("Content-Type") == "application/problem+json"
        assert answer.header("Access-Control-Allow-Origin") is None
    asked = await send(toy, "OPTIONS", "/_emulator/reset", headers)
    assert asked.status == 403
    assert not [name for name, _ in asked.headers if name.lower().startswith(("access-control-", "upgrade", "sec-w"))]
    assert toy.built.runtime.active is before
    assert (await send(toy, "GET", "/echo", headers)).status == 401  # vendors are asked as ever


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://localhost/_emulator/reset", 200),
        ("HTTP://LOCALHOST.:4010/_emulator/reset", 200),
        ("http://user:pass@127.0.0.1/_emulator/reset", 200),
        ("http://[::1]:4010/_emulator/reset", 200),
        ("http://evil.example/_emulator/reset", 403),
        ("http://localhost@evil.example/_emulator/reset", 403),
        ("http://8.8.8.8/_emulator/reset", 403),
        ("https://evil.example:4010/_emulator/reset", 403),
    ],
)
async def test_absolute_url_host_is_checked(start: Start, target: str, status: int) -> None:
    toy = await start("", vendors=[TOY])
    answer = await send(toy, "POST", target, HERE)
    assert answer.status == status
    assert b"pass" not in answer.body


async def test_same_origin_page_is_allowed(start: Start) -> None:
    toy = await start("", vendors=[TOY])
    ours = "Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n"
    assert (await send(toy, "POST", "/_emulator/reset", ours)).status == 200


async def test_only_probes_console_page_and_certificate_need_no_token(start: Start) -> None:
    toy = await start("", vendors=[TOY])
    toy.built.control.auth = ControlAuth(token="t")
    for method, path in STEERING:
        answer = await send(toy, method, f"/_emulator{path}", OURS)
        assert answer.status == {"": 200, "/health": 200, "/ready": 200, "/ca.pem": 404}.get(path, 401), path
    refused = await send(toy, "POST", "/_emulator/reset", OURS)
    assert refused.header("WWW-Authenticate") == 'Bearer realm="emulator"'
    assert (await send(toy, "POST", "/_emulator/reset", f"{OURS}x-emulator-token: t\r\n")).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/_emulator/reset",
        "/_emulator//reset",
        "/_emulator/reset/",
        "/_emulator/%72eset",
        "/%5Femulator/reset",
        "/_s/a/_emulator/reset",
        "/x/../_emulator/reset",
        "//_emulator/reset",
        "/_emulator/./reset",
        "/_emulator/../_emulator/reset",
        "/_EMULATOR/reset",
        "/toy/_emulator/reset",
        "/_emulator;x/reset",
        "/_emulator/reset?x=1",
        "/_emulator/reset%3F",
        "http://127.0.0.1/_emulator/reset",
    ],
)
@pytest.mark.parametrize("guarded", [FROM_ELSEWHERE, REBOUND, OURS], ids=["origin", "rebound", "no token"])
async def test_path_variants_do_not_bypass_guard(start: Start, path: str, guarded: str) -> None:
    toy = await start("", vendors=[TOY])
    if guarded == OURS:
        toy.built.control.auth = ControlAuth(token="t")
    before = toy.built.runtime.active
    answer = await send(toy, "POST", path, guarded)
    assert answer.status >= 400
    assert toy.built.runtime.active is before


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("Authorization: Bearer s3cr\u00e9t", 200),
        ("x-emulator-token: s3cr\u00e9t", 200),
        ("x-emulator-token: s3cr\u00e9", 401),
        ("x-emulator-token: s3cr\u00e9t2", 401),
        ("x-emulator-token: S3CR\u00c9T", 401),
        ("x-emulator-token: ", 401),
        ("Authorization: Bearer", 401),
        ("Authorization: Basic czNjcsOpdDo=", 401),
        ("Cookie: x-emulator-token=s3cr\u00e9t", 401),
        ("", 401),
    ],
)
async def test_token_is_checked_over_socket(start: Start, line: str, status: int) -> None:
    toy = await start("", vendors=[TOY])
    toy.built.control.auth = ControlAuth(token="s3cr\u00e9t")
    answer = await send(
        toy, "POST", "/_emulator/reset", f"Host: localhost\r\n{line}\r\n" if line else "Host: localhost\r\n"
    )
    assert answer.status == status
    assert "s3cr" not in str(answer)
