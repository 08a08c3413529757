"""Error responses by kind, including injected errors."""

import json

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Response
from emulator.vendors.openvino.routes import VENDOR
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import BASE, CHAT, LATEST, SEED, Server, failure


def word(error: EmulatedError, server: Server = SEED, **fields: JSON) -> Response:
    return VENDOR.render_error(error, make_request(CHAT, {**BASE, **fields}), server.service)


@pytest.mark.covers("language/error kinds", "unauthenticated", "context_length", "timeout")
@pytest.mark.parametrize("kind", list(ErrorKind))
@pytest.mark.parametrize("server", [SEED, LATEST], ids=["2025.0", "2026.3"])
def test_every_kind(kind: ErrorKind, server: Server) -> None:
    answer = word(EmulatedError(kind), server)
    assert 400 <= answer.status < 600
    if kind is ErrorKind.INTERNAL:
        assert answer.body == b""
    else:
        assert list(json.loads(answer.body)) == ["error"]
        assert isinstance(json.loads(answer.body)["error"], str)


@pytest.mark.covers("openvino/the engine's check", "anything else")
@pytest.mark.parametrize(
    ("kind", "status", "text"),
    [
        pytest.param(
            ErrorKind.INVALID_REQUEST, 412, "The file is not valid json - Cannot parse JSON body", id="a bad body"
        ),
        pytest.param(ErrorKind.INVALID_PARAMETER, 400, failure("Response generation failed"), id="a bad field"),
        pytest.param(
            ErrorKind.NOT_FOUND, 404, "Mediapipe graph definition with requested name is not found", id="no graph"
        ),
        pytest.param(
            ErrorKind.UNAUTHENTICATED, 500, "Unauthorized request due to invalid or missing api-key", id="a wrong key"
        ),
        pytest.param(ErrorKind.METHOD_NOT_ALLOWED, 406, "Unsupported method", id="a wrong method"),
        pytest.param(ErrorKind.NOT_READY, 500, "Mediapipe is not loaded yet", id="not loaded"),
        pytest.param(ErrorKind.RATE_LIMITED, 429, "Too many requests", id="common usage where there is no own"),
    ],
)
def test_error_messages(kind: ErrorKind, status: int, text: str) -> None:
    answer = word(EmulatedError(kind))
    assert (answer.status, json.loads(answer.body)) == (status, {"error": text})


@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        pytest.param(
            EmulatedError(ErrorKind.INVALID_PARAMETER, message="boom"), 400, b'{"error":"boom"}', id="a message"
        ),
        pytest.param(
            EmulatedError(ErrorKind.INTERNAL, message='a "b"\n/'), 500, b'{"error":"a \\"b\\"\\n/"}', id="escapes"
        ),
        pytest.param(
            EmulatedError(ErrorKind.OVERLOADED, status=529, message="é"), 529, '{"error":"é"}'.encode(), id="a status"
        ),
        pytest.param(EmulatedError(ErrorKind.INTERNAL, body={"a": 1}), 500, b'{"a":1}', id="a mapping"),
        pytest.param(EmulatedError(ErrorKind.INTERNAL, body="<html>"), 500, b"<html>", id="a text"),
        pytest.param(EmulatedError(ErrorKind.NOT_FOUND, body=""), 404, b"", id="nothing"),
        pytest.param(EmulatedError(ErrorKind.INTERNAL), 500, b"", id="an unexpected exception has no body"),
    ],
)
def test_overrides(error: EmulatedError, status: int, body: bytes) -> None:
    answer = word(error)
    assert (answer.status, answer.body) == (status, body)


@pytest.mark.covers("openvino/errors", "a context too long")
@pytest.mark.parametrize(
    ("model", "node", "reason"),
    [
        pytest.param(
            "llama3", "LLMExecutor", "Number of prompt tokens: 8193 exceeds model max length: 8192", id="text"
        ),
        pytest.param("none", "LLMExecutor", "Number of prompt tokens: 1025 exceeds model max length: 1024", id="none"),
        pytest.param("embeddings", "EmbeddingsCalculator", "Input length 513 longer than allowed 512", id="embeddings"),
    ],
)
def test_injected_context_length_error(model: str, node: str, reason: str) -> None:
    request = make_request(CHAT, {"model": model})
    answer = VENDOR.render_error(EmulatedError(ErrorKind.CONTEXT_LENGTH), request, SEED.service)
    assert json.loads(answer.body) == {"error": failure(reason, node)}


def test_unknown_field() -> None:
    answer = word(EmulatedError(ErrorKind.INVALID_PARAMETER, param="tokens"))
    assert json.loads(answer.body) == {"error": failure("tokens is not valid")}


@pytest.mark.parametrize(("seconds", "header"), [(2.0, "2"), (0.2, "1"), (2.01, "3"), (0.0, "0")])
def test_retry_after_is_full_seconds(seconds: float, header: str) -> None:
    answer = word(EmulatedError(ErrorKind.RATE_LIMITED, retry_after=seconds))
    assert ("retry-after", header) in answer.headers


@pytest.mark.covers("openvino/order of checks", "an event stream from there on")
@pytest.mark.parametrize(
    ("kind", "in_stream"),
    [
        (ErrorKind.INVALID_PARAMETER, True),
        (ErrorKind.CONTEXT_LENGTH, True),
        (ErrorKind.CONTENT_FILTER, True),
        (ErrorKind.RATE_LIMITED, False),
        (ErrorKind.NOT_FOUND, False),
    ],
)
def test_only_graph_errors_are_sent_in_stream(kind: ErrorKind, in_stream: bool) -> None:
    answer = word(EmulatedError(kind), stream=True)
    assert answer.chunked is in_stream
    assert (answer.status == 200) is in_stream
    assert word(EmulatedError(kind), LATEST, stream=True).status != 200


@pytest.mark.covers("openvino/errors", "a precondition")
def test_failed_precondition_is_412() -> None:
    error = EmulatedError(ErrorKind.INVALID_PARAMETER, details={"reason": "no", "word": "FAILED_PRECONDITION"})
    answer = word(error)
    assert answer.status == 412
    assert json.loads(answer.body)["error"].startswith(
        "Mediapipe graph precondition failed - FAILED_PRECONDITION: CalculatorGraph::Run() failed: \n"
    )


@pytest.mark.covers("openvino/errors", "a field")
def test_failed_calculator_body() -> None:
    request = make_request(CHAT, {**BASE, "model": "my/graph", "stop": {}})
    error = EmulatedError(ErrorKind.INVALID_PARAMETER, details={"reason": "stop is not a string or array of strings"})
    assert VENDOR.render_error(error, request, SEED.service).body == (
        rb'{"error":"Mediapipe execution failed. MP status - INVALID_ARGUMENT: CalculatorGraph::Run() failed: '
        rb'\nCalculator::Process() for node \"llmNode1\" failed: stop is not a string or array of strings"}'
    )


@pytest.mark.parametrize(
    ("error", "body"),
    [
        pytest.param(
            EmulatedError(ErrorKind.INTERNAL), failure("Response generation failed", word="INTERNAL"), id="own"
        ),
        pytest.param(EmulatedError(ErrorKind.RATE_LIMITED), failure("Too many requests"), id="of another kind"),
        pytest.param(EmulatedError(ErrorKind.INTERNAL, message="boom"), "boom", id="a message"),
    ],
)
def test_late_error_is_bare_object(error: EmulatedError, body: str) -> None:
    words = VENDOR.render_late_error(error, make_request(CHAT, {**BASE, "stream": True}), SEED.service)
    assert words == json.dumps({"error": body}, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("kind", "path", "status", "text"),
    [
        pytest.param(ErrorKind.NOT_READY, "/v2/health/ready", 500, "Error while loading a model", id="the probe"),
        pytest.param(
            ErrorKind.NOT_READY,
            "/v2/models/llama3/ready",
            404,
            "Model with requested version is not loaded yet",
            id="a model's probe",
        ),
        pytest.param(ErrorKind.NOT_FOUND, "/v1/models/x", 404, "Model with requested name is not found", id="a status"),
    ],
)
def test_error_messages_of_other_routes(kind: ErrorKind, path: str, status: int, text: str) -> None:
    answer = VENDOR.render_error(EmulatedError(kind), make_request(path, method="GET"), SEED.service)
    assert (answer.status, json.loads(answer.body)) == (status, {"error": text})


@pytest.mark.covers("openvino/management", "errors of a reload")
def test_injected_reload_failure() -> None:
    request = make_request("/v1/config/reload", method="POST")
    body = VENDOR.render_error(EmulatedError(ErrorKind.INTERNAL), request, SEED.service).body
    assert body == b'{\n\t"error": "Reloading config file failed. Check server logs for more info."\n}'


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_wrong_method_of_reload_is_refused_as_elsewhere(method: str) -> None:
    answer = SEED.send("/v1/config/reload", None, method=method)
    assert isinstance(answer, Response)
    assert answer.body == b'{"error":"Unsupported method"}'


@pytest.mark.parametrize(
    ("param", "text"),
    [
        ("temperature", "temperature is not a valid number"),
        ("max_tokens", "max_tokens is not an unsigned integer"),
        ("messages", "Messages are not an array"),
        ("echo", "echo accepts values true or false"),
    ],
)
def test_injected_parameter_error_names_wrong_type(param: str, text: str) -> None:
    assert SEED.refusal({**BASE, "prompt": "x", param: {}}, CHAT if param != "echo" else "/v3/completions") is not None
    answer = word(EmulatedError(ErrorKind.INVALID_PARAMETER, param=param))
    assert json.loads(answer.body) == {"error": failure(text)}


def test_injected_stream_failure_is_graph_error() -> None:
    answer = word(EmulatedError(ErrorKind.INTERNAL), stream=True)
    assert (answer.status, answer.chunked) == (200, True)
    assert json.loads(answer.body) == {"error": failure("Response generation failed", word="INTERNAL")}
