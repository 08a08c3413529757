"""Properties of all responses: streaming and non-streaming texts agree, and counts add up."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.http import Mark
from emulator.generation.segments import FixedReply
from tests.conftest import Start
from tests.vendors.tgi.direct import CHAT, PROMPT, ask, render, stream

TEXTS = st.text(alphabet="ab 世é𝄞\n.'", min_size=1, max_size=40)
STOPS = st.lists(st.text(alphabet="ab 世é", min_size=1, max_size=4), max_size=3)
LIMITS = st.integers(min_value=1, max_value=50)


@given(text=TEXTS, stop=STOPS, limit=LIMITS)
@settings(max_examples=25, deadline=None)
def test_generate(text: str, stop: list[str], limit: int) -> None:
    body = ask({"stop": stop, "max_new_tokens": limit, "details": True, "do_sample": True, "seed": 1})
    events = stream("/generate_stream", body, FixedReply(text=text))
    due = [moment for moment, _, _, _ in events]
    rows = [json.loads(data.removeprefix(b"data:")) for _, data, _, _ in events]
    answer = json.loads(render("/generate", body, FixedReply(text=text)).body)
    last = rows[-1]
    assert "".join(row["token"]["text"] for row in rows if not row["token"]["special"]) == last["generated_text"]
    assert due == sorted(due)
    assert answer["generated_text"] == last["generated_text"]
    assert [row["token"] for row in rows] == answer["details"]["tokens"]
    assert last["details"]["generated_tokens"] == len(rows) <= limit


@given(text=TEXTS, stop=STOPS, limit=LIMITS)
@settings(max_examples=25, deadline=None)
def test_chat(text: str, stop: list[str], limit: int) -> None:
    body = {"messages": [{"role": "user", "content": PROMPT}], "stop": stop, "max_tokens": limit}
    *events, done = stream(CHAT, {**body, "stream": True}, FixedReply(text=text))
    assert (done[1], done[3]) == (b"data: [DONE]\n\n", Mark.DONE)
    rows = [json.loads(data.removeprefix(b"data:")) for _, data, _, _ in events]
    choice = json.loads(render(CHAT, body, FixedReply(text=text)).body)["choices"][0]
    assert "".join(row["choices"][0]["delta"]["content"] for row in rows) == choice["message"]["content"]
    assert rows[-1]["choices"][0]["finish_reason"] == choice["finish_reason"]


async def test_scenario_usage_overrides_counts(start: Start) -> None:
    rule = "rules: [{name: fixed, reply: {text: x, usage: {prompt_tokens: 70, completion_tokens: 90}}}]\n"
    answer = await (await start(rule)).ask("tgi", "/generate_stream", ask({"details": True}))
    details = json.loads(answer.body.rpartition(b"data:")[2])["details"]
    assert (details["input_length"], details["generated_tokens"]) == (70, 90)
