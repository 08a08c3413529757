"""Pass a request on to a real service and its response back, byte for byte as it arrives.

The server of ``emulator record`` and forwarded requests use it; an observer sees each part.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic, time
from urllib.parse import SplitResult, urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from emulator.core.redaction.names import list_words
from emulator.core.text import reason_phrase
from emulator.http.connection import Connection, IncomingRequest
from emulator.http.response_head import WITHOUT_BODY
from emulator.http.streamed_body import stream_body
from emulator.http.writer import reset
from emulator.recording.exchange import Ending
from emulator.recording.observer import Framing, Observer, ResponseStart
from emulator.recording.receiver import ServiceConnector
from emulator.recording.relayed_body import RelayedBody

_HOP_BY_HOP = list_words(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    "upgrade expect host x-emulator-session"
)
_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "identity", "*"})  # that the recording can decompress
_CONNECT_TIMEOUT = 30.0  # seconds
_REUSED_FOR = 2.0  # seconds an idle connection is used again; servers close theirs after 5 or more
_MAX_BYTES = 256 * 1024  # of a request body that is sent in one write
_MAX_LINE = 64 * 1024
_SKIPPED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class UpstreamError(ValueError):
    """An upstream is not ``vendor=URL``; the message is one line for the user."""


def parse_upstreams(texts: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Parse ``vendor=URL`` arguments.

    Raises:
        UpstreamError: one is malformed, of an unknown vendor, or given twice.
    """
    names = list(known)
    found: dict[str, str] = {}
    for text in texts:
        vendor, equals, url = text.partition("=")
        parts = urlsplit(url)
        if not equals or parts.scheme not in ("http", "https") or not parts.hostname or not _has_port(parts):
            raise UpstreamError(f"expected vendor=URL, such as databricks=https://example.com, not {text!r}")
        if vendor not in names:
            raise UpstreamError(f"unknown vendor {vendor!r}; there are {', '.join(names)}")
        if vendor in found:
            raise UpstreamError(f"{vendor} has two URLs")
        if parts.query or parts.fragment or parts.username:
            raise UpstreamError(f"{vendor}: the URL of a service has no query, fragment or user")
        found[vendor] = url.rstrip("/")
    return found


def _has_port(parts: SplitResult) -> bool:
    """Return whether the port of a URL is a number, or absent."""
    try:
        return parts.port != 0
    except ValueError:
        return False


def open_context(authority: Path | None) -> ssl.SSLContext:
    """Return the TLS context for services: the system's authorities, and the given one.

    Raises:
        OSError: the file is no certificate.
    """
    context = ssl.create_default_context()
    if authority is not None:
        context.load_verify_locations(cafile=authority)
    return context


class Relay:
    """Client of the real services.

    ``silence``: seconds without a byte after which a response is given up.
    """

    def __init__(self, upstreams: Mapping[str, str], *, authority: Path | None = None, silence: float = 600.0) -> None:
        self.upstreams = dict(upstreams)
        self._silence = silence
        self._authority = authority
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            is_secure = any(url.startswith("https:") for url in self.upstreams.values())
            self._session = aiohttp.ClientSession(
                connector=ServiceConnector(
                    limit=0,
                    keepalive_timeout=_REUSED_FOR,
                    ssl=open_context(self._authority) if is_secure else True,
                ),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT, sock_read=self._silence),
                max_line_size=_MAX_LINE,
                max_field_size=_MAX_LINE,
                trust_env=is_secure,
            )
        return self._session

    async def close(self) -> None:
        """Close all connections to services."""
        if self._session is not None:
            await self._session.close()

    async def pass_on(
        self,
        http: IncomingRequest,
        vendor: str,
        target: str,
        headers: Mapping[str, str],
        observer: Observer,
        body: bytes | None = None,
    ) -> bool:
        """Send a request to a vendor's service and write the response; return whether the connection may stay open.

        Args:
            target: path and query for the service, encoded.
            body: body of the request, if it was read already.
        """
        return await _RelayedCall(http, observer, self._silence).run(
            self._open(), http.head.method, f"{self.upstreams[vendor]}{target}", headers, body
        )


def select_headers(headers: Iterable[tuple[str, str]], *, has_body: bool = True) -> CIMultiDict[str]:
    """Return the request headers that go to the service: all but the hop-by-hop headers of this connection."""
    chosen: CIMultiDict[str] = CIMultiDict()
    for name, value in headers:
        lower = name.lower()
        if lower == "connection" and value.strip().lower() == "close":  # the service says so to the client, too
            chosen.add(name, value)
        elif lower in _HOP_BY_HOP or (lower == "content-length" and not has_body):
            continue
        else:
            chosen.add(name, _limit_codings(value) if lower == "accept-encoding" else value)
    return chosen


def _limit_codings(value: str) -> str:
    """Leave out compressions that a recording could not be searched for credentials in."""
    kept = [part.strip() for part in value.split(",") if part.partition(";")[0].strip().lower() in _CODINGS]
    return ", ".join(kept) or "identity"


class _RelayedCall:
    """One request on its way to the service, and its response on its way back."""

    def __init__(self, http: IncomingRequest, observer: Observer, silence: float) -> None:
        self._http = http
        self._connection: Connection = http.connection
        self._observer = observer
        self._silence = silence
        self._began = monotonic()  # finer than the time of some event loops, which is one of milliseconds
        self._head: ResponseStart | None = None
        self._body: RelayedBody | None = None
        self._is_sent = False
        self._has_ended = False

    def _offset(self) -> float:
        return monotonic() - self._began

    def _sent(self) -> None:
        self._is_sent = True
        self._began = monotonic()
        self._observer.on_sent(time())

    async def run(
        self, session: aiohttp.ClientSession, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> bool:
        """Send the request, and pass the response on until it ends, is cut off or fails."""
        try:
            payload = self._find_body(body)
            async with session.request(
                method,
                URL(url, encoded=True),
                headers=select_headers(headers.items(), has_body=payload is not None),
                data=payload,
                allow_redirects=False,
                skip_auto_headers=_SKIPPED,
            ) as response:
                return await self._return(response, method)
        except asyncio.CancelledError:
            self._end("client left")
            raise
        except aiohttp.ClientConnectorError as error:
            return self._refuse(f"cannot connect to {error.host}:{error.port}: {error.strerror or error}")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return await self._break(error)

    def _find_body(self, body: bytes | None) -> bytes | AsyncIterator[bytes] | None:
        """Return the body of the request: at once if it has arrived, else as it arrives."""
        data = body if body is not None else (self._http.read_now(2**62) if self._http.is_complete else None)
        if data is None:
            return self._follow_body()
        self._observer.on_request(data)
        self._sent()
        return _send_slowly(data) if len(data) > _MAX_BYTES else data or None

    async def _follow_body(self) -> AsyncIterator[bytes]:
        async for part in stream_body(self._http):
            self._observer.on_request(part)
            yield part
        self._sent()

    async def _return(self, response: aiohttp.ClientResponse, method: str) -> bool:
        """Write the response as it arrives."""
        if not self._is_sent:  # the service answers before it has read the request
            self._sent()
        head = self._head = _read_head(response, method)
        self._observer.on_head(head, self._offset())
        is_modern = self._http.head.is_modern
        is_chunked = head.framing == "chunked" and is_modern
        opening = _encode_head(head, is_modern=is_modern)
        keeps = self._http.head.keep_alive and not _closes(head) and (is_chunked or head.framing in ("length", "none"))
        if head.framing == "none":
            self._end("whole")
            self._connection.write(opening)
            return keeps
        body = self._body = RelayedBody(
            response,
            head,
            opening,
            self._connection,
            self._observer,
            is_chunked=is_chunked,
            began=self._began,
            silence=self._silence,
            on_whole=partial(self._end, "whole"),
        )
        await body.run()
        return keeps and not body.excess

    def _end(self, ending: Ending, offset: float | None = None, excess: int = 0) -> None:
        """Tell the observer how the call ended; a client that leaves after the end of the response changes nothing."""
        if self._has_ended:
            return
        self._has_ended = True
        head = self._head
        missing = 0
        if head is not None and head.framing == "length" and head.length is not None:
            missing = max(0, head.length - (self._body.received if self._body is not None else 0))
        self._observer.on_end(ending, self._offset() if offset is None else offset, missing, excess)

    async def _break(self, error: Exception) -> bool:
        """End the client's connection as the service ended its own."""
        if self._connection.transport is None:
            self._end("client left")
            return False
        if isinstance(error, TimeoutError):
            self._end("timed out")
            is_reset = True
        else:
            is_reset = _is_reset(error)
            self._end("reset" if is_reset else "cut")
        if self._head is not None:
            self._connection.flush()
        if is_reset:
            await reset(self._connection.transport)
        return False

    def _refuse(self, reason: str) -> bool:
        """Answer in place of a service that cannot be reached; nothing is recorded."""
        text = f"The service did not answer: {reason}.\n".encode()
        self._observer.on_failed(reason)
        lines = (
            f"HTTP/1.1 502 {reason_phrase(502)}",
            "Content-Type: text/plain; charset=utf-8",
            "x-emulator-forward: failed",
            f"Content-Length: {len(text)}",
            "Connection: close",
        )
        self._connection.write("\r\n".join([*lines, "", ""]).encode() + text)
        return False


async def _send_slowly(data: bytes) -> AsyncIterator[bytes]:
    """Yield a long body in parts, so that other streams go on."""
    for start in range(0, len(data), _MAX_BYTES):
        yield data[start : start + _MAX_BYTES]


def _read_head(response: aiohttp.ClientResponse, method: str) -> ResponseStart:
    headers = tuple(
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
        for name, value in response.raw_headers
    )
    lower = {name.lower(): value for name, value in headers}
    length = lower.get("content-length", "")
    framing: Framing = "close"
    if method == "HEAD" or response.status in WITHOUT_BODY or length == "0":
        framing = "none"
    elif "chunked" in lower.get("transfer-encoding", "").lower():
        framing = "chunked"
    elif length.isdigit():
        framing = "length"
    return ResponseStart(
        response.status, response.reason or "", headers, framing, int(length or 0) if length.isdigit() else None
    )


def _encode_head(head: ResponseStart, *, is_modern: bool) -> bytes:
    dropped = () if is_modern else ("transfer-encoding", "connection")
    lines = [f"{name}: {value}\r\n" for name, value in head.headers if name.lower() not in dropped]
    return f"HTTP/1.1 {head.status} {head.reason}\r\n{''.join(lines)}\r\n".encode("utf-8", "surrogateescape")


def _closes(head: ResponseStart) -> bool:
    return any(name.lower() == "connection" and "close" in value.lower() for name, value in head.headers)


def _is_reset(error: BaseException) -> bool:
    """Return whether the service reset its connection, rather than closing it."""
    chain: Sequence[BaseException | None] = (error, error.__cause__, error.__context__)
    if any(
        isinstance(each, ConnectionResetError) and not isinstance(each, aiohttp.ServerDisconnectedError)
        for each in chain
    ):
        return True
    return "ConnectionResetError" in repr(error) or "[Errno 104]" in str(error)
