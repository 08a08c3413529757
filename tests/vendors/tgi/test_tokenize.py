"""Tokens of texts."""

import json

from tests.conftest import Start
from tests.vendors.tgi.direct import HELLO, WEATHER


async def test_chat_tokenize(start: Start) -> None:
    answer = (await (await start()).ask("tgi", "/chat_tokenize", {"messages": HELLO})).json()
    assert list(answer) == ["tokenize_response", "templated_text"]
    assert "Hello" in answer["templated_text"]
    assert "".join(token["text"] for token in answer["tokenize_response"]) == answer["templated_text"]


async def test_chat_prompt_begins_with_its_first_token(start: Start) -> None:
    running = await start()
    messages = [{"role": r, "content": c} for r, c in (("user", "a é"), ("assistant", "b"), ("user", "c"))]
    answer = (await running.ask("tgi", "/chat_tokenize", {"messages": messages})).json()
    text = answer["templated_text"]
    assert text == "<s>[INST] a é [/INST]b</s>[INST] c [/INST]"
    tokens = answer["tokenize_response"]
    assert tokens[0] == {"id": 1, "text": "<s>", "start": 0, "stop": 3}
    assert "".join(token["text"] for token in tokens) == text
    assert [token["id"] for token in tokens].count(2) == 1
    assert all(text.encode()[t["start"] : t["stop"]].decode() == t["text"] for t in tokens)


async def test_chat_prompt_has_tools(start: Start) -> None:
    """``router/src/infer/chat_template.rs:78-104``: they stand behind the last message."""
    running = await start()
    body = {"messages": HELLO, "tools": [WEATHER], "tool_prompt": "Choose."}
    text = (await running.ask("tgi", "/chat_tokenize", body)).json()["templated_text"]
    head, _, behind = str(text).partition("\n---\n")
    tools, _, tail = behind.partition("\n")
    assert (head, tail) == ("<s>[INST] Hello", "Choose. [/INST]")
    assert [tool["function"]["name"] for tool in json.loads(tools)] == ["get_weather", "no_tool"]
    both = {**body, "response_format": {"type": "json", "value": {}}}
    refused = await running.ask("tgi", "/chat_tokenize", both)
    assert (refused.status, refused.json()["error_type"]) == (422, "tool_error")


async def test_continued_message(start: Start) -> None:
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y "}]
    answer = await (await start()).ask("tgi", "/chat_tokenize", {"messages": messages})
    assert answer.json()["templated_text"] == "<s>[INST] x [/INST]y"
