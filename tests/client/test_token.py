"""Clients of an emulator with a control token, and redacted credentials that are sent back."""

from collections.abc import Callable, Mapping

import pytest

from emulator.client import AsyncEmulatorClient, EmulatorClient, EmulatorError
from emulator.client.request import build_token_header
from emulator.control.auth import ControlAuth
from tests.http_client import Running


@pytest.mark.parametrize(
    ("token", "environment", "headers"),
    [
        pytest.param("a", {"EMULATOR_CONTROL_TOKEN": "b"}, {"x-emulator-token": "a"}, id="the one that is given"),
        pytest.param(None, {"EMULATOR_CONTROL_TOKEN": "b"}, {"x-emulator-token": "b"}, id="that of the environment"),
        pytest.param("", {"EMULATOR_CONTROL_TOKEN": "b"}, {}, id="none, with any environment"),
        pytest.param(None, {}, {}, id="none"),
    ],
)
def test_token_is_taken_from_argument_or_environment(
    token: str | None, environment: Mapping[str, str], headers: Mapping[str, str]
) -> None:
    assert build_token_header(token, environment) == headers


async def test_sync_and_async_clients_send_token(live_with: Callable[[str], Running]) -> None:
    running = live_with("")
    running.built.control.auth = ControlAuth(token="s3cret")
    with EmulatorClient(running.urls["front"], token="s3cret") as client:
        assert client.reset().name == "live"
        assert client.session("a").load({"seed": 7}).seed == 7
    async with AsyncEmulatorClient(running.urls["front"], token="s3cret") as awaiting:
        assert (await awaiting.reset()).name == "live"
    with EmulatorClient(running.urls["front"]) as stranger, pytest.raises(EmulatorError, match="takes the token"):
        stranger.reset()


def test_add_rule_preserves_redacted_keys(live_with: Callable[[str], Running]) -> None:
    running = live_with("keys: [{token: dapi-search, principal: search}, {token: dapi-batch, principal: batch}]\n")
    with EmulatorClient(running.urls["front"]) as client:
        before = client.scenario()
        assert "dapi-search" not in before.model_dump_json()
        after = client.add_rule({"name": "busy", "error": {"kind": "rate_limited"}})
        assert [key.token for key in running.built.runtime.active.loaded.scenario.keys or ()] == [
            "dapi-search",
            "dapi-batch",
        ]
        assert "dapi-search" not in after.model_dump_json()
