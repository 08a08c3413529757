"""OpenAI's own words, and those of the gateways before it."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import CHAT, VERSION, accept, chat, refuse, word

K = ErrorKind


@pytest.mark.covers("azure/errors", "a wrong key, a wrong token")
@pytest.mark.parametrize("profile", ["foundry", "aoai"])
def test_gateways_distinguish_wrong_key_from_wrong_token(profile: str) -> None:
    error = EmulatedError(K.UNAUTHENTICATED)
    by_key = parse_json(word(error, f"profile={profile}", headers={"api-key": "0"}).body)
    by_token = parse_json(word(error, f"profile={profile}", headers={"api-key": ""}).body)
    assert by_key["error"]["code"] == "401"
    assert by_token["statusCode"] == 401


@pytest.mark.covers("azure/errors", "aoai 400", "422 E is a 400")
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
            "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got -1 instead.",
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
            "Invalid type for 'stop[0]': expected a string, but got an integer instead.",
            "stop[0]",
            "invalid_type",
            id="an item of another type",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": []}]},
            "Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty "
            "array instead.",
            "messages[0].content",
            "empty_array",
            id="no parts",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "Missing required parameter: 'messages[0].content[0].text'.",
            "messages[0].content[0].text",
            "missing_required_parameter",
            id="a part without its payload",
        ),
        pytest.param(
            {"response_format": {"type": "xml"}},
            "Invalid value: 'xml'. Supported values are: 'json_object', 'json_schema', and 'text'.",
            "response_format.type",
            "invalid_value",
            id="a format that is none",
        ),
        pytest.param(
            {"tools": [{"type": "function", "function": {"name": f"f{number}"}} for number in range(129)]},
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length "
            "129 instead.",
            "tools",
            "array_above_max_length",
            id="too many tools",
        ),
        pytest.param(
            {"max_tokens": 0},
            "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
            "max_tokens",
            "integer_below_min_value",
            id="no tokens",
        ),
        pytest.param(
            {"model": "gpt-4o-mini", "max_tokens": 16385},
            "max_tokens is too large: 16385. This model supports at most 16384 completion tokens, whereas you provided "
            "16385.",
            "max_tokens",
            "invalid_value",
            id="more tokens than the model gives",
        ),
        pytest.param(
            {"model": "gpt-4o-mini", "max_completion_tokens": 20000},
            "max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided "
            "20000.",
            "max_tokens",
            "invalid_value",
            id="the same by its other name",
        ),
    ],
)
def test_openai_parameter_errors(fields: JSON, message: str, param: str, code: str) -> None:
    refused = refuse(chat(**fields), CHAT, "profile=aoai")
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


def test_foundry_error_equals_openai_model_error() -> None:
    said = [refuse(chat(tool_choice="auto", model="gpt-4o"), CHAT, f"profile={p}").json() for p in ("foundry", "aoai")]
    assert (said[0], said[0]["error"]["param"]) == (said[1], "tool_choice")


@pytest.mark.covers("azure/errors", "encoding_format of aoai")
def test_openai_embeddings_error() -> None:
    body = {"input": "a", "encoding_format": "foo", "model": "text-embedding-3-small"}
    refused = refuse(body, f"/embeddings{VERSION}", "profile=aoai")
    message = "Invalid value for 'encoding_format' = foo. Supported values: ['float', 'base64']."
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert (refused.status, refused.json()) == (400, {"error": error})


def test_openai_context_length_error() -> None:
    long = [{"role": "user", "content": "word " * 120_000}]
    refused = refuse(chat(messages=long, max_tokens=10_000, model="gpt-4o-mini"), CHAT, "profile=aoai")
    error = refused.json()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")
    assert error["message"].startswith(
        "This model's maximum context length is 128000 tokens. However, you requested 130"
    )


def test_openai_embedding_input_too_long_error() -> None:
    body = {"input": "word " * 9000, "model": "text-embedding-3-small"}
    error = refuse(body, "/openai/v1/embeddings").json()["error"]
    text = (
        "This model's maximum context length is 8192 tokens, however you requested 9001 tokens (9001 in your prompt; 0 "
    )
    assert (error["param"], error["code"]) == (None, None)
    assert error["message"] == f"{text}for the completion). Please reduce your prompt; or completion length."


def test_other_models_accept_large_max_tokens() -> None:
    body = chat(model="DeepSeek-V3.1", max_tokens=131_000)
    assert accept({**body, "max_tokens": 10}, "/openai/v1/chat/completions")
    assert accept({**chat(model="mistral-small-2503"), "max_tokens": 5000}, "/openai/v1/chat/completions")


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", b"5"])
def test_non_object_body_is_rejected(body: bytes) -> None:
    error = refuse(body, "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21").json()["error"]
    assert (error["message"][:40], error["param"]) == ("We could not parse the JSON body of your", None)


def test_bound_error_shows_all_digits() -> None:
    error = refuse(chat(model="gpt-4o", seed=2**70), "/openai/v1/chat/completions").json()["error"]
    assert "<= 9223372036854775807, but got 1180591620717411303424" in error["message"]
