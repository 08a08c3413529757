"""Requests put to the vendor's own functions, without a server in between."""

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
from emulator.vendors.mindie.routes import VENDOR
from emulator.vendors.mindie.settings import MindieService
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
    """The vendor as the ``vendors`` and ``deployments`` of a scenario's text have it."""
    built = create_application(
        load_text(f"version: 1\nname: direct\nclock: frozen\n{section}"), vendors={VENDOR.name: VENDOR}
    )
    (app,) = built.apps
    return app.service


def make_request(path: str, body: JSON | bytes = None, **headers: str) -> Request:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(method="POST", path=path, headers={"Content-Type": "application/json", **headers}, body=raw)


def put(path: str, body: JSON | bytes, section: str = "", **headers: str) -> InferenceCall | Response:
    """What a POST becomes: a call, or the answer; refusals are worded."""
    request = make_request(path, body, **headers)
    endpoint, request.params = _ROUTER.resolve("POST", path)
    try:
        parsed = endpoint.parse(request, service(section))
        assert not isinstance(parsed, Change | StreamingResponse)
        return parsed
    except EmulatedError as error:
        return VENDOR.render_error(error, request, service(section))


def accepted(path: str, body: JSON | bytes, section: str = "") -> InferenceCall:
    """The call of a request that must be taken."""
    outcome = put(path, body, section)
    assert isinstance(outcome, InferenceCall), outcome.body
    return outcome


def refused(path: str, body: JSON | bytes, section: str = "") -> Response:
    """The answer to a request that must be refused."""
    outcome = put(path, body, section)
    assert isinstance(outcome, Response)
    return outcome


def error_of(path: str, body: JSON | bytes, section: str = "", status: int = 422) -> str:
    """The words of a refusal."""
    answer = refused(path, body, section)
    assert answer.status == status
    return str(json.loads(answer.body)["error"])


def generate_codec(body: JSON, section: str = "") -> GenerateCodec:
    """What will word the answer to a request in TGI's form."""
    codec = accepted("/", body, section).codec
    assert isinstance(codec, GenerateCodec)
    return codec


def plan_for(call: InferenceCall, text: str) -> Plan:
    """What the call would be answered if the model said ``text``; one token every tenth of a second."""
    tokenizer = service().tokenizer(call.deployment)
    reply = FixedReply(text=text)
    draft = generate(call.request, call.deployment, tokenizer, seed=0, prompt_tokens=call.prompt_tokens, reply=reply)
    choices = tuple([replace(c, due=array("d", [0.1 * (i + 1) for i in range(len(c.tokens))])) for c in draft.choices])
    due = max((choice.due[-1] for choice in choices if choice.tokens), default=0.0)
    return Plan(key=KEY, created=0.0, choices=choices, usage=draft.usage, due=due)


def stream(path: str, body: JSON, text: str, section: str = "") -> list[Event]:
    """The events of the answer that says ``text``."""
    call = accepted(path, body, section)
    return list(call.codec.stream(plan_for(call, text), make_request(path)).events)


def whole(path: str, body: JSON, text: str) -> JSON:
    """The answer in one piece that says ``text``."""
    call = accepted(path, body)
    answer: JSON = json.loads(call.codec.render(plan_for(call, text), make_request(path)).body)
    return answer


def ask(parameters: JSON, **top: JSON) -> JSON:
    """The body of a request in TGI's form."""
    return {"inputs": PROMPT, "parameters": parameters, **top}


async def post(running: Running, body: JSON, path: str = "/") -> JSON:
    return (await running.ask("mindie", path, body)).json()


async def events(running: Running, body: JSON, path: str = "/") -> list[JSON]:
    return (await running.ask("mindie", path, body)).events()
