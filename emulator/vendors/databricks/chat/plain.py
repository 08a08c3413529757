"""The usual chat request: who said what, and how many tokens the answer may have."""

from __future__ import annotations

from emulator.core.call import ChatAsk, Message, Sampling
from emulator.core.vendor import Call
from emulator.vendors.databricks.chat.codec import ChatCodec
from emulator.vendors.databricks.request import Query
from emulator.vendors.databricks.sampling import count_chat, limit_output
from emulator.vendors.databricks.tools import takes_parallel

_BIGGEST = 2**63 - 1  # what the decoder takes for an integer
_FIELDS = frozenset({"model", "messages", "max_tokens", "stream"})


def read_plain(query: Query) -> Call | None:
    """The call that :func:`emulator.vendors.databricks.chat.parse.read_chat` would make of a usual request.

    ``None``: there is more to be looked at, or something to be refused.
    """
    body, habits, deployment = query.body, query.habits, query.deployment
    if not habits.plain or not _FIELDS.issuperset(body):
        return None
    said, wanted, stream = _read_messages(body.get("messages")), body.get("max_tokens"), body.get("stream", False)
    most = _BIGGEST if deployment.max_output is None else deployment.max_output
    if not said or type(stream) is not bool or not (wanted is None or (type(wanted) is int and 0 < wanted <= most)):
        return None
    count = count_chat(query, said, ())
    if deployment.context is not None and count > deployment.context:
        return None
    return Call(
        deployment=deployment,
        ask=ChatAsk(
            messages=said,
            sampling=Sampling(max_tokens=limit_output(query, wanted, count)),
            parallel=takes_parallel(query),
        ),
        codec=ChatCodec(query.settings, habits.style, query.served, False),
        stream=query.wants_stream(),
        prompt_tokens=(count,),
        repeatable=query.repeatable,
        served=query.served,
    )


def _read_messages(messages: object) -> tuple[Message, ...]:
    """What the two who talk have said, after what the system that lets them has; nothing if there is more to it."""
    said: list[Message] = []
    for message in messages if type(messages) is list else ():
        if type(message) is not dict or len(message) != 2:
            return ()
        role, content = message.get("role"), message.get("content")
        if type(content) is not str or not (role == "user" or role == "assistant" or (role == "system" and not said)):
            return ()
        said.append(Message(str(role), content))
    return tuple(said)
