"""Send requests to a vendor without a socket: its parsers, codecs and errors alone."""

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import parse_qsl, urlsplit

from multidict import CIMultiDict

from emulator.core.calls import Change, InferenceCall
from emulator.core.clock import FrozenClock
from emulator.core.errors import EmulatedError
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.vendor import AnyService, AnyVendor
from emulator.generation.generate import generate
from emulator.generation.segments import FixedReply
from emulator.generation.tokenizer import tokenizer_for
from emulator.handler.visible_headers import HeaderScope
from emulator.http.routing import Router
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.services import create_service, read_settings
from emulator.scenario.load import load_text
from tests.untyped_json import JSON

KEY = bytes(range(16))


def make_request(
    target: str, body: JSON | bytes = None, headers: Mapping[str, str] | None = None, method: str = ""
) -> Request:
    """Build a request with JSON content: POST with a body (JSON unless bytes), else GET."""
    url = urlsplit(target)
    sent: CIMultiDict[str] = CIMultiDict({"Content-Type": "application/json"})
    sent.update(headers or {})
    return Request(
        method=method or ("GET" if body is None else "POST"),
        path=url.path,
        query=dict(parse_qsl(url.query)),
        headers=sent,
        body=b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode(),
        base_url="http://host",
        key=KEY,
    )


@cache
def make_service(vendor: AnyVendor, scenario: str = "") -> AnyService:
    """Build a vendor under a scenario without its head, with a frozen clock."""
    loaded = load_text(f"version: 1\nname: test\nclock: frozen\n{scenario}")
    return create_service(
        vendor, read_settings(vendor, loaded.scenario), loaded.scenario, FrozenClock(), VendorMetrics()
    )


def make_plan(call: InferenceCall, reply: FixedReply | None = None) -> Plan:
    """Build the plan of a call: one token per 0.1 s, the content generated where ``reply`` has none."""
    tokenizer = tokenizer_for(call.deployment.tokenizer)
    content = generate(call.request, call.deployment, tokenizer, seed=0, prompt_tokens=call.prompt_tokens, reply=reply)
    choices = tuple(replace(c, due=array("d", [0.1 * (i + 1) for i in range(len(c.tokens))])) for c in content.choices)
    due = max((choice.due[-1] for choice in choices if choice.tokens), default=0.0)
    return Plan(KEY, created=5.0, choices=choices, vectors=content.vectors, usage=content.usage, due=due)


@cache
def _router(vendor: AnyVendor) -> Router:
    return Router(vendor.endpoints)


def send(vendor: AnyVendor, service: AnyService, request: Request) -> InferenceCall | Response:
    """Route, authenticate and parse a request; return the call, the response or the rendered error."""
    try:
        endpoint, request.params = _router(vendor).resolve(request.method, request.path)
        if not endpoint.is_public:
            request.principal = vendor.authenticate(request, service)
        with HeaderScope(request, frozenset(map(str.lower, vendor.relevant_headers))):
            parsed = endpoint.parse(request, service)
    except EmulatedError as error:
        return vendor.render_error(error, request, service)
    if isinstance(parsed, Change):
        made = parsed.make({})
        return made if isinstance(made, Response) else made.response
    assert not isinstance(parsed, StreamingResponse)
    return parsed


@dataclass(frozen=True, slots=True, eq=False)
class Client:
    """Client of one vendor; ``scenario`` is a scenario without its head."""

    vendor: AnyVendor

    def send(
        self, target: str, body: JSON | bytes = None, scenario: str = "", headers: Mapping[str, str] | None = None
    ) -> InferenceCall | Response:
        """Return the call, the response or the rendered error of a request."""
        return send(self.vendor, make_service(self.vendor, scenario), make_request(target, body, headers))

    def accept(self, target: str, body: JSON | bytes, scenario: str = "") -> InferenceCall:
        """Return the call of a valid request."""
        call = self.send(target, body, scenario)
        assert isinstance(call, InferenceCall), call.body
        return call

    def refuse(self, target: str, body: JSON | bytes, scenario: str = "") -> Response:
        """Return the response to an invalid request."""
        response = self.send(target, body, scenario)
        assert isinstance(response, Response)
        return response

    def stream(self, target: str, body: JSON, reply: FixedReply, scenario: str = "") -> list[Event]:
        """Return the events of a stream with this reply."""
        call = self.accept(target, body, scenario)
        return list(call.codec.stream(make_plan(call, reply), make_request(target, body)).events)

    def render(self, target: str, body: JSON, reply: FixedReply, scenario: str = "") -> Response:
        """Return the non-streaming response with this reply."""
        call = self.accept(target, body, scenario)
        return call.codec.render(make_plan(call, reply), make_request(target, body))
