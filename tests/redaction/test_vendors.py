"""What vendors' own routes repeat of a credential, with a head that is new and with one that came before."""

from base64 import b64encode

import pytest

from emulator.core.json import JSON, Object
from tests.conftest import Start
from tests.http_client import Running
from tests.redaction.test_ways_out import unpack

SECRET = "zqx1-MARKER-of-a-secret"
MODEL = "databricks-meta-llama-3-3-70b-instruct"
MCP: JSON = {
    "type": "mcp",
    "server_label": "a",
    "server_url": f"https://u:{SECRET}@h/?token={SECRET}",
    "headers": {"X-Auth-Token": SECRET, "Cookie": f"a={SECRET}", "x-goog-api-key": SECRET},
}
CHAT: Object = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5}
AUTHORIZED = {"Authorization": f"Bearer {SECRET}"}


async def read_all(running: Running) -> bytes:
    """The journal, the report, sessions and metrics."""
    paths = ("requests?detail=true", "requests", "sessions", "metrics", "rules")
    parts = [(await running.ask("front", f"/_emulator/{path}")).body for path in paths]
    return b"".join([*parts, unpack((await running.ask("front", "/_emulator/report", {})).body)])


@pytest.mark.parametrize(
    ("vendor", "target", "body"),
    [
        pytest.param(
            "databricks", "/serving-endpoints/responses", {"model": MODEL, "input": "Hi", "tools": [MCP]}, id="tools"
        ),
        pytest.param(
            "azure",
            "/api/projects/p/connections/azure-openai/getConnectionWithCredentials?api-version=v1",
            {},
            id="a connection with its key",
        ),
        pytest.param(
            "azure",
            "/t/oauth2/v2.0/token",
            f"grant_type=client_credentials&client_id=a&client_secret={SECRET}".encode(),
            id="a secret that is the token",
        ),
        pytest.param(
            "databricks",
            "/oidc/v1/token",
            b' {"grant_type":"client_credentials","client_id":"c","client_secret":"%s"}' % SECRET.encode(),
            id="a blank before JSON",
        ),
        pytest.param(
            "databricks", "/serving-endpoints/chat/completions", {**CHAT, "extra_body": {"token": SECRET}}, id="a chat"
        ),
        pytest.param(
            "databricks",
            "/serving-endpoints/chat/completions",
            {**CHAT, "password": SECRET, "stream": True},
            id="a stream",
        ),
        pytest.param("tgi", "/generate", {"inputs": f"See https://u:{SECRET}@h/?token={SECRET}."}, id="a prompt"),
    ],
)
async def test_vendor_routes_redact_credentials(start: Start, vendor: str, target: str, body: JSON | bytes) -> None:
    running = await start()
    headers = {**AUTHORIZED, "api-key": SECRET, "Cookie": f"sid={SECRET}; theme=dark"}
    for _ in range(3):  # their head came before
        await running.ask(vendor, target, body, headers=headers)
    said = await read_all(running)
    assert target.partition("?")[0].encode() in said
    assert b"MARKER" not in said


ENTRA = "Zk28Q~dEfSECRETRESTofAzureADClientSecret0"


async def test_entra_client_secret_creates_no_session(start: Start) -> None:
    running = await start()
    basic = b64encode(f"client:{ENTRA}".encode()).decode()
    form = b"grant_type=client_credentials&scope=all-apis"
    granted = await running.ask("databricks", "/oidc/v1/token", form, headers={"Authorization": f"Basic {basic}"})
    assert granted.status == 200
    for headers in ({"Authorization": f"Bearer {ENTRA}"}, {"api-key": ENTRA}):
        await running.ask("databricks", "/serving-endpoints/chat/completions", CHAT, headers=headers)
    assert (await running.ask("front", "/_emulator/sessions")).json() == {"sessions": []}
    assert b"SECRETREST" not in await read_all(running)
