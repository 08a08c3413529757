"""What holds for every answer: streamed or whole it says the same, and its counts add up."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parsed import JSON
from tests.vendors.mindie.direct import PROMPT, accepted, service
from tests.vendors.mindie.plans import plan_for

TEXTS = st.text(alphabet="ab 世é𝄞\n.'", min_size=1, max_size=40)
STOPS = st.lists(st.text(alphabet="ab 世é", min_size=1, max_size=4), max_size=3)
LIMITS = st.integers(min_value=1, max_value=50)


def stream(vendor: str, path: str, body: JSON, text: str, section: str = "") -> tuple[list[float], list[JSON]]:
    """When each event is due, and what it holds."""
    call = accepted(vendor, path, body, section)
    events = list(call.codec.stream(plan_for(call, text), call, service(vendor, section)).events)
    return [due for due, _ in events], [json.loads(data.removeprefix(b"data:")) for _, data in events]


def whole(vendor: str, path: str, body: JSON, text: str) -> JSON:
    call = accepted(vendor, path, body)
    return json.loads(call.codec.render(plan_for(call, text), call, service(vendor)).body)


@given(text=TEXTS, stop=STOPS, limit=LIMITS)
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("full_text", [False, True], ids=["pieces", "everything so far"])
def test_mindie(text: str, stop: list[str], limit: int, full_text: bool) -> None:
    section = "vendors: {mindie: {full_text: true}}\n" if full_text else ""
    body = {"inputs": PROMPT, "parameters": {"stop": stop, "max_new_tokens": limit, "details": True, "seed": 1}}
    due, rows = stream("mindie", "/", {**body, "stream": True}, text, section)
    (answer,) = whole("mindie", "/", body, text)
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
def test_tgi(text: str, stop: list[str], limit: int) -> None:
    parameters = {"stop": stop, "max_new_tokens": limit, "details": True, "do_sample": True, "seed": 1}
    body = {"inputs": PROMPT, "parameters": parameters}
    due, rows = stream("tgi", "/generate_stream", body, text)
    answer = whole("tgi", "/generate", body, text)
    last = rows[-1]
    assert "".join(row["token"]["text"] for row in rows if not row["token"]["special"]) == last["generated_text"]
    assert due == sorted(due)
    assert answer["generated_text"] == last["generated_text"]
    assert [row["token"] for row in rows] == answer["details"]["tokens"]
    assert last["details"]["generated_tokens"] == len(rows) <= limit


@given(text=TEXTS, stop=STOPS, limit=LIMITS)
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("vendor", ["mindie", "tgi"])
def test_chat(vendor: str, text: str, stop: list[str], limit: int) -> None:
    body = {"messages": [{"role": "user", "content": PROMPT}], "stop": stop, "max_tokens": limit}
    if vendor == "mindie":
        body["model"] = "llama_65b"
    call = accepted(vendor, "/v1/chat/completions", {**body, "stream": True})
    events = list(call.codec.stream(plan_for(call, text), call, service(vendor)).events)
    assert events[-1][1] == b"data: [DONE]\n\n"
    rows = [json.loads(data.removeprefix(b"data:")) for _, data in events[:-1]]
    choice = whole(vendor, "/v1/chat/completions", body, text)["choices"][0]
    assert "".join(row["choices"][0]["delta"]["content"] for row in rows) == choice["message"]["content"]
    assert rows[-1]["choices"][0]["finish_reason"] == choice["finish_reason"]
