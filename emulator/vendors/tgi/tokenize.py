"""Routes ``POST /tokenize`` and ``POST /chat_tokenize``: tokens of a text, with their positions.

Source: text-generation-inference, ``router/src/server.rs``.
"""

from emulator.core.http import Request, Response
from emulator.core.json import JSON, dump_json
from emulator.protocols.tgi import find_served, find_served_deployment
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.fields import CHAT_REQUEST
from emulator.vendors.tgi.chat.parse import build_request
from emulator.vendors.tgi.chat.template import split_prompt
from emulator.vendors.tgi.generate.fields import PLAIN
from emulator.vendors.tgi.headers import JSON_HEADERS
from emulator.vendors.tgi.request import validate_started
from emulator.vendors.tgi.settings import TgiService


def handle_tokenize(request: Request, service: TgiService) -> Response:
    """Handle ``POST /tokenize``: return every token of ``inputs``."""
    body = serde.read(request, PLAIN)
    return _respond(_build_tokens(service, body.inputs))


def handle_chat_tokenize(request: Request, service: TgiService) -> Response:
    """Handle ``POST /chat_tokenize``: return the prompt of a conversation, and its tokens.

    Source: text-generation-inference, ``router/src/server.rs``, get_chat_tokenize: tools, format and template are
    looked at as in a chat, parameters are not. The prompt begins with the text of its first token.
    """
    body = serde.read(request, CHAT_REQUEST)
    deployment = validate_started(find_served_deployment(tuple(service.deployments.values()), body.model or ""))
    text = build_request(body, deployment, service).text
    return _respond({"tokenize_response": _build_tokens(service, text, begun=True), "templated_text": text})


def _respond(value: JSON) -> Response:
    return Response(200, dump_json(value), JSON_HEADERS)


def _build_tokens(service: TgiService, text: str, *, begun: bool = False) -> list[JSON]:
    """Return each token with its start and stop in bytes; a begin-of-sequence token is at 0.

    Source: text-generation-inference, ``router/src/server.rs``, encoding_to_tokens.

    Args:
        begun: the text has its begin-of-sequence token already.
    """
    tokenizer = service.tokenizer(validate_started(find_served(service)))
    service.bounds.check_texts((text,), tokenizer.count, "inputs")
    tokens: list[JSON] = []
    if tokenizer.bos is not None and not begun:
        tokens.append({"id": tokenizer.bos, "text": "", "start": 0, "stop": 0})
    data, at = text.encode(), 0
    for special, part in split_prompt(text, tokenizer, framed=begun):
        size = len(part.encode())
        ids = tokenizer.encode(part) if special is None else [special]
        for token, (start, stop) in zip(ids, tokenizer.places(part) if special is None else [(0, size)], strict=True):
            piece = data[at + start : at + stop].decode("utf-8", "replace")
            tokens.append({"id": token, "text": piece, "start": at + start, "stop": at + stop})
        at += size
    return tokens
