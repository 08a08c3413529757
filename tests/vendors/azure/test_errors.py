"""The words of every refusal in every profile."""

from collections.abc import Mapping
from typing import get_args

import pytest
from multidict import CIMultiDict

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, parse_json
from emulator.core.wire import WireResponse
from emulator.vendors.azure import VENDOR
from emulator.vendors.azure.settings import Profile
from tests.vendors.azure.service import CHAT, HELLO, VERSION, Refused, chat, make_request, refuse, send, serve

PROFILES = get_args(Profile)
K = ErrorKind
STATUS: Mapping[ErrorKind, int] = {
    K.INVALID_REQUEST: 400,
    K.INVALID_PARAMETER: 422,
    K.UNAUTHENTICATED: 401,
    K.FORBIDDEN: 403,
    K.NOT_FOUND: 404,
    K.METHOD_NOT_ALLOWED: 405,
    K.PAYLOAD_TOO_LARGE: 413,
    K.CONTEXT_LENGTH: 400,
    K.CONTENT_FILTER: 400,
    K.RATE_LIMITED: 429,
    K.OVERLOADED: 503,
    K.NOT_READY: 503,
    K.TIMEOUT: 504,
    K.INTERNAL: 500,
}
OTHERS: Mapping[str, Mapping[ErrorKind, int]] = {
    "foundry": {K.CONTEXT_LENGTH: 413, K.TIMEOUT: 408},
    "aoai": {K.INVALID_PARAMETER: 400, K.TIMEOUT: 408},
}


def word(
    error: EmulatedError, scenario: str = "", body: JSON = None, headers: Mapping[str, str] | None = None
) -> WireResponse:
    request = make_request(CHAT, HELLO if body is None else body, headers)
    return VENDOR.render_error(error, request, serve(scenario))


def headers_of(response: WireResponse) -> Mapping[str, str]:
    return CIMultiDict(response.headers)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_has_words(kind: ErrorKind, profile: str) -> None:
    response = word(EmulatedError(kind), f"profile={profile}")
    assert response.status == OTHERS.get(profile, {}).get(kind, STATUS[kind])
    if (profile, kind) != ("maas", K.NOT_FOUND):
        assert parse_json(response.body)
    assert ("Retry-After" in headers_of(response)) is (kind is K.RATE_LIMITED)


@pytest.mark.parametrize("kind", ErrorKind)
def test_the_documented_shape_is_flat_and_named(kind: ErrorKind) -> None:
    response = word(EmulatedError(kind))
    error = parse_json(response.body)
    if kind in (K.UNAUTHENTICATED, K.NOT_FOUND, K.RATE_LIMITED):
        assert list(error) == ["status", "error", "message"]
    elif kind is K.INVALID_PARAMETER:
        assert list(error) == ["status", "code", "error", "message", "detail"]
    else:
        assert list(error) == ["status", "code", "error", "message", "param"]
        assert isinstance(error["param"], str)
    assert error["status"] == response.status
    assert headers_of(response)["x-ms-error-code"]


SEED = [
    pytest.param(
        EmulatedError(K.RATE_LIMITED),
        {"status": 429, "error": "Too Many Requests", "message": "Rate limit reached. Retry after 1 seconds."},
        "TooManyRequests",
        id="429",
    ),
    pytest.param(
        EmulatedError(K.RATE_LIMITED, retry_after=2.1),
        {"status": 429, "error": "Too Many Requests", "message": "Rate limit reached. Retry after 3 seconds."},
        "TooManyRequests",
        id="429 with its wait",
    ),
    pytest.param(
        EmulatedError(K.CONTENT_FILTER),
        {
            "status": 400,
            "code": "content_filter",
            "error": "Bad Request",
            "message": "The response was filtered",
            "param": "messages",
        },
        "content_filter",
        id="content filter",
    ),
    pytest.param(
        EmulatedError(K.INVALID_PARAMETER, param="temperature"),
        {
            "status": 422,
            "code": "parameter_not_supported",
            "error": "Unprocessable Entity",
            "message": "One of the parameters contain invalid values.",
            "detail": {"loc": ["body", "temperature"], "value": "0.5", "input": 0.5},
        },
        "parameter_not_supported",
        id="422 of a parameter in the body",
    ),
    pytest.param(
        EmulatedError(K.NOT_FOUND),
        {"status": 404, "error": "Not Found", "message": "This deployment does not serve the requested route."},
        "NotFound",
        id="404",
    ),
    pytest.param(
        EmulatedError(K.UNAUTHENTICATED),
        {"status": 401, "error": "Unauthorized", "message": "The access token is absent or not valid."},
        "Unauthorized",
        id="401",
    ),
]


@pytest.mark.parametrize(("error", "body", "code"), SEED)
def test_seed_bodies(error: EmulatedError, body: JSON, code: str) -> None:
    response = word(error, body=chat(temperature=0.5))
    assert (response.status, parse_json(response.body)) == (body["status"], body)
    assert headers_of(response)["x-ms-error-code"] == code


@pytest.mark.parametrize(("error", "body", "code"), SEED)
def test_docs_bodies_have_no_error_key(error: EmulatedError, body: JSON, code: str) -> None:
    response = word(error, "error_shape=docs", chat(temperature=0.5))
    expected = {key: value for key, value in body.items() if key != "error"}
    if "detail" in expected:
        expected["detail"] = {"loc": body["detail"]["loc"], "input": body["detail"]["input"]}
    if "param" in expected:
        expected["type"] = None
    assert parse_json(response.body) == expected
    assert headers_of(response)["x-ms-error-code"] == code


def test_the_documented_profile_may_have_the_errors_of_the_wire() -> None:
    body = parse_json(word(EmulatedError(K.UNAUTHENTICATED), "error_shape=wire").body)
    assert body["message"].startswith("Auth token validation failed.")


FILTERED = (
    b'{"error":{"message":"The response was filtered due to the prompt triggering Microsoft\'s content management '
    b'policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter",'
    b'"status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":'
    b'{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":false,"detected":false},"self_harm":'
    b'{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":'
    b'{"filtered":true,"severity":"medium"}}}}}'
)


@pytest.mark.parametrize(
    ("profile", "error", "body"),
    [
        pytest.param(
            "maas",
            EmulatedError(K.UNAUTHENTICATED),
            b'{"statusCode":401,"message":"Auth token validation failed. '
            b'Please provide a valid key or a valid AAD token"}',
            id="maas 401",
        ),
        pytest.param("maas", EmulatedError(K.NOT_FOUND), b"NOT FOUND", id="maas 404 of a model"),
        pytest.param(
            "maas", EmulatedError(K.NOT_FOUND, details={"path": "/x"}), b'{"detail":"Not Found"}', id="maas path"
        ),
        pytest.param("maas", EmulatedError(K.CONTENT_FILTER), FILTERED, id="maas content filter"),
        pytest.param(
            "maas",
            EmulatedError(K.INVALID_PARAMETER, param="seed"),
            b'{"status":422,"code":"parameter_not_supported","detail":{"loc":["body","seed"],"input":null},'
            b'"message":"One of the parameters contain invalid values."}',
            id="maas 422 of the documentation",
        ),
        pytest.param(
            "managed",
            EmulatedError(K.CONTENT_FILTER),
            b'{"error":{"code":"Bad Request","message":"request input violates azure ai content safety setting.",'
            b'"status":400}}',
            id="managed content filter",
        ),
        pytest.param(
            "managed",
            EmulatedError(K.OVERLOADED, "busy"),
            b'{"error":{"code":"Service Unavailable","message":"busy","status":503}}',
            id="managed 503",
        ),
        pytest.param(
            "managed",
            EmulatedError(K.INTERNAL),
            b'{"error":{"code":"Internal Server Error","message":"An error occurred during the request processing: '
            b'internal error","status":500}}',
            id="managed 500",
        ),
        pytest.param(
            "maas",
            EmulatedError(K.RATE_LIMITED, "slow down"),
            b'{"error":{"code":"Unknown Status Code","message":"slow down","status":429}}',
            id="a status the container has no word for",
        ),
        pytest.param(
            "aoai",
            EmulatedError(K.INVALID_PARAMETER, param="top_p"),
            b'{"error":{"message":"Invalid value for \'top_p\'.","type":"invalid_request_error","param":"top_p",'
            b'"code":"invalid_value"}}',
            id="aoai parameter without a reason",
        ),
        pytest.param("foundry", EmulatedError(K.CONTENT_FILTER), FILTERED, id="foundry content filter"),
        pytest.param(
            "foundry",
            EmulatedError(K.RATE_LIMITED, retry_after=46),
            b'{"error":{"code":"RateLimitReached","message":"Rate limit of 10 per 60s exceeded for '
            b'UserByModelByMinute. Please wait 46 seconds before retrying.","details":"Rate limit of 10 per 60s '
            b'exceeded for UserByModelByMinute. Please wait 46 seconds before retrying."}}',
            id="foundry 429",
        ),
        pytest.param(
            "aoai",
            EmulatedError(K.RATE_LIMITED, retry_after=7, limit="output_tokens"),
            b'{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI '
            b"API version 2024-04-01-preview have exceeded token rate limit of your current AIServices S0 pricing "
            b'tier. Please retry after 7 seconds."}}',
            id="aoai 429",
        ),
        pytest.param(
            "aoai",
            EmulatedError(K.NOT_FOUND, details={"path": "/x"}),
            b'{"error":{"code":"404","message":"Resource not found"}}',
            id="aoai path",
        ),
        pytest.param(
            "aoai",
            EmulatedError(K.FORBIDDEN),
            b'{"error":{"code":"PermissionDenied","message":"Principal does not have access to API/Operation."}}',
            id="aoai 403",
        ),
    ],
)
def test_bodies_of_the_wire(profile: str, error: EmulatedError, body: bytes) -> None:
    assert word(error, f"profile={profile}").body == body


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
            "Invalid value: 'x'. Supported values are: 'system', 'user', 'assistant' and 'tool'.",
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
            "Invalid 'tools[0].function.name': Function name was a b but must be a-z, A-Z, 0-9, or contain "
            "underscores and dashes, with a maximum length of 64.",
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


@pytest.mark.parametrize("profile", PROFILES)
class TestOverrides:
    def test_message_and_status(self, profile: str) -> None:
        response = word(EmulatedError(K.INTERNAL, "out of paper", status=507), f"profile={profile}")
        assert response.status == 507
        assert b"out of paper" in response.body

    def test_a_body_of_json(self, profile: str) -> None:
        response = word(EmulatedError(K.INTERNAL, body={"a": 1}), f"profile={profile}")
        assert (response.body, headers_of(response)["Content-Type"]) == (b'{"a":1}', "application/json")

    def test_a_body_of_text(self, profile: str) -> None:
        response = word(EmulatedError(K.INTERNAL, body="oh"), f"profile={profile}")
        assert (response.body, headers_of(response)["Content-Type"]) == (b"oh", "text/plain; charset=utf-8")

    def test_the_wait_is_whole_seconds(self, profile: str) -> None:
        error = EmulatedError(K.OVERLOADED, retry_after=1.2)
        assert headers_of(word(error, f"profile={profile}"))["Retry-After"] == "2"


def test_a_wrong_method_names_the_right_one() -> None:
    for profile in PROFILES:
        refused = send(HELLO, CHAT, f"profile={profile}", method="PUT")
        assert isinstance(refused, Refused)
        assert (refused.status, refused.headers["Allow"]) == (405, "POST")


def test_an_unknown_path_is_not_found() -> None:
    assert refuse(HELLO, f"/nowhere{VERSION}").status == 404


@pytest.mark.parametrize("profile", PROFILES)
def test_an_error_repeats_no_number_that_json_lacks(profile: str) -> None:
    body = b'{"messages":[{"role":"user","content":"x"}],"max_tokens":1e400}'
    refused = refuse(body, CHAT, f"profile={profile}")
    assert refused.status in (400, 422)
    assert refused.json()


@pytest.mark.parametrize("body", [b"{bad", b"[]"], ids=["no JSON", "no object"])
def test_an_injected_error_needs_no_body(body: bytes) -> None:
    error = EmulatedError(K.INVALID_PARAMETER, param="seed")
    assert parse_json(word(error, body=body).body)["detail"]["loc"] == ["body", "seed"]
