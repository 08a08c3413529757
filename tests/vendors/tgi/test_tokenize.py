"""Tokens of texts."""

import json

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, HELLO, WEATHER


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


USER = {"role": "user", "content": "a é"}
CALLED = {
    "role": "assistant",
    "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1.0, "é": []}}},
        {"id": "2", "type": "t", "function": {"description": "x", "name": "g", "parameters": '{"z": 1}'}},
    ],
}
SHOWN_CALLS = (
    r'[{"id":"1","type":"function","function":{"description":null,"name":"f","arguments":"{\"a\":1.0,\"é\":[]}"}},'
    r'{"id":"2","type":"t","function":{"description":"x","name":"g","arguments":"\"{\\\"z\\\": 1}\""}}]'
)
ODD_TOOL = {"type": "x", "function": {"name": "b", "arguments": [1, 2.50]}}
LLAMA = "deployments: [{vendor: tgi, name: meta-llama/Llama-3.1-8B-Instruct}]\n"


@pytest.mark.parametrize(
    ("section", "body", "text"),
    [
        pytest.param("", {"messages": [USER]}, "<s>[INST] a é [/INST]", id="one message"),
        pytest.param("", {"messages": []}, "<s>", id="no message"),
        pytest.param(
            "",
            {"messages": [USER, {"role": "assistant", "content": "s"}]},
            "<s>[INST] a é [/INST]s</s",
            id="the last text is found in the special token",
        ),
        pytest.param(
            "",
            {"messages": [USER, CALLED, {"role": "user", "content": "3"}]},
            f"<s>[INST] a é [/INST]{SHOWN_CALLS}</s>[INST] 3 [/INST]",
            id="earlier calls",
        ),
        pytest.param(
            "",
            {"messages": [USER, CALLED], "tools": [ODD_TOOL]},
            f"<s>[INST] a é [/INST]{SHOWN_CALLS}",
            id="tools have no place behind calls",
        ),
        pytest.param(
            "",
            {"messages": [USER], "tools": [ODD_TOOL], "tool_choice": "required", "tool_prompt": "P"},
            '<s>[INST] a é\n---\n[{"type":"x","function":{"description":null,"name":"b","arguments":"[1,2.5]"}}]\n'
            "P [/INST]",
            id="a tool of another type",
        ),
        pytest.param(
            LLAMA,
            {"messages": [{"role": "system", "content": "x <|y|>"}, USER]},
            "<|begin_of_text|><|system|>\nx <|y|>\n<|user|>\na é\n<|assistant|>\n",
            id="another template",
        ),
    ],
)
async def test_chat_counts_what_it_tokenizes(start: Start, section: str, body: JSON, text: str) -> None:
    """``router/src/server.rs:522`` (compute_characters), ``router/src/infer/chat_template.rs:78-137`` (apply)."""
    running = await start(section)
    answer = (await running.ask("tgi", "/chat_tokenize", body)).json()
    assert answer["templated_text"] == text
    for _ in range(3):  # the options are remembered from the second on
        chat = await running.ask("tgi", CHAT, body)
        count = len(answer["tokenize_response"])
        if body.get("tool_choice") or "tools" not in body:
            assert chat.header("x-compute-characters") == str(len(text))
            assert (chat.header("x-prompt-tokens"), chat.json()["usage"]["prompt_tokens"]) == (str(count), count)
    stream = await running.ask("tgi", CHAT, {**body, "stream": True})
    assert stream.header("x-compute-characters") == str(len(text))


@pytest.mark.parametrize(
    ("path", "body", "characters"),
    [
        pytest.param(CHAT, {"messages": HELLO, "top_p": 2}, len("<s>[INST] Hello [/INST]"), id="chat"),
        pytest.param("/invocations", {"messages": HELLO, "top_p": 2}, len("<s>[INST] Hello [/INST]"), id="invocations"),
        pytest.param("/v1/completions", {"prompt": ["é", "ab"], "top_p": 2}, 3, id="completions"),
        pytest.param("/", {"inputs": "éab", "parameters": {"top_p": 2}}, 3, id="text"),
    ],
)
async def test_refused_stream_has_characters_of_prompt(start: Start, path: str, body: JSON, characters: int) -> None:
    answer = await (await start()).ask("tgi", path, {**body, "stream": True})
    assert (answer.status, answer.header("x-compute-characters")) == (200, str(characters))
    assert b"`top_p` must be" in answer.body


async def test_answer_without_tool_has_lengths_of_second_prompt(start: Start) -> None:
    """``router/src/server.rs:1266-1282``: the headers of the second generation replace those of the first."""
    running = await start("rules: [{name: fixed, reply: {text: one}}]\n")
    body = {"messages": HELLO, "tools": [WEATHER]}
    answers = [await running.ask("tgi", CHAT, each) for each in (body, body, body, {"messages": HELLO})]
    for name in ("x-compute-characters", "x-prompt-tokens"):
        assert len({answer.header(name) for answer in answers}) == 1
    stream = await running.ask("tgi", CHAT, {**body, "stream": True})
    assert int(stream.header("x-compute-characters") or 0) > 100


async def test_each_token_of_character_has_all_of_it(start: Start) -> None:
    """``router/src/server.rs:67-98`` (encoding_to_tokens): several tokens of one character have its offsets."""
    answer = await (await start()).ask("tgi", "/tokenize", {"inputs": "a𐎀b"})
    tokens = [token for token in answer.json() if token["text"] == "𐎀"]
    assert len(tokens) > 1
    assert {(token["start"], token["stop"]) for token in tokens} == {(1, 5)}
    assert answer.json()[-1]["stop"] == 6
