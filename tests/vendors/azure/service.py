"""The vendor without a socket: what it makes of one request."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import parse_qsl, urlsplit

from multidict import CIMultiDict

from emulator.core.errors import EmulatedError
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import dump_json
from emulator.core.requests import ChatRequest
from emulator.core.vendor import Change, InferenceCall
from emulator.http.routing import Router
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.routes import VENDOR
from tests.reference_rows import Piece
from tests.untyped_json import JSON, parse_json

FIRST = "mistral-small-2503"
PASS = {"extra-parameters": "pass-through"}
VERSION = "?api-version=2024-04-01-preview"
CHAT = f"/chat/completions{VERSION}"
HELLO: JSON = {"messages": [{"role": "user", "content": "Hello"}]}
_ROUTER = Router(VENDOR.endpoints)
_READS = frozenset(name.lower() for name in VENDOR.relevant_headers)


@dataclass(frozen=True, slots=True, eq=False)
class Refused:
    """An error as a client gets it."""

    response: Response

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return CIMultiDict(self.response.headers)

    def json(self) -> JSON:
        return parse_json(self.response.body)


@cache
def serve(scenario: str = "") -> AzureService:
    """The vendor under a scenario; ``profile=maas`` is short for its settings."""
    if scenario and ":" not in scenario:
        scenario = "vendors:\n  azure: {" + scenario.replace("=", ": ") + "}\n"
    built = create_application(load_text("version: 1\nname: test\nclock: frozen\n" + scenario))
    (app,) = (app for app in built.apps if app.vendor.name == "azure")
    service: AzureService = app.service
    return service


def make_request(
    target: str, body: JSON | bytes = None, headers: Mapping[str, str] | None = None, method: str = ""
) -> Request:
    """A request with a good key and JSON content, as far as ``headers`` do not say otherwise."""
    url = urlsplit(target)
    payload = b"" if body is None else body if isinstance(body, bytes) else dump_json(body)
    sent: CIMultiDict[str] = CIMultiDict({"api-key": "k", "Content-Type": "application/json"})
    sent.update(headers or {})
    return Request(
        method=method or ("GET" if body is None else "POST"),
        path=url.path,
        query=dict(parse_qsl(url.query)),
        headers=sent,
        body=payload,
    )


def send(
    body: JSON | bytes = None,
    target: str = CHAT,
    scenario: str = "",
    headers: Mapping[str, str] | None = None,
    method: str = "",
) -> InferenceCall | Response | Refused:
    """Route, authenticate, parse; nothing is decided."""
    service = serve(scenario)
    request = make_request(target, body, headers, method)
    try:
        endpoint, request.params = _ROUTER.resolve(request.method, request.path)
        if not endpoint.is_public:
            request.principal = VENDOR.authenticate(request, service)
        with request.limited_to(_READS):
            parsed = endpoint.parse(request, service)
            assert not isinstance(parsed, Change | StreamingResponse)
            return parsed
    except EmulatedError as error:
        return Refused(VENDOR.render_error(error, request, service))


def accept(
    body: JSON, target: str = CHAT, scenario: str = "", headers: Mapping[str, str] | None = None
) -> InferenceCall:
    """The call a request becomes."""
    call = send(body, target, scenario, headers)
    assert isinstance(call, InferenceCall), call.json() if isinstance(call, Refused) else call
    return call


def refuse(
    body: JSON | bytes, target: str = CHAT, scenario: str = "", headers: Mapping[str, str] | None = None
) -> Refused:
    """The refusal a request meets."""
    refused = send(body, target, scenario, headers)
    assert isinstance(refused, Refused), refused
    return refused


def chat(**fields: JSON) -> JSON:
    """A chat request with a greeting and further fields."""
    return {**HELLO, **fields}


def messages(*content: JSON) -> JSON:
    """A chat request of one message with these parts."""
    return {"messages": [{"role": "user", "content": list(content)}]}


def ask_of(body: JSON, scenario: str = "") -> ChatRequest:
    """What a chat request asks."""
    ask = accept(body, scenario=scenario).request
    assert isinstance(ask, ChatRequest)
    return ask


def word(
    error: EmulatedError, scenario: str = "", body: JSON = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An injected error in the words of a profile."""
    request = make_request(CHAT, HELLO if body is None else body, headers)
    return VENDOR.render_error(error, request, serve(scenario))


def headers_of(response: Response) -> Mapping[str, str]:
    return CIMultiDict(response.headers)


def look(**request: JSON) -> object:
    """The call that a request becomes, or the answer in its place."""
    outcome = send(**request)
    if isinstance(outcome, Refused):
        return {"status": outcome.status, "headers": outcome.headers, "answer": outcome.json()}
    if isinstance(outcome, Response):
        return {"status": outcome.status, "answer": parse_json(outcome.body)}
    return outcome


def broken(reason: str, *loc: str) -> Mapping[str, object]:
    """What is seen of a body that breaks the schema there."""
    place = ["body", *loc]
    return {"status": 422, "answer.detail.loc": place, "answer.message": Piece(f"{'.'.join(place)}: {reason}")}
