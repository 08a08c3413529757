"""Which bytes of an answer carry which tokens, for vendors made up and real."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.http import Event, FieldNames, Mark, Response, StreamingResponse
from emulator.core.json import dump_json, dump_text
from emulator.core.plan import Choice, Plan, Segment, Tokens
from emulator.faults import measure
from emulator.faults.json_edit import find_texts

TOKENS = ("Hel", "lo", " ", "你", "", "好", "\n", "end.")


def plan_of(*choices: tuple[str, ...], due: float = 0.0) -> Plan:
    return Plan(
        key=b"",
        created=0.0,
        due=due,
        choices=tuple(
            Choice(
                Tokens(tokens, (0,) * len(tokens)),
                due=[float(number) for number in range(len(tokens))],
                finish_reason="stop",
                segments=(Segment("text", 0, len(tokens)),),
            )
            for tokens in choices
        ),
    )


FIELDS = FieldNames(text=frozenset({"message", "text", "arguments"}))


def whole(body: Callable[[Plan], str]) -> Callable[[Plan], Response]:
    return lambda plan: Response(200, body(plan).encode())


def stream(plan: Plan) -> StreamingResponse:
    """A role, an event for each token that has a text, a mark of the end in one write with the last of them."""
    events: list[Event] = [(0.0, b"role;", 0, Mark.PLAIN)]
    said = [(number, token) for number, token in enumerate(plan.choices[0].tokens, 1) if token]
    events += [(float(number), f"{token};".encode(), number, Mark.PLAIN) for number, token in said[:-1]]
    events += [(float(number), f"{token};".encode(), number, Mark.FINISH | Mark.JOINED) for number, token in said[-1:]]
    return StreamingResponse([*events, (9.0, b"end", 0, Mark.DONE)])


def test_events_count_their_tokens() -> None:
    response = measure(stream(plan_of(TOKENS)), plan=plan_of(TOKENS))
    assert [piece.tokens for piece in response.chunks] == [0, 1, 2, 3, 4, 6, 7, 8, 8]
    assert response.body == "role;Hel;lo; ;你;好;\n;end.;end".encode()


def test_events_in_shared_write_stay_separate() -> None:
    response = measure(stream(plan_of(("a", "b"))), plan=plan_of(("a", "b")))
    assert [(piece.flush, piece.mark) for piece in response.chunks] == [
        (True, Mark.PLAIN),
        (True, Mark.PLAIN),
        (False, Mark.FINISH | Mark.JOINED),
        (True, Mark.DONE),
    ]
    assert [event.mark for event in response.events()][-1] == Mark.DONE


def pretty(plan: Plan) -> str:
    return dump_text({"id": "Hello", "choices": [{"message": choice.text()} for choice in plan.choices]})


def escaped(plan: Plan) -> str:
    import json

    return json.dumps({"echo": "Hel", "text": "> " + plan.choices[0].text()})


def plain(plan: Plan) -> str:
    return plan.choices[0].text()


@pytest.mark.parametrize(
    ("body", "carrying"),
    [
        pytest.param(pretty, [b"Hel", b"lo", b" ", "你".encode(), "好".encode(), b"\\n", b"end."], id="raw UTF-8"),
        pytest.param(escaped, [b"Hel", b"lo", b" ", b"\\u4f60", b"\\u597d", b"\\n", b"end."], id="escapes"),
        pytest.param(plain, [b"Hel", b"lo", b" ", "你".encode(), "好".encode(), b"\n", b"end."], id="no JSON at all"),
    ],
)
def test_body_bytes_are_attributed_to_tokens(body: Callable[[Plan], str], carrying: list[bytes]) -> None:
    plan = plan_of(TOKENS, due=2.0)
    word = whole(body)
    response = measure(word(plan), plan=plan, fields=FIELDS)
    tokens = [0, *(piece.tokens for piece in response.chunks)]
    said = [p.data for p, (old, new) in zip(response.chunks, pairwise(tokens), strict=True) if new > old]
    assert said == carrying
    assert response.body == body(plan).encode()
    assert (response.start, response.end) == (2.0, 2.0)


def test_reformatted_call_json_is_attributed_to_tokens() -> None:
    plan = plan_of(('{"city"', ": ", '"Paris"', "}"))
    word = whole(lambda other: dump_text({"arguments": other.choices[0].text().replace(" ", "")}))
    response = measure(word(plan), plan=plan, fields=FIELDS)
    assert [(piece.data, piece.tokens) for piece in response.chunks][1:4] == [
        (b'{\\"city\\"', 1),
        (b":", 2),
        (b'\\"Paris\\"', 3),
    ]


def test_equal_choices_are_counted_separately() -> None:
    plan = plan_of(("a", "b"), ("a", "b"))
    word = whole(pretty)
    response = measure(word(plan), plan=plan, fields=FIELDS)
    assert [piece.tokens for piece in response.chunks][-1] == 4
    assert max(piece.tokens for piece in response.chunks[:-1]) == 4


def test_response_without_tokens_counts_zero() -> None:
    response = measure(Response(200, b'{"data":[1,2]}', close=True))
    assert [(piece.data, piece.tokens) for piece in response.chunks] == [(b'{"data":[1,2]}', 0)]
    assert response.close
    assert measure(Response(204)).chunks == ()


words = st.lists(st.text(max_size=4), min_size=1, max_size=12).map(tuple)


@given(words)
def test_token_counts_rise_and_bytes_are_preserved(tokens: tuple[str, ...]) -> None:
    plan = plan_of(tokens)
    answers: tuple[StreamingResponse | Response, ...] = (stream(plan), whole(pretty)(plan))
    for answer in answers:
        response = measure(answer, plan=plan, fields=FIELDS)
        counts = [piece.tokens for piece in response.chunks]
        assert counts == sorted(counts)
        assert counts[-1] == len(tokens)
        written = answer.body if isinstance(answer, Response) else b"".join(event[1] for event in answer.events)
        assert response.body == written


@given(st.text(), st.booleans())
def test_string_characters_are_located(text: str, ascii_only: bool) -> None:
    import json

    body = json.dumps({"key": text}).encode() if ascii_only else dump_json({"key": text})
    (found,) = find_texts(body, frozenset({"key"}))
    assert found.value == text
    assert len(found.ends) == len(text) + 1
    rebuilt = "".join(
        json.loads(b'"%b"' % body[start:end]) for start, end in zip(found.ends, found.ends[1:], strict=False)
    )
    assert rebuilt == text
