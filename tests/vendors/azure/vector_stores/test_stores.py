"""Vector stores, their files and batches, over the wire."""

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.untyped_json import JSON
from tests.vendors.forms import HEADERS, make_form

STORES, FILES = "/openai/v1/vector_stores", "/openai/v1/files"
KEY = {"api-key": "k"}
ANCHOR = ("expires_after[anchor]", "created_at")
SCENARIO = """
vendors:
  azure:
    indexing_seconds: 10
    file_texts: {report.pdf: Profits doubled.}
    vector_stores:
      vs_handbook:
        leave.md: Everyone has 30 days of leave.
        travel.md: Trains are booked by the office.
    file_attributes: {travel.md: {team: ops, year: 2020}}
"""


async def upload(running: Running, name: str, content: bytes, *fields: tuple[str, str]) -> str:
    head = f"POST {FILES} HTTP/1.1\r\napi-key: k\r\nContent-Type: {HEADERS['Content-Type']}\r\n"
    form = make_form(("purpose", "assistants"), *fields, ("file", (name, content)))
    return str((await running.send("azure", head.encode(), form)).json()["id"])


async def ask(running: Running, path: str, body: JSON = None, method: str = "", key: str = "k") -> Answer:
    verb = method or ("GET" if body is None else "POST")
    return await running.ask("azure", path, body, method=verb, headers={"api-key": key})


async def read(running: Running, path: str, body: JSON = None, method: str = "") -> JSON:
    answer = await ask(running, path, body, method)
    assert answer.status == 200, answer.body
    return answer.json()


async def test_store_indexes_files_by_clock(start: Start) -> None:
    running = await start(SCENARIO)
    file = await upload(running, "pets.txt", b"Cats sleep. Dogs bark at night.")
    fields: JSON = {"name": "Pets", "file_ids": [file], "metadata": {"a": "b"}, "description": "Of pets."}
    made = await read(running, STORES, fields)
    assert (made["name"], made["metadata"], made["description"]) == ("Pets", {"a": "b"}, "Of pets.")
    assert (made["status"], made["usage_bytes"], made["file_counts"]["in_progress"]) == ("in_progress", 0, 1)
    path = f"{STORES}/{made['id']}"
    assert (await read(running, f"{path}/search", {"query": "dogs"}))["data"] == []
    running.built.runtime.advance(10)
    done = await read(running, path)
    assert (done["status"], done["usage_bytes"], done["file_counts"]["completed"]) == ("completed", 31, 1)
    found = await read(running, f"{path}/search", {"query": ["dogs", "mice"], "max_num_results": 1})
    assert (found["object"], found["search_query"]) == ("vector_store.search_results.page", ["dogs", "mice"])
    (hit,) = found["data"]
    assert (hit["file_id"], hit["filename"], hit["attributes"]) == (file, "pets.txt", {})
    assert hit["content"] == [{"type": "text", "text": "Cats sleep. Dogs bark at night."}]
    content = await read(running, f"{path}/files/{file}/content")
    assert content["data"] == hit["content"]
    listed = (await read(running, STORES))["data"]
    assert [each["id"] for each in listed] == [made["id"], "vs_handbook"]
    renamed = await read(running, path, {"name": "Animals", "metadata": None})
    assert (renamed["name"], renamed["metadata"]) == ("Animals", {})
    gone = await read(running, path, method="DELETE")
    assert gone == {"id": made["id"], "object": "vector_store.deleted", "deleted": True}
    assert (await ask(running, path)).status == 404
    assert (await read(running, f"{FILES}/{file}"))["filename"] == "pets.txt"


async def test_declared_store_is_searched_and_stays(start: Start) -> None:
    running = await start(SCENARIO)
    store = await read(running, f"{STORES}/vs_handbook")
    assert (store["name"], store["status"], store["file_counts"]["completed"]) == ("vs_handbook", "in_progress", 0)
    running.built.runtime.advance(10)
    path = f"{STORES}/vs_handbook"
    filters: JSON = {"type": "gte", "key": "year", "value": 2020}
    (hit,) = (await read(running, f"{path}/search", {"query": "trains or leave", "filters": filters}))["data"]
    assert (hit["filename"], hit["attributes"]) == ("travel.md", {"team": "ops", "year": 2020})
    file = await read(running, f"{FILES}/{hit['file_id']}")
    assert (file["filename"], file["bytes"], file["purpose"]) == ("travel.md", 32, "assistants")
    raw = await ask(running, f"{FILES}/{hit['file_id']}/content")
    assert raw.body == b"Trains are booked by the office."
    refused = await ask(running, path, method="DELETE")
    assert (refused.status, refused.json()["error"]["param"]) == (400, "vector_store_id")


async def test_batch_has_counts_and_failures(start: Start) -> None:
    running = await start(SCENARIO)
    store = (await read(running, STORES, {}))["id"]
    files = [
        await upload(running, *each)
        for each in (("a.txt", b"One."), ("report.pdf", b"%PDF"), ("b.xlsx", b"x"), ("c.txt", b"\xff"), ("d.md", b""))
    ]
    path = f"{STORES}/{store}/file_batches"
    batch = await read(running, path, {"file_ids": files, "attributes": {"n": 1}})
    assert (batch["object"], batch["status"], batch["file_counts"]["in_progress"]) == (
        "vector_store.files_batch",
        "in_progress",
        5,
    )
    running.built.runtime.advance(10)
    done = await read(running, f"{path}/{batch['id']}")
    assert done["file_counts"] == {"in_progress": 0, "completed": 2, "failed": 3, "cancelled": 0, "total": 5}
    failed = (await read(running, f"{path}/{batch['id']}/files?filter=failed&order=asc"))["data"]
    assert [each["last_error"]["code"] for each in failed] == ["unsupported_file", "invalid_file", "invalid_file"]
    (hit,) = (await read(running, f"{STORES}/{store}/search", {"query": "profits"}))["data"]
    assert (hit["filename"], hit["attributes"]) == ("report.pdf", {"n": 1})
    again = await read(running, path, {"files": [{"file_id": files[0], "attributes": {"m": "x"}}]})
    stopped = await read(running, f"{path}/{again['id']}/cancel", {})
    assert (stopped["status"], stopped["file_counts"]["cancelled"]) == ("cancelled", 1)
    one = f"{STORES}/{store}/files/{files[1]}"
    assert (await read(running, one, {"attributes": {"k": True}}))["attributes"] == {"k": True}
    refused = (await ask(running, one, {"attributes": {"k": "x" * 513}})).json()["error"]
    assert (refused["param"], "constrained" in refused["message"]) == ("attributes.k", False)
    assert (await read(running, one, method="DELETE"))["object"] == "vector_store.file.deleted"
    assert (await ask(running, one)).json()["error"]["message"].startswith("No file found with id")


async def test_expired_file_is_not_searched(start: Start) -> None:
    running = await start(SCENARIO)
    file = await upload(running, "pets.txt", b"Dogs bark.", ("expires_after[seconds]", "3600"), ANCHOR)
    path = f"{STORES}/{(await read(running, STORES, {'file_ids': [file]}))['id']}"
    found = []
    for seconds in (10, 3590):
        running.built.runtime.advance(seconds)
        found.append(len((await read(running, f"{path}/search", {"query": "dogs"}))["data"]))
    assert found == [1, 0]


@pytest.mark.parametrize(
    ("threshold", "message", "code"),
    [
        (2, "decimal above maximum value. Expected a value <= 1, but got 2", "decimal_above_max_value"),
        (-0.5, "decimal below minimum value. Expected a value >= 0, but got -0.5", "decimal_below_min_value"),
    ],
)
async def test_threshold_is_a_decimal(start: Start, threshold: float, message: str, code: str) -> None:
    body: JSON = {"query": "trains", "ranking_options": {"score_threshold": threshold}}
    refused = await ask(await start(SCENARIO), f"{STORES}/vs_handbook/search", body)
    assert (refused.status, refused.json()["error"]) == (
        400,
        {
            "message": f"Invalid 'ranking_options.score_threshold': {message} instead.",
            "type": "invalid_request_error",
            "param": "ranking_options.score_threshold",
            "code": code,
        },
    )


async def test_store_expires_after_last_use(start: Start) -> None:
    running = await start()
    file = await upload(running, "a.txt", b"One.")
    expiry = {"anchor": "last_active_at", "days": 1}
    made = await read(running, STORES, {"expires_after": expiry, "file_ids": [file]})
    path = f"{STORES}/{made['id']}"
    running.built.runtime.advance(80_000)
    await read(running, f"{path}/search", {"query": "one"})
    running.built.runtime.advance(80_000)
    used = await read(running, path)
    assert (used["status"], used["expires_at"] - made["expires_at"]) == ("completed", 80_000)
    running.built.runtime.advance(6_400)
    assert (await read(running, path))["status"] == "expired"
    refused = await ask(running, f"{path}/search", {"query": "one"})
    assert refused.json()["error"]["message"] == f"Vector store '{made['id']}' has expired."


async def test_pages_of_files(start: Start) -> None:
    running = await start()
    names = [await upload(running, f"{number}.txt", b"x") for number in range(5)]
    store = (await read(running, STORES, {"file_ids": names}))["id"]
    path = f"{STORES}/{store}/files?limit=2"
    for query, expected, more in (
        ("", names[:2:-1], True),
        ("&order=asc", names[:2], True),
        (f"&order=asc&after={names[2]}", names[3:], False),
        (f"&order=asc&before={names[3]}", names[1:3], True),
        (f"&order=asc&before={names[1]}", names[:1], False),
    ):
        page = await read(running, path + query)
        assert ([each["id"] for each in page["data"]], page["has_more"]) == (expected, more), query


async def test_stores_belong_to_principals(start: Start) -> None:
    running = await start("keys: [{token: k, principal: one}, {token: o, principal: other}]")
    made = await read(running, STORES, {})
    assert (await ask(running, f"{STORES}/{made['id']}", key="o")).status == 404
    assert (await ask(running, STORES, key="o")).json()["data"] == []


@pytest.mark.parametrize(
    ("path", "body", "status", "param", "message"),
    [
        ("", {"odd": 1}, 400, "odd", "Unknown parameter: 'odd'."),
        ("", {"file_ids": "x"}, 400, "file_ids", "Invalid type for 'file_ids': expected an array of objects"),
        ("", {"file_ids": ["file-0"]}, 404, "file_id", "No such File object: file-0"),
        ("", {"expires_after": {"anchor": "x", "days": 1}}, 400, "expires_after.anchor", "Invalid value: 'x'."),
        (
            "",
            {"expires_after": {"anchor": "last_active_at", "days": 0}},
            400,
            "expires_after.days",
            "Invalid 'expires_after.days': integer below minimum value.",
        ),
        ("", {"chunking_strategy": {"type": "static"}}, 400, "chunking_strategy.static", "Missing required parameter"),
        (
            "",
            {
                "chunking_strategy": {
                    "type": "static",
                    "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 51},
                }
            },
            400,
            "chunking_strategy.static.chunk_overlap_tokens",
            "Invalid 'chunking_strategy.static.chunk_overlap_tokens'",
        ),
        ("/vs_no", None, 404, None, "No vector store found with id 'vs_no'."),
        ("/other", None, 400, "vector_store_id", "Invalid 'vector_store_id': 'other'. Expected an ID that begins with"),
        ("/vs_handbook/search", {}, 400, "query", "Missing required parameter: 'query'."),
        ("/vs_handbook/search", {"query": "a", "max_num_results": 51}, 400, "max_num_results", "Invalid 'max_num_resu"),
        (
            "/vs_handbook/search",
            {"query": "a", "filters": {"type": "and", "filters": [{"type": "eq", "key": "a"}]}},
            400,
            "filters.filters[0].value",
            "Missing required parameter: 'filters.filters[0].value'.",
        ),
        ("/vs_handbook/file_batches", {}, 400, "file_ids", "Exactly one of 'file_ids' and 'files' must be given."),
        ("/vs_handbook/file_batches/x", None, 404, None, "No file batch found with id 'x' in vector store"),
        ("/vs_handbook/files?filter=x", None, 400, "filter", "Invalid value: 'x'."),
    ],
)
async def test_wrong_request_is_refused(
    start: Start, path: str, body: JSON, status: int, param: str | None, message: str
) -> None:
    refused = await ask(await start(SCENARIO), f"{STORES}{path}", body)
    error = refused.json()["error"]
    assert (refused.status, error["param"]) == (status, param), error
    assert error["message"].startswith(message), error
