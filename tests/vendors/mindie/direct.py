"""Requests put to the vendors' own functions, without a server."""

import json
from functools import cache

import yaml

from emulator.core.call import Ask, Deployment
from emulator.core.clock import FrozenClock
from emulator.core.errors import EmulatedError
from emulator.core.tokenizer import Tokenizer
from emulator.core.vendor import Call, Service, Vendor
from emulator.core.wire import WireRequest, WireResponse
from emulator.engine.prompt import count_prompt
from emulator.engine.tokenizer import tokenizer_for
from emulator.server.metrics import VendorMetrics
from emulator.server.routing import Router
from emulator.vendors.mindie import VENDOR as MINDIE
from emulator.vendors.tgi import VENDOR as TGI
from tests.parsed import JSON

PROMPT = "Tell me about the harbour"
_VENDORS = {vendor.name: vendor for vendor in (MINDIE, TGI)}


def _tokenizer(deployment: Deployment) -> Tokenizer:
    return tokenizer_for(deployment.tokenizer)


def _count(ask: Ask, deployment: Deployment) -> tuple[int, ...]:
    return count_prompt(ask, _tokenizer(deployment), deployment.tokenizer)


@cache
def service(name: str, section: str = "") -> Service[JSON]:
    """A vendor as the ``vendors`` and ``deployments`` of a scenario's text would have it."""
    scenario = yaml.safe_load(section) or {}
    vendor: Vendor = _VENDORS[name]
    settings = vendor.settings(**scenario.get("vendors", {}).get(name, {}))
    added = [Deployment(**fields) for fields in scenario.get("deployments", [])]
    return Service(
        name=name,
        settings=settings,
        deployments={d.name: d for d in (*vendor.catalogue(settings), *added)},
        keys=None,
        clock=FrozenClock(),
        started=1767225600.0,
        tokenizer=_tokenizer,
        count_prompt=_count,
        metrics=VendorMetrics(),
    )


def put(name: str, path: str, body: JSON | bytes, section: str = "", **headers: str) -> Call | WireResponse:
    """What a POST becomes: a call, or the answer; refusals are worded."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = WireRequest(method="POST", path=path, headers=sent, body=raw)
    vendor = _VENDORS[name]
    endpoint, request.params = Router(vendor.endpoints).resolve("POST", path)
    try:
        return endpoint.parse(request, service(name, section))
    except EmulatedError as error:
        return vendor.render_error(error, request, service(name, section))


def accepted(name: str, path: str, body: JSON, section: str = "") -> Call:
    """The call of a request that must be taken."""
    outcome = put(name, path, body, section)
    assert isinstance(outcome, Call), outcome.body
    return outcome


def refused(name: str, path: str, body: JSON | bytes, section: str = "") -> WireResponse:
    """The answer to a request that must be refused."""
    outcome = put(name, path, body, section)
    assert isinstance(outcome, WireResponse)
    return outcome
