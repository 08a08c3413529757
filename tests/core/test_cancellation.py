"""Which answer a name stops."""

import asyncio

from emulator.core.cancellation import CancellableResponse, RunningResponses


def answering(heard: list[str], what: str) -> CancellableResponse:
    return CancellableResponse(lambda: heard.append(f"stop {what}"), lambda: heard.append(f"cut {what}"))


def test_a_name_stops_one_answer_of_its_session() -> None:
    running, stopped = RunningResponses(), list[str]()
    stop = answering(stopped, "a")
    running.enter("", ("one", "other"), stop)
    assert not running.stop("team", "one")
    assert not running.stop("", "none")
    assert running.stop("", "other")
    assert stopped == ["stop a"]
    running.leave("", ("one", "other"), stop)
    assert not running.stop("", "one")


def test_of_equal_names_the_latest_is_stopped() -> None:
    running, stopped = RunningResponses(), list[str]()
    first, second = answering(stopped, "first"), answering(stopped, "second")
    running.enter("", ("one",), first)
    running.enter("", ("one",), second)
    running.leave("", ("one",), first)
    assert running.stop("", "one")
    assert stopped == ["stop second"]


async def test_rest_comes_when_the_last_answer_of_a_session_is_over() -> None:
    running, stopped = RunningResponses(), list[str]()
    first, second, other = (answering(stopped, name) for name in ("first", "second", "other"))
    running.enter("", ("one",), first)
    running.enter("", ("two",), second)
    running.enter("team", ("three",), other)
    rest = asyncio.ensure_future(running.wait_idle(""))
    running.leave("", ("one",), first)
    await asyncio.sleep(0)
    assert not rest.done()
    running.leave("", ("two",), second)
    await asyncio.wait_for(rest, 1)


def test_all_answers_of_a_session_are_stopped_or_cut() -> None:
    running, heard = RunningResponses(), list[str]()
    same, other = answering(heard, "same"), answering(heard, "other")
    deaf = CancellableResponse(None, lambda: heard.append("cut deaf"))
    running.enter("", ("one", "two"), answering(heard, "first"))
    running.enter("", ("one",), same)  # the names are taken over, the answer goes on
    running.enter("", (), deaf)
    running.enter("team", ("one",), other)
    running.stop_all("")
    assert heard == ["stop first", "stop same"]
    heard.clear()
    running.cut_all("")
    assert heard == ["cut first", "cut same", "cut deaf"]


def test_an_answer_that_takes_no_notice_is_not_stopped() -> None:
    running = RunningResponses()
    running.enter("", ("one",), CancellableResponse(None, lambda: None))
    assert not running.stop("", "one")
