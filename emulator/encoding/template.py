"""Byte templates: a response that the vendor's renderer built once from sample values, cut where these values stand.

Filling in other values costs a fraction of building and encoding each response, and the two cannot differ. Vendors use
it for responses of plain text; ``template_stream.py`` does the same for streams.
"""

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import cast

from emulator.core.json import dump_json
from emulator.core.plan import Choice, FinishReason, Plan, Segment, Tokens, Usage

# Values of a sample; none is part of another one, or of a response for any other reason.
SAMPLE_TOKENS = ("sample-one-c41a", "sample-two-c41a")
SAMPLE_TEXT = "".join(SAMPLE_TOKENS)
SAMPLE_NAME = "sample-name-c41a"
SAMPLE = Plan(
    key=bytes(range(16)),
    created=4_711_000_000_000_001,
    choices=(
        Choice(
            sequence=Tokens(SAMPLE_TOKENS, (0, 1)),
            due=(1.0, 2.0),
            finish_reason=cast("FinishReason", "sample-finish-c41a"),
            segments=(Segment("text", 0, 2),),
        ),
    ),
    usage=Usage(
        prompt_tokens=4_711_000_000_000_020,
        completion_tokens=4_711_000_000_000_300,
        reasoning_tokens=4_711_000_000_004_000,
        cached_tokens=4_711_000_000_050_000,
    ),
)
"""Plan of one text in two tokens, from which samples are made."""


class Template:
    """Bytes with slots for the values that vary.

    Args:
        sample: text that :meth:`fill` returns for ``values``.
        values: a number is written as an integer; bytes are JSON or a part of it, and have no slot if empty. A value
            has a slot wherever the sample has it.
    """

    __slots__ = ("_format", "_pick")

    def __init__(self, sample: bytes, values: Sequence[int | bytes]) -> None:
        texts = [value if isinstance(value, bytes) else b"%d" % value for value in values]
        slots = {text: number for number, text in enumerate(texts) if text}
        text, *parts = re.split(b"(%b)" % b"|".join(map(re.escape, slots)), sample)
        order = [slots[value] for value in parts[::2]]
        formats = [b"%b" if isinstance(values[number], bytes) else b"%d" for number in order]
        parts[::2] = formats
        parts[1::2] = [part.replace(b"%", b"%%") for part in parts[1::2]]
        self._format = text.replace(b"%", b"%%") + b"".join(parts)
        self._pick: Callable[[Sequence[int | bytes]], object] = itemgetter(*order)

    def fill(self, values: Sequence[int | bytes]) -> bytes:
        """Return the sample with other values."""
        return self._format % self._pick(values)


def split_chunk(sample: bytes) -> tuple[bytes, bytes]:
    """Return a chunk in front of and behind its text, which is :data:`SAMPLE_TEXT`."""
    before, after = sample.split(dump_json(SAMPLE_TEXT))
    return before, after
