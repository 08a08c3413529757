"""A language's standing sentences, ready-made: one file a language, as ``emulator.engine.prose.make`` writes them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_UNSPACED = frozenset({"zh_CN", "ja_JP"})


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences of one language, and what stands between two of them."""

    separator: str
    openers: tuple[str, ...]
    sentences: tuple[str, ...]


def find_prose(language: str) -> Path:
    """Where a locale's sentences are kept: the openers, an empty line, all others."""
    return Path(__file__).with_name(f"{language}.txt")


@cache
def load_prose(language: str) -> Prose:
    """The sentences of a locale.

    Raises:
        ValueError: no sentences are kept of such a locale.
    """
    try:
        text = find_prose(language).read_text("utf-8")
    except FileNotFoundError:
        raise ValueError(f"{language!r} is not a locale with sentences") from None
    openers, _, sentences = text.removesuffix("\n").partition("\n\n")
    separator = "" if language in _UNSPACED else " "
    return Prose(separator, tuple(openers.split("\n")), tuple(sentences.split("\n")))
