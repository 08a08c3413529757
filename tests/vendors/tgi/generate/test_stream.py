"""Streaming responses of ``/generate_stream``."""

import pytest

from emulator.core.http import Mark
from emulator.generation.segments import FixedReply
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import OLD, REPLY, ask, stream


@pytest.mark.covers(
    "mindie/TGI beside it", "token.id of a stream", "events of a stream", "details of a stream", "framing"
)
@pytest.mark.parametrize(
    ("section", "keys", "details", "start_of_event"),
    [
        pytest.param(
            "",
            ["index", "token", "generated_text", "details"],
            ["finish_reason", "generated_tokens", "seed", "input_length"],
            b'data: {"index":1,',
            id="3",
        ),
        pytest.param(
            OLD,
            ["token", "generated_text", "details"],
            ["finish_reason", "generated_tokens", "seed"],
            b'data:{"token":',
            id="0.9.4",
        ),
    ],
)
async def test_stream(start: Start, section: str, keys: JSON, details: JSON, start_of_event: bytes) -> None:
    running = await start(section + REPLY)
    answer = await running.ask("tgi", "/generate_stream", ask({"details": True}))
    rows = answer.events()
    assert answer.body.startswith(start_of_event)
    assert all(list(row) == keys for row in rows)
    assert all(row["generated_text"] is row["details"] is None for row in rows[:-1])
    assert list(rows[-1]["details"]) == details
    assert rows[-1]["generated_text"] == "one two three" == "".join(row["token"]["text"] for row in rows[:-1])
    if "index" in keys:
        assert [row["index"] for row in rows] == list(range(1, len(rows) + 1))
        assert rows[-1]["details"]["input_length"] == 6
    assert b"[DONE]" not in answer.body


@pytest.mark.parametrize(("details", "mark"), [(True, Mark.FINISH | Mark.USAGE), (False, Mark.FINISH)])
def test_stream_event_marks(details: bool, mark: Mark) -> None:
    events = stream("/generate_stream", ask({"details": details}), FixedReply(pieces=("a", "", "b")))
    assert [event[2:] for event in events[:-1]] == [(number, Mark.PLAIN) for number in range(1, len(events))]
    assert events[-1][2:] == (len(events), mark)
