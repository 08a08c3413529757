"""OpenAI's own words, and those of the gateways before it."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from tests.parsed import JSON, parse_json
from tests.vendors.azure.service import CHAT, VERSION, chat, refuse, word

K = ErrorKind


@pytest.mark.parametrize("profile", ["foundry", "aoai"])
def test_gateways_tell_a_wrong_key_from_a_wrong_token(profile: str) -> None:
    error = EmulatedError(K.UNAUTHENTICATED)
    by_key = parse_json(word(error, f"profile={profile}", headers={"api-key": "0"}).body)
    by_token = parse_json(word(error, f"profile={profile}", headers={"api-key": ""}).body)
    assert by_key["error"]["code"] == "401"
    assert by_token["statusCode"] == 401


@pytest.mark.parametrize(
    ("fields", "message", "param", "code"),
    [
        pytest.param(
            {"response_format": "json_object"},
            "Invalid type for 'response_format': expected an object, but got a string instead.",
            "response_format",
            "invalid_type",
            id="a wrong type",
        ),
        pytest.param(
            {"messages": None},
            "Invalid type for 'messages': expected an array of objects, but got null instead.",
            "messages",
            "invalid_type",
            id="null",
        ),
        pytest.param(
            {"messages": [{"role": "user"}]},
            "Missing required parameter: 'messages[0].content'.",
            "messages[0].content",
            "missing_required_parameter",
            id="missing",
        ),
        pytest.param(
            {"temperature": 3},
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
            "temperature",
            "decimal_above_max_value",
            id="too large",
        ),
        pytest.param(
            {"max_tokens": -1},
            "Invalid 'max_tokens': integer below minimum value. Expected a value >= 0, but got -1 instead.",
            "max_tokens",
            "integer_below_min_value",
            id="too small",
        ),
        pytest.param(
            {"messages": [{"role": "x", "content": "x"}]},
            "Invalid value: 'x'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
            "'developer'.",
            "messages[0].role",
            "invalid_value",
            id="none of the values",
        ),
        pytest.param(
            {"messages": True},
            "Invalid type for 'messages': expected an array of objects, but got a boolean instead.",
            "messages",
            "invalid_type",
            id="a boolean",
        ),
        pytest.param(
            {"tools": [{"type": "function", "function": {"name": "a b"}}]},
            "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the "
            "pattern '^[a-zA-Z0-9_-]+$'.",
            "tools[0].function.name",
            "invalid_value",
            id="a wrong name",
        ),
        pytest.param(
            {"tools": []},
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "tools",
            "empty_array",
            id="an empty array",
        ),
        pytest.param(
            {"temperature": "0.5"},
            "Invalid type for 'temperature': expected a decimal, but got a string instead.",
            "temperature",
            "invalid_type",
            id="a number in a string",
        ),
        pytest.param(
            {"stop": [1]},
            "Invalid type for 'stop': expected a string, but got an array instead.",
            "stop",
            "invalid_type",
            id="neither of two types",
        ),
    ],
)
def test_openai_words_for_parameters(fields: JSON, message: str, param: str, code: str) -> None:
    refused = refuse(chat(**fields), CHAT, "profile=aoai")
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


def test_openai_words_for_embeddings() -> None:
    body = {"input": "a", "encoding_format": "foo", "model": "text-embedding-3-small"}
    refused = refuse(body, f"/embeddings{VERSION}", "profile=aoai")
    message = "Invalid value for 'encoding_format' = foo. Supported values: ['float', 'base64']."
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert (refused.status, refused.json()) == (400, {"error": error})


def test_openai_words_for_a_full_context() -> None:
    refused = refuse(chat(max_tokens=10**6, model="gpt-4o-mini"), CHAT, "profile=aoai")
    error = refused.json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert error["message"].startswith(
        "This model's maximum context length is 128000 tokens. However, you requested 10000"
    )


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", b"5"])
def test_a_body_that_is_no_object(body: bytes) -> None:
    error = refuse(body, "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21").json()["error"]
    assert (error["message"][:40], error["param"]) == ("We could not parse the JSON body of your", None)


def test_a_bound_is_told_to_the_last_digit() -> None:
    error = refuse(chat(model="gpt-4o", seed=2**70), "/openai/v1/chat/completions").json()["error"]
    assert "<= 9223372036854775807, but got 1180591620717411303424" in error["message"]
