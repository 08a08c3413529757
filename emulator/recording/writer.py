"""Write the files of exchanges part by part, redacted; in this process, or by ``process.py`` in another."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TextIO

from emulator.core.http import Headers
from emulator.recording.exchange import (
    Exchange,
    drop_framing,
    find_header,
    format_end,
    format_head,
    format_opening,
    format_writes,
)
from emulator.recording.redact import Secrets, redact_headers, redact_parts, redact_target, redact_whole

MAX_BODY = 8 * 1024**2  # bytes of a body that is one document, or of one event; what exceeds it is left out
SEARCH_WINDOW = 64 * 1024  # bytes of a stream that wait, as a credential may be split over its events
_BATCH = 4 * SEARCH_WINDOW  # bytes of a stream that are searched at once; the last window is searched again
ZLIB_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 47}  # zlib's ``wbits``
_TOKENS = re.compile(rb'"(?:completion_tokens|output_tokens|generated_tokens|candidatesTokenCount)"\s*:\s*(\d+)')
_SPOKEN = re.compile(rb'"(?:content|text)"\s*:\s*"[^"]')


@dataclass(frozen=True, slots=True)
class ExchangeSummary:
    """Result of a recorded exchange.

    Fields:
        path: file that was written.
        target: path and query, redacted.
        tokens: completion tokens that the response states; of a stream without a usage its events with text.
        unkept: number of bytes that are not in the file.
        secrets: credentials that were cut.
        exposed: places of credentials outside credential headers.
    """

    path: Path
    target: str
    tokens: int
    unkept: int
    secrets: int
    exposed: Sequence[str]


class Writers(Protocol):
    """Writer of several exchanges, each with a number.

    Methods block. They raise ``OSError`` if a file cannot be written, which ends that exchange.
    """

    def open(self, number: int, path: Path, exchange: Exchange, *, is_stream: bool) -> None:
        """Begin a file: request and head of the response."""

    def add(self, number: int, offsets: Sequence[float], parts: Sequence[bytes]) -> None:
        """Take the next parts of a response, and the seconds after which each came."""

    def finish(
        self, number: int, exchange: Exchange, offsets: Sequence[float] = (), parts: Sequence[bytes] = ()
    ) -> ExchangeSummary:
        """Write the rest, the last parts, and the ending that ``exchange`` has; return the summary."""

    def close(self) -> None:
        """End; nothing is written afterwards."""


class _File:
    """File of one exchange."""

    def __init__(self, path: Path, exchange: Exchange, *, is_stream: bool) -> None:
        self._path = path
        self._exchange = replace(exchange)  # it is redacted in place
        self._is_stream = is_stream
        self._secrets = Secrets()
        self._offsets: list[float] = []
        self._parts: list[bytes] = []  # that wait
        self._size = 0  # bytes of these
        self._unkept = 0
        self._is_skipping = False
        self._tokens = 0
        self._spoken = 0  # events with text
        self._file = self._open()

    def _open(self) -> TextIO:
        """Open the file and write the request and the head of the response, redacted."""
        exchange, secrets = self._exchange, self._secrets
        exchange.request_headers = redact_headers(drop_framing(exchange.request_headers), secrets, "request")
        exchange.target = redact_target(exchange.target, secrets)
        exchange.request_body = redact_whole(self._decode_request(exchange.request_body), secrets, "request body")
        exchange.headers = redact_headers(drop_framing(exchange.headers), secrets, "response")
        if find_header(exchange.headers, "content-encoding").strip().lower() in ZLIB_WINDOWS:
            exchange.headers = _drop(exchange.headers, "content-encoding")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while self._path.exists():  # another process records to the same folder
            number, _, rest = self._path.name.partition("-")
            self._path = self._path.with_name(f"{int(number) + 1:04}-{rest}")
        file = self._path.open("x", encoding="utf-8", newline="\n")
        file.write(format_opening(exchange) + format_head(exchange))
        exchange.request_body = b""
        return file

    def _decode_request(self, body: bytes) -> bytes:
        coding = find_header(self._exchange.request_headers, "content-encoding").strip().lower()
        if not coding:
            return body
        try:
            plain = zlib.decompressobj(ZLIB_WINDOWS[coding]).decompress(body, MAX_BODY)
        except (KeyError, zlib.error):  # nothing can be searched in it
            self._unkept += len(body)
            return b""
        self._exchange.request_headers = _drop(self._exchange.request_headers, "content-encoding")
        return plain

    def add(self, offsets: Sequence[float], parts: Sequence[bytes]) -> None:
        if self._is_skipping:
            offsets, parts = self._skip(offsets, parts)
        self._offsets += offsets
        self._parts += parts
        self._size += sum(map(len, parts))
        if not self._is_stream or self._size <= _BATCH:
            return
        if any(part.endswith(b"\n") for part in self._parts):
            self._write(SEARCH_WINDOW)
        if self._size > MAX_BODY:  # one event that has no end
            self._unkept += self._size
            self._offsets, self._parts, self._size, self._is_skipping = [], [], 0, True

    def _skip(self, offsets: Sequence[float], parts: Sequence[bytes]) -> tuple[Sequence[float], Sequence[bytes]]:
        """Leave out the rest of an event that is too long."""
        for number, part in enumerate(parts):
            _, end, rest = part.partition(b"\n")
            if end:
                self._unkept += len(part) - len(rest)
                self._is_skipping = False
                return offsets[number:], [rest, *parts[number + 1 :]]
            self._unkept += len(part)
        return (), ()

    def _write(self, keep: int) -> None:
        """Write what no credential can reach any more; the rest waits."""
        done = redact_parts(self._parts, self._secrets, "response body", keep=keep)
        self._file.write(format_writes([pair for pair in zip(self._offsets, done, strict=False) if pair[1]]))
        self._offsets, self._parts = self._offsets[len(done) :], self._parts[len(done) :]
        self._size = sum(map(len, self._parts))
        data = b"".join(done)
        self._spoken += len(_SPOKEN.findall(data)) if self._is_stream else 0
        found = _TOKENS.findall(data)
        if found:
            self._tokens = int(found[-1])

    def finish(self, ending: Exchange, offsets: Sequence[float], parts: Sequence[bytes]) -> ExchangeSummary:
        exchange = self._exchange
        with self._file as file:
            self.add(offsets, parts)
            self._write(0)
            exchange.ending, exchange.ended = ending.ending, ending.ended
            exchange.missing, exchange.excess = ending.missing, ending.excess
            exchange.unkept, exchange.redacted = ending.unkept + self._unkept, self._secrets.total
            file.write(format_end(exchange))
        places = tuple(self._secrets.places)
        return ExchangeSummary(
            self._path, exchange.target, self._tokens or self._spoken, exchange.unkept, self._secrets.total, places
        )


def _drop(headers: Headers, name: str) -> Headers:
    return tuple(pair for pair in headers if pair[0].lower() != name)


class LocalWriters:
    """Writer of exchanges in this process."""

    def __init__(self) -> None:
        self._files: dict[int, _File] = {}

    def open(self, number: int, path: Path, exchange: Exchange, *, is_stream: bool) -> None:
        self._files[number] = _File(path, exchange, is_stream=is_stream)

    def add(self, number: int, offsets: Sequence[float], parts: Sequence[bytes]) -> None:
        try:
            self._files[number].add(offsets, parts)
        except OSError:
            del self._files[number]
            raise

    def finish(
        self, number: int, exchange: Exchange, offsets: Sequence[float] = (), parts: Sequence[bytes] = ()
    ) -> ExchangeSummary:
        return self._files.pop(number).finish(exchange, offsets, parts)

    def close(self) -> None:
        """Do nothing: these files need no process that would have to end."""
