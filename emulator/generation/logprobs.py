"""Generate the log-probabilities of generated tokens and of their alternatives.

``generate.py`` calls it for requests with ``logprobs``.
"""

from collections.abc import Iterator, Sequence
from hashlib import shake_128
from itertools import chain
from math import floor, log
from struct import iter_unpack

from emulator.core.plan import Logprob

_COMMON = """
    the a of and to in is that for it with as was on are be by this an or at from not have which can has but all we
    you they one will more if about also into when some there only its other new each how these their our what most
    such over like many so no use first
"""
_WORDS = tuple(f" {word}" for word in _COMMON.split())
_PIECES = (
    ",", ".", "s", "ing", "ed", "er", "ly", "-", "'s", "al", "ion", ":", "es", "The", "In", "A", "\n", "\n\n", "It",
    "This", "I", "re", "en", "or", "an", "1", "2", "0", ")", "?", "!", ";", "\"", "ment", "ness", "able", "ity", "To",
    "For", "As", "We", "You", "and", "the", "of", "ers", "ous", "ive", "ation", "3", "5", "/", "(", "ful", "est", "ish",
    "ize", "un", "in", "is", "...",
)  # fmt: skip


def token_logprobs(tokens: Sequence[str], key: bytes, top: int = 0, greedy: bool = False) -> tuple[Logprob, ...]:
    """Return one :class:`Logprob` per token, drawn from the key and the token's position.

    The value of a token does not depend on ``top``, nor on the tokens that follow. Values are at most
    0, have six decimals, and the probabilities of a token and its alternatives sum to at most 1.

    Args:
        top: number of alternatives per token, itself included; at most 122.
        greedy: the sampled token is always the most probable; otherwise it is sometimes the second.
    """
    draws = iter_unpack("<IHH", shake_128(key).digest(8 * len(tokens)))
    return tuple(
        _build_logprob(tokens, position, top, *_spread(confidence, chance, greedy), choice)
        for position, (confidence, chance, choice) in enumerate(draws)
    )


def _spread(confidence: int, chance: int, greedy: bool) -> tuple[float, bool]:
    """Return the probability left after the best token (at most 0.65), and whether the second best was sampled."""
    left = 1e-7 + 0.6499 * (confidence * 2.0**-32) ** 3
    return left, not greedy and chance * 2.0**-16 >= 1.0 - left


def _build_logprob(tokens: Sequence[str], position: int, top: int, left: float, second: bool, choice: int) -> Logprob:
    token = tokens[position]
    best = _floor(1.0 - left)
    value = _floor(_share(left, choice, 1)) if second else best
    if top < 1:
        return Logprob(token, value)
    if top == 1:
        return Logprob(token, value, ((token, value),))
    others = _list_alternatives(tokens, position, choice, top - 1)
    texts = (others[0], token, *others[1:]) if second else (token, *others)
    values = (best, *(_floor(_share(left, choice, rank)) for rank in range(1, len(texts))))
    return Logprob(token, value, tuple(zip(texts, values, strict=True)))


def _share(left: float, choice: int, rank: int) -> float:
    """Return the probability of the alternative at ``rank``: half of the remainder, less up to a quarter."""
    return left * 0.5**rank * (1.0 - (choice * (2 * rank + 1) & 255) / 1024)


def _floor(probability: float) -> float:
    """Return the logarithm rounded down to six decimals, which is equal with every libm and keeps sums at most 1."""
    return floor(log(probability) * 1e6) / 1e6


def _list_alternatives(tokens: Sequence[str], position: int, choice: int, count: int) -> list[str]:
    """Return distinct alternatives to a token, from earlier tokens and common ones."""
    token = tokens[position]
    earlier = tokens[position - 1 - choice % min(position, 16)] if position else ""
    pools = (_WORDS, _PIECES) if token.startswith(" ") else (_PIECES, _WORDS)
    seen = {token, ""}
    chosen: list[str] = []
    for text in chain((earlier,), _stroll(pools[0], choice), _stroll(pools[1], choice)):
        if text in seen:
            continue
        seen.add(text)
        chosen.append(text)
        if len(chosen) == count:
            break
    return chosen


def _stroll(pool: Sequence[str], choice: int) -> Iterator[str]:
    """Yield every text of ``pool`` once, in an order given by ``choice``; the pool's length is prime."""
    start, step = choice // 60, choice % 60 + 1
    return (pool[(start + step * index) % len(pool)] for index in range(len(pool)))
