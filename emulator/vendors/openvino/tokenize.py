"""Route ``/v3/tokenize``: token ids of texts.

Source: model_server, src/tokenize/tokenize_parser.cpp.
"""

from __future__ import annotations

from emulator.core.http import Response
from emulator.core.json import Object, dump_json
from emulator.core.vendor import Tokenizer
from emulator.vendors.openvino.decoder import is_uint32
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import ParsedRequest

_PAD = 0  # padding id: unverified


def is_tokenize_request(parsed: ParsedRequest) -> bool:
    """Return whether the path requests tokenization and the release supports it for this kind of graph."""
    support = parsed.release.tokenize
    return parsed.request.path.endswith("tokenize") and (
        support == "all" or (support == "embeddings" and parsed.profile.kind == "embeddings")
    )


def handle_tokenize(parsed: ParsedRequest) -> Response:
    """Return the ids of one text, or a row for each of several.

    Raises:
        EmulatedError: the first failed check, in the parser's order.
    """
    body = parsed.body
    texts = _parse_texts(body)
    max_length = _parse_length(body)
    pad = _parse_flag(body, "pad_to_max_length", default=False)
    special = _parse_flag(body, "add_special_tokens", default=True)
    left = _parse_side(body) == "left"
    tokenizer = parsed.service.tokenizer(parsed.deployment)
    parsed.service.bounds.check_texts(texts, tokenizer.count, "text")
    rows = [_encode(text, tokenizer, special)[:max_length] for text in texts]
    if pad and max_length is not None:
        parsed.service.bounds.check_tokens(len(rows) * max_length, "max_length")
        fills = [[_PAD] * (max_length - len(row)) for row in rows]
        rows = [fill + row if left else row + fill for row, fill in zip(rows, fills, strict=True)]
    tokens = dump_json(rows[0] if len(rows) == 1 else rows)
    return Response(200, b'{"tokens":%b}' % tokens, parsed.settings.json_headers)


def _encode(text: str, tokenizer: Tokenizer, special: bool) -> list[int]:
    ids = tokenizer.encode(text)
    return [tokenizer.bos, *ids] if special and tokenizer.bos is not None else ids


def _parse_texts(body: Object) -> list[str]:
    if "text" not in body:
        raise refusal("text field is required")
    text = body["text"]
    if isinstance(text, str):
        return [text]
    if not isinstance(text, list):
        raise refusal("text should be string, array of strings or array of integers")
    if not text:
        raise refusal("text array should not be empty")
    kinds = {type(element) for element in text}
    if len(kinds) > 1:
        raise refusal("text must be homogeneous")
    if kinds == {list} and not all(text):
        raise refusal("inner arrays in text should not be empty")
    if kinds != {str}:
        raise refusal("Input should be string or array of strings")
    return list(text)


def _parse_length(body: Object) -> int | None:
    value = body.get("max_length", ...)
    if value is ...:
        return None
    if not is_uint32(value):
        raise refusal("max_length should be unsigned integer")
    if value == 0:
        raise refusal("max_length should be greater than 0")
    return value


def _parse_flag(body: Object, name: str, *, default: bool) -> bool:
    value = body.get(name, default)
    if not isinstance(value, bool):
        raise refusal(f"{name} should be boolean")
    return value


def _parse_side(body: Object) -> str:
    value = body.get("padding_side", "right")
    if not isinstance(value, str):
        raise refusal("padding_side should be string, either left or right")
    if value not in ("left", "right"):
        raise refusal("padding_side should be either left or right")
    return value
