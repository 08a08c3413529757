"""The sentences that are kept are those the command makes."""

import faker
import pytest

from emulator.generation.language import LOCALES
from emulator.generation.text import find_prose, load_prose
from tests.tools.prose.make import MADE_WITH, render


@pytest.mark.skipif(faker.VERSION != MADE_WITH, reason=f"the sentences were made with Faker {MADE_WITH}")
@pytest.mark.parametrize("locale", LOCALES)
def test_stored_prose_matches_generator_output(locale: str) -> None:
    assert find_prose(locale).read_bytes().decode() == render(locale)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_locale_has_prose(locale: str) -> None:
    prose = load_prose(locale)
    assert len(prose.openers) == 64
    assert len(prose.sentences) >= 500
    assert all(sentence == sentence.strip() for sentence in prose.openers + prose.sentences)
