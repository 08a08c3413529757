"""What a vendor and the pipeline may ask of a tokenizer."""

from collections.abc import Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """Text to token ids and back, for one model family."""

    vocabulary_size: int
    bos: int | None
    eos: int

    def encode(self, text: str) -> list[int]:
        """Ids of ``text``, without special tokens."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``; special tokens have none, and an id out of range is a ValueError."""

    def pieces(self, text: str) -> list[str]:
        """One text per id of ``encode(text)``, joined again equal to ``text``.

        A token that completes no character has ``""``; the character comes with the token that completes it.
        """

    def count(self, text: str) -> int:
        """``len(encode(text))``, faster."""
