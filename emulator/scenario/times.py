"""Compile the ``times`` of a rule to tests of the ordinal and the time of a request.

Apart from ``matching.py``, which is compiled: a compiled function takes a moment for a plain number of seconds.
"""

from collections.abc import Callable, Iterator

from pydantic import BaseModel

from emulator.core.json import JSON, dump_text
from emulator.core.rng import derive_key, draw_integer, prepare_key
from emulator.core.units import Instant, TimeOfDay, write_date
from emulator.scenario.conditions import Condition
from emulator.scenario.matchers import RequestAttributes
from emulator.scenario.models import Rule
from emulator.scenario.outcomes import Share, Times

TimeTest = Callable[[int, RequestAttributes], bool]
_MAX_VALUE = 80  # characters
_MAX_SEEN = 65_536  # requests of which a share remembers the place
_DAY = 86400  # seconds


def format_match(value: Condition | JSON) -> str:
    """Format a value as JSON of up to 80 characters."""
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    text = dump_text(value[0] if isinstance(value, tuple) and len(value) == 1 else value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 1] + "…"


def compile_count_key(rule: Rule) -> Callable[[RequestAttributes], bytes]:
    """Return the function that derives the key of a rule's counter within a session, by the rule's scope."""
    match rule.scope:
        case "request":
            of_request = prepare_key(rule.name, "request", ...)
            return lambda attributes: of_request(attributes.fingerprint)
        case "principal":
            of_principal = prepare_key(rule.name, "principal", ...)
            return lambda attributes: of_principal(attributes.request.principal)
        case "deployment":
            of_deployment = prepare_key(rule.name, "deployment", ..., ...)
            return lambda attributes: of_deployment(attributes.vendor, attributes.deployment)
    key = derive_key(rule.name)
    return lambda attributes: key


class ShareTest:
    """Test for one of each ``of`` new requests, in order; a repeated request has the result of the first.

    The place within each group is drawn. ``by_hash``: several processes share the requests, so each request has its
    chance by its fingerprint alone.
    """

    def __init__(self, share: Share, rule: Rule, key: bytes, *, by_hash: bool) -> None:
        self._of = share.of
        self._key = derive_key(key, "share", rule.name, share.salt)
        self._by_hash = by_hash
        self._scope = compile_count_key(rule) if rule.scope != "request" else lambda attributes: b""
        self._next: dict[tuple[str, bytes], int] = {}
        self._seen: dict[tuple[str, bytes, bytes], int] = {}

    def __call__(self, ordinal: int, attributes: RequestAttributes) -> bool:
        if self._by_hash:
            return draw_integer(self._key, self._of, attributes.fingerprint) == 0
        counter = attributes.request.session, self._scope(attributes)
        request = (*counter, attributes.fingerprint)
        position = self._seen.get(request)
        if position is None:
            position = self._next.get(counter, 0)
            self._next[counter] = position + 1
            if len(self._seen) >= _MAX_SEEN:
                del self._seen[next(iter(self._seen))]
            self._seen[request] = position
        group, place = divmod(position, self._of)
        return draw_integer(self._key, self._of, group) == place

    def forget(self, session: str) -> None:
        """Forget the requests of a session that has ended."""
        self._next = {counter: position for counter, position in self._next.items() if counter[0] != session}
        self._seen = {request: position for request, position in self._seen.items() if request[0] != session}


def compile_times(
    rule: Rule, draw: Callable[[bytes, int], float] | None, key: bytes, *, by_hash: bool
) -> Iterator[tuple[str, TimeTest]]:
    """Compile a test of the ordinal and time of a request for each key of ``times`` that is set.

    A share comes first, as it counts every request.
    """
    if rule.times is None:
        return
    if rule.times.share is not None:
        yield "share", ShareTest(rule.times.share, rule, key, by_hash=by_hash)
    yield from _compile_counts(rule.times)
    yield from _compile_moments(rule.times, draw)


def _compile_counts(times: Times) -> Iterator[tuple[str, TimeTest]]:
    first, nth, every, after = times.first, times.nth, times.every, times.after
    if first is not None:
        yield "first", lambda ordinal, attributes: ordinal <= first
    if nth is not None:
        yield "nth", lambda ordinal, attributes: ordinal in nth
    if every is not None:
        yield "every", lambda ordinal, attributes: ordinal % every == 0
    if after is not None:
        yield "after", lambda ordinal, attributes: ordinal > after


def _compile_moments(times: Times, draw: Callable[[bytes, int], float] | None) -> Iterator[tuple[str, TimeTest]]:
    between, repeat, probability = times.between, times.repeat, times.probability
    if between is not None:
        yield "between", _compile_between(*between)
    if repeat is not None:
        yield "repeat", lambda ordinal, attributes: attributes.since_start % repeat.every < repeat.for_
    if draw is not None and probability is not None:
        yield "probability", lambda ordinal, attributes: draw(attributes.fingerprint, attributes.attempt) < probability


def _compile_between(begin: float, end: float) -> TimeTest:
    """Compile a test of the time since the start, of the time of day, or of the date."""
    if isinstance(begin, Instant):
        return lambda ordinal, attributes: begin <= attributes.now < end
    if not isinstance(begin, TimeOfDay):
        return lambda ordinal, attributes: begin <= attributes.since_start < end
    if begin < end:
        return lambda ordinal, attributes: begin <= attributes.now % _DAY < end
    return lambda ordinal, attributes: not end <= attributes.now % _DAY < begin


def describe_time(times: Times, key: str, ordinal: int, attributes: RequestAttributes, draw: float | None) -> str:
    """Describe why a key of ``times`` does not hold for the ``ordinal``-th request of a rule."""
    if key == "between" and times.between is not None and type(times.between[0]) is not float:
        return f"at {write_date(attributes.now)}, wanted {format_match([*map(str, times.between)])}"
    since_start, wanted = attributes.since_start, format_match(getattr(times, key))
    if key == "probability":
        return f"drew {draw:.6f}, wanted below {wanted}"
    if key == "share" and times.share is not None:
        return f"another one of {times.share.of} requests"
    if key in ("between", "repeat"):
        return f"at {since_start:g} s, wanted {wanted}"
    return f"call {ordinal}, wanted {key} {wanted}"
