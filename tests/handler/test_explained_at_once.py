"""Explanations that are made with the call, as nothing could make them later."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.handler.shared import open_replica
from tests.http_client import Running
from tests.storage.servers import KINDS, find_server, running
from tests.untyped_json import JSON

KEY = {"api-key": "k"}
SLOW = r"needle(?:.{0,900}\pL){1}"  # searched in the first 208,768 characters


async def read_verdicts(server: Running) -> JSON:
    rows = (await server.ask("front", "/_emulator/requests")).json()["requests"]
    return (await server.ask("front", f"/_emulator/requests/{rows[0]['id']}")).json()["explanation"]


@pytest.mark.parametrize(("length", "is_cut"), [(1000, False), (300_000, True)])
async def test_text_that_is_searched_in_part_is_told(start: Start, length: int, is_cut: bool) -> None:
    server = await start(
        f"rules: [{{name: searched, when: {{prompt: {{regex: '{SLOW}'}}}}, reply: {{text: found}}}}]\n"
    )
    text = "government " * (length // 11) + ("needle x" if is_cut else "")
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], "max_tokens": 1}
    await server.ask("azure", "/openai/v1/chat/completions", body, headers=KEY)
    [verdict] = await read_verdicts(server)
    assert verdict["failed"] == "prompt"
    assert ("only its first 208,768 characters were searched" in verdict["detail"]) == is_cut


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_chained_call_is_explained_over_replicas(kind: str, tmp_path: Path) -> None:
    if find_server(kind) is None:
        pytest.skip(f"{KINDS[kind]} is not installed")
    rule = "{name: long, when: {prompt: nobody}, reply: {text: found}}"
    with running(kind, tmp_path) as url:
        async with AsyncExitStack() as stack:
            text, served = f"version: 1\nname: chained\nrules: [{rule}]\n", {"azure": VENDORS["azure"]}
            replicas = [await open_replica(stack, url, text, served) for _ in range(2)]
            body = {"model": "gpt-4o", "input": "Hello"}
            first = (await replicas[0].ask("azure", "/openai/v1/responses", body, headers=KEY)).json()
            body["previous_response_id"] = first["id"]
            assert (await replicas[0].ask("azure", "/openai/v1/responses", body, headers=KEY)).status == 200
            for replica in replicas:
                [verdict] = await read_verdicts(replica)
                assert (verdict["failed"], verdict["detail"]) == ("prompt", 'is "Hello", wanted "nobody"')
