"""Wording of refusals: total over their kinds, and what a scenario may override."""

import json

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.requests import Deployment
from emulator.vendors.databricks.errors import ERRORS, render_error, render_late_error
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import GPT, LLAMA, Exchange, invoke, make_service, send

PATH = f"/serving-endpoints/{LLAMA}/invocations"


def word(error: EmulatedError, path: str = PATH, body: bytes = b"", **settings: JSON) -> Response:
    params = {"name": LLAMA} if path == PATH else {}
    request = Request(method="POST", path=path, params=params, body=body)
    return render_error(error, request, make_service(settings, ()))


def read(response: Response) -> JSON:
    return json.loads(response.body)


@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"5"], ids=["null", "a list", "a text", "a number"])
def test_non_object_body_is_rejected(body: bytes) -> None:
    kind = {b"n": "null", b"[": "array", b'"': "string", b"5": "number"}[body[:1]]
    text = f"Unable to parse json body for request, the body expects input with json type 'object' but got '{kind}'"
    assert invoke(LLAMA, body).message == text


@pytest.mark.covers("databricks/envelopes", "1 usual")
@pytest.mark.covers("language/error kinds", "not_found", "rate_limited")
def test_every_error_kind_has_message() -> None:
    assert set(ERRORS) == set(ErrorKind)
    for kind in ErrorKind:
        response = word(EmulatedError(kind))
        body = read(response)
        assert set(body) == {"error_code", "message"}
        assert body["message"]
        assert response.status == ERRORS[kind][0]


@pytest.mark.covers("databricks/errors", "400 BAD_REQUEST", case="parameter")
@pytest.mark.covers("databricks/errors", "401", case="401")
@pytest.mark.covers("databricks/errors", "403 PERMISSION_DENIED", case="forbidden")
@pytest.mark.covers("databricks/errors", "404 ENDPOINT_NOT_FOUND", case="no endpoint")
@pytest.mark.covers("databricks/errors", "429", case="input tokens")
@pytest.mark.covers("databricks/errors", "500", case="internal")
@pytest.mark.covers("databricks/errors", "503", case="overloaded")
@pytest.mark.covers("databricks/errors", "504", case="timeout")
@pytest.mark.covers("databricks/rate limits", "input tokens per minute", case="input tokens")
@pytest.mark.covers("databricks/rate limits", "output tokens per minute", case="output tokens")
@pytest.mark.covers("databricks/rate limits", "QPS", case="QPS")
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(
            EmulatedError(ErrorKind.RATE_LIMITED, limit="input_tokens"),
            "REQUEST_LIMIT_EXCEEDED",
            f"REQUEST_LIMIT_EXCEEDED: Exceeded workspace input tokens per minute rate limit for {LLAMA}. Work with your"
            " Databricks account team to request a higher FMAPI rate limit tier.",
            id="input tokens",
        ),
        pytest.param(
            EmulatedError(ErrorKind.RATE_LIMITED, limit="output_tokens"),
            "REQUEST_LIMIT_EXCEEDED",
            f"Exceeded workspace output tokens per minute rate limit for {LLAMA}.",
            id="output tokens",
        ),
        pytest.param(
            EmulatedError(ErrorKind.RATE_LIMITED),
            "REQUEST_LIMIT_EXCEEDED",
            "Exceeded workspace QPS rate limit",
            id="QPS",
        ),
        pytest.param(
            EmulatedError(ErrorKind.FORBIDDEN),
            "PERMISSION_DENIED",
            f"User does not have permission 'Query' on Endpoint {LLAMA}",
            id="forbidden",
        ),
        pytest.param(
            EmulatedError(ErrorKind.NOT_FOUND),
            "ENDPOINT_NOT_FOUND",
            "The given endpoint does not exist, please retry after checking the specified model and version deployment"
            " exists.",
            id="no endpoint",
        ),
        pytest.param(
            EmulatedError(ErrorKind.TIMEOUT),
            "TEMPORARILY_UNAVAILABLE",
            f"The service at {PATH} is taking too long to process your request. Please try again later or try a faster"
            " operation.",
            id="timeout",
        ),
        pytest.param(
            EmulatedError(ErrorKind.OVERLOADED),
            "TEMPORARILY_UNAVAILABLE",
            "Databricks is unable to satisfy this request due to unexpected capacity constraints - we apologize for the"
            " inconvenience.",
            id="overloaded",
        ),
        pytest.param(
            EmulatedError(ErrorKind.INTERNAL),
            "INTERNAL_ERROR",
            "The server received an invalid response from an upstream server.",
            id="internal",
        ),
        pytest.param(
            EmulatedError(ErrorKind.INVALID_PARAMETER, param="top_k"),
            "BAD_REQUEST",
            "parameter 'top_k'",
            id="parameter",
        ),
        pytest.param(EmulatedError(ErrorKind.UNAUTHENTICATED), 401, "Credential was not sent or was of an", id="401"),
        pytest.param(
            EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": 5}),
            "MAX_REQUEST_SIZE_EXCEEDED",
            "5 bytes",
            id="5",
        ),
    ],
)
def test_error_messages(error: EmulatedError, code: JSON, message: str) -> None:
    body = read(word(error))
    assert body["error_code"] == code
    assert message in body["message"]


@pytest.mark.covers("databricks/envelopes", "2 numbers for codes")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(EmulatedError(ErrorKind.UNAUTHENTICATED, status=403), "Invalid access token. [ReqId: ", id="403"),
        pytest.param(EmulatedError(ErrorKind.UNAUTHENTICATED, "Go away"), "Go away", id="a scenario's words"),
    ],
)
def test_credential_error_has_request_id(error: EmulatedError, message: str) -> None:
    body = read(word(error))
    assert body["error_code"] == (error.status or 401)
    assert body["message"].startswith(message)
    assert ("[ReqId: " in body["message"]) is (error.message is None)


@pytest.mark.covers("databricks/envelopes", "3 management")
@pytest.mark.covers("databricks/errors", "400 INVALID_PARAMETER_VALUE", case="a bad value")
@pytest.mark.covers("databricks/errors", "404 RESOURCE_DOES_NOT_EXIST", case="missing")
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(
            EmulatedError(ErrorKind.FORBIDDEN),
            "PERMISSION_DENIED",
            "User does not have permission 'View' on Endpoint e",
            id="View",
        ),
        pytest.param(EmulatedError(ErrorKind.NOT_FOUND), "RESOURCE_DOES_NOT_EXIST", "name 'e' does not", id="missing"),
        pytest.param(EmulatedError(ErrorKind.INVALID_PARAMETER), "INVALID_PARAMETER_VALUE", "", id="a bad value"),
    ],
)
def test_management_error_messages(error: EmulatedError, code: str, message: str) -> None:
    request = Request(method="GET", path="/api/2.0/serving-endpoints/e", params={"name": "e"})
    body = read(render_error(error, request, make_service({}, ())))
    assert body["error_code"] == code
    assert message in body["message"]


@pytest.mark.covers("databricks/guardrails", "the refusal's body")
@pytest.mark.covers("databricks/traps", "27 JSON in a message")
def test_guardrail_error_message_is_json() -> None:
    inner = json.loads(read(word(EmulatedError(ErrorKind.CONTENT_FILTER)))["message"])
    assert inner["finishReason"] == "input_guardrail_triggered"
    assert inner["usage"] == {"prompt_tokens": 0, "total_tokens": 0}


@pytest.mark.covers("databricks/rate limits", "Retry-After")
@pytest.mark.covers("databricks/traps", "8 whole seconds")
@pytest.mark.parametrize(
    ("wait", "switch", "header"),
    [
        pytest.param(None, True, "1", id="a second by default"),
        pytest.param(2.1, True, "3", id="rounded up"),
        pytest.param(0, True, "0", id="at once"),
        pytest.param(2.1, False, None, id="never"),
        pytest.param(2.1, 9, "9", id="fixed"),
    ],
)
def test_retry_after_is_in_full_seconds(wait: float | None, switch: JSON, header: str | None) -> None:
    response = word(EmulatedError(ErrorKind.RATE_LIMITED, retry_after=wait), retry_after=switch)
    assert dict(response.headers).get("Retry-After") == header


@pytest.mark.covers("databricks/envelopes", "6 rate limits")
@pytest.mark.covers("databricks/rate limits", "the documented body")
@pytest.mark.parametrize(
    ("limit", "kind", "amount"),
    [
        ("input_tokens", "input_tokens_per_minute", 200_000),
        ("output_tokens", "output_tokens_per_minute", 10_000),
        ("requests", "queries_per_second", 200),
    ],
)
def test_documented_rate_limit_body(limit: str, kind: str, amount: int) -> None:
    error = EmulatedError(ErrorKind.RATE_LIMITED, limit=limit, retry_after=15)
    body = read(word(error, rate_limit_body="docs"))["error"]
    assert list(body) == ["message", "type", "code", "limit_type", "limit", "current", "retry_after"]
    assert (body["type"], body["code"], body["retry_after"]) == ("rate_limit_exceeded", 429, 15)
    assert (body["limit_type"], body["limit"]) == (kind, amount)
    assert f"limit of {amount:,}" in body["message"]


@pytest.mark.covers("databricks/rate limits", "other windows")
@pytest.mark.parametrize(
    ("limit", "window", "observed", "documented", "kind"),
    [
        ("requests", 1, "workspace QPS rate limit for", "QPS limit of 7", "queries_per_second"),
        ("requests", 60, "workspace QPM rate limit for", "QPM limit of 7", "queries_per_minute"),
        ("requests", 3600, "workspace QPH rate limit for", "QPH limit of 7", "queries_per_hour"),
        ("requests", 86_400, "workspace QPD rate limit for", "QPD limit of 7", "queries_per_day"),
        ("requests", 7.5, "workspace rate limit for", "queries limit of 7 queries", "queries"),
        ("input_tokens", 60, "input tokens per minute rate limit for", "ITPM limit of 7", "input_tokens_per_minute"),
        ("output_tokens", 3600, "output tokens per hour rate limit for", "OTPH limit of 7", "output_tokens_per_hour"),
        ("tokens", 60, "workspace rate limit for", "TPM limit of 7 tokens", "tokens_per_minute"),
    ],
)
def test_rate_limit_is_named_by_unit_and_window(
    limit: str, window: float, observed: str, documented: str, kind: str
) -> None:
    details: JSON = {"amount": 7, "window": window, "used": 6, "asked": 2}
    error = EmulatedError(ErrorKind.RATE_LIMITED, limit=limit, retry_after=15, details=details)
    assert observed in read(word(error))["message"]
    body = read(word(error, rate_limit_body="docs"))["error"]
    assert documented in body["message"]
    assert (body["limit_type"], body["limit"], body["current"], body["retry_after"]) == (kind, 7, 8, 15)


@pytest.mark.covers("databricks/rate limits", "calls at once")
def test_concurrency_limit_has_no_documented_body() -> None:
    details: JSON = {"amount": 7, "window": 0, "used": 7, "asked": 1}
    error = EmulatedError(ErrorKind.RATE_LIMITED, limit="concurrency", details=details)
    text = "REQUEST_LIMIT_EXCEEDED: Workspace 1234567890123456 exceeded the concurrent limit of 7 requests."
    for body in ("real", "docs"):
        answer = read(word(error, rate_limit_body=body))
        assert answer == {"error_code": "REQUEST_LIMIT_EXCEEDED", "message": text}


@pytest.mark.covers("databricks/envelopes", "5 plain text")
def test_scenario_overrides_error() -> None:
    error = EmulatedError(ErrorKind.INTERNAL, "Oh no", status=502)
    response = word(error)
    assert (response.status, read(response)) == (502, {"error_code": "INTERNAL_ERROR", "message": "Oh no"})
    whole = word(EmulatedError(ErrorKind.INTERNAL, body={"a": 1}))
    assert (read(whole), dict(whole.headers)["Content-Type"]) == ({"a": 1}, "application/json")
    text = word(EmulatedError(ErrorKind.INTERNAL, body="plain words"))
    assert (text.body, dict(text.headers)["Content-Type"]) == (b"plain words", "text/plain")
    timed = word(EmulatedError(ErrorKind.INTERNAL, retry_after=3))
    assert dict(timed.headers)["Retry-After"] == "3"


@pytest.mark.covers("databricks/conventions", "request ids and workspace id")
def test_every_response_has_request_and_workspace_ids() -> None:
    for answer in (invoke(LLAMA, {}), invoke(LLAMA, {"messages": [{"role": "user", "content": "x"}]})):
        assert answer.headers["x-databricks-org-id"] == "1234567890123456"
        assert answer.headers["x-request-id"] == answer.headers["x-databricks-request-id"]


def test_openai_routes_take_endpoint_from_model() -> None:
    body = json.dumps({"model": "mine"}).encode()
    response = word(EmulatedError(ErrorKind.RATE_LIMITED), "/serving-endpoints/chat/completions", body)
    assert "for mine." in read(response)["message"]


@pytest.mark.covers("databricks/errors", "404 an unknown path", case="an unknown API")
@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        pytest.param("/api/2.0/nope", "NOT_FOUND", "No API found for 'GET /api/2.0/nope'", id="an unknown API"),
        pytest.param("/", "NOT_FOUND", "No API found for 'GET /'", id="the root"),
        pytest.param("/serving-endpoints/x/y", "ENDPOINT_NOT_FOUND", "The given endpoint does not exist", id="serving"),
        pytest.param(
            "/api/2.0/serving-endpoints/nope",
            "RESOURCE_DOES_NOT_EXIST",
            "Endpoint with name 'nope' does not exist.",
            id="an endpoint that is not there",
        ),
    ],
)
def test_missing_paths(path: str, code: str, message: str) -> None:
    answer = send(path)
    assert (answer.status, answer.body["error_code"]) == (404, code)
    assert message in answer.message


def test_wrong_method_names_allowed_one() -> None:
    answer = send(PATH)
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.covers("databricks/validation", "no JSON", "no object")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "Bad request: invalid JSON", id="nothing"),
        pytest.param(b"{", "Bad request: invalid JSON", id="half an object"),
        pytest.param(b'{"a": NaN}', "Bad request: invalid JSON", id="not a number"),
        pytest.param(b'{"a": "\xff"}', "Bad request: invalid JSON", id="broken UTF-8"),
        pytest.param(b"[]", "the body expects input with json type 'object' but got 'array'", id="a list"),
        pytest.param(b'"x"', "the body expects input with json type 'object' but got 'string'", id="a text"),
        pytest.param(b"null", "the body expects", id="null"),
        pytest.param(b"[" * 500 + b"]" * 500, "invalid JSON", id="a deep nest"),
        pytest.param(b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "invalid JSON", id="a very deep nest"),
    ],
)
@pytest.mark.parametrize("path", [PATH, f"/serving-endpoints/{GPT}/invocations"])
def test_invalid_json_body_is_rejected(path: str, body: bytes, text: str) -> None:
    answer = send(path, body)
    assert (answer.status, answer.body["error_code"]) == (400, "BAD_REQUEST")
    assert text in answer.message


def too_large(path: str, **options: JSON) -> Exchange:
    return send(path, {"model": LLAMA, "messages": [{"role": "user", "content": "x" * 200}]}, **options)


@pytest.mark.covers("databricks/errors", "413")
@pytest.mark.covers("databricks/limits", "payload")
@pytest.mark.parametrize("path", [PATH, "/serving-endpoints/chat/completions"])
def test_payload_limit(path: str) -> None:
    answer = too_large(path, payload_limit_bytes=100)
    assert (answer.status, "100 bytes" in answer.message) == (413, True)
    assert too_large(path).status == 200


@pytest.mark.covers("databricks/limits", "payload of custom models")
@pytest.mark.parametrize(("size", "status"), [(400, 200), (401, 413)])
def test_custom_model_payload_limit_is_four_times_larger(size: int, status: int) -> None:
    custom = Deployment(vendor="databricks", name="scorer", mode="custom")
    body = b'{"inputs": ["' + b"x" * (size - 16) + b'"]}'
    answer = send("/serving-endpoints/scorer/invocations", body, deployments=(custom,), payload_limit_bytes=100)
    assert (len(body), answer.status) == (size, status)


@pytest.mark.covers("databricks/conventions", "headers nobody knows")
def test_unknown_headers_are_ignored() -> None:
    body: JSON = {"messages": [{"role": "user", "content": "x"}]}
    odd = {"X-Databricks-Workspace-Id": "7", "X-Databricks-Endpoints-API-Client": "a", "User-Agent": "b", "X-Odd": "c"}
    assert send(PATH, body, headers=odd).body == send(PATH, body).body


@pytest.mark.covers("databricks/conventions", "a slash at the end")
@pytest.mark.covers(
    "databricks/inference routes",
    "POST chat/completions",
    "POST completions",
    "POST embeddings",
    "POST responses",
    "POST v1/responses",
    "POST v1/chat/completions",
)
@pytest.mark.covers("databricks/traps", "10 no v1")
@pytest.mark.parametrize("path", ["chat/completions", "completions", "embeddings", "responses"])
@pytest.mark.parametrize("prefix", ["", "v1/"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_openai_routes_require_model(path: str, prefix: str, slash: str) -> None:
    target = f"/serving-endpoints/{prefix}{path}{slash}"
    assert send(target, {}).message == "Missing required parameter: 'model'"
    missing = send(target, {"model": "nope"})
    assert (missing.status, missing.body["error_code"]) == (404, "ENDPOINT_NOT_FOUND")


def late(error: EmulatedError, path: str, body: JSON, **settings: JSON) -> JSON:
    request = Request(method="POST", path=path, body=json.dumps(body).encode())
    text = render_late_error(error, request, make_service(settings, ()))
    assert text.endswith(b"\n\n")
    return text.decode().split("\n")


@pytest.mark.covers("databricks/errors", "late, of a chat")
def test_chat_late_error() -> None:
    error = EmulatedError(ErrorKind.INTERNAL, "boom")
    (line, *_) = late(error, PATH, {"messages": []})
    assert json.loads(line[6:]) == {"error": {"message": "boom", "type": "server_error", "code": 500}}
    (line, *_) = late(error, PATH, {"messages": []}, late_error="databricks")
    assert json.loads(line[6:]) == {"error_code": "INTERNAL_ERROR", "message": "boom"}


@pytest.mark.covers("databricks/Responses", "failed")
@pytest.mark.parametrize(("path", "named"), [("/serving-endpoints/responses", True), (PATH, False)])
def test_responses_late_error(path: str, named: bool) -> None:
    error = EmulatedError(ErrorKind.INTERNAL, "boom", param="input", details={"events": 7})
    lines = late(error, path, {"model": GPT, "input": "x"})
    assert (lines[0] == "event: response.failed") is named
    event = json.loads(lines[int(named)][6:])
    failed = event["response"]
    assert (event["type"], event["sequence_number"]) == ("response.failed", 7)
    assert (failed["status"], failed["model"]) == ("failed", GPT)
    wanted = {"code": "internal_error", "message": "boom", "param": "input", "type": "server_error"}
    assert failed["error"] == wanted
