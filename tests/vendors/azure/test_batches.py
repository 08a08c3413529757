"""Files and batches, over the wire."""

import json
from pathlib import Path

import pytest

from emulator.handler.forward import Forwarding
from emulator.vendors.azure.files import MAX_STORED
from tests.conftest import Start, running
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

FILES, BATCHES = "/openai/v1/files", "/openai/v1/batches"
KEY = {"api-key": "k"}
SCENARIO = """
rules:
  - {name: odd, when: {prompt: {contains: odd}}, error: {kind: overloaded}}
  - {name: said, when: {prompt: {contains: fixed}}, reply: {text: Fixed.}}
vendors: {azure: {batch_seconds: 100}}
"""


async def upload(running: Running, content: bytes, purpose: str = "batch", **fields: str) -> Answer:
    texts = {"purpose": purpose, **fields}
    head = "".join(f'--b\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in texts.items())
    file = '--b\r\nContent-Disposition: form-data; name="file"; filename="in.jsonl"\r\n'
    body = (head + file + "Content-Type: application/octet-stream\r\n\r\n").encode() + content + b"\r\n--b--\r\n"
    lines = f"POST {FILES} HTTP/1.1\r\napi-key: k\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    return await running.send("azure", lines.encode(), body)


async def get(running: Running, path: str, **headers: str) -> Answer:
    return await running.ask("azure", path, method="GET", headers={**KEY, **headers})


def line(name: str, text: str) -> JSON:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def lines(*rows: JSON) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


async def make(running: Running, content: bytes, **fields: JSON) -> JSON:
    file = (await upload(running, content)).json()["id"]
    body = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h", **fields}
    return (await running.ask("azure", BATCHES, body, headers=KEY)).json()


@pytest.mark.parametrize("content", [b"", b"a\r\nb\n\nc\r", bytes(range(256))])
async def test_file_is_kept_as_it_is(start: Start, content: bytes) -> None:
    running = await start("keys: [{token: k, principal: one}, {token: o, principal: other}]")
    made = (await upload(running, content, "user_data")).json()
    assert [made[name] for name in ("object", "bytes", "filename", "purpose", "status")] == [
        "file",
        len(content),
        "in.jsonl",
        "user_data",
        "processed",
    ]
    path = f"{FILES}/{made['id']}"
    assert (await get(running, path)).json() == made
    assert (await get(running, f"{path}/content")).body == content
    assert (await get(running, f"{FILES}?purpose=user_data")).json()["data"] == [made]
    assert (await get(running, f"{FILES}?purpose=batch")).json()["data"] == []
    missing = await get(running, path, **{"api-key": "o"})
    assert (missing.status, missing.json()["error"]["message"]) == (404, f"No such File object: {made['id']}")
    deleted = await running.ask("azure", path, method="DELETE", headers=KEY)
    assert deleted.json() == {"id": made["id"], "object": "file", "deleted": True}
    assert (await get(running, path)).status == 404


async def test_wrong_upload_is_refused(start: Start) -> None:
    running = await start()
    assert (await upload(running, b"x", "odd")).json()["error"]["message"].startswith("Invalid value: 'odd'.")
    assert (await running.ask("azure", FILES, {"purpose": "batch"}, headers=KEY)).status == 415
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    empty = await running.ask("azure", FILES, b"--b--", headers={**KEY, **kind})
    assert empty.json()["error"]["message"] == "Missing required parameter: 'file'."


ANCHOR = {"expires_after[anchor]": "created_at"}
DOTTED = {"expires_after.anchor": "created_at"}
SECONDS = "expires_after[seconds]"


@pytest.mark.parametrize(
    ("fields", "message", "param", "code"),
    [
        ({"odd": "1"}, "Unknown parameter: 'odd'.", "odd", "unknown_parameter"),
        (
            ANCHOR,
            "Missing required parameter: 'expires_after.seconds'.",
            "expires_after.seconds",
            "missing_required_parameter",
        ),
        (
            {SECONDS: "3600"},
            "Missing required parameter: 'expires_after.anchor'.",
            "expires_after.anchor",
            "missing_required_parameter",
        ),
        (
            {SECONDS: "3600", "expires_after[anchor]": "now"},
            "Invalid value: 'now'. Supported values are: 'created_at'.",
            "expires_after.anchor",
            "invalid_value",
        ),
        (
            {**ANCHOR, SECONDS: "3599"},
            "Invalid 'expires_after.seconds': integer below minimum value. Expected a value >= 3600, but got 3599 "
            "instead.",
            "expires_after.seconds",
            "integer_below_min_value",
        ),
        (
            {**ANCHOR, SECONDS: "2592001"},
            "Invalid 'expires_after.seconds': integer above maximum value. Expected a value <= 2592000, but got "
            "2592001 instead.",
            "expires_after.seconds",
            "integer_above_max_value",
        ),
        (
            {**ANCHOR, SECONDS: "soon"},
            "Invalid type for 'expires_after.seconds': expected an integer, but got a string instead.",
            "expires_after.seconds",
            "invalid_type",
        ),
        (
            DOTTED,
            "Missing required parameter: 'expires_after.seconds'.",
            "expires_after.seconds",
            "missing_required_parameter",
        ),
        (
            {"expires_after.odd": "1"},
            "Unknown parameter: 'expires_after.odd'.",
            "expires_after.odd",
            "unknown_parameter",
        ),
        (
            {"expires_after": "3600"},
            "Invalid type for 'expires_after': expected an object, but got a string instead.",
            "expires_after",
            "invalid_type",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_wrong_expiry_is_refused(
    start: Start, fields: dict[str, str], message: str, param: str, code: str
) -> None:
    refused = await upload(await start(), b"x", **fields)
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


@pytest.mark.parametrize(
    "fields",
    [{**ANCHOR, SECONDS: "3600"}, {**DOTTED, "expires_after.seconds": "3600"}, {**DOTTED, SECONDS: "3600"}],
    ids=["brackets", "dots", "both"],
)
async def test_file_expires(start: Start, fields: dict[str, str]) -> None:
    running = await start(SCENARIO)
    made = (await upload(running, lines(line("a", "x")), **fields)).json()
    assert made["expires_at"] == made["created_at"] + 3600
    running.built.runtime.advance(3599)
    assert (await get(running, f"{FILES}/{made['id']}")).json() == made
    running.built.runtime.advance(1)
    assert [(await get(running, f"{FILES}/{made['id']}{end}")).status for end in ("", "/content")] == [404, 404]
    assert (await get(running, FILES)).json()["data"] == []
    body = {"input_file_id": made["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    refused = await running.ask("azure", BATCHES, body, headers=KEY)
    assert refused.json()["error"]["code"] == "invalid_input_file_id"


@pytest.mark.parametrize(("expiry", "status", "kept"), [({}, 400, True), ({"expires_at": 1}, 200, False)])
async def test_expired_files_leave_room(start: Start, expiry: JSON, status: int, *, kept: bool) -> None:
    running = await start()
    state = running.built.emulator.state
    file: JSON = {"file": {"id": "file-1", "bytes": MAX_STORED, **expiry}, "principal": ""}
    assert await state.store("", "azure", "file-1", file, None)
    assert (await upload(running, b"x")).status == status
    assert ("file-1" in await state.fetch("", "azure")) is kept


async def test_page_of_files_has_ten_thousand(start: Start) -> None:
    running = await start()
    for number in range(22):
        await upload(running, b"%d" % number)
    assert len((await get(running, FILES)).json()["data"]) == 22
    page = (await get(running, f"{FILES}?limit=21")).json()
    assert (len(page["data"]), page["has_more"]) == (21, True)
    assert [(await get(running, f"{FILES}?limit={limit}")).status for limit in (10_000, 10_001, 0)] == [200, 400, 400]


async def test_batch_completes_by_clock_with_results_of_rules(start: Start) -> None:
    running = await start(SCENARIO)
    made = await make(running, lines(line("a", "fixed"), line("b", "odd"), line("c", "Hello")), metadata={"x": "y"})
    assert (made["object"], made["status"], made["metadata"]) == ("batch", "validating", {"x": "y"})
    assert made["request_counts"] == {"total": 3, "completed": 0, "failed": 0}
    path = f"{BATCHES}/{made['id']}"
    states = []
    for seconds in (5, 10, 80, 10):
        running.built.runtime.advance(seconds)
        states.append((await get(running, path)).json())
    assert [state["status"] for state in states] == ["validating", "in_progress", "finalizing", "completed"]
    assert [state["output_file_id"] is None for state in states] == [True, True, True, False]
    done = states[-1]
    assert done["request_counts"] == {"total": 3, "completed": 2, "failed": 1}
    assert done["completed_at"] == made["created_at"] + 100
    output = await get(running, f"{FILES}/{done['output_file_id']}/content")
    rows: JSON = [json.loads(row) for row in output.body.splitlines()]
    assert [row["custom_id"] for row in rows] == ["a", "c"]
    assert rows[0]["response"]["body"]["choices"][0]["message"]["content"] == "Fixed."
    (failed,) = (await get(running, f"{FILES}/{done['error_file_id']}/content")).body.splitlines()
    assert json.loads(failed)["response"]["status_code"] == 503
    assert (await get(running, f"{FILES}/{done['output_file_id']}")).json()["purpose"] == "batch_output"
    assert (await get(running, BATCHES)).json()["data"] == [done]
    assert (await running.ask("azure", f"{path}/cancel", method="POST", headers=KEY)).status == 409


async def test_completed_batch_has_error_file_without_errors(start: Start) -> None:
    running = await start(SCENARIO)
    made = await make(running, lines(line("a", "fixed")))
    running.built.runtime.advance(100)
    done = (await get(running, f"{BATCHES}/{made['id']}")).json()
    assert (await get(running, f"{FILES}/{done['error_file_id']}")).json()["bytes"] == 0
    assert (await get(running, f"{FILES}/{done['error_file_id']}/content")).body == b""


async def test_lines_end_while_batch_runs(start: Start) -> None:
    running = await start(SCENARIO)
    made = await make(running, lines(*[line(name, "odd" if name == "b" else "fixed") for name in "abcd"]))
    counts = []
    for seconds in (10, 20, 20, 20, 20):
        running.built.runtime.advance(seconds)
        state = (await get(running, f"{BATCHES}/{made['id']}")).json()["request_counts"]
        counts.append((state["completed"], state["failed"]))
    assert counts == [(0, 0), (1, 0), (1, 1), (2, 1), (3, 1)]


async def test_batch_is_cancelled(start: Start) -> None:
    running = await start(SCENARIO)
    made = await make(running, lines(line("a", "fixed"), line("b", "odd"), line("c", "fixed"), line("d", "fixed")))
    path = f"{BATCHES}/{made['id']}"
    running.built.runtime.advance(55)
    answer = (await running.ask("azure", f"{path}/cancel", method="POST", headers=KEY)).json()
    assert (answer["status"], answer["cancelling_at"]) == ("cancelling", made["created_at"] + 55)
    assert (answer["cancelled_at"], answer["output_file_id"]) == (None, None)
    running.built.runtime.advance(9)
    assert (await get(running, path)).json() == answer
    running.built.runtime.advance(1)
    done = (await get(running, path)).json()
    assert (done["status"], done["cancelled_at"]) == ("cancelled", made["created_at"] + 65)
    assert done["request_counts"] == {"total": 4, "completed": 1, "failed": 1}
    files = [await get(running, f"{FILES}/{done[name]}/content") for name in ("output_file_id", "error_file_id")]
    assert [json.loads(file.body)["custom_id"] for file in files] == ["a", "b"]
    assert (await running.ask("azure", f"{path}/cancel", method="POST", headers=KEY)).json() == done


async def test_batch_cancelled_at_once_has_no_files(start: Start) -> None:
    running = await start(SCENARIO)
    made = await make(running, lines(line("a", "Hello")))
    await running.ask("azure", f"{BATCHES}/{made['id']}/cancel", method="POST", headers=KEY)
    running.built.runtime.advance(1000)
    done = (await get(running, f"{BATCHES}/{made['id']}")).json()
    assert [done[name] for name in ("status", "output_file_id", "error_file_id")] == ["cancelled", None, None]
    assert [file["purpose"] for file in (await get(running, FILES)).json()["data"]] == ["batch"]


@pytest.mark.parametrize(
    "fields",
    [
        {"output_expires_after": {"anchor": "created_at", "seconds": 3600}},
        {"output_expires_after": {"seconds": 3600}, "anchor": "created_at"},
    ],
    ids=["within", "beside"],
)
async def test_results_expire(start: Start, fields: JSON) -> None:
    running = await start(SCENARIO)
    made = await make(running, lines(line("a", "fixed")), **fields)
    running.built.runtime.advance(100)
    done = (await get(running, f"{BATCHES}/{made['id']}")).json()
    file = (await get(running, f"{FILES}/{done['output_file_id']}")).json()
    assert (file["created_at"], file["expires_at"]) == (done["completed_at"], done["completed_at"] + 3600)
    running.built.runtime.advance(3600)
    assert (await get(running, f"{FILES}/{done['output_file_id']}/content")).status == 404


@pytest.mark.parametrize(
    ("content", "code", "number"),
    [
        (b"", "empty_file", None),
        (b"{", "invalid_json_line", 1),
        (lines(line("a", "x"), line("a", "x")), "duplicate_custom_id", 2),
        (lines({**line("a", "x"), "method": "GET"}), "invalid_request", 1),
        (lines({**line("a", "x"), "url": "/v1/embeddings"}), "url_mismatch", 1),
        (lines({"custom_id": "a"}), "invalid_request", 1),
        (lines({**line("a", "x"), "body": {"model": "gpt-9", "messages": []}}), "model_not_found", 1),
        (lines(line("a", "x"), {**line("b", "x"), "body": {"model": "gpt-4o-mini"}}), "model_mismatch", 2),
        (lines({**line("a", "x"), "custom_id": 5}), "invalid_request", 1),
    ],
)
async def test_batch_with_invalid_line_fails(start: Start, content: bytes, code: str, number: int | None) -> None:
    made = await make(await start(), content)
    assert made["status"] == "failed"
    (error,) = made["errors"]["data"]
    assert (error["code"], error["line"]) == (code, number)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"endpoint": "/v1/odd"}, "Invalid value: '/v1/odd'."),
        ({"completion_window": "1h"}, "Invalid value: '1h'."),
        ({"input_file_id": "file-0"}, "Invalid input_file_id: no such file 'file-0'."),
        ({"odd": 1}, "Unknown parameter: 'odd'."),
        ({"output_expires_after": {"seconds": 3600}}, "Missing required parameter: 'output_expires_after.anchor'."),
        (
            {"output_expires_after": {"anchor": "created_at", "seconds": 5}},
            "Invalid 'output_expires_after.seconds': integer below minimum value. Expected a value >= 3600, but got 5",
        ),
        (
            {"output_expires_after": {"anchor": "created_at", "seconds": 3600, "odd": 1}},
            "Unknown parameter: 'output_expires_after.odd'.",
        ),
        ({"output_expires_after": 5}, "Invalid type for 'output_expires_after': expected an object, but got an"),
    ],
)
async def test_wrong_batch_is_refused(start: Start, fields: JSON, message: str) -> None:
    made = await make(await start(), lines(line("a", "x")), **fields)
    assert made["error"]["message"].startswith(message)


async def test_limits_hold_in_batches(start: Start) -> None:
    running = await start("limits: [{deployment: gpt-4o, unit: requests, amount: 2, window: 60s, strategy: fixed}]\n")
    made = await make(running, lines(*[line(f"{number}", f"Hello {number}") for number in range(4)]))
    running.built.runtime.advance(61)
    done = (await get(running, f"{BATCHES}/{made['id']}")).json()
    assert done["request_counts"] == {"total": 4, "completed": 2, "failed": 2}


async def test_lines_are_calls_of_their_own_in_journal(start: Start) -> None:
    running = await start(SCENARIO)
    made = await make(running, lines(line("a", "fixed"), line("b", "odd"), line("c", "Hello")))
    entries = [call.load() for call in running.built.journal.list_calls()]
    paths = [entry.path for entry in entries]
    assert paths == [FILES, *["/openai/v1/chat/completions"] * 3, BATCHES]
    assert [(entry.status, entry.rule) for entry in entries[1:4]] == [(200, "said"), (503, "odd"), (200, None)]
    assert all(entry.whole and not entry.client_left for entry in entries[1:4])
    assert entries[3].completion_tokens == entries[3].sent_tokens
    running.built.runtime.advance(100)
    done = (await get(running, f"{BATCHES}/{made['id']}")).json()
    output = (await get(running, f"{FILES}/{done['output_file_id']}/content")).body.splitlines()
    assert len(json.dumps(json.loads(output[0])["response"]["body"], separators=(",", ":"))) == entries[1].bytes_out


async def test_tokens_of_lines_are_charged(start: Start) -> None:
    running = await start(
        "limits: [{deployment: gpt-4o, unit: tokens, amount: 100000, window: 60s, strategy: fixed}]\n"
    )
    await make(running, lines(line("a", "Hello")))
    used = running.built.journal.list_calls()[1].load()
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Next"}]}
    answer = await running.ask("azure", "/openai/v1/chat/completions", body, headers=KEY)
    left = int(answer.header("x-ratelimit-remaining-tokens") or 0)
    asked = answer.json()["usage"]["prompt_tokens"]
    assert left <= 100_000 - used.prompt_tokens - used.completion_tokens - asked


@pytest.mark.parametrize("policy", ["refuse", "forward", "record"])
async def test_line_that_no_rule_matches_is_refused(tmp_path: Path, policy: str) -> None:
    forwarding = Forwarding({"azure": "http://127.0.0.1:1"}, tmp_path)
    batches = "  - {name: kept here, when: {endpoint: [/openai/v1/files*, /openai/v1/batches*]}, pass: true}"
    text = SCENARIO.replace("rules:", f"unmatched: {policy}\nrules:\n{batches}")
    async with running(text, forwarding=forwarding) as server:
        made = await make(server, lines(line("one", "fixed"), line("two", "plain")))
        server.built.runtime.advance(200)
        done = (await get(server, f"{BATCHES}/{made['id']}")).json()
        assert done["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
        (failed,) = (await get(server, f"{FILES}/{done['error_file_id']}/content")).body.splitlines()
        await forwarding.close()
    response = json.loads(failed)["response"]
    assert (response["status_code"], response["body"]["error"]["type"]) == (501, "emulator_unmatched")
