"""Stream chat responses as server-sent events.

Source: Azure/azure-sdk-assets, recorded streams of serverless endpoints and of Azure OpenAI. Clients of this API
read ``data: `` lines with one space and bare line feeds only, and nothing else between events.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event
from emulator.core.json import Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.encoding.sse import encode_string
from emulator.encoding.template_stream import TemplateStream
from emulator.protocols.choice_events import (
    DONE,
    FINISH,
    PLAIN,
    USAGE,
    ChoiceFinished,
    ChoiceStarted,
    TextRun,
    ToolCallStarted,
    collect_message,
    first_due,
    first_token_due,
    has_only,
    interleave,
    iterate_choice,
    last_due,
    token_events,
)
from emulator.vendors.azure.chat.audio import AudioFormat, encode_sound, expires, name_sound
from emulator.vendors.azure.chat.shapes import (
    FOUND_HARMS,
    PROMPT_SEEN,
    THINK,
    build_logprobs,
    draw_answer_id,
    draw_call_id,
    encode_detailed_usage,
    encode_sorted_usage,
    finish_reason,
    identify_calls,
)
from emulator.vendors.azure.profile import DeploymentProfile

_NULL = b"null"
_ROLE_DELTA = b'"content":"","role":"assistant"'
_FINISH_WITH_USAGE = FINISH | USAGE
_FILTER_RESULTS = b'"content_filter_results":%b'
_NOT_FILTERED, _FILTERED = _FILTER_RESULTS % b"{}", _FILTER_RESULTS % dump_json(FOUND_HARMS)


def stream_chat(
    plan: Plan,
    profile: DeploymentProfile,
    *,
    usage: bool,
    named_tool: bool,
    functions: bool = False,
    customs: frozenset[str] = frozenset(),
    audio: AudioFormat | None = None,
) -> Iterable[Event]:
    """Yield all events of a response; the choices of ``n`` above 1 are interleaved."""
    tail = _encode_tail(plan, profile)
    head = b'data: {"choices":[{%b"delta":{' % (_NOT_FILTERED + b"," if profile.filtered else b"")
    end, last = max((last_due(choice, plan.due), index) for index, choice in enumerate(plan.choices))
    opening: list[Event] = [(first_token_due(plan), PROMPT_SEEN, 0, PLAIN)] if profile.filtered else []
    ending: list[Event] = [(end, sse.DONE, 0, DONE)]
    if profile.openai and usage:
        counts = b'data: {"choices":[],%b,"usage":%b}\n\n' % (tail, encode_detailed_usage(plan))
        ending.insert(0, (end, counts, 0, USAGE))
    choices = [
        _ChoiceChunks(
            plan=plan,
            choice=choice,
            index=index,
            profile=profile,
            head=head,
            tail=tail,
            finish=encode_string(finish_reason(choice, profile, named_tool=named_tool, functions=functions)),
            usage=usage and index == last,
            functions=functions,
            customs=customs,
            audio=audio,
        )
        for index, choice in enumerate(plan.choices)
    ]
    if len(choices) == 1 and choices[0].is_plain:
        return _stream_plain(choices[0], opening, ending)
    stream = _stream_openai if profile.openai else _stream_serverless
    return chain(opening, interleave([stream(chunks) for chunks in choices]), ending)


def _encode_tail(plan: Plan, profile: DeploymentProfile) -> bytes:
    tail: Object = {
        "created": int(plan.created),
        "id": draw_answer_id(plan, openai=profile.openai),
        "model": profile.model,
        "object": "chat.completion.chunk",
    }
    if profile.openai:
        tail["system_fingerprint"] = profile.fingerprint
    return dump_json(tail)[1:-1]


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ChoiceChunks:
    """Chunk encoder of one choice.

    Fields:
        head: opens a chunk up to its delta.
        tail: id, time and model.
        usage: the choice ends last, and the request wants token counts.
        functions: a tool call is ``function_call``; ``customs``: names of custom tools.
        audio: format of an audio answer; ``None`` for text.
    """

    plan: Plan
    choice: Choice
    index: int
    profile: DeploymentProfile
    head: bytes
    tail: bytes
    finish: bytes
    usage: bool
    functions: bool
    customs: frozenset[str]
    audio: AudioFormat | None

    @property
    def is_plain(self) -> bool:
        """Whether the choice is one text without logprobs and audio."""
        choice = self.choice
        return bool(choice.segments) and has_only(choice) and choice.logprobs is None and self.audio is None

    def chunk(self, delta: bytes, finish: bytes = _NULL, logprobs: bytes = _NULL, usage: bytes = b"") -> bytes:
        return b'%b%b},"finish_reason":%b,"index":%d,"logprobs":%b}],%b%b}\n\n' % (
            self.head, delta, finish, self.index, logprobs, self.tail, usage,
        )  # fmt: skip


def _stream_plain(chunks: _ChoiceChunks, opening: Sequence[Event], ending: Sequence[Event]) -> TemplateStream:
    """Return the events of a plain text as a template stream."""
    choice, openai = chunks.choice, chunks.profile.openai
    closed = ChoiceFinished(last_due(choice, chunks.plan.due), choice.count)
    first = _open_openai(chunks) if openai else chunks.chunk(_ROLE_DELTA)
    before, after = chunks.chunk(b'"content":\0').split(b"\0")
    return TemplateStream(
        opening=(*opening, (first_due(choice, chunks.plan.due), first, 0, PLAIN)),
        tokens=choice.sequence.quoted,
        due=choice.due,
        before=before,
        after=(after,),
        ending=(_close_openai(chunks, closed) if openai else _close_serverless(chunks, closed), *ending),
    )


def _stream_serverless(chunks: _ChoiceChunks) -> Iterator[Event]:
    """Yield role, texts, then one chunk with all tool calls, the finish reason and the token counts."""
    for step in iterate_choice(chunks.choice, chunks.plan.due):
        match step:
            case ChoiceStarted():
                yield step.due, chunks.chunk(_ROLE_DELTA), 0, PLAIN
            case TextRun("reasoning"):
                yield from _stream_reasoning(chunks, step)
            case TextRun("text" | "refusal"):
                yield from _stream_tokens(chunks, step, b'"content":')
            case ChoiceFinished():
                yield _close_serverless(chunks, step)


def _close_serverless(chunks: _ChoiceChunks, closed: ChoiceFinished) -> Event:
    choice, plan = chunks.choice, chunks.plan
    message_calls = () if has_only(choice) else collect_message(choice).calls
    calls: list[Object] = [
        {
            "function": {"arguments": call.arguments, "name": call.name},
            "id": call.id,
            "index": call.number,
            "type": "function",
        }
        for call in identify_calls(message_calls, plan, chunks.index, chunks.profile)
    ]
    delta = b'"tool_calls":%b' % dump_json(calls) if calls else b'"content":""'
    if not chunks.usage:
        return closed.due, chunks.chunk(delta, chunks.finish), closed.tokens, FINISH
    usage = b',"usage":%b' % encode_sorted_usage(plan)
    return closed.due, chunks.chunk(delta, chunks.finish, usage=usage), closed.tokens, _FINISH_WITH_USAGE


def _stream_openai(chunks: _ChoiceChunks) -> Iterator[Event]:
    """Yield role, texts and tool calls token by token, then the finish reason."""
    call: ToolCallStarted | None = None
    for step in iterate_choice(chunks.choice, chunks.plan.due):
        match step:
            case ChoiceStarted():
                yield step.due, _open_openai(chunks), 0, PLAIN
            case ToolCallStarted():
                call = step
                yield step.due, _open_call(chunks, step), step.tokens, PLAIN
            case TextRun("tool_call") if call is not None:
                yield from _stream_arguments(chunks, step, call)
            case TextRun("reasoning"):
                yield from _stream_reasoning(chunks, step)
            case TextRun():
                yield from _stream_text(chunks, step)
            case ChoiceFinished():
                yield _close_openai(chunks, step)


def _close_openai(chunks: _ChoiceChunks, closed: ChoiceFinished) -> Event:
    data = chunks.chunk(b"", chunks.finish)
    if chunks.choice.finish_reason == "content_filter":
        data = data.replace(_NOT_FILTERED, _FILTERED, 1)
    return closed.due, data, closed.tokens, FINISH


def _stream_text(chunks: _ChoiceChunks, run: TextRun) -> Iterator[Event]:
    """Yield the chunks of a text, a refusal, or an audio answer."""
    if run.kind == "refusal":
        return _stream_tokens(chunks, run, b'"refusal":')
    return (
        _stream_tokens(chunks, run, b'"content":') if chunks.audio is None else _stream_audio(chunks, run, chunks.audio)
    )


def _stream_audio(chunks: _ChoiceChunks, run: TextRun, form: AudioFormat) -> Iterator[Event]:
    """Yield the transcript token by token, then the audio and its expiry."""
    choice, plan = chunks.choice, chunks.plan
    last = choice.due[run.end - 1] if run.start < run.end else last_due(choice, plan.due)
    first = choice.due[run.start] if run.start < run.end else last
    yield first, _encode_audio_chunk(chunks, {"id": name_sound(plan, chunks.index)}), run.start, PLAIN
    yield from token_events(choice, run, *chunks.chunk(b'"audio":{"transcript":\0}').split(b"\0"))
    yield last, _encode_audio_chunk(chunks, {"data": encode_sound(choice, form)}), run.end, PLAIN
    yield last, _encode_audio_chunk(chunks, {"expires_at": expires(plan)}), run.end, PLAIN


def _encode_audio_chunk(chunks: _ChoiceChunks, part: Object) -> bytes:
    return chunks.chunk(b'"audio":%b' % dump_json(part))


def _open_openai(chunks: _ChoiceChunks) -> bytes:
    """Return the chunk of the role; a choice of only tool calls and refusals has no content."""
    segments = chunks.choice.segments
    silent = segments and not any(segment.kind in ("text", "reasoning") for segment in segments)
    return chunks.chunk(b'"content":%b,"refusal":null,"role":"assistant"' % (_NULL if silent else b'""'))


def _open_call(chunks: _ChoiceChunks, call: ToolCallStarted) -> bytes:
    """Return the first chunk of a tool call; its arguments follow token by token."""
    if chunks.functions:
        return chunks.chunk(b'"function_call":%b' % dump_json({"name": call.name, "arguments": ""}))
    name = call.id or draw_call_id(chunks.plan, chunks.index, call.number, chunks.profile)
    kind, argument = ("custom", "input") if call.name in chunks.customs else ("function", "arguments")
    head: Object = {"index": call.number, "id": name, "type": kind, kind: {"name": call.name, argument: ""}}
    return chunks.chunk(b'"tool_calls":[%b]' % dump_json(head))


def _stream_arguments(chunks: _ChoiceChunks, run: TextRun, call: ToolCallStarted) -> Iterator[Event]:
    part = b'"custom":{"input":\0}' if call.name in chunks.customs else b'"function":{"arguments":\0}'
    called = b'"tool_calls":[{"index":%d,%b}]' % (call.number, part)
    opening = b'"function_call":{"arguments":\0}' if chunks.functions else called
    return token_events(chunks.choice, run, *chunks.chunk(opening).split(b"\0"))


def _stream_tokens(chunks: _ChoiceChunks, run: TextRun, field: bytes) -> Iterator[Event]:
    """Yield one chunk per token that has a text."""
    if chunks.choice.logprobs is not None:
        return _stream_logprobs(chunks, run, field)
    return token_events(chunks.choice, run, *chunks.chunk(field + b"\0").split(b"\0"))


def _stream_logprobs(chunks: _ChoiceChunks, run: TextRun, field: bytes) -> Iterator[Event]:
    """Yield chunks with log-probabilities; a token without text is part of the next chunk."""
    choice = chunks.choice
    entries = choice.logprobs or ()
    start = run.start
    for position in range(run.start, run.end):
        token = choice.tokens[position]
        if token:
            logprobs = dump_json(build_logprobs(entries[start : position + 1]))
            start = position + 1
            yield choice.due[position], chunks.chunk(field + encode_string(token), logprobs=logprobs), start, PLAIN


def _stream_reasoning(chunks: _ChoiceChunks, run: TextRun) -> Iterator[Event]:
    """Yield reasoning in a field of its own or, inline, between tags in the content."""
    if chunks.profile.hidden:
        return
    if not chunks.profile.inline:
        yield from _stream_tokens(chunks, run, b'"reasoning_content":')
    elif run.start < run.end:
        yield chunks.choice.due[run.start], chunks.chunk(b'"content":' + encode_string(THINK[0])), run.start, PLAIN
        yield from _stream_tokens(chunks, run, b'"content":')
        yield chunks.choice.due[run.end - 1], chunks.chunk(b'"content":' + encode_string(THINK[1])), run.end, PLAIN
