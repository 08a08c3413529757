"""Stream chat responses as server-sent events.

Sources: litellm and databricks-langchain test fixtures, docs.databricks.com "Score foundation models" (usage in
every chunk), databricks-ai-bridge (lists of content parts in deltas; its pull request 265 for the last chunk of GPT
endpoints, which has nothing but usage).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.core.cache import lru
from emulator.core.http import Event, Mark
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.sse import DONE, encode_event
from emulator.encoding.template import SAMPLE, SAMPLE_TEXT, Template, split_chunk
from emulator.encoding.template_stream import StreamTemplate
from emulator.protocols.choice_events import (
    FINISH,
    PLAIN,
    USAGE,
    ChoiceStarted,
    TextRun,
    ToolCallStarted,
    interleave,
    iterate_choice,
    last_due,
    token_events,
)
from emulator.protocols.openai.messages import build_logprob
from emulator.vendors.databricks.chat.shapes import (
    build_call,
    build_counts,
    build_thought,
    build_usage,
    draw_id,
    has_reasoning_parts,
    is_plain,
    list_values,
    sign,
)
from emulator.vendors.databricks.profile import RenderOptions

_COUNT = SAMPLE.usage.completion_tokens


def stream_chat(plan: Plan, style: RenderOptions, *, include_usage: bool | None) -> Iterable[Event]:
    """Return the chunks of all choices by due time, then ``[DONE]``."""
    counts = style.usage_style == "every"
    # A scenario may end a text with ``tool_calls``; only where counts run, its last chunk has a text all the same.
    if not is_plain(plan, style) or (
        plan.choices[0].finish_reason == "tool_calls" and (style.role_everywhere or not counts)
    ):
        return _stream_any(plan, style, include_usage)
    return _build_template(style, include_usage).fill(
        plan.choices[0],
        list_values(plan, style),
        offsets=(0, plan.usage.prompt_tokens) if counts else (),
    )


@lru(1024)
def _build_template(style: RenderOptions, include_usage: bool | None) -> StreamTemplate:
    numbers = (b'"completion_tokens":', 1), (b'"total_tokens":', SAMPLE.usage.prompt_tokens + 1)
    return StreamTemplate(_stream_any(SAMPLE, style, include_usage), list_values(SAMPLE, style), numbers)


def _stream_any(plan: Plan, style: RenderOptions, include_usage: bool | None) -> Iterator[Event]:
    prompt, remaining = plan.usage.prompt_tokens, len(plan.choices)
    usage: Object = _find_running_usage(plan, style, include_usage)
    values = dump_json(SAMPLE_TEXT), _COUNT, prompt + _COUNT
    chunk = Template(_encode_event(plan, style, SAMPLE_TEXT, **usage), values)
    if not _is_silent(style):
        usage = {"usage": build_usage(plan.usage, style)}
    before, after = split_chunk(_encode_event(plan, style, SAMPLE_TEXT, **usage))
    choices = [_stream_choice(plan, number, style) for number in range(len(plan.choices))]
    for due, choice, tokens, mark in interleave(choices, in_turn=True):
        remaining -= mark is FINISH
        if remaining:
            yield due, chunk.fill((choice, tokens, prompt + tokens)), tokens, mark
        else:
            yield due, before + choice + after, tokens, FINISH if _is_silent(style) else FINISH | USAGE
    last = max(map(last_due, plan.choices), default=0.0)
    if (style.usage_style == "closing" and include_usage is not False) or (include_usage and _is_silent(style)):
        yield last, _encode_event(plan, style, usage=build_usage(plan.usage, style)), 0, USAGE
    yield last, DONE, 0, Mark.DONE


def _encode_event(plan: Plan, style: RenderOptions, *choices: JSON, **usage: JSON) -> bytes:
    return encode_event(
        {
            "id": draw_id(plan.key),
            "object": "chat.completion.chunk",
            "created": int(plan.created),
            "model": style.model,
            "choices": choices,
            **usage,
        }
    )


def _is_silent(style: RenderOptions) -> bool:
    """Return whether no chunk of a choice has counts."""
    return style.usage_style in ("closing", "on-request", "none")


def _find_running_usage(plan: Plan, style: RenderOptions, include_usage: bool | None) -> Object:
    """Return the member ``usage`` of all chunks but the last one that has a choice."""
    prompt = plan.usage.prompt_tokens
    if style.usage_style == "every":
        return {"usage": build_counts(prompt, _COUNT)}
    if style.usage_style == "claude":
        return {"usage": {"prompt_tokens": prompt, "completion_tokens": None, "total_tokens": None}}
    return {"usage": None} if include_usage and _is_silent(style) else {}


def _encode_choice(
    number: int, style: RenderOptions, delta: Object, finish: str | None = None, logprobs: JSON = None
) -> bytes:
    if style.role_everywhere:
        delta = {"role": "assistant", **delta}
    return dump_json({"index": number, "delta": delta, "finish_reason": finish, "logprobs": logprobs})


def _stream_choice(plan: Plan, number: int, style: RenderOptions) -> Iterator[Event]:
    """Yield the chunks of one choice: role, runs of tokens, finish reason."""
    choice = plan.choices[number]
    call = 0
    for step in iterate_choice(choice):
        if isinstance(step, TextRun):
            yield from _stream_run(plan, number, step, style, call)
        elif isinstance(step, ToolCallStarted):
            call = step.number
            yield step.due, _encode_call(plan, number, step, style), step.tokens, PLAIN
        elif not isinstance(step, ChoiceStarted):
            yield step.due, _encode_finish(choice, number, style), step.tokens, FINISH
        elif not choice.segments or choice.segments[0].kind != "tool_call":
            yield step.due, _encode_choice(number, style, {"role": "assistant", "content": ""}), 0, PLAIN


def _encode_call(plan: Plan, number: int, call: ToolCallStarted, style: RenderOptions) -> bytes:
    """Encode a call's name and id; its arguments follow in fragments."""
    delta: Object = {"role": "assistant", "content": None if style.family == "gpt" else ""} if call.first else {}
    opening: Object = {"index": call.number, **build_call(plan.key, number, call, "", style)}
    return _encode_choice(number, style, {**delta, "tool_calls": [opening]})


def _encode_finish(choice: Choice, number: int, style: RenderOptions) -> bytes:
    """Encode the finish reason, with an empty text where one may follow."""
    is_bare = choice.finish_reason == "tool_calls" or style.family == "gpt"
    return _encode_choice(number, style, {} if is_bare else {"content": ""}, choice.finish_reason)


def _stream_run(plan: Plan, number: int, run: TextRun, style: RenderOptions, call: int) -> Iterator[Event]:
    """Yield one chunk a token; a token without text has none."""
    choice = plan.choices[number]
    field = "refusal" if run.kind == "refusal" and style.family == "gpt" else "content"
    if run.kind == "reasoning":
        if has_reasoning_parts(style):
            yield from _stream_reasoning(plan, number, run, style)
    elif run.kind != "tool_call" and choice.logprobs is not None:
        yield from _stream_logprobs(choice, number, run, style, field)
    else:
        arguments: Object = {"index": call, "function": {"arguments": SAMPLE_TEXT}}
        delta: Object = {"tool_calls": [arguments]} if run.kind == "tool_call" else {field: SAMPLE_TEXT}
        yield from token_events(choice, run, *split_chunk(_encode_choice(number, style, delta)))


def _stream_logprobs(choice: Choice, number: int, run: TextRun, style: RenderOptions, field: str) -> Iterator[Event]:
    """Yield one chunk a token with its log-probability; a token without text has one, too."""
    for position, entry in enumerate((choice.logprobs or ())[run.start : run.end], run.start):
        logprobs: JSON = {"content": [build_logprob(entry)]}
        data = _encode_choice(number, style, {field: choice.tokens[position]}, logprobs=logprobs)
        yield choice.due[position], data, position + 1, PLAIN


def _stream_reasoning(plan: Plan, number: int, run: TextRun, style: RenderOptions) -> Iterator[Event]:
    """Yield fragments of the summary, with Claude's signature last; encrypted reasoning is one chunk."""
    choice = plan.choices[number]
    if style.encrypted:
        if run.end > run.start:
            delta: Object = {"content": [build_thought(plan.key, number, "", style)]}
            yield choice.due[run.end - 1], _encode_choice(number, style, delta), run.end, PLAIN
        return

    def encode(text: str, **more: JSON) -> bytes:
        summary: Object = {"type": "summary_text", "text": text, **more}
        return _encode_choice(number, style, {"content": [{"type": "reasoning", "summary": [summary]}]})

    yield from token_events(choice, run, *split_chunk(encode(SAMPLE_TEXT)))
    if style.family == "claude" and run.end > run.start:
        yield choice.due[run.end - 1], encode("", signature=sign(plan.key, number)), run.end, PLAIN
