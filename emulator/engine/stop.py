"""Where a stop string ends an answer."""

from collections.abc import Sequence


def cut_at_stop(tokens: Sequence[str], stop: Sequence[str], *, keep: bool) -> tuple[tuple[str, ...], str | None]:
    """End ``tokens`` with the one that completes the first stop string, and name the string.

    As a model that looks at its text after every token does: the string completed by the earliest
    token wins, and of two completed by the same token the one listed first. The tokens generated up to there
    stay (they were paid for), with the stop string and what follows it taken out of their text,
    or, with ``keep``, only what follows it.
    """
    text = "".join(tokens)
    found = [(text.find(s), s) for s in stop if s]
    hits = [(start, s) for start, s in found if start >= 0]
    if not hits:
        return tuple(tokens), None
    lengths = []
    total = 0
    for token in tokens:
        total += len(token)
        lengths.append(total)

    def completing(hit: tuple[int, str]) -> int:
        end = hit[0] + len(hit[1])
        return next(i for i, length in enumerate(lengths) if length >= end)

    start, stopped_by = min(hits, key=completing)
    last = completing((start, stopped_by))
    end = start + len(stopped_by) if keep else start
    kept = []
    position = 0
    for token in tokens[: last + 1]:
        kept.append(token[: max(0, end - position)])
        position += len(token)
    return tuple(kept), stopped_by
