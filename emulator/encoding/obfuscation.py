"""Member ``obfuscation`` of OpenAI's stream events: padding that hides the length of a delta's text.

Azure's chat and Responses streams have it.
"""

from collections.abc import Sequence

_BLOCK = 16  # characters
_PADDING = b"pvmKQ7xIRyBUv8b1"
FIELD = b'"obfuscation":"'


def pad(text: str) -> bytes:
    """Return the padding of a delta: as many characters as fill its last block of 16, or a block of their own.

    Source: recorded events of Responses: 15 characters for one, 9 for seven; of chat the rule is unverified. The
    service draws the characters.
    """
    return _PADDING[: _BLOCK - len(text) % _BLOCK]


_ENDS = [_PADDING[: _BLOCK - size] + b'"}\n\n' for size in range(_BLOCK)]


def cut_padding(after: bytes) -> bytes:
    """Return what follows the text of each event up to its padding; ``after`` is a sample."""
    head, _, _ = after.rpartition(FIELD)
    return head + FIELD


def list_ends(texts: Sequence[str]) -> list[bytes]:
    """Return padding and end of the event of each text."""
    return [_ENDS[len(text) % _BLOCK] for text in texts]
