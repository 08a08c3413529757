"""Route ``/v3/tokenize``: token ids of texts.

Source: model_server, src/tokenize/tokenize_parser.cpp.
"""

from typing import Literal

from emulator.core.http import Response
from emulator.core.json import JSON, Object, as_text, dump_json
from emulator.core.vendor import Tokenizer
from emulator.vendors.openvino.decoder import is_int32, is_uint32
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import ParsedRequest

InputKind = Literal["string", "strings", "int", "ints"]  # of each element; the plurals are arrays
_PAD = 0  # padding id: unverified


def is_tokenize_request(parsed: ParsedRequest) -> bool:
    """Return whether the path requests tokenization and the release supports it for this kind of graph."""
    support = parsed.release.tokenize
    return parsed.request.path.endswith("tokenize") and (
        support == "all" or (support == "embeddings" and parsed.profile.kind == "embeddings")
    )


def handle_tokenize(parsed: ParsedRequest) -> Response:
    """Return the ids of one text, or a row for each of several."""
    body = parsed.body
    kind, inputs = parse_inputs(body, "text")
    max_length = _parse_length(body)
    pad = _parse_flag(body, "pad_to_max_length", default=False)
    special = _parse_flag(body, "add_special_tokens", default=True)
    left = _parse_side(body) == "left"
    if kind != "string":
        raise refusal("Input should be string or array of strings")
    texts = list(inputs) if isinstance(inputs, list) else [as_text(inputs)]
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


def parse_inputs(body: Object, name: str) -> tuple[InputKind, JSON]:
    """Parse the texts or token ids of the field ``name``, as embeddings since 2025.4 and tokenize do.

    Elements are checked one by one, each by its first value. Releases before 2026.2 read that value of an empty inner
    array, too; what they answer is unverified.
    """
    if name not in body:
        raise refusal(f"{name} field is required")
    value = body[name]
    if isinstance(value, str):
        return "string", value
    if not isinstance(value, list):
        raise refusal(f"{name} should be string, array of strings or array of integers")
    if not value:
        raise refusal(f"{name} array should not be empty")
    kind: InputKind | None = None
    for element in value:
        found = _find_kind(element, name)
        if kind not in (None, found) or (isinstance(element, list) and not _is_uniform(element)):
            raise refusal(f"{name} must be homogeneous")
        kind = found
    assert kind is not None  # of the last element
    return kind, value


def _find_kind(element: JSON, name: str) -> InputKind:
    if isinstance(element, list):
        if not element:
            raise refusal(f"inner arrays in {name} should not be empty")
        if isinstance(element[0], str):
            return "strings"
        if is_int32(element[0]):
            return "ints"
    elif isinstance(element, str):
        return "string"
    elif is_int32(element):
        return "int"
    raise refusal(f"every element in {name} array should be either string or int")


def _is_uniform(values: list[JSON]) -> bool:
    """Return whether all values are of the first one's type, text or integer."""
    return all(isinstance(value, str) for value in values) or all(is_int32(value) for value in values)


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
