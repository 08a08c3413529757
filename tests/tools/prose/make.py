"""Writes the standing sentences of every language anew: ``python -m tests.tools.prose.make``.

The words are Faker's, drawn from a fixed seed. Answers are made of these sentences, so a change to one file is
a change to every answer in its language.
"""

import re
from collections.abc import Callable

from faker import Factory, Generator

from emulator.core.rng import derive_key, draw_integer
from emulator.generation.language import LOCALES
from emulator.generation.text import find_prose
from tests.tools.prose.templates import TEMPLATES, Templates

MADE_WITH = "40.54.0"  # of Faker; another release may have other names

_OPENERS = 64
_SENTENCES = 512
_PROVIDERS = [f"faker.providers.{name}" for name in ("address", "company", "job", "lorem", "person")]
_GAP = re.compile(r"\{(\w+)\}")
_PLAIN = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")  # a name without brackets, dots and the like


def render(language: str) -> str:
    """The file of a locale: openers, an empty line, all other sentences.

    Locales without templates of their own get Faker's made-up sentences.
    """
    generator = Factory.create(language, _PROVIDERS, use_weighting=False)
    generator.seed_instance(draw_integer(derive_key("prose", language), 2**64))
    templates = TEMPLATES.get(language)
    if templates is None:
        made_up = [str(generator.format("sentence", 10)) for _ in range(_OPENERS + _SENTENCES)]
        openers, sentences = made_up[:_OPENERS], made_up[_OPENERS:]
    else:
        fill = _filler(generator, templates)
        openers = _fill_all(generator, fill, templates.openers, _OPENERS)
        sentences = _fill_all(generator, fill, templates.sentences, _SENTENCES)
    return "\n".join([*openers, "", *sentences, ""])


def _fill_all(generator: Generator, fill: Callable[[str], str], gapped: tuple[str, ...], count: int) -> list[str]:
    shuffled = sorted(gapped * (2 * count // len(gapped)), key=lambda _: generator.random.random())
    return list(dict.fromkeys(map(fill, shuffled)))[:count]


def _filler(generator: Generator, templates: Templates) -> Callable[[str], str]:
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


if __name__ == "__main__":
    for locale in LOCALES:
        find_prose(locale).write_text(render(locale), encoding="utf-8", newline="\n")
