"""The usual stream: one text, token by token, each in an event from the same template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from emulator.core.record import record
from emulator.core.wire import Batch, Event, Foretold, Mark
from emulator.dialects.batch import count_on, join, weave

_SILENCE = b'""'


@record(frozen=True, slots=True, eq=False)
class PlainStream(Foretold):
    """Whole events, one event a token, and whole events.

    Fields:
        tokens: their texts as JSON; ``due``: as many.
        before: what stands in front of the text.
        after: what follows it, in parts: between each two of them stands the number of the token and what is added.
        offsets: what is added, one fewer than ``after`` has parts.
        ending: never none; nothing is due later than its last.
        silent: a token without text has an event, too.
    """

    opening: Sequence[Event]
    tokens: Sequence[bytes]
    due: Sequence[float]
    before: bytes
    after: tuple[bytes, ...]
    ending: Sequence[Event]
    offsets: tuple[int, ...] = ()
    silent: bool = False

    def __iter__(self) -> Iterator[Event]:
        yield from self.opening
        # Every % of the parts stands for itself.
        head, *tail = [part.replace(b"%", b"%%") for part in (self.before, *self.after)]
        template = head + b"%b" + b"%d".join(tail)
        rows = zip(self.tokens, *[count(1 + offset) for offset in self.offsets], strict=False)
        for due, row, number in zip(self.due, rows, count(1), strict=False):
            if self.silent or row[0] != _SILENCE:
                yield due, template % row, number, Mark.PLAIN
        yield from self.ending

    def batches(self) -> Iterator[Batch] | None:
        if self.ending[-1][0] > 0.0 or not (self.silent or _SILENCE not in self.tokens):
            return None
        return join(self.opening, self._weave, len(self.tokens), self.ending)

    def _weave(self, start: int, end: int) -> tuple[bytes, int]:
        after = count_on(self.after, self.offsets, start + 1, end + 1) if self.offsets else self.after[0]
        return weave(self.before, self.tokens, start, end, after)
