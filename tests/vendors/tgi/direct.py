"""Call the vendor's parsers and renderers without a server."""

import json
from dataclasses import replace
from functools import cache

from emulator.core.clock import FrozenClock
from emulator.core.errors import EmulatedError
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.vendor import Change, InferenceCall
from emulator.generation.generate import generate
from emulator.generation.segments import FixedReply
from emulator.http.routing import Router
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.services import create_service, read_settings
from emulator.scenario.load import load_text
from emulator.vendors.tgi.generate.render import GenerateCodec
from emulator.vendors.tgi.generate.shapes import GenerateOptions
from emulator.vendors.tgi.routes import VENDOR
from emulator.vendors.tgi.settings import TgiService
from tests.http_client import Running
from tests.untyped_json import JSON

CHAT = "/v1/chat/completions"
PROMPT = "Tell me about the harbour"
REPLY = "rules: [{name: fixed, reply: {text: 'one two three'}}]\n"
CALL = "rules: [{name: call, reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}}]\n"
OLD = "vendors: {tgi: {profile: '0.9.4'}}\n"
HELLO = [{"role": "user", "content": "Hello"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@cache
def service(section: str = "") -> TgiService:
    """Build the vendor from the ``vendors`` and ``deployments`` of a scenario."""
    loaded = load_text(f"version: 1\nname: direct\n{section}")
    settings = read_settings(VENDOR, loaded.scenario)
    return create_service(VENDOR, settings, loaded.scenario, FrozenClock(), VendorMetrics())


def put(path: str, body: JSON | bytes, section: str = "", **headers: str) -> InferenceCall | Response:
    """Return the call or the response of a POST; errors are rendered."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = Request(method="POST", path=path, headers=sent, body=raw)
    endpoint, request.params = Router(VENDOR.endpoints).resolve("POST", path)
    try:
        parsed = endpoint.parse(request, service(section))
        assert not isinstance(parsed, Change | StreamingResponse)
        return parsed
    except EmulatedError as error:
        return VENDOR.render_error(error, request, service(section))


def accepted(path: str, body: JSON, section: str = "") -> InferenceCall:
    """Return the call of a valid request."""
    outcome = put(path, body, section)
    assert isinstance(outcome, InferenceCall), outcome.body
    return outcome


def refused(path: str, body: JSON | bytes, section: str = "") -> Response:
    """Return the response to an invalid request."""
    outcome = put(path, body, section)
    assert isinstance(outcome, Response)
    return outcome


def generate_options(path: str, body: JSON, section: str = "") -> GenerateOptions:
    """Return the render options of a text request."""
    codec = accepted(path, body, section).codec
    assert isinstance(codec, GenerateCodec)
    return codec.options


def plan_for(call: InferenceCall, reply: FixedReply) -> Plan:
    """Return the plan of a call with this ``reply``: one token per 0.1 s."""
    tokenizer = service().tokenizer(call.deployment)
    draft = generate(call.request, call.deployment, tokenizer, seed=0, prompt_tokens=call.prompt_tokens, reply=reply)
    choices = tuple([replace(c, due=[0.1 * (i + 1) for i in range(len(c.tokens))]) for c in draft.choices])
    return Plan(key=bytes(16), created=0.0, choices=choices, usage=draft.usage)


def stream(path: str, body: JSON, reply: FixedReply) -> list[Event]:
    """Return the events of a stream with this ``reply``."""
    call = accepted(path, body)
    return list(call.codec.stream(plan_for(call, reply), Request(method="POST", path=path)).events)


def whole(path: str, body: JSON, reply: FixedReply) -> Response:
    """Return the non-streaming response with this ``reply``."""
    call = accepted(path, body)
    return call.codec.render(plan_for(call, reply), Request(method="POST", path=path))


def ask(parameters: JSON, **top: JSON) -> JSON:
    """Build the body of a text request."""
    return {"inputs": PROMPT, "parameters": parameters, **top}


async def post(running: Running, body: JSON, path: str = "/generate") -> JSON:
    """Return the response to a valid request."""
    answer = await running.ask("tgi", path, body)
    assert answer.status == 200, answer.body
    return answer.json()
