"""The file search of Responses: calls, answers, citations, events, refusals."""

import pytest

from tests.conftest import Start
from tests.http_client import Running
from tests.untyped_json import JSON

RESPONSES = "/openai/v1/responses"
KEY = {"api-key": "k"}
SCENARIO = """
vendors:
  azure:
    vector_stores:
      vs_handbook:
        leave.md: "# Leave\\n\\n- Everyone has 30 days of leave a year. Ask your lead."
        travel.md: Trains are booked by the office. Taxis need a receipt.
    file_attributes: {travel.md: {team: ops}}
rules:
  - {name: quoting, when: {prompt: {contains: quote}}, reply: {text: "I say: Trains are booked by the office. Yes."}}
  - {name: own, when: {prompt: {contains: own}}, reply: {text: My words.}}
"""
TOOL: JSON = {"type": "file_search", "vector_store_ids": ["vs_handbook"]}
LEAVE = "Everyone has 30 days of leave a year."
TRAINS = "Trains are booked by the office."


async def ask(running: Running, question: JSON, **fields: JSON) -> JSON:
    body: JSON = {"model": "gpt-4o", "input": question, "tools": [TOOL], **fields}
    answer = await running.ask("azure", RESPONSES, body, headers=KEY)
    assert answer.status == 200, answer.body
    return answer.json()


def text_of(response: JSON) -> str:
    return str(response["output"][-1]["content"][0]["text"])


async def test_answer_says_what_files_say(start: Start) -> None:
    running = await start(SCENARIO)
    found = await ask(running, "How many days of leave?", include=["file_search_call.results"])
    call, message = found["output"]
    assert (call["type"], call["status"], call["queries"]) == (
        "file_search_call",
        "completed",
        ["How many days of leave?"],
    )
    (result,) = call["results"]
    assert (result["filename"], result["attributes"]) == ("leave.md", {})
    assert 0 < result["score"] <= 1
    content = message["content"][0]
    assert content["text"] == LEAVE
    note = {"type": "file_citation", "index": len(LEAVE), "file_id": result["file_id"], "filename": "leave.md"}
    assert content["annotations"] == [note]
    (tool,) = found["tools"]
    assert (tool["max_num_results"], tool["ranking_options"]) == (20, {"ranker": "auto", "score_threshold": 0.0})
    alone = await ask(running, "How many days of leave?", tools=[])
    assert found["usage"]["input_tokens"] > alone["usage"]["input_tokens"]
    assert [item["type"] for item in alone["output"]] == ["message"]


async def test_uploaded_file_answers_at_once(start: Start) -> None:
    running = await start(SCENARIO)
    head = b"POST /openai/v1/files HTTP/1.1\r\napi-key: k\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    part = '--b\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\n{}\r\n'
    purpose, file = (
        part.format("purpose", "", "assistants"),
        part.format("file", '; filename="a.txt"', "Mice eat oats."),
    )
    name = (await running.send("azure", head, f"{purpose}{file}--b--".encode())).json()["id"]
    body: JSON = {"file_ids": [name]}
    store = (await running.ask("azure", "/openai/v1/vector_stores", body, headers=KEY)).json()["id"]
    tool: JSON = {**TOOL, "vector_store_ids": ["vs_handbook", store]}
    for _ in range(2):
        assert text_of(await ask(running, "What do mice eat?", tools=[tool])) == "Mice eat oats."
    await running.ask("azure", f"/openai/v1/files/{name}", method="DELETE", headers=KEY)
    changed = await ask(running, "What do mice eat?", tools=[tool])
    assert text_of(changed) != "Mice eat oats."
    assert changed["output"][-1]["content"][0]["annotations"] == []


@pytest.mark.parametrize(
    ("text", "answer", "notes"),
    [
        ("quote trains", "I say: Trains are booked by the office. Yes.", [39]),
        ("your own words of leave", "My words.", [9]),
        ("leave or trains?", f"{LEAVE} {TRAINS}", [37, 70]),
    ],
)
async def test_citations_stand_behind_their_passages(start: Start, text: str, answer: str, notes: list[int]) -> None:
    content = (await ask(await start(SCENARIO), text))["output"][-1]["content"][0]
    assert content["text"] == answer
    assert [note["index"] for note in content["annotations"]] == notes


async def test_output_can_be_sent_back_and_continued(start: Start) -> None:
    running = await start(SCENARIO)
    first = await ask(running, "How many days of leave?", include=["file_search_call.results"])
    again = await ask(running, [*first["output"], {"role": "user", "content": "And trains?"}])
    assert text_of(again) == TRAINS
    continued = await ask(running, "And trains?", previous_response_id=first["id"])
    assert text_of(continued) == TRAINS
    items = await running.ask(
        "azure", f"{RESPONSES}/{continued['id']}/input_items?order=asc", method="GET", headers=KEY
    )
    assert [item["type"] for item in items.json()["data"]] == ["message", "file_search_call", "message", "message"]


async def test_stream_searches_first_and_is_replayed(start: Start) -> None:
    running = await start(SCENARIO)
    body: JSON = {"model": "gpt-4o", "input": "days of leave", "tools": [TOOL], "stream": True, "background": True}
    events = (await running.ask("azure", RESPONSES, body, headers=KEY)).events()
    kinds = [event["type"].removeprefix("response.") for event in events]
    at = kinds.index("output_item.added")
    assert kinds[at : at + 6] == [
        "output_item.added",
        *[f"file_search_call.{state}" for state in ("in_progress", "searching", "completed")],
        "output_item.done",
        "output_item.added",
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    noted = events[kinds.index("output_text.annotation.added")]
    final = events[-1]["response"]
    assert [noted["annotation"]] == final["output"][1]["content"][0]["annotations"]
    assert (noted["output_index"], noted["annotation_index"]) == (1, 0)
    assert events[at + 4]["item"] == final["output"][0]
    replay = await running.ask("azure", f"{RESPONSES}/{final['id']}?stream=true", method="GET", headers=KEY)
    assert replay.events() == events


@pytest.mark.parametrize(
    ("fields", "searches"),
    [
        ({"tool_choice": "none"}, False),
        ({"tool_choice": {"type": "file_search"}}, True),
        ({"tool_choice": "required"}, True),
        ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "file_search"}]}}, True),
        ({"text": {"format": {"type": "json_object"}}, "instructions": "json"}, True),
        ({"model": "o3"}, True),
    ],
)
async def test_choice_decides_about_search(start: Start, fields: JSON, searches: bool) -> None:
    found = await ask(await start(SCENARIO), "days of leave", **fields)
    kinds = [item["type"] for item in found["output"]]
    assert ("file_search_call" in kinds, kinds[-1]) == (searches, "message")


async def test_filters_and_threshold(start: Start) -> None:
    running = await start(SCENARIO)
    team: JSON = {**TOOL, "filters": {"type": "eq", "key": "team", "value": "ops"}}
    assert text_of(await ask(running, "leave or trains?", tools=[team])) == TRAINS
    strict: JSON = {**TOOL, "ranking_options": {"score_threshold": 1.0}}
    found = await ask(running, "leave or trains?", tools=[strict], include=["file_search_call.results"])
    assert found["output"][0]["results"] == []


@pytest.mark.parametrize(
    ("fields", "status", "param", "message"),
    [
        (
            {"tools": [{**TOOL, "vector_store_ids": ["vs_no"]}]},
            404,
            "tools",
            "Vector store with id ['vs_no'] not",
        ),
        ({"tools": [{**TOOL, "vector_store_ids": []}]}, 400, "tools[0].vector_store_ids", "Invalid 'tools[0].vector_"),
        ({"tools": [{"type": "file_search"}]}, 400, "tools[0].vector_store_ids", "Missing required parameter"),
        ({"tools": [{**TOOL, "max_num_results": 0}]}, 400, "tools[0].max_num_results", "Invalid 'tools[0].max_num_re"),
        ({"tools": [{**TOOL, "odd": 0}]}, 400, "tools[0].odd", "Unknown parameter: 'tools[0].odd'."),
        (
            {"tools": [], "tool_choice": {"type": "file_search"}},
            400,
            "tool_choice",
            "Tool choice 'file_search' not",
        ),
        ({"tools": [TOOL, {"type": "web_search"}]}, 400, "tools", "Hosted tool 'web_search' is not supported"),
    ],
)
async def test_wrong_search_is_refused(start: Start, fields: JSON, status: int, param: str, message: str) -> None:
    running = await start(SCENARIO)
    body: JSON = {"model": "gpt-4o", "input": "leave", **fields}
    refused = await running.ask("azure", RESPONSES, body, headers=KEY)
    error = refused.json()["error"]
    assert (refused.status, error["param"]) == (status, param), error
    assert error["message"].startswith(message), error
