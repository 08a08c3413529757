"""Answer requests of one vendor from recorded exchanges (``replay:`` of a scenario).

``recording/canonical.py`` decides which recorded request equals a new one, ``recording/replay.py`` builds the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.faultable import FaultableResponse
from emulator.core.http import Request
from emulator.core.plan import Plan
from emulator.core.vendor import AnyVendor, Vendors
from emulator.handler.context import RequestContext
from emulator.handler.planning import Emulator
from emulator.http.routing import Router
from emulator.recording.canonical import CanonicalRequest
from emulator.recording.exchange import Exchange, parse_named_exchanges
from emulator.recording.redact import Secrets, redact_headers, redact_whole
from emulator.recording.replay import RecordedExchange, Recording, build_response, choose
from emulator.scenario.matching import Match
from emulator.scenario.models import Replay, ReplayTiming, TimingScale
from emulator.scenario.outcomes import FixedUsage, ReplyOutcome

_SCOPE = "replay"
_MODEL_PARAMETERS = ("name", "deployment", "model", "model_id", "endpoint")
_ERROR = 400


class Resolver:
    """Finds the operation of a request: method and path pattern, and the model that the path names."""

    def __init__(self, vendor: AnyVendor) -> None:
        self._router = Router(vendor.endpoints)

    def __call__(self, method: str, path: str) -> tuple[str, str]:
        try:
            endpoint, parameters = self._router.resolve(method, path)
        except EmulatedError:
            return f"{method} {path}", ""
        model = next((parameters[name] for name in _MODEL_PARAMETERS if parameters.get(name)), "")
        others = [f"{name}={value}" for name, value in sorted(parameters.items()) if value != model]
        return " ".join([method, endpoint.path, *others]), model


@lru_cache(maxsize=32)
def load_recording(texts: tuple[str, ...], vendor: AnyVendor, counting: tuple[str, ...]) -> Recording:
    """Load the exchanges of a vendor, ready to be replayed; ``counting``: parts of a request that count."""
    recording = Recording(parse_named_exchanges(texts), vendor.name, Resolver(vendor), counting)
    recording.prepare()
    return recording


def list_recorded(settings: Replay, served: Iterable[str]) -> list[str]:
    """Return the served vendors that have recorded exchanges.

    Raises:
        ExchangeError: an exchange is malformed.
    """
    recorded = {exchange.vendor for exchange in parse_named_exchanges(settings.exchanges or ())}
    return [name for name in served if name in recorded]


def read_ahead(settings: Replay, vendors: Vendors) -> None:
    """Read the exchanges of every vendor, so that no first request waits for that."""
    for name in list_recorded(settings, vendors):
        load_recording(settings.exchanges or (), vendors[name], tuple(settings.match))


class Replayer:
    """Recorded exchanges of one vendor under one scenario."""

    def __init__(self, vendor: AnyVendor, settings: Replay, emulator: Emulator) -> None:
        self._vendor = vendor
        self._settings = settings
        self._emulator = emulator
        self._recording = load_recording(settings.exchanges or (), vendor, tuple(settings.match))

    async def find(self, context: RequestContext, *, is_refused: bool = False) -> RecordedExchange | None:
        """Return the exchange that answers a request; equal requests get theirs in order.

        ``is_refused``: the credential is not valid, so that only a recorded refusal of one is the answer.
        """
        request = context.request
        plain = self._recording.canonicalize(request.method, request.path, request.body)
        found, key = self._recording.find(plain)
        if not found:  # few requests have a credential in their body, and the search for one takes long
            found, key = self._recording.find(self._redact(request))
        if not found or (is_refused and not any(map(_refuses_credential, found))):
            return None
        count = await self._emulator.state.count(request.session, _SCOPE, key)
        chosen = choose(found, count, self._settings.after)
        return None if is_refused and chosen is not None and not _refuses_credential(chosen) else chosen

    def explain_miss(self, context: RequestContext) -> str:
        """Describe the nearest recorded request and what differs."""
        return self._recording.explain_miss(self._redact(context.request))

    def _redact(self, request: Request) -> CanonicalRequest:
        """Return the canonical form of a request without its credentials, which the recorded ones lack, too."""
        secrets = Secrets()
        redact_headers(request.headers.items(), secrets, "request")
        body = redact_whole(request.body, secrets, "request body")
        return self._recording.canonicalize(request.method, request.path, body)

    def read(self, recorded: RecordedExchange) -> ReplayedAnswer:
        """Return the answer of an exchange."""
        return ReplayedAnswer(recorded, self._settings.timing, self._vendor)


def _refuses_credential(recorded: RecordedExchange) -> bool:
    return recorded.exchange.status in (401, 403)


@fast_dataclass(frozen=True, slots=True)
class ReplayedAnswer:
    """Recorded answer to a request."""

    recorded: RecordedExchange
    timing: ReplayTiming
    vendor: AnyVendor

    @property
    def is_planned(self) -> bool:
        """Whether the exchange is a model's response, which costs quota, rather than an error."""
        return 200 <= self.recorded.exchange.status < _ERROR

    def fix(self, match: Match) -> Match:
        """Return the match with the recorded text as its reply, so that quotas and journal count it."""
        reply: dict[str, object] = {}
        content = self.recorded.content
        if content.text:
            reply["text"] = content.text
        if content.counts:
            reply["usage"] = FixedUsage.model_construct(set(content.counts), **content.counts)
        if not reply:
            return match
        outcome = match.outcome.model_copy(update={"reply": ReplyOutcome.model_construct(set(reply), **reply)})
        return replace(match, outcome=outcome)

    def build(self, plan: Plan | None) -> FaultableResponse:
        """Build the response; ``plan``: of the call, if it was planned."""
        tokens = 0 if plan is None else plan.usage.completion_tokens
        schedule = _schedule(self.timing, self.recorded.exchange, plan)
        return build_response(self.recorded, tokens, schedule, fields=self.vendor.fields, is_dated=self.vendor.date)


def _schedule(timing: ReplayTiming, exchange: Exchange, plan: Plan | None) -> Callable[[float], float]:
    """Return the function from recorded to due times."""
    if timing == "none" or (timing == "fitted" and plan is None):
        return lambda offset: 0.0
    if isinstance(timing, TimingScale):
        factor = timing.scaled
        return lambda offset: offset * factor
    if timing == "recorded" or plan is None:
        return lambda offset: offset
    return _fit(exchange, plan)


def _fit(exchange: Exchange, plan: Plan) -> Callable[[float], float]:
    """Return the function that moves the writes of a stream to the due times of the plan's tokens."""
    due = plan.choices[0].due if plan.choices else ()
    offsets = sorted({write.offset for write in exchange.writes})
    if not len(due) or len(offsets) < 2:
        return lambda offset: plan.due
    places = {offset: due[number * (len(due) - 1) // (len(offsets) - 1)] for number, offset in enumerate(offsets)}
    first, last = float(due[0]), float(due[-1])
    return lambda offset: float(places.get(offset, first if offset <= offsets[0] else last))
