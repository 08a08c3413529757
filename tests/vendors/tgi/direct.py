"""Call the vendor's parsers and renderers without a server."""

from emulator.vendors.tgi.generate.render import GenerateCodec
from emulator.vendors.tgi.generate.shapes import GenerateOptions
from emulator.vendors.tgi.routes import VENDOR
from tests.http_client import Running
from tests.untyped_json import JSON
from tests.vendors.client import Client

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


_CLIENT = Client(VENDOR)
send, accept, refuse = _CLIENT.send, _CLIENT.accept, _CLIENT.refuse
stream, render = _CLIENT.stream, _CLIENT.render


def generate_options(path: str, body: JSON, section: str = "") -> GenerateOptions:
    """Return the render options of a text request."""
    codec = accept(path, body, section).codec
    assert isinstance(codec, GenerateCodec)
    return codec.options


def ask(parameters: JSON, **top: JSON) -> JSON:
    """Build the body of a text request."""
    return {"inputs": PROMPT, "parameters": parameters, **top}


async def post(running: Running, body: JSON, path: str = "/generate") -> JSON:
    """Return the response to a valid request."""
    answer = await running.ask("tgi", path, body)
    assert answer.status == 200, answer.body
    return answer.json()
