"""A small application that talks to a model: it retries, streams, and leaves a service alone that is down."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from openai import APIConnectionError, APIError, InternalServerError, OpenAI, RateLimitError

MODEL = "databricks-meta-llama-3-3-70b-instruct"
RULES = "Answer in one sentence."


class Unavailable(Exception):
    """The model cannot be had now."""


class Interrupted(Exception):
    """The answer broke off."""


class Breaker:
    """Opens after some failures in a row; while it is open, no request is sent."""

    def __init__(self, failures: int = 3, rest: float = 30.0, now: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._rest = rest
        self._now = now
        self._failures = 0
        self._until = 0.0

    @property
    def is_open(self) -> bool:
        return self._now() < self._until

    def note(self, *, failed: bool) -> None:
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= self._most:
            self._until = self._now() + self._rest


class Assistant:
    """Asks one model."""

    def __init__(
        self, url: str, key: str = "dapi-assistant", breaker: Breaker | None = None, patience: float = 20
    ) -> None:
        """``patience``: seconds to wait for something to come; each attempt has them anew."""
        self._client = OpenAI(base_url=f"{url}/serving-endpoints", api_key=key, max_retries=2, timeout=patience)
        self._breaker = breaker or Breaker()

    def answer(self, question: str) -> str:
        """The whole answer; busy and broken servers are asked three times."""
        if self._breaker.is_open:
            raise Unavailable("resting")
        try:
            answer = self._client.chat.completions.create(model=MODEL, messages=self._write(question))
        except (APIConnectionError, InternalServerError, RateLimitError) as error:
            self._breaker.note(failed=True)
            raise Unavailable(str(error)) from error
        self._breaker.note(failed=False)
        return answer.choices[0].message.content or ""

    def stream(self, question: str) -> Iterator[str]:
        """The answer as it comes; one without an end is no answer."""
        finished = False
        try:
            messages = self._write(question)
            for chunk in self._client.chat.completions.create(model=MODEL, messages=messages, stream=True):
                for choice in chunk.choices:
                    finished = finished or choice.finish_reason is not None
                    if choice.delta.content:
                        yield choice.delta.content
        except APIError as error:
            raise Interrupted(str(error)) from error
        except Exception as error:  # a connection that is lost while it is read is the HTTP library's own error
            raise Interrupted(repr(error)) from error
        if not finished:
            raise Interrupted("the stream has no end")

    @staticmethod
    def _write(question: str) -> list[Any]:
        return [{"role": "system", "content": RULES}, {"role": "user", "content": question}]
