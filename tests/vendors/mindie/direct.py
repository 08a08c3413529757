"""Call the vendor's parsers and renderers without a server."""

import json
from array import array
from dataclasses import replace
from functools import cache

from emulator.core.errors import EmulatedError
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.vendor import Change, InferenceCall
from emulator.generation.generate import generate
from emulator.generation.segments import FixedReply
from emulator.http.routing import Router
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.vendors.mindie.generate.render import GenerateCodec
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.routes import VENDOR
from tests.http_client import Running
from tests.untyped_json import JSON

CHAT = "/v1/chat/completions"
MODEL = "llama_65b"
PROMPT = "Tell me about the harbour"
HELLO = [{"role": "user", "content": "Hello"}]
REPLY = "rules: [{name: fixed, reply: {text: ' one two three'}}]\n"
KEY = b"0123456789abcdef"
_ROUTER = Router(VENDOR.endpoints)


@cache
def service(section: str = "") -> MindieService:
    """Build the vendor from the ``vendors`` and ``deployments`` of a scenario."""
    built = create_application(
        load_text(f"version: 1\nname: direct\nclock: frozen\n{section}"), vendors={VENDOR.name: VENDOR}
    )
    (app,) = built.apps
    return app.service


def make_request(path: str, body: JSON | bytes = None, **headers: str) -> Request:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(method="POST", path=path, headers={"Content-Type": "application/json", **headers}, body=raw)


def put(path: str, body: JSON | bytes, section: str = "", **headers: str) -> InferenceCall | Response:
    """Return the call or the response of a POST; errors are rendered."""
    request = make_request(path, body, **headers)
    endpoint, request.params = _ROUTER.resolve("POST", path)
    try:
        parsed = endpoint.parse(request, service(section))
        assert not isinstance(parsed, Change | StreamingResponse)
        return parsed
    except EmulatedError as error:
        return VENDOR.render_error(error, request, service(section))


def accepted(path: str, body: JSON | bytes, section: str = "") -> InferenceCall:
    """Return the call of a valid request."""
    outcome = put(path, body, section)
    assert isinstance(outcome, InferenceCall), outcome.body
    return outcome


def refused(path: str, body: JSON | bytes, section: str = "") -> Response:
    """Return the response to an invalid request."""
    outcome = put(path, body, section)
    assert isinstance(outcome, Response)
    return outcome


def error_of(path: str, body: JSON | bytes, section: str = "", status: int = 422) -> str:
    """Return the text of an error."""
    answer = refused(path, body, section)
    assert answer.status == status
    return str(json.loads(answer.body)["error"])


def generate_codec(body: JSON, section: str = "") -> GenerateCodec:
    """Return the codec of a request in TGI's form."""
    codec = accepted("/", body, section).codec
    assert isinstance(codec, GenerateCodec)
    return codec


def plan_for(call: InferenceCall, text: str) -> Plan:
    """Return the plan of a call with the reply ``text``: one token per 0.1 s."""
    tokenizer = service().tokenizer(call.deployment)
    reply = FixedReply(text=text)
    draft = generate(call.request, call.deployment, tokenizer, seed=0, prompt_tokens=call.prompt_tokens, reply=reply)
    choices = tuple([replace(c, due=array("d", [0.1 * (i + 1) for i in range(len(c.tokens))])) for c in draft.choices])
    due = max((choice.due[-1] for choice in choices if choice.tokens), default=0.0)
    return Plan(key=KEY, created=0.0, choices=choices, usage=draft.usage, due=due)


def stream(path: str, body: JSON, text: str, section: str = "") -> list[Event]:
    """Return the events of a stream with the reply ``text``."""
    call = accepted(path, body, section)
    return list(call.codec.stream(plan_for(call, text), make_request(path)).events)


def whole(path: str, body: JSON, text: str) -> JSON:
    """Return the non-streaming response with the reply ``text``."""
    call = accepted(path, body)
    answer: JSON = json.loads(call.codec.render(plan_for(call, text), make_request(path)).body)
    return answer


def ask(parameters: JSON, **top: JSON) -> JSON:
    """Build the body of a request in TGI's form."""
    return {"inputs": PROMPT, "parameters": parameters, **top}


async def post(running: Running, body: JSON, path: str = "/") -> JSON:
    return (await running.ask("mindie", path, body)).json()


async def events(running: Running, body: JSON, path: str = "/") -> list[JSON]:
    return (await running.ask("mindie", path, body)).events()
