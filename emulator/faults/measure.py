"""Convert a vendor's response to the form that faults edit, which maps bytes to tokens.

Events of a stream carry their token counts. In a whole body the text of the tokens is searched in the strings of the
vendor's text members.
"""

from collections.abc import Iterable, Iterator, Sequence

from emulator.core.faultable import Chunk, FaultableResponse
from emulator.core.http import NO_FIELDS, Event, FieldNames, Mark, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.faults.json_edit import Text, find_texts

_MAX_SEGMENTS = 10_000  # of a choice


def measure(
    answer: Response | StreamingResponse, *, plan: Plan | None = None, fields: FieldNames = NO_FIELDS
) -> FaultableResponse:
    """Return the response in chunks with their due times and tokens.

    Args:
        plan: content of the response; absent: it has no tokens.
        fields: meaning of members in the vendor's responses.
    """
    tokens = _list_tokens(plan) if plan is not None else ()
    texts = tuple([text for _, text in tokens])
    if isinstance(answer, StreamingResponse):
        pieces = tuple(_count_events(answer.events, len(texts)))
        return FaultableResponse(
            status=answer.status,
            headers=answer.headers,
            chunks=pieces,
            streamed=True,
            chunked=True,
            end=pieces[-1].due if pieces else 0.0,
            texts=texts,
            fields=fields,
        )
    due = plan.due if plan is not None else 0.0
    return FaultableResponse(
        status=answer.status,
        headers=answer.headers,
        chunks=tuple(_cut_body(answer.body, due, tokens, fields)) if answer.body else (),
        streamed=False,
        chunked=answer.chunked,
        start=due,
        end=due,
        close=answer.close,
        texts=texts,
        fields=fields,
    )


def _list_tokens(plan: Plan) -> tuple[tuple[int, str], ...]:
    """Return every token with the number of its segment, in the order of due times."""
    tokens = [
        (choice.due[at], number, at, span, choice.tokens[at])
        for number, choice in enumerate(plan.choices)
        for span, part in enumerate(choice.segments)
        for at in range(part.start, part.end)
    ]
    return tuple([(number * _MAX_SEGMENTS + span, token) for _, number, _, span, token in sorted(tokens)])


def _count_events(events: Iterable[Event], total: int) -> Iterator[Chunk]:
    """Yield a chunk per event, with the number of tokens that a client has read by its end; the last has all."""
    reached = 0
    held: Event | None = None
    for event in events:
        if held is not None:
            yield _piece(held, reached)
        reached = max(reached, event[2])
        held = event
    if held is not None:
        yield _piece(held, total)


def _piece(event: Event, tokens: int) -> Chunk:
    due, data, _, mark = event
    return Chunk(due, data, tokens, flush=Mark.JOINED not in mark, mark=mark)


def _cut_body(body: bytes, due: float, tokens: Sequence[tuple[int, str]], fields: FieldNames) -> Iterator[Chunk]:
    """Yield the body in chunks that end before the first token and after each."""
    shown = _locate(find_texts(body, fields.text), tokens)
    counts: dict[int, int] = {}
    if shown:
        counts[min(start for start, _ in shown.values())] = 0
        reached = 0
        for place in sorted(shown):
            reached = max(reached, shown[place][1])
            counts[reached] = place + 1
    counts[len(body)] = len(tokens)
    start = 0
    for end in sorted(place for place in counts if place):
        whole = end == len(body)
        yield Chunk(due, body[start:end], counts[end], last=whole, flush=whole)
        start = end


def _locate(texts: Sequence[Text], tokens: Sequence[tuple[int, str]]) -> dict[int, tuple[int, int]]:
    """Return start and end in the body of each token that is found."""
    spans: dict[int, list[int]] = {}
    for place, (span, _) in enumerate(tokens):
        spans.setdefault(span, []).append(place)
    shown: dict[int, tuple[int, int]] = {}
    cursor: dict[int, int] = {}
    for places in spans.values():
        wanted = "".join([tokens[place][1] for place in places])
        found = _find_text(texts, wanted, cursor) if wanted else None
        if found is None:
            continue
        text, reached = found
        cursor[id(text)] = reached[-1]
        at = 0
        for place in places:
            end = at + len(tokens[place][1])
            if reached[end] > reached[at]:
                shown[place] = text.ends[reached[at]], text.ends[reached[end]]
            at = end
    return shown


def _find_text(texts: Sequence[Text], wanted: str, cursor: dict[int, int]) -> tuple[Text, Sequence[int]] | None:
    """Return the first string that contains ``wanted`` after earlier segments, and the end of each character in it."""
    for text in texts:
        at = text.value.find(wanted, cursor.get(id(text), 0))
        if at >= 0:
            return text, range(at, at + len(wanted) + 1)
    for text in texts:  # a vendor that re-encodes JSON omits blanks
        reached = _align(wanted, text.value)
        if reached is not None:
            return text, reached
    return None


def _align(wanted: str, value: str) -> Sequence[int] | None:
    """Return the end in ``value`` of each character of ``wanted``; ``None`` if they differ in more than blanks."""
    at = 0
    reached = [0]
    for char in wanted:
        if value[at : at + 1] == char:
            at += 1
        elif not char.isspace():
            return None
        reached.append(at)
    return reached if at == len(value) else None
