"""The pieces that are kept are those the command makes; each profile gives each of them an id of its own."""

import pytest

from emulator.generation.tokenizer import ProfileTokenizer
from emulator.generation.tokenizer_profiles import PROFILES
from emulator.generation.vocabulary import VOCABULARY, load_vocabulary
from tests.tools.vocabulary.make import list_pieces, render


def test_stored_vocabulary_matches_generator_output() -> None:
    assert VOCABULARY.read_text(encoding="utf-8") == render()


def test_ranks_are_those_of_the_lists() -> None:
    kept, made = load_vocabulary(), list_pieces()
    assert [kept.pieces[rank] for rank in range(len(kept.pieces))] == made
    assert all(kept.find_rank(piece) == rank for rank, piece in enumerate(made[:2000]))
    assert kept.find_rank("\ue000") is None


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_pieces_have_ids_of_their_own(name: str) -> None:
    profile = PROFILES[name]
    tokenizer = ProfileTokenizer(profile)
    ids = {piece: tokenizer.number(piece) for piece in list_pieces()[:8000]}
    assert len({*ids.values()}) == len(ids)
    assert not {*ids.values()} & {*profile.special}
    assert all(id is not None and tokenizer.decode([id]) == piece for piece, id in ids.items())
    assert profile.fixed.items() <= {piece: tokenizer.number(piece) for piece in profile.fixed}.items()
