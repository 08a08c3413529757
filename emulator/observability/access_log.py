"""Set up logging, and write the access log: one line per request on standard error, as text or JSON.

The server adds each journal entry to it.
"""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from textwrap import wrap
from typing import NamedTuple, TextIO

from emulator.core.text import escape, escape_json, wants_colour
from emulator.core.units import write_date
from emulator.journal.entry import JournalEntry, JournalItem, describe_nearest

_FLUSH_AFTER = 0.1  # seconds a line may wait, so that one write serves many requests
_WIDTH = 120  # columns
_INDENT = " " * 14  # under the first word after the time
_GAP = "  "
_MAX_PATH = 48  # characters
_OTHERS = ("aiohttp", "asyncio")  # libraries that log in the same format, errors only
_DIM, _GREEN, _YELLOW, _RED = "2", "32", "33", "31"


def configure_logging(level: str, form: str, stream: TextIO = sys.stderr) -> bool:
    """Set up the ``emulator`` logger; return true if lines are JSON."""
    as_json = writes_json(form, stream)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter() if as_json else _TextFormatter("%(levelname)s %(message)s"))
    for name in ("emulator", *_OTHERS):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.ERROR if name in _OTHERS else level.upper())
        logger.propagate = False
    return as_json


def writes_json(form: str, stream: TextIO) -> bool:
    """Return whether lines are JSON; ``auto`` means text on a terminal, else JSON."""
    return form == "json" or (form == "auto" and not stream.isatty())


def write_row(message: str, fields: Mapping[str, object]) -> str:
    """Format a log line of JSON with the current time, a message and more fields."""
    return _dump({"time": _stamp(time.time()), "level": "info", "message": message, **fields})


class _TextFormatter(logging.Formatter):
    """Formatter that indents and escapes all lines of a message but the first, so that a client cannot forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n  ".join(map(escape, super().format(record).split("\n")))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        row = {"time": _stamp(record.created), "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return _dump(row)


def _dump(row: Mapping[str, object]) -> str:
    return escape_json(json.dumps(row, ensure_ascii=False))


def _stamp(seconds: float) -> str:
    return write_date(seconds)


class AccessLog:
    """Collects one line per journal entry and writes them in batches.

    Args:
        colour: colour the text; ``None``: see :func:`wants_colour`.
        folds: wrap a line at 120 columns; ``None``: on a terminal. Elsewhere a request is one line, for ``grep``.
        now: wall-clock time, which stamps each line when its response ends, under every clock of a scenario.
    """

    def __init__(
        self,
        *,
        as_json: bool,
        stream: TextIO = sys.stderr,
        colour: bool | None = None,
        folds: bool | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        coloured = wants_colour(stream) if colour is None else colour
        folded = stream.isatty() if folds is None else folds

        def as_text(at: float, entry: JournalEntry, nearest: str) -> str:
            return (_fold if folded else _as_line)(at, entry, nearest, coloured=coloured)

        self._form: Callable[[float, JournalEntry, str], str] = _as_json if as_json else as_text
        self._stream = stream
        self._now = now
        self._lines: list[tuple[float, JournalItem]] = []

    def __call__(self, call: JournalItem) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_later(_FLUSH_AFTER, self.flush)
        self._lines.append((self._now(), call))

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            explained: set[tuple[str | None, ...]] = set()
            written = (self._form(at, call.without_payload(), _find_nearest(call, explained)) for at, call in lines)
            self._stream.write("".join(f"{line}\n" for line in written))
            self._stream.flush()


def _find_nearest(call: JournalItem, explained: set[tuple[str | None, ...]]) -> str:
    """Describe the rule closest to an unmatched request; empty if one matched.

    Matching again is slow, so requests of equal vendor, deployment and path are explained once per flush.
    """
    entry = call.without_payload()
    alike = (entry.vendor, entry.deployment, entry.path)
    if entry.rule is not None or entry.deployment is None or alike in explained:
        return ""
    if entry.evidence is None or entry.evidence.match is None:
        return ""
    explained.add(alike)
    return describe_nearest(call.load().explain(), loggable=True)


class _Part(NamedTuple):
    """Words that stay together on a line, and their ANSI style."""

    text: str
    style: str = ""


def _as_line(at: float, entry: JournalEntry, nearest: str, *, coloured: bool) -> str:
    """Format an entry as one line."""
    style = _colour_of_sentence(entry)
    parts = [*_parts(at, entry), *(_Part(escape(sentence), style) for sentence in _sentences(entry, nearest))]
    return _GAP.join(_paint(part, coloured) for part in parts)


def _sentences(entry: JournalEntry, nearest: str) -> Iterator[str]:
    """Yield the sentences that explain the outcome of a request."""
    yield from filter(None, (entry.hint, nearest and f"no rule matched. {nearest}"))


def _fold(at: float, entry: JournalEntry, nearest: str, *, coloured: bool) -> str:
    """Format an entry in lines of up to 120 columns, explanations on lines below."""
    lines: list[list[_Part]] = [[]]
    left = _WIDTH
    for part in _parts(at, entry):
        if len(part.text) + len(_GAP) > left:
            lines.append([])
            left = _WIDTH - len(_INDENT)
        lines[-1].append(part)
        left -= len(part.text) + len(_GAP)
    written = [_GAP.join(_paint(part, coloured) for part in line) for line in lines]
    for sentence in _sentences(entry, nearest):
        written += [_paint(_Part(line, _colour_of_sentence(entry)), coloured) for line in _wrap(sentence)]
    return f"\n{_INDENT}".join(written)


def _wrap(sentence: str) -> list[str]:
    """Wrap a sentence, but not at hyphens: names of headers and paths stay whole to be copied."""
    return wrap(escape(sentence), _WIDTH - len(_INDENT), break_on_hyphens=False)


def _parts(at: float, entry: JournalEntry) -> Iterator[_Part]:
    yield _Part(_stamp(at)[11:-1], _DIM)
    yield from _parts_of_request(entry)
    yield from _parts_of_answer(entry)


def _parts_of_request(entry: JournalEntry) -> Iterator[_Part]:
    yield _Part(str(entry.status), _colour_of(entry.status))
    yield _Part(_cut(entry.method, 16))
    yield _Part(_cut(entry.path, _MAX_PATH))
    yield _Part(f"{entry.vendor or 'front'} {_cut(entry.deployment or '-', 40)}")
    yield _Part(_cut(entry.principal or "-", 40))
    if entry.session:
        yield _Part(f"session {entry.session}")
    if entry.stream:
        yield _Part("stream")


def _parts_of_answer(entry: JournalEntry) -> Iterator[_Part]:
    if entry.deployment is not None:
        yield _Part(f"{entry.prompt_tokens}+{entry.completion_tokens} tokens")
    if entry.ttft is not None:
        yield _Part(f"ttft {entry.ttft * 1000:.1f} ms", _DIM)
    yield _Part(f"{entry.duration * 1000:.1f} ms", _DIM)
    if entry.rule is not None:
        yield _Part(f"rule {_cut(repr(entry.rule), 80)}")
    if entry.faults:
        yield _Part(_cut(f"faults {', '.join(entry.faults)}", 80), _YELLOW)
    if entry.error:
        yield _Part(_cut(entry.error, 40), _RED)
    if entry.client_left:
        yield _Part("client left", _YELLOW)


def _colour_of(status: int) -> str:
    if status >= 500 or not status:
        return _RED
    return _YELLOW if status >= 400 else _GREEN


def _colour_of_sentence(entry: JournalEntry) -> str:
    """Return the style of an explanation: quiet for a call that was answered normally."""
    is_failure = entry.error or entry.faults or entry.status >= 400
    return _YELLOW if is_failure else _DIM


def _paint(part: _Part, coloured: bool) -> str:
    return f"\x1b[{part.style}m{part.text}\x1b[0m" if coloured and part.style else part.text


def _cut(text: str, most: int) -> str:
    """Shorten to ``most`` characters by removing the middle."""
    text = escape(text)
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def _as_json(at: float, entry: JournalEntry, nearest: str) -> str:
    row = {
        "time": _stamp(at),
        "method": entry.method,
        "path": entry.path,
        "status": entry.status,
        "vendor": entry.vendor,
        "deployment": entry.deployment,
        "session": entry.session,
        "principal": entry.principal,
        "stream": entry.stream,
        "rule": entry.rule,
        "faults": entry.faults,
        "error": entry.error,
        "prompt_tokens": entry.prompt_tokens,
        "completion_tokens": entry.completion_tokens,
        "ttft": None if entry.ttft is None else round(entry.ttft, 6),
        "duration": round(entry.duration, 6),
        "client_left": entry.client_left,
        "request_id": entry.id,
    }
    row |= dict(_explanations(entry, nearest))
    return _dump(row)


def _explanations(entry: JournalEntry, nearest: str) -> Iterable[tuple[str, str]]:
    if entry.hint:
        yield "hint", entry.hint
    if nearest:
        yield "nearest_rule", nearest
