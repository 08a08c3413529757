"""Types of a Python function that a test gives to a client's ``reply``: its argument, and its result.

``handler/reply_functions.py`` calls it in place of a rule's reply.
"""

from collections.abc import Callable, Mapping

from emulator.core.conversation import Body
from emulator.core.dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True)
class ReplyCall:
    """Call that a function answers.

    Fields:
        attempt: number of the request among equal ones of its session, from 1.
        prompt: text of the user's last message, or the last prompt or input.
        body: parsed body of the request; ``None`` if it is not JSON.
        messages: messages as the client sent them; empty if the request has none.
    """

    vendor: str
    deployment: str
    session: str
    principal: str
    attempt: int
    stream: bool
    prompt: str | None
    system: str | None
    messages: list[dict[str, Body]]
    body: Body


ReplyFunction = Callable[[ReplyCall], str | Mapping[str, object]]
"""Function that returns the text of an answer, or the keys of a ``reply``. It runs in a thread of its own."""
