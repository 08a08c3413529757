"""Iterate a generated choice as typed events (text, reasoning, tool calls), and collect its message.

The renderers of all vendors read plans so: streams by the events, whole responses by the message.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from heapq import merge
from itertools import repeat

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event, Mark
from emulator.core.plan import Choice, Logprob, Plan, Segment, SegmentKind, Tokens
from emulator.encoding.sse import encode_string

PLAIN, FINISH, USAGE, DONE, JOINED = Mark.PLAIN, Mark.FINISH, Mark.USAGE, Mark.DONE, Mark.JOINED


@fast_dataclass(frozen=True, slots=True, eq=False)
class ChoiceStarted:
    """Start of a choice; ``due`` is the due time of its first token."""

    due: float


@fast_dataclass(frozen=True, slots=True, eq=False)
class TextRun:
    """Run of tokens of one kind, ``tokens[start:end]``; for ``tool_call`` the arguments of the call started last."""

    kind: SegmentKind
    start: int
    end: int


@fast_dataclass(frozen=True, slots=True, eq=False)
class ToolCallStarted:
    """Start of a tool call; its arguments follow as a run.

    Fields:
        number: index of the call within the choice, from 0.
        id: set only where a scenario fixes it.
        tokens: tokens of the choice before the call.
        first: the call is the first segment of the choice.
    """

    due: float
    number: int
    name: str
    id: str
    tokens: int
    first: bool


@fast_dataclass(frozen=True, slots=True, eq=False)
class ChoiceFinished:
    """End of a choice at the due time of its last token; ``tokens``: number of its tokens."""

    due: float
    tokens: int


ChoiceEvent = ChoiceStarted | TextRun | ToolCallStarted | ChoiceFinished


def iterate_choice(choice: Choice, due: float = 0.0) -> Iterator[ChoiceEvent]:
    """Yield the events of a choice in order; ``due`` is the time of both ends of a choice without tokens."""
    last = last_due(choice, due)
    yield ChoiceStarted(first_due(choice, due))
    calls = 0
    for number, segment in enumerate(choice.segments):
        if segment.kind == "tool_call":
            opened = choice.due[segment.start] if segment.start < len(choice.due) else last
            yield ToolCallStarted(opened, calls, segment.name, segment.id, segment.start, number == 0)
            calls += 1
        yield TextRun(segment.kind, segment.start, segment.end)
    yield ChoiceFinished(last, choice.count)


def first_due(choice: Choice, default: float = 0.0) -> float:
    """Return when the first token is due; ``default`` for a choice without tokens."""
    return choice.due[0] if len(choice.due) else default


def last_due(choice: Choice, default: float = 0.0) -> float:
    """Return when the last token is due; ``default`` for a choice without tokens."""
    return choice.due[-1] if len(choice.due) else default


def first_token_due(plan: Plan) -> float:
    """Return when the first token of any choice is due."""
    return min((choice.due[0] for choice in plan.choices if len(choice.due)), default=plan.due)


def last_token_due(plan: Plan) -> float:
    """Return when the last token of all choices is due."""
    return max((choice.due[-1] for choice in plan.choices if len(choice.due)), default=plan.due)


def has_only(choice: Choice, kind: SegmentKind = "text") -> bool:
    """Return whether all tokens of a choice are of one kind; true for a choice without segments."""
    segments = choice.segments
    return not segments or (len(segments) == 1 and segments[0].kind == kind)


def is_plain_text(plan: Plan) -> bool:
    """Return whether a plan is one text without log-probabilities that ended with ``stop`` or ``length``."""
    choice, *others = plan.choices
    ended = choice.finish_reason == "length" or choice.finish_reason == "stop"
    return ended and not others and choice.logprobs is None and has_only(choice)


def token_events(choice: Choice, run: TextRun, before: bytes, after: bytes) -> Iterator[Event]:
    """Yield one event a token, its text as JSON between two templates; a token without text yields no event."""
    start, end = run.start, run.end
    tokens, dues = choice.tokens[start:end], choice.due[start:end]
    for token, due, count in zip(tokens, dues, range(start + 1, end + 1), strict=True):
        if token:
            yield due, b"".join((before, encode_string(token), after)), count, PLAIN


def interleave(streams: Sequence[Iterator[Event]], *, in_turn: bool = False) -> Iterator[Event]:
    """Merge the events of several choices by due time; each carries the number of tokens of all choices so far.

    Of events due at once, those of earlier choices come first or, ``in_turn``, those with fewer tokens of their own.
    """
    if len(streams) == 1:
        return streams[0]
    return _merge_events(streams, in_turn=in_turn)


def _merge_events(streams: Sequence[Iterator[Event]], *, in_turn: bool) -> Iterator[Event]:
    counts = [0] * len(streams)
    total = 0
    numbered = [zip(repeat(index), stream) for index, stream in enumerate(streams)]
    for index, (due, data, tokens, mark) in merge(*numbered, key=_sort_by_turn if in_turn else _sort_by_due):
        if tokens > counts[index]:
            total += tokens - counts[index]
            counts[index] = tokens
        yield due, data, total, mark


def _sort_by_due(numbered: tuple[int, Event]) -> float:
    return numbered[1][0]


def _sort_by_turn(numbered: tuple[int, Event]) -> tuple[float, int]:
    return numbered[1][0], numbered[1][2]


@fast_dataclass(frozen=True, slots=True, eq=False)
class MessageToolCall:
    """Tool call of a complete message; ``arguments`` is JSON text, ``id`` is set only where a scenario fixes it."""

    number: int
    name: str
    id: str
    arguments: str


@fast_dataclass(frozen=True, slots=True, eq=False)
class MessageContent:
    """Content of a choice, joined by kind."""

    text: str
    reasoning: str
    refusal: str
    calls: tuple[MessageToolCall, ...]


def list_logprobs(choice: Choice) -> list[Logprob]:
    """Return the log-probabilities of the tokens of text, without those of reasoning and tool calls.

    Source: OpenAI, "Create chat completion", ``logprobs.content``: message content tokens.
    """
    logprobs = choice.logprobs or ()
    runs = [step for step in iterate_choice(choice) if isinstance(step, TextRun) and step.kind in ("text", "refusal")]
    return [entry for run in runs for entry in logprobs[run.start : run.end]]


def collect_message(choice: Choice) -> MessageContent:
    """Return the content of a choice for a response in one piece."""
    if has_only(choice) and choice.segments:
        return MessageContent(choice.sequence.text, "", "", ())
    tokens, segments = choice.tokens, choice.segments
    texts: dict[SegmentKind, str] = {"text": "", "reasoning": "", "refusal": ""}
    calls: list[MessageToolCall] = []
    for segment in segments:
        text = "".join(tokens[segment.start : segment.end])
        if segment.kind == "tool_call":
            calls.append(MessageToolCall(len(calls), segment.name, segment.id, text))
        elif segment.kind != "frame":
            texts[segment.kind] += text
    return MessageContent(texts["text"], texts["reasoning"], texts["refusal"], tuple(calls))


THINK = ("<think>\n", "\n</think>\n\n")


def merge_into_text(choice: Choice, kinds: Set[SegmentKind], mark: Callable[[Segment], tuple[str, str]]) -> Choice:
    """Return the choice with segments of these kinds as text; ``mark`` returns the texts before and after each."""
    tokens = list(choice.tokens)
    segments: list[Segment] = []
    for segment in choice.segments:
        if segment.kind not in kinds:
            segments.append(segment)
            continue
        if segment.start < segment.end:
            opening, closing = mark(segment)
            tokens[segment.start] = opening + tokens[segment.start]
            tokens[segment.end - 1] += closing
        if segments and segments[-1].kind == "text":
            segments[-1] = Segment("text", segments[-1].start, segment.end)
        else:
            segments.append(Segment("text", segment.start, segment.end))
    return replace(choice, sequence=Tokens(tuple(tokens), choice.ids), segments=tuple(segments))
