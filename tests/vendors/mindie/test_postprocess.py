"""End of a response, and its finish reason."""

import pytest

from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors.mindie.direct import (
    REPLY,
    ask,
)


@pytest.mark.covers("mindie/interplay", "stop")
@pytest.mark.covers("mindie/finish_reason", "eos_token", "stop_sequence", "length")
@pytest.mark.parametrize(
    ("parameters", "reason", "count", "text"),
    [
        pytest.param({}, "eos_token", 4, " one two three", id="its end is a token too"),
        pytest.param({"max_new_tokens": 2}, "length", 2, " one two", id="cut at the limit"),
        pytest.param({"max_new_tokens": 3}, "length", 3, " one two three", id="the limit excludes its end"),
        pytest.param({"max_new_tokens": 4}, "length", 4, " one two three", id="an end on the last token is hidden"),
        pytest.param({"stop": " three"}, "stop_sequence", 3, " one two", id="a stop string is taken out"),
        pytest.param({"stop": ["zzz", "wo"]}, "stop_sequence", 2, " one t", id="inside a token"),
        pytest.param(
            {"stop": " two", "max_new_tokens": 2}, "length", 2, " one", id="a stop on the last token is hidden"
        ),
        pytest.param({"stop": "zzz"}, "eos_token", 4, " one two three", id="a stop that never comes"),
        pytest.param({"stop": [" two three", " two"]}, "stop_sequence", 2, " one", id="the stop that comes first"),
    ],
)
async def test_finish_reason_and_text(start: Start, parameters: JSON, reason: str, count: int, text: str) -> None:
    running = await start(REPLY)
    body = ask({"details": True, **parameters})
    answer = (await running.ask("mindie", "/", body)).json()[0]
    assert answer["generated_text"] == text
    assert answer["details"]["finish_reason"] == reason
    assert answer["details"]["generated_tokens"] == len(answer["details"]["tokens"]) == count
    last = (await running.ask("mindie", "/", {**body, "stream": True})).events()[-1]
    assert (last["generated_text"], last["details"]["finish_reason"]) == (text, reason)


@pytest.mark.covers("mindie/finish_reason", "invalid marker")
@pytest.mark.covers("mindie/decisions", "4 invalid marker")
async def test_invalid_finish_reason_follows_setting(start: Start) -> None:
    rule = "rules: [{name: fixed, reply: {text: x, finish_reason: content_filter}}]\n"
    for section, marker in (
        ("", "invalid flag"),
        ("vendors: {mindie: {invalid_finish_reason: invalid finishReason}}\n", "invalid finishReason"),
    ):
        running = await start(section + rule)
        answer = await running.ask("mindie", "/", ask({"details": True}))
        assert answer.json()[0]["details"]["finish_reason"] == marker
