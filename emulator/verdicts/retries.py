"""Rules of verdicts about retries: which requests are repeated, how often, and under which key."""

from collections.abc import Iterator, Sequence

from emulator.core.redaction.credentials import MaskedCredential
from emulator.verdicts.calls import UNLIMITED, Call, CallHistory, Retry
from emulator.verdicts.rules import Breach, Expectations, Finding, Unjudged, VerdictRule

_UNAUTHORIZED = frozenset({401, 403})


def _judge_attempts(history: CallHistory, expected: Expectations) -> Finding:
    if not any(chain[0].failed for chain in history.chains):
        return Unjudged("no call failed")
    return [
        *(
            _breach_of_attempts(chain, "a sound client gives up", expected.attempts)
            for chain in history.own_chains
            if chain[0].failed and len(chain) > expected.attempts
        ),
        *(
            _breach_of_attempts(calls, f"{callers} sound callers give up", expected.attempts * callers)
            for calls, callers in list_crowds(history, expected)
            if len(calls) > expected.attempts * callers
        ),
    ]


def list_crowds(history: CallHistory, expected: Expectations) -> Iterator[tuple[Sequence[Call], int]]:
    """Yield the calls of equal chains that were open at once, and the number of their callers."""
    for crowd in history.crowds:
        callers = len(crowd) if expected.hedges in (1, UNLIMITED) else expected.hedges
        yield sorted((call for chain in crowd for call in chain), key=lambda call: call.start), callers


def _breach_of_attempts(calls: Sequence[Call], who: str, allowed: int) -> Breach:
    sentence = f"Call {calls[-1].name} is attempt {len(calls)} of the same request; {who} after {allowed}."
    return Breach("attempts", calls, sentence, {"attempts": len(calls), "allowed": allowed})


def _judge_useless(history: CallHistory, expected: Expectations) -> Finding:
    if not any(call.is_hopeless for call in history.calls):
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
        if retry.before.is_hopeless and not _has_other_key(retry)
    ]


def _has_other_key(retry: Retry) -> bool:
    """Return whether a client whose credential was refused comes back with another."""
    is_refused = retry.before.status in _UNAUTHORIZED and not retry.before.is_refused_for_its_content
    if not is_refused or not (retry.before.content.is_kept and retry.call.content.is_kept):
        return False
    before, now = retry.before.content.credentials, retry.call.content.credentials
    return len(before) != len(now) or any(map(_is_other, before, now))


def _is_other(before: str, credential: str) -> bool:
    """Return whether credentials differ; of a call to another replica only the masked text is known."""
    is_known = isinstance(before, MaskedCredential) and isinstance(credential, MaskedCredential)
    return before != credential if is_known else str.__ne__(before, credential)


def _describe(call: Call) -> str:
    return f"{call.status} ({call.error})" if call.error else str(call.status)


def _judge_delivery(history: CallHistory, expected: Expectations) -> Finding:
    if expected.retries_after_delivery:
        return Unjudged("`expect` allows it")
    if not any(call.is_partly_delivered for call in history.calls):
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
        if retry.before.is_partly_delivered
    ]


def _judge_keys(history: CallHistory, expected: Expectations) -> Finding:
    retries = [
        (retry, retry.before.idempotency_key, retry.call.idempotency_key)
        for chain in history.own_chains
        for retry in map(Retry, chain, chain[1:])
        if retry.before.content.is_kept and retry.call.content.is_kept
    ]
    keyed = [row for row in retries if row[1] or row[2]]
    if not keyed:
        return Unjudged("no call with an idempotency key was tried again")
    return [_breach_of_key(retry) for retry, before, key in keyed if before != key]


def _breach_of_key(retry: Retry) -> Breach:
    key = retry.call.idempotency_key
    what = "another idempotency key" if key and retry.before.idempotency_key else "an idempotency key"
    if not key:
        what = "no idempotency key"
    sentence = f"Call {retry.call.name} repeats {retry.before.name} with {what}; all attempts bear the same."
    return Breach("one_idempotency_key", (retry.before, retry.call), sentence)


ATTEMPTS = VerdictRule("attempts", _judge_attempts)
NO_USELESS_RETRY = VerdictRule("no_useless_retry", _judge_useless)
NO_RETRY_AFTER_DELIVERY = VerdictRule("no_retry_after_delivery", _judge_delivery)
ONE_IDEMPOTENCY_KEY = VerdictRule("one_idempotency_key", _judge_keys)
