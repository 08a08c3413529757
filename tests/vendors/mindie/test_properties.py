"""Properties of all responses: streaming and non-streaming texts agree, and counts add up."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.http import Event, Mark
from emulator.generation.segments import FixedReply
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import CHAT, HELLO, MODEL, PROMPT, render, stream

TEXTS = st.text(alphabet="ab 世é𝄞\n.'", min_size=1, max_size=40)
STOPS = st.lists(st.text(alphabet="ab 世é", min_size=1, max_size=4), max_size=3)
LIMITS = st.integers(min_value=1, max_value=50)


def read(events: list[Event]) -> list[JSON]:
    """Parse the JSON of each event."""
    return [json.loads(data.removeprefix(b"data:")) for _, data, _, _ in events]


@given(text=TEXTS, stop=STOPS, limit=LIMITS)
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("full_text", [False, True], ids=["pieces", "everything so far"])
def test_generate(text: str, stop: list[str], limit: int, full_text: bool) -> None:
    section = "vendors: {mindie: {full_text: true}}\n" if full_text else ""
    body = {"inputs": PROMPT, "parameters": {"stop": stop, "max_new_tokens": limit, "details": True, "seed": 1}}
    events = stream("/", {**body, "stream": True}, FixedReply(text=text), section)
    rows = read(events)
    due = [moment for moment, _, _, _ in events]
    (answer,) = json.loads(render("/", body, FixedReply(text=text)).body)
    last = rows[-1]
    said = last["token"]["text"] if full_text else "".join(row["token"]["text"] for row in rows)
    assert said == last["generated_text"] == answer["generated_text"]
    assert len(stop) != 1 or stop[0] not in said
    assert due == sorted(due)
    assert sum(len(row["token"]["id"]) for row in rows) == last["details"]["generated_tokens"]
    assert last["details"]["finish_reason"] == answer["details"]["finish_reason"]
    assert answer["details"]["generated_tokens"] == len(answer["details"]["tokens"]) <= limit
    assert (answer["details"]["finish_reason"] == "length") is (len(answer["details"]["tokens"]) == limit)


@given(text=TEXTS, stop=STOPS, limit=LIMITS)
@settings(max_examples=25, deadline=None)
def test_chat(text: str, stop: list[str], limit: int) -> None:
    body = {"model": MODEL, "messages": HELLO, "stop": stop, "max_tokens": limit}
    *events, done = stream(CHAT, {**body, "stream": True}, FixedReply(text=text))
    assert (done[1], done[3]) == (b"data: [DONE]\n\n", Mark.DONE)
    rows = read(events)
    choice = json.loads(render(CHAT, body, FixedReply(text=text)).body)["choices"][0]
    assert "".join(row["choices"][0]["delta"]["content"] for row in rows) == choice["message"]["content"]
    assert rows[-1]["choices"][0]["finish_reason"] == choice["finish_reason"]
