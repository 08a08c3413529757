"""Routes ``POST /tokenize`` and ``POST /chat_tokenize``: tokens of a text, with their positions.

Source: text-generation-inference, ``router/src/server.rs``.
"""

from emulator.core.http import Request, Response
from emulator.core.json import JSON, dump_json
from emulator.protocols.openai.messages import parse_message
from emulator.protocols.tgi import find_served, validate_ready
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.fields import CHAT_REQUEST
from emulator.vendors.tgi.generate.fields import PLAIN
from emulator.vendors.tgi.headers import JSON_HEADERS
from emulator.vendors.tgi.settings import TgiService


def handle_tokenize(request: Request, service: TgiService) -> Response:
    """Handle ``POST /tokenize``: return every token of ``inputs``."""
    body = serde.read(request, PLAIN)
    return _respond(_build_tokens(service, body.inputs))


def handle_chat_tokenize(request: Request, service: TgiService) -> Response:
    """Handle ``POST /chat_tokenize``: return a conversation in the emulator's own template, and its tokens."""
    messages = [parse_message(message) for message in serde.read(request, CHAT_REQUEST).messages]
    text = "".join(f"<|{message.role}|>\n{message.text}\n" for message in messages) + "<|assistant|>\n"
    tokens = _build_tokens(service, text)
    return _respond({"tokenize_response": tokens, "templated_text": text})


def _respond(value: JSON) -> Response:
    return Response(200, dump_json(value), JSON_HEADERS)


def _build_tokens(service: TgiService, text: str) -> list[JSON]:
    """Return each token with its start and stop in bytes; a begin-of-sequence token is at 0.

    Source: text-generation-inference, ``router/src/server.rs``, encoding_to_tokens.
    """
    tokenizer = service.tokenizer(validate_ready(find_served(service)))
    service.bounds.check_texts((text,), tokenizer.count, "inputs")
    tokens: list[JSON] = []
    if tokenizer.bos is not None:
        tokens.append({"id": tokenizer.bos, "text": "", "start": 0, "stop": 0})
    position = 0
    for token, piece in zip(tokenizer.encode(text), tokenizer.pieces(text), strict=True):
        end = position + len(piece.encode())
        tokens.append({"id": token, "text": piece, "start": position, "stop": end})
        position = end
    return tokens
