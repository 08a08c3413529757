"""Management routes: state changes and errors."""

import asyncio
import json
from contextlib import suppress

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running, read_answer
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import CHAT, HELLO, MODEL, PROMPT
from tests.vendors.mindie.test_request_ids import SLOW, begun

STOPPED = b'{"error":"The service has been stopped.","error_type":"Service Unavailable"}'
REFUSED = b'{"error":"The service has been stopped","error_type":"Service Unavailable"}'
LOAD, UNLOAD = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
FAULTS, STATUS = "/v1/engine-server/fault-handling-command", "/v1/engine-server/running-status"
POET = {"lora_name": "poet", "lora_path": "/data/poet"}
LORA = "deployments: [{vendor: mindie, name: singer, kind: lora, tokenizer: qwen2}]\n"


@pytest.mark.covers("mindie/routes", "stopService, config, status, adapters")
@pytest.mark.covers("mindie/HTTP", "health of a stopped server")
@pytest.mark.covers("mindie/other checks", "stopped")
async def test_stopped_service_rejects_requests(start: Start) -> None:
    running = await start()
    stop = await running.ask("mindie", "/stopService")
    assert (stop.status, stop.body) == (200, b"")
    responses = [await running.ask("mindie", "/health"), await running.ask("mindie", f"/v2/models/{MODEL}/ready")]
    assert {(answer.status, answer.body) for answer in responses} == {(503, STOPPED)}
    bodies: dict[str, JSON] = {
        "/": {"inputs": PROMPT},
        "/generate": {"prompt": PROMPT},
        "/infer": {"inputs": PROMPT},
        CHAT: {"model": MODEL, "messages": HELLO},
        "/v1/completions": {"model": MODEL, "prompt": PROMPT},
        f"/v2/models/{MODEL}/generate": {"text_input": PROMPT},
    }
    asked = [await running.ask("mindie", path, body) for path, body in bodies.items()]
    assert {(answer.status, answer.body) for answer in asked} == {(503, REFUSED)}
    again = await running.ask("mindie", "/stopService?mode=Force")
    assert (again.status, again.body) == (500, b"")
    other = await running.ask("mindie", "/", {"inputs": PROMPT}, headers={"x-emulator-session": "team"})
    assert other.status == 200


@pytest.mark.covers("mindie/management", "stopService")
@pytest.mark.parametrize("rule", ["", "faults: [{type: duplicate}], "], ids=["whole", "bent"])
async def test_stop_waits_for_running_requests(start: Start, rule: str) -> None:
    running = await start(SLOW.replace("{name: said, ", "{name: said, " + rule))
    async with begun(running, "/", {"inputs": PROMPT}) as (reader, _):
        stop = asyncio.ensure_future(running.ask("mindie", "/stopService"))
        async with asyncio.timeout(10):
            while (await running.ask("mindie", "/health")).status == 200:
                pass
        assert not stop.done()
        running.built.runtime.advance(10.0)
        assert (await read_answer(reader)).status == 200
        assert (await asyncio.wait_for(stop, 10)).status == 200


@pytest.mark.covers("mindie/management", "mode=Force")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("rule", ["", "faults: [{type: duplicate}], "], ids=["whole", "bent"])
async def test_forced_stop_closes_running_requests_after_five_seconds(start: Start, stream: bool, rule: str) -> None:
    running = await start(SLOW.replace("itl: 1s", "itl: 3s").replace("{name: said, ", "{name: said, " + rule))
    async with begun(running, "/", {"inputs": PROMPT, "stream": stream}) as (reader, _):
        assert (await asyncio.wait_for(running.ask("mindie", "/stopService?mode=Force"), 10)).status == 200
        running.built.runtime.advance(2.0)
        assert (await running.ask("mindie", "/", {"inputs": PROMPT})).body == REFUSED
        running.built.runtime.advance(3.1)
        rest = await asyncio.wait_for(_read_until_cut(reader), 10)
    assert b" three" not in rest
    assert (b" one" in rest) == stream
    for path, body in (("/", {"inputs": PROMPT}), ("/health", None), ("/v1/models", None), ("/stopService", None)):
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(running.ask("mindie", path, body), 10)
    other = await running.ask("mindie", "/health", headers={"x-emulator-session": "team"})
    assert other.status == 200


async def _read_until_cut(reader: asyncio.StreamReader) -> bytes:
    said = bytearray()
    with suppress(ConnectionError):
        while piece := await reader.read(1024):
            said += piece
    assert not said.endswith(b"0\r\n\r\n")
    return bytes(said)


async def test_forced_stop_lets_requests_finish_within_grace_period(start: Start) -> None:
    running = await start(SLOW)
    async with begun(running, "/", {"inputs": PROMPT, "parameters": {"max_new_tokens": 2}}) as (reader, _):
        await running.ask("mindie", "/stopService?mode=Force")
        running.built.runtime.advance(3.0)
        assert (await asyncio.wait_for(read_answer(reader), 10)).json() == [{"generated_text": " one two"}]


async def say(running: Running, path: str, body: JSON | bytes) -> str:
    answer = await running.ask("mindie", path, body)
    assert (answer.status, answer.header("Content-Type")) == (200, "application/json")
    return answer.body.decode()


@pytest.mark.covers("mindie/management", "adapters")
async def test_adapter_is_loaded_used_and_unloaded(start: Start) -> None:
    running = await start(LORA)
    chat = {"model": "poet", "messages": HELLO}
    assert (await running.ask("mindie", CHAT, chat)).status == 422
    assert await say(running, LOAD, POET) == "Success: LoRA adapter 'poet' added successfully."
    assert await say(running, LOAD, POET) == "The LoRA adapter 'poet' has already been added."
    rows = (await running.ask("mindie", "/v1/models")).json()["data"]
    assert {row["id"]: row["parent"] for row in rows} == {MODEL: "null", "singer": MODEL, "poet": MODEL}
    answer = (await running.ask("mindie", CHAT, chat)).json()
    assert answer["model"] == "poet"
    assert (await running.ask("mindie", "/", {"inputs": PROMPT, "parameters": {"adapter_id": "poet"}})).status == 200
    assert await say(running, UNLOAD, POET) == "Success: LoRA adapter 'poet' removed successfully."
    assert await say(running, UNLOAD, POET) == "The LoRA adapter 'poet' cannot be found."
    assert await say(running, UNLOAD, {"lora_name": "singer"}) == "Success: LoRA adapter 'singer' removed successfully."
    rows = (await running.ask("mindie", "/v1/models")).json()["data"]
    assert [row["id"] for row in rows] == [MODEL]
    assert (await running.ask("mindie", CHAT, {**chat, "model": "singer"})).json()["error"] == "Model not found"


async def test_adapter_is_not_triton_model(start: Start) -> None:
    running = await start(LORA)
    assert (await running.ask("mindie", "/v1/models/singer")).status == 200
    assert (await running.ask("mindie", "/v2/models/singer")).status == 404


async def test_max_loras_limits_adapters(start: Start) -> None:
    running = await start("vendors: {mindie: {max_loras: 1}}\n" + LORA)
    assert await say(running, LOAD, POET) == (
        "Call to load LoRA method failed:"
        "The number of LoRA adapters exceeds 'max_loras', and none are currently unloading."
    )
    await say(running, UNLOAD, {"lora_name": "singer"})
    assert await say(running, LOAD, POET) == "Success: LoRA adapter 'poet' added successfully."


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        pytest.param(LOAD, b"{", 200, "Req body converts to json fail.", id="no JSON"),
        pytest.param(UNLOAD, b"{", 200, "Req body converts to json fail.", id="no JSON to unload"),
        pytest.param(LOAD, {}, 503, "Input invalid lora name", id="no name"),
        pytest.param(UNLOAD, {"lora_name": "a b"}, 503, "Input invalid lora name", id="a name with a space"),
        pytest.param(LOAD, {**POET, "lora_path": "/a/../b"}, 503, "Input invalid lora path", id="upwards"),
        pytest.param(LOAD, {**POET, "lora_path": "/a b"}, 503, "Input invalid lora path", id="a path with a space"),
        pytest.param(LOAD, {"lora_name": 5}, 500, "Server internal error", id="a name that is a number"),
        pytest.param(
            LOAD,
            {"lora_name": "poet"},
            200,
            "Call to load LoRA method failed: Loading LoRA 'poet' failed: No adapter found for ''.",
            id="no path",
        ),
    ],
)
async def test_invalid_adapter_requests_are_rejected(
    start: Start, path: str, body: JSON | bytes, status: int, text: str
) -> None:
    answer = await (await start()).ask("mindie", path, body)
    assert (answer.status, answer.body.decode()) == (status, text)


async def test_pd_mode_rejects_adapters(start: Start) -> None:
    running = await start("vendors: {mindie: {pd_mode: true}}\n")
    assert await say(running, LOAD, POET) == "Multi Lora does not support PD separation!"


async def command(running: Running, number: JSON) -> Answer:
    return await running.ask("mindie", FAULTS, {"cmd": number})


@pytest.mark.covers("mindie/management", "fault handling")
async def test_engine_is_paused_initialized_and_started(start: Start) -> None:
    running = await start()
    states = []
    for number in (0, 1, 2, 3, 2):
        answer = await command(running, number)
        assert answer.status == 200
        states.append((await running.ask("mindie", STATUS)).json()["status"])
    assert states == [3, 0, 1, 3, 1]
    body = (await command(running, 0)).json()
    assert (body["status"], body["message"], len(body["reason"])) == (True, "Success", 4)
    assert body["reason"][0] == {"device_id": 0, "result": True, "message": ""}
    health = await running.ask("mindie", "/v2/health/ready")
    assert (health.status, health.body) == (500, b'{"message":"Service is abnormal"}')


@pytest.mark.parametrize("stream", [True, False])
async def test_pausing_engine_ends_running_requests(start: Start, stream: bool) -> None:
    running = await start(SLOW)
    async with begun(running, "/", {"inputs": PROMPT, "stream": stream}) as (reader, _):
        running.built.runtime.advance(2.0)
        assert (await command(running, 0)).status == 200
        answer = await asyncio.wait_for(read_answer(reader), 10)
    (last,) = answer.events()[-1:] if stream else answer.json()
    assert last["generated_text"] == " one two three"


_PAUSED: dict[str, tuple[str, JSON, str]] = {
    "TGI": ("/", {"inputs": PROMPT, "parameters": {"details": True}}, '"generated_text":""'),
    "TGI, streamed": ("/", {"inputs": PROMPT, "stream": True, "parameters": {"details": True}}, '"stop_sequence"'),
    "vLLM": ("/generate", {"prompt": PROMPT}, f'{{"text":["{PROMPT} "]}}'),
    "native": ("/infer", {"inputs": PROMPT, "parameters": {"details": True}}, '"finish_reason":"stop_sequence"'),
    "chat": (CHAT, {"model": MODEL, "messages": HELLO}, '"content":"","tool_calls":[]}'),
    "chat, streamed": (CHAT, {"model": MODEL, "messages": HELLO, "stream": True}, '"finish_reason":"stop"}'),
    "completions": ("/v1/completions", {"model": MODEL, "prompt": PROMPT}, '"text":"","logprobs":null'),
    "Triton": (f"/v2/models/{MODEL}/generate", {"text_input": PROMPT}, '"text_output":""'),
}


@pytest.mark.covers("mindie/management", "a paused engine")
@pytest.mark.parametrize("form", _PAUSED)
@pytest.mark.parametrize("commands", [(0,), (3,), (0, 1)], ids=str)
async def test_paused_engine_returns_empty_responses(start: Start, form: str, commands: tuple[int, ...]) -> None:
    running = await start(SLOW)
    path, body, piece = _PAUSED[form]
    for number in commands:
        assert (await command(running, number)).status == 200
    answer = await asyncio.wait_for(running.ask("mindie", path, body), 10)  # the response needs no clock change
    assert answer.status == 200
    assert piece in answer.body.decode()
    assert b"one" not in answer.body
    await command(running, 2)
    status = (await running.ask("mindie", STATUS)).json()["status"]
    assert status == 1
    async with begun(running, path, body) as (reader, _):
        running.built.runtime.advance(10.0)
        assert b"one" in (await asyncio.wait_for(read_answer(reader), 10)).body


@pytest.mark.parametrize("number", [1, 2, 7, -1, 10**300])
async def test_commands_inconsistent_with_engine_status_are_rejected(start: Start, number: int) -> None:
    answer = await command(await start(), number)
    assert (answer.status, answer.json()) == (
        400,
        {"error": "Command is not consistent with current status.", "error_type": "Bad Request"},
    )


@pytest.mark.parametrize(
    "body",
    [{}, {"cmd": None}, {"cmd": "0"}, {"cmd": 10**400}, b'{"cmd":1e400}', b'{"cmd":0,"x":[[1e999]]}', b"{", []],
)
async def test_invalid_commands_are_rejected(start: Start, body: JSON | bytes) -> None:
    answer = await (await start()).ask("mindie", FAULTS, body)
    assert answer.status == 422
    assert answer.json()["error"].startswith('{"Error": "cmd_type must be necessary and data type must be integer."')


DEVICE = {"device_id": "0", "device_logical_id": "0", "device_ip": "10.0.0.1"}
PLACE: dict[str, JSON] = {"server_ip": "10.0.0.2", "id": 1, "host_ip": "10.0.0.2", "device": [DEVICE]}
DMI = "vendors: {mindie: {infer_mode: dmi}}\n"
HEADERS = {"req-type": "prefill", "req-id": "ab12", "d-target": "10.0.0.3"}


@pytest.mark.covers("mindie/management", "roles")
async def test_node_role_is_changed(start: Start) -> None:
    running = await start(DMI)
    assert (await running.ask("mindie", "/", {"inputs": PROMPT}, headers=HEADERS)).status == 200
    body = {"local": PLACE, "peers": [PLACE]}
    assert (await running.ask("mindie", "/v1/role/decode", body)).json() == {"result": "ok"}
    assert (await running.ask("mindie", "/v1/status")).json()["service"]["currentRole"] == "decode"
    refused = await running.ask("mindie", "/", {"inputs": PROMPT}, headers=HEADERS)
    assert (refused.status, refused.json()["error"]) == (
        400,
        "DMI inference requests can be sent only to the prefill node or p_percentage of the flex node == 0",
    )
    results = await running.ask("mindie", "/dresult")
    assert (results.status, results.header("Content-Type")) == (200, "text/event-stream")
    share: JSON = {**body, "local": {**PLACE, "p_percentage": 40}}
    assert (await running.ask("mindie", "/v1/role/flex", share)).status == 200
    assert (await running.ask("mindie", "/v1/status")).json()["service"]["p_percentage"] == 40
    assert (await running.ask("mindie", "/", {"inputs": PROMPT}, headers=HEADERS)).status == 200
    assert (await running.ask("mindie", "/v2/role/prefill", {"local": [PLACE]})).json() == {"result": "ok"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/v1/role/prefill", b"{", id="no JSON"),
        pytest.param("/v1/role/prefill", {}, id="no place"),
        pytest.param("/v1/role/prefill", {"local": {**PLACE, "server_ip": "x"}}, id="no address"),
        pytest.param("/v1/role/prefill", {"local": {**PLACE, "p_percentage": 101}}, id="more than all"),
        pytest.param(
            "/v1/role/prefill",
            json.dumps({"local": {**PLACE, "p_percentage": "x"}}).replace('"x"', "-0").encode(),
            id="a zero with a sign",
        ),
        pytest.param("/v1/role/prefill", {"local": {"server_ip": "10.0.0.2", "id": 1, "device": []}}, id="half an id"),
        pytest.param("/v1/role/prefill", {"local": {**PLACE, "device": [{}]}}, id="no device"),
        pytest.param("/v1/role/prefill", {"local": PLACE, "peers": [{}]}, id="a peer that is none"),
        pytest.param("/v2/role/decode", {"local": PLACE}, id="no list"),
    ],
)
async def test_invalid_role_requests_are_rejected(start: Start, path: str, body: JSON | bytes) -> None:
    answer = await (await start(DMI)).ask("mindie", path, body)
    text = "Req body converts to json fail. Reset to previous node status."
    assert (answer.status, answer.json()) == (422, {"error": text, "error_type": "Input validation error"})


@pytest.mark.parametrize("path", ["/v1/role/none", "/v2/role/flex"])
async def test_unknown_roles_are_not_found(start: Start, path: str) -> None:
    answer = await (await start(DMI)).ask("mindie", path, {"local": PLACE})
    assert (answer.status, answer.body) == (404, b"")


@pytest.mark.covers("mindie/management", "results")
@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        ("", "Non DMI does not support dresult request"),
        (DMI, "Only the Decode node supports dresult but you send to prefill"),
    ],
)
async def test_results_are_only_served_by_decode_node(start: Start, scenario: str, text: str) -> None:
    answer = await (await start(scenario)).ask("mindie", "/dresult")
    assert (answer.status, answer.json()["error"]) == (400, text)


async def test_busy_engine_reports_busy_health(start: Start) -> None:
    running = await start("vendors: {mindie: {max_batch_size: 1}}\n" + SLOW)
    async with begun(running, "/", {"inputs": PROMPT}):
        live, ready = [await running.ask("mindie", f"/v2/health/{kind}") for kind in ("live", "ready")]
        assert (live.status, live.body) == (200, b'{"message":"Service is alive but busy"}')
        assert ready.status == 503
        assert (await running.ask("mindie", STATUS)).json()["status"] == 5


async def test_v2_status_has_additional_fields(start: Start) -> None:
    resource = (await (await start()).ask("mindie", "/v2/status")).json()["resource"]
    assert list(resource)[-4:] == ["totalAvailNpuSlotsNum", "totalAvailNpuBlockNum", "dpInstMap", "maxAvailNpuBlockNum"]


@pytest.mark.covers("mindie/planes", "business", "management", "metrics")
@pytest.mark.parametrize(
    ("path", "plane"),
    [
        ("/health", "management"),
        ("/health/timed-5", "management"),
        ("/info", "management"),
        ("/metrics-json", "management"),
        ("/v1/config", "management"),
        ("/v1/status", "management"),
        ("/v2/status", "management"),
        ("/v2/health/live", "management"),
        (f"/v2/models/{MODEL}/ready", "management"),
        (f"/v2/models/{MODEL}/getSlotCount", "management"),
        (STATUS, "management"),
        ("/metrics", "metrics"),
        ("/v1/models", ""),
        (f"/v1/models/{MODEL}", ""),
        ("/v2", ""),
        (f"/v2/models/{MODEL}", ""),
        (f"/v2/models/{MODEL}/config", ""),
    ],
)
async def test_separate_planes_serve_only_their_routes(start: Start, path: str, plane: str) -> None:
    running = await start("vendors: {mindie: {management_port: 0, metrics_port: 0}}\n")
    found = {
        name: (await running.ask(f"mindie.{name}".rstrip("."), path)).status for name in ("", "management", "metrics")
    }
    assert found == {name: 200 if name == plane else 404 for name in found}


async def test_planes_share_one_server(start: Start) -> None:
    running = await start("vendors: {mindie: {management_port: 0}}\n" + SLOW)
    async with begun(running, "/", {"inputs": PROMPT}) as (reader, _):
        stop = asyncio.ensure_future(running.ask("mindie.management", "/stopService"))
        while (await running.ask("mindie.management", "/health")).status == 200:
            pass
        assert not stop.done()
        running.built.runtime.advance(10.0)
        assert (await read_answer(reader)).status == 200
        assert (await asyncio.wait_for(stop, 10)).status == 200
    assert (await running.ask("mindie", "/", {"inputs": PROMPT})).body == REFUSED
    assert [entry.vendor for entry in running.built.journal] == ["mindie"] * len(running.built.journal)


async def test_front_port_serves_planes(start: Start) -> None:
    running = await start("vendors: {mindie: {management_port: 0}}\n")
    assert (await running.ask("front", "/mindie.management/health")).status == 200
    assert (await running.ask("front", "/mindie/health")).status == 404
