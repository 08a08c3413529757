"""Routes ``POST /tokenize`` and ``POST /chat_tokenize``: tokens of a text, with their positions.

Source: text-generation-inference, ``router/src/server.rs``.
"""

import re
from collections.abc import Iterator

from emulator.core.http import Request, Response
from emulator.core.json import JSON, dump_json
from emulator.core.vendor import Tokenizer
from emulator.protocols.tgi import find_served, find_served_deployment
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.fields import CHAT_REQUEST
from emulator.vendors.tgi.chat.parse import build_request
from emulator.vendors.tgi.chat.template import render_chat
from emulator.vendors.tgi.generate.fields import PLAIN
from emulator.vendors.tgi.generate.shapes import special_text
from emulator.vendors.tgi.headers import JSON_HEADERS
from emulator.vendors.tgi.request import validate_started
from emulator.vendors.tgi.settings import TgiService
from emulator.vendors.tgi.tools import NO_TOOL


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
    chat, _ = build_request(body, deployment)
    tools = (*chat.tools, NO_TOOL) if chat.tool_choice == "auto" else chat.tools
    text = render_chat(chat.messages, tools, body.tool_prompt, deployment, service.tokenizer(deployment))
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
    position = 0
    for token, piece in _split(tokenizer, text):
        end = position + len(piece.encode())
        tokens.append({"id": token, "text": piece, "start": position, "stop": end})
        position = end
    return tokens


def _split(tokenizer: Tokenizer, text: str) -> Iterator[tuple[int, str]]:
    """Yield id and text of each token; the texts of special tokens are such tokens anywhere."""
    specials = {special_text(tokenizer, token): token for token in (tokenizer.bos, tokenizer.eos) if token is not None}
    for part in re.split("(" + "|".join(map(re.escape, specials)) + ")", text):
        if part in specials:
            yield specials[part], part
        elif part:
            yield from zip(tokenizer.encode(part), tokenizer.pieces(part), strict=True)
