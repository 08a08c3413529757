"""Which bytes of an answer carry which tokens, for vendors made up and real."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.json import dump_json, dump_text
from emulator.core.plan import Choice, Plan, Span
from emulator.core.wire import WireResponse, WireStream
from emulator.faults import measure
from emulator.faults.json_text import find_strings, read_string

TOKENS = ("Hel", "lo", " ", "你", "", "好", "\n", "end.")


def plan_of(*choices: tuple[str, ...], due: float = 0.0) -> Plan:
    return Plan(
        key=b"",
        created=0.0,
        due=due,
        choices=tuple(
            Choice(
                tokens=tokens,
                ids=(0,) * len(tokens),
                due=[float(number) for number in range(len(tokens))],
                finish_reason="stop",
                spans=(Span("text", 0, len(tokens)),),
            )
            for tokens in choices
        ),
    )


def stream(events: Callable[[Plan], Sequence[str]]) -> Callable[[Plan], WireStream]:
    return lambda plan: WireStream([(0.0, text.encode()) for text in events(plan)])


def whole(body: Callable[[Plan], str]) -> Callable[[Plan], WireResponse]:
    return lambda plan: WireResponse(200, body(plan).encode())


def deltas(plan: Plan) -> list[str]:
    return [f"data: {dump_text({'delta': token})}\n\n" for token in plan.choices[0].tokens]


def with_role(plan: Plan) -> list[str]:
    return ['data: {"role":"assistant"}\n\n', *deltas(plan), "data: [DONE]\n\n"]


def so_far(plan: Plan) -> list[str]:
    tokens = plan.choices[0].tokens
    return [f"data: {dump_text({'text': ''.join(tokens[: n + 1])})}\n\n" for n in range(len(tokens))]


def late(plan: Plan) -> list[str]:
    """Each token with the one after it."""
    tokens = plan.choices[0].tokens
    return [f"data: {dump_text(''.join(tokens[n : n + 2]))}\n\n" for n in range(0, len(tokens), 2)]


def at_once(plan: Plan) -> list[str]:
    return ["".join(with_role(plan))]


def with_all_again(plan: Plan) -> list[str]:
    return [*deltas(plan), f"event: done\ndata: {dump_text({'text': plan.choices[0].text()})}\n\n"]


@pytest.mark.parametrize(
    ("events", "counts"),
    [
        pytest.param(deltas, [1, 2, 3, 4, 4, 6, 7, 8], id="one event a token; one without text belongs to the next"),
        pytest.param(with_role, [0, 1, 2, 3, 4, 4, 6, 7, 8, 8], id="an event before and one after"),
        pytest.param(so_far, [1, 2, 3, 4, 4, 6, 7, 8], id="all text so far in every event"),
        pytest.param(late, [2, 4, 6, 8], id="two tokens an event"),
        pytest.param(at_once, [0, 1, 2, 3, 4, 4, 6, 7, 8, 8], id="all events in one write"),
        pytest.param(with_all_again, [1, 2, 3, 4, 4, 6, 7, 8, 8], id="the whole text at the end"),
    ],
)
def test_events_know_how_many_tokens_they_bring(events: Callable[[Plan], Sequence[str]], counts: list[int]) -> None:
    plan = plan_of(TOKENS)
    word = stream(events)
    delivery = measure(word(plan), plan=plan, word=word)
    assert [piece.tokens for piece in delivery.pieces] == counts
    assert delivery.body == "".join(events(plan)).encode()


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
def test_bytes_of_a_body_know_their_token(body: Callable[[Plan], str], carrying: list[bytes]) -> None:
    plan = plan_of(TOKENS, due=2.0)
    word = whole(body)
    delivery = measure(word(plan), due=2.0, plan=plan, word=word)
    tokens = [0, *(piece.tokens for piece in delivery.pieces)]
    said = [p.data for p, (old, new) in zip(delivery.pieces, pairwise(tokens), strict=True) if new > old]
    assert said == carrying
    assert delivery.body == body(plan).encode()
    assert (delivery.start, delivery.end) == (2.0, 2.0)


def test_a_vendor_may_write_the_json_of_a_call_anew() -> None:
    plan = plan_of(('{"city"', ": ", '"Paris"', "}"))
    word = whole(lambda other: dump_text({"arguments": other.choices[0].text().replace(" ", "")}))
    delivery = measure(word(plan), plan=plan, word=word)
    assert [(piece.data, piece.tokens) for piece in delivery.pieces][1:4] == [
        (b'{\\"city\\"', 1),
        (b":", 2),
        (b'\\"Paris\\"', 3),
    ]


def test_two_choices_that_say_the_same_are_two() -> None:
    plan = plan_of(("a", "b"), ("a", "b"))
    word = whole(pretty)
    delivery = measure(word(plan), plan=plan, word=word)
    assert [piece.tokens for piece in delivery.pieces][-1] == 4
    assert max(piece.tokens for piece in delivery.pieces[:-1]) == 4


def test_an_answer_without_tokens_has_none() -> None:
    delivery = measure(WireResponse(200, b'{"data":[1,2]}', close=True))
    assert [(piece.data, piece.tokens) for piece in delivery.pieces] == [(b'{"data":[1,2]}', 0)]
    assert delivery.close
    assert measure(WireResponse(204)).pieces == ()


words = st.lists(st.text(max_size=4), min_size=1, max_size=12).map(tuple)


@given(words)
def test_counts_rise_to_all_tokens_and_no_byte_is_lost(tokens: tuple[str, ...]) -> None:
    plan = plan_of(tokens)
    for word in (stream(with_role), whole(pretty)):
        answer = word(plan)
        delivery = measure(answer, plan=plan, word=word)
        counts = [piece.tokens for piece in delivery.pieces]
        assert counts == sorted(counts)
        assert counts[-1] == len(tokens)
        if delivery.streamed and any(tokens):
            assert counts[-2] == len(tokens)  # before the mark of the end
        written = answer.body if isinstance(answer, WireResponse) else b"".join(data for _, data in answer.events)
        assert delivery.body == written


@given(st.text(), st.booleans())
def test_every_character_of_a_string_has_its_place(text: str, ascii_only: bool) -> None:
    import json

    body = json.dumps({"key": text}).encode() if ascii_only else dump_json({"key": text})
    (string,) = find_strings(body)
    found = read_string(*string)
    assert found.value == text
    assert len(found.ends) == len(text) + 1
    rebuilt = "".join(
        json.loads(b'"%b"' % body[start:end]) for start, end in zip(found.ends, found.ends[1:], strict=False)
    )
    assert rebuilt == text
