"""Chunks, scores and filters."""

import pytest

from emulator.vendors.azure.vector_stores.search import Source, find_hits, matches_filter, pick_sentence, split_chunks
from tests.untyped_json import JSON

TEXTS = {
    "pets.txt": "Cats sleep all day. Dogs bark at night.",
    "food.txt": "Bread is baked at night. Butter is made of milk.",
    "cars.txt": "Cars have wheels and the night is dark.",
}
SOURCES = [
    Source(file=f"file-{number}", filename=name, text=text, attributes={"number": number})
    for number, (name, text) in enumerate(TEXTS.items())
]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("When do dogs bark?", ["pets.txt"]),
        ("a DOG", ["pets.txt"]),
        ("bread at night", ["food.txt", "pets.txt", "cars.txt"]),
        ("Who is the?", ["cars.txt", "food.txt"]),  # of common words alone
        ("elephants", []),
        ("", []),
        ("¿?", []),
    ],
)
def test_files_with_words_of_query_are_found(query: str, names: list[str]) -> None:
    hits = find_hits(SOURCES, [query], 10)
    assert [hit.filename for hit in hits] == names
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_limit_threshold_and_several_queries() -> None:
    night = ["bread at night"]
    assert len(find_hits(SOURCES, night, 2)) == 2
    best, *_ = find_hits(SOURCES, night, 10)
    assert [hit.filename for hit in find_hits(SOURCES, night, 10, best.score)] == ["food.txt"]
    both = find_hits(SOURCES, ["milk", "wheels"], 10)
    assert {hit.filename for hit in both} == {"food.txt", "cars.txt"}
    assert find_hits(SOURCES, ["milk"], 10, 0.0, {"type": "eq", "key": "number", "value": 0}) == []


@pytest.mark.parametrize(("size", "overlap"), [(100, 0), (100, 50), (200, 100), (4096, 2048)])
def test_chunks_cover_text(size: int, overlap: int) -> None:
    words = [f"word{number}" for number in range(2000)]
    chunks = [text for text, _ in split_chunks(" ".join(words), size, overlap)]
    assert all(len(chunk) <= size * 4 + 80 for chunk in chunks)
    assert list(dict.fromkeys(" ".join(chunks).split())) == words
    assert (len(" ".join(chunks).split()) > len(words)) == (overlap > 0 and len(chunks) > 1)


def test_long_text_is_cut_in_linear_time() -> None:
    assert len(split_chunks("x" * 3_000_000, 100, 0)) == 2500


@pytest.mark.parametrize(
    ("condition", "fits"),
    [
        ({"type": "eq", "key": "team", "value": "ops"}, True),
        ({"type": "ne", "key": "team", "value": "ops"}, False),
        ({"type": "ne", "key": "other", "value": "ops"}, True),
        ({"type": "gt", "key": "year", "value": 2019}, True),
        ({"type": "gte", "key": "year", "value": 2020.0}, True),
        ({"type": "lt", "key": "year", "value": 2020}, False),
        ({"type": "lte", "key": "year", "value": 2020}, True),
        ({"type": "lt", "key": "year", "value": "2021"}, False),
        ({"type": "lt", "key": "other", "value": 1}, False),
        ({"type": "gt", "key": "team", "value": "aaa"}, True),
        ({"type": "in", "key": "team", "value": ["dev", "ops"]}, True),
        ({"type": "nin", "key": "team", "value": ["dev", "ops"]}, False),
        ({"type": "in", "key": "team", "value": "ops"}, False),
        ({"type": "and", "filters": [{"type": "eq", "key": "team", "value": "ops"}]}, True),
        ({"type": "or", "filters": []}, False),
        (
            {
                "type": "or",
                "filters": [
                    {"type": "eq", "key": "team", "value": "dev"},
                    {"type": "and", "filters": [{"type": "eq", "key": "open", "value": True}]},
                ],
            },
            True,
        ),
        (None, True),
    ],
)
def test_filters(condition: JSON, fits: bool) -> None:
    assert matches_filter({"team": "ops", "year": 2020, "open": True}, condition) == fits


def test_sentence_that_answers() -> None:
    text = "# Leave\n\n- Everyone has 30 days of leave. Ask your lead.\n- Trains are booked."
    assert pick_sentence(text, "How many days?") == "Everyone has 30 days of leave."
    assert pick_sentence(text, "trains") == "Trains are booked."
    assert pick_sentence("# \n", "x") == ""
