"""The pieces that are kept are those the command makes."""

from emulator.generation.vocabulary import VOCABULARY, load_vocabulary, measure_longest
from tests.tools.vocabulary.make import render


def test_the_kept_pieces_are_what_the_command_makes() -> None:
    assert VOCABULARY.read_bytes().decode() == render()


def test_no_piece_is_longer_than_is_said() -> None:
    kept = load_vocabulary()
    longest: dict[str, int] = {}
    for piece in kept.pieces:
        if len(piece) > 2:
            longest[piece[:3]] = max(len(piece), longest.get(piece[:3], 0))
    assert kept.longest == longest


def test_pieces_of_ones_own_count_where_they_are_longer() -> None:
    kept = load_vocabulary().longest
    assert measure_longest({" the": 1}) is kept
    assert measure_longest({" the longest": 1})[" th"] == len(" the longest")
    assert measure_longest({"ꙮꙮꙮꙮ": 1})["ꙮꙮꙮ"] == 4
