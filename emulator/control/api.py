"""Serve the control API under ``/_emulator/``: authorise, find the route, run its handler, encode the result.

``http/listeners.py`` passes it every request to such a path, on any port. No scenario affects these requests.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from pydantic import BaseModel, ValidationError

from emulator import __version__
from emulator.control import models
from emulator.control.console import page_headers, read_page
from emulator.control.events import open_events
from emulator.control.handlers.report import ReportHandlers
from emulator.control.problem import format_mistakes, problem_response, refusal_response, scenario_problem
from emulator.control.routes import Route, find_route
from emulator.control.state import ControlState
from emulator.core.clock import read_real
from emulator.core.compression import unpack
from emulator.core.errors import EmulatedError, ProblemError
from emulator.core.executor import run_parsing
from emulator.core.http import Response
from emulator.core.json import JSON, TooMuch, as_text, check_json, parse_json
from emulator.core.rng import derive_key
from emulator.core.storage import ATTEMPTS, StoreLostError
from emulator.http.connection import BodyTooLargeError, IncomingRequest
from emulator.http.writer import TextStream
from emulator.journal.entry import JournalEntry
from emulator.observability.metrics import METRICS_TYPE, add_metrics, merge_metrics
from emulator.scenario.errors import Diagnostic, explain_errors
from emulator.scenario.locations import format_path
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.regex import Expressions

_MIN_WRITE = 256 * 1024  # bytes; a shorter response is sent whole


async def join_text(pieces: AsyncIterator[str], media: str) -> Response | TextStream:
    """Return text in writes of 256 KiB or more; the client's reading speed limits how fast pieces are produced."""
    headers = (("Content-Type", media),)
    writes = _join(pieces)
    first = await anext(writes)
    if len(first) < _MIN_WRITE:
        return Response(200, first, headers)
    return TextStream(_chain(first, writes), headers)


async def _join(pieces: AsyncIterator[str]) -> AsyncIterator[bytes]:
    held = bytearray()
    async for piece in pieces:
        held += piece.encode()
        if len(held) >= _MIN_WRITE:
            yield bytes(held)
            held.clear()
    yield bytes(held)


async def _chain(first: bytes, following: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in following:
        yield piece


log = logging.getLogger("emulator")
_ROOT = "/_emulator"
MAX_VALUES = 10_000  # JSON values in a request body that is no scenario
_MAX_TEXT = 4 * 1024**2  # bytes of its strings
_METRICS, _EACH = "/metrics", "/replicas/metrics"
Result = BaseModel | bytes | str | AsyncIterator[str]
_MAX_BODY = 16 * 1024**2  # bytes
_BUG = Response(
    500,
    b"The emulator itself failed; its log has the traceback.\n",
    (("Content-Type", "text/plain; charset=utf-8"), ("x-emulator-bug", "1")),
)


class ControlAPI:
    """Handler of all requests under ``/_emulator``."""

    def __init__(self, state: ControlState) -> None:
        self._state = state
        self._runtime = state.runtime
        self._actions = ReportHandlers(state.runtime)
        self.report_open = self._actions.report_open

    async def serve(self, http: IncomingRequest) -> Response | TextStream:
        """Answer a request under ``/_emulator/``; an internal error is a 500 with ``x-emulator-bug``."""
        try:
            return await self._answer_or_refuse(http)
        except ConnectionError:
            raise
        except Exception:
            log.exception("bug in the control plane: %s %s", http.head.method, http.head.path)
            return _BUG

    async def _answer_or_refuse(self, http: IncomingRequest) -> Response | TextStream:
        try:
            return await self._answer(http)
        except ProblemError as error:
            return refusal_response(error)
        except ScenarioError as error:
            return scenario_problem(error)
        except StoreLostError as error:
            detail = f"The store that replicas share does not answer: {error}"
            return problem_response(models.Problem(title="No store", status=503, detail=detail))

    def refuse_session(self, detail: str) -> Response:
        """Return 400 for a session name that is none."""
        return problem_response(models.Problem(title="Bad session", status=400, detail=detail))

    async def serve_unknown(self, method: str, session: str, path: str) -> Response:
        """Answer 404 for a path of no served vendor, and add the request to the journal."""
        active = self._runtime.for_session(session)
        served = ", ".join(f"/{name}" for name in active.apps) or "nothing"
        hint = active.suggestions.explain_front(method, path)
        detail = f"Nothing is served at {path}; {hint or f'the front port serves {served}.'}"
        emulator, journal = active.emulator, self._runtime.journal
        fingerprint = derive_key("", method, path)
        entry = JournalEntry(
            id="",
            time=emulator.clock.now(),
            vendor=None,
            method=method,
            path=path,
            status=404,
            session=session,
            start_seq=journal.next_seq(),
            error="not_found",
            hint=detail,
        )
        entry.real_start = entry.real_end = read_real(emulator.clock)
        attempt = 0
        with suppress(EmulatedError):  # without the store it counts as the first attempt
            attempt = await emulator.state.count(session, ATTEMPTS, fingerprint)
        entry.id = emulator.derive_answer_key(fingerprint, attempt).hex()
        entry.attempts, entry.retry_of = journal.follow(session, fingerprint, entry.id)
        entry.number = entry.attempts.count
        journal.add(entry, emulator.journal.entries)
        return problem_response(models.Problem(title="Not found", status=404, detail=detail))

    async def _answer(self, http: IncomingRequest) -> Response | TextStream:
        route, name = self._admit(http)
        query = _read_query(http, route)
        body = await self._prepare(http, route)
        if isinstance(query, models.EventsQuery):
            return open_events(http, self._runtime, query)
        if not route.path:
            return Response(200, read_page(), tuple(page_headers().items()))
        if route.path == "/health":
            return _json(self._health())
        if route.path == "/ready":
            ready = models.Ready(ready=self._state.ready, urls=dict(self._state.urls))
            return _json(ready, 200 if ready.ready else 503)
        if route.path == "/ca.pem":
            return self._trusted(route)
        taken = await run_parsing(body, _read_json, body, route.takes) if route.takes else body
        result = await self._act(route, query, taken, name)
        if route.action == "put_scenario":
            await self._state.follow()
        return await _build(result, _name_media(route))

    async def _act(self, route: Route, query: BaseModel, taken: BaseModel | bytes, name: str) -> Result:
        """Run the handler of a route; metrics are merged over workers or replicas."""
        controller, asked = self._runtime.controller, query.model_dump()
        if route.path == _EACH:
            return merge_metrics(_by_replica(await controller.gather("metrics")))
        if route.path == _METRICS and not controller.counts_for_all:
            return add_metrics(_by_replica(await controller.gather("metrics", asked)))
        result: Result = await getattr(self._actions, route.action)(query, taken, name)
        return result

    async def report_metrics(self, about: JSON) -> JSON:
        """Return the metrics of this process as Prometheus text."""
        route, _ = find_route("GET", _METRICS)
        text: str = await getattr(self._actions, route.action)(route.query.model_validate(about or {}), b"", "")
        return text

    async def _prepare(self, http: IncomingRequest, route: Route) -> bytes:
        """Read the body, and the journal records of other processes if the route needs them."""
        body = await _read_body(http)
        if route.is_of_journal:
            await self._runtime.controller.catch_up()
        return body

    def _admit(self, http: IncomingRequest) -> tuple[Route, str]:
        """Authorise a request and return its route, with the name in the path.

        Raises:
            ProblemError: 401, 403, 404 or 405.
        """
        self._state.auth.check_browser(http.head.headers, http.head.target, http.connection.local)
        route, name = find_route(http.head.method, http.head.path.removeprefix(_ROOT).rstrip("/"))
        if not route.is_open:
            self._state.auth.check_caller(http.head.headers, http.connection.peer)
        return route, name

    def _health(self) -> models.Health:
        loaded = self._runtime.active.loaded
        return models.Health(
            version=__version__,
            uptime_seconds=round(self._runtime.uptime, 3),
            scenario=models.ScenarioName(name=loaded.scenario.name, hash=loaded.digest),
        )

    def _trusted(self, route: Route) -> Response:
        if self._state.authority is None:
            detail = "This server has no authority of its own: it speaks plain HTTP or was given its certificate."
            raise ProblemError(404, "No authority", detail)
        return Response(200, self._state.authority, (("Content-Type", route.media),))


async def _build(result: Result, media: str) -> Response | TextStream:
    if isinstance(result, AsyncIterator):
        return await join_text(result, media)
    if isinstance(result, str):
        return Response(200, result.encode("utf-8", "replace"), (("Content-Type", media),))
    return _json(result)


def _name_media(route: Route) -> str:
    if route.media == "text/plain":
        return METRICS_TYPE
    return f"{route.media}; charset=utf-8" if route.media.startswith("text/") else route.media


def _by_replica(texts: Mapping[str, JSON]) -> Mapping[str, str]:
    """Return the texts by the last part of the replica's name."""
    return {name.rpartition(":")[2]: as_text(text) for name, text in texts.items()}


def _json(value: BaseModel | bytes, status: int = 200) -> Response:
    body = value if isinstance(value, bytes) else models.dump_model(value).encode()
    return Response(status, body + b"\n")  # a terminal's next line begins after it


def _read_query(http: IncomingRequest, route: Route) -> BaseModel:
    values = http.head.query_values
    pairs = list(values.items())
    twice = sorted({name for name, _ in pairs if len(values.getall(name)) > 1})
    if twice:
        raise ProblemError(400, "Bad query", f"{twice[0]}: given more than once")
    try:
        return route.query.model_validate(dict(pairs))
    except ValidationError as error:
        said = _describe(error, dict(pairs), route.query)
        raise ProblemError(400, "Bad query", said if route.query.model_fields else f"{said}; there are none") from None


def _read_json(body: bytes, model: type[BaseModel]) -> BaseModel:
    try:
        check_json(body, MAX_VALUES, _MAX_TEXT)
        value = parse_json(body)
    except TooMuch as error:
        raise ProblemError(413, "Too large", f"The body has {error}.") from None
    except ValueError as error:
        raise ProblemError(400, "Malformed JSON", str(error)) from None
    try:
        return model.model_validate(value, context=Expressions())
    except ValidationError as error:
        raise ProblemError(422, "Bad body", _describe(error, value, model)) from None


def _describe(error: ValidationError, data: JSON, model: type[BaseModel]) -> str:
    """Describe every validation error, with a suggestion for a misspelt name."""
    mistakes = explain_errors(error, data, model.model_json_schema())
    rows = [Diagnostic("", 0, 0, format_path(each.path), each.message, each.suggestion) for each in mistakes]
    return format_mistakes(rows, "; ")


async def _read_body(http: IncomingRequest) -> bytes:
    try:
        body = await http.read(_MAX_BODY)
    except BodyTooLargeError:
        headers = {"Connection": "close"}
        raise ProblemError(413, "Too large", f"A body has at most {_MAX_BODY} bytes.", headers) from None
    try:
        return await unpack(body, http.head.headers.get("Content-Encoding", ""), _MAX_BODY)
    except EmulatedError:
        raise ProblemError(413, "Too large", f"Unpacked, a body has at most {_MAX_BODY} bytes.") from None
