"""An application over some client, sound in itself, and ten programs that are it with one flaw each.

It makes the same calls whatever happens: pages summarised several at once, a conversation of two turns, a tool, and a
novel of which it reads the beginning alone. It does not notice which stage it plays on.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tests.untyped_json import JSON

TOKENS = 20  # of each answer, at most
PAGES = 10
AT_ONCE = 8
TOOLS: list[JSON] = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Search the library",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        },
    }
]
_PASSING = frozenset({0, 408, 429, 500, 502, 503, 504})  # 0: no answer at all
_T = TypeVar("_T")


class Failed(Exception):
    """A call without a whole answer.

    Fields:
        status: 0 if there is none.
        asked: seconds that the response asks to wait.
        is_begun: the answer had begun.
    """

    def __init__(self, cause: object, *, status: int = 0, asked: float | None = None, is_begun: bool = False) -> None:
        super().__init__(f"{status}: {cause!r}")
        self.status, self.asked, self.is_begun = status, asked, is_begun


@dataclass
class Answer:
    """What a client made of a response; ``tokens``: of its usage, ``message``: to repeat in the next turn."""

    text: str
    is_finished: bool
    tokens: int | None
    calls: Sequence[tuple[str, str]] = ()  # id and arguments
    message: JSON = None


@dataclass
class Piece:
    """A part of a streamed answer."""

    text: str = ""
    is_last: bool = False
    tokens: int | None = None


@dataclass
class Stream:
    """A streamed answer; it stays open until it is closed or ``pieces`` is garbage."""

    pieces: Iterator[Piece]
    close: Callable[[], None]


class Client(Protocol):
    """A vendor's client, without attempts of its own; its calls raise :class:`Failed`."""

    def ask(self, messages: list[JSON], tools: list[JSON], timeout: float) -> Answer: ...

    def stream(self, messages: list[JSON], timeout: float) -> Stream: ...


class BudgetSpent(Exception):
    """Another call would exceed the budget."""


@dataclass
class Application:
    """The sound program; ``budget``: output tokens that it may take."""

    client: Client
    budget: int | None = None
    spent: int = 0
    opened: list[Stream] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    timeout = 5.0
    attempts = 3
    at_once = AT_ONCE
    stays_for = 0.0

    def run(self) -> None:
        """Do all of it; a part that fails is left out."""
        for part in (self.summarise, self.converse, self.look_up, self.skim):
            with suppress(Failed, BudgetSpent):
                part()
        time.sleep(self.stays_for)
        for stream in self.opened:
            stream.close()

    def summarise(self) -> None:
        with ThreadPoolExecutor(self.at_once) as pool:
            for done in [pool.submit(self.summarise_page, number) for number in range(PAGES)]:
                with suppress(Failed, BudgetSpent):
                    done.result()

    def summarise_page(self, number: int) -> None:
        self.ask([say(f"Summarise page {number}.")], [])

    def converse(self) -> None:
        first = self.read([say("What are tides?")])
        self.read([say("What are tides?"), {"role": "assistant", "content": first}, say("And why?")])

    def look_up(self) -> None:
        messages: list[JSON] = [say("Search for tides.")]
        answer = self.ask(messages, TOOLS)
        if answer.calls:
            results = [
                {"role": "tool", "tool_call_id": name, "content": self.use_tool(text)} for name, text in answer.calls
            ]
            self.ask([*messages, answer.message, *results], TOOLS)

    def use_tool(self, arguments: str) -> str:
        try:
            query = json.loads(arguments)["query"]
        except (ValueError, LookupError, TypeError) as error:
            return f"Error: the arguments are not valid: {error!r}"
        return f"3 books about {query}"

    def skim(self) -> None:
        """Read the beginning of a novel, and ask something else."""
        self.attempt(lambda: self.paid(lambda: self.begin([say("Write a novel.")])))
        self.ask([say("What is it called?")], [])

    def begin(self, messages: list[JSON]) -> Answer:
        """Read the first piece of a stream."""
        stream = self.client.stream(messages, self.timeout)
        piece = next(stream.pieces, Piece())
        self.leave(stream)
        return Answer(piece.text, False, None)

    def leave(self, stream: Stream) -> None:
        stream.close()

    def ask(self, messages: list[JSON], tools: list[JSON]) -> Answer:
        return self.attempt(lambda: self.paid(lambda: self.client.ask(messages, tools, self.timeout)))

    def read(self, messages: list[JSON]) -> str:
        """Read a streamed answer to its end."""
        return self.attempt(lambda: self.paid(lambda: self.read_stream(messages))).text

    def read_stream(self, messages: list[JSON]) -> Answer:
        stream = self.client.stream(messages, self.timeout)
        found = Answer("", False, None)
        try:
            for piece in stream.pieces:
                found.text += piece.text
                found.is_finished |= piece.is_last
                found.tokens = found.tokens if piece.tokens is None else piece.tokens
        finally:
            stream.close()
        if not found.is_finished:
            self.meet_cut()
        return found

    def meet_cut(self) -> None:
        raise Failed("the stream has no end", is_begun=True)

    def paid(self, call: Callable[[], Answer]) -> Answer:
        """Make a call if the budget has room for it."""
        with self._lock:
            if self.budget is not None and self.spent + TOKENS > self.budget:
                raise BudgetSpent
            self.spent += TOKENS
        answer = call()
        with self._lock:
            self.spent += self.count(answer) - TOKENS
        return answer

    def count(self, answer: Answer) -> int:
        """Return the tokens of an answer; one without usage may have had as many as it was allowed."""
        return TOKENS if answer.tokens is None else answer.tokens

    def attempt(self, call: Callable[[], _T]) -> _T:
        """Make a call, and try it again while that may help."""
        for number in range(1, self.attempts):
            try:
                return call()
            except Failed as error:
                if not self.may_mend(error):
                    raise
                time.sleep(self.wait(error, number))
        return call()

    def may_mend(self, error: Failed) -> bool:
        """Return whether another attempt may get an answer."""
        return error.status in _PASSING and not error.is_begun

    def wait(self, error: Failed, number: int) -> float:
        """Return seconds after an attempt that failed."""
        if error.asked is not None:
            return error.asked * random.uniform(1, 1.5)
        return 8.0 ** (number - 1) * random.uniform(1, 4)


class RetriesContentFilter(Application):
    attempts = 2

    def may_mend(self, error: Failed) -> bool:
        return super().may_mend(error) or error.status in (400, 424)


class IgnoresRetryAfter(Application):
    def wait(self, error: Failed, number: int) -> float:
        return super().wait(error, number) if error.asked is None else 0.2


class TakesCutForWhole(Application):
    def meet_cut(self) -> None:
        pass


class Hangs(Application):
    timeout = 60.0


class LosesUsage(Application):
    def count(self, answer: Answer) -> int:
        return answer.tokens or 0


class AsksAgain(Application):
    def may_mend(self, error: Failed) -> bool:
        return super().may_mend(error) or error.is_begun


class HasNoJitter(Application):
    def wait(self, error: Failed, number: int) -> float:
        return 12.0**number if error.asked is None else error.asked


class LeaksStreams(Application):
    stays_for = 4.0

    def leave(self, stream: Stream) -> None:
        self.opened.append(stream)


class RunsUnbounded(Application):
    at_once = PAGES


class RunsBadArguments(Application):
    def use_tool(self, arguments: str) -> str:
        with suppress(ValueError, LookupError, TypeError):
            arguments = json.loads(arguments)["query"]
        return f"3 books about {arguments}"


PROGRAMS: dict[str, type[Application]] = {
    "sound": Application,
    "retries a content filter": RetriesContentFilter,
    "ignores Retry-After": IgnoresRetryAfter,
    "takes a cut stream for whole": TakesCutForWhole,
    "hangs": Hangs,
    "loses usage": LosesUsage,
    "asks again after delivery": AsksAgain,
    "no jitter": HasNoJitter,
    "leaks streams": LeaksStreams,
    "unbounded concurrency": RunsUnbounded,
    "acts on bad arguments": RunsBadArguments,
}


def say(text: str) -> JSON:
    return {"role": "user", "content": text}
