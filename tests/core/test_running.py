"""Which answer a name stops."""

import asyncio
from collections.abc import Callable

from emulator.core.running import Running


def stopper(stopped: list[str], what: str) -> Callable[[], None]:
    return lambda: stopped.append(what)


def test_a_name_stops_one_answer_of_its_session() -> None:
    running, stopped = Running(), list[str]()
    stop = stopper(stopped, "a")
    running.enter("", ("one", "other"), stop)
    assert not running.stop("team", "one")
    assert not running.stop("", "none")
    assert running.stop("", "other")
    assert stopped == ["a"]
    running.leave("", ("one", "other"), stop)
    assert not running.stop("", "one")


def test_of_equal_names_the_latest_is_stopped() -> None:
    running, stopped = Running(), list[str]()
    first, second = stopper(stopped, "first"), stopper(stopped, "second")
    running.enter("", ("one",), first)
    running.enter("", ("one",), second)
    running.leave("", ("one",), first)
    assert running.stop("", "one")
    assert stopped == ["second"]


async def test_rest_comes_when_the_last_answer_of_a_session_is_over() -> None:
    running, stopped = Running(), list[str]()
    first, second, other = (stopper(stopped, name) for name in ("first", "second", "other"))
    running.enter("", ("one",), first)
    running.enter("", ("two",), second)
    running.enter("team", ("three",), other)
    rest = asyncio.ensure_future(running.rest(""))
    running.leave("", ("one",), first)
    await asyncio.sleep(0)
    assert not rest.done()
    running.leave("", ("two",), second)
    await asyncio.wait_for(rest, 1)
