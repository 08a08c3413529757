"""Custom tools in Responses."""

import re

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import GPT, send

PATH = "/serving-endpoints/responses"


def tool(**form: JSON) -> JSON:
    return {"type": "custom", "name": "run_code", **({"format": form} if form else {})}


def ask(*tools: JSON, **fields: JSON) -> JSON:
    return {"model": GPT, "input": 'Please run "print(1)" as code', "tools": list(tools), **fields}


@pytest.mark.covers("databricks/Responses", "custom tools")
@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        pytest.param({}, r"print\(1\)", id="free"),
        pytest.param({"type": "grammar", "syntax": "regex", "definition": "a+b"}, "a+b", id="a regular expression"),
        pytest.param({"type": "grammar", "syntax": "lark", "definition": 'start: "x" /[0-9]/'}, "x[0-9]", id="Lark"),
    ],
)
def test_tool_input_matches_grammar(form: JSON, pattern: str) -> None:
    (item,) = [item for item in send(PATH, ask(tool(**form))).body["output"] if item["type"] == "custom_tool_call"]
    assert re.fullmatch(pattern, item["input"])
    assert (item["name"], item["id"][:4], item["call_id"][:5]) == ("run_code", "ctc_", "call_")


def test_stream_equals_unary_response() -> None:
    whole = send(PATH, ask(tool())).body["output"][-1]
    events = send(PATH, ask(tool(), stream=True)).events
    said = [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"]
    assert "".join(said) == whole["input"]


def test_chosen_tool_is_called_and_result_is_used() -> None:
    other = {"type": "function", "name": "print_code", "parameters": {"type": "object", "properties": {}}}
    body = ask(other, tool(), tool_choice={"type": "custom", "name": "run_code"})
    call = send(PATH, body).body["output"][-1]
    assert call["type"] == "custom_tool_call"
    said = {"type": "custom_tool_call", "call_id": call["call_id"], "name": "run_code", "input": call["input"]}
    result = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "forty-two"}
    answer = send(PATH, ask(tool(), input=[{"role": "user", "content": "Go on"}, said, result])).body["output"][-1]
    assert "forty-two" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(ask({"type": "custom"}), "'tools[0].name'", id="no name"),
        pytest.param(ask(tool(type="grammar")), "needs 'definition'", id="no grammar"),
        pytest.param(
            ask(tool(type="grammar", syntax="regex", definition="(")), "is not valid regex", id="a broken grammar"
        ),
        pytest.param(
            ask(input=[{"type": "custom_tool_call", "call_id": "c", "name": "f"}]), "'input[0].input'", id="no input"
        ),
    ],
)
def test_invalid_request_is_rejected(body: JSON, text: str) -> None:
    refused = send(PATH, body)
    assert (refused.status, text in refused.message) == (400, True)


def test_seed_profile_rejects_custom_tools() -> None:
    assert send(PATH, ask(tool()), profile="seed").status == 400
