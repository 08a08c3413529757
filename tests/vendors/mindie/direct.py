"""Requests put to the vendor's own functions, without a server."""

import json
from functools import cache

from emulator.core.call import Call
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.core.vendor import Service, VendorSettings, WireRequest, WireResponse
from emulator.scenario.load import load_text
from emulator.server.app import VendorApp
from emulator.server.build import build
from emulator.server.routing import Router

PROMPT = "Tell me about the harbour"


@cache
def app(vendor: str, section: str = "") -> VendorApp:
    """A vendor with the scenario text of its section."""
    built = build(load_text(f"version: 1\nname: direct\nclock: frozen\n{section}"))
    return next(app for app in built.apps if app.vendor.name == vendor)


def service(vendor: str, section: str = "") -> Service[VendorSettings]:
    return app(vendor, section).service


def put(vendor: str, path: str, body: JSON | bytes, section: str = "", **headers: str) -> Call | WireResponse:
    """What a POST becomes: a call, or the answer; refusals are worded."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = WireRequest(method="POST", path=path, headers=sent, body=raw)
    chosen = app(vendor, section)
    endpoint, request.params = Router(chosen.vendor.endpoints).resolve("POST", path)
    try:
        return endpoint.parse(request, chosen.service)
    except EmulatedError as error:
        return chosen.vendor.render_error(error, request, chosen.service)


def accepted(vendor: str, path: str, body: JSON, section: str = "") -> Call:
    """The call of a request that must be taken."""
    outcome = put(vendor, path, body, section)
    assert isinstance(outcome, Call), outcome.body
    return outcome


def refused(vendor: str, path: str, body: JSON | bytes, section: str = "") -> WireResponse:
    """The answer to a request that must be refused."""
    outcome = put(vendor, path, body, section)
    assert isinstance(outcome, WireResponse)
    return outcome
