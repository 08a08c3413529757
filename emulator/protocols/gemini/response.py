"""Build a response of the Gemini API, whole or as a stream.

Source: ai.google.dev, "GenerateContentResponse" and "streamGenerateContent". A function call is one part with
an object of arguments; thoughts are counted apart from the candidates.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event
from emulator.core.json import JSON, Object, dump_json, parse_json
from emulator.core.plan import Choice, Logprob, Plan, Segment, Usage
from emulator.core.rng import draw_alphanumeric
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import DONE, FINISH, PLAIN, USAGE, interleave, last_due, last_token_due

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
"""Google's names of HTTP statuses; all others are ``INTERNAL``."""


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GeminiOptions:
    """Rendering options of a response.

    Fields:
        model: ``modelVersion``.
        thoughts: include thoughts.
        signatures: thought signature of each candidate; empty: none.
        rated: categories of harm that the response rates; which of them a filtered one has is unverified.
        array: stream one JSON array in place of server-sent events.
    """

    model: str
    thoughts: bool = False
    signatures: Sequence[str] = ()
    rated: Sequence[str] = ()
    array: bool = False


def build_response(plan: Plan, style: GeminiOptions) -> Object:
    candidates: list[JSON] = []
    for number, choice in enumerate(plan.choices):
        parts = [part for _, part, _ in _list_parts(choice, number, style, whole=True)]
        candidates.append(_build_candidate(number, parts, choice, style))
    return {"candidates": candidates, "usageMetadata": _build_usage(plan.usage), **_build_tail(plan, style)}


def stream_answer(plan: Plan, style: GeminiOptions) -> Iterator[Event]:
    """Yield one response a token; the last one of each candidate has its finish reason."""
    before, after = (b"[", b"") if style.array else (b"data: ", b"\n\n")
    for due, data, tokens, mark in _stream_answers(plan, style):
        yield due, b"%b%b%b" % (before, data, after), tokens, mark
        before = b",\r\n" if style.array else before
    if style.array:
        yield last_token_due(plan), b"]", 0, DONE


def _stream_answers(plan: Plan, style: GeminiOptions) -> Iterator[Event]:
    """Yield each response as JSON with the counts so far; the last one has the totals."""
    usage = plan.usage
    tail = dump_json(_build_tail(plan, style)).removeprefix(b"{")
    remaining = len(plan.choices)
    choices = [_stream_choice(choice, number, style, plan.due) for number, choice in enumerate(plan.choices)]
    for due, candidate, tokens, mark in interleave(choices, in_turn=True):
        remaining -= mark is FINISH
        # Thoughts come first, so the first tokens are reasoning tokens.
        counts = (
            usage
            if not remaining
            else replace(usage, completion_tokens=tokens, reasoning_tokens=min(tokens, usage.reasoning_tokens))
        )
        data = b'{"candidates":[%b],"usageMetadata":%b,%b' % (candidate, dump_json(_build_usage(counts)), tail)
        yield due, data, tokens, mark if remaining else FINISH | USAGE


def _stream_choice(choice: Choice, number: int, style: GeminiOptions, due: float) -> Iterator[Event]:
    """Yield the candidate of each response; ``due``: the end of a choice without tokens."""
    ended = last_due(choice, due)
    for end, part, encoded in _list_parts(choice, number, style, whole=False):
        encoded_part = dump_json(part) if encoded is None else encoded
        data = b'{"content":{"parts":[%b],"role":"model"},"index":%d}' % (encoded_part, number)
        yield (choice.due[end - 1] if end else ended), data, end, PLAIN
    closing: Object = {"text": ""}
    if style.signatures and not choice.tool_calls:
        closing["thoughtSignature"] = style.signatures[number]
    yield ended, dump_json(_build_candidate(number, [closing], choice, style)), len(choice.tokens), FINISH


_Parts = Iterator[tuple[int, Object, bytes | None]]


def _list_parts(choice: Choice, number: int, style: GeminiOptions, *, whole: bool) -> _Parts:
    """Yield the parts of a choice, each with the number of tokens up to its end.

    Args:
        whole: yield a text as one part; otherwise yield each token as a part that is encoded already.
    """
    signed = False
    for segment in choice.segments:
        if segment.kind == "tool_call":
            part = _build_call(choice, segment)
            if style.signatures and not signed:
                part["thoughtSignature"] = style.signatures[number]
            signed = True
            yield segment.end, part, None
        elif segment.kind != "reasoning" or style.thoughts:
            yield from (
                _build_text_part(choice, segment, number, style) if whole else _encode_token_parts(choice, segment)
            )


def _build_text_part(choice: Choice, segment: Segment, number: int, style: GeminiOptions) -> _Parts:
    text = "".join(choice.tokens[segment.start : segment.end])
    part: Object = {"text": text, "thought": True} if segment.kind == "reasoning" else {"text": text}
    if style.signatures and segment.kind != "reasoning" and segment is choice.segments[-1]:
        part["thoughtSignature"] = style.signatures[number]
    yield segment.end, part, None


def _encode_token_parts(choice: Choice, segment: Segment) -> _Parts:
    after = b',"thought":true}' if segment.kind == "reasoning" else b"}"
    for end, token in enumerate(choice.tokens[segment.start : segment.end], segment.start + 1):
        if token:
            yield end, {}, b'{"text":%b%b' % (encode_string(token), after)


def _build_call(choice: Choice, segment: Segment) -> Object:
    """Return a ``functionCall`` part; arguments that are not JSON have no place in it and are left out."""
    text = "".join(choice.tokens[segment.start : segment.end])
    call: Object = {"id": segment.id} if segment.id else {}
    call["name"] = segment.name
    with suppress(ValueError):
        call["args"] = parse_json(text or "{}")
    return {"functionCall": call}


def _build_candidate(number: int, parts: Sequence[JSON], choice: Choice, style: GeminiOptions) -> Object:
    """Return a finished candidate; one without parts has no ``parts``."""
    shape: Object = {
        "content": {"parts": parts, "role": "model"} if parts else {"role": "model"},
        "finishReason": _FINISH[choice.finish_reason],
        "index": number,
    }
    if style.rated:
        blocked = choice.finish_reason == "content_filter"
        shape["safetyRatings"] = [
            _build_rating(category, blocked=blocked and not place) for place, category in enumerate(style.rated)
        ]
    if choice.logprobs:
        shape["avgLogprobs"] = sum(entry.logprob for entry in choice.logprobs) / len(choice.logprobs)
        shape["logprobsResult"] = _build_logprobs(choice, choice.logprobs)
    return shape


def _build_rating(category: str, *, blocked: bool) -> Object:
    rating: Object = {"category": category, "probability": "HIGH" if blocked else "NEGLIGIBLE"}
    return {**rating, "blocked": True} if blocked else rating


def _build_logprobs(choice: Choice, logprobs: Sequence[Logprob]) -> Object:
    chosen: list[JSON] = [
        {"token": entry.token, "tokenId": name, "logProbability": entry.logprob}
        for entry, name in zip(logprobs, choice.ids, strict=False)
    ]
    tops: list[JSON] = [
        {"candidates": [{"token": token, "logProbability": logprob} for token, logprob in entry.top]}
        for entry in logprobs
    ]
    return {"topCandidates": tops, "chosenCandidates": chosen}


def _build_tail(plan: Plan, style: GeminiOptions) -> Object:
    return {"modelVersion": style.model, "responseId": draw_alphanumeric(plan.key, 23, "response")}


def _build_usage(usage: Usage) -> Object:
    """Return ``usageMetadata``; Google leaves out counts that are zero."""
    answered = usage.completion_tokens - usage.reasoning_tokens
    shape: Object = {"promptTokenCount": usage.prompt_tokens}
    if answered:
        shape["candidatesTokenCount"] = answered
    shape["totalTokenCount"] = usage.total_tokens
    if usage.cached_tokens:
        shape["cachedContentTokenCount"] = usage.cached_tokens
    shape["promptTokensDetails"] = build_details(usage.prompt_tokens)
    if usage.reasoning_tokens:
        shape["thoughtsTokenCount"] = usage.reasoning_tokens
    return shape


def build_details(tokens: int) -> JSON:
    """Return the tokens by modality."""
    return [{"modality": "TEXT", "tokenCount": tokens}]


def build_count(tokens: int) -> Object:
    """Return the response of ``countTokens``."""
    return {"totalTokens": tokens, "promptTokensDetails": build_details(tokens)}


def build_error(status: int, message: str, field: str | None = None) -> Object:
    """Return an error body; ``field``: path of the invalid field."""
    error: Object = {"code": status, "message": message, "status": STATUSES.get(status, "INTERNAL")}
    if message.startswith("Invalid"):  # errors of Google's JSON parser
        violation: Object = {**({} if field is None else {"field": field}), "description": message}
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    return {"error": error}
