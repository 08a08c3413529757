"""Find cosines between declared texts that satisfy every declared relation, or name relations that conflict.

``declared.py`` turns the cosines into embeddings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import product
from typing import TYPE_CHECKING

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.geometry import Geometry, Ranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

MAX_TEXTS = 512  # arranged in seconds
_WITHIN, _MIN_WITHIN = 0.8, 0.6  # cosine of two texts of one cluster: aimed at, and at least
_BETWEEN, _MAX_BETWEEN = 0.1, 0.4  # of two clusters: aimed at, and at most
_APART = 0.05  # of texts between which nothing is declared: aimed at
_FIRST, _LAST = 0.9, 0.5  # of the first and the last rank: aimed at
_MARGIN = 0.02  # between two ranks
_SLACK = 1e-4  # by which bounds may be missed
_DEFICIT = 5e-4  # by which the least eigenvalue may be below zero: declared cosines are missed by as much
_MAX_COSINE = 0.9996  # cosine of two texts: with 1 they were one vector, and few rounds find no other vectors to it
_STEP = 1e-6  # cosines are multiples of it, so that every machine's rounding gives the same
_MAX_REFINED = 128  # texts: more take too long
_RANKS = (2, 3, 4, 5, 6, 8)
_FEW_ROUNDS, _MANY_ROUNDS = (25, 80), 60
_MISSED = 3e-4  # by which a cosine may be missed
_FAR = 0.02  # a cosine that is missed by as much after many rounds will not be met
_CHECKED_ROUNDS, _PROGRESS = 10, 0.8  # rounds after which at most this share of the squares of what is missed is left
_FLOORS = ((1e-3, 100), (1e-5, 400))  # least eigenvalue aimed at, for how many rounds: well inside is found sooner


class ConflictError(Exception):
    """Declared relations contradict each other; ``relations``: a smallest set of them, in words."""

    def __init__(self, relations: Sequence[str]) -> None:
        super().__init__("; ".join(relations))
        self.relations = tuple(relations)


@fast_dataclass(slots=True, eq=False)
class _Order:
    """Row of a query: its ranks, nearest first, and the other texts."""

    query: int
    ranks: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def margin(self) -> float:
        return min(_MARGIN, 0.5 / len(self.ranks))


@fast_dataclass(slots=True, eq=False)
class _Relation:
    """Declared relation: exact cosines, bounds of cosines, or the order of a row; ``aims``: preferred cosines."""

    words: str
    aims: dict[tuple[int, int], float] = field(default_factory=dict)
    exact: dict[tuple[int, int], float] = field(default_factory=dict)
    bounds: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    order: _Order | None = None


@fast_dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """Declared texts by their place, and the matrix of their cosines."""

    places: dict[str, int]
    cosines: Matrix


@lru(32)
def arrange(geometry: Geometry) -> Arrangement:
    """Return the arrangement of a geometry's texts.

    Raises:
        ConflictError: there is none.
    """
    texts = geometry.list_texts()
    places = {text: place for place, text in enumerate(texts)}
    relations = [*_compile(geometry, places)]
    cosines = _solve(len(places), relations)
    if cosines is None:
        raise ConflictError([relation.words for relation in _find_conflict(len(places), relations)])
    return Arrangement(places, cosines)


def _compile(geometry: Geometry, places: dict[str, int]) -> Iterator[_Relation]:
    """Yield the relations of a geometry."""
    cluster_of = {places[text]: name for name, texts in geometry.clusters.items() for text in texts}
    given = {_pair(places[near.a], places[near.b]) for near in geometry.near}
    for name, texts in geometry.clusters.items():
        relation = _Relation(f"cluster {name!r}")
        for text in texts:
            for other, its_name in cluster_of.items():
                pair, alike = _pair(places[text], other), its_name == name
                if pair[0] != pair[1] and pair not in given:
                    relation.aims[pair] = _WITHIN if alike else _BETWEEN
                    relation.bounds[pair] = (_MIN_WITHIN, 1.0) if alike else (-1.0, _MAX_BETWEEN)
        yield relation
    for near in geometry.near:
        wanted = min(max(near.cosine, -_MAX_COSINE), _MAX_COSINE)
        exact = {_pair(places[near.a], places[near.b]): wanted if near.a != near.b else near.cosine}
        yield _Relation(f"near {near.a!r}, {near.b!r}: {near.cosine:g}", aims=exact, exact=exact)
    for ranking in geometry.rankings:
        yield _compile_ranking(ranking, places)


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _compile_ranking(ranking: Ranking, places: dict[str, int]) -> _Relation:
    query, ranks = places[ranking.query], tuple([places[text] for text in ranking.ranks])
    step = min((_FIRST - _LAST) / max(1, len(ranks) - 1), 0.1)
    others = tuple([place for place in places.values() if place != query and place not in ranks])
    words = f"query {ranking.query!r}: {', '.join(map(repr, ranking.ranks))}"
    aims = {_pair(query, rank): _FIRST - number * step for number, rank in enumerate(ranks)}
    return _Relation(words, aims=aims, order=_Order(query, ranks, others))


def _solve(count: int, relations: Sequence[_Relation]) -> Matrix | None:
    """Return a matrix of cosines that satisfies the relations, near their aims; ``None`` if none was found.

    Alternates between the nearest positive definite matrix and the nearest one that satisfies the relations.
    Source: Higham, Computing the nearest correlation matrix (2002), without its correction, as any solution will do.
    """
    import numpy as np

    wanted = _aim(count, relations)
    exact: dict[tuple[int, int], float] = {}
    for relation in relations:
        for pair, value in relation.exact.items():
            known = 1.0 if pair[0] == pair[1] else exact.setdefault(pair, value)
            if abs(known - value) > _SLACK:
                return None
    _impose(wanted, relations, exact)
    for floor in [floor for floor, rounds in _FLOORS for _ in range(rounds)]:
        values, vectors = np.linalg.eigh(wanted)
        least = float(values[0])
        if least > -_DEFICIT and _holds(wanted, relations):
            return _settle(wanted, least)
        possible = (vectors * np.maximum(values, floor)) @ vectors.T
        wanted = (possible + possible.T) / 2
        _impose(wanted, relations, exact)
    return _refine(wanted, relations, exact) if count <= _MAX_REFINED else None


def _refine(cosines: Matrix, relations: Sequence[_Relation], exact: dict[tuple[int, int], float]) -> Matrix | None:
    """Return a matrix of cosines that satisfies the relations, starting near one; ``None`` if none was found.

    Where only few vectors satisfy the relations, as those of a plane, projections approach them ever more slowly. So
    the vectors themselves are changed, as little as the relations that are missed want.
    Source: Nocedal and Wright, Numerical Optimization (2006), 10.3, the Levenberg-Marquardt method.
    """
    search = _Search(relations, exact)
    whole = search.begin(_factor(cosines, len(cosines)))
    if whole.advance(_MANY_ROUNDS):
        return _normalize(whole.misses.found)
    if whole.misses.largest >= _FAR:
        return None
    # With more dimensions than are necessary it is slow again.
    near, ranks = whole.misses.found, [rank for rank in _RANKS if rank < len(cosines)]
    approaches = [search.begin(_factor(near, rank)) for rank in ranks]
    for rounds, approach in product(_FEW_ROUNDS, approaches):
        if approach.advance(rounds):
            return _normalize(approach.misses.found)
    return None


def _normalize(products: Matrix) -> Matrix:
    """Return the cosines of vectors with these products."""
    import numpy as np

    lengths = np.sqrt(np.diagonal(products))
    return _settle(products / (lengths[:, None] * lengths[None, :]), 0.0)


def _factor(cosines: Matrix, rank: int) -> Matrix:
    """Return vectors of ``rank`` dimensions whose cosines are near the given ones."""
    import numpy as np

    values, vectors = np.linalg.eigh(cosines)
    rows: Matrix = vectors[:, -rank:] * np.sqrt(np.maximum(values[-rank:], 0.0))
    return rows


@fast_dataclass(slots=True, eq=False)
class _Misses:
    """What vectors miss of the relations: their cosines ``found``, and by pair of texts the amount that is missing."""

    found: Matrix
    ones: NDArray[np.int64]
    others: NDArray[np.int64]
    amounts: NDArray[np.float64]

    @property
    def total(self) -> float:
        return float(self.amounts @ self.amounts)

    @property
    def largest(self) -> float:
        return float(abs(self.amounts).max(initial=0.0))

    def correct(self, rows: Matrix, damping: float) -> Matrix:
        """Return the least change of the vectors that adds the amounts, in a linear approximation."""
        import numpy as np

        a, b, found = self.ones, self.others, self.found
        products = sum(
            (one[:, None] == other[None, :]) * found[rest[:, None], last[None, :]]
            for one, other, rest, last in ((a, a, b, b), (a, b, b, a), (b, a, a, b), (b, b, a, a))
        )
        shares = np.linalg.solve(products + damping * np.eye(len(a)), self.amounts)
        change: Matrix = np.zeros_like(rows)
        np.add.at(change, a, shares[:, None] * rows[b])
        np.add.at(change, b, shares[:, None] * rows[a])
        return change


@fast_dataclass(slots=True, eq=False)
class _Search:
    """Search for vectors that satisfy relations."""

    relations: Sequence[_Relation]
    exact: dict[tuple[int, int], float]

    def begin(self, rows: Matrix) -> _Approach:
        return _Approach(self, rows, self.miss(rows))

    def miss(self, rows: Matrix) -> _Misses:
        import numpy as np

        found: Matrix = rows @ rows.T
        wanted = found.copy()
        _impose(wanted, self.relations, self.exact)
        given = np.array([pair for pair in self.exact if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2)
        pairs = np.unique(np.concatenate([given, np.argwhere(np.triu(wanted != found))]), axis=0)
        return _Misses(found, pairs[:, 0], pairs[:, 1], (wanted - found)[pairs[:, 0], pairs[:, 1]])


@fast_dataclass(slots=True, eq=False)
class _Approach:
    """Vectors that approach the relations round by round.

    Fields:
        rows, misses: the vectors, and what they miss.
        rounds: rounds so far.
        is_stuck: further rounds miss hardly less.
    """

    search: _Search
    rows: Matrix
    misses: _Misses
    damping: float = 1e-3
    before: float = float("inf")
    rounds: int = 0
    is_stuck: bool = False

    def advance(self, until: int) -> bool:
        """Change the vectors up to the round ``until``; return whether they miss little enough."""
        while self.rounds < until and not self.is_stuck:
            misses = self.misses
            if misses.largest < _MISSED and _holds(misses.found, self.search.relations):
                return True
            if self.rounds % _CHECKED_ROUNDS == 0:
                self.is_stuck, self.before = misses.total > self.before * _PROGRESS, misses.total
            if not self.is_stuck:
                self._change()
        return False

    def _change(self) -> None:
        changed: Matrix = self.rows + self.misses.correct(self.rows, self.damping)
        again = self.search.miss(changed)
        if again.total < self.misses.total:
            self.rows, self.misses, self.damping = changed, again, self.damping / 4
        else:
            self.damping *= 8
        self.rounds += 1


def _aim(count: int, relations: Sequence[_Relation]) -> Matrix:
    """Return the cosines that are aimed at; between other texts the product along a path, which a tree satisfies."""
    import numpy as np

    aims: Matrix = np.zeros((count, count))
    for relation in relations:
        for pair, value in relation.aims.items():
            aims[pair] = aims[pair[::-1]] = value
    given = aims != 0.0
    reached = aims.copy()
    for middle in range(count):
        path = reached[:, middle, None] * reached[None, middle, :]
        reached = np.where(np.abs(path) > np.abs(reached), path, reached)
    return np.where(given, aims, np.where(np.abs(reached) > _APART, reached, _APART))


def _settle(cosines: Matrix, least: float) -> Matrix:
    """Return the cosines in whole steps, as a matrix that is positive definite also after rounding."""
    import numpy as np

    lift = max(0.0, 1e-5 - least) + len(cosines) * _STEP
    settled: Matrix = np.round(cosines / (1.0 + lift) / _STEP) * _STEP
    np.fill_diagonal(settled, 1.0)
    return settled


def _impose(cosines: Matrix, relations: Sequence[_Relation], exact: dict[tuple[int, int], float]) -> None:
    """Change the cosines by the least that satisfies the relations."""
    import numpy as np

    for relation in relations:
        for pair, (least, most) in relation.bounds.items():
            value = min(max(float(cosines[pair]), least), most)
            cosines[pair] = cosines[pair[::-1]] = value
    for relation in relations:
        if relation.order is not None:
            _impose_order(cosines, relation.order, exact)
    for pair, value in exact.items():
        cosines[pair] = cosines[pair[::-1]] = value
    np.fill_diagonal(cosines, 1.0)  # a pair of one text, too


def _impose_order(cosines: Matrix, order: _Order, exact: dict[tuple[int, int], float]) -> None:
    """Put the cosines of a query's row in order: equal means of those that are not (pool adjacent violators)."""
    row, margin = cosines[order.query], order.margin
    pools: list[list[float]] = []
    for number, rank in enumerate(order.ranks):
        pools.append([float(row[rank]) + number * margin, 1.0])
        while len(pools) > 1 and pools[-2][0] < pools[-1][0]:
            (value, weight), (before, number_before) = pools.pop(), pools.pop()
            total = weight + number_before
            pools.append([(before * number_before + value * weight) / total, total])
    values = [value for value, weight in pools for _ in range(int(weight))]
    fixed = [exact[pair] for other in order.others if (pair := _pair(order.query, other)) in exact]
    lowest = max(fixed, default=-1.0) + margin
    for number, (rank, value) in enumerate(zip(order.ranks, values, strict=True)):
        least = lowest + (len(order.ranks) - 1 - number) * margin
        value = min(max(value - number * margin, least), 0.99 - number * margin)
        cosines[order.query, rank] = cosines[rank, order.query] = exact.get(_pair(order.query, rank), value)
    most = min(float(cosines[order.query, rank]) for rank in order.ranks) - margin
    for other in order.others:
        if row[other] > most:
            cosines[order.query, other] = cosines[other, order.query] = most


def _holds(cosines: Matrix, relations: Sequence[_Relation]) -> bool:
    """Return whether the relations hold; the exact ones were imposed last."""
    for relation in relations:
        for pair, (least, most) in relation.bounds.items():
            if not least - _SLACK <= cosines[pair] <= most + _SLACK:
                return False
        order = relation.order
        if order is not None:
            row, gap = cosines[order.query], order.margin / 2
            steps = [float(row[rank]) for rank in order.ranks]
            if any(after > before - gap for before, after in itertools.pairwise(steps)):
                return False
            if any(row[other] > steps[-1] - gap for other in order.others):
                return False
    return True


def _find_conflict(count: int, relations: Sequence[_Relation]) -> list[_Relation]:
    """Return a smallest set of relations that cannot hold together.

    Source: Junker, QuickXplain: preferred explanations and relaxations for over-constrained problems (2004).
    """

    def explain(kept: list[_Relation], rest: list[_Relation], *, has_changed: bool) -> list[_Relation]:
        if has_changed and _solve(count, kept) is None:
            return []
        if len(rest) == 1:
            return rest
        half = len(rest) // 2
        second = explain(kept + rest[:half], rest[half:], has_changed=True)
        first = explain(kept + second, rest[:half], has_changed=bool(second))
        return first + second

    return explain([], [*relations], has_changed=False)
