"""Routes of methods and paths."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.vendor import Endpoint, Service, VendorSettings
from emulator.http.routing import Router


def _answer(request: Request, service: Service[VendorSettings, None]) -> Response:
    return Response(200)


def _endpoint(method: str, path: str) -> Endpoint[VendorSettings, None]:
    return Endpoint(method=method, path=path, parse=_answer)


ROUTER = Router(
    [
        _endpoint("POST", "/chat"),
        _endpoint("GET", "/chat"),
        _endpoint("GET", "/models/{model}"),
        _endpoint("POST", "/models/{model}/infer"),
        _endpoint("POST", "/{prefix:path}/chat"),
        _endpoint("*", "/any"),
        _endpoint("GET", "/v1/a.b"),
    ]
)


@pytest.mark.parametrize(
    ("method", "path", "expected", "params"),
    [
        pytest.param("POST", "/chat", "/chat", {}, id="a literal path"),
        pytest.param("GET", "/models/llama", "/models/{model}", {"model": "llama"}, id="a parameter"),
        pytest.param(
            "POST", "/models/a b/infer", "/models/{model}/infer", {"model": "a b"}, id="a parameter with a blank"
        ),
        pytest.param("POST", "/x/y/chat", "/{prefix:path}/chat", {"prefix": "x/y"}, id="a parameter over slashes"),
        pytest.param("PATCH", "/any", "/any", {}, id="any method"),
        pytest.param("GET", "/v1/a.b", "/v1/a.b", {}, id="a dot is a dot"),
    ],
)
def test_request_resolves_to_endpoint(method: str, path: str, expected: str, params: dict[str, str]) -> None:
    endpoint, caught = ROUTER.resolve(method, path)
    assert (endpoint.path, dict(caught)) == (expected, params)


@pytest.mark.parametrize(
    ("method", "path", "kind", "details"),
    [
        pytest.param("GET", "/nowhere", ErrorKind.NOT_FOUND, {"path": "/nowhere"}, id="an unknown path"),
        pytest.param("GET", "/v1/aXb", ErrorKind.NOT_FOUND, {"path": "/v1/aXb"}, id="a dot is not a wildcard"),
        pytest.param("GET", "/models/a/b", ErrorKind.NOT_FOUND, {"path": "/models/a/b"}, id="a parameter ends at /"),
        pytest.param(
            "PUT",
            "/chat",
            ErrorKind.METHOD_NOT_ALLOWED,
            {"path": "/chat", "allow": "GET, POST"},
            id="a wrong method names the right ones",
        ),
        pytest.param(
            "GET",
            "/models/x/infer",
            ErrorKind.METHOD_NOT_ALLOWED,
            {"path": "/models/x/infer", "allow": "POST"},
            id="a wrong method on a pattern",
        ),
    ],
)
def test_unresolved_request_raises_error(method: str, path: str, kind: ErrorKind, details: dict[str, str]) -> None:
    with pytest.raises(EmulatedError) as caught:
        ROUTER.resolve(method, path)
    assert (caught.value.kind, dict(caught.value.details)) == (kind, details)
