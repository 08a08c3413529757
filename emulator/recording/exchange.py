"""Exchange, a recorded request with its response, the time of every write and how it ended; and its text file."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from errno import ENOENT
from os import strerror
from pathlib import Path
from typing import Literal, get_args

from emulator.core.cache import Cache
from emulator.core.http import Headers

SUFFIX = ".exchange"
FORMAT_VERSION = 1

Ending = Literal["whole", "cut", "reset", "timed out", "client left"]
"""How a response ended.

``whole``: complete. ``cut``: the service closed the connection early. ``reset``: it reset the connection. ``timed
out``: it was silent for too long. ``client left``: the client closed the connection first.
"""

_ENDINGS: tuple[str, ...] = get_args(Ending)
_ODD = re.compile(r"[^\t -~\xa0-\ufefe\uff00-\U0010ffff]|[\u2028\u2029]")
_COUNTS = ("missing", "excess", "unkept", "redacted")
_LENGTHS = ("content-length", "transfer-encoding")


class ExchangeError(ValueError):
    """A file is no exchange; the message has file, line and reason."""


@dataclass(frozen=True, slots=True)
class RecordedWrite:
    """Bytes of a response body that arrived together, ``offset`` seconds after the request."""

    offset: float
    data: bytes


@dataclass(slots=True, kw_only=True)
class Exchange:
    """Recorded call.

    Fields:
        time: when the request was complete, Unix seconds.
        target: path and query.
        request_headers, headers: without framing (Content-Length, Transfer-Encoding).
        status: 0: no head arrived.
        offset: seconds from the request to the head of the response.
        framing: way in which the service marked the end of the body.
        missing: bytes that Content-Length announced and that never came.
        excess: bytes that came after those that Content-Length announced, which no client reads.
        unkept: bytes of the response that came and are not in the file.
        ended: seconds from the request to the end of the response.
        redacted: number of credentials that were cut.
        source: file it was read from.
    """

    vendor: str
    method: str
    target: str
    time: float = 0.0
    request_headers: Headers = ()
    request_body: bytes = b""
    status: int = 0
    reason: str = ""
    headers: Headers = ()
    offset: float = 0.0
    framing: Literal["length", "chunked", "close", "none"] = "length"
    writes: tuple[RecordedWrite, ...] = ()
    ending: Ending = "cut"
    ended: float = 0.0
    missing: int = 0
    excess: int = 0
    unkept: int = 0
    redacted: int = 0
    source: str = field(default="", compare=False)

    @property
    def body(self) -> bytes:
        return b"".join([write.data for write in self.writes])

    @property
    def path(self) -> str:
        """Path without the query, still encoded."""
        return self.target.partition("?")[0]

    @property
    def is_streamed(self) -> bool:
        """Whether the response is a stream of events."""
        kind = find_header(self.headers, "content-type").partition(";")[0].strip().lower()
        return kind in ("text/event-stream", "application/x-ndjson", "application/stream+json") or (
            len(self.writes) > 1 and self.framing == "chunked" and kind != "application/json"
        )


def find_header(headers: Headers, name: str) -> str:
    """Return the first header of a name, in whatever case; empty without one."""
    return next((value for key, value in headers if key.lower() == name), "")


def drop_framing(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return headers without those that state the length of the body, which the format computes."""
    return tuple((name, value) for name, value in headers if name.lower() not in _LENGTHS)


# Writing


def format_exchange(exchange: Exchange) -> str:
    """Format an exchange as the text of its file."""
    body = format_writes([(write.offset, write.data) for write in exchange.writes])
    return "".join([format_opening(exchange), format_head(exchange), body, format_end(exchange)])


def format_opening(exchange: Exchange) -> str:
    """Format the part that is known once the request is complete."""
    moment = datetime.fromtimestamp(exchange.time, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    lines = [f"exchange {FORMAT_VERSION}", f"vendor: {exchange.vendor}", f"time: {moment}"]
    lines += ["", "=== request", f"{exchange.method} {exchange.target}", *_format_headers(exchange.request_headers)]
    if exchange.request_body:
        lines += ["=== request body", *format_body(exchange.request_body)]
    return "\n".join(lines) + "\n"


def format_head(exchange: Exchange) -> str:
    """Format the head of the response; empty if none arrived."""
    if not exchange.status:
        return ""
    lines = ["", f"=== response after {exchange.offset:.6f}", f"{exchange.status} {exchange.reason}".rstrip()]
    lines += [*_format_headers(exchange.headers), f"=== framing {exchange.framing}"]
    return "\n".join(lines) + "\n"


def format_writes(writes: Sequence[tuple[float, bytes]]) -> str:
    """Format writes of the body, each with its offset."""
    lines: list[str] = []
    is_plain = _read_text(b"".join([data for _, data in writes]).replace(b"\n", b"")) is not None
    for offset, data in writes:
        lines.append(f"=== write after {offset:.6f}")
        lines += _format_plain(data) if is_plain else format_body(data)
    return "\n".join([*lines, ""]) if lines else ""


def _format_plain(data: bytes) -> Iterable[str]:
    """Return the lines of a body of printable text, which need no check one by one."""
    try:
        *lines, rest = data.decode().split("\n")
    except UnicodeDecodeError:  # the bytes of a character came in two writes
        return format_body(data)
    return [f"| {line}" if line else "|" for line in lines] + ([f". {rest}"] if rest else [])


def format_end(exchange: Exchange) -> str:
    """Format the ending."""
    lines = [f"=== end {exchange.ending} after {exchange.ended:.6f}"]
    for name in _COUNTS:
        if getattr(exchange, name):
            lines.append(f"{name}: {getattr(exchange, name)}")
    return "\n".join(lines) + "\n"


def _format_headers(headers: Headers) -> Iterator[str]:
    for name, value in headers:
        yield f"{name}: {value}".encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def format_body(data: bytes) -> Iterator[str]:
    r"""Yield the lines of a body: ``| text\n``, ``: text\r\n``, ``. text`` without a line end, ``= base64``."""
    for line in data.splitlines(keepends=True) if b"\r" not in data.replace(b"\r\n", b"") else _split(data):
        end, mark = (b"\r\n", ":") if line.endswith(b"\r\n") else (b"\n", "|") if line.endswith(b"\n") else (b"", ".")
        text = _read_text(line.removesuffix(end))
        if text is None:
            yield from _format_base64(line)
        else:
            yield f"{mark} {text}" if text else mark


def _split(data: bytes) -> list[bytes]:
    """Split a body after each LF only."""
    return [part for part in re.split(rb"(?<=\n)", data) if part]


def _read_text(line: bytes) -> str | None:
    """Return the text of a line; ``None`` if it is not UTF-8 or has control characters or line ends of other kinds."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    return None if _ODD.search(text) else text


def _format_base64(line: bytes) -> Iterator[str]:
    text = b64encode(line).decode()
    for start in range(0, len(text), 116):
        yield f"= {text[start : start + 116]}"


# Reading


_SECTION = re.compile(r"=== (request body|request|response|framing|write|end)(?: ([a-z ]+?))??(?: after ([0-9.]+))?")


_MAX_PARSED = 32
_PARSED: Cache[tuple[str, ...], tuple[Exchange, ...]] = Cache()


def parse_exchange(text: str, source: str = "<string>", line: int = 1) -> Exchange:
    """Parse the text of an exchange, which begins at a line of its file; lengths follow from what the file holds.

    Raises:
        ExchangeError: a line does not fit.
    """
    return _Parser(text, source, line).parse()


class _Parser:
    """Parser of one exchange."""

    def __init__(self, text: str, source: str, line: int) -> None:
        self._first = line - 1
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._at = 0
        self._source = source

    def parse(self) -> Exchange:
        first = self._next()
        if first != f"exchange {FORMAT_VERSION}":
            version = f"; this file is {first!r}" if re.fullmatch(r"exchange \d{1,4}", first) else ""
            raise self._fail(f"expected `exchange {FORMAT_VERSION}`{version}")
        about = dict(self._read_pairs())
        exchange = Exchange(vendor=about.get("vendor", ""), method="", target="", source=self._source)
        exchange.time = self._read_time(about.get("time", ""))
        writes: list[RecordedWrite] = []
        while self._at < len(self._lines):
            line = self._next()
            if not line.strip():
                continue
            found = _SECTION.fullmatch(line.rstrip())
            if found is None:
                raise self._fail("expected a section such as `=== write after 0.25`")
            self._read_section(exchange, writes, found)
        if not exchange.method:
            raise self._fail("there is no request")
        exchange.writes = tuple(writes)
        return exchange

    def _read_section(self, exchange: Exchange, writes: list[RecordedWrite], found: re.Match[str]) -> None:
        kind, word, offset = found[1], found[2] or "", self._read_offset(found[3])
        if kind == "request":
            exchange.method, _, exchange.target = self._next().partition(" ")
            exchange.request_headers = drop_framing(self._read_pairs())
        elif kind == "request body":
            exchange.request_body = self._read_body()
        elif kind == "response":
            status, _, exchange.reason = self._next().partition(" ")
            if not status.isdigit():
                raise self._fail(f"expected a status, not {status!r}")
            exchange.status, exchange.offset = int(status), offset
            exchange.headers = drop_framing(self._read_pairs())
        elif kind == "framing":
            if word not in ("length", "chunked", "close", "none"):
                raise self._fail(f"framing is length, chunked, close or none, not {word!r}")
            exchange.framing = word  # type: ignore[assignment]  # checked above
        elif kind == "write":
            writes.append(RecordedWrite(offset, self._read_body()))
        else:
            self._read_end(exchange, word, offset)

    def _read_end(self, exchange: Exchange, word: str, offset: float) -> None:
        if word not in _ENDINGS:
            raise self._fail(f"an exchange ends {', '.join(_ENDINGS)}, not {word!r}")
        exchange.ending, exchange.ended = word, offset  # type: ignore[assignment]  # checked above
        for name, value in self._read_pairs():
            if name not in _COUNTS or not value.isdigit():
                raise self._fail(f"unknown line `{name}: {value}`")
            setattr(exchange, name, int(value))

    def _next(self) -> str:
        line = self._lines[self._at] if self._at < len(self._lines) else ""
        self._at += 1
        return line

    def _peek(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else "=== "

    def _read_pairs(self) -> list[tuple[str, str]]:
        """Read ``name: value`` lines up to a section or an empty line."""
        pairs = []
        while not self._peek().startswith("=== "):
            line = self._next()
            if not line.strip():
                break
            name, colon, value = line.partition(":")
            if not colon:
                raise self._fail("expected `name: value`")
            pairs.append((name, value.strip()))
        return pairs

    def _read_body(self) -> bytes:
        parts = []
        while (line := self._peek())[:1] in ("|", ":", ".", "=") and not line.startswith("=== "):
            self._at += 1
            parts.append(self._read_line(line))
        return b"".join(parts)

    def _read_line(self, line: str) -> bytes:
        mark, text = line[0], line[2:]
        if len(line) > 1 and line[1] != " ":
            raise self._fail(f"expected a blank after {mark!r}")
        if mark == "=":
            try:
                return b64decode(text, validate=True)
            except ValueError:
                raise self._fail("expected base64 after `=`") from None
        return text.encode() + {"|": b"\n", ":": b"\r\n", ".": b""}[mark]

    def _read_offset(self, text: str | None) -> float:
        try:
            return float(text or 0)
        except ValueError:
            raise self._fail(f"expected seconds, not {text!r}") from None

    def _read_time(self, text: str) -> float:
        try:
            return datetime.fromisoformat(text).timestamp() if text else 0.0
        except ValueError:
            raise self._fail(f"expected a time such as 2026-01-31T12:00:00Z, not {text!r}") from None

    def _fail(self, reason: str) -> ExchangeError:
        return ExchangeError(f"{self._source}:{self._first + min(self._at, len(self._lines))}: {reason}")


def parse_exchanges(text: str, source: str = "<string>") -> list[Exchange]:
    """Parse a file of one exchange or several.

    Raises:
        ExchangeError: a line does not fit.
    """
    return [parse_exchange(part, source, line) for line, part in split_exchanges(text)]


def split_exchanges(text: str) -> Iterator[tuple[int, str]]:
    """Yield first line and text of each exchange in a file."""
    parts = re.split(r"(?m)^(?=exchange \d+$)", text)
    line = 1
    for part in parts:
        if part.strip() or len(parts) == 1:
            yield line, part
        line += part.count("\n")


def parse_named_exchanges(texts: tuple[str, ...]) -> tuple[Exchange, ...]:
    """Parse the exchanges of a scenario, each a line with the name of its file, then its text.

    Raises:
        ExchangeError: one is malformed.
    """
    found = _PARSED.get(texts)
    if found is None:
        parts = [text.partition("\n") for text in texts]
        found = tuple([parse_exchange(text, name) for name, _, text in parts])
        remember_exchanges(texts, found)
    return found


def remember_exchanges(texts: tuple[str, ...], exchanges: tuple[Exchange, ...]) -> None:
    """Keep the exchanges of a scenario, which :func:`parse_named_exchanges` then returns."""
    if len(_PARSED) >= _MAX_PARSED:
        _PARSED.pop(next(iter(_PARSED)), None)
    _PARSED[texts] = exchanges


def list_files(folder: Path) -> list[Path]:
    """Return the exchange files of a folder and of those below it, in the order they were recorded."""
    return sorted(folder.rglob(f"*{SUFFIX}"))


def load_folder(folder: Path) -> list[Exchange]:
    """Read every exchange of a folder, or the one of a file.

    Raises:
        ExchangeError: a file is no exchange.
        OSError: a file cannot be read.
    """
    if not folder.exists():
        raise FileNotFoundError(ENOENT, strerror(ENOENT), str(folder))
    files = [folder] if folder.is_file() else list_files(folder)
    return [each for file in files for each in parse_exchanges(file.read_text(encoding="utf-8"), str(file))]
