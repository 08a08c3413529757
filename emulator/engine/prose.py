"""A language's standing sentences: written once by Faker from a fixed seed, and kept."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from emulator.core.seed import derive, draw_integer
from emulator.engine.templates import TEMPLATES, Templates

if TYPE_CHECKING:
    from faker import Generator

OPENERS = 64
SENTENCES = 512

_UNSPACED = frozenset({"zh_CN", "ja_JP"})
_PROVIDERS = [f"faker.providers.{name}" for name in ("address", "company", "job", "lorem", "person")]
_GAP = re.compile(r"\{(\w+)\}")
_PLAIN = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")  # a name without brackets, dots and the like


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences of one language, and what stands between two of them."""

    separator: str
    openers: tuple[str, ...]
    sentences: tuple[str, ...]


@cache
def load_prose(language: str) -> Prose:
    """The sentences of a Faker locale, the same in every process.

    Locales without templates of their own get Faker's made-up sentences.

    Raises:
        ValueError: Faker has no such locale.
    """
    from faker import Factory

    try:
        generator = Factory.create(language, _PROVIDERS, use_weighting=False)
    except AttributeError:
        raise ValueError(f"{language!r} is not a locale Faker knows") from None
    generator.seed_instance(draw_integer(derive("prose", language), 2**64))
    separator = "" if language in _UNSPACED else " "
    templates = TEMPLATES.get(language)
    if templates is None:
        made_up = [str(generator.format("sentence", 10)) for _ in range(OPENERS + SENTENCES)]
        return Prose(separator, tuple(made_up[:OPENERS]), tuple(made_up[OPENERS:]))
    fill = _filler(generator, templates)

    def fill_all(gapped: tuple[str, ...], count: int) -> tuple[str, ...]:
        shuffled = sorted(gapped * (2 * count // len(gapped)), key=lambda _: generator.random.random())
        return tuple(dict.fromkeys(map(fill, shuffled)))[:count]

    return Prose(separator, fill_all(templates.openers, OPENERS), fill_all(templates.sentences, SENTENCES))


def _filler(generator: "Generator", templates: Templates) -> Callable[[str], str]:
    """A function that fills a template's gaps, never twice with the same word."""
    words = {gap: choices.split() for gap, choices in templates.words.items()}

    def draw(gap: str) -> str:
        if gap in words:
            return str(generator.random.choice(words[gap]))
        if gap == "person" and templates.spaced_names:
            return f"{generator.format('first_name')} {generator.format('last_name')}"
        value = str(generator.format({"person": "name", "first": "first_name"}.get(gap, gap)))
        return value.lower() if gap == "job" and templates.lower_jobs else value

    def fill(template: str) -> str:
        used: set[str] = set()

        def draw_new(match: re.Match[str]) -> str:
            while (value := draw(match[1])) in used or not _PLAIN.fullmatch(value):
                pass
            used.add(value)
            return value

        return _GAP.sub(draw_new, template)

    return fill
