"""``POST /chat/completions``: what a request becomes."""

import pytest

from emulator.core.requests import ChatRequest
from emulator.vendors.azure.chat.render import ChatCodec
from tests.untyped_json import JSON
from tests.vendors.azure.service import CHAT, FIRST, PASS, accept, ask_of, chat

SCHEMA: JSON = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}


@pytest.mark.covers("azure/fields of a chat", "stream")
@pytest.mark.parametrize(
    ("given", "stream"),
    [
        pytest.param({}, False, id="absent"),
        pytest.param({"stream": None}, False, id="null"),
        pytest.param({"stream": False}, False, id="false"),
        pytest.param({"stream": True}, True, id="true"),
    ],
)
def test_stream(given: JSON, stream: bool) -> None:
    assert accept(chat(**given)).stream is stream


@pytest.mark.covers("azure/fields of a chat", "response_format")
@pytest.mark.covers("azure/tools and formats", "json_object", case="any object")
@pytest.mark.covers("azure/tools and formats", "json_schema", case="a schema")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, ("text", None), id="null"),
        pytest.param({"type": "text"}, ("text", None), id="text"),
        pytest.param({"type": "json_object"}, ("json_object", None), id="any object"),
        pytest.param(SCHEMA, ("json_schema", {"type": "object"}), id="a schema"),
    ],
)
def test_response_format(value: JSON, expected: object) -> None:
    ask = ask_of(chat(response_format=value))
    assert (ask.format, ask.schema) == expected


def test_reasoning_model_has_default_effort() -> None:
    assert ask_of(chat(model="DeepSeek-R1")).reasoning == "medium"
    assert ask_of(chat()).reasoning is None


def test_parallel_calls_and_effort_take_effect() -> None:
    ask = accept(chat(parallel_tool_calls=True, reasoning_effort="low", model="DeepSeek-R1"), headers=PASS).request
    assert isinstance(ask, ChatRequest)
    assert (ask.parallel, ask.reasoning) == (True, "low")


@pytest.mark.parametrize(("profile", "mistral"), [("seed", True), ("maas", True), ("aoai", False)])
def test_openai_resource_has_no_mistral_ids(profile: str, mistral: bool) -> None:
    codec = accept(chat(model=FIRST), CHAT, f"profile={profile}").codec
    assert isinstance(codec, ChatCodec)
    assert codec.profile.mistral is mistral
