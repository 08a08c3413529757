"""Which answer a name stops."""

import asyncio

from emulator.core.cancellation import CancellableResponse, RunningResponses


def answering(heard: list[str], what: str) -> CancellableResponse:
    return CancellableResponse(lambda: heard.append(f"stop {what}"), lambda: heard.append(f"cut {what}"))


def test_stop_by_name_is_limited_to_session() -> None:
    running, stopped = RunningResponses(), list[str]()
    stop = answering(stopped, "a")
    running.enter("", ("one", "other"), stop)
    assert not running.stop("team", "one")
    assert not running.stop("", "none")
    assert running.stop("", "other")
    assert stopped == ["stop a"]
    running.leave("", ("one", "other"), stop)
    assert not running.stop("", "one")


def test_stop_ends_latest_response_of_duplicate_name() -> None:
    running, stopped = RunningResponses(), list[str]()
    first, second = answering(stopped, "first"), answering(stopped, "second")
    running.enter("", ("one",), first)
    running.enter("", ("one",), second)
    running.leave("", ("one",), first)
    assert running.stop("", "one")
    assert stopped == ["stop second"]


async def test_wait_idle_returns_after_last_response_of_session() -> None:
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


def test_stop_all_and_cut_all_affect_only_session() -> None:
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


def test_response_without_stop_callback_is_not_stopped() -> None:
    running = RunningResponses()
    running.enter("", ("one",), CancellableResponse(None, lambda: None))
    assert not running.stop("", "one")
