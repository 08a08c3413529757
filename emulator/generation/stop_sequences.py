"""Cut generated tokens at the first stop sequence of the request.

``generate.py`` does so for every vendor; a vendor's parser sets ``Sampling.stop``, ``keep_stop`` and
``listed_stop``.
"""

from collections.abc import Sequence


def cut_at_stop(
    tokens: Sequence[str], stop: Sequence[str], *, keep: bool, listed: bool = False
) -> tuple[tuple[str, ...], str | None]:
    """Cut ``tokens`` after the token that completes the first stop string; return them with that string or ``None``.

    A stop string is detected after each token, as a model server does: the string completed by the earliest
    token wins. Of two completed by the same token, the one that begins first wins, or, with ``listed``, the one listed
    first. The tokens up to that one stay (they count as usage), with the stop string and the text after it removed,
    or, with ``keep``, only the text after it.
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

    start, stopped_by = min(hits, key=lambda hit: (completing(hit), 0 if listed else hit[0]))
    last = completing((start, stopped_by))
    end = start + len(stopped_by) if keep else start
    kept = []
    position = 0
    for token in tokens[: last + 1]:
        kept.append(token[: max(0, end - position)])
        position += len(token)
    return tuple(kept), stopped_by
