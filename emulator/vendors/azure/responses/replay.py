"""Replay the stream of a stored background response, from any of its events on (``starting_after``).

Sources: learn.microsoft.com, "Azure OpenAI Responses API", "Background tasks"; the package
azure-ai-agentserver-responses (refusals); openai/openai-python issue 2828 (how long a stream can be replayed).
"""

from collections.abc import Iterator, Mapping
from math import inf

from pydantic import TypeAdapter

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Event
from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text
from emulator.core.plan import Choice, FinishReason, Logprob, Plan, Segment, SegmentKind, Tokens, Usage
from emulator.protocols.openai.responses import OWN_FIELDS, Citation, ResponseOptions, stream_response
from emulator.vendors.azure.errors import refusals

_FINDINGS = ("content_filters",)
_LIFETIME = 300.0  # seconds after its end in which a stream can be replayed


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredStream:
    """Stored stream: all that is needed to render it again."""

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
    obfuscate: bool = False
    citations: tuple[Citation, ...] = ()


_STORED_STREAM = TypeAdapter(StoredStream)


def record_stream(plan: Plan, options: ResponseOptions) -> JSON:
    """Return the document of a stream."""
    choice, usage = plan.choices[0], plan.usage
    logprobs = choice.logprobs
    stored_stream = StoredStream(
        key=plan.key.hex(),
        created=plan.created,
        tokens=choice.tokens,
        due=tuple(choice.due),
        spans=tuple(
            [(segment.kind, segment.start, segment.end, segment.name, segment.id) for segment in choice.segments]
        ),
        finish=choice.finish_reason,
        logprobs=None if logprobs is None else tuple([(each.token, each.logprob, each.top) for each in logprobs]),
        usage=(usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens),
        summary=options.summary,
        encrypted=options.encrypted,
        obfuscate=options.obfuscate,
        citations=tuple(options.citations),
    )
    stored: JSON = _STORED_STREAM.dump_python(stored_stream, mode="json")
    return stored


def replay_stream(document: Object, query: Mapping[str, str], now: float) -> Iterator[Event]:
    """Yield the events of a stored response after ``starting_after``; later ones keep their due times.

    Raises:
        EmulatedError: the response has no stream, or it has expired.
    """
    stored_stream = _load_stream(document, now)
    after = _parse_cursor(query)
    passed = now - stored_stream.created
    last = as_number(document.get("cancelled_at", inf)) - stored_stream.created
    events = stream_response(_build_plan(stored_stream), _build_options(as_object(document["response"]), stored_stream))
    return (
        (max(0.0, due - passed), data, 0, mark)
        for number, (due, data, _, mark) in enumerate(events)
        if number > after and due <= last
    )


def _load_stream(document: Object, now: float) -> StoredStream:
    stored = document.get("stream")
    if stored is None:
        field = "stream" if document["background"] else "background"
        raise _error_stream(f"This response cannot be streamed because it was not created with {field}=true.")
    stored_stream = _STORED_STREAM.validate_python(stored)
    if now - as_number(document["ends"]) > _LIFETIME:
        raise _error_stream("This response can no longer be streamed because it is more than 5 minutes old")
    return stored_stream


def _parse_cursor(query: Mapping[str, str]) -> int:
    """Parse ``starting_after``, the number of the client's last event; -1 without one."""
    given = query.get("starting_after")
    if given is None:
        return -1
    try:
        return int(given)
    except ValueError:
        text = "starting_after must be an integer"
        raise refusals.contradicts(text, "starting_after", "invalid_request_error") from None


def _error_stream(text: str) -> EmulatedError:
    return refusals.contradicts(text, "stream", "invalid_request_error")


def _build_plan(stored_stream: StoredStream) -> Plan:
    logprobs = stored_stream.logprobs
    choice = Choice(
        sequence=Tokens(stored_stream.tokens, (0,) * len(stored_stream.tokens)),
        due=stored_stream.due,
        finish_reason=stored_stream.finish,
        segments=tuple([Segment(*segment) for segment in stored_stream.spans]),
        logprobs=None if logprobs is None else tuple([Logprob(*entry) for entry in logprobs]),
    )
    return Plan(
        key=bytes.fromhex(stored_stream.key),
        created=stored_stream.created,
        choices=(choice,),
        usage=Usage(*stored_stream.usage),
    )


def _list_searches(response: Object) -> list[Object]:
    """Return the file searches of a response without their ids, which their number gives."""
    items = [as_object(item) for item in as_array(response["output"])]
    return [
        {name: value for name, value in item.items() if name not in ("id", "type")}
        for item in items
        if item["type"] == "file_search_call"
    ]


def _build_options(response: Object, stored_stream: StoredStream) -> ResponseOptions:
    """Return the rendering options of the stored response."""
    return ResponseOptions(
        model=as_text(response["model"]),
        draw_id=lambda key: as_text(response["id"]),
        echo={name: value for name, value in response.items() if name not in {*OWN_FIELDS, *_FINDINGS}},
        findings={name: response[name] for name in _FINDINGS if name in response},
        chat_usage=False,
        stream_usage=True,
        events=True,
        done=False,
        summary=stored_stream.summary,
        encrypted=stored_stream.encrypted,
        obfuscate=stored_stream.obfuscate,
        searches=_list_searches(response),
        citations=stored_stream.citations,
        queued=True,
        customs=frozenset(
            [as_text(tool["name"]) for tool in map(as_object, as_array(response["tools"])) if tool["type"] == "custom"]
        ),
    )
