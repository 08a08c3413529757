"""Score documents against a query."""

from collections.abc import Sequence

from emulator.core.plan import Plan

DIMENSIONS = 16  # of the vectors that rank documents with equally many words of the query


def score_documents(plan: Plan, query: str, documents: Sequence[str]) -> list[float]:
    """Return a score in 0…1 per document: shared words first, then the similarity of the vectors.

    The last vector is the query's. Only correctly rounded operations: every machine gives the same bits.
    """
    if plan.vectors is None:
        return [0.0] * len(documents)
    rows: list[list[float]] = plan.vectors.tolist()
    words = set(query.lower().split())
    scores = []
    for row, text in zip(rows, documents, strict=False):
        found = words & set(text.lower().split())
        likeness = sum(a * b for a, b in zip(rows[-1], row, strict=True))
        weight = 8.0 * (len(found) / len(words) if words else 0.0) + 2.0 * likeness - 3.0
        scores.append(0.5 + 0.5 * weight / (1.0 + abs(weight)))
    return scores
