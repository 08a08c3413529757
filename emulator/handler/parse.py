"""Parse a request: body, principal, endpoint; requests that repeat are parsed once."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO

from aiohttp import web

from emulator.core.cache import create_stats, lru
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.executor import run_in_thread
from emulator.core.http import NOTHING, UNNAMED, Request, limit_headers
from emulator.core.json import canonical_json
from emulator.core.rng import derive_key_from_bytes
from emulator.core.storage import LocalState
from emulator.core.vendor import AnyEndpoint, AnyService, AnyVendor, InferenceCall, Parsed
from emulator.handler.context import RequestContext
from emulator.handler.planning import Emulator
from emulator.http.routing import Router

_MOST = 512  # requests
_LARGEST = 8192  # bytes of a body
_TALLY = create_stats("calls")


@dataclass(frozen=True, slots=True, eq=False)
class ParsedCall:
    """What was found out about a request when it came before."""

    fingerprint: bytes
    call: InferenceCall


class ParseCache:
    """The requests of one vendor that came more than once; the oldest is forgotten first.

    ``headers``: those that have a say in how a request is read.
    """

    def __init__(self, headers: tuple[str, ...]) -> None:
        self._headers = headers
        self._known: dict[Hashable, ParsedCall] = {}

    def place(self, wire: Request) -> Hashable:
        """All of a request that counts here, but its body and who asks."""
        query = frozenset(wire.query.items()) if wire.query else None
        return (wire.method, wire.path, query, *[wire.headers.get(name) for name in self._headers])

    def find(self, wire: Request, place: Hashable = None) -> ParsedCall | None:
        """What is known of an equal request; ``place``, if it was found out before."""
        known = None
        if self._known and len(wire.body) <= _LARGEST:
            known = self._known.get((place or self.place(wire), wire.body, wire.principal))
        if known is None:
            _TALLY.misses += 1
        else:
            _TALLY.hits += 1
        return known

    def remember(self, wire: Request, identity: bytes, call: InferenceCall) -> None:
        """Keep a call for equal requests to come, if it is one to keep."""
        if call.repeatable and len(wire.body) <= _LARGEST:
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[self.place(wire), wire.body, wire.principal] = ParsedCall(identity, call)


_MOST_KEEPING = 10_000  # sessions
_LONGEST = 4 * 1024**2  # bytes of a body whose order of keys means nothing; of a longer one its digest stands for it


class RequestParser:
    """Accepts, authenticates and parses the requests to one vendor; ``memo``: those that came more than once."""

    def __init__(self, vendor: AnyVendor, service: AnyService, emulator: Emulator) -> None:
        self._vendor = vendor
        self._service = service
        self._emulator = emulator
        self._router = Router(vendor.endpoints)
        self._reads = frozenset(name.lower() for name in vendor.relevant_headers)
        self.memo = ParseCache(vendor.relevant_headers)
        self._is_near = isinstance(emulator.state, LocalState)
        self._keeping: set[str] = set()

    async def parse(self, exchange: RequestContext) -> Parsed:
        """What is asked, or the whole answer; what is known of an equal request is not found out again.

        The request has its name then, or gets it in one question with its charges.

        Raises:
            EmulatedError: what the vendor refuses.
            DocumentsError: there are documents, which it must be read with.
        """
        wire = exchange.wire
        missing = endpoint = None
        try:
            endpoint, wire.params = self._router.resolve(wire.method, wire.path)
        except EmulatedError as error:
            missing = error
            missing.clear_traceback()
        if endpoint is None or not endpoint.is_public:
            wire.principal = self._vendor.authenticate(wire, self._service)
        if self._vendor.is_stateful or (endpoint is not None and endpoint.is_stateful):
            await self._look(wire)
        known = None if wire.documents else self.memo.find(wire)
        await self._identify(exchange, known)
        if self._emulator.defers_key and endpoint is not None:
            call = await self._read_unnamed(endpoint, wire) if known is None else known.call
            if call is not None:
                return call
        await self._emulator.name(wire, exchange.fingerprint)
        if known is not None:
            return known.call
        if missing is not None or endpoint is None:
            raise missing or EmulatedError(ErrorKind.NOT_FOUND)
        return await self._parse_checked(endpoint, wire)

    async def _look(self, wire: Request) -> None:
        """Find out what the vendor keeps for the session.

        Far away that is nothing as a rule, and whoever counts the request says if it is not; then it is read again.
        """
        shelf, keeping = self._vendor.name, self._keeping
        if self._is_near or wire.session in keeping:
            wire.unread_collection, wire.documents = "", await self._emulator.state.fetch(wire.session, shelf)
            if not wire.documents:
                keeping.discard(wire.session)
        else:
            wire.unread_collection = shelf

    def begin_again(self, wire: Request) -> None:
        """There are documents: each request of the session is read with them until it is seen that they are gone."""
        if len(self._keeping) >= _MOST_KEEPING:
            self._keeping.clear()
        self._keeping.add(wire.session)
        wire.key = UNNAMED

    async def _read_unnamed(self, endpoint: AnyEndpoint, wire: Request) -> InferenceCall | None:
        """A call that is read the same way whatever its name; ``None``: only its name tells."""
        try:
            parsed = await self._parse_checked(endpoint, wire)
        except EmulatedError as error:
            error.clear_traceback()
            return None
        return parsed if isinstance(parsed, InferenceCall) and parsed.repeatable else None

    async def _parse_checked(self, endpoint: AnyEndpoint, wire: Request) -> Parsed:
        parsed = (
            self._parse(endpoint, wire)
            if len(wire.body) <= INLINE_BYTES
            else await run_in_thread(self._parse, endpoint, wire)
        )
        if isinstance(parsed, InferenceCall):
            self._emulator.bounds.check(parsed.request, parsed.deployment)
        return parsed

    def remember(self, exchange: RequestContext, parsed: Parsed) -> None:
        """Know a call that was read, and has come before, from now on."""
        wire = exchange.wire
        if wire.attempt and isinstance(parsed, InferenceCall) and not wire.documents and self.memo.find(wire) is None:
            self.memo.remember(wire, exchange.fingerprint, parsed)

    async def name(self, exchange: RequestContext) -> None:
        """Give a request that was refused early the name it would have."""
        if not exchange.fingerprint:
            await self._identify(exchange)
        exchange.wire.unread_collection = ""
        await self._emulator.name(exchange.wire, exchange.fingerprint)

    async def _identify(self, exchange: RequestContext, known: ParsedCall | None = None) -> None:
        """Find out what makes the request the same as another."""
        wire = exchange.wire
        if known is not None:
            exchange.fingerprint = known.fingerprint
        elif len(wire.body) <= INLINE_BYTES:
            exchange.fingerprint = authenticate_principal(self._vendor.name, wire)
        else:
            exchange.fingerprint = await run_in_thread(authenticate_principal, self._vendor.name, wire)

    def find(self, method: str, path: str) -> tuple[AnyEndpoint | None, Mapping[str, str]]:
        """The endpoint and what its pattern caught; ``None``: there is none."""
        try:
            return self._router.resolve(method, path)
        except EmulatedError:
            return None, NOTHING

    def limit(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Of a request's headers, those that a parser sees."""
        return limit_headers(headers, self._reads)

    def parse_again(self, wire: Request) -> Parsed:
        """What a request asks that was read before."""
        endpoint, _ = self._router.resolve(wire.method, wire.path)
        return self._parse(endpoint, wire)

    def _parse(self, endpoint: AnyEndpoint, wire: Request) -> Parsed:
        with wire.limited_to(self._reads):
            return endpoint.parse(wire, self._service)


def authenticate_principal(vendor: str, wire: Request) -> bytes:
    """What makes a request the same as another: no header, no session, no key order of its body."""
    body, written = wire.body, None
    if 0 < len(body) <= _LONGEST:
        try:
            body = canonical_json(wire.json())
            written = _write_json(body)
        except (ValueError, RecursionError):
            pass
    elif body:
        body = blake2b(body).digest()
    query = "&".join(sorted([f"{k}={v}" for k, v in wire.query.items()])) if wire.query else ""
    before, after = _write_around(vendor, wire.method, wire.path, query, wire.principal)
    return derive_key_from_bytes(b"%b%b%b" % (before, written or ascii(body).encode(), after))


def _write_json(body: bytes) -> bytes | None:
    """``ascii`` of compact JSON, at a quarter of its cost, if all its characters are such as ``ascii`` lets stand."""
    if not body.isascii() or b"\x7f" in body:
        return None
    return b"b'%b'" % body.replace(b"\\", b"\\\\").replace(b"'", b"\\'")


@lru(1024)
def _write_around(vendor: str, method: str, path: str, query: str, principal: str) -> tuple[bytes, bytes]:
    """What stands before and after the body in what is derived from."""
    before, after = ascii((vendor, method, path, query)), ascii((principal,))
    return f"{before[:-1]}, ".encode(), f", {after[1:-2]})".encode()


async def read_body(http: web.BaseRequest, limit: int) -> bytes:
    """The request body; past ``limit`` bytes the rest is left unread.

    Raises:
        EmulatedError: ``PAYLOAD_TOO_LARGE``.
    """
    if not http.body_exists:
        return b""
    content = http.content
    if content.is_eof():  # it came with the head
        whole = content.read_nowait()
        if len(whole) > limit:
            raise too_large(limit)
        return whole
    if (http.content_length or 0) > limit:
        raise too_large(limit)
    if http.headers.get("Expect", "").lower() == "100-continue" and http.transport is not None:
        http.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    held = BytesIO()  # it gives away what it holds; to join the parts would take twice the room
    while chunk := await content.readany():
        if held.tell() + len(chunk) > limit:
            raise too_large(limit)
        held.write(chunk)
    return held.getvalue()


def too_large(limit: int) -> EmulatedError:
    """The refusal of a body of more than so many bytes."""
    return EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": limit})
