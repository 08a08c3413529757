"""Non-streaming responses, byte for byte."""

import json

import pytest

from emulator.core.plan import Plan
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import CHAT, LATEST, SEED, Server, make_server
from tests.vendors.openvino.plans import make_choice, make_plan, render, say, stream

_TAIL = b'"created":1716825108,"model":"llama3","object":"chat.completion"'


def _usage(completion: int) -> bytes:
    return b'"usage":{"prompt_tokens":5,"completion_tokens":%d,"total_tokens":%d}' % (completion, completion + 5)


@pytest.mark.covers("openvino/answers", "2025.0")
@pytest.mark.covers("openvino/decisions", "6 order in usage")
@pytest.mark.parametrize(
    ("server", "plan", "body"),
    [
        pytest.param(
            SEED,
            say("\n\n", "How", " can I help you?"),
            b'{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":'
            b'"\\n\\nHow can I help you?","role":"assistant"}}],' + _TAIL + b"," + _usage(3) + b"}",
            id="2025.0",
        ),
        pytest.param(
            LATEST,
            say("Hi"),
            b'{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":"Hi",'
            b'"role":"assistant","tool_calls":[]}}],' + _TAIL + b"," + _usage(1) + b"}",
            id="2026.3 always lists tool calls",
        ),
        pytest.param(
            make_server("2024.2"),
            say("Hi", finish="length"),
            b'{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":"Hi",'
            b'"role":"assistant"}}],' + _TAIL + b"}",
            id="2024.2 has neither usage nor length",
        ),
        pytest.param(
            SEED,
            make_plan(make_choice(("text", "", ["a"])), make_choice(("text", "", ["b", "c"]), finish="length")),
            b'{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":"a",'
            b'"role":"assistant"}},{"finish_reason":"length","index":1,"logprobs":null,"message":{"content":"bc",'
            b'"role":"assistant"}}],' + _TAIL + b"," + _usage(3) + b"}",
            id="two choices, their tokens summed",
        ),
        pytest.param(
            SEED,
            say('"/\\\x1f\x7f é日', "\U0001f600"),
            b'{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":'
            b'"\\"/\\\\\\u001F\x7f \xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80","role":"assistant"}}],'
            + _TAIL
            + b","
            + _usage(2)
            + b"}",
            id="escapes",
        ),
        pytest.param(
            SEED,
            say("\\u001f"),
            b'{"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":'
            b'"\\\\u001f","role":"assistant"}}],' + _TAIL + b"," + _usage(1) + b"}",
            id="a text about an escape",
        ),
    ],
)
def test_chat(server: Server, plan: Plan, body: bytes) -> None:
    assert render(server, plan) == body


_CALLS = make_plan(
    make_choice(
        ("reasoning", "", ["Hm", "m"]),
        ("tool_call", "f", ['{"a"', ":1}"]),
        ("tool_call", "g", ["{}"]),
        finish="tool_calls",
    )
)


@pytest.mark.covers("openvino/answers", "2026.3")
def test_reasoning_and_tool_calls() -> None:
    choice = json.loads(render(LATEST, _CALLS))["choices"][0]
    message = choice["message"]
    assert list(message) == ["content", "reasoning_content", "role", "tool_calls"]
    assert (message["content"], message["reasoning_content"], choice["finish_reason"]) == ("", "Hmm", "tool_calls")
    first, second = message["tool_calls"]
    assert list(first) == ["id", "type", "function"]
    assert (first["type"], first["function"]) == ("function", {"name": "f", "arguments": '{"a":1}'})
    assert len(first["id"]) == 9
    assert first["id"].isalnum()
    assert first["id"] != second["id"]


def test_finish_reason_tool_calls_since_2026_1() -> None:
    for release, reason in (("2026.0", "stop"), ("2026.1", "tool_calls")):
        assert json.loads(render(make_server(release), _CALLS))["choices"][0]["finish_reason"] == reason


def test_reasoning_and_calls_stay_in_content_in_2025_0() -> None:
    message = json.loads(render(SEED, _CALLS))["choices"][0]["message"]
    text = '<think>\nHmm\n</think>\n\n{"name": "f", "parameters": {"a":1}}{"name": "g", "parameters": {}}'
    assert message == {"content": text, "role": "assistant"}


_WEIGHED = make_plan(make_choice(("text", "", ["Hi", " é"]), logprobs=[-0.25, -0.0001]))


@pytest.mark.covers("openvino/answers", "logprobs")
def test_chat_logprobs() -> None:
    body = render(SEED, _WEIGHED, logprobs=True)
    assert (
        b'"logprobs":{"content":[{"token":"Hi","logprob":-0.25,"bytes":[72,105],"top_logprobs":[]},'
        b'{"token":" \xc3\xa9","logprob":-0.00009999999747378752,"bytes":[32,195,169],"top_logprobs":[]}]}' in body
    )
    assert b'"logprobs":null' in render(make_server(logprobs_content=False), _WEIGHED, logprobs=True)


@pytest.mark.covers("openvino/answers", "numbers")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0.5, b"null", id="above zero"),
        pytest.param(0.0, b"0.0", id="zero"),
        pytest.param(-1, b"-1.0", id="a whole number"),
        pytest.param(-22.33, b"-22.329999923706055", id="a float as a double"),
        pytest.param(-1e-7, b"-1.0000000116860974e-7", id="a small one"),
    ],
)
def test_logprob_number_format(value: float, text: bytes) -> None:
    plan = make_plan(make_choice(("text", "", ["x"]), logprobs=[value]))
    assert b'"logprob":%b,' % text in render(SEED, plan, logprobs=True)


def test_vision_graphs_have_no_logprobs_key_in_2026_3() -> None:
    assert b"logprobs" not in render(LATEST, say("Hi"), model="eyes")
    assert b"logprobs" in render(SEED, say("Hi"), model="eyes")


def test_verbose_response() -> None:
    body = render(make_server("latest", verbose_response=True), say("Hi"))
    assert body.endswith(b',"__verbose":{"prompt":"What is OpenVINO?","content":"Hi"}}')
    assert b"__verbose" not in render(make_server("2026.2", verbose_response=True), say("Hi"))


@pytest.mark.covers("openvino/answers", "headers")
def test_headers() -> None:
    call = SEED.call({"model": "llama3", "messages": [{"role": "user", "content": "hi"}]})
    answer = call.codec.render(say("Hi"), make_request(CHAT))
    assert (answer.status, answer.headers) == (200, (("content-type", "application/json; charset=utf-8"),))


def _speak(server: Server, model: str, **fields: JSON) -> JSON:
    plan = make_plan(
        make_choice(("reasoning", "", ["Hm"]), ("tool_call", "f", ["{", "}"]), finish="tool_calls"),
    )
    tool: JSON = {"type": "function", "function": {"name": "f", "parameters": {}}}
    return json.loads(render(server, plan, model=model, **{"tools": [tool], **fields}))["choices"][0]


@pytest.mark.covers("openvino/answers", "a graph without parsers")
@pytest.mark.parametrize(
    ("model", "content"),
    [
        pytest.param("bare", '<think>\nHm\n</think>\n\n{"name": "f", "parameters": {}}', id="as Llama writes"),
        pytest.param("qwen", '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', id="as Qwen writes"),
    ],
)
def test_graph_without_parsers_leaves_calls_and_reasoning_in_content(model: str, content: str) -> None:
    choice = _speak(LATEST, model)
    assert choice["message"]["content"] == content
    assert choice["message"]["tool_calls"] == []
    assert ("reasoning_content" in choice["message"], choice["finish_reason"]) == (model == "qwen", "stop")


def test_unparsed_tool_call_is_streamed_as_text() -> None:
    plan = make_plan(make_choice(("tool_call", "f", ["{", "}"]), finish="tool_calls"))
    tool: JSON = {"type": "function", "function": {"name": "f", "parameters": {}}}
    data = b"".join(data for _, data in stream(LATEST, plan, model="bare", tools=[tool]).events)
    assert b"tool_calls" not in data
    assert b'"finish_reason":"stop"' in data


def test_tools_without_parameters_are_not_parsed_since_2025_3() -> None:
    tools: JSON = [{"type": "function", "function": {"name": "f"}}]
    for release, calls in (("2025.2", 1), ("2025.3", 0), ("2026.3", 0)):
        message = _speak(make_server(release), "hermes", tools=tools)["message"]
        assert len(message["tool_calls"]) == calls
        assert ("<tool_call>" in message["content"]) is (calls == 0)
