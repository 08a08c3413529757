"""Comments in silent streams."""

import pytest

from emulator.core.http import Mark
from emulator.core.plan import Plan
from emulator.vendors.tgi.keepalive import keep_alive
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.tgi.direct import CHAT, HELLO, PROMPT

COMMENT = b":\n\n"


@pytest.mark.covers("mindie/TGI beside it", "keep-alive")
@pytest.mark.parametrize(
    ("dues", "expected"),
    [
        pytest.param([1.0, 2.0], [1.0, 2.0], id="none is silent"),
        pytest.param([15.0], [15.0], id="an event in time"),
        pytest.param([15.5], ["15.0", 15.5], id="late by half a second"),
        pytest.param([45.0, 46.0], ["15.0", "30.0", 45.0, 46.0], id="long before the first"),
        pytest.param([1.0, 32.0], [1.0, "16.0", "31.0", 32.0], id="the clock begins anew with each event"),
    ],
)
def test_keep_alive_comment_after_every_fifteen_seconds_of_silence(
    dues: list[float], expected: list[float | str]
) -> None:
    events = keep_alive([(due, b"x", 1, Mark.PLAIN) for due in dues], Plan(b"", 0.0, due=dues[-1]))
    assert [str(due) if data == COMMENT else due for due, data, _, _ in events] == expected


GENERATE = {"inputs": PROMPT, "parameters": {"max_new_tokens": 2}}


@pytest.mark.parametrize(
    ("profile", "path", "body"),
    [
        ("3", "/generate_stream", GENERATE),
        ("3", "/", {**GENERATE, "stream": True}),
        ("3", CHAT, {"messages": HELLO, "stream": True, "max_tokens": 2}),
        ("3", "/v1/completions", {"prompt": PROMPT, "stream": True, "max_tokens": 2}),
        ("0.9.4", "/generate_stream", GENERATE),
        ("0.9.4", "/", {**GENERATE, "stream": True}),
    ],
)
async def test_slow_streams_have_keep_alive_comments(start: Start, profile: str, path: str, body: JSON) -> None:
    scenario = f"version: 1\nname: t\nclock: instant\nvendors: {{tgi: {{profile: '{profile}'}}}}\n"
    answer = await (await start(scenario + "latency: {ttft: 40s, itl: 16s}\n")).ask("tgi", path, body)
    chunks = [chunk == COMMENT for chunk in answer.chunks]
    assert chunks[:5] == [True, True, False, True, False]
    assert not any(chunks[5:])
