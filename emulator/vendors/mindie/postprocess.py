"""Post-process generated tokens before all routes render them: cut at stop ids, delay tokens, clean texts.

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
from emulator.encoding.sse import encode_string
from emulator.vendors.mindie.decoder import count_units

ENDED = Mark.FINISH | Mark.USAGE  # mark of an event with a finish reason and token counts
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """Conditions that end a choice before the model does.

    Fields:
        texts: stop strings.
        ids: stop token ids.
        keep: the text of a stop token id stays in the response.
    """

    texts: tuple[str, ...] = ()
    ids: frozenset[int] = frozenset()
    keep: bool = False


def cut_at_id(choice: Choice, stops: Stops) -> Choice:
    """Return the choice up to the first stop token id; that token's text is removed unless ``stops.keep``."""
    if not stops.ids:
        return choice
    index = next((i for i, token in enumerate(choice.ids) if token in stops.ids), None)
    if index is None:
        return choice
    last = choice.tokens[index] if stops.keep else ""
    cut = choice.cut(index + 1)
    tokens = Tokens((*cut.tokens[:index], last), cut.ids)
    return replace(cut, sequence=tokens, finish_reason="stop", stopped_by=choice.tokens[index])


def time_tokens(choice: Choice, stops: Stops, tokenizer: Tokenizer) -> Sequence[float]:
    """Return when each token is sent, in seconds; tokens inside a stop string are never sent.

    A token is held back while a stop string may begin in it: for as long as the longest one.
    """
    end = _find_end(choice, tokenizer)
    window = max(map(count_units, stops.texts), default=0)
    if window:
        return _hold_back(choice, end, window)
    return choice.due if end + 1 == len(choice.due) else choice.due[: end + 1]


def _find_end(choice: Choice, tokenizer: Tokenizer) -> int:
    """Return the index of the last token sent: the last, or the one in which a stop string begins."""
    last = len(choice.tokens) - 1
    if choice.stopped_by is None:
        return last
    index = next((i for i in range(last, -1, -1) if choice.tokens[i]), -1)
    whole = index >= 0 and tokenizer.decode(choice.ids[index : index + 1]) == choice.tokens[index]
    return min(last, index + 1) if whole or index < 0 else index


def _hold_back(choice: Choice, end: int, window: int) -> list[float]:
    """Return when each token is sent: once ``window`` code units have followed, or at the end."""
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
    """Remove the control characters that the server does not send."""
    return _NOT_TEXT.sub("", text)


def quote_clean(text: str) -> bytes:
    """Encode cleaned text; only texts that JSON escapes, or with DEL, can need cleaning."""
    quoted = dump_string(text)
    return dump_string(clean(text)) if b"\\" in quoted or b"\x7f" in quoted else quoted


quote_token = lru(1 << 14)(quote_clean)


def quote_so_far(tokens: Iterable[str]) -> Iterator[bytes]:
    """Yield all text up to each token as JSON."""
    text = b""
    for token in tokens:
        text += encode_string(token)[1:-1]
        yield b'"%b"' % text
