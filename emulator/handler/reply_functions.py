"""Call a test's Python functions, which answer in place of a rule's reply; only in the process of the test."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field

from pydantic import ValidationError

from emulator.core.conversation import find_prompt, list_messages
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.reply_call import ReplyCall, ReplyFunction
from emulator.core.requests import ChatRequest
from emulator.scenario.errors import explain_errors
from emulator.scenario.locations import Locations
from emulator.scenario.matchers import RequestAttributes
from emulator.scenario.outcomes import ReplyOutcome

log = logging.getLogger("emulator")


class NoReplyError(ValueError):
    """Error for a value of a function that is no reply."""


@fast_dataclass(slots=True, eq=False)
class ReplyFunctions:
    """Functions by session and rule; the rule's own reply is a placeholder.

    ``errors``: exceptions that functions raised, with the session, until a test takes them.
    """

    functions: dict[tuple[str, str], ReplyFunction] = field(default_factory=dict)
    errors: list[tuple[str, Exception]] = field(default_factory=list)

    def find(self, session: str, rule: str) -> ReplyFunction | None:
        """Return the function of a rule, or that of the server's rule, which sessions share."""
        return self.functions.get((session, rule)) or self.functions.get(("", rule))

    async def call(self, function: ReplyFunction, attributes: RequestAttributes) -> ReplyOutcome:
        """Return what a function replies; it runs in a thread, where it may block.

        Raises:
            EmulatedError: it raised, or returned what is no reply.
        """
        try:
            found = await asyncio.to_thread(function, _describe(attributes))
            return _read_reply(found)
        except Exception as error:
            self.errors.append((attributes.request.session, error))
            log.error("a reply's function failed: %r", error)
            text = "it returned no reply" if isinstance(error, NoReplyError) else repr(error)
            raise EmulatedError(ErrorKind.INTERNAL, f"The function of a reply failed: {text}") from None

    def take_error(self, session: str | None = None) -> Exception | None:
        """Return the first error of a session, and drop all of it; ``None``: of any session."""
        found = [error for name, error in self.errors if session in (None, name)]
        self.errors = [pair for pair in self.errors if session not in (None, pair[0])]
        return found[0] if found else None


def _read_reply(found: object) -> ReplyOutcome:
    """Return the reply that a function returned.

    Raises:
        NoReplyError: it is neither a text nor a mapping with the keys of a reply.
    """
    if not isinstance(found, str | Mapping):
        kind = type(found).__name__
        raise NoReplyError(f"a reply's function returned {kind}; return a text, or a mapping with the keys of a reply")
    keys: JSON = {"text": found} if isinstance(found, str) else dict(found)
    try:
        return ReplyOutcome.model_validate(keys)
    except ValidationError as error:
        mistakes = explain_errors(error, keys, ReplyOutcome.model_json_schema())
        rows = "; ".join(str(mistake.locate(Locations(), "")) for mistake in mistakes)
        raise NoReplyError(f"a reply's function returned a mapping that is no reply: {rows}") from None


def _describe(attributes: RequestAttributes) -> ReplyCall:
    body: JSON = None
    with suppress(ValueError):
        body = attributes.request.json()
    call = attributes.call
    request = attributes.inference
    prompt = request.prompt if isinstance(request, ChatRequest) else find_prompt(body)
    return ReplyCall(
        vendor=attributes.vendor,
        deployment=attributes.deployment,
        session=attributes.request.session,
        principal=attributes.request.principal,
        attempt=attributes.attempt + 1,
        stream=call is not None and call.stream,
        prompt=prompt,
        system=request.system if isinstance(request, ChatRequest) else None,
        messages=list_messages(body),
        body=body,
    )
