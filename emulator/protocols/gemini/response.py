"""An answer of the Gemini API, in one piece and piece by piece.

Source: ai.google.dev, "GenerateContentResponse" and "streamGenerateContent". A function call comes whole, its
arguments are an object; thoughts are counted beside the candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event
from emulator.core.json import JSON, Object, dump_json, parse_json
from emulator.core.plan import Choice, Logprob, Plan, Segment, Usage
from emulator.core.rng import draw_alphanumeric
from emulator.encoding.sse import quote
from emulator.protocols.choice_events import DONE, FINISH, PLAIN, USAGE, ends, interleave, last_due

_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""What Google calls a status; all others are ``INTERNAL``."""


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Style:
    """How answers are worded.

    Fields:
        model: ``modelVersion``.
        thoughts: thoughts are shown; ``signatures``: of each candidate's thoughts, empty: none.
        array: a stream is one JSON array and no server-sent events.
    """

    model: str
    thoughts: bool = False
    signatures: Sequence[str] = ()
    array: bool = False


def shape_answer(plan: Plan, style: Style) -> Object:
    """The whole answer."""
    candidates: list[JSON] = []
    for number, choice in enumerate(plan.choices):
        parts = [part for _, part, _ in _list_parts(choice, number, style, whole=True)]
        candidates.append(_shape_candidate(number, parts, choice))
    return {"candidates": candidates, "usageMetadata": _shape_usage(plan.usage), **_shape_tail(plan, style)}


def stream_answer(plan: Plan, style: Style) -> Iterator[Event]:
    """The same, one answer a token; the last one of each candidate says why it ends."""
    before, after = (b"[", b"") if style.array else (b"data: ", b"\n\n")
    for due, data, tokens, mark in _stream_answers(plan, style):
        yield due, b"%b%b%b" % (before, data, after), tokens, mark
        before = b",\r\n" if style.array else before
    if style.array:
        yield ends(plan), b"]", 0, DONE


def _stream_answers(plan: Plan, style: Style) -> Iterator[Event]:
    """Each answer as JSON, with the counts so far; the last one has them all."""
    usage = plan.usage
    tail = dump_json(_shape_tail(plan, style)).removeprefix(b"{")
    left = len(plan.choices)
    choices = [_stream_choice(choice, number, style, plan.due) for number, choice in enumerate(plan.choices)]
    for due, candidate, tokens, mark in interleave(choices, in_turn=True):
        left -= mark is FINISH
        # Thoughts come first.
        counts = (
            usage
            if not left
            else replace(usage, completion_tokens=tokens, reasoning_tokens=min(tokens, usage.reasoning_tokens))
        )
        data = b'{"candidates":[%b],"usageMetadata":%b,%b' % (candidate, dump_json(_shape_usage(counts)), tail)
        yield due, data, tokens, mark if left else FINISH | USAGE


def _stream_choice(choice: Choice, number: int, style: Style, due: float) -> Iterator[Event]:
    """The candidate of each answer; ``due``: when one without tokens ends."""
    ended = last_due(choice, due)
    for end, part, spoken in _list_parts(choice, number, style, whole=False):
        said = dump_json(part) if spoken is None else spoken
        data = b'{"content":{"parts":[%b],"role":"model"},"index":%d}' % (said, number)
        yield (choice.due[end - 1] if end else ended), data, end, PLAIN
    closing: Object = {"text": ""}
    if style.signatures and not choice.tool_calls:
        closing["thoughtSignature"] = style.signatures[number]
    yield ended, dump_json(_shape_candidate(number, [closing], choice)), len(choice.tokens), FINISH


_Parts = Iterator[tuple[int, Object, bytes | None]]


def _list_parts(choice: Choice, number: int, style: Style, *, whole: bool) -> _Parts:
    """Parts of an answer, each with how many tokens there are by its end.

    Args:
        whole: a text is one part; else each of its tokens is one, which comes as JSON, too.
    """
    signed = False
    for span in choice.segments:
        if span.kind == "tool_call":
            part = _shape_call(choice, span)
            if style.signatures and not signed:
                part["thoughtSignature"] = style.signatures[number]
            signed = True
            yield span.end, part, None
        elif span.kind != "reasoning" or style.thoughts:
            yield from _speak(choice, span, number, style) if whole else _tell(choice, span)


def _speak(choice: Choice, span: Segment, number: int, style: Style) -> _Parts:
    text = "".join(choice.tokens[span.start : span.end])
    part: Object = {"text": text, "thought": True} if span.kind == "reasoning" else {"text": text}
    if style.signatures and span.kind != "reasoning" and span is choice.segments[-1]:
        part["thoughtSignature"] = style.signatures[number]
    yield span.end, part, None


def _tell(choice: Choice, span: Segment) -> _Parts:
    after = b',"thought":true}' if span.kind == "reasoning" else b"}"
    for end, token in enumerate(choice.tokens[span.start : span.end], span.start + 1):
        if token:
            yield end, {}, b'{"text":%b%b' % (quote(token), after)


def _shape_call(choice: Choice, span: Segment) -> Object:
    """Arguments that are no JSON, as a scenario may fix them, stay text."""
    text = "".join(choice.tokens[span.start : span.end])
    try:
        arguments = parse_json(text or "{}")
    except ValueError:
        arguments = text
    call: Object = {"id": span.id} if span.id else {}
    return {"functionCall": {**call, "name": span.name, "args": arguments}}


def _shape_candidate(number: int, parts: Sequence[JSON], choice: Choice) -> Object:
    """A candidate that has ended; one that did before it said anything has no parts."""
    shape: Object = {
        "content": {"parts": parts, "role": "model"} if parts else {"role": "model"},
        "finishReason": _FINISH[choice.finish_reason],
        "index": number,
    }
    if choice.logprobs:
        shape["avgLogprobs"] = sum(entry.logprob for entry in choice.logprobs) / len(choice.logprobs)
        shape["logprobsResult"] = _shape_logprobs(choice, choice.logprobs)
    return shape


def _shape_logprobs(choice: Choice, logprobs: Sequence[Logprob]) -> Object:
    chosen: list[JSON] = [
        {"token": entry.token, "tokenId": name, "logProbability": entry.logprob}
        for entry, name in zip(logprobs, choice.ids, strict=False)
    ]
    tops: list[JSON] = [
        {"candidates": [{"token": token, "logProbability": logprob} for token, logprob in entry.top]}
        for entry in logprobs
    ]
    return {"topCandidates": tops, "chosenCandidates": chosen}


def _shape_tail(plan: Plan, style: Style) -> Object:
    return {"modelVersion": style.model, "responseId": draw_alphanumeric(plan.key, 23, "response")}


def _shape_usage(usage: Usage) -> Object:
    """``usageMetadata``; counts of nothing are left out, as Google leaves out whatever is zero."""
    said = usage.completion_tokens - usage.reasoning_tokens
    shape: Object = {"promptTokenCount": usage.prompt_tokens}
    if said:
        shape["candidatesTokenCount"] = said
    shape["totalTokenCount"] = usage.total_tokens
    if usage.cached_tokens:
        shape["cachedContentTokenCount"] = usage.cached_tokens
    shape["promptTokensDetails"] = shape_details(usage.prompt_tokens)
    if usage.reasoning_tokens:
        shape["thoughtsTokenCount"] = usage.reasoning_tokens
    return shape


def shape_details(tokens: int) -> JSON:
    """Tokens by what they stand for."""
    return [{"modality": "TEXT", "tokenCount": tokens}]


def shape_count(tokens: int) -> Object:
    """The answer to ``countTokens``."""
    return {"totalTokens": tokens, "promptTokensDetails": shape_details(tokens)}


def shape_error(status: int, message: str, field: str | None = None) -> Object:
    """An error in place of an answer; ``field``: which of the request's it is about."""
    error: Object = {"code": status, "message": message, "status": STATUSES.get(status, "INTERNAL")}
    if message.startswith("Invalid"):  # of those that Google's JSON reader itself refuses
        violation: Object = {**({} if field is None else {"field": field}), "description": message}
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    return {"error": error}
