"""Sentences with gaps.

``{person}``, ``{first}``, ``{city}``, ``{company}`` and ``{job}`` are filled by Faker in the language's
locale, every other gap from the language's own words. A sentence is grammatical with any of them,
so German nouns go by gender, and no gap follows an English indefinite article.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """What a language's sentences are made of.

    Fields:
        openers: sentences fit to begin an answer.
        sentences: all others.
        words: by gap, the words that may fill it, separated by blanks.
        lower_jobs: Faker begins jobs with a capital letter the language does not give them.
        spaced_names: a blank separates first and last name, in this order.
    """

    openers: tuple[str, ...]
    sentences: tuple[str, ...]
    words: Mapping[str, str]
    lower_jobs: bool = False
    spaced_names: bool = True


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of ``text`` that are not empty."""
    return tuple(line for line in text.splitlines() if line)
