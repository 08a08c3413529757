"""Prose has exactly as many tokens as asked, is the same every time, and ends where a sentence ends."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.rng import derive_key
from emulator.core.vendor import Tokenizer
from emulator.generation.language import detect_language, judge_language
from emulator.generation.text import Ids, Tokens, generate_text, load_prose
from emulator.generation.tokenizer import tokenizer_for
from emulator.generation.tokenizer_profiles import PROFILES

LANGUAGES = ("en_US", "de_DE", "zh_CN", "fr_FR", "ja_JP", "ko_KR", "ru_RU", "pt_BR")
KEYS = st.integers(0, 2**32).map(lambda number: derive_key("key", number))
NAMES = st.sampled_from(sorted(PROFILES))
SPOKEN = st.sampled_from(LANGUAGES)
SENTENCE_ENDS = (".", "。", "?", "!")
HALF = 24  # tokens of half a long sentence: an answer ends at the sentence end nearest to its natural length


def write_answer(
    tokenizer: Tokenizer, key: bytes, language: str, limit: int | None, ignore_eos: bool = False, opening: str = ""
) -> tuple[Tokens, Ids, bool]:
    """Return texts and ids of an answer, and whether it reached its own end."""
    said = generate_text(tokenizer, key, language, limit, ignore_eos, opening)
    assert said.text == "".join(said.tokens)
    assert len(said.tokens) == said.count
    return said.tokens, said.ids, said.ended


def cut(tokenizer: Tokenizer, key: bytes, language: str, count: int, opening: str = "") -> tuple[Tokens, Ids]:
    """Texts and ids of just ``count`` tokens."""
    return write_answer(tokenizer, key, language, count, True, opening)[:2]


@settings(deadline=None, max_examples=8)  # the first example of a language builds its sentences
@given(key=KEYS, name=NAMES, language=SPOKEN, count=st.integers(0, 500))
def test_text_has_exact_token_count(key: bytes, name: str, language: str, count: int) -> None:
    tokenizer = tokenizer_for(name)
    tokens, ids = cut(tokenizer, key, language, count)
    assert len(tokens) == len(ids) == count
    assert all(tokens)
    assert tokenizer.encode("".join(tokens)) == list(ids)
    assert tokenizer.pieces("".join(tokens)) == list(tokens)


@settings(deadline=None, max_examples=8)
@given(key=KEYS, language=SPOKEN, count=st.integers(0, 400), more=st.integers(0, 400))
def test_longer_text_starts_with_shorter(key: bytes, language: str, count: int, more: int) -> None:
    tokenizer = tokenizer_for("llama3")
    short, short_ids = cut(tokenizer, key, language, count)
    long, long_ids = cut(tokenizer, key, language, count + more)
    assert (long[:count], long_ids[:count]) == (short, short_ids)


@settings(deadline=None, max_examples=8)
@given(key=KEYS, opening=st.text(st.characters(codec="utf-8"), max_size=40), count=st.integers(0, 120))
def test_opening_comes_first(key: bytes, opening: str, count: int) -> None:
    tokenizer = tokenizer_for("llama3")
    tokens, ids = cut(tokenizer, key, "en_US", 300, opening)
    assert "".join(tokens).startswith(opening)
    assert tokenizer.encode("".join(tokens)) == list(ids)
    assert cut(tokenizer, key, "en_US", count, opening) == (tokens[:count], ids[:count])


@settings(deadline=None, max_examples=8)
@given(key=KEYS, name=NAMES, language=SPOKEN, limit=st.none() | st.integers(0, 600))
def test_text_ends_with_sentence_or_at_limit(key: bytes, name: str, language: str, limit: int | None) -> None:
    tokenizer = tokenizer_for(name)
    tokens, ids, ended = write_answer(tokenizer, key, language, limit)
    assert tokenizer.encode("".join(tokens)) == list(ids)
    if ended:
        assert tokens[-1].endswith(SENTENCE_ENDS)
        assert limit is None or len(tokens) <= limit
    else:
        assert len(tokens) == len(ids) == limit
    assert cut(tokenizer, key, language, len(tokens)) == (tokens, ids)


@pytest.mark.parametrize("limit", [0, 1, 64, 2000])
def test_ignore_eos_cuts_at_limit(limit: int) -> None:
    tokens, ids, ended = write_answer(tokenizer_for("qwen2"), b"key", "en_US", limit, ignore_eos=True)
    assert (len(tokens), len(ids), ended) == (limit, limit, False)


def test_ignore_eos_without_limit_stops_at_maximum_length() -> None:
    tokens, _, ended = write_answer(tokenizer_for("qwen2"), b"key", "en_US", None, ignore_eos=True)
    assert (len(tokens), ended) == (1024, False)


def test_natural_lengths_are_spread_around_their_median() -> None:
    tokenizer = tokenizer_for("llama3")
    answers = (write_answer(tokenizer, derive_key(number), "en_US", None) for number in range(4000))
    lengths = sorted(len(tokens) for tokens, _, _ in answers)
    assert lengths[0] >= 24 - HALF
    assert lengths[-1] <= 1024 + HALF
    assert 172 <= lengths[2000] <= 188
    assert 127 <= lengths[1000] <= 139  # the quartiles of exp(N(ln 180, 0.45)): 133 and 244
    assert 234 <= lengths[3000] <= 254


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en_US", "de_DE", "zh_CN"])
def test_text_is_identical_across_processes(language: str) -> None:
    program = (
        "import sys; from emulator.generation.text import generate_text;"
        "from emulator.generation.tokenizer import tokenizer_for;"
        f"text = generate_text(tokenizer_for('llama3'), b'key', '{language}', None).text;"
        "sys.stdout.buffer.write(text.encode())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert result.stdout.decode() == "".join(write_answer(tokenizer_for("llama3"), b"key", language, None)[0])


def test_different_keys_give_different_texts() -> None:
    texts = {cut(tokenizer_for("llama3"), derive_key(number), "en_US", 64)[0] for number in range(500)}
    assert len(texts) == 500


@pytest.mark.parametrize("language", LANGUAGES)
def test_long_text_repeats_no_sentence(language: str) -> None:
    text = "".join(cut(tokenizer_for("gpt"), b"key", language, 2000)[0])
    for mark in SENTENCE_ENDS:
        text = text.replace(mark, mark + "\n")
    sentences = [line.strip() for line in text.splitlines() if line.strip()][1:-1]
    assert len(sentences) > 20
    assert len(set(sentences)) == len(sentences)


def test_paragraphs_have_at_least_three_sentences() -> None:
    text = "".join(cut(tokenizer_for("gpt"), b"key", "en_US", 3000)[0])
    paragraphs = text.split("\n\n")[:-1]
    assert len(paragraphs) > 10
    assert all(paragraph.count(". ") >= 2 for paragraph in paragraphs)


@pytest.mark.parametrize("language", ["en_US", "de_DE", "zh_CN", "ko_KR", "pt_BR"])
def test_prose_has_no_unfilled_placeholders(language: str) -> None:
    prose = load_prose(language)
    assert len(prose.openers) >= 40
    assert len(prose.sentences) >= 500
    assert not any("{" in sentence for sentence in prose.openers + prose.sentences)


def test_vocabulary_lacking_script_falls_back_to_english() -> None:
    text = "".join(cut(tokenizer_for("llama2"), b"key", "ko_KR", 50)[0])
    assert text.isascii()


def test_unknown_locale_is_rejected() -> None:
    with pytest.raises(ValueError, match="'xx_YY' is not a locale"):
        cut(tokenizer_for("llama3"), b"key", "xx_YY", 1)


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        pytest.param("", "en_US", id="nothing"),
        pytest.param("12345 {}", "en_US", id="no words"),
        pytest.param("What is the capital of France?", "en_US", id="English"),
        pytest.param("Summarize this: import os; print(os.getcwd())", "en_US", id="code"),
        pytest.param("Was ist die Hauptstadt von Frankreich?", "de_DE", id="German without umlauts"),
        pytest.param("Hallo", "de_DE", id="a German greeting"),
        pytest.param("Erkläre mir bitte den Unterschied.", "de_DE", id="German with umlauts"),
        pytest.param("请介绍一下北京的历史。", "zh_CN", id="Chinese"),
        pytest.param("请用 Python 写一个 hello world 程序", "zh_CN", id="Chinese with English terms"),
        pytest.param("How do I pronounce the Chinese word 你好 correctly in a sentence?", "en_US", id="a foreign word"),
        pytest.param("Quelle est la capitale de la France ?", "fr_FR", id="French"),
        pytest.param("¿Cuál es la capital de España y por qué?", "es_ES", id="Spanish"),
        pytest.param("Qual è la capitale della Francia e perché?", "it_IT", id="Italian"),
        pytest.param("Qual é a capital do Brasil e por que não é o Rio?", "pt_BR", id="Portuguese"),
        pytest.param("Wat is de hoofdstad van Nederland en waarom?", "nl_NL", id="Dutch"),
        pytest.param("Jaka jest stolica Polski i dlaczego?", "pl_PL", id="Polish"),
        pytest.param("日本の首都はどこですか。", "ja_JP", id="Japanese"),
        pytest.param("한국의 수도는 어디입니까?", "ko_KR", id="Korean"),
        pytest.param("Какая столица России?", "ru_RU", id="Russian"),
        pytest.param("bonjour hola", "fr_FR", id="of two languages the first"),
        pytest.param("hola bonjour", "es_ES", id="of two languages the first, the other way round"),
        pytest.param("bonjour hello", "en_US", id="English wins a tie"),
        pytest.param("The quick brown fox. " * 200 + "Der die das und ist nicht. " * 900, "en_US", id="the beginning"),
    ],
)
def test_language(text: str, locale: str) -> None:
    assert detect_language(text) == locale


ENGLISH_OR_NOT = ["the", "of", "die", "das", "le", "que", "in", "is", "me", "tide", "a"]
WORDS = st.sampled_from([*ENGLISH_OR_NOT, "", "\t", "user/admin", "don't\nder", "12", "é", "潮", "привет"])


@given(text=st.lists(WORDS, max_size=60).map(" ".join) | st.text(max_size=200), times=st.sampled_from([1, 50]))
def test_judge_language_agrees_with_detect_language(text: str, times: int) -> None:
    text = " ".join([text] * times)
    assert judge_language(text, tokenizer_for("llama3").count_and_lean(text)[1]) == detect_language(text)


@pytest.mark.parametrize(
    "text", ["ist", "a tide ist", "the ist", "the ist das", "the of ist das", "le", "que tal", "nie jest"]
)
def test_judge_language_agrees_for_short_text(text: str) -> None:
    assert judge_language(text, tokenizer_for("llama3").count_and_lean(text)[1]) == detect_language(text)
