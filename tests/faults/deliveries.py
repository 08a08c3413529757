"""Answers made by hand: one in events, and the same in one piece."""

from pydantic import TypeAdapter

from emulator.core.faultable import Chunk, FaultableResponse
from emulator.core.http import Mark
from emulator.faults import AnyFault, Fault
from emulator.protocols import tgi
from emulator.protocols.openai import messages
from tests.untyped_json import JSON

TEXTS = ("Hi", " 你", "\n")
EVENTS = (
    (0.0, b'data: {"id":"a","choices":[{"delta":{"role":"assistant","content":""}}]}\n\n', 0),
    (1.0, b'data: {"id":"a","choices":[{"delta":{"content":"Hi"}}]}\n\n', 1),
    (2.0, 'data: {"id":"a","choices":[{"delta":{"content":" 你"}}]}\n\n'.encode(), 2),
    (3.0, b'data: {"id":"a","choices":[{"delta":{"content":"\\n"}}]}\n\n', 3),
    (3.0, b'data: {"id":"a","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n', 3),
    (3.0, b'data: {"id":"a","choices":[],"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}}\n\n', 3),
    (3.0, b"data: [DONE]\n\n", 3),
)
HEAD = '{"id":"a","choices":[{"message":{"content":"'
TAIL = '"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}}'
PARTS = ((HEAD, 0), ("Hi", 1), (" 你", 2), ("\\n", 3), (TAIL, 3))
JSON_TYPE = ("content-type", "application/json")

FIELDS = messages.FIELDS | tgi.FIELDS
MARKS = {4: Mark.FINISH, 5: Mark.USAGE, 6: Mark.DONE}

STREAM = FaultableResponse(
    status=200,
    headers=(("content-type", "text/event-stream"), ("x-a", "b")),
    chunks=tuple(
        Chunk(due, data, tokens, mark=MARKS.get(number, Mark.PLAIN))
        for number, (due, data, tokens) in enumerate(EVENTS)
    ),
    streamed=True,
    chunked=True,
    end=3.0,
    texts=TEXTS,
    fields=FIELDS,
    render_error=lambda error: f"!{error.kind}:{error.message}".encode(),
)
WHOLE = FaultableResponse(
    status=200,
    headers=(JSON_TYPE,),
    chunks=tuple(Chunk(3.0, text.encode(), tokens, text == TAIL, text == TAIL) for text, tokens in PARTS),
    streamed=False,
    chunked=False,
    start=3.0,
    end=3.0,
    texts=TEXTS,
    fields=FIELDS,
    render_error=STREAM.render_error,
)

_FAULTS: TypeAdapter[Fault] = TypeAdapter(AnyFault)


def make_fault(**fields: JSON) -> Fault:
    """Build a fault as a scenario writes it; ``for_`` is ``for``, a keyword of Python."""
    return _FAULTS.validate_python({name.rstrip("_"): value for name, value in fields.items()})


def starts(count: int) -> int:
    """Where the event with this number begins in the stream."""
    return sum(len(data) for _, data, _ in EVENTS[:count])


def body_until(*parts: str) -> int:
    """How many bytes the first parts of the whole answer have."""
    return len("".join(parts).encode())
