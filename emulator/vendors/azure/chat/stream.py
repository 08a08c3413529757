"""Stream chat responses as server-sent events, plain ones from a byte template.

Source: Azure/azure-sdk-assets, recorded streams of serverless endpoints and of Azure OpenAI. Clients of this API
read ``data: `` lines with one space and bare line feeds only, and nothing else between events.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from emulator.core.cache import scenario_lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Event
from emulator.core.json import JSON, Object
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.encoding.obfuscation import cut_padding, list_ends, pad
from emulator.encoding.template import SAMPLE, SAMPLE_TEXT, split_chunk
from emulator.encoding.template_stream import StreamTemplate
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
    first_token_due,
    has_only,
    interleave,
    iterate_choice,
    last_due,
    token_events,
)
from emulator.vendors.azure.chat.audio import AudioFormat, encode_sound, expires, name_sound
from emulator.vendors.azure.chat.shapes import (
    ANSWER_HARMS,
    FOUND_HARMS,
    PROMPT_SEEN,
    THINK,
    build_detailed_usage,
    build_logprobs,
    build_sorted_usage,
    draw_answer_id,
    draw_call_id,
    finish_reason,
    identify_calls,
    list_values,
)
from emulator.vendors.azure.profile import DeploymentProfile

_TEXTS = (
    "content", "refusal", "reasoning_content", "audio", "transcript", "tool_calls", "function_call", "function",
    "custom", "arguments", "input",
)  # fmt: skip


def stream_plain(plan: Plan, profile: DeploymentProfile, usage: bool, padded: bool) -> Iterable[Event]:
    """Return the events of a plain text from a template."""
    template = _build_template(profile, usage, padded)
    return template.fill(plan.choices[0], list_values(plan, profile), default_due=plan.due, padded=padded)


@scenario_lru
def _build_template(profile: DeploymentProfile, usage: bool, padded: bool) -> StreamTemplate:
    events = stream_chat(SAMPLE, profile, usage=usage, named_tool=False, padded=padded)
    return StreamTemplate(events, list_values(SAMPLE, profile))


def stream_chat(
    plan: Plan,
    profile: DeploymentProfile,
    *,
    usage: bool,
    named_tool: bool,
    functions: bool = False,
    customs: frozenset[str] = frozenset(),
    audio: AudioFormat | None = None,
    context: Object | None = None,
    padded: bool = False,
) -> Iterator[Event]:
    """Yield all events of a response; the choices of ``n`` above 1 are interleaved."""
    tail = _build_tail(plan, profile, usage=usage)
    end, last = max((last_due(choice, plan.due), index) for index, choice in enumerate(plan.choices))
    opening: list[Event] = [(first_token_due(plan), PROMPT_SEEN, 0, PLAIN)] if profile.filtered else []
    ending: list[Event] = [(end, sse.DONE, 0, DONE)]
    if profile.openai and usage:
        counts = sse.encode_event({"choices": [], **tail, "usage": build_detailed_usage(plan)})
        ending.insert(0, (end, counts, 0, USAGE))
    stream = _stream_openai if profile.openai else _stream_serverless
    choices = [
        _ChoiceChunks(
            plan=plan,
            choice=choice,
            index=index,
            profile=profile,
            tail=tail,
            finish=finish_reason(choice, profile, named_tool=named_tool, functions=functions),
            usage=usage and index == last,
            functions=functions,
            customs=customs,
            audio=audio,
            context=context,
            padded=padded,
        )
        for index, choice in enumerate(plan.choices)
    ]
    return chain(opening, interleave([stream(chunks) for chunks in choices]), ending)


def _build_tail(plan: Plan, profile: DeploymentProfile, *, usage: bool) -> Object:
    """Return the members after the choices; chunks before that of the token counts have ``null`` for them.

    Source: OpenAI API reference, ``stream_options.include_usage``; vscode-copilot-chat, recorded chunks of Azure.
    """
    tail: Object = {
        "created": int(plan.created),
        "id": draw_answer_id(plan, openai=profile.openai),
        "model": profile.model,
        "object": "chat.completion.chunk",
    }
    if not profile.openai:
        return tail
    return {**tail, "system_fingerprint": profile.fingerprint, **({"usage": None} if usage else {})}


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ChoiceChunks:
    """Chunk encoder of one choice.

    Fields:
        tail: id, time and model.
        usage: the choice ends last, and the request wants token counts.
        functions: a tool call is ``function_call``.
        customs: names of custom tools.
        audio: format of an audio answer; ``None`` for text.
        context: result of the data sources; ``None`` without sources.
        padded: each chunk ends with padding by the size of its text.
    """

    plan: Plan
    choice: Choice
    index: int
    profile: DeploymentProfile
    tail: Object
    finish: str
    usage: bool
    functions: bool
    customs: frozenset[str]
    audio: AudioFormat | None
    context: Object | None
    padded: bool

    def chunk(
        self,
        delta: Object,
        finish: str | None = None,
        *,
        logprobs: JSON = None,
        harms: JSON = None,
        **more: JSON,
    ) -> bytes:
        choice: Object = {"delta": delta, "finish_reason": finish, "index": self.index, "logprobs": logprobs}
        if self.profile.filtered:
            choice = {"content_filter_results": harms or {}, **choice}
        padding: Object = {"obfuscation": pad(_find_text(delta)).decode()} if self.padded else {}
        return sse.encode_event({"choices": [choice], **self.tail, **more, **padding})

    def token_events(self, run: TextRun, delta: Object, harms: JSON = None) -> Iterator[Event]:
        """Yield one chunk per token that has a text, from the chunk of a sample."""
        before, after = split_chunk(self.chunk(delta, harms=harms))
        if not self.padded:
            yield from token_events(self.choice, run, before, after)
            return
        texts = self.choice.tokens[run.start : run.end]
        joint = cut_padding(after)
        for number, (text, end) in enumerate(zip(texts, list_ends(texts), strict=True), run.start):
            if text:
                yield (
                    self.choice.due[number],
                    b"".join((before, sse.encode_string(text), joint, end)),
                    number + 1,
                    PLAIN,
                )


def _find_text(delta: JSON) -> str:
    """Return the text of a delta, wherever it is."""
    if isinstance(delta, dict):
        return next(filter(None, (_find_text(delta[name]) for name in _TEXTS if name in delta)), "")
    if isinstance(delta, list):
        return _find_text(delta[0]) if delta else ""
    return delta if isinstance(delta, str) else ""


def _stream_serverless(chunks: _ChoiceChunks) -> Iterator[Event]:
    """Yield role, texts, then one chunk with all tool calls, the finish reason and the token counts."""
    for step in iterate_choice(chunks.choice, chunks.plan.due):
        match step:
            case ChoiceStarted():
                yield step.due, chunks.chunk({"content": "", "role": "assistant"}), 0, PLAIN
            case TextRun("reasoning"):
                yield from _stream_reasoning(chunks, step)
            case TextRun("text" | "refusal"):
                yield from _stream_tokens(chunks, step, "content")
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
    delta: Object = {"tool_calls": calls} if calls else {"content": ""}
    if not chunks.usage:
        return closed.due, chunks.chunk(delta, chunks.finish), closed.tokens, FINISH
    data = chunks.chunk(delta, chunks.finish, usage=build_sorted_usage(plan))
    return closed.due, data, closed.tokens, FINISH | USAGE


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
    harms = FOUND_HARMS if chunks.choice.finish_reason == "content_filter" else None
    return closed.due, chunks.chunk({}, chunks.finish, harms=harms), closed.tokens, FINISH


def _stream_text(chunks: _ChoiceChunks, run: TextRun) -> Iterator[Event]:
    """Yield the chunks of a text, a refusal, or an audio answer."""
    if run.kind == "refusal":
        return _stream_tokens(chunks, run, "refusal")
    return _stream_tokens(chunks, run, "content") if chunks.audio is None else _stream_audio(chunks, run, chunks.audio)


def _stream_audio(chunks: _ChoiceChunks, run: TextRun, form: AudioFormat) -> Iterator[Event]:
    """Yield the transcript token by token, then the audio and its expiry."""
    choice, plan = chunks.choice, chunks.plan
    last = choice.due[run.end - 1] if run.start < run.end else last_due(choice, plan.due)
    first = choice.due[run.start] if run.start < run.end else last
    yield first, chunks.chunk({"audio": {"id": name_sound(plan, chunks.index)}}), run.start, PLAIN
    yield from chunks.token_events(run, {"audio": {"transcript": SAMPLE_TEXT}})
    yield last, chunks.chunk({"audio": {"data": encode_sound(choice, form)}}), run.end, PLAIN
    yield last, chunks.chunk({"audio": {"expires_at": expires(plan)}}), run.end, PLAIN


def _open_openai(chunks: _ChoiceChunks) -> bytes:
    """Return the chunk of the role; a choice of only tool calls and refusals has no content."""
    segments = chunks.choice.segments
    silent = segments and not any(segment.kind in ("text", "reasoning") for segment in segments)
    context = {} if chunks.context is None else {"context": chunks.context}
    return chunks.chunk({"content": None if silent else "", "refusal": None, "role": "assistant", **context})


def _open_call(chunks: _ChoiceChunks, call: ToolCallStarted) -> bytes:
    """Return the first chunk of a tool call; its arguments follow token by token."""
    if chunks.functions:
        return chunks.chunk({"function_call": {"name": call.name, "arguments": ""}})
    name = call.id or draw_call_id(chunks.plan, chunks.index, call.number, chunks.profile)
    kind, argument = ("custom", "input") if call.name in chunks.customs else ("function", "arguments")
    head: Object = {"index": call.number, "id": name, "type": kind, kind: {"name": call.name, argument: ""}}
    return chunks.chunk({"tool_calls": [head]})


def _stream_arguments(chunks: _ChoiceChunks, run: TextRun, call: ToolCallStarted) -> Iterator[Event]:
    function: Object = {"arguments": SAMPLE_TEXT}
    part: Object = {"custom": {"input": SAMPLE_TEXT}} if call.name in chunks.customs else {"function": function}
    called: Object = {"tool_calls": [{"index": call.number, **part}]}
    delta: Object = {"function_call": function} if chunks.functions else called
    return chunks.token_events(run, delta)


def _stream_tokens(chunks: _ChoiceChunks, run: TextRun, field: str) -> Iterator[Event]:
    """Yield one chunk per token that has a text."""
    if chunks.choice.logprobs is not None:
        return _stream_logprobs(chunks, run, field)
    return chunks.token_events(run, {field: SAMPLE_TEXT}, ANSWER_HARMS)


def _stream_logprobs(chunks: _ChoiceChunks, run: TextRun, field: str) -> Iterator[Event]:
    """Yield chunks with log-probabilities; a token without text is part of the next chunk, or of an empty last one."""
    choice = chunks.choice
    entries = choice.logprobs or ()
    start = run.start
    for position in range(run.start, run.end):
        token = choice.tokens[position]
        if token or position == run.end - 1:
            logprobs = build_logprobs(entries[start : position + 1])
            start = position + 1
            yield (
                choice.due[position],
                chunks.chunk({field: token}, logprobs=logprobs, harms=ANSWER_HARMS),
                start,
                PLAIN,
            )


def _stream_reasoning(chunks: _ChoiceChunks, run: TextRun) -> Iterator[Event]:
    """Yield reasoning in a field of its own or, inline, between tags in the content; it has no log-probabilities."""
    if chunks.profile.hidden:
        return
    if not chunks.profile.inline:
        yield from chunks.token_events(run, {"reasoning_content": SAMPLE_TEXT}, ANSWER_HARMS)
    elif run.start < run.end:
        yield chunks.choice.due[run.start], chunks.chunk({"content": THINK[0]}), run.start, PLAIN
        yield from chunks.token_events(run, {"content": SAMPLE_TEXT}, ANSWER_HARMS)
        yield chunks.choice.due[run.end - 1], chunks.chunk({"content": THINK[1]}), run.end, PLAIN
