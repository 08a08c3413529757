"""Test custom tools of Azure OpenAI in chat and in Responses."""

import re

import pytest

from tests.conftest import Start
from tests.http_client import Running
from tests.untyped_json import JSON, parse_json

CHAT, RESPONSES = "/openai/v1/chat/completions", "/openai/v1/responses"
KEY = {"api-key": "k"}
ASK = 'Please run "print(1)" as code'


def tool(**fields: JSON) -> JSON:
    return {"type": "custom", "custom": {"name": "run_code", "description": "Runs code.", **fields}}


def chat(*tools: JSON, **fields: JSON) -> JSON:
    return {"model": "gpt-5", "messages": [{"role": "user", "content": ASK}], "tools": [*tools], **fields}


def grammar(syntax: str, definition: str) -> JSON:
    return {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}


async def ask(running: Running, body: JSON, path: str = CHAT) -> JSON:
    answer = await running.ask("azure", path, body, headers=KEY)
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.covers("azure/Azure OpenAI", "custom tools")
@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        pytest.param(None, r"print\(1\)", id="free, so what the prompt quotes"),
        pytest.param({"type": "text"}, r"print\(1\)", id="a text"),
        pytest.param(grammar("regex", "[0-9]{3}-[a-z]+"), "[0-9]{3}-[a-z]+", id="a regular expression"),
        pytest.param(grammar("lark", 'start: "SELECT " /[a-z]+/ ";"'), "SELECT [a-z]+;", id="Lark"),
        pytest.param(grammar("regex", ".*"), r"print\(1\)", id="what the prompt quotes fits"),
    ],
)
async def test_input_matches_format(start: Start, form: JSON, pattern: str) -> None:
    body = await ask(await start(), chat(tool(format=form)))
    (choice,) = body["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], call["type"], call["custom"]["name"]) == ("tool_calls", "custom", "run_code")
    assert re.fullmatch(pattern, call["custom"]["input"]), call
    assert set(call) == {"custom", "id", "type"}


async def test_streamed_input_equals_unary(start: Start) -> None:
    running = await start()
    whole = (await ask(running, chat(tool())))["choices"][0]["message"]["tool_calls"][0]
    answer = await running.ask("azure", CHAT, chat(tool(), stream=True), headers=KEY)
    chunks = [parse_json(line[6:]) for line in answer.body.splitlines() if line.startswith(b"data: {")]
    deltas = [c["delta"]["tool_calls"][0] for chunk in chunks for c in chunk["choices"] if "tool_calls" in c["delta"]]
    head, *rest = deltas
    assert (head["type"], head["custom"]) == ("custom", {"name": "run_code", "input": ""})
    assert "".join(part["custom"]["input"] for part in rest) == whole["custom"]["input"]
    assert {part["index"] for part in deltas} == {0}


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param({"type": "custom", "custom": {"name": "run_code"}}, id="by name"),
        pytest.param(
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "custom", "custom": {"name": "run_code"}}]},
            },
            id="among those that are allowed",
        ),
    ],
)
async def test_custom_tool_can_be_chosen_among_functions(start: Start, choice: JSON) -> None:
    other: JSON = {"type": "function", "function": {"name": "print_code", "parameters": {"type": "object"}}}
    body = await ask(await start(), chat(other, tool(), tool_choice=choice))
    assert [call["type"] for call in body["choices"][0]["message"]["tool_calls"]] == ["custom"]


async def test_custom_tool_result_is_used(start: Start) -> None:
    running = await start()
    made = (await ask(running, chat(tool())))["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": made["tool_calls"][0]["id"], "content": "forty-two"}
    messages = [{"role": "user", "content": ASK}, made, result]
    assert "forty-two" in (await ask(running, chat(tool(), messages=messages)))["choices"][0]["message"]["content"]


async def test_scenario_sets_custom_tool_input(start: Start) -> None:
    rule = "rules:\n  - {name: run, reply: {tool_calls: [{name: run_code, arguments: 'x = 1'}]}}\n"
    running = await start(rule)
    (call,) = (await ask(running, chat(tool())))["choices"][0]["message"]["tool_calls"]
    assert call["custom"]["input"] == "x = 1"
    offered = {"type": "custom", "name": "run_code"}
    (item,) = [
        item
        for item in (await ask(running, {"model": "gpt-4o", "input": ASK, "tools": [offered]}, RESPONSES))["output"]
        if item["type"] == "custom_tool_call"
    ]
    assert (item["input"], item["id"][:4], item["call_id"][:5]) == ("x = 1", "ctc_", "call_")


@pytest.mark.parametrize(
    ("tools", "param", "text"),
    [
        pytest.param([{"type": "custom"}], "tools[0].custom", "Missing required parameter", id="no tool"),
        pytest.param([tool(name="a b")], "tools[0].custom.name", "", id="a wrong name"),
        pytest.param([{"type": "other"}], "tools[0].type", "'function' and 'custom'", id="another type"),
        pytest.param([tool(format={"type": "grammar"})], "tools[0].custom.format", "expected a grammar", id="none"),
        pytest.param([tool(format=grammar("lark", "x"))], "tools[0].custom", "no rules are defined", id="no rules"),
        pytest.param([tool(format=grammar("ebnf", "x"))], "tools[0].custom.format.grammar.syntax", "", id="syntax"),
    ],
)
async def test_invalid_custom_tool_is_rejected(start: Start, tools: list[JSON], param: str, text: str) -> None:
    answer = await (await start()).ask("azure", CHAT, chat(*tools), headers=KEY)
    error = answer.json()["error"]
    assert (answer.status, error["param"]) == (400, param)
    assert text in error["message"]


async def test_responses_stream_custom_tool_call_and_continue(start: Start) -> None:
    running = await start()
    offered = {
        "type": "custom",
        "name": "run_code",
        "format": {"type": "grammar", "syntax": "regex", "definition": "a+"},
    }
    body = {"model": "gpt-4o", "input": ASK, "tools": [offered], "tool_choice": {"type": "custom", "name": "run_code"}}
    whole = await ask(running, body, RESPONSES)
    (item,) = whole["output"]
    assert (item["type"], bool(re.fullmatch("a+", item["input"])), "arguments" in item) == (
        "custom_tool_call",
        True,
        False,
    )
    answer = await running.ask("azure", RESPONSES, {**body, "stream": True}, headers=KEY)
    events = [parse_json(line[6:]) for line in answer.body.splitlines() if line.startswith(b"data: {")]
    said = "".join(e["delta"] for e in events if e["type"] == "response.custom_tool_call_input.delta")
    (done,) = [e for e in events if e["type"] == "response.custom_tool_call_input.done"]
    assert said == done["input"] == item["input"]
    back = [{"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "forty-two"}]
    more = await ask(running, {"model": "gpt-4o", "input": back, "previous_response_id": whole["id"]}, RESPONSES)
    assert "forty-two" in more["output"][0]["content"][0]["text"]


async def test_responses_reject_invalid_grammar(start: Start) -> None:
    form = {"type": "grammar", "syntax": "regex", "definition": "("}
    body = {"model": "gpt-4o", "input": ASK, "tools": [{"type": "custom", "name": "f", "format": form}]}
    answer = await (await start()).ask("azure", RESPONSES, body, headers=KEY)
    assert (answer.status, answer.json()["error"]["param"]) == (400, "tools[0]")
