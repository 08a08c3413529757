"""Plausible log-probabilities."""

import math

from hypothesis import given
from hypothesis import strategies as st

from emulator.core.plan import Logprob
from emulator.generation.logprobs import token_logprobs

TOKENS = st.lists(
    st.sampled_from(["Hel", "lo", " world", "", "!", " the", ",", "你"]) | st.text(max_size=4), max_size=12
)
ANSWER = ["The", " answer", " is", " 4", "2", ",", " of", " course", ".", ""] * 40


def weigh(values: Logprob) -> float:
    return math.fsum(math.exp(value) for _, value in values.top)


@given(TOKENS, st.binary(max_size=16), st.integers(0, 20), st.booleans())
def test_every_token_has_entry(tokens: list[str], key: bytes, top: int, greedy: bool) -> None:
    entries = token_logprobs(tokens, key, top, greedy)
    assert [entry.token for entry in entries] == tokens
    for entry in entries:
        assert -math.inf < entry.logprob <= 0.0
        assert math.copysign(1.0, entry.logprob) == -1.0  # never 0 or -0
        assert len(entry.top) == top


@given(TOKENS, st.binary(max_size=16), st.integers(1, 20), st.booleans())
def test_alternatives_are_distinct_sorted_and_include_token(
    tokens: list[str], key: bytes, top: int, greedy: bool
) -> None:
    for entry in token_logprobs(tokens, key, top, greedy):
        texts, values = zip(*entry.top, strict=True)
        assert len(set(texts)) == top
        assert "" not in set(texts) - {entry.token}
        assert list(values) == sorted(values, reverse=True)
        assert dict(entry.top)[entry.token] == entry.logprob
        assert weigh(entry) <= 1.0
        assert entry.token == texts[0] or (not greedy and entry.token == texts[1])


@given(TOKENS, st.binary(max_size=16), st.booleans())
def test_logprob_is_independent_of_top_count(tokens: list[str], key: bytes, greedy: bool) -> None:
    bare = [entry.logprob for entry in token_logprobs(tokens, key, 0, greedy)]
    for top in (1, 2, 5):
        assert [entry.logprob for entry in token_logprobs(tokens, key, top, greedy)] == bare


@given(TOKENS, st.binary(max_size=16), st.integers(0, 12))
def test_shorter_response_has_same_entries(tokens: list[str], key: bytes, length: int) -> None:
    assert token_logprobs(tokens[:length], key, 3) == token_logprobs(tokens, key, 3)[:length]


def test_best_token_is_sampled_most_often() -> None:
    entries = token_logprobs(ANSWER, b"key", 5)
    seconds = sum(entry.token != entry.top[0][0] for entry in entries)
    assert 0.05 < seconds / len(ANSWER) < 0.3
    assert all(entry.token == entry.top[0][0] for entry in token_logprobs(ANSWER, b"key", 5, greedy=True))


def test_confidence_varies() -> None:
    values = [entry.logprob for entry in token_logprobs(ANSWER, b"key", greedy=True)]
    assert min(values) < -0.8
    assert max(values) > -0.001


def test_alternatives_are_response_or_common_tokens() -> None:
    entries = token_logprobs(ANSWER, b"key", 4)
    earlier = [set(ANSWER[:position]) & {text for text, _ in entry.top} for position, entry in enumerate(entries)]
    assert sum(map(bool, earlier)) > len(ANSWER) / 2
    spaced = [entry for entry in entries if entry.token.startswith(" ")]
    assert all(sum(text.startswith(" ") for text, _ in entry.top) >= 3 for entry in spaced)


def test_keys_give_different_values() -> None:
    assert token_logprobs(ANSWER, b"key") == token_logprobs(ANSWER, b"key")
    assert token_logprobs(ANSWER, b"key") != token_logprobs(ANSWER, b"other")


def test_alternatives_are_limited_to_available_tokens() -> None:
    (entry,) = token_logprobs(["odd"], b"key", 1000)
    assert 100 < len(entry.top) == len(dict(entry.top)) <= 123


def test_values_are_stable() -> None:
    assert token_logprobs(["Hel", "lo", " world"], b"k", 2) == (
        Logprob("Hel", -0.005394, (("Hel", -0.005394), ("ness", -5.987199))),
        Logprob("lo", -0.000318, (("lo", -0.000318), ("Hel", -8.862238))),
        Logprob(" world", -0.168022, ((" world", -0.168022), ("Hel", -2.65701))),
    )
