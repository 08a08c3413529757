"""The pieces that are kept are those the command makes."""

from emulator.generation.vocabulary import VOCABULARY, load_vocabulary, measure_longest
from tests.tools.vocabulary.make import render


def test_stored_vocabulary_matches_generator_output() -> None:
    assert VOCABULARY.read_text(encoding="utf-8") == render()


def test_longest_piece_lengths_match_pieces() -> None:
    kept = load_vocabulary()
    longest: dict[str, int] = {}
    for piece in kept.pieces:
        if len(piece) > 2:
            longest[piece[:3]] = max(len(piece), longest.get(piece[:3], 0))
    assert kept.longest == longest


def test_measure_longest_extends_stored_lengths() -> None:
    kept = load_vocabulary().longest
    assert measure_longest({" the": 1}) is kept
    assert measure_longest({" the longest": 1})[" th"] == len(" the longest")
    assert measure_longest({"ꙮꙮꙮꙮ": 1})["ꙮꙮꙮ"] == 4
