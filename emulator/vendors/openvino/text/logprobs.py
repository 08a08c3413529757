"""Log-probabilities as the server writes them: floats promoted to doubles, null where one is above zero."""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack, unpack

from emulator.core.plan import Logprob, PromptTokens
from emulator.dialects.floats import format_float
from emulator.vendors.openvino.decoder import quote


def promote(value: float) -> float:
    """A number the server keeps as a float, read back as a double."""
    (promoted,) = unpack("<f", pack("<f", value))
    return float(promoted)


def format_logprob(value: float) -> bytes:
    """A log-probability; no probability is above 1, so such a value is null."""
    if value > 0:
        return b"null"
    return format_float(promote(value)).encode()


def render_chat_logprobs(entries: Iterable[Logprob]) -> bytes:
    """``logprobs`` of a chat choice; alternatives are never listed."""
    return b'{"content":[%b]}' % b",".join(
        b'{"token":%b,"logprob":%b,"bytes":[%b],"top_logprobs":[]}'
        % (quote(e.token), format_logprob(e.logprob), ",".join(map(str, e.token.encode())).encode())
        for e in entries
    )


def render_completion_logprobs(entries: Iterable[Logprob], prompt: PromptTokens | None) -> bytes:
    """``logprobs`` of a completion; an echoed prompt's come first, and its first token has none.

    Offsets are bytes of the text before a token.
    """
    echoed = list(prompt.logprobs) if prompt is not None else []
    tokens, values, tops, offsets = [], [], [], []
    offset = 0
    for position, entry in enumerate([*echoed, *entries]):
        token = quote(entry.token)
        value = b"null" if echoed and position == 0 else format_logprob(entry.logprob)
        tokens.append(token)
        values.append(value)
        tops.append(b"{%b:%b}" % (token, value))
        offsets.append(b"%d" % offset)
        offset += len(entry.token.encode())
    lists = (b",".join(column) for column in (tokens, values, tops, offsets))
    return b'{"tokens":[%b],"token_logprobs":[%b],"top_logprobs":[%b],"text_offset":[%b]}' % tuple(lists)
