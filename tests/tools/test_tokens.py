"""The table of token counts."""

import pytest

from emulator.generation.further_pieces import load_limits, load_pages
from emulator.generation.tokenizer import tokenizer_for
from emulator.generation.tokenizer_profiles import PROFILES
from emulator.generation.vocabulary_files import VocabularyError
from tests.tools.tokens import REAL, Fit, collect_texts, measure

_NEAR = 0.05
_OWN_FILES = dict.fromkeys(("Python", "HTML and JavaScript", "Markdown"), 0.09)  # they change with the project
# Kinds that are further off, by profile, with the error they have at most.
_FAR = {
    "claude": {"emoji": 0.15, "JSON": 0.06},
    "mistral": {"ja_JP": 0.06, "zh_CN": 0.10, "ru_RU": 0.06, "emoji": 0.09},
    "llama3": {"pt_BR": 0.07, "emoji": 0.07},
    "qwen2": {"pt_BR": 0.06},
}


def test_profile_differs_from_itself_in_nothing() -> None:
    texts = collect_texts()
    assert measure("gpt", "gpt", texts["en_US"]) == (0.0, 0.0)
    assert measure("gpt", "llama2", texts["Python"])[0] != 0.0
    assert all(all(each) for each in texts.values())


def find_vocabulary(profile: str) -> str:
    try:
        tokenizer_for(REAL[profile])
    except VocabularyError as error:
        pytest.skip(str(error))
    return REAL[profile]


@pytest.mark.parametrize("profile", REAL)
def test_mean_count_is_near_that_of_the_vocabulary(profile: str) -> None:
    vocabulary = find_vocabulary(profile)
    errors = {kind: measure(profile, vocabulary, texts)[0] for kind, texts in collect_texts().items()}
    bounds = _OWN_FILES | _FAR.get(profile, {})
    assert {kind: e for kind, e in errors.items() if abs(e) > bounds.get(kind, _NEAR) + 0.005} == {}


@pytest.mark.slow
def test_fit_finds_limits_within_the_lists() -> None:
    find_vocabulary("mistral")
    texts = collect_texts()
    kinds = {kind: texts["Python"][:2] for kind in ("Python", "JavaScript", "HTML", "Markdown")}
    kinds |= {kind: texts[kind][:2] for kind in texts if kind in load_pages().sizes or kind == "JSON"}
    search = Fit("mistral", kinds)
    limits = search.search()
    assert limits.keys() <= load_pages().sizes.keys()
    assert sum(limits.values()) <= PROFILES["mistral"].vocabulary_size
    assert abs(search.judge(("es_ES",), limits)) < abs(search.judge(("es_ES",), {}))
    assert "mistral" in load_limits()
