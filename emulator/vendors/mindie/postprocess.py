"""What every route does to an answer before it words it: where it ends, when its tokens leave, which characters go.

Source: MindIE documentation, "text/stream inference", and MindIE-LLM, ``single_req_infer_interface_base.cpp``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Mark
from emulator.core.json import dump_string
from emulator.core.plan import Choice, Tokens
from emulator.core.vendor import Tokenizer
from emulator.encoding.sse import quote
from emulator.vendors.mindie.decoder import count_units

ENDED = Mark.FINISH | Mark.USAGE  # of an event that says why a choice ends, with its token counts
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """What ends an answer before the model does.

    Fields:
        texts: stop strings.
        ids: of tokens.
        keep: the text of such a token stays.
    """

    texts: tuple[str, ...] = ()
    ids: frozenset[int] = frozenset()
    keep: bool = False


def cut_at_id(choice: Choice, stops: Stops) -> Choice:
    """The answer up to the first token that ends it, whose text goes unless it is kept."""
    if not stops.ids:
        return choice
    index = next((i for i, token in enumerate(choice.ids) if token in stops.ids), None)
    if index is None:
        return choice
    last = choice.tokens[index] if stops.keep else ""
    cut = choice.cut(index + 1)
    said = Tokens((*cut.tokens[:index], last), cut.ids)
    return replace(cut, tokens_said=said, finish_reason="stop", stopped_by=choice.tokens[index])


def time_tokens(choice: Choice, stops: Stops, tokenizer: Tokenizer) -> Sequence[float]:
    """When each token of a stream leaves; those inside a stop string never do.

    A token is held back as long as a stop string may begin in it, so the longest one is the measure.
    """
    end = _find_end(choice, tokenizer)
    window = max(map(count_units, stops.texts), default=0)
    if window:
        return _hold_back(choice, end, window)
    return choice.due if end + 1 == len(choice.due) else choice.due[: end + 1]


def _find_end(choice: Choice, tokenizer: Tokenizer) -> int:
    """Index of the token a stream ends with: the last, or the one in which a stop string begins."""
    last = len(choice.tokens) - 1
    if choice.stopped_by is None:
        return last
    index = next((i for i in range(last, -1, -1) if choice.tokens[i]), -1)
    whole = index >= 0 and tokenizer.decode(choice.ids[index : index + 1]) == choice.tokens[index]
    return min(last, index + 1) if whole or index < 0 else index


def _hold_back(choice: Choice, end: int, window: int) -> list[float]:
    """When each token leaves: once ``window`` code units have followed it, or at the end."""
    lengths = [count_units(token) for token in choice.tokens]
    final = choice.due[-1]
    times = []
    followed = 0
    newest = 0
    for index in range(end):
        newest = max(newest, index)
        while followed < window and newest < len(lengths) - 1:
            newest += 1
            followed += lengths[newest]
        times.append(choice.due[newest] if followed >= window else final)
        if newest > index:
            followed -= lengths[index + 1]
    return [*times, final]


def clean(text: str) -> str:
    """Without the control characters the server does not send."""
    return _NOT_TEXT.sub("", text)


def quote_clean(text: str) -> bytes:
    """Text that the server has cleaned, as JSON; only what JSON escapes, or DEL, can need it."""
    quoted = dump_string(text)
    return dump_string(clean(text)) if b"\\" in quoted or b"\x7f" in quoted else quoted


quote_token = lru(1 << 14)(quote_clean)


def quote_so_far(tokens: Iterable[str]) -> Iterator[bytes]:
    """All text up to each token, as JSON."""
    text = b""
    for token in tokens:
        text += quote(token)[1:-1]
        yield b'"%b"' % text
