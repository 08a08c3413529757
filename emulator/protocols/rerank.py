"""Score documents against a query, for the rerank routes of Azure and OpenVINO."""

from collections.abc import Sequence

from emulator.core.plan import Plan
from emulator.core.requests import Deployment

_DIMENSIONS = 16  # of the vectors that rank documents with equally many words of the query


def count_dimensions(deployment: Deployment) -> int:
    """Return the length of the vectors that rank documents."""
    return _DIMENSIONS if deployment.geometry is None else deployment.dimensions


def score_documents(plan: Plan, query: str, documents: Sequence[str], *, by_words: bool = True) -> list[float]:
    """Return a score in 0…1 per document: shared words first, then the similarity of the vectors.

    Unless ``by_words``, the vectors alone count, so that the order is that of their cosines to the query. The last
    vector is the query's. Only correctly rounded operations: every machine gives the same bits.
    """
    if plan.vectors is None:
        return [0.0] * len(documents)
    rows: list[list[float]] = plan.vectors.tolist()
    words = set(query.lower().split()) if by_words else set()
    scores = []
    for row, text in zip(rows, documents, strict=False):
        found = words & set(text.lower().split())
        likeness = sum(a * b for a, b in zip(rows[-1], row, strict=True))
        shared = 8.0 * (len(found) / len(words) if words else 0.0) if by_words else 8.0 * likeness
        weight = shared + 2.0 * likeness - 3.0
        scores.append(0.5 + 0.5 * weight / (1.0 + abs(weight)))
    return scores
