"""Tests of the rules: calls that break each, that keep it, and that it does not judge."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import pytest

from emulator.core.json import JSON
from emulator.core.redaction.credentials import MaskedCredential
from emulator.verdicts.calls import UNLIMITED, Call, CallContent, build_history
from emulator.verdicts.judge import RULE_NAMES, Judgement, judge
from emulator.verdicts.rules import ROBUST, Budget, Expectations

CUT = "The river begins in the hills"


def call(
    start: float = 0.0,
    took: float = 0.1,
    status: int = 200,
    *,
    key: str = "q",
    retry_after: str = "",
    sent: Mapping[str, str] | None = None,
    body: JSON = None,
    text: str = "",
    tool_calls: Sequence[tuple[str, str]] = (),
    error: str | None = None,
    stream: bool = False,
    whole: bool = True,
    client_left: bool = False,
    has_ended: bool = True,
    faults: Sequence[str] = (),
    delivered: int = 0,
    bytes_out: int = 0,
    connection: int = 0,
    left_at_once: bool = False,
    cost: float = 0.0,
    credentials: Sequence[str] = (),
    is_kept: bool = True,
) -> Call:
    received = {"retry-after": retry_after} if retry_after else {}
    content = CallContent(
        sent or {}, received, body=body, text=text, tool_calls=tool_calls, credentials=credentials, is_kept=is_kept
    )
    return Call(
        id=f"{key}@{start}", number=int(start * 10) + 1, key=key, start=start, end=start + took, status=status,
        error=error, stream=stream, whole=whole, client_left=client_left, has_ended=has_ended, faults=faults,
        delivered=delivered, bytes_out=bytes_out, connection=connection, left_at_once=left_at_once, cost=cost,
        read=lambda: content,
    )  # fmt: skip


def refused(start: float, key: str = "q", status: int = 503, **more: JSON) -> Call:
    return call(start, 0.0, status, key=key, **more)  # type: ignore[arg-type]


def cut(start: float = 0.0, key: str = "q", **more: JSON) -> Call:
    given = {"stream": True, "whole": False, "bytes_out": 90, "delivered": 7, "text": CUT, **more}
    return call(start, 0.5, key=key, **given)  # type: ignore[arg-type]


def left(start: float = 0.0, took: float = 0.1, **more: JSON) -> Call:
    """Return a stream whose client closed it."""
    given = {"stream": True, "whole": False, "client_left": True, "delivered": 3, "bytes_out": 90, **more}
    return call(start, took, **given)  # type: ignore[arg-type]


def after(*waits: float) -> list[Call]:
    """Calls of several callers that come after their waits."""
    return [call(wait, key=key) for wait, key in zip(waits, "abcdefgh", strict=False)]


def decide(calls: Sequence[Call], expected: Expectations = ROBUST, *, follows_clock: bool = True) -> Judgement:
    ordered = sorted(calls, key=lambda one: one.start)
    return judge(build_history(ordered, follows_clock=follows_clock, hedges=expected.hedges), expected)


def kept(verdict: Judgement, rule: str) -> bool | None:
    return next(row.kept for row in verdict.rules if row.rule == rule)


def chat(*messages: JSON) -> JSON:
    return {"messages": [*messages]}


def tool_turn(result: JSON, arguments: str = '{"city": "Par') -> JSON:
    asked: JSON = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": arguments}}]}
    return chat(asked, {"role": "tool", "tool_call_id": "c1", "content": result})


def key_of(value: str) -> Mapping[str, str]:
    return {"idempotency-key": value}


BAD_CALL = call(tool_calls=[("f", '{"city": "Par')])
SAID = chat({"role": "assistant", "content": CUT}, {"role": "user", "content": "And?"})
SAID_WHOLE = chat({"role": "assistant", "content": f"{CUT} and ends in the sea."}, {"role": "user", "content": "And?"})
TRIO = [refused(0, key) for key in "abc"]
SIX = [refused(0, key) for key in "abcdef"]
TOLD = "honours_retry_after"
GONE = "no_retry_after_delivery"
TEXT = "incomplete_stream_failed"
KEYS = "one_idempotency_key"
POOL = Expectations(concurrency=2)
TWINS = Expectations(hedges=3)
ANY = Expectations(hedges=UNLIMITED, ignored=frozenset({"hedges"}))
ECHO = chat({"role": "user", "content": f"{CUT} and ends in the sea"})
REUSE = Expectations(reuses_connections=True)
SPENDING = Expectations(budget=Budget(output_tokens=10))


@pytest.mark.parametrize(
    ("rule", "calls", "expected", "wanted"),
    [
        (TOLD, [refused(0, status=429, retry_after="2"), call(0.2)], ROBUST, False),
        (TOLD, [refused(0, status=429, retry_after="2"), call(1.79)], ROBUST, False),
        (TOLD, [refused(0, status=429, retry_after="2"), call(1.81)], ROBUST, True),
        (TOLD, [refused(0, status=429, retry_after="2")], ROBUST, None),
        (TOLD, [refused(0, status=429, retry_after="2"), call(0.2, key="other")], ROBUST, None),
        (TOLD, [refused(0), call(0.2)], ROBUST, None),
        ("backs_off", [refused(0), refused(1), call(2)], ROBUST, False),
        ("backs_off", [refused(0), refused(0), call(0.001)], ROBUST, False),
        ("backs_off", [refused(0), refused(0.6), call(1.36)], ROBUST, True),  # 0.5 s and 0.75 s, on a busy machine
        ("backs_off", [refused(0), refused(0.3), call(0.6)], ROBUST, False),
        ("backs_off", [refused(0), refused(0.5), call(1.1)], ROBUST, False),
        ("backs_off", [refused(0), refused(0.3), refused(0.6), call(0.9)], ROBUST, False),
        ("backs_off", [refused(0), refused(1), call(2.6)], ROBUST, True),
        ("backs_off", [refused(0), call(1)], ROBUST, None),
        ("backs_off", [refused(0, retry_after="1"), refused(1, retry_after="1"), call(2)], ROBUST, None),
        (
            "backs_off",
            [refused(0), refused(1), refused(2.1), call(6)],
            ROBUST,
            True,
        ),  # the last makes up for the second
        ("backs_off", [refused(0), refused(1), refused(3), call(5)], ROBUST, True),  # to a maximum
        ("backs_off", [refused(0), refused(1), refused(2.1), call(3.3)], ROBUST, False),
        # full jitter: some wait is shorter than one before
        ("backs_off", [refused(0), refused(0.9), refused(1.2), call(3)], ROBUST, None),
        *[
            ("backs_off", [refused(start) for start in accumulate(waits, initial=0.0)], ROBUST, wanted)
            for waits, wanted in (
                ((1.4, 1.1) * 5, False),
                ((1, 2, 1, 8, 5, 9, 20, 40), True),
                ((1.4, 1.1) * 3, None),
                ((1, 1.25, 1.56, 1.95, 2.44), False),  # too little each time
                ((1, 1.5, 2.25, 3.4), True),
                # at once, then after waits that do not grow
                ((0, 1, 1, 1, 1, 1, 1), False),
                ((0.05, 1, 1, 1, 1), False),
                ((0, 0.005, 1, 1), False),
                ((0, 1, 2, 4), True),
                ((0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1, 1), True),
                ((0.05, 1, 1.15), True),  # may be drawn
                ((0.03, 0.06, 0.12, 0.12), True),  # to a maximum
                # waits that only fall are hardly drawn
                ((4, 2, 1), False),
                ((1.3, 1, 1), False),
                ((0.9, 0.5), None),
            )
        ],
        # by client: of one that draws its waits, and one that does not
        *[
            (
                "backs_off",
                [
                    refused(start, key, sent={"user-agent": key})
                    for key, waits in (("a", (1, 3, 0.5)), ("b", others))
                    for start in accumulate(waits, initial=0.0)
                ],
                ROBUST,
                wanted,
            )
            for others, wanted in (((1, 1), False), ((1, 2), True), ((1, 0.5), None))
        ],
        ("backs_off", [refused(0), refused(0.2), call(0.36)], ROBUST, False),  # busy for 40 ms
        ("backs_off", [refused(0), refused(0.2), call(0.201)], ROBUST, False),  # busy, and without waits
        # of twenty chains, those whose waits are equal are not drawn, whatever the others are
        *[
            (
                "backs_off",
                [
                    refused(start, f"{n}")
                    for n in range(20)
                    for start in accumulate(other if n < others else waits, initial=0.0)
                ],
                ROBUST,
                wanted,
            )
            for waits, other, others, wanted in (
                ((1, 1), (1, 0.5), 0, False),
                ((1, 1), (1, 0.5), 2, False),
                ((1, 1, 1), (1, 0.5), 1, False),
                ((1, 1, 1), (1, 3, 0.5), 15, False),
                ((1, 1.1), (1, 3, 0.5), 2, None),
                ((1, 1), (1, 3, 0.5), 15, None),
                ((1, 2), (1, 0.5), 2, None),
                ((1, 0.5), (1, 0.5), 1, False),
            )
        ],
        ("jitter", [refused(0, k) for k in "abc"] + [call(1, key=k) for k in "abc"], ROBUST, False),
        *[
            (
                "jitter",
                [refused(0, k, connection=n if pool else 1) for n, k in enumerate("abc", 1)]
                + [call(1, key=k, connection=1) for k in "abc"],
                ROBUST,
                wanted,
            )
            for pool, wanted in ((True, False), (False, None))  # one caller, one question after another
        ],
        (
            "jitter",
            [refused(0, k) for k in "abc"] + [call(1 + n / 5, key=k) for n, k in enumerate("abc")],
            ROBUST,
            True,
        ),
        ("jitter", [refused(0, k) for k in "ab"] + [call(1, key=k) for k in "ab"], ROBUST, None),
        ("jitter", [refused(n, k) for n, k in enumerate("abc")] + [call(9, key=k) for k in "abc"], ROBUST, None),
        # one caller after another, each at once as it is told
        ("jitter", [one for n, k in enumerate("abc") for one in (refused(n / 9, k), call(n / 9, key=k))], ROBUST, None),
        ("jitter", [*TRIO, *after(0.475, 0.480, 0.484)], ROBUST, True),  # openai's clients draw from 0.375 to 0.5
        ("jitter", [*TRIO, *after(0.475, 0.476, 0.477)], ROBUST, False),
        ("jitter", [*TRIO, *after(0.002, 0.006, 0.011)], ROBUST, False),  # at once
        ("jitter", [*SIX, *after(3, 3.02, 3.04, 3.06, 3.08, 3.1)], ROBUST, False),  # on a busy machine
        ("jitter", [*SIX, *after(2.4, 2.7, 2.72, 2.74, 2.76, 3)], ROBUST, True),
        ("jitter", [*SIX, *after(2.4, 2.71, 2.72, 2.73, 2.74, 2.75)], ROBUST, False),
        ("jitter", [*SIX, *after(2, 3.1, 3.11, 3.12, 3.13, 3.14)], ROBUST, False),  # but one
        ("jitter", [refused(n / 5, k) for n, k in enumerate("abc")] + [*after(9, 9.2, 9.4)], ROBUST, False),
        ("jitter", [refused(n / 5, k) for n, k in enumerate("abc")] + [*after(1, 1.2, 1.4)], ROBUST, None),
        # others are refused once a hasty caller is back
        (
            "jitter",
            [refused(0, "x"), call(0.02, key="x"), *[refused(0.1, k) for k in "abc"], *after(1.1, 1.1, 1.1)],
            ROBUST,
            False,
        ),
        (
            "jitter",
            [refused(0, "x"), call(0.02, key="x"), *[refused(0.1, k) for k in "abc"], *after(1.1, 1.2, 1.3)],
            ROBUST,
            True,
        ),
        # equal callers with a connection each, which they then share; and one that ignores its connection, or has none
        *[
            (
                TOLD,
                [
                    refused(0, retry_after="1", connection=1),
                    refused(0.1, retry_after="1", connection=second),
                    call(1.1, connection=third),
                    call(1.2, connection=1),
                ],
                many,
                wanted,
            )
            for second, third, wanted in ((2, 2, True), (1, 1, False))
            for many in (ROBUST, ANY)
        ],
        # three callers, of which the third takes the connection of the first
        *[
            (
                TOLD,
                [
                    refused(0, retry_after="1", connection=1),
                    refused(0.01, retry_after="1", connection=2),
                    refused(0.02, retry_after="1", connection=1),
                    *[call(start, connection=1) for start in back],
                ],
                ROBUST,
                wanted,
            )
            for back, wanted in (((1.1, 1.2, 1.3), True), ((1.1, 1.2), False), ((0.6, 1.2, 1.3), False))
        ],
        # a hasty one, whose first attempts have a connection each
        *[
            (rule, [refused(n / 50, connection=2 if n == 1 else 1) for n in range(30)], many, False)
            for rule in ("attempts", "backs_off")
            for many in (ROBUST, ANY)
        ],
        *[
            (rule, [refused(n / 50, connection=n % 2 + 1) for n in range(30)], ROBUST, False)
            for rule in ("attempts", "backs_off")
        ],
        # one overlap does not hide a hasty caller's later attempts
        (
            "backs_off",
            [
                call(0, 1, 503, connection=1),
                call(0.5, 0.9, 503, connection=2),
                *[refused(1.41 + n / 100, connection=1) for n in range(8)],
            ],
            ROBUST,
            False,
        ),
        (TOLD, [refused(0, retry_after="1", connection=1), call(0.1, connection=2)], ROBUST, False),
        # it closes the connection of an answer that it does not read
        (
            TOLD,
            [refused(0, retry_after="1", connection=1), call(0.1, connection=2), call(1, connection=2)],
            ROBUST,
            False,
        ),
        ("attempts", [refused(n / 9, connection=n % 3 + 1) for n in range(30)], ROBUST, False),
        ("backs_off", [refused(0, is_kept=False), refused(5), call(10)], ROBUST, None),
        ("attempts", [refused(2.0**n) for n in range(6)], ROBUST, False),
        ("attempts", [refused(2.0**n) for n in range(5)], ROBUST, True),
        ("attempts", [refused(2.0**n) for n in range(4)], Expectations(attempts=3), False),
        ("attempts", [call(float(n)) for n in range(9)], ROBUST, None),
        *[
            ("no_useless_retry", [refused(0, status=status), call(1)], ROBUST, False)
            for status in (400, 401, 403, 404, 413, 422)
        ],
        ("no_useless_retry", [call(0, status=500, error="content_filter"), call(1)], ROBUST, False),
        ("no_useless_retry", [call(0, stream=True, error="content_filter"), call(1)], ROBUST, False),  # as an event
        ("no_useless_retry", [refused(0, status=400), call(1, key="mended")], ROBUST, True),
        ("no_useless_retry", [call(0, status=404, error="not_ready"), call(1)], ROBUST, None),
        ("no_useless_retry", [refused(0, status=429), call(1)], ROBUST, None),
        ("no_useless_retry", [refused(0, status=401, credentials="a"), call(1, credentials="b")], ROBUST, True),
        ("no_useless_retry", [refused(0, status=401, credentials="a"), call(1, credentials="a")], ROBUST, False),
        ("no_useless_retry", [refused(0, status=400, credentials="a"), call(1, credentials="b")], ROBUST, False),
        *[
            (
                "no_useless_retry",
                [refused(0, status=401, credentials=[before]), call(1, credentials=[now])],
                ROBUST,
                wanted,
            )
            for before, now, wanted in (
                (MaskedCredential("abcd-1", "abcd…"), MaskedCredential("abcd-1", "abcd…"), False),
                (MaskedCredential("abcd-1", "abcd…"), MaskedCredential("abcd-2", "abcd…"), True),
                # of another replica
                (MaskedCredential("abcd-1", "abcd…"), "abcd…", False),
                ("abcd…", MaskedCredential("abcd-1", "abcd…"), False),
                ("abcd…", "efgh…", True),
            )
        ],
        ("no_useless_retry", [refused(0, status=401, credentials="a"), call(1, is_kept=False)], ROBUST, False),
        # a client reads the beginning of streams and closes them: it has what it wants
        *[(rule, [left(n / 2, left_at_once=True) for n in range(8)], ROBUST, True) for rule in ("attempts", GONE)],
        ("backs_off", [left(n / 2, left_at_once=True) for n in range(8)], ROBUST, None),
        *[(GONE, [left(left_at_once=True, faults=[fault]), call(1)], ROBUST, False) for fault in ("hang", "stall")],
        (GONE, [left(), call(1)], ROBUST, False),  # after a time, such as its timeout
        # a hedge that is closed when its twin has its answer has not failed
        (GONE, [call(0, 0.5), left(0.2, 0.3), call(1)], TWINS, True),
        (GONE, [call(0, 0.1), left(0.2, 0.3), call(1)], TWINS, False),
        # equal callers side by side, each of which waits as told
        (TOLD, [refused(0, retry_after="1"), refused(0.5, retry_after="1"), call(1.1), call(1.6)], TWINS, True),
        (TOLD, [refused(0, retry_after="1"), refused(0.5, retry_after="1"), call(0.6), call(0.7)], TWINS, False),
        (TOLD, [refused(0, retry_after="1"), call(0.2)], TWINS, False),
        ("attempts", [refused(n / 10) for n in range(3)] + [refused(1 + n / 10) for n in range(3)], TWINS, True),
        ("attempts", [refused(n / 10) for n in range(18)], TWINS, False),
        *[(rule, [refused(n / 10) for n in range(3000)], ROBUST, False) for rule in ("attempts", "backs_off")],
        # one caller asks the same six times, and each time tries again once
        ("attempts", [one for n in range(6) for one in (refused(60 * n), call(60 * n + 0.5))], TWINS, True),
        ("attempts", [one for n in range(18) for one in (refused(n), call(n + 0.5, 0.9))], TWINS, True),  # two callers
        # each question with a hedge, which is closed when its twin has its answer
        ("attempts", [one for n in range(18) for one in (call(n, 0.5), left(n + 0.2, 0.3))], TWINS, True),
        # one caller alone is judged as such, however many are allowed
        *[("attempts", [refused(2.0**n) for n in range(6)], many, False) for many in (TWINS, ANY)],
        *[("backs_off", [refused(0), refused(1), call(2)], many, False) for many in (TWINS, ANY)],
        *[(rule, [refused(n / 10) for n in range(6)], ANY, False) for rule in ("attempts", "backs_off")],
        ("attempts", [call(n / 10, 0.15, 503) for n in range(30)], ANY, False),
        ("attempts", [call(n / 10, 0.15, 503) for n in range(6)], ANY, True),
        # callers with a key each, the second of which comes back first
        (KEYS, [refused(0, sent=key_of("a")), refused(0, sent=key_of("b")), call(0.4, sent=key_of("b"))], TWINS, None),
        (
            KEYS,
            [refused(0, sent=key_of("a")), call(0.1, sent=key_of("a")), call(60, sent=key_of("b"))],
            TWINS,
            True,
        ),
        (KEYS, [refused(0, sent=key_of("a")), call(1, sent=key_of("b"))], TWINS, False),
        ("no_useless_retry", [refused(0, status=400, retry_after="1"), call(0.1), call(60)], TWINS, True),
        # of two that failed, the one that may be tried again is
        ("no_useless_retry", [refused(0, status=400), refused(0), call(0.5)], TWINS, True),
        ("no_useless_retry", [refused(0, status=400), call(0.5)], TWINS, False),
        (GONE, [cut(0), call(0, 0.5, 503), call(1)], TWINS, True),
        (GONE, [cut(0), call(1)], TWINS, False),
        (TOLD, [refused(0, retry_after="2"), refused(0.1, retry_after="1"), call(1.1), call(2.1)], TWINS, True),
        ("backs_off", [*map(refused, (0, 0.1, 0.5, 1, 1.1, 1.4, 2))], TWINS, None),
        (GONE, [cut(), call(1)], ROBUST, False),
        (GONE, [cut(), call(1)], Expectations(retries_after_delivery=True), None),
        (GONE, [cut()], ROBUST, True),
        (GONE, [call(stream=True, error="overloaded", bytes_out=70), call(1)], ROBUST, None),
        (GONE, [call(stream=True, error="overloaded", bytes_out=90, delivered=2), call(1)], ROBUST, False),
        (GONE, [call(whole=False), call(1)], ROBUST, None),
        (GONE, [call(stream=True, faults=["garbage"], bytes_out=90), call(1)], ROBUST, False),
        (GONE, [call(stream=True, faults=["drop"], bytes_out=90), call(1)], ROBUST, None),
        ("deadline", [call(took=61)], ROBUST, False),
        ("deadline", [call(took=3, whole=False, has_ended=False)], Expectations(deadline=2), False),
        ("deadline", [call(took=59)], ROBUST, True),
        ("deadline", [call(took=60.2, whole=False, client_left=True)], ROBUST, True),  # noticed late
        ("deadline", [], ROBUST, None),
        ("hedges", [call(0), call(0.05)], ROBUST, False),
        ("hedges", [call(0), call(0.05)], Expectations(hedges=2), True),
        ("hedges", [call(0), call(0.2)], ROBUST, True),
        ("hedges", [call(0, client_left=True, whole=False), call(0.05)], ROBUST, True),
        ("hedges", [call(0), call(0.05, key="other")], ROBUST, None),
        ("closes_within", [call(0, 9, stream=True, client_left=True, whole=False), call(1, key="b")], ROBUST, False),
        ("closes_within", [call(0, 5, stream=True, client_left=True, whole=False), call(1, key="b")], ROBUST, True),
        ("closes_within", [call(0, 9, stream=True), call(1, key="b")], ROBUST, None),
        ("closes_within", [call(0, 9, stream=True, client_left=True, whole=False), call(10, key="b")], ROBUST, None),
        (
            "closes_within",
            [call(0, 9, stream=True, client_left=True, whole=False), call(1, 2, key="b"), call(2, 2, key="c")],
            ROBUST,
            None,
        ),
        (TEXT, [cut(), call(1, key="b", body=SAID)], ROBUST, False),
        (TEXT, [replace(cut(whole=True), faults=("late_error",)), call(1, key="b", body=SAID)], ROBUST, False),
        (TEXT, [cut(), call(1, key="b", body=chat({"role": "user", "content": "And?"}))], ROBUST, True),
        (TEXT, [cut(), call(1, text=f"{CUT} and ends in the sea."), call(2, key="b", body=SAID_WHOLE)], ROBUST, True),
        (TEXT, [cut(client_left=True), call(1, key="b", body=SAID)], ROBUST, None),
        (TEXT, [call(0, stream=True, text=CUT), call(1, key="b", body=SAID)], ROBUST, None),
        (TEXT, [cut(text="Yes"), call(1, key="b", body=chat({"role": "user", "content": "Yes"}))], ROBUST, True),
        (TEXT, [cut(text="Yes"), call(1, key="b", body=chat({"role": "assistant", "content": "Yes"}))], ROBUST, False),
        (TEXT, [cut(body=ECHO), call(1, key="b", body=ECHO)], ROBUST, True),  # the model repeats its prompt
        (TEXT, [cut(body=ECHO), call(1, key="b", body=SAID)], ROBUST, False),
        ("no_bad_arguments", [BAD_CALL, call(1, key="b", body=tool_turn("18 °C"))], ROBUST, False),
        ("no_bad_arguments", [BAD_CALL, call(1, key="b", body=tool_turn("Error: not JSON"))], ROBUST, True),
        *[
            ("no_bad_arguments", [BAD_CALL, call(1, key="b", body=tool_turn(error))], ROBUST, True)
            for error in (
                "Expecting ',' delimiter: line 1 column 9 (char 8)",
                "Unterminated string starting at: line 1 column 10 (char 9)",
                "Extra data: line 1 column 3 (char 2)",
                "Unterminated string in JSON at position 13",
                "Unexpected end of JSON input",
                "Expected ',' or '}' after property value in JSON at position 13",
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
                "Expected double-quoted property name at position 2",
                "Expecting value: line 1 column 1 (char 0)",
                "Unexpected token } at position 4",
                "missing required field: city",
                "f() missing 1 required positional argument: 'city'",
                "expected a string for city",
                "Please send valid JSON.",
            )
        ],
        *[
            ("no_bad_arguments", [BAD_CALL, call(1, key="b", body=tool_turn(plain))], ROBUST, False)
            for plain in (
                "3 books about tides",
                "",
                "[]",
                '{"temperature": 18}',
                "18 C, rain expected",
                "Expecting a sunny day",
                "2 missing persons",
                "The train left from the wrong platform.",
                "An unexpected turn to the left",
            )
        ],
        ("no_bad_arguments", [BAD_CALL], ROBUST, True),
        ("no_bad_arguments", [call(tool_calls=[("f", "{}")])], ROBUST, None),
        (KEYS, [call(0, status=503, sent=key_of("a")), call(1, sent=key_of("b"))], ROBUST, False),
        (KEYS, [call(0, status=503, sent=key_of("a")), call(1)], ROBUST, False),
        (KEYS, [call(0, status=503, sent=key_of("a")), call(1, sent=key_of("a"))], ROBUST, True),
        (KEYS, [call(0, status=503), call(1)], ROBUST, None),
        (KEYS, [call(0, status=503, sent=key_of("a")), call(1, is_kept=False)], ROBUST, None),
        ("concurrency", [call(0, key="a"), call(0, key="b"), call(0.05, key="c")], POOL, False),
        ("concurrency", [call(0, key="a"), call(0, key="b"), call(0.2, key="c")], POOL, True),
        ("concurrency", [call(0, key="a"), call(0, key="b"), call(0.05, key="c")], ROBUST, None),
        ("reuses_connections", [call(0, connection=1), call(1, connection=2)], REUSE, False),
        ("reuses_connections", [call(0, connection=1), call(1, connection=1)], REUSE, True),
        ("reuses_connections", [call(0, connection=1, whole=False), call(1, connection=2)], REUSE, True),
        ("reuses_connections", [call(0, connection=1), call(1, connection=2)], ROBUST, None),
        ("stops_at_budget", [call(0, delivered=10), call(1, key="b")], SPENDING, False),
        ("stops_at_budget", [call(0, delivered=9), call(1, key="b", delivered=50)], SPENDING, True),
        ("stops_at_budget", [call(0, cost=0.2), call(1, key="b")], Expectations(budget=Budget(cost=0.2)), False),
        ("stops_at_budget", [refused(0), refused(1), call(3)], Expectations(budget=Budget(attempts=2)), False),
        *[
            ("stops_at_budget", calls, Expectations(budget=Budget(attempts=2), hedges=2), wanted)
            for calls, wanted in (
                ([refused(n / 10) for n in range(5)], False),
                ([refused(n / 10) for n in range(4)], True),
                ([refused(0), refused(1), call(3)], False),
            )
        ],
        ("stops_at_budget", [refused(0), call(3)], Expectations(budget=Budget(attempts=2)), True),
        ("stops_at_budget", [call(0, delivered=10), call(1, key="b")], ROBUST, None),
    ],
)
def test_rule_is_kept_broken_or_not_judged(
    rule: str, calls: list[Call], expected: Expectations, wanted: bool | None
) -> None:
    verdict = decide(calls, expected)
    assert kept(verdict, rule) is wanted
    (row,) = [row for row in verdict.rules if row.rule == rule]
    assert bool(row.why) == (wanted is None)
    broken = [breach for breach in verdict.broken if breach.rule == rule]
    assert bool(broken) == (wanted is False)
    assert all(breach.calls and breach.sentence.endswith(".") for breach in broken)
    assert verdict.ok == (not verdict.broken)


def test_sentence_has_the_figures_of_the_breach() -> None:
    verdict = decide([refused(0, status=429, retry_after="2"), call(0.2)])
    (breach,) = verdict.broken
    assert breach.sentence == (
        "Call #3 came 0.2 s after a 429 that asked for 2 s; a sound client waits as long as it is told."
    )
    assert breach.figures == {"asked": 2.0, "waited": 0.2}


def test_waits_too_short_to_compare_are_named_as_such() -> None:
    (breach,) = decide([refused(0), refused(0.002), call(0.005)]).broken
    assert breach.sentence.startswith("Call #1 came within 0.01 s, and so did an attempt before it; ")


def test_slow_growth_is_one_breach_of_all_its_waits() -> None:
    (breach,) = decide([refused(start) for start in accumulate((1, 1.25, 1.5625, 1.953125), initial=0.0)]).broken
    assert breach.sentence == (
        "Call #58 came after 1.95 s, 3 attempts after one that came after 1 s; a sound client waits longer each time, "
        "at least 1.5 times as long."
    )
    assert breach.figures == {"before": 1.0, "waited": 1.953, "growth": 1.5, "steps": 3}
    assert len(breach.calls) == 5


@pytest.mark.parametrize("rule", ["honours_retry_after", "backs_off", "jitter", "deadline", "closes_within"])
def test_waits_are_not_judged_where_the_clock_is_not_real(rule: str) -> None:
    calls = [refused(0, status=429, retry_after="2"), refused(0.1), refused(0.2), call(0.3, 90)]
    verdict = decide(calls, follows_clock=False)
    (row,) = [row for row in verdict.rules if row.rule == rule]
    assert row.kept is None
    assert "clock" in row.why


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_ignored_rule_is_not_judged(rule: str) -> None:
    calls = [refused(0, status=400), call(0.1, 99), cut(0.1), cut(0.2)]
    verdict = decide(calls, replace(ROBUST, ignored=frozenset({rule})))
    assert kept(verdict, rule) is None


def test_same_question_after_a_whole_answer_is_no_retry() -> None:
    verdict = decide([call(float(n)) for n in range(20)])
    assert verdict.ok
    assert kept(verdict, "attempts") is None


@pytest.mark.parametrize(
    ("headers", "waited", "wanted"),
    [
        ({"retry-after-ms": "500"}, 0.3, False),
        ({"retry-after-ms": "500"}, 0.5, True),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:05 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 4.0, False),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:05 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 5.0, True),
        ({"retry-after": "soon"}, 0.0, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: Mapping[str, str], waited: float, wanted: bool | None) -> None:
    first = refused(0, status=429)
    first.read = lambda: CallContent(received=headers)
    assert kept(decide([first, call(waited)]), "honours_retry_after") is wanted


def test_many_callers_without_jitter_are_found() -> None:
    calls = [one for n in range(2000) for one in (refused(0, f"{n}"), call(2 + n / 1e5, key=f"{n}"))]
    (broken,) = decide(calls).broken
    assert broken.figures == {"callers": 2000, "together": 2000, "spread": 0.02}


@pytest.mark.parametrize("streams", [3, 200])
def test_one_of_many_cut_streams_is_found_in_a_later_prompt(streams: int) -> None:
    cuts = [cut(number / 100, f"{number}", text=f"Chapter {number}: the river begins") for number in range(streams)]
    later = call(9, key="later", body={"messages": [{"content": "Go on: Chapter 1: the river begins"}]})
    (broken,) = [row for row in decide([*cuts, later]).broken if row.rule == TEXT]
    assert [one.key for one in broken.calls] == ["1", "later"]
