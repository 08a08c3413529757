"""Event streams: boundaries and content of chunks, and events sent together."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.plan import Plan
from emulator.protocols.choice_events import TextRun
from emulator.vendors.openvino.chat.stream import cut_at_blanks, cut_with_lag
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import COMPLETIONS, LATEST, SEED, Server, make_server
from tests.vendors.openvino.plans import make_choice, make_plan, say, stream

_HEAD = b'"created":1716825108,"model":"llama3","object":"chat.completion.chunk"'


def old_chunk(text: bytes, finish: bytes = b"null", usage: bytes = b"") -> bytes:
    choice = b'{"finish_reason":%b,"index":0,"logprobs":null,"delta":{"content":%b}}' % (finish, text)
    return b'data: {"choices":[%b],%b%b}\n\n' % (choice, _HEAD, usage)


def new_chunk(delta: bytes, finish: bytes = b"null", usage: bytes = b"") -> bytes:
    choice = b'{"index":0,"logprobs":null,"delta":%b,"finish_reason":%b}' % (delta, finish)
    return b'data: {"choices":[%b],%b%b}\n\n' % (choice, _HEAD, usage)


HANDSHAKE = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}],%b}\n\n' % _HEAD
)
DONE = b"data: [DONE]\n\n"


@pytest.mark.covers("openvino/answers", "a stream of 2025.0")
@pytest.mark.covers("openvino/traps", "22 no comments")
def test_stream_of_2025_0() -> None:
    streamed = stream(SEED, say("Hello", " wor", "ld", "!"))
    assert streamed.events == (
        (2.0, old_chunk(b'"Hello "')),
        (4.0, old_chunk(b'"world!"', b'"stop"') + DONE),
    )
    assert streamed.headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "connection": "keep-alive",
    }


@pytest.mark.covers("openvino/answers", "usage")
def test_usage_is_sent_with_last_chunk_and_done() -> None:
    events = stream(SEED, say("Hi", " you"), stream_options={"include_usage": True}).events
    null = b',"usage":null'
    count = b',"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}'
    assert events == (
        (2.0, old_chunk(b'"Hi "', usage=null)),
        (2.0, old_chunk(b'"you"', b'"stop"', null) + b'data: {"choices":[],%b%b}\n\n' % (_HEAD, count) + DONE),
    )


@pytest.mark.covers("openvino/answers", "a stream of 2026.3")
def test_stream_of_2026_3() -> None:
    events = stream(LATEST, say("Hello", " wor", "ld", "!"), stream_options={"include_usage": True}).events
    null = b',"usage":null'
    count = b',"usage":{"prompt_tokens":5,"completion_tokens":4,"total_tokens":9}'
    assert events == (
        (1.0, HANDSHAKE),
        (3.0, new_chunk(b'{"content":"Hello"}', usage=null)),
        (4.0, new_chunk(b'{"content":" wor"}', usage=null)),
        (
            4.0,
            new_chunk(b'{"content":"ld!"}', b'"stop"', null) + b'data: {"choices":[],%b%b}\n\n' % (_HEAD, count) + DONE,
        ),
    )


def texts(server: Server, plan: Plan) -> list[str]:
    """Return the text of every chunk."""
    body = b"".join(event for _, event in stream(server, plan).events)
    chunks: list[JSON] = [json.loads(line[6:]) for line in body.split(b"\n\n")[:-2]]
    return [chunk["choices"][0]["delta"].get("content") for chunk in chunks]


@pytest.mark.parametrize(
    ("tokens", "chunks"),
    [
        pytest.param(["TEST", " TEST", " TEST", " TEST"], ["TEST ", "TEST ", "TEST ", "TEST"], id="words"),
        pytest.param(["Hello\n", "you"], ["Hello\n", "you"], id="a line goes out at once"),
        pytest.param(["a b", "c\n"], ["a ", "bc\n", ""], id="a line at the end leaves nothing"),
        pytest.param(["a", "b", "c"], ["abc"], id="no blank at all"),
        pytest.param(["one two three", "x"], ["one two ", "threex"], id="up to the last blank"),
        pytest.param([" ", " ", "x"], [" ", " ", "x"], id="blanks alone"),
        pytest.param(["a ", "", "é b"], ["a ", "é ", "b"], id="a token that completes no character"),
        pytest.param([""], [""], id="no text"),
        pytest.param([], [""], id="no token"),
        pytest.param(["a\tb", " c"], ["a\tb ", "c"], id="a tab is no blank"),
    ],
)
def test_chunks_of_2025_0(tokens: list[str], chunks: list[str]) -> None:
    assert texts(SEED, say(*tokens)) == chunks


@pytest.mark.parametrize(
    ("tokens", "chunks"),
    [
        pytest.param(["a", "b", "c", "d"], [None, "a", "b", "cd"], id="two tokens behind"),
        pytest.param(["a", "b"], [None, "ab"], id="too few"),
        pytest.param(["a\n", "b", "c"], ["a\n", "bc"], id="a first line needs no handshake"),
        pytest.param(["a", "b\n", "c", "d", "e"], [None, "ab\n", "c", "de"], id="a line goes out at once"),
        pytest.param(["a"], [None, "a"], id="the end of one token is a step of its own"),
        pytest.param(["a", "b\n"], [None, "ab\n", None], id="nothing left: an empty delta"),
        pytest.param(["a", "b", "", "c"], [None, "ab", "c"], id="a token that completes no character waits"),
        pytest.param([], [None], id="no token"),
    ],
)
def test_chunks_of_2026_3(tokens: list[str], chunks: list[str | None]) -> None:
    assert texts(LATEST, say(*tokens)) == chunks


def test_empty_delta_since_2026_3() -> None:
    end = b'"delta":{},"finish_reason":"stop"'
    assert end in stream(LATEST, say("a\n")).events[-1][1]
    assert b'"delta":{"content":""},"finish_reason":"stop"' in stream(make_server("2026.2"), say("a\n")).events[-1][1]


def test_key_order_and_handshake_since_2026_1() -> None:
    before = stream(make_server("2026.0"), say("a", "b", "c")).events
    assert before[0] == (3.0, old_chunk(b'"a"'))
    assert stream(make_server("2026.1"), say("a", "b", "c")).events[0] == (1.0, HANDSHAKE)


@pytest.mark.covers("openvino/answers", "a stream of 2024.2")
def test_2024_2_ends_with_empty_delta_and_drops_text_after_last_blank() -> None:
    last = (
        b'data: {"choices":[{"finish_reason":"stop","index":0,"logprobs":null%b}],"created":1716825108,'
        b'"model":"llama3","object":"%b.chunk"}\n\n'
    )
    server = make_server("2024.2")
    events = stream(server, say("Hi", " you", finish="length")).events
    assert events == ((2.0, old_chunk(b'"Hi "')), (2.0, last % (b',"delta":{}', b"chat.completion") + DONE))
    *_, closing = stream(server, say("Hi", finish="length"), COMPLETIONS).events
    assert closing == (1.0, last % (b"", b"text_completion") + DONE)


@pytest.mark.covers("openvino/cases", "64")
def test_finish_reason_is_only_in_last_chunk() -> None:
    body = b"".join(event for _, event in stream(SEED, say("a", " b", " c", finish="length")).events)
    chunks = [json.loads(line[6:]) for line in body.split(b"\n\n")[:-2]]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "length"]


@pytest.mark.covers("openvino/completions", "stream")
@pytest.mark.covers("openvino/traps", "23 text_completion.chunk")
def test_completions() -> None:
    head = b'"created":1716825108,"model":"llama3","object":"text_completion.chunk"'
    assert stream(SEED, say("Hi", " you"), COMPLETIONS).events == (
        (2.0, b'data: {"choices":[{"finish_reason":null,"index":0,"logprobs":null,"text":"Hi "}],%b}\n\n' % head),
        (
            2.0,
            b'data: {"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"text":"you"}],%b}\n\n' % head + DONE,
        ),
    )
    assert stream(LATEST, say("Hi", " you"), COMPLETIONS).events == (
        (1.0, b'data: {"choices":[{"index":0,"text":"","finish_reason":null}],%b}\n\n' % head),
        (
            2.0,
            b'data: {"choices":[{"index":0,"logprobs":null,"text":"Hi you","finish_reason":"stop"}],%b}\n\n' % head
            + DONE,
        ),
    )


@pytest.mark.covers("openvino/completions", "stream of an echo")
@pytest.mark.parametrize(
    ("prompt", "tokens", "chunks"),
    [
        pytest.param("say this", ["x", " y", " z"], ["say thisx ", "y ", "z"], id="up to the next blank"),
        pytest.param("say this", ["\n", "y"], ["say this\n", "y"], id="up to the next line"),
        pytest.param("say ", ["x", "y"], ["say ", "xy"], id="a blank at its end will do"),
        pytest.param("say this", ["x"], ["say thisx"], id="no blank: all at the end"),
        pytest.param("说说", ["中 文", "。"], ["说说中 ", "文。"], id="Chinese"),
    ],
)
def test_echo_is_sent_in_first_chunk(prompt: str, tokens: list[str], chunks: list[str]) -> None:
    events = stream(SEED, say(*tokens), COMPLETIONS, prompt=prompt, echo=True).events
    parts = [json.loads(event.split(b"\n")[0][6:])["choices"][0]["text"] for _, event in events]
    assert parts == chunks


@pytest.mark.parametrize("reason", ["length", "stop"])
def test_single_step_has_no_handshake(reason: str) -> None:
    choice = make_choice(("text", "", ["a"]), finish="length" if reason == "length" else "stop")
    stopped = choice if reason == "length" else replace(choice, stopped_by="a")
    assert texts(LATEST, make_plan(stopped)) == ["a"]


_ANSWER = make_plan(
    make_choice(
        ("reasoning", "", ["H", "m", "m", "."]),
        ("tool_call", "get_weather", ['{"ci', 'ty":', '"Paris"', "}"]),
        finish="tool_calls",
    )
)


def test_reasoning_and_tool_calls() -> None:
    events = stream(LATEST, _ANSWER).events
    identity = events[4][1].split(b'"id":"')[1][:9]
    arguments = b'{"tool_calls":[{"index":0,"function":{"arguments":%b}}]}'
    assert events == (
        (1.0, HANDSHAKE),
        (3.0, new_chunk(b'{"reasoning_content":"H"}')),
        (4.0, new_chunk(b'{"reasoning_content":"m"}')),
        (4.0, new_chunk(b'{"reasoning_content":"m."}')),
        (
            5.0,
            new_chunk(
                b'{"tool_calls":[{"id":"%b","type":"function","index":0,"function":{"name":"get_weather"}}]}' % identity
            ),
        ),
        (7.0, new_chunk(arguments % b'"{\\"ci"')),
        (8.0, new_chunk(arguments % b'"ty\\":"')),
        (8.0, new_chunk(arguments % b'"\\"Paris\\"}"', b'"tool_calls"') + DONE),
    )


def test_tool_call_streams_as_text_without_parser() -> None:
    assert "".join(text or "" for text in texts(SEED, _ANSWER)) == (
        '<think>\nHmm.\n</think>\n\n{"name": "get_weather", "parameters": {"city":"Paris"}}'
    )


@pytest.mark.covers("openvino/traps", "21 created")
@given(tokens=st.lists(st.text(alphabet=" \nabé", max_size=4)), opening=st.text(alphabet=" a\n", max_size=3))
def test_chunking_preserves_text_and_order_of_times(tokens: list[str], opening: str) -> None:
    choice = make_choice(("text", "", tokens))
    for cut in (cut_at_blanks, cut_with_lag):
        *sent, (_, rest, _) = cut(choice, TextRun("text", 0, len(tokens)), opening)
        assert "".join(text for _, text, _ in sent) + rest == opening + "".join(tokens)
        assert [position for position, _, _ in sent] == sorted(position for position, _, _ in sent)
        assert all(text for _, text, _ in sent)


@given(st.lists(st.text(alphabet=" ab", min_size=1, max_size=4), max_size=12))
def test_chunks_of_2025_0_end_after_blank(tokens: list[str]) -> None:
    *chunks, rest = texts(SEED, say(*tokens))
    assert all(chunk.endswith(" ") for chunk in chunks)
    assert " " not in rest
