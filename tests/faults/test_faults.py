"""What each fault makes of an answer; no network and no clock."""

import json
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from emulator.core.faultable import Chunk, CloseMode, FaultableResponse, join_writes
from tests.faults.deliveries import EVENTS, HEAD, JSON_TYPE, STREAM, WHOLE, body_until, make_fault, starts
from tests.untyped_json import JSON

STREAMED = STREAM.body
BODY = WHOLE.body


def writes(response: FaultableResponse) -> list[bytes]:
    return [data for _, data, _ in join_writes(response.chunks)]


def dues(response: FaultableResponse) -> list[float]:
    return [due for due, _, _ in join_writes(response.chunks)]


def event(number: int) -> bytes:
    return EVENTS[number][1]


@pytest.mark.parametrize(
    ("fields", "body", "ending", "end", "start"),
    [
        pytest.param({"type": "disconnect"}, b"", CloseMode.RESET, 0.0, inf, id="reset before any byte"),
        pytest.param(
            {"type": "disconnect", "after_tokens": 0}, b"", CloseMode.RESET, 0.0, 0.0, id="reset after the head"
        ),
        pytest.param(
            {"type": "disconnect", "after_tokens": 2},
            STREAMED[: starts(3)],
            CloseMode.RESET,
            2.0,
            0.0,
            id="reset at once",
        ),
        pytest.param(
            {"type": "disconnect", "inside": "utf8"},
            STREAMED[: STREAMED.index("你".encode()) + 1],
            CloseMode.RESET,
            2.0,
            0.0,
            id="reset inside a character",
        ),
        pytest.param(
            {"type": "truncate", "after_tokens": 1}, STREAMED[: starts(2)], CloseMode.COMPLETE, 1.0, 0.0, id="clean cut"
        ),
        pytest.param(
            {"type": "truncate", "after_tokens": 99},
            STREAMED[: starts(4)],
            CloseMode.COMPLETE,
            3.0,
            0.0,
            id="never past the finish reason",
        ),
        pytest.param({"type": "hang"}, b"", CloseMode.CLOSE, inf, inf, id="no answer until the client leaves"),
        pytest.param({"type": "hang", "for": "5s"}, b"", CloseMode.CLOSE, 5.0, inf, id="no answer for five seconds"),
        pytest.param(
            {"type": "hang", "for": "5s", "after_tokens": 1},
            STREAMED[: starts(2)],
            CloseMode.CLOSE,
            6.0,
            0.0,
            id="no further answer",
        ),
        pytest.param(
            {"type": "late_error", "after_tokens": 1},
            STREAMED[: starts(2)] + b"!internal:None",
            CloseMode.COMPLETE,
            1.0,
            0.0,
            id="error in the vendor's words",
        ),
        pytest.param(
            {"type": "late_error", "kind": "timeout", "message": "late"},
            b"!timeout:late",
            CloseMode.COMPLETE,
            0.0,
            0.0,
            id="error of a kind",
        ),
        pytest.param({"type": "empty_body"}, b"", CloseMode.COMPLETE, 3.0, 0.0, id="nothing but a head"),
    ],
)
def test_disconnect_hang_and_truncate_end_stream(
    fields: dict[str, JSON], body: bytes, ending: CloseMode, end: float, start: float
) -> None:
    bent = make_fault(**fields).apply(STREAM)
    assert (bent.body, bent.ending, bent.end, bent.start) == (body, ending, end, start)


@pytest.mark.covers("language/faults", "empty_body", case="an empty body has length 0")
@pytest.mark.parametrize(
    ("fields", "body", "promised"),
    [
        pytest.param(
            {"type": "disconnect", "after_tokens": 1},
            BODY[: body_until(HEAD, "Hi")],
            len(BODY) - body_until(HEAD, "Hi"),
            id="a reset leaves the length a promise",
        ),
        pytest.param(
            {"type": "hang", "at": 0.5}, BODY[: len(BODY) // 2], len(BODY) - len(BODY) // 2, id="so does a hang"
        ),
        pytest.param({"type": "truncate", "at": 0.5}, BODY[: len(BODY) // 2], 0, id="a clean cut keeps its length"),
        pytest.param({"type": "empty_body"}, b"", 0, id="an empty body has length 0"),
    ],
)
def test_ending_faults_cut_unary_body(fields: dict[str, JSON], body: bytes, promised: int) -> None:
    bent = make_fault(**fields).apply(WHOLE)
    assert (bent.body, bent.promised) == (body, promised)


@pytest.mark.parametrize(
    ("fields", "when", "end"),
    [
        pytest.param({"after_tokens": 1}, [0, 1, 12, 13, 13, 13, 13], 13, id="between two events"),
        pytest.param({"after_tokens": 1, "inside": "event"}, [0, 1, 2, 12, 13, 13, 13, 13], 13, id="within an event"),
        pytest.param({}, [10, 11, 12, 13, 13, 13, 13], 13, id="after the head"),
        pytest.param({"at": 1}, [0, 1, 2, 3, 3, 3, 3], 13, id="before the end"),
    ],
)
def test_stall_delays_rest_of_stream(fields: dict[str, JSON], when: list[float], end: float) -> None:
    bent = make_fault(type="stall", for_="10s", **fields).apply(STREAM)
    assert (dues(bent), bent.end, bent.body) == (when, end, STREAMED)


def test_stall_splits_unary_body_into_two_writes() -> None:
    bent = make_fault(type="stall", for_="10s", after_tokens=2).apply(WHOLE)
    assert writes(bent) == [BODY[: body_until(HEAD, "Hi 你")], BODY[body_until(HEAD, "Hi 你") :]]
    assert dues(bent) == [3.0, 13.0]


@pytest.mark.parametrize(
    ("rate", "size"),
    [pytest.param(10, 1, id="byte by byte"), pytest.param(500, 10, id="no more than fifty writes a second")],
)
def test_drip_writes_at_rate(rate: int, size: int) -> None:
    bent = make_fault(type="drip", bytes_per_second=rate).apply(WHOLE)
    assert bent.body == BODY
    assert {len(write) for write in writes(bent)[:-1]} == {size}
    assert dues(bent)[0] == pytest.approx(3.0 + size / rate)
    assert bent.end == pytest.approx(3.0 + len(BODY) / rate)


def test_drip_never_sends_before_tokens_are_due() -> None:
    bent = make_fault(type="drip", bytes_per_second=1e6).apply(STREAM)
    assert bent.body == STREAMED
    ends = {due: end for due, _, end in join_writes(bent.chunks)}
    assert all(due >= EVENTS[tokens][0] for due, tokens in ends.items() if 0 < tokens < 3)


@pytest.mark.covers("language/faults", "garbage")
def test_garbage_corrupts_only_event_at_position() -> None:
    bent = make_fault(type="garbage", after_tokens=1).apply(STREAM)
    events = [bent.body[span.start : span.end] for span in bent.events()]
    assert [number for number in range(7) if events[number] != event(number)] == [2]
    assert events[2].startswith(b'data: {"')
    assert events[2].endswith(b"\n\n")
    with pytest.raises(json.JSONDecodeError):
        json.loads(events[2][6:])


@pytest.mark.parametrize(
    "position", [pytest.param({}, id="the body"), pytest.param({"after_tokens": 2}, id="the body, wherever it is")]
)
def test_garbage_corrupts_unary_body(position: dict[str, JSON]) -> None:
    bent = make_fault(type="garbage", **position).apply(WHOLE)
    assert bent.promised == 0
    bent.body.decode()
    with pytest.raises(json.JSONDecodeError):
        json.loads(bent.body)


def test_garbage_after_last_json_corrupts_previous_event() -> None:
    bent = make_fault(type="garbage", before="done").apply(STREAM)
    assert bent.body.endswith(event(6))
    assert event(5) not in bent.body


@pytest.mark.parametrize(
    ("field", "removed"),
    [
        pytest.param("finish_reason", {4: [b',"finish_reason":"stop"']}, id="finish_reason"),
        pytest.param(
            "usage", {5: [b',"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}']}, id="usage"
        ),
        pytest.param("done", {6: [event(6)]}, id="done"),
        pytest.param("id", {number: [b'"id":"a",'] for number in range(6)}, id="id"),
        pytest.param("usage.total_tokens", {5: [b',"total_tokens":5']}, id="a dotted field, the last"),
        pytest.param("usage.prompt_tokens", {5: [b'"prompt_tokens":2,']}, id="a dotted field, the first"),
        pytest.param("choices.delta.role", {0: [b'"role":"assistant",']}, id="a dotted field through any index"),
        pytest.param("choices[0].delta.role", {0: [b'"role":"assistant",']}, id="a dotted field with its index"),
        pytest.param("choices[1].delta.role", {}, id="another index"),
        pytest.param("nothing.at.all", {}, id="what is not there"),
        pytest.param(
            ["usage.prompt_tokens", "usage.completion_tokens"],
            {5: [b'"prompt_tokens":2,"completion_tokens":3,']},
            id="two next to each other",
        ),
        pytest.param(
            ["usage.completion_tokens", "usage.total_tokens"],
            {5: [b',"completion_tokens":3,"total_tokens":5']},
            id="the last two",
        ),
        pytest.param(["usage", "usage.total_tokens", "choices", "id"], None, id="one inside another, and all there is"),
    ],
)
def test_drop_removes_only_named_field(field: JSON, removed: dict[int, list[bytes]] | None) -> None:
    bent = make_fault(type="drop", field=field).apply(STREAM)
    if removed is None:
        assert bent.body == b"data: {}\n\n" * 6 + event(6)
        return
    expected = [event(number) for number in range(7)]
    for number, parts in removed.items():
        for part in parts:
            expected[number] = expected[number].replace(part, b"")
    assert bent.body == b"".join(expected)


@pytest.mark.parametrize(
    ("field", "body", "left"),
    [
        pytest.param(
            ["usage", "finish_reason"],
            '[{"details":{"prompt_tokens":1,"finish_reason":"length","generated_tokens":2,"seed":7},"generated_text":"a"}]',
            '[{"details":{"seed":7},"generated_text":"a"}]',
            id="counts and reason of TGI and MindIE are in details",
        ),
        pytest.param(
            ["id", "usage"],
            '{"id":"r","output":[{"id":"m"}],"usage":{"input_tokens":1}}',
            '{"output":[{"id":"m"}]}',
            id="items keep their ids",
        ),
        pytest.param("a", '{"a":[1,2,3],"b":1}', '{"b":1}', id="a list goes whole"),
        pytest.param("b", '{"a":"\\"}{","b":1}', '{"a":"\\"}{"}', id="brackets and quotes in strings are text"),
        pytest.param("b", ' { "a" : 1 , "b" : { "c" : 2 } } ', ' { "a" : 1 } ', id="with blanks"),
        pytest.param("a", "not JSON at all", "not JSON at all", id="text that is not JSON stays"),
    ],
)
def test_drop_from_unary_body(field: JSON, body: str, left: str) -> None:
    whole = replace(WHOLE, chunks=(replace(WHOLE.chunks[-1], data=body.encode()),))
    assert make_fault(type="drop", field=field).apply(whole).body.decode() == left


@pytest.mark.covers("language/faults", "duplicate")
def test_duplicate_repeats_event_at_same_time() -> None:
    bent = make_fault(type="duplicate", after_tokens=1).apply(STREAM)
    assert writes(bent) == [event(number) for number in (0, 1, 2, 2, 3, 4, 5, 6)]
    assert dues(bent) == [0, 1, 2, 2, 3, 3, 3, 3]


def test_duplicate_repeats_unary_body() -> None:
    assert make_fault(type="duplicate").apply(WHOLE).body == BODY * 2


@pytest.mark.covers("language/faults", "reorder")
def test_reorder_swaps_events_and_not_times() -> None:
    bent = make_fault(type="reorder", after_tokens=1).apply(STREAM)
    assert writes(bent) == [event(number) for number in (0, 1, 3, 2, 4, 5, 6)]
    assert dues(bent) == dues(STREAM)


@pytest.mark.parametrize("kind", ["duplicate", "reorder"])
def test_duplicate_and_reorder_without_event_change_nothing(kind: str) -> None:
    assert make_fault(type=kind, at=1).apply(STREAM).body == STREAMED
    assert make_fault(type="reorder").apply(WHOLE).body == BODY


@pytest.mark.parametrize(
    ("usage", "wrong"),
    [
        pytest.param(
            '{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}',
            '{"prompt_tokens":2,"completion_tokens":4,"total_tokens":5}',
            id="chat",
        ),
        pytest.param(
            '{"input_tokens":2,"output_tokens":9,"total_tokens":11}',
            '{"input_tokens":2,"output_tokens":10,"total_tokens":11}',
            id="responses",
        ),
        pytest.param('{"prompt_tokens":2,"total_tokens":2}', '{"prompt_tokens":2,"total_tokens":3}', id="embeddings"),
        pytest.param('{"generated_tokens":9,"seed":1}', '{"generated_tokens":10,"seed":1}', id="TGI"),
        pytest.param('{"completion_tokens":null,"total_tokens":null}', None, id="no counts"),
        pytest.param("null", None, id="no usage"),
    ],
)
def test_wrong_usage_changes_one_count(usage: str, wrong: str | None) -> None:
    whole = replace(WHOLE, chunks=(replace(WHOLE.chunks[-1], data=b'{"x":1,"usage":%b}' % usage.encode()),))
    assert make_fault(type="wrong_usage").apply(whole).body == b'{"x":1,"usage":%b}' % (wrong or usage).encode()


@pytest.mark.covers("language/faults", "wrong_content_type")
def test_status_and_content_type_faults_leave_body_unchanged() -> None:
    wrong = make_fault(type="wrong_content_type").apply(STREAM)
    assert wrong.headers == (("content-type", "text/html; charset=utf-8"), ("x-a", "b"))
    assert make_fault(type="wrong_content_type", value="text/plain").apply(WHOLE).headers == (
        ("content-type", "text/plain"),
    )
    bare = replace(WHOLE, headers=())
    assert make_fault(type="wrong_content_type", value="a/b").apply(bare).headers == (("Content-Type", "a/b"),)
    status = make_fault(type="status", status=502).apply(WHOLE)
    assert (status.status, status.headers, status.body, wrong.body) == (502, (JSON_TYPE,), BODY, STREAMED)


@pytest.mark.covers("language/faults", "extra_fields")
def test_extra_fields_are_added_to_every_object() -> None:
    bent = make_fault(type="extra_fields").apply(STREAM)
    extra = b'"unexpected_field":"unexpected"'
    assert bent.body.splitlines()[0] == (
        b'data: {"id":"a","choices":[{"delta":{"role":"assistant","content":"",%b},%b}],%b}' % (extra, extra, extra)
    )
    assert b'"delta":{"unexpected_field":"unexpected"},"finish_reason"' in bent.body
    assert bent.body.endswith(event(6))
    own = make_fault(type="extra_fields", fields={"a": [1]}).apply(WHOLE)
    assert json.loads(own.body)["usage"]["a"] == [1]


@pytest.mark.covers("language/faults", "split")
@pytest.mark.covers("language/writes", "byte", case="byte")
@pytest.mark.covers("language/writes", "line", case="line")
@pytest.mark.covers("language/writes", "event", case="event")
@pytest.mark.covers("language/writes", "across", case="across events")
@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        pytest.param("byte", lambda data, rest: len(data) == 1, id="byte"),
        pytest.param("line", lambda data, rest: data.endswith(b"\n") or not rest, id="line"),
        pytest.param("event", lambda data, rest: data.endswith(b"\n\n") or not rest, id="event"),
        pytest.param(
            "utf8",
            lambda data, rest: data[-1] >= 0xC0 or data.endswith(b"\n\n") or not rest,
            id="inside characters, and where the answer itself pauses",
        ),
        pytest.param("across", lambda data, rest: not data.endswith(b"\n\n") or not rest, id="across events"),
    ],
)
@pytest.mark.parametrize("response", [STREAM, WHOLE], ids=["in events", "in one piece"])
def test_split_writes_at_chosen_boundaries(response: FaultableResponse, kind: str, ends: object) -> None:
    bent = make_fault(type="split", writes=kind).apply(response)
    parts = writes(bent)
    assert b"".join(parts) == response.body
    assert callable(ends)
    assert all(ends(part, number + 1 < len(parts)) for number, part in enumerate(parts))
    if kind == "utf8":
        assert any(part[-1] >= 0xC0 for part in parts)
    assert bent.end == response.end


def test_split_separates_events_joined_by_vendor() -> None:
    joined = replace(STREAM, chunks=tuple(replace(piece, flush=False) for piece in STREAM.chunks))
    assert len(writes(joined)) == 1
    assert len(writes(make_fault(type="split", writes="event").apply(joined))) == 7


def test_split_across_puts_event_boundaries_inside_writes() -> None:
    bent = make_fault(type="split", writes="across").apply(STREAM)
    parts = writes(bent)
    assert len(parts) == len(EVENTS) + 1
    assert all(part.count(b"\n\n") == 1 for part in parts[1:])
    assert dues(bent) == [0.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    assert [tokens for _, _, tokens in join_writes(bent.chunks)] == [0, 0, 1, 2, 3, 3, 3, 3]
    bytewise = make_fault(type="split", writes="byte").apply(STREAM)
    assert writes(make_fault(type="split", writes="across").apply(bytewise)) == parts
    assert len(writes(make_fault(type="split", writes="across").apply(WHOLE))) == 2


@pytest.mark.parametrize("kind", ["byte", "utf8", "line"])
def test_repeated_splits_respect_write_limit(kind: str) -> None:
    bent = replace(STREAM, writes=9)
    for _ in range(16):
        bent = make_fault(type="split", writes=kind).apply(bent)
        assert len(bent.chunks) <= len(STREAM.chunks) + 9
    assert bent.body == STREAM.body
    dripped = make_fault(type="drip", bytes_per_second=1e6).apply(bent)
    assert len(dripped.chunks) <= len(STREAM.chunks) + 9 + 1
    assert dripped.body == STREAM.body


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (".", b'{"a": [{"b": {}}, {"b": {"c": {}}}],"x":1}'),
        ("a", b'{"a": [{"b": {},"x":1}, {"b": {"c": {}},"x":1}]}'),
        ("a.b", b'{"a": [{"b": {"x":1}}, {"b": {"c": {},"x":1}}]}'),
        ("b", b'{"a": [{"b": {}}, {"b": {"c": {}}}]}'),
    ],
)
def test_extra_fields_are_added_at_a_path(at: str, expected: bytes) -> None:
    whole = replace(WHOLE, chunks=(Chunk(0.0, b'{"a": [{"b": {}}, {"b": {"c": {}}}]}'),))
    assert make_fault(type="extra_fields", fields={"x": 1}, at=at).apply(whole).body == expected


def test_extra_fields_reach_deeply_nested_objects() -> None:
    deep = b'{"a":' * 300 + b"{ }" + b"}" * 300
    bent = make_fault(type="extra_fields", fields={"b": 1}).apply(
        replace(WHOLE, chunks=(replace(WHOLE.chunks[-1], data=deep),))
    )
    assert bent.body == b'{"a":' * 300 + b'{ "b":1}' + b',"b":1}' * 300


@pytest.mark.covers("language/outcomes", "faults")
def test_faults_compose_in_order() -> None:
    response = STREAM
    for fields in (
        {"type": "drop", "field": "id"},
        {"type": "stall", "for": "1s", "after_tokens": 1},
        {"type": "disconnect", "after_tokens": 2},
        {"type": "status", "status": 201},
    ):
        response = make_fault(**fields).apply(response)
    assert response.body == b"".join(event(number).replace(b'"id":"a",', b"") for number in range(3))
    assert (response.status, response.end, dues(response)) == (201, 3.0, [0.0, 1.0, 3.0])


def test_disconnect_finds_token_after_drop() -> None:
    bent = make_fault(type="drop", field=["id", "usage"]).apply(WHOLE)
    cut = make_fault(type="disconnect", after_tokens=2).apply(bent)
    assert cut.body.decode() == '{"choices":[{"message":{"content":"Hi 你'


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"type": "stall"}, id="a stall without a time"),
        pytest.param({"type": "drip", "bytes_per_second": 0}, id="a drip that never drips"),
        pytest.param({"type": "drop", "field": []}, id="nothing to drop"),
        pytest.param({"type": "drop", "field": "a..b"}, id="a path with a hole"),
        pytest.param({"type": "status", "status": 99}, id="no status"),
        pytest.param({"type": "split", "writes": "word"}, id="an unknown way to split"),
        pytest.param({"type": "disconnect", "at": 1.5}, id="past the end"),
        pytest.param({"type": "disconnect", "after_tokens": -1}, id="before the beginning"),
        pytest.param({"type": "late_error", "kind": "oops"}, id="an unknown kind"),
        pytest.param({"type": "empty_body", "at": 0.5}, id="a position where there is none"),
        pytest.param({"type": "wrong_content_type", "value": "a\r\nb: c"}, id="a header of two lines"),
    ],
)
def test_invalid_faults_are_refused(fields: dict[str, JSON]) -> None:
    with pytest.raises(ValidationError):
        make_fault(**fields)


ANY = st.sampled_from(
    [
        {"type": "disconnect"},
        {"type": "truncate", "at": 0.7},
        {"type": "stall", "for": "2s", "at": 0.3},
        {"type": "hang", "for": "1s", "at": 0.9},
        {"type": "drip", "bytes_per_second": 7},
        {"type": "late_error", "at": 0.4},
        {"type": "garbage", "at": 0.2},
        {"type": "drop", "field": ["usage", "id", "done"]},
        {"type": "duplicate", "after_tokens": 1},
        {"type": "reorder", "after_tokens": 1},
        {"type": "wrong_usage"},
        {"type": "wrong_content_type"},
        {"type": "empty_body"},
        {"type": "extra_fields"},
        {"type": "split", "writes": "utf8"},
        {"type": "split", "writes": "byte"},
        {"type": "split", "writes": "across"},
        {"type": "status", "status": 418},
    ]
)


@given(st.sampled_from([STREAM, WHOLE]), st.lists(ANY, max_size=5))
def test_any_faults_give_consistent_response(response: FaultableResponse, faults: list[JSON]) -> None:
    for fields in faults:
        response = make_fault(**fields).apply(response)
    times = dues(response)
    assert times == sorted(times)
    assert response.end >= (times[-1] if times else 0.0)
    assert b"".join(writes(response)) == response.body
    assert all(writes(response))
    assert response.promised >= 0
