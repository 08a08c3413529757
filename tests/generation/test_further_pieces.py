"""Further pieces are complete, numbered without gaps, and come back from their ids."""

import pytest

from emulator.generation.further_pieces import COMMON_PREFIX, FurtherPieces, load_limits, load_pages
from emulator.generation.text import load_prose
from emulator.generation.tokenizer import ProfileTokenizer, tokenizer_for
from emulator.generation.tokenizer_profiles import PROFILES
from tests.tools.tokens import collect_texts

FITTED = sorted(load_limits())


def list_pieces() -> list[tuple[str, str]]:
    """Return each piece with the numbers that its page gives it."""
    return [pair for _, cells in load_pages() for pair in zip(cells[::2], cells[1::2], strict=True)]


def test_every_number_belongs_to_one_piece() -> None:
    numbers = sorted(int(number) for _, numbers in list_pieces() for number in numbers.split())
    assert numbers == [*range(sum(load_pages().sizes.values()))]


@pytest.mark.parametrize("name", FITTED)
def test_limits_are_those_of_known_lists(name: str) -> None:
    pages = load_pages()
    sizes = {**pages.sizes, **{COMMON_PREFIX + locale: len(characters) for locale, characters in pages.common.items()}}
    assert load_limits()[name].keys() <= sizes.keys()
    assert all(0 <= limit <= sizes[each] for each, limit in load_limits()[name].items())
    assert name in PROFILES


def test_ids_avoid_those_of_other_tokens_and_come_back() -> None:
    limits = dict.fromkeys(load_pages().sizes, 5)
    obstacles = {*range(10), 2000, 2003, 2010, 9999}
    further = FurtherPieces(limits, obstacles, 2055)
    found = {piece: id for key, _ in load_pages() for piece, id in further.load(key).items()}
    assert len(found) == 5 * len(limits) == len({*found.values()})
    assert min(found.values()) == 10
    assert all(further.read(id) == piece for piece, id in found.items())
    assert all(further.read(id) is None for id in (5, 10 + 5 * len(limits), 2054, 2055))


def test_ids_skip_obstacles_and_end_at_last_free_one() -> None:
    limits = {name: 2000 for name in ("words", "en_US")}
    further = FurtherPieces(limits, {*range(10), 2000, 2003, 2010}, 3000)
    found = {piece: id for key, _ in load_pages() for piece, id in further.load(key).items()}
    assert sorted(found.values()) == [id for id in range(10, 3000) if id not in (2000, 2003, 2010)]
    assert all(further.read(id) == piece for piece, id in found.items())
    assert further.read(3000) is None


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_texts_of_all_kinds_round_trip(name: str) -> None:
    tokenizer = ProfileTokenizer(PROFILES[name])
    for texts in collect_texts().values():
        for text in texts:
            ids = tokenizer.encode(text)
            assert tokenizer.decode(ids) == text
            assert tokenizer.count(text) == len(ids) == len(tokenizer.pieces(text))


@pytest.mark.parametrize("name", FITTED)
def test_english_answers_keep_their_tokens(name: str) -> None:
    """Without further pieces they are the same."""
    plain, fitted = ProfileTokenizer(PROFILES[name], {"words": 0}), tokenizer_for(name)
    prose = load_prose("en_US")
    for text in (*prose.openers, *prose.sentences):
        assert fitted.encode(f"{text} {text}\n\n") == plain.encode(f"{text} {text}\n\n")


def test_profile_without_limits_has_no_further_pieces() -> None:
    assert tokenizer_for("llama2").pieces(" archivos") == ProfileTokenizer(PROFILES["llama2"], {}).pieces(" archivos")
    assert tokenizer_for("gpt").pieces(" archivos") == [" archivos"]
