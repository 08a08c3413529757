"""Validation of messages, and the prompt built from them."""

import pytest

from emulator.core.requests import ChatRequest, Message
from tests.untyped_json import JSON
from tests.vendors.openvino.ovms import BASE, LATEST, SEED, Refusal, Server, failure, make_server

OK = None
_BAD = "Invalid message structure - "
_CONTENT = _BAD + "content should be string or array"
_ROLE = "Every message must have 'role' field"
_BOTH = "Every message must have both 'content' and 'role' fields"
_EMPTY = "Final prompt after applying chat template is empty"
_URL = 'Url should contain base64 encoded string followed by "base64," prefix'
_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQ"
    "DwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


def say(*parts: JSON) -> JSON:
    return [{"role": "user", "content": list(parts)}]


def picture(url: JSON) -> JSON:
    return {"type": "image_url", "image_url": {"url": url}}


def check(server: Server, messages: JSON, reason: str | None, **fields: JSON) -> None:
    expected = None if reason is None else Refusal(400, failure(reason))
    assert server.refusal({**BASE, "messages": messages, **fields}) == expected


def read(server: Server, messages: JSON, model: str = "llama3") -> tuple[Message, ...]:
    ask = server.call({**BASE, "model": model, "messages": messages}).request
    assert isinstance(ask, ChatRequest)
    return ask.messages


TEXT = {"type": "text", "text": "hi"}


@pytest.mark.parametrize("server", [pytest.param(SEED, id="2025.0"), pytest.param(LATEST, id="2026.3")])
@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        pytest.param("text", "Messages are not an array", id="a string"),
        pytest.param(None, "Messages are not an array", id="null"),
        pytest.param([], "Messages array cannot be empty", id="nothing"),
        pytest.param(["text"], "Message is not a JSON object", id="a string inside"),
        pytest.param(say(TEXT), OK, id="a text part"),
        pytest.param(say(1), _BAD + "content array should contain objects", id="a number as part"),
        pytest.param(say({"text": "hi"}), _BAD + "content object type missing", id="a part without type"),
        pytest.param(say({"type": 1}), _BAD + "content object type missing", id="a part with a number as type"),
        pytest.param(say({"type": "text"}), _BAD + "content text missing", id="a text part without text"),
        pytest.param(say({"type": "INVALID"}), "Unsupported content type", id="a part of another type"),
        pytest.param(say({"type": "image_url"}), _BAD + "content image_url missing", id="no picture"),
        pytest.param(
            say({"type": "image_url", "image_url": {}}), _BAD + "image_url does not have url field", id="no address"
        ),
        pytest.param(say(picture(1)), _BAD + "image_url does not have url field", id="a number as address"),
        pytest.param([{"role": "anything", "content": "hi", "name": "x"}], OK, id="any role, further strings"),
    ],
)
def test_message(server: Server, messages: JSON, reason: str | None) -> None:
    check(server, messages, reason)


def test_messages_missing() -> None:
    body = {name: value for name, value in BASE.items() if name != "messages"}
    for server in (SEED, LATEST):
        assert server.refusal(body) == Refusal(400, failure("Messages missing in request"))


@pytest.mark.parametrize(
    ("messages", "old", "middle", "new"),
    [
        pytest.param([{}], _EMPTY, _BOTH, _ROLE, id="an empty object"),
        pytest.param([{"role": "user"}], _EMPTY, _BOTH, OK, id="only a role"),
        pytest.param([{"content": "def"}], OK, _BOTH, _ROLE, id="only content"),
        pytest.param([{"role": False, "content": "hi"}], _CONTENT, _CONTENT, _ROLE, id="a boolean as role"),
        pytest.param([{"role": "user", "content": None}], _CONTENT, _CONTENT, OK, id="null as content"),
        pytest.param([{"role": "user", "content": "hi", "x": 1}], _CONTENT, _CONTENT, OK, id="another number"),
        pytest.param([{"role": "user", "content": 1}], _CONTENT, _CONTENT, OK, id="a number as content"),
        pytest.param([{"role": "user", "content": {}}], _CONTENT, _CONTENT, OK, id="an object as content"),
        pytest.param(
            [{"role": "user", "content": []}],
            _BAD + "content array is empty",
            _BAD + "content array is empty",
            OK,
            id="an empty array",
        ),
        pytest.param([{"role": "assistant", "content": "", "tool_calls": []}], _CONTENT, _CONTENT, OK, id="tool calls"),
        pytest.param(
            [{"role": "assistant", "tool_calls": [1]}],
            _CONTENT,
            _CONTENT,
            "Each tool_call must be an object",
            id="a number as tool call",
        ),
        pytest.param(
            [{"role": "assistant", "tool_calls": [{}]}],
            _CONTENT,
            _CONTENT,
            "Each tool_call must have a 'function' object",
            id="a tool call without function",
        ),
    ],
)
def test_message_by_release(messages: JSON, old: str | None, middle: str | None, new: str | None) -> None:
    check(SEED, messages, old)
    check(make_server("2025.1"), messages, middle)
    check(LATEST, messages, new)


def test_2024_2_accepts_only_strings() -> None:
    check(make_server("2024.2"), say(TEXT), "Invalid message structure")


def test_parts_collapse() -> None:
    parts = say({"type": "text", "text": "one"}, {"type": "text", "text": "two"})
    assert read(SEED, parts) == (Message(role="user", text="two"),)
    assert read(LATEST, parts) == (Message(role="user", text="one\ntwo"),)


@pytest.mark.covers("openvino/messages", "tool_calls")
def test_tool_turns_are_parsed() -> None:
    call = {"id": "a1", "type": "function", "function": {"name": "f"}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "7", "tool_call_id": "a1"},
    ]
    _, assistant, tool = read(LATEST, messages)
    assert (assistant.tool_calls[0].name, assistant.tool_calls[0].arguments) == ("f", "{}")
    assert (tool.text, tool.tool_call_id) == ("7", "a1")


@pytest.mark.parametrize(
    ("url", "old", "new"),
    [
        pytest.param(_PIXEL, OK, OK, id="a picture"),
        pytest.param("base64,/9j/", OK, OK, id="the start of a JPEG"),
        pytest.param("", _URL, "Loading images from local filesystem is disabled.", id="nothing"),
        pytest.param("/tmp/a.png", _URL, "Loading images from local filesystem is disabled.", id="a file"),
        pytest.param(
            "http://host/a.png",
            _URL,
            "Given url does not match any allowed domain from allowed_media_domains",
            id="an address",
        ),
        pytest.param("base64,", "Error during string to mat conversion", "Image parsing failed", id="no bytes"),
        pytest.param("base64,AAAA", "Image size invalid", "Image parsing failed", id="bytes of no picture"),
    ],
)
def test_image(url: str, old: str | None, new: str | None) -> None:
    check(SEED, say(TEXT, picture(url)), old)
    check(LATEST, say(TEXT, picture(url)), new, model="eyes")


@pytest.mark.covers("openvino/messages", "pictures on a text graph")
def test_text_graph_ignores_images_and_later_rejects_them() -> None:
    messages = say(TEXT, picture(_PIXEL))
    assert read(SEED, messages) == (Message(role="user", text="hi"),)
    check(LATEST, messages, "This servable supports only text input, but image_url has been provided")
    assert read(LATEST, messages, "eyes")[0].media == 1
    assert read(SEED, say(picture(_PIXEL)))[0].text == ""


@pytest.mark.covers("openvino/messages", "where pictures may come from")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("https://good.example/a.png", OK, id="an allowed host"),
        pytest.param(
            "https://bad.example/a.png",
            "Given url does not match any allowed domain from allowed_media_domains",
            id="another host",
        ),
        pytest.param(
            "https://[bad/a.png",
            "Given url does not match any allowed domain from allowed_media_domains",
            id="no host at all",
        ),
        pytest.param("/pictures/a.png", OK, id="an allowed file"),
        pytest.param(
            "file:///pictures/a.png", "Given filepath is not subpath of allowed_local_media_path", id="a file's address"
        ),
        pytest.param("/pictures/../a.png", "Path /pictures/../a.png escape with .. is forbidden.", id="a climb"),
        pytest.param("/other/a.png", "Given filepath is not subpath of allowed_local_media_path", id="another file"),
    ],
)
def test_allowed_image_sources(url: str, reason: str | None) -> None:
    server = make_server("latest", allowed_media_domains=("good.example",), allowed_local_media_path="/pictures")
    check(server, say(TEXT, picture(url)), reason, model="eyes")


def test_restricted_tags() -> None:
    text = [{"role": "user", "content": "see <ov_genai_image_0>"}]
    check(LATEST, text, "Message contains restricted <ov_genai_image> tag", model="eyes")
    check(LATEST, text, OK)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        pytest.param({"input_audio": {"data": "AAAA"}}, OK, id="a sound"),
        pytest.param({}, _BAD + "input_audio object missing", id="no sound"),
        pytest.param({"input_audio": {}}, _BAD + "input_audio does not have a valid data field", id="no data"),
    ],
)
def test_audio(part: JSON, reason: str | None) -> None:
    check(LATEST, say({"type": "input_audio", **part}), reason, model="eyes")
    check(SEED, say({"type": "input_audio", **part}), "Unsupported content type")


@pytest.mark.covers("openvino/messages", "the stock template")
@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        pytest.param([{"role": "user", "content": "hi"}], OK, id="one"),
        pytest.param([{"content": "hi"}], OK, id="one without a role"),
        pytest.param(
            [{"role": "system", "content": "a"}, {"role": "user", "content": "hi"}],
            "This servable accepts only single message requests",
            id="two",
        ),
        pytest.param([{"role": "user"}], _EMPTY, id="one without content"),
        pytest.param([{"role": "user", "content": ""}], _EMPTY, id="an empty one"),
    ],
)
def test_stock_template(messages: JSON, reason: str | None) -> None:
    check(SEED, messages, reason, model="stock")


def test_built_in_template_accepts_many_turns() -> None:
    turns = [{"role": role, "content": "hi"} for role in ("system", "user", "assistant", "user")]
    assert len(read(SEED, turns)) == 4
    assert SEED.refusal({**BASE, "messages": [{"role": "user", "content": ""}]}) is None


@pytest.mark.covers("openvino/fields of 2026.3", "prompt length")
@pytest.mark.covers("openvino/cases", "86")
@pytest.mark.parametrize(
    ("release", "reason"),
    [
        pytest.param("2025.0", OK, id="2025.0"),
        pytest.param(
            "2025.1", "Number of prompt tokens: 22 + max tokens value: 19 exceeds model max length: 40", id="2025.1"
        ),
    ],
)
def test_prompt_and_max_tokens_against_model_length(release: str, reason: str | None) -> None:
    server = make_server(release)
    check(server, BASE["messages"], OK, model="short", max_tokens=18)
    check(server, BASE["messages"], reason, model="short", max_tokens=19)


@pytest.mark.covers("openvino/fields of 2026.3", "prompt length, batched tokens and NPU")
def test_prompt_against_length_limits() -> None:
    messages = [{"role": "user", "content": "What is OpenVINO? " * 10}]
    refusal = LATEST.refusal({**BASE, "model": "short", "messages": messages})
    assert refusal is not None
    assert "exceeds model max length: 40" in refusal.error
    assert "Number of prompt tokens: " in refusal.error
    assert "+" not in refusal.error
    check(LATEST, BASE["messages"], "Input length exceeds the maximum allowed length", model="npu")
    check(LATEST, BASE["messages"], "Input length exceeds pipeline capabilities: 22 > 20", model="batch")
    check(SEED, BASE["messages"], OK, model="npu")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"logprobs": "x"}, "logprobs accepts values true or false", id="logprobs text"),
        pytest.param({"logprobs": 1}, "logprobs accepts values true or false", id="logprobs number"),
        pytest.param({"logprobs": True}, OK, id="logprobs"),
        pytest.param({"logprobs": "x", "messages": []}, "Messages array cannot be empty", id="messages come first"),
        pytest.param(
            {"logprobs": 1, "max_completion_tokens": "x"}, "logprobs accepts values true or false", id="then logprobs"
        ),
        pytest.param({"max_tokens": 0, "messages": []}, "Messages array cannot be empty", id="zero comes last"),
    ],
)
def test_chat_field(fields: JSON, reason: str | None) -> None:
    assert SEED.refusal({**BASE, **fields}) == (None if reason is None else Refusal(400, failure(reason)))
