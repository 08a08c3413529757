"""Render streams whose events differ in one text, from a byte template and many events at once.

The chat streams of all vendors are rendered so. Each event is ``before``, the text of its token as JSON, and ``after``,
in an HTTP chunk of its own. Without delays a batch of events is joined in one pass and written at once; of texts that
repeat, as those of cached content do, the pieces are cached.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, repeat
from operator import add

from emulator.core.cache import BoundedCache, Cache, lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Batch, BatchedEvents, Event, Mark
from emulator.core.json import dump_json
from emulator.core.plan import Choice
from emulator.encoding.obfuscation import cut_padding, list_ends
from emulator.encoding.template import SAMPLE_TOKENS, Template

MAX_BATCH = 512  # events of a batch: a larger one would delay other connections
_MAX_NUMBERS = 16_384  # cached numbers per template
_MAX_LAYOUTS = 64  # cached batches
_END = b"\r\n"  # end of a chunk
_JOINED = int(Mark.JOINED)  # `Mark.JOINED in mark` takes ten times as long


class _Numbers:
    """Cached numbers, each followed by the same bytes, up to :data:`_MAX_NUMBERS`."""

    def __init__(self, behind: bytes) -> None:
        self._template = b"%d" + behind.replace(b"%", b"%%")
        self._texts: list[bytes] = []

    def take(self, start: int, end: int) -> list[bytes]:
        """Return the numbered texts from ``start`` to before ``end``."""
        texts = self._texts
        if end > _MAX_NUMBERS:
            return [self._template % number for number in range(start, end)]
        texts += [self._template % number for number in range(len(texts), end)]
        return texts[start:end]


_numbers_for = lru(64)(_Numbers)


Tails = tuple[Sequence[bytes], Sequence[int]]
"""Bytes behind each event's text up to the end of its chunk, and their lengths."""


class NumberedTails:
    """:data:`Tails` of the events of a batch, which differ by their token numbers. Those built once are kept.

    Args:
        after: parts of the bytes behind a text, joined by token numbers.
        offsets: between two parts, the number counts from ``start`` plus the offset of this place.
    """

    def __init__(self, after: tuple[bytes, ...], offsets: tuple[int, ...], start: int) -> None:
        self._first, *parts = after
        parts[-1] += _END
        self._parts = [(_numbers_for(part), start + offset) for part, offset in zip(parts, offsets, strict=True)]
        self._texts: list[bytes] = []
        self._sizes: list[int] = []

    def take(self, count: int) -> Tails:
        """Return the tails of the first events."""
        known = len(self._texts)
        if known < count:
            texts: Iterable[bytes] = repeat(self._first, count - known)
            for numbers, offset in self._parts:
                texts = map(add, texts, numbers.take(offset + known, offset + count))
            self._texts += texts
            self._sizes += map(len, self._texts[known:])
        return self._texts[:count], self._sizes[:count]


_tails_for = lru(64)(NumberedTails)


Rendered = tuple[bytes, Sequence[bytes], int]
"""HTTP chunks of events: ``(joint, pieces, size)``, the first three of a :data:`~emulator.core.http.Batch`."""


def render_chunks(
    before: bytes,
    texts: Sequence[bytes],
    start: int,
    end: int,
    after: bytes | NumberedTails,
    head: bytes = b"",
    tail: bytes = b"",
) -> Rendered:
    """Render an event for each text from ``start`` to before ``end``.

    ``head`` is in front of the chunks, ``tail`` behind them; the size does not count them.
    Texts that come a second time are laid out once and cached. The longer of the two templates joins the cached pieces:
    its content differs between responses, its size does not.
    """
    if isinstance(after, NumberedTails) or len(before) > len(after):
        key: _LayoutKey = (id(texts), start, end, len(before), after)
        joint = before
    else:
        key = (id(texts), start, end, before, len(after))
        joint = after + _END
    layout = _layouts.get(key)
    if layout is not None and layout.pieces:
        return joint, layout.surround(head, tail), layout.size
    tails = after.take(end - start) if isinstance(after, NumberedTails) else after
    pieces, size = _lay_out(before, texts[start:end], tails)
    if layout is not None:
        layout.pieces, layout.size = _join_pieces(pieces, is_before=joint is before), size
    elif pieces:
        _remember(key, texts)
    return b"", [head, *pieces, tail], size


def _render_padded(
    before: bytes,
    texts: Sequence[bytes],
    plain: Sequence[str],
    start: int,
    end: int,
    joint: bytes,
    head: bytes,
    tail: bytes,
) -> Rendered:
    """Render events that end with padding by the size of their plain text, as :func:`render_chunks` does.

    ``joint`` is between text and padding; it alone differs between responses.
    """
    key: _LayoutKey = (id(texts), start, end, before, -len(joint))  # negative: no key of events without padding
    layout = _layouts.get(key)
    if layout is not None and layout.pieces:
        return joint, layout.surround(head, tail), layout.size
    ends = list_ends(plain[start:end])
    tails = [joint + padding + _END for padding in ends]
    pieces, size = _lay_out(before, texts[start:end], (tails, [*map(len, tails)]))
    if layout is not None:
        heads = map(b"".join, zip(pieces[::4], pieces[1::4], pieces[2::4], strict=True))
        layout.pieces = [*map(add, [b"", *[padding + _END for padding in ends]], [*heads, b""])]
        layout.size = size
    elif pieces:
        _remember(key, texts)
    return b"", [head, *pieces, tail], size


def _remember(key: "_LayoutKey", texts: Sequence[bytes]) -> None:
    """Remember that texts were laid out once."""
    if len(_layouts) >= _MAX_LAYOUTS:
        del _layouts[next(iter(_layouts))]
    _layouts[key] = _Layout(texts)


@fast_dataclass(slots=True, eq=False)
class _Layout:
    """Cached layout of texts: the pieces between the joint, filled when the texts come a second time.

    Fields:
        texts: held so that their ``id`` is not reused.
    """

    texts: Sequence[bytes]
    pieces: Sequence[bytes] = ()
    size: int = 0

    def surround(self, head: bytes, tail: bytes) -> list[bytes]:
        """Return the pieces with ``head`` in front of the first and ``tail`` behind the last."""
        pieces = [*self.pieces]
        pieces[0] = head + pieces[0]
        pieces[-1] += tail
        return pieces


_LayoutKey = tuple[int, int, int, bytes | int, bytes | NumberedTails | int]
_layouts: Cache[_LayoutKey, _Layout] = Cache()


def _lay_out(before: bytes, texts: Sequence[bytes], after: bytes | Tails) -> tuple[list[bytes], int]:
    """Return four pieces for each chunk (its opening, ``before``, the text, ``after``) and the size of the events."""
    count, fixed = len(texts), len(before)
    sizes: Iterable[int] = map(len, texts)
    if isinstance(after, tuple):
        pieces = [b"", before, b"", b""] * count
        pieces[3::4] = after[0]
        sizes = map(add, sizes, after[1])
        fixed -= len(_END)
    else:
        pieces = [b"", before, b"", after + _END] * count
        fixed += len(after)
    pieces[2::4] = texts
    sizes = [*sizes]
    pieces[::4] = map(_open_after(fixed).__getitem__, sizes)
    return pieces, sum(sizes) + count * fixed


def _join_pieces(pieces: Sequence[bytes], *, is_before: bool) -> list[bytes]:
    """Join the pieces of each chunk, leaving out ``before`` or else ``after``, which will join the result."""
    if is_before:
        return [pieces[0], *map(b"".join, zip(pieces[2::4], pieces[3::4], [*pieces[4::4], b""], strict=True))]
    return [*map(b"".join, zip(pieces[::4], pieces[1::4], pieces[2::4], strict=True)), b""]


def join_batches(
    opening: Iterable[Event],
    render_some: Callable[[int, int, bytes, bytes], Rendered],
    total: int,
    ending: Iterable[Event],
    head: bytes,
    tail: bytes,
) -> Iterator[Batch]:
    """Yield all events of a stream in batches; ``opening`` joins the first batch, ``ending`` the last.

    ``render_some`` takes the range of a batch and the bytes in front of it and behind it.
    """
    chunks, size, count = encode_chunks(opening)
    front, start = head + chunks, 0
    for end in range(MAX_BATCH, total, MAX_BATCH):
        joint, pieces, more = render_some(start, end, front, b"")
        yield joint, pieces, size + more, count + MAX_BATCH
        front, start, size, count = b"", end, 0, 0
    chunks, closing, closed = encode_chunks(ending)
    joint, pieces, more = render_some(start, total, front, chunks + tail)
    yield joint, pieces, size + more + closing, count + total - start + closed


def encode_chunks(events: Iterable[Event]) -> tuple[bytes, int, int]:
    """Return events as HTTP chunks, their size and their number; a ``JOINED`` event shares the next one's chunk."""
    chunks = held = b""
    size = count = 0
    for _, data, _, mark in events:
        count += 1
        size += len(data)
        if int(mark) & _JOINED:
            held += data
            continue
        if held:
            data, held = held + data, b""
        chunks += b"%x\r\n%b\r\n" % (len(data), data)
    return chunks, size, count


class _Openings(BoundedCache[int, bytes]):
    """Cache of chunk openings by the size of the text, for a fixed size of the rest; cleared when full."""

    max_entries = 4096

    def __init__(self, fixed: int) -> None:
        super().__init__()
        self._fixed = fixed

    def __missing__(self, size: int) -> bytes:
        return self.keep(size, b"%x\r\n" % (self._fixed + size))


_open_after = lru(64)(_Openings)


_SILENCE = b'""'
_MAX_KNOWN = 4 * MAX_BATCH  # tokens of a text that is held; rendering a longer one takes long anyway
_whole: Cache[int, Sequence[bytes]] = Cache()  # texts found to have no empty one; held so that their id is not reused


def _are_texts(texts: Sequence[bytes]) -> bool:
    """Return whether no text is empty; cached for texts that repeat, as the search takes as long as rendering them."""
    if _whole.get(id(texts)) is texts:
        return True
    if _SILENCE in texts:
        return False
    if len(texts) > _MAX_KNOWN:
        return True
    if len(_whole) >= _MAX_LAYOUTS:
        del _whole[next(iter(_whole))]
    _whole[id(texts)] = texts
    return True


@fast_dataclass(frozen=True, slots=True, eq=False)
class TemplateStream(BatchedEvents):
    """Stream of opening events, one event a token, and closing events.

    Fields:
        tokens: the texts as JSON strings; those beyond the last of ``due`` have no event of their own.
        before: bytes in front of the text.
        after: bytes after the text, in parts; the number of the token plus an offset separates the parts.
        offsets: one fewer than ``after`` has parts.
        ending: at least one event; no other event is due later than the last.
        silent: a token without text has an event, too.
        padded: texts of the tokens, if each event ends with padding by the size of its text.
    """

    opening: Sequence[Event]
    tokens: Sequence[bytes]
    due: Sequence[float]
    before: bytes
    after: tuple[bytes, ...]
    ending: Sequence[Event]
    offsets: tuple[int, ...] = ()
    silent: bool = False
    padded: Sequence[str] = ()

    def __iter__(self) -> Iterator[Event]:
        yield from self.opening
        if self.padded:
            yield from self._iterate_padded()
            yield from self.ending
            return
        # Escape % in the parts for the template.
        head, *tail = [part.replace(b"%", b"%%") for part in (self.before, *self.after)]
        template = head + b"%b" + b"%d".join(tail)
        rows = zip(self.tokens, *[count(1 + offset) for offset in self.offsets], strict=False)
        for due, row, number in zip(self.due, rows, count(1), strict=False):
            if self.silent or row[0] != _SILENCE:
                yield due, template % row, number, Mark.PLAIN
        yield from self.ending

    def batches(self, head: bytes = b"", tail: bytes = b"") -> Iterator[Batch] | None:
        if self.ending[-1][0] > 0.0 or not (self.silent or _are_texts(self.tokens)):
            return None
        return join_batches(self.opening, self._render, len(self.due), self.ending, head, tail)

    def _iterate_padded(self) -> Iterator[Event]:
        before, joint, ends = self.before, cut_padding(self.after[0]), list_ends(self.padded)
        for due, token, end, number in zip(self.due, self.tokens, ends, count(1), strict=False):
            if token != _SILENCE:
                yield due, b"".join((before, token, joint, end)), number, Mark.PLAIN

    def _render(self, start: int, end: int, head: bytes, tail: bytes) -> Rendered:
        before, tokens = self.before, self.tokens
        if self.padded:
            joint = cut_padding(self.after[0])
            return _render_padded(before, tokens, self.padded, start, end, joint, head, tail)
        after = _tails_for(self.after, self.offsets, start + 1) if self.offsets else self.after[0]
        return render_chunks(before, tokens, start, end, after, head, tail)


_NUMBER = b"\1"  # JSON has no control characters
_BETWEEN = b"\0"


class StreamTemplate:
    """Events of a text with slots for its tokens and for the values that vary.

    Args:
        events: events of a stream of :data:`~emulator.encoding.template.SAMPLE`: opening ones, one a token, one with
            the finish reason, perhaps one with token counts, and ``[DONE]``. The last token's may be that of the
            finish reason.
        values: the argument of :class:`~emulator.encoding.template.Template`.
        numbers: bytes behind the first token's text that end with the token's number, or with that and an offset.
    """

    __slots__ = ("_done", "_finish", "_has_last_text", "_opening", "_template")

    def __init__(
        self, events: Iterable[Event], values: Sequence[int | bytes], numbers: Sequence[tuple[bytes, int]] = ()
    ) -> None:
        *rows, (_, self._done, _, _) = events
        first = dump_json(SAMPLE_TOKENS[0])
        texts = [data for _, data, _, _ in rows]
        self._opening = at = next(index for index, text in enumerate(texts) if first in text)
        self._has_last_text = rows[at + 1][3] is not Mark.PLAIN
        if not self._has_last_text:
            del rows[at + 1], texts[at + 1]
        self._finish = rows[at + 1][3]
        texts[at] = texts[at].replace(first, _BETWEEN)
        for before, number in numbers:
            texts[at] = texts[at].replace(b"%b%d" % (before, number), before + _NUMBER)
        self._template = Template(_BETWEEN.join(texts), values)

    def fill(
        self,
        choice: Choice,
        values: Sequence[int | bytes],
        *,
        default_due: float = 0.0,
        offsets: tuple[int, ...] = (),
        silent: bool = False,
        padded: bool = False,
    ) -> TemplateStream:
        """Return the stream of a choice; ``default_due`` is when one without tokens is due."""
        tokens, due, total, at = choice.sequence.quoted, choice.due, choice.count, self._opening
        begin, end = (due[0], due[-1]) if total else (default_due, default_due)
        if self._has_last_text:
            due = due[:-1]
        texts = self._template.fill(values).split(_BETWEEN)
        after, finish, done = texts[at + 1], (end, texts[at + 2], total, self._finish), (end, self._done, 0, Mark.DONE)
        return TemplateStream(
            opening=[(begin, text, 0, Mark.PLAIN) for text in texts[:at]] if at else (),
            tokens=tokens,
            due=due,
            before=texts[at],
            after=tuple(after.split(_NUMBER)) if offsets else (after,),
            ending=(finish, done) if len(texts) == at + 3 else (finish, (end, texts[-1], 0, Mark.USAGE), done),
            offsets=offsets,
            silent=silent,
            padded=choice.tokens if padded else (),
        )
