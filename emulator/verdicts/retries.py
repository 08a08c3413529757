"""Rules of verdicts about retries: which requests are repeated, how often, and under which key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from emulator.verdicts.calls import Call, CallHistory, Retry
from emulator.verdicts.rules import Breach, Expectations, Finding, Unjudged, VerdictRule

_HOPELESS = frozenset({400, 401, 403, 404, 413, 422})
_UNAUTHORIZED = frozenset({401, 403})
_HOPELESS_KINDS = frozenset({"content_filter", "context_length"})
_PASSING_KINDS = frozenset({"internal", "not_ready", "overloaded", "rate_limited", "timeout"})  # under any status
_KEYS = ("idempotency-key", "x-idempotency-key")


def _judge_attempts(history: CallHistory, expected: Expectations) -> Finding:
    chains = [chain for chain in history.chains if chain[0].failed]
    if not chains:
        return Unjudged("no call failed")
    shared: dict[Hashable, list[Call]] = defaultdict(list)
    for chain in chains:
        if chain[0].key in history.shared:
            shared[chain[0].key] += chain
    found = [chain for chain in chains if chain[0].key not in history.shared and len(chain) > expected.attempts]
    return [
        *(_breach_of_attempts(chain, "a sound client gives up", expected.attempts) for chain in found),
        *(
            _breach_of_attempts(calls, f"{expected.hedges} sound callers give up", expected.attempts * expected.hedges)
            for calls in shared.values()
            if len(calls) > expected.attempts * expected.hedges
        ),
    ]


def _breach_of_attempts(calls: Sequence[Call], who: str, allowed: int) -> Breach:
    sentence = f"Call {calls[-1].name} is attempt {len(calls)} of the same request; {who} after {allowed}."
    return Breach("attempts", calls, sentence, {"attempts": len(calls), "allowed": allowed})


def is_hopeless(call: Call) -> bool:
    """Return whether the same request cannot succeed later."""
    if call.error in _HOPELESS_KINDS:
        return True
    return call.status in _HOPELESS and call.error not in _PASSING_KINDS


def _judge_useless(history: CallHistory, expected: Expectations) -> Finding:
    if not any(is_hopeless(call) for call in history.calls):
        return Unjudged("no call was refused for good")
    return [
        Breach(
            "no_useless_retry",
            (retry.before, retry.call),
            f"Call {retry.call.name} repeats {retry.before.name}, which was refused with {_describe(retry.before)}; "
            "a sound client does not repeat what cannot succeed.",
            {"status": retry.before.status},
        )
        for retry in history.retries
        if is_hopeless(retry.before) and not _has_other_key(retry)
    ]


def _has_other_key(retry: Retry) -> bool:
    """Return whether a client whose credential was refused comes back with another."""
    is_refused = retry.before.status in _UNAUTHORIZED and retry.before.error not in _HOPELESS_KINDS
    return is_refused and retry.before.content.credentials != retry.call.content.credentials


def _describe(call: Call) -> str:
    return f"{call.status} ({call.error})" if call.error else str(call.status)


def _is_partly_delivered(call: Call) -> bool:
    """Return whether the client has bytes of the answer, other than those of an error, but not the whole answer."""
    has_bytes = call.delivered > 0 or (call.bytes_out > 0 and call.error is None)
    return call.failed and 200 <= call.status < 400 and has_bytes and (call.stream or not call.whole)


def _judge_delivery(history: CallHistory, expected: Expectations) -> Finding:
    if expected.retries_after_delivery:
        return Unjudged("`expect` allows it")
    if not any(map(_is_partly_delivered, history.calls)):
        return Unjudged("no answer broke off after its first bytes")
    return [
        Breach(
            "no_retry_after_delivery",
            (retry.before, retry.call),
            f"Call {retry.call.name} asks again, though {retry.before.bytes_out} bytes of the answer to "
            f"{retry.before.name} were delivered; a sound client does not start an answer twice.",
            {"bytes": retry.before.bytes_out, "tokens": retry.before.delivered},
        )
        for retry in history.retries
        if _is_partly_delivered(retry.before)
    ]


def _judge_keys(history: CallHistory, expected: Expectations) -> Finding:
    retries = [
        (retry, _find_key(retry.before), _find_key(retry.call))
        for retry in history.retries
        if retry.before.content.is_kept and retry.call.content.is_kept
    ]
    keyed = [row for row in retries if row[1] or row[2]]
    if not keyed:
        return Unjudged("no call with an idempotency key was tried again")
    return [_breach_of_key(retry) for retry, before, key in keyed if before != key]


def _breach_of_key(retry: Retry) -> Breach:
    key = _find_key(retry.call)
    what = "another idempotency key" if key and _find_key(retry.before) else "an idempotency key"
    if not key:
        what = "no idempotency key"
    sentence = f"Call {retry.call.name} repeats {retry.before.name} with {what}; all attempts bear the same."
    return Breach("one_idempotency_key", (retry.before, retry.call), sentence)


def _find_key(call: Call) -> str:
    return next((call.content.sent[name] for name in _KEYS if name in call.content.sent), "")


ATTEMPTS = VerdictRule("attempts", _judge_attempts)
NO_USELESS_RETRY = VerdictRule("no_useless_retry", _judge_useless)
NO_RETRY_AFTER_DELIVERY = VerdictRule("no_retry_after_delivery", _judge_delivery)
ONE_IDEMPOTENCY_KEY = VerdictRule("one_idempotency_key", _judge_keys)
