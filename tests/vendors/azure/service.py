"""The vendor without a socket: what it makes of one request."""

from collections.abc import Mapping
from dataclasses import dataclass

from multidict import CIMultiDict

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError
from emulator.core.http import Request, Response
from emulator.core.requests import ChatRequest
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.routes import VENDOR
from tests.reference_rows import Piece
from tests.untyped_json import JSON, parse_json
from tests.vendors import client

FIRST = "mistral-small-2503"
PASS = {"extra-parameters": "pass-through"}
VERSION = "?api-version=2024-04-01-preview"
CHAT = f"/chat/completions{VERSION}"
HELLO: JSON = {"messages": [{"role": "user", "content": "Hello"}]}


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


def serve(scenario: str = "") -> AzureService:
    """Build the vendor under a scenario; ``profile=maas`` is short for its settings."""
    if scenario and ":" not in scenario:
        scenario = "vendors:\n  azure: {" + scenario.replace("=", ": ") + "}\n"
    return client.make_service(VENDOR, scenario)


def make_request(
    target: str, body: JSON | bytes = None, headers: Mapping[str, str] | None = None, method: str = ""
) -> Request:
    """Build a request with a valid key, unless ``headers`` has another."""
    sent: CIMultiDict[str] = CIMultiDict({"api-key": "k"})
    sent.update(headers or {})
    return client.make_request(target, body, sent, method)


def send(
    body: JSON | bytes = None,
    target: str = CHAT,
    scenario: str = "",
    headers: Mapping[str, str] | None = None,
    method: str = "",
) -> InferenceCall | Response | Refused:
    """Return the call, the response or the refusal of a request."""
    outcome = client.send(VENDOR, serve(scenario), make_request(target, body, headers, method))
    return Refused(outcome) if isinstance(outcome, Response) and outcome.status >= 400 else outcome


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
