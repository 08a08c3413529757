"""Streams of responses in the background, which can be heard again from any of their events on.

Sources: learn.microsoft.com, "Azure OpenAI Responses API", "Background tasks"; the package
azure-ai-agentserver-responses (refusals); openai/openai-python issue 2828 (how long a stream can be heard).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from pydantic import TypeAdapter

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Event
from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text
from emulator.core.plan import Choice, FinishReason, Logprob, Plan, Segment, SegmentKind, Tokens, Usage
from emulator.protocols.openai.responses import OWN_FIELDS, ResponseOptions, stream_response
from emulator.vendors.azure.errors import refusals

_FINDINGS = ("content_filters",)
_LIFE = 300.0  # seconds after its beginning in which a stream can be heard


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tape:
    """What is kept of a stream: enough to word it again."""

    key: str
    created: float
    tokens: tuple[str, ...]
    due: tuple[float, ...]
    spans: tuple[tuple[SegmentKind, int, int, str, str], ...]
    finish: FinishReason
    logprobs: tuple[tuple[str, float, tuple[tuple[str, float], ...]], ...] | None
    usage: tuple[int, int, int]
    summary: bool
    encrypted: bool


_TAPE = TypeAdapter(Tape)


def record_stream(plan: Plan, options: ResponseOptions) -> JSON:
    """A stream as it is kept."""
    choice, usage = plan.choices[0], plan.usage
    logprobs = choice.logprobs
    tape = Tape(
        key=plan.key.hex(),
        created=plan.created,
        tokens=choice.tokens,
        due=tuple(choice.due),
        spans=tuple([(span.kind, span.start, span.end, span.name, span.id) for span in choice.segments]),
        finish=choice.finish_reason,
        logprobs=None if logprobs is None else tuple([(each.token, each.logprob, each.top) for each in logprobs]),
        usage=(usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens),
        summary=options.summary,
        encrypted=options.encrypted,
    )
    kept: JSON = _TAPE.dump_python(tape, mode="json")
    return kept


def replay_stream(document: Object, query: Mapping[str, str], now: float) -> Iterator[Event]:
    """The events of a kept response, from the one behind ``starting_after`` on; those still to come when they are due.

    Raises:
        EmulatedError: it has no stream, or had one too long ago.
    """
    tape = _find_tape(document, now)
    after = _read_cursor(query)
    passed = now - tape.created
    last = as_number(document.get("cancelled_at", inf)) - tape.created
    events = stream_response(_read_plan(tape), _read_options(as_object(document["response"]), tape))
    return (
        (max(0.0, due - passed), data, 0, mark)
        for number, (due, data, _, mark) in enumerate(events)
        if number > after and due <= last
    )


def _find_tape(document: Object, now: float) -> Tape:
    kept = document.get("stream")
    if kept is None:
        asked = "stream" if document["background"] else "background"
        raise _refuse(f"This response cannot be streamed because it was not created with {asked}=true.")
    tape = _TAPE.validate_python(kept)
    if now - as_number(document["ends"]) > _LIFE:
        raise _refuse("This response can no longer be streamed because it is more than 5 minutes old")
    return tape


def _read_cursor(query: Mapping[str, str]) -> int:
    """``starting_after``: the number of the last event that the client has; none at all without one."""
    given = query.get("starting_after")
    if given is None:
        return -1
    try:
        return int(given)
    except ValueError:
        text = "starting_after must be an integer"
        raise refusals.contradicts(text, "starting_after", "invalid_request_error") from None


def _refuse(text: str) -> EmulatedError:
    return refusals.contradicts(text, "stream", "invalid_request_error")


def _read_plan(tape: Tape) -> Plan:
    logprobs = tape.logprobs
    choice = Choice(
        tokens_said=Tokens(tape.tokens, (0,) * len(tape.tokens)),
        due=tape.due,
        finish_reason=tape.finish,
        segments=tuple([Segment(*span) for span in tape.spans]),
        logprobs=None if logprobs is None else tuple([Logprob(*entry) for entry in logprobs]),
    )
    return Plan(key=bytes.fromhex(tape.key), created=tape.created, choices=(choice,), usage=Usage(*tape.usage))


def _read_options(response: Object, tape: Tape) -> ResponseOptions:
    """How the response was sent that is to be sent again."""
    return ResponseOptions(
        model=as_text(response["model"]),
        draw_id=lambda key: as_text(response["id"]),
        echo={name: value for name, value in response.items() if name not in {*OWN_FIELDS, *_FINDINGS}},
        findings={name: response[name] for name in _FINDINGS if name in response},
        chat_usage=False,
        stream_usage=True,
        events=True,
        done=False,
        summary=tape.summary,
        encrypted=tape.encrypted,
        queued=True,
        customs=frozenset(
            [as_text(tool["name"]) for tool in map(as_object, as_array(response["tools"])) if tool["type"] == "custom"]
        ),
    )
