"""Tokens: a warning before one is sent in clear to the public internet, and none to another server."""

import warnings

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from emulator.client import AsyncEmulatorClient, EmulatorClient, EmulatorError
from emulator.client.exposure import TokenExposedWarning, explain_exposure


@pytest.mark.parametrize(
    ("url", "addresses", "public"),
    [
        ("http://emulator.team.test:4010", ["10.0.0.7", "198.41.0.4"], "198.41.0.4"),
        ("http://emulator.team.test:4010", ["2001:500::1"], "2001:500::1"),
        ("http://emulator.team.test:4010", ["::ffff:198.41.0.4"], "::ffff:198.41.0.4"),
        ("http://emulator.team.test:4010", ["10.0.0.7", "192.168.1.1", "172.17.0.1", "127.0.0.1"], None),
        ("http://emulator.team.test:4010", ["::1", "fd00::2", "fe80::1%eth0", "100.64.0.1"], None),
        ("http://emulator.team.test:4010", [], None),
        ("https://emulator.team.test:4010", ["198.41.0.4"], None),
    ],
)
def test_explain_exposure_names_public_address_over_http(url: str, addresses: list[str], public: str | None) -> None:
    asked = []

    def resolve(host: str) -> list[str]:
        asked.append(host)
        return addresses

    line = explain_exposure(url, resolve)
    assert asked == (["emulator.team.test"] if url.startswith("http:") else [])
    assert (line is not None) == (public is not None)
    assert public is None or f"the public address {public}," in str(line)


PUBLIC = "http://198.41.0.4:4010"  # the warning is an error here, so that nothing is sent


def test_client_warns_before_sending_token_to_public_address() -> None:
    client = EmulatorClient(PUBLIC, token="SECRET")
    with warnings.catch_warnings(action="error"), pytest.raises(TokenExposedWarning):
        client.scenario()


async def test_async_client_warns_before_sending_token_to_public_address() -> None:
    client = AsyncEmulatorClient(PUBLIC, token="SECRET")
    with warnings.catch_warnings(action="error"), pytest.raises(TokenExposedWarning):
        await client.scenario()


async def test_client_sends_no_token_to_redirect_target() -> None:
    tokens = []

    async def take(request: web.Request) -> web.Response:
        tokens.append(request.headers.get("x-emulator-token"))
        return web.json_response({})

    other = web.Application()
    other.router.add_route("*", "/{path:.*}", take)
    async with TestServer(other) as elsewhere:

        async def lead(request: web.Request) -> web.Response:
            raise web.HTTPTemporaryRedirect(elsewhere.make_url("/_emulator/scenario"))

        first = web.Application()
        first.router.add_route("*", "/{path:.*}", lead)
        async with TestServer(first) as server:
            client = AsyncEmulatorClient(str(server.make_url("")), token="SECRET")
            with pytest.raises(EmulatorError):
                await client.scenario()
            await client.close()
    assert tokens == []
