"""Errors in the documented shapes and in the words of the containers."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.service import CHAT, chat, headers_of, refuse, word

K = ErrorKind
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


@pytest.mark.covers("azure/headers of an answer", "x-ms-error-code of seed")
@pytest.mark.parametrize("kind", ErrorKind)
def test_documented_error_shape_is_flat_and_named(kind: ErrorKind) -> None:
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


@pytest.mark.covers("azure/where page and service differ", "error as text")
@pytest.mark.covers("azure/errors", "seed 401", case="401")
@pytest.mark.covers("azure/errors", "seed 404", case="404")
@pytest.mark.covers("azure/errors", "seed 422", case="422 of a parameter in the body")
@pytest.mark.covers("azure/errors", "seed 429", case="429")
@pytest.mark.covers("azure/errors", "seed 400", case="content filter")
@pytest.mark.parametrize(("error", "body", "code"), SEED)
def test_seed_bodies(error: EmulatedError, body: JSON, code: str) -> None:
    response = word(error, body=chat(temperature=0.5))
    assert (response.status, parse_json(response.body)) == (body["status"], body)
    assert headers_of(response)["x-ms-error-code"] == code


@pytest.mark.covers("azure/where page and service differ", "error left out")
@pytest.mark.covers("azure/errors", "docs")
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


def test_documented_profile_can_use_wire_errors() -> None:
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


@pytest.mark.covers("azure/where page and service differ", "body of a 422", "content filter")
@pytest.mark.covers("azure/errors", "maas 401", case="maas 401")
@pytest.mark.covers("azure/errors", "aoai 403", case="aoai 403")
@pytest.mark.covers("azure/errors", "maas 404 of a modality", case="maas 404 of a model")
@pytest.mark.covers("azure/errors", "gateway 404", case="aoai path")
@pytest.mark.covers("azure/errors", "container 404", case="maas path")
@pytest.mark.covers("azure/errors", "422 A", case="maas 422 of the documentation")
@pytest.mark.covers("azure/errors", "code words of the container", case="a status the container has no word for")
@pytest.mark.covers("azure/errors", "500 of the container", case="managed 500")
@pytest.mark.covers("azure/errors", "content filter of maas", case="maas content filter")
@pytest.mark.covers("azure/errors", "content filter of the container", case="managed content filter")
@pytest.mark.covers("azure/errors", "429 of foundry", case="foundry 429")
@pytest.mark.covers("azure/errors", "429 of aoai", case="aoai 429")
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
def test_wire_error_bodies(profile: str, error: EmulatedError, body: bytes) -> None:
    assert word(error, f"profile={profile}").body == body


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["seed", "maas", "managed", "foundry", "aoai"])
@pytest.mark.parametrize(
    "value", ["a " * 2_000_000, [{}] * 200_000, {"é": ["x" * 900_000]}], ids=["text", "list", "object"]
)
def test_long_value_is_truncated_in_error(profile: str, value: JSON) -> None:
    body = chat(temperature=value)
    assert len(refuse(body, CHAT, f"profile={profile}").response.body) < 500_000


@pytest.mark.parametrize("profile", ["seed", "maas", "managed"])
def test_long_part_type_is_truncated_in_error(profile: str) -> None:
    body = chat(messages=[{"role": "user", "content": [{"type": "a " * 2_000_000}]}])
    assert len(refuse(body, CHAT, f"profile={profile}").response.body) < 500_000
