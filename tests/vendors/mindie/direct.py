"""Call the vendor's parsers and renderers without a server."""

import json

from emulator.vendors.mindie.generate.render import GenerateCodec
from emulator.vendors.mindie.routes import VENDOR
from tests.http_client import Running
from tests.untyped_json import JSON
from tests.vendors.client import Client

CHAT = "/v1/chat/completions"
MODEL = "llama_65b"
PROMPT = "Tell me about the harbour"
HELLO = [{"role": "user", "content": "Hello"}]
REPLY = "rules: [{name: fixed, reply: {text: ' one two three'}}]\n"
_CLIENT = Client(VENDOR)
send, accept, refuse = _CLIENT.send, _CLIENT.accept, _CLIENT.refuse
stream, render = _CLIENT.stream, _CLIENT.render


def error_of(path: str, body: JSON | bytes, section: str = "", status: int = 422) -> str:
    """Return the text of an error."""
    answer = refuse(path, body, section)
    assert answer.status == status
    return str(json.loads(answer.body)["error"])


def generate_codec(body: JSON, section: str = "") -> GenerateCodec:
    """Return the codec of a request in TGI's form."""
    codec = accept("/", body, section).codec
    assert isinstance(codec, GenerateCodec)
    return codec


def ask(parameters: JSON, **top: JSON) -> JSON:
    """Build the body of a request in TGI's form."""
    return {"inputs": PROMPT, "parameters": parameters, **top}


async def post(running: Running, body: JSON, path: str = "/") -> JSON:
    return (await running.ask("mindie", path, body)).json()


async def events(running: Running, body: JSON, path: str = "/") -> list[JSON]:
    return (await running.ask("mindie", path, body)).events()
