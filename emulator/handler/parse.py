"""Parse a request: find its endpoint and principal, fingerprint it, and call the vendor's parser.

``handler.py`` calls :class:`RequestParser` first. Requests that repeat are parsed once.
"""

from collections.abc import Hashable, Mapping
from hashlib import blake2b

from emulator.core.cache import create_stats, lru
from emulator.core.calls import InferenceCall, Parsed
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.executor import run_in_thread
from emulator.core.http import NO_KEY, NOTHING, Request, size_of
from emulator.core.json import canonical_json
from emulator.core.rng import derive_key_from_bytes
from emulator.core.storage import LocalState
from emulator.core.vendor import AnyEndpoint, AnyService, AnyVendor, Endpoint
from emulator.handler.context import RequestContext, RequestTarget, build_exact_key
from emulator.handler.planning import Emulator
from emulator.handler.visible_headers import HeaderScope, LimitedHeaders
from emulator.http.routing import Router

_MAX_CACHED = 512  # requests
_MAX_CACHED_BODY = 8192  # bytes
_TALLY = create_stats("calls")


@fast_dataclass(frozen=True, slots=True, eq=False)
class ParsedCall:
    """Cached parse result of a request."""

    fingerprint: bytes
    call: InferenceCall


class ParseCache:
    """FIFO cache of parsed requests that repeat."""

    def __init__(self) -> None:
        self._cached: dict[Hashable, ParsedCall] = {}

    def find(self, place: Hashable, request: Request) -> ParsedCall | None:
        """Return the cached result for an equal request; ``place``: the part of the cache key that its target has."""
        cached = None
        if self._cached and len(request.body) <= _MAX_CACHED_BODY:
            cached = self._cached.get(build_exact_key(place, request.body, request.principal))
        if cached is None:
            _TALLY.misses += 1
        else:
            _TALLY.hits += 1
        return cached

    def remember(self, place: Hashable, request: Request, fingerprint: bytes, call: InferenceCall) -> None:
        """Cache a call for equal requests if the call is repeatable and its body short enough."""
        if call.repeatable and len(request.body) <= _MAX_CACHED_BODY:
            if len(self._cached) >= _MAX_CACHED:
                del self._cached[next(iter(self._cached))]
            key = build_exact_key(place, request.body, request.principal)
            self._cached[key] = ParsedCall(fingerprint, call)


_MAX_STATEFUL_SESSIONS = 10_000
_MAX_CANONICAL_BODY = 4 * 1024**2  # bytes; a longer body is fingerprinted as it is, with its order of keys


class RequestParser:
    """Request parser of one vendor: authenticates, fingerprints and parses, repeated requests once."""

    def __init__(self, vendor: AnyVendor, service: AnyService, emulator: Emulator) -> None:
        self._vendor = vendor
        self._service = service
        self._emulator = emulator
        self._router = Router(vendor.endpoints)
        self._reads = frozenset(name.lower() for name in vendor.relevant_headers)
        self._cache = ParseCache()
        self._local = emulator.state if isinstance(emulator.state, LocalState) else None
        self._stateful_sessions: set[str] = set()

    def find_target(self, request: Request, *, overrides: bool = True) -> RequestTarget:
        """Return the target of all requests with the head of this one."""
        missing = None
        endpoint, params = self._find_refusal(request), NOTHING
        if endpoint is None:
            try:
                endpoint, params = self._router.resolve(request.method, request.path)
            except EmulatedError as error:
                missing = error
                missing.clear_traceback()
        headers, query = request.headers, request.query
        values = [headers.get(name) for name in self._vendor.relevant_headers]
        return RequestTarget(
            method=request.method,
            path=request.path,
            query=query,
            written_query=write_query(query),
            headers=headers,
            params=params,
            base_url=request.base_url,
            session=request.session,
            key_suffix=request.key_suffix,
            visible=LimitedHeaders(headers, self._reads),
            encoding=headers.get("Content-Encoding", ""),
            overrides=overrides,
            head_size=size_of(headers) + (size_of(query) if query else 0),
            endpoint=endpoint,
            missing=missing,
            place=(request.method, request.path, frozenset(query.items()) if query else None, *values),
            principal="" if endpoint is not None and endpoint.is_public else self._find_principal(request),
        )

    def _find_principal(self, request: Request) -> str | None:
        """Return the principal of all requests with a head; ``None``: they are refused, or it may change."""
        if not self._vendor.has_lasting_credential(request):
            return None
        try:
            return self._vendor.authenticate(request, self._service)
        except EmulatedError as error:
            error.clear_traceback()
            return None

    def _find_refusal(self, request: Request) -> AnyEndpoint | None:
        """Return the endpoint of requests with a method that the vendor's server cannot parse."""
        limit, method = self._vendor.method_limit, request.method
        if limit is None or method in limit.methods:
            return None
        return Endpoint(method=method, path=request.path, parse=limit.parse, is_public=True)

    async def parse(self, context: RequestContext) -> Parsed:
        """Return the inference call, or the whole response of a route without a model.

        The request has its key afterwards, unless the emulator assigns it together with the quota charges.

        Raises:
            EmulatedError: the vendor refuses the request.
            DocumentsError: the session has documents, so the request must be parsed with them.
        """
        request, target = context.request, context.target
        endpoint = target.endpoint
        principal = target.principal
        request.principal = self._vendor.authenticate(request, self._service) if principal is None else principal
        if self._vendor.is_stateful or (endpoint is not None and endpoint.is_stateful):
            if self._local is None:
                await self._load_documents(request)
            else:
                request.documents = self._local.fetch_now(request.session, self._vendor.name)
        cached = None if request.documents else self._cache.find(target.place, request)
        fingerprint = self._fingerprint_now(context) if cached is None else cached.fingerprint
        context.fingerprint = fingerprint or await self._compute_fingerprint(context)
        if self._emulator.defers_key and endpoint is not None:
            call = await self._parse_without_key(endpoint, context) if cached is None else cached.call
            if call is not None:
                return call
        if not self._emulator.assign_key_now(request, context.fingerprint):
            await self._emulator.assign_key(request, context.fingerprint)
        if endpoint is None:
            raise target.missing or EmulatedError(ErrorKind.NOT_FOUND)
        parsed = self._parse_now(endpoint, context) if cached is None else cached.call
        return parsed or await self._parse(endpoint, context)

    async def _load_documents(self, request: Request) -> None:
        """Load the vendor's documents of the session from a remote store.

        The request is first parsed without them, as most sessions have none; counting the request raises
        :class:`DocumentsError` if there are some, and the request is parsed again.
        """
        collection, stateful = self._vendor.name, self._stateful_sessions
        if request.session in stateful:
            request.unread_collection = ""
            request.documents = await self._emulator.state.fetch(request.session, collection)
            if not request.documents:
                stateful.discard(request.session)
        else:
            request.unread_collection = collection

    def require_documents(self, request: Request) -> None:
        """Mark the session as having documents and reset the key, so that the request is parsed with them."""
        if len(self._stateful_sessions) >= _MAX_STATEFUL_SESSIONS:
            self._stateful_sessions.clear()
        self._stateful_sessions.add(request.session)
        request.key = NO_KEY

    async def _parse_without_key(self, endpoint: AnyEndpoint, context: RequestContext) -> InferenceCall | None:
        """Return a call if its parsing does not depend on the key; ``None`` if it may."""
        try:
            parsed = self._parse_now(endpoint, context) or await self._parse(endpoint, context)
        except EmulatedError as error:
            error.clear_traceback()
            return None
        return parsed if isinstance(parsed, InferenceCall) and parsed.repeatable else None

    def _parse_now(self, endpoint: AnyEndpoint, context: RequestContext) -> Parsed | None:
        """Parse a request whose body is short; ``None``: it is long, so :meth:`_parse` does it in the worker thread."""
        request, target = context.request, context.target
        if len(request.body) > INLINE_BYTES:
            return None
        request.headers = target.visible
        try:
            parsed = endpoint.parse(request, self._service)
        finally:
            request.headers = target.headers
        return self._check(parsed)

    async def _parse(self, endpoint: AnyEndpoint, context: RequestContext) -> Parsed:
        request, target = context.request, context.target
        request.headers = target.visible
        try:
            parsed = await run_in_thread(endpoint.parse, request, self._service)
        finally:
            request.headers = target.headers
        return self._check(parsed)

    def _check(self, parsed: Parsed) -> Parsed:
        if isinstance(parsed, InferenceCall):
            self._emulator.bounds.check(parsed.request, parsed.deployment)
        return parsed

    def remember(self, context: RequestContext, parsed: Parsed) -> None:
        """Cache a parsed call once an equal request has come before."""
        request = context.request
        if self._emulator.retires:  # the deployment may be gone then
            return
        if not request.documents and isinstance(parsed, InferenceCall):
            self._cache.remember(context.target.place, request, context.fingerprint, parsed)

    def _fingerprint_now(self, context: RequestContext) -> bytes | None:
        """Return the fingerprint of a request whose body is short; ``None``: it takes the worker thread."""
        request = context.request
        if len(request.body) > INLINE_BYTES:
            return None
        return compute_fingerprint(self._vendor.name, request, context.target.written_query)

    async def _compute_fingerprint(self, context: RequestContext) -> bytes:
        vendor, request, query = self._vendor.name, context.request, context.target.written_query
        return await run_in_thread(compute_fingerprint, vendor, request, query)

    async def assign_key(self, context: RequestContext) -> None:
        """Assign the key of a request that was refused early."""
        request = context.request
        if not context.fingerprint:
            context.fingerprint = self._fingerprint_now(context) or await self._compute_fingerprint(context)
        request.unread_collection = ""
        await self._emulator.assign_key(request, context.fingerprint)

    def parse_again(self, request: Request) -> Parsed:
        """Parse a recorded request again."""
        endpoint, _ = self._router.resolve(request.method, request.path)
        with HeaderScope(request, self._reads):
            return endpoint.parse(request, self._service)


def write_query(query: Mapping[str, str]) -> str:
    """Return a query as the fingerprint has it, in the order of its keys."""
    return "&".join(sorted([f"{key}={value}" for key, value in query.items()])) if query else ""


def compute_fingerprint(vendor: str, request: Request, query: str) -> bytes:
    """Return the fingerprint of a request, which leaves out headers, session, order of JSON keys, and boundaries.

    ``query``: query as :func:`write_query` returns it.
    """
    body = request.body
    before, after = _encode_surroundings(vendor, request.method, request.path, query, request.principal)
    if 0 < len(body) <= _MAX_CANONICAL_BODY:
        try:
            body = canonical_json(request.json())
            if body.isascii() and b"\x7f" not in body:  # what ``ascii`` gives, in a quarter of its time
                body = body.replace(b"\\", b"\\\\").replace(b"'", b"\\'")
                return derive_key_from_bytes(b"%bb'%b'%b" % (before, body, after))
        except (ValueError, RecursionError):
            body = _drop_boundary(body)
    elif body:
        body = blake2b(_drop_boundary(body)).digest()
    return derive_key_from_bytes(b"%b%b%b" % (before, ascii(body).encode(), after))


def _drop_boundary(body: bytes) -> bytes:
    """Return a form without its boundary, which clients draw anew for each request; other bodies as they are."""
    boundary, found, _ = body.partition(b"\r\n") if body.startswith(b"--") else (b"", b"", b"")
    return body.replace(boundary, b"--") if found else body


@lru(1024)
def _encode_surroundings(vendor: str, method: str, path: str, query: str, principal: str) -> tuple[bytes, bytes]:
    """Return the parts of the fingerprint's input before and after the body."""
    before, after = ascii((vendor, method, path, query)), ascii((principal,))
    return f"{before[:-1]}, ".encode(), f", {after[1:-2]})".encode()


def too_large(limit: int) -> EmulatedError:
    """Return the error for a body of more than ``limit`` bytes."""
    return EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": limit})
