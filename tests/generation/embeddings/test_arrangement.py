"""Cosines that satisfy declared relations, and the relations that contradict each other."""

import math
import random
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from emulator.core.geometry import Geometry, Near, Ranking
from emulator.generation.embeddings.arrangement import ConflictError, _compile, _Search, _solve, arrange


def declare(near: Iterable[tuple[str, str, float]] = (), **parts: object) -> Geometry:
    pairs = tuple(Near(*pair) for pair in near)
    return Geometry(kind="declared", near=pairs, key=f"{pairs} {parts}", **parts)  # type: ignore[arg-type]


def draw_possible(seed: int) -> Geometry:
    """Return relations that vectors drawn at random have."""
    draw = random.Random(seed)
    count = draw.randint(3, 24)
    rows = np.array([[draw.gauss(draw.choice([0, 1]), 1) for _ in range(12)] for _ in range(count)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [(one, other) for one in range(count) for other in range(one)]
    draw.shuffle(pairs)
    chosen = pairs[: draw.randint(1, 3 * count)]
    return declare((f"t{a}", f"t{b}", round(float(rows[a] @ rows[b]), 4)) for a, b in chosen)


def draw_flat(seed: int) -> Geometry:
    """Return relations that vectors of few dimensions have: they leave no room around the only solutions."""
    draw = random.Random(seed)
    count = draw.randint(4, 16)
    rows = np.array([[draw.gauss(0, 1) for _ in range(2 + seed % 4)] for _ in range(count)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = [(one, other) for one in range(count) for other in range(one)]
    draw.shuffle(pairs)
    return declare((f"t{a}", f"t{b}", round(float(rows[a] @ rows[b]), 4)) for a, b in pairs[: 2 * count])


def draw_any(seed: int) -> Geometry:
    draw = random.Random(seed)
    pairs = [(one, other) for one in range(draw.randint(3, 8)) for other in range(one)]
    draw.shuffle(pairs)
    clusters = {"first": ("t0", "t1")} if seed % 3 == 0 else {}
    return declare(((f"t{a}", f"t{b}", round(draw.uniform(-1, 1), 2)) for a, b in pairs[:12]), clusters=clusters)


@pytest.mark.parametrize(("draw", "count"), [(draw_possible, 60), (draw_flat, 8)])
def test_cosines_that_vectors_can_have_are_met(draw: Callable[[int], Geometry], count: int) -> None:
    for seed in range(count):
        geometry = draw(seed)
        arrangement = arrange(geometry)
        cosines, places = arrangement.cosines, arrangement.places
        assert np.linalg.eigvalsh(cosines)[0] > 0
        for pair in geometry.near:
            assert cosines[places[pair.a], places[pair.b]] == pytest.approx(pair.cosine, abs=1e-3)


def test_conflict_is_smallest_set() -> None:
    """Without any one of the named relations the others can be met."""
    found = 0
    for seed in range(6):
        geometry = draw_any(seed)
        try:
            arrange(geometry)
        except ConflictError as error:
            found += 1
            places = {text: place for place, text in enumerate(geometry.list_texts())}
            named = [relation for relation in _compile(geometry, places) if relation.words in error.relations]
            assert _solve(len(places), named) is None
            for left_out in range(len(named)):
                assert _solve(len(places), named[:left_out] + named[left_out + 1 :]) is not None
    assert found > 2


@pytest.mark.parametrize(
    ("geometry", "named"),
    [
        pytest.param(
            declare([("a", "b", 0.9), ("b", "a", 0.2)]), ["near 'a', 'b': 0.9", "near 'b', 'a': 0.2"], id="twice"
        ),
        pytest.param(declare([("a", "a", 0.5)]), ["near 'a', 'a': 0.5"], id="itself"),
        pytest.param(
            declare([("a", "b", 0.95), ("b", "c", 0.95), ("a", "c", -0.5), ("c", "d", 0.2)]),
            ["near 'a', 'b': 0.95", "near 'b', 'c': 0.95", "near 'a', 'c': -0.5"],
            id="a triangle",
        ),
        pytest.param(
            declare([("q", "b", 0.9), ("q", "a", 0.2)], rankings=(Ranking("q", ("a", "b")),)),
            ["near 'q', 'b': 0.9", "near 'q', 'a': 0.2", "query 'q': 'a', 'b'"],
            id="an order",
        ),
    ],
)
def test_conflict_is_named(geometry: Geometry, named: list[str]) -> None:
    with pytest.raises(ConflictError) as caught:
        arrange(geometry)
    assert caught.value.relations == tuple(named)


def test_ranks_fall_and_other_texts_are_farther() -> None:
    geometry = declare(
        clusters={"one": ("a", "b", "c"), "two": ("d", "e")},
        rankings=(Ranking("q", ("d", "a", "b")), Ranking("r", ("e", "c"))),
    )
    arrangement = arrange(geometry)
    for ranking in geometry.rankings:
        row = arrangement.cosines[arrangement.places[ranking.query]]
        ranked = [row[arrangement.places[text]] for text in ranking.ranks]
        assert ranked == sorted(ranked, reverse=True)
        others = [
            row[place] for text, place in arrangement.places.items() if text not in (ranking.query, *ranking.ranks)
        ]
        assert max(others) < ranked[-1]


def test_clusters_are_close_within_and_far_between() -> None:
    arrangement = arrange(declare(clusters={"animals": ("cat", "kitten", "dog"), "vehicles": ("car", "lorry")}))
    cosines = arrangement.cosines.round(3)
    assert cosines[0, 1] == cosines[1, 2] == cosines[3, 4] == 0.8
    assert cosines[0, 3] == cosines[2, 4] == 0.1


@pytest.mark.parametrize("wrong", [0.0, 0.01], ids=["found", "none exist"])
def test_search_goes_on_from_its_last_round(wrong: float) -> None:
    """A search that is given more rounds repeats none, and one that is stuck ends at once."""
    angles = [0.7 * number for number in range(6)]
    exact = {(a, b): math.cos(angles[a] - angles[b]) for a in range(6) for b in range(a + 1, 6)}
    exact[0, 1] -= wrong
    search = _Search([], exact)
    rows = np.array([[math.cos(angle + 0.3 * angle**2), math.sin(angle)] for angle in angles])
    at_once, bit_by_bit = search.begin(rows), search.begin(rows)
    has_arrived = at_once.advance(80)
    assert any(bit_by_bit.advance(until) for until in range(81)) is has_arrived is (wrong == 0.0)
    assert bit_by_bit.rounds == at_once.rounds < 80
    assert (bit_by_bit.rows == at_once.rows).all()
    assert at_once.advance(200) is has_arrived
    assert at_once.rounds == bit_by_bit.rounds
