"""Noise that fills up the deltas of a stream, so that their sizes do not tell the sizes of their texts."""

from collections.abc import Sequence

_BLOCK = 16  # characters
_NOISE = b"pvmKQ7xIRyBUv8b1"
FIELD = b'"obfuscation":"'


def pad(text: str) -> bytes:
    """Return the noise of a delta: as many characters as fill its last block of 16, or a block of their own.

    Source: recorded events of Responses: 15 characters for one, 9 for seven; of chat the rule is unverified. The
    service draws the characters.
    """
    return _NOISE[: _BLOCK - len(text) % _BLOCK]


class PaddedTails:
    """What follows the text of each event, by the size of the text.

    Args:
        after: a sample, which ends with the noise of another text.
    """

    def __init__(self, after: bytes) -> None:
        head, _, _ = after.rpartition(FIELD)
        self._tails = [b'%b%b%b"}\n\n' % (head, FIELD, _NOISE[: _BLOCK - size]) for size in range(_BLOCK)]

    def list_for(self, texts: Sequence[str]) -> list[bytes]:
        tails = self._tails
        return [tails[len(text) % _BLOCK] for text in texts]
