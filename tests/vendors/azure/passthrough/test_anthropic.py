"""Claude in Anthropic's own words."""

from dataclasses import replace

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Response
from emulator.core.plan import Usage
from emulator.vendors.azure.errors.render import render_late_error
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import HELLO, REQUEST, plan_of, say
from tests.vendors.azure.service import Refused, accept, make_request, refuse, send, serve

MESSAGES = "/anthropic/v1/messages"


USER: JSON = {"role": "user", "content": "Hi"}
TOOL: JSON = {"name": "f", "input_schema": {"type": "object"}}
EPHEMERAL: JSON = {"type": "ephemeral"}


def talk(**block: JSON) -> JSON:
    return ask(messages=[{"role": "user", "content": [block]}])


def ask(**fields: JSON) -> JSON:
    return {"model": "claude-sonnet-4-5", "max_tokens": 20, "messages": [{"role": "user", "content": "Hi"}], **fields}


@pytest.mark.covers("azure/routes", "anthropic/v1/messages")
@pytest.mark.parametrize("profile", ["seed", "maas", "foundry", "aoai"])
def test_message(profile: str) -> None:
    call = accept(ask(), MESSAGES, f"profile={profile}")
    body = parse_json(call.codec.render(HELLO, REQUEST).body)
    assert (body["type"], body["role"], body["model"]) == ("message", "assistant", "claude-sonnet-4-5")
    assert body["usage"]["output_tokens"] == 4


def test_anthropic_key_header_is_accepted() -> None:
    assert not isinstance(send(ask(), MESSAGES, headers={"api-key": "", "x-api-key": "k"}), Refused)


def test_count_tokens_returns_input_tokens() -> None:
    answer = send({"model": "claude-sonnet-4-5", "messages": ask()["messages"]}, f"{MESSAGES}/count_tokens")
    assert isinstance(answer, Response)
    assert parse_json(answer.body)["input_tokens"] > 0


@pytest.mark.parametrize(
    ("body", "headers", "status", "kind", "text"),
    [
        pytest.param(ask(), {"api-key": "0"}, 401, "authentication_error", "invalid x-api-key", id="no key"),
        pytest.param(ask(model="nobody"), {}, 404, "not_found_error", "model: nobody", id="an unknown name"),
        pytest.param(ask(model="gpt-4o"), {}, 404, "not_found_error", "model: gpt-4o", id="no Claude"),
        pytest.param(ask(max_tokens=None), {}, 400, "invalid_request_error", "max_tokens: Field required", id="no end"),
        pytest.param({}, {}, 400, "invalid_request_error", "model: Field required", id="no model"),
        pytest.param(b"{", {}, 400, "invalid_request_error", "JSON", id="no JSON"),
        pytest.param(
            ask(model="claude-opus-5-5", top_p=0.5),
            {},
            400,
            "invalid_request_error",
            "top_p is not",
            id="with a choice",
        ),
    ],
)
def test_invalid_requests_are_refused(body: JSON, headers: dict[str, str], status: int, kind: str, text: str) -> None:
    refused = refuse(body, MESSAGES, headers=headers)
    error = refused.json()
    assert (refused.status, error["type"], error["error"]["type"]) == (status, "error", kind)
    assert text in error["error"]["message"]


def test_claude_is_served_only_by_messages_api() -> None:
    assert refuse(ask(), "/openai/v1/chat/completions").json()["error"]["code"] == "OperationNotSupported"
    assert refuse(ask(), "/anthropic/v1/models/x/messages").status == 404


def test_late_error_is_error_event() -> None:
    error = EmulatedError(ErrorKind.OVERLOADED)
    data = render_late_error(error, make_request(MESSAGES, ask()), serve())
    assert data.startswith(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"')


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (ask(tools=[{**TOOL, "odd": 1}]), "tools.0.custom.odd: Extra inputs are not permitted"),
        (ask(tools=[{**TOOL, "strict": "yes"}]), "tools.0.custom.strict: Input should be a valid boolean"),
        (ask(tools=[TOOL, {"name": "g"}]), "tools.1.custom.input_schema: Field required"),
        (
            ask(tools=[TOOL], tool_choice={"type": "tool", "name": "f", "odd": 1}),
            "tool_choice.tool.odd: Extra inputs are not permitted",
        ),
        (ask(messages=[{**USER, "name": "Ann"}]), "messages.0.name: Extra inputs are not permitted"),
        (ask(messages=[{**USER, "role": "cook"}]), "messages.0.role: Input should be 'user' or 'assistant'"),
        (talk(type="text", text="Hi", odd=1), "messages.0.content.0.text.odd: Extra inputs are not permitted"),
        (
            talk(type="text", text="Hi", cache_control={"type": "ephemeral", "ttl": "2h"}),
            "messages.0.content.0.text.cache_control.ttl: Input should be '5m' or '1h'",
        ),
        (
            talk(type="image", source={"type": "base64", "media_type": "image/bmp", "data": "AA"}),
            "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
            "'image/gif' or 'image/webp'",
        ),
        (
            ask(system=[{"type": "text", "text": "Brief.", "odd": 1}]),
            "system.0.odd: Extra inputs are not permitted",
        ),
        (ask(metadata={"user": "u"}), "metadata.user: Extra inputs are not permitted"),
        (ask(thinking={"type": "adaptive", "odd": 1}), "thinking.adaptive.odd: Extra inputs are not permitted"),
        (
            ask(output_config={"effort": "tiny"}),
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        ),
        (ask(service_tier="fast"), "service_tier: Input should be 'auto' or 'standard_only'"),
        (ask(stop_sequences=[1]), "stop_sequences.0: Input should be a valid string"),
    ],
)
def test_wrong_members_are_refused(body: JSON, message: str) -> None:
    refused = refuse(body, MESSAGES)
    assert (refused.status, refused.json()["error"]["message"]) == (400, message)
    assert refuse(body, f"{MESSAGES}/count_tokens").json()["error"]["message"] == message


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(ask(tools=[{**TOOL, "cache_control": EPHEMERAL, "type": None}]), id="a cached tool"),
        pytest.param(ask(tools=[{**TOOL, "input_schema": {"type": "object", "x-mine": 1}}]), id="a schema's own"),
        pytest.param(
            ask(tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]), id="a tool it runs"
        ),
        pytest.param(
            ask(system=[{"type": "text", "text": "Brief.", "cache_control": EPHEMERAL}]), id="a cached system"
        ),
        pytest.param(ask(thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2000), id="thinking"),
    ],
)
def test_honest_request_passes(body: JSON) -> None:
    assert accept(body, MESSAGES)


ANSWERED = plan_of(say(("reasoning", ["Hm"]), ("text", ["Oh"]), ("call:f", ["{}"]), finish="tool_calls"))


def test_answer_can_be_sent_back() -> None:
    body = parse_json(accept(ask(tools=[TOOL]), MESSAGES).codec.render(ANSWERED, REQUEST).body)
    assert [block["type"] for block in body["content"]] == ["thinking", "text", "tool_use"]
    (*_, call) = body["content"]
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "3"}
    turns = [USER, {"role": "assistant", "content": body["content"]}, {"role": "user", "content": [result]}]
    assert accept(ask(messages=turns, tools=[TOOL]), MESSAGES)


@pytest.mark.parametrize(
    ("fields", "geo", "ttl"),
    [({}, "global", "5m"), ({"inference_geo": "us", "cache_control": {**EPHEMERAL, "ttl": "1h"}}, "us", "1h")],
)
def test_answer_has_todays_fields(fields: JSON, geo: str, ttl: str) -> None:
    plan = replace(ANSWERED, usage=Usage(13, 3, 1, stored_tokens=5))
    body = parse_json(accept(ask(**fields), MESSAGES).codec.render(plan, REQUEST).body)
    assert body["content"][-1]["caller"] == {"type": "direct"}
    assert body["stop_details"] is None
    assert body["usage"] == {
        "input_tokens": 8,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 0,
        "output_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 1},
        "cache_creation": {
            "ephemeral_5m_input_tokens": 5 if ttl == "5m" else 0,
            "ephemeral_1h_input_tokens": 5 if ttl == "1h" else 0,
        },
        "service_tier": "standard",
        "inference_geo": geo,
    }


def test_refusal_has_details() -> None:
    plan = plan_of(say(("text", ["Oh"]), finish="content_filter"))
    body = parse_json(accept(ask(), MESSAGES).codec.render(plan, REQUEST).body)
    assert body["stop_details"] == {"type": "refusal", "category": None, "explanation": None}


def test_stream_has_ping_and_whole_usage() -> None:
    answered = accept(ask(stream=True), MESSAGES).codec.stream(ANSWERED, REQUEST)
    events = [data.split(b"data: ")[1] for _, data, _, _ in answered.events]
    kinds = [parse_json(event)["type"] for event in events]
    assert kinds[:4] == ["message_start", "content_block_start", "ping", "content_block_delta"]
    assert kinds.count("ping") == 1
    delta = parse_json(events[-2])
    assert delta["delta"] == {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None}
    assert delta["usage"] == {
        "input_tokens": 13,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 0},
    }
    assert "output_tokens_details" not in parse_json(events[0])["message"]["usage"]
    assert dict(answered.headers)["request-id"].startswith("req_011C")


def test_error_has_id_of_request() -> None:
    refused = refuse(ask(odd=1), MESSAGES)
    assert refused.json()["request_id"] == refused.headers["request-id"]


def test_models_are_listed_in_pages() -> None:
    def get(query: str = "") -> JSON:
        answer = send(None, f"/anthropic/v1/models{query}", method="GET")
        assert isinstance(answer, Response)
        return parse_json(answer.body)

    whole = get("?limit=1000")
    names = [model["id"] for model in whole["data"]]
    assert "claude-sonnet-4-5" in names
    assert not whole["has_more"]
    first = get("?limit=1")
    assert (first["has_more"], first["first_id"]) == (True, names[0])
    assert get(f"?limit=1&after_id={names[0]}")["data"][0]["id"] == names[1]
    assert get(f"?limit=1&before_id={names[1]}")["data"][0]["id"] == names[0]
    one = get(f"/{names[0]}")
    assert one["display_name"].startswith("Claude")
    assert (one["lifecycle"], one["deprecated_at"], one["retires_at"]) == ("active", None, None)
    assert {model["line"] for model in whole["data"]} <= {"haiku", "sonnet", "opus", "fable"}
    assert refuse(None, "/anthropic/v1/models?limit=0").status == 400
    assert refuse(None, "/anthropic/v1/models/gpt-4o").json()["error"]["type"] == "not_found_error"
