"""Tokens as TGI shows them: special ones by name, others with their place in the text."""

from collections.abc import Iterator

from emulator.core.json import JSON
from emulator.core.tokenizer import Tokenizer

# Names of the end of a sequence, by its id in the families' vocabularies.
_NAMES = {128009: "<|eot_id|>", 151645: "<|im_end|>", 199999: "<|endoftext|>", 50277: "<|im_end|>"}
_BEGIN = {128000: "<|begin_of_text|>"}


def special_text(tokenizer: Tokenizer, token: int) -> str:
    """How a special token is spelled; the text of any other is ``""`` here."""
    if token == tokenizer.eos:
        return _NAMES.get(token, "</s>")
    return _BEGIN.get(token, "<s>") if token == tokenizer.bos else ""


def list_tokens(tokenizer: Tokenizer, text: str) -> Iterator[JSON]:
    """Each token with where it starts and stops, in bytes; a begin-of-sequence token stands at 0.

    Source: text-generation-inference, ``router/src/server.rs``, encoding_to_tokens.
    """
    if tokenizer.bos is not None:
        yield {"id": tokenizer.bos, "text": "", "start": 0, "stop": 0}
    position = 0
    for token, piece in zip(tokenizer.encode(text), tokenizer.pieces(text), strict=True):
        end = position + len(piece.encode())
        yield {"id": token, "text": piece, "start": position, "stop": end}
        position = end
