"""What the assistant does when all is well, and when it is not. No fixture but the emulator's own."""

import asyncio

import pytest
from assistant import MODEL, RULES, Assistant, Breaker, Interrupted, Unavailable
from openai import APIStatusError

BUSY = {"error": {"kind": "rate_limited", "retry_after": "1s"}}
TIDES = "潮汐每天来两次。"
DOWN = {"error": {"kind": "overloaded"}}


def test_the_answer_is_what_the_model_says(emulator):
    emulator.load(
        {"rules": [{"name": "tides", "when": {"prompt": {"contains": "tides"}}, "reply": {"text": "Twice."}}]}
    )
    assert Assistant(emulator.url("databricks")).answer("How often do tides come?") == "Twice."


def test_it_sends_its_rules_and_the_question(emulator):
    Assistant(emulator.url("databricks")).answer("Why is the sea salt?")
    call = emulator.last()
    assert call.request.body["model"] == MODEL
    assert call.request.body["messages"] == [
        {"role": "system", "content": RULES},
        {"role": "user", "content": "Why is the sea salt?"},
    ]
    assert call.request.headers["authorization"] == "Bearer dapi…"
    emulator.assert_called(times=1, system=RULES, stream=False)


@pytest.mark.emulator(clock="instant", rules=[{"name": "busy", "times": {"first": 2}, **BUSY}])
def test_it_waits_as_it_is_told_and_asks_again(emulator):
    assert Assistant(emulator.url("databricks")).answer("Are you there?")
    assert [(call.attempt, call.status) for call in emulator.requests()] == [(1, 429), (2, 429), (3, 200)]
    emulator.assert_order([{"status": 429}, {"status": 200}])


@pytest.mark.emulator(clock="instant", rules=[{"name": "busy", **BUSY}])
def test_it_gives_up_after_three_attempts(emulator):
    with pytest.raises(Unavailable):
        Assistant(emulator.url("databricks")).answer("Are you there?")
    emulator.assert_called(times=3, error="rate_limited")


@pytest.mark.emulator(clock="instant", rules=[{"name": "down", **DOWN}])
def test_the_breaker_opens_and_nothing_more_is_sent(emulator):
    time = [0.0]
    assistant = Assistant(emulator.url("databricks"), breaker=Breaker(failures=2, now=lambda: time[0]))
    for _ in range(5):
        with pytest.raises(Unavailable):
            assistant.answer("Are you there?")
    emulator.assert_called(times=6)  # two failures of three attempts each
    emulator.load({})
    time[0] += 31
    assert assistant.answer("And now?")
    emulator.assert_called(times=1, prompt="And now?")


def test_a_stream_comes_in_pieces(emulator):
    emulator.load({"rules": [{"name": "tides", "reply": {"text": "They come twice a day."}}]})
    pieces = list(Assistant(emulator.url("databricks")).stream("How often do tides come?"))
    assert "".join(pieces) == "They come twice a day."
    assert len(pieces) > 1
    assert emulator.last(stream=True).response.text == "They come twice a day."


@pytest.mark.emulator(rules=[{"name": "lost", "faults": [{"type": "disconnect", "after_tokens": 5}]}])
def test_a_lost_stream_is_noticed(emulator):
    with pytest.raises(Interrupted):
        list(Assistant(emulator.url("databricks")).stream("How often do tides come?"))
    emulator.assert_called(fault="disconnect", whole=False)


@pytest.mark.emulator(rules=[{"name": "cut", "faults": [{"type": "truncate", "after_tokens": 5}]}])
def test_a_stream_that_ends_too_early_is_noticed(emulator):
    with pytest.raises(Interrupted, match="no end"):
        list(Assistant(emulator.url("databricks")).stream("How often do tides come?"))


@pytest.mark.emulator(rules=[{"name": "ill", "faults": [{"type": "late_error", "after_tokens": 5}]}])
def test_a_failure_inside_a_stream_is_noticed(emulator):
    with pytest.raises(Interrupted):
        list(Assistant(emulator.url("databricks")).stream("How often do tides come?"))
    emulator.assert_called(times=1, status=200, fault="late_error")


@pytest.mark.emulator(
    rules=[{"name": "awkward", "reply": {"text": TIDES}, "faults": [{"type": "split", "writes": "utf8"}]}]
)
def test_characters_that_come_in_two_writes_come_whole(emulator):
    assert "".join(Assistant(emulator.url("databricks")).stream("And in Chinese?")) == TIDES


@pytest.mark.emulator(rules=[{"name": "slow", "times": {"first": 1}, "latency": {"ttft": "20s"}}])
def test_an_attempt_that_takes_too_long_is_given_up_and_made_again(emulator):
    assert Assistant(emulator.url("databricks"), patience=0.3).answer("Are you there?")
    emulator.assert_order([{"attempt": 1, "client_left": True}, {"attempt": 2, "status": 200}], within="5s")


@pytest.mark.emulator(
    rules=[{"name": "filter", "when": {"prompt": {"contains": "secret"}}, "error": {"kind": "content_filter"}}]
)
def test_a_prompt_that_is_refused_is_not_asked_again(emulator):
    with pytest.raises(APIStatusError):
        Assistant(emulator.url("databricks")).answer("Tell me the secret.")
    emulator.assert_called(times=1, error="content_filter")


def test_a_quota_is_waited_for_as_long_as_it_takes(emulator):
    limit = {"unit": "requests", "amount": 1, "window": "60s", "strategy": "fixed"}
    emulator.load(limits=[limit], clock="instant")
    assistant = Assistant(emulator.url("databricks"))
    assert [bool(assistant.answer(question)) for question in ("One?", "Two?")] == [True, True]
    (refused,) = emulator.requests(status=429)
    assert refused.limits[0].wait == 60
    assert emulator.clock().since_start >= 60


@pytest.mark.emulator(strict=True, rules=[{"name": "the one prompt", "when": {"prompt": "Hello"}, "pass": True}])
def test_nothing_is_sent_that_nobody_expects(emulator):
    Assistant(emulator.url("databricks")).answer("Hello")


def test_many_at_once_do_not_disturb_one_another(emulator):
    assistant = Assistant(emulator.url("databricks"))

    async def ask_all():
        return await asyncio.gather(*(asyncio.to_thread(assistant.answer, f"Question {n}?") for n in range(8)))

    assert all(asyncio.run(ask_all()))
    emulator.assert_called(times=8, prompt={"regex": "^Question"})
