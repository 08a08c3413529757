"""Iterate a choice as typed events, and collect its message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from heapq import merge
from itertools import repeat

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark
from emulator.core.plan import Choice, Plan, Segment, SegmentKind, Tokens
from emulator.encoding.sse import quote

PLAIN, FINISH, USAGE, DONE, JOINED = Mark.PLAIN, Mark.FINISH, Mark.USAGE, Mark.DONE, Mark.JOINED


@fast_dataclass(frozen=True, slots=True, eq=False)
class ChoiceStarted:
    """The choice begins: its first token is due."""

    due: float


@fast_dataclass(frozen=True, slots=True, eq=False)
class TextRun:
    """Tokens of one kind, ``tokens[start:end]``; of a ``tool_call``, the arguments of the call opened last."""

    kind: SegmentKind
    start: int
    end: int


@fast_dataclass(frozen=True, slots=True, eq=False)
class ToolCallStarted:
    """A tool call begins; its arguments follow as a run.

    Fields:
        number: counts the calls of the choice, from 0.
        id: set only where a scenario fixes it.
        tokens: of the choice, before the call.
        first: nothing of the choice came before.
    """

    due: float
    number: int
    name: str
    id: str
    tokens: int
    first: bool


@fast_dataclass(frozen=True, slots=True, eq=False)
class ChoiceFinished:
    """The choice is over: its last token was due; ``tokens``: how many it has."""

    due: float
    tokens: int


ChoiceEvent = ChoiceStarted | TextRun | ToolCallStarted | ChoiceFinished


def iterate_choice(choice: Choice, due: float = 0.0) -> Iterator[ChoiceEvent]:
    """The steps of a choice in order; ``due`` is when one without tokens begins and ends."""
    last = last_due(choice, due)
    yield ChoiceStarted(first_due(choice, due))
    calls = 0
    for number, span in enumerate(choice.segments):
        if span.kind == "tool_call":
            opened = choice.due[span.start] if span.start < len(choice.due) else last
            yield ToolCallStarted(opened, calls, span.name, span.id, span.start, number == 0)
            calls += 1
        yield TextRun(span.kind, span.start, span.end)
    yield ChoiceFinished(last, choice.count)


def first_due(choice: Choice, default: float = 0.0) -> float:
    """When the first token is due; ``default`` of a choice that has none."""
    return choice.due[0] if len(choice.due) else default


def last_due(choice: Choice, default: float = 0.0) -> float:
    """When the last token is due; ``default`` of a choice that has none."""
    return choice.due[-1] if len(choice.due) else default


def begins(plan: Plan) -> float:
    """When the first token of any choice is due."""
    return min((choice.due[0] for choice in plan.choices if len(choice.due)), default=plan.due)


def ends(plan: Plan) -> float:
    """When the last token of all choices is due."""
    return max((choice.due[-1] for choice in plan.choices if len(choice.due)), default=plan.due)


def is_only(choice: Choice, kind: SegmentKind = "text") -> bool:
    """All tokens of a choice are of one kind; one without spans has no other."""
    spans = choice.segments
    return not spans or (len(spans) == 1 and spans[0].kind == kind)


def is_plain_text(plan: Plan) -> bool:
    """Whether an answer is one text, without log-probabilities, that ended by itself or at its limit."""
    choices = plan.choices
    choice = choices[0]
    ended = choice.finish_reason == "length" or choice.finish_reason == "stop"
    return ended and len(choices) == 1 and choice.logprobs is None and is_only(choice)


def token_events(choice: Choice, run: TextRun, before: bytes, after: bytes) -> Iterator[Event]:
    """One event a token, its text as JSON between two templates; a token without text comes with the next."""
    start, end = run.start, run.end
    tokens, dues = choice.tokens[start:end], choice.due[start:end]
    for token, due, count in zip(tokens, dues, range(start + 1, end + 1), strict=True):
        if token:
            yield due, b"".join((before, quote(token), after)), count, PLAIN


def interleave(streams: Sequence[Iterator[Event]], *, in_turn: bool = False) -> Iterator[Event]:
    """The events of several choices side by side as they are due, with the tokens of all choices so far.

    Of events due at once, those of earlier choices come first or, ``in_turn``, those with fewer tokens of their own.
    """
    if len(streams) == 1:
        return streams[0]
    return _count_all(streams, in_turn=in_turn)


def _count_all(streams: Sequence[Iterator[Event]], *, in_turn: bool) -> Iterator[Event]:
    counts = [0] * len(streams)
    total = 0
    numbered = [zip(repeat(index), stream) for index, stream in enumerate(streams)]
    for index, (due, data, tokens, mark) in merge(*numbered, key=_by_turn if in_turn else _by_due):
        if tokens > counts[index]:
            total += tokens - counts[index]
            counts[index] = tokens
        yield due, data, total, mark


def _by_due(numbered: tuple[int, Event]) -> float:
    return numbered[1][0]


def _by_turn(numbered: tuple[int, Event]) -> tuple[float, int]:
    return numbered[1][0], numbered[1][2]


@fast_dataclass(frozen=True, slots=True, eq=False)
class MessageToolCall:
    """A tool call of an answer in one piece; ``arguments`` is JSON text, ``id`` only what a scenario fixes."""

    number: int
    name: str
    id: str
    arguments: str


@fast_dataclass(frozen=True, slots=True, eq=False)
class MessageContent:
    """What a choice says, by kind."""

    text: str
    reasoning: str
    refusal: str
    calls: tuple[MessageToolCall, ...]


def collect_message(choice: Choice) -> MessageContent:
    """All that a choice says, for an answer in one piece."""
    if is_only(choice) and choice.segments:
        return MessageContent(choice.tokens_said.text, "", "", ())
    tokens, spans = choice.tokens, choice.segments
    texts: dict[SegmentKind, str] = {"text": "", "reasoning": "", "refusal": ""}
    calls: list[MessageToolCall] = []
    for span in spans:
        said = "".join(tokens[span.start : span.end])
        if span.kind == "tool_call":
            calls.append(MessageToolCall(len(calls), span.name, span.id, said))
        else:
            texts[span.kind] += said
    return MessageContent(texts["text"], texts["reasoning"], texts["refusal"], tuple(calls))


THINK = ("<think>\n", "\n</think>\n\n")


def put_in_text(choice: Choice, kinds: Set[SegmentKind], mark: Callable[[Segment], tuple[str, str]]) -> Choice:
    """The choice with spans of these kinds as text; ``mark`` says what stands before and behind each."""
    tokens = list(choice.tokens)
    spans: list[Segment] = []
    for span in choice.segments:
        if span.kind not in kinds:
            spans.append(span)
            continue
        if span.start < span.end:
            opening, closing = mark(span)
            tokens[span.start] = opening + tokens[span.start]
            tokens[span.end - 1] += closing
        if spans and spans[-1].kind == "text":
            spans[-1] = Segment("text", spans[-1].start, span.end)
        else:
            spans.append(Segment("text", span.start, span.end))
    return replace(choice, tokens_said=Tokens(tuple(tokens), choice.ids), segments=tuple(spans))
