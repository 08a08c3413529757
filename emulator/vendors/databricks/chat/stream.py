"""Stream chat responses as server-sent events.

Sources: litellm and databricks-langchain test fixtures, docs.databricks.com "Score foundation models" (usage in
every chunk), databricks-ai-bridge (lists of content parts in deltas; its pull request 265 for the last chunk of GPT
endpoints, which has nothing but usage).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.core.http import Event, Mark
from emulator.core.json import Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.sse import DONE, encode_string
from emulator.encoding.template_stream import TemplateStream
from emulator.protocols.choice_events import (
    FINISH,
    PLAIN,
    ChoiceStarted,
    TextRun,
    ToolCallStarted,
    first_due,
    interleave,
    iterate_choice,
    last_due,
    token_events,
)
from emulator.protocols.openai.messages import build_logprob
from emulator.vendors.databricks.chat.shapes import (
    build_call,
    build_thought,
    draw_id,
    encode_usage,
    is_plain,
    sign,
    thinks_aloud,
)
from emulator.vendors.databricks.profile import RenderOptions

_FINISH_WITH_USAGE = Mark.FINISH | Mark.USAGE
_AFTER = b'},"finish_reason":null,"logprobs":null}'


def stream_chat(plan: Plan, style: RenderOptions, *, include_usage: bool) -> Iterable[Event]:
    """Yield the chunks of all choices by due time, then ``[DONE]``."""
    head = (
        f'data: {{"id":"{draw_id(plan.key)}","object":"chat.completion.chunk","created":{int(plan.created)},"model":'
    ).encode() + encode_string(style.model)
    if style.role_everywhere or not is_plain(plan, style):
        return _stream_any(head, plan, style, include_usage)
    if style.usage_style == "every":
        return _stream_plain(head, plan, style)
    return _stream_text(head, plan, style, include_usage)


def _stream_plain(head: bytes, plan: Plan, style: RenderOptions) -> TemplateStream:
    """Return a plain text as a template stream with running counts; equal to :func:`_stream_any`."""
    choice = plan.choices[0]
    prompt, first, last = plan.usage.prompt_tokens, first_due(choice), last_due(choice)
    before = head + b',"choices":[{"index":0,"delta":{'
    after = _AFTER + b'],"usage":{"prompt_tokens":%d,"completion_tokens":' % prompt
    opening = b'%b"role":"assistant","content":""%b0,"total_tokens":%d}}\n\n' % (before, after, prompt)
    delta = b'"delta":{}' if style.family == "gpt" else b'"delta":{"content":""}'
    finish = b'%b,"choices":[{"index":0,%b,"finish_reason":%b,"logprobs":null}],"usage":%b}\n\n'
    ending = finish % (head, delta, encode_string(choice.finish_reason), encode_usage(plan.usage, style))
    return TemplateStream(
        opening=((first, opening, 0, PLAIN),),
        tokens=choice.sequence.quoted,
        due=choice.due,
        before=before + b'"content":',
        after=(after, b',"total_tokens":', b"}}\n\n"),
        offsets=(0, prompt),
        ending=((last, ending, choice.count, _FINISH_WITH_USAGE), (last, DONE, 0, Mark.DONE)),
    )


def _stream_text(head: bytes, plan: Plan, style: RenderOptions, include_usage: bool) -> TemplateStream:
    """Return a plain text as a template stream without running counts."""
    choice, prefix, delta = plan.choices[0], head + b',"choices":[', b'{"index":0,"delta":{'
    first, last = first_due(choice), last_due(choice)
    suffix, closing, mark = _encode_counts(plan, style, include_usage)
    finish: Event = (last, prefix + _encode_finish(choice, delta, style) + closing, choice.count, mark)
    return TemplateStream(
        opening=((first, b'%b%b"role":"assistant","content":""%b%b' % (prefix, delta, _AFTER, suffix), 0, PLAIN),),
        tokens=choice.sequence.quoted,
        due=choice.due,
        before=prefix + delta + b'"content":',
        after=(_AFTER + suffix,),
        ending=(finish, *_stream_end(prefix, plan, style, include_usage)),
    )


def _stream_any(head: bytes, plan: Plan, style: RenderOptions, include_usage: bool) -> Iterator[Event]:
    prefix = head + b',"choices":['
    choices = interleave([_stream_choice(plan, number, style) for number in range(len(plan.choices))], in_turn=True)
    if style.usage_style == "every":
        yield from _stream_counts(prefix, choices, plan, style)
    else:
        yield from _stream_last_count(prefix, choices, plan, style, include_usage)
    yield from _stream_end(prefix, plan, style, include_usage)


def _stream_end(prefix: bytes, plan: Plan, style: RenderOptions, include_usage: bool) -> Iterator[Event]:
    """Yield the events after the choices."""
    last = max(map(last_due, plan.choices), default=0.0)
    if style.usage_style == "closing" or (include_usage and _is_silent(style)):
        yield last, b'%b],"usage":%b}\n\n' % (prefix, encode_usage(plan.usage, style)), 0, Mark.USAGE
    yield last, DONE, 0, Mark.DONE


def _is_silent(style: RenderOptions) -> bool:
    """Return whether no chunk of a choice has counts."""
    return style.usage_style in ("closing", "on-request", "none")


def _stream_counts(prefix: bytes, choices: Iterator[Event], plan: Plan, style: RenderOptions) -> Iterator[Event]:
    """Yield chunks with running counts; the last one has the whole usage."""
    prompt = plan.usage.prompt_tokens
    remaining = len(plan.choices)
    # Escape % in the prefix for the template.
    template = prefix.replace(b"%", b"%%") + b'%%b],"usage":{"prompt_tokens":%d,' % prompt
    template += b'"completion_tokens":%d,"total_tokens":%d}}\n\n'
    for due, choice, tokens, mark in choices:
        if mark is FINISH:
            remaining -= 1
            if not remaining:
                ending = b'%b%b],"usage":%b}\n\n' % (prefix, choice, encode_usage(plan.usage, style))
                yield due, ending, tokens, _FINISH_WITH_USAGE
                return
        yield due, template % (choice, tokens, prompt + tokens), tokens, mark


def _stream_last_count(
    prefix: bytes, choices: Iterator[Event], plan: Plan, style: RenderOptions, include_usage: bool
) -> Iterator[Event]:
    """Yield chunks without counts, except perhaps the last one."""
    suffix, closing, finished = _encode_counts(plan, style, include_usage)
    remaining = len(plan.choices)
    for due, choice, tokens, mark in choices:
        if mark is FINISH:
            remaining -= 1
            if not remaining:
                suffix, mark = closing, finished
        yield due, b"%b%b%b" % (prefix, choice, suffix), tokens, mark


def _encode_counts(plan: Plan, style: RenderOptions, include_usage: bool) -> tuple[bytes, bytes, Mark]:
    """Return the end of a chunk, the end of the last choice's last chunk, and the latter's mark."""
    silent = _is_silent(style)
    suffix = b"]}\n\n"
    if style.usage_style == "claude":
        prompt = plan.usage.prompt_tokens
        suffix = b'],"usage":{"prompt_tokens":%d,"completion_tokens":null,"total_tokens":null}}\n\n' % prompt
    elif silent and include_usage:
        suffix = b'],"usage":null}\n\n'
    if silent:
        return suffix, suffix, FINISH
    return suffix, b'],"usage":%b}\n\n' % encode_usage(plan.usage, style), _FINISH_WITH_USAGE


def _stream_choice(plan: Plan, number: int, style: RenderOptions) -> Iterator[Event]:
    """Yield the chunks of one choice: role, runs of tokens, finish reason."""
    choice = plan.choices[number]
    before = b'{"index":%d,"delta":{' % number
    opening = before + b'"role":"assistant","content":""' + _AFTER
    if style.role_everywhere:
        before += b'"role":"assistant",'
    call = 0
    for step in iterate_choice(choice):
        if isinstance(step, TextRun):
            yield from _stream_run(plan, number, step, before, style, call)
        elif isinstance(step, ToolCallStarted):
            call = step.number
            yield step.due, _encode_call(plan, number, step, before, style), step.tokens, PLAIN
        elif not isinstance(step, ChoiceStarted):
            yield step.due, _encode_finish(choice, before, style), step.tokens, FINISH
        elif not choice.segments or choice.segments[0].kind != "tool_call":
            yield step.due, opening, 0, PLAIN


def _encode_call(plan: Plan, number: int, call: ToolCallStarted, before: bytes, style: RenderOptions) -> bytes:
    """Encode a call's name and id; its arguments follow in fragments."""
    if call.first:
        content = b"null" if style.family == "gpt" else b'""'
        before = b'{"index":%d,"delta":{"role":"assistant","content":%b,' % (number, content)
    opening: Object = {"index": call.number, **build_call(plan.key, number, call, "", style)}
    return b'%b"tool_calls":[%b]%b' % (before, dump_json(opening), _AFTER)


def _encode_finish(choice: Choice, before: bytes, style: RenderOptions) -> bytes:
    """Encode the finish reason, with an empty text where one may follow."""
    if choice.finish_reason == "tool_calls" or style.family == "gpt":
        delta = before.removesuffix(b",")
    else:
        delta = before + b'"content":""'
    return b'%b},"finish_reason":%b,"logprobs":null}' % (delta, encode_string(choice.finish_reason))


def _stream_run(
    plan: Plan, number: int, run: TextRun, before: bytes, style: RenderOptions, call: int
) -> Iterator[Event]:
    """Yield one chunk a token; a token without text has none."""
    choice = plan.choices[number]
    if run.kind == "tool_call":
        before += b'"tool_calls":[{"index":%d,"function":{"arguments":' % call
        yield from token_events(choice, run, before, b"}}]" + _AFTER)
    elif run.kind == "reasoning":
        if thinks_aloud(style):
            yield from _stream_reasoning(plan, number, run, before, style)
    else:
        before += b'"refusal":' if run.kind == "refusal" and style.family == "gpt" else b'"content":'
        yield from (
            _stream_logprobs(choice, run, before)
            if choice.logprobs is not None
            else token_events(choice, run, before, _AFTER)
        )


def _stream_logprobs(choice: Choice, run: TextRun, before: bytes) -> Iterator[Event]:
    """Yield one chunk a token with its log-probability; a token without text has one, too."""
    for position, entry in enumerate((choice.logprobs or ())[run.start : run.end], run.start):
        logprobs = dump_json({"content": [build_logprob(entry)]})
        token = encode_string(choice.tokens[position])
        data = b'%b%b},"finish_reason":null,"logprobs":%b}' % (before, token, logprobs)
        yield choice.due[position], data, position + 1, PLAIN


def _stream_reasoning(plan: Plan, number: int, run: TextRun, before: bytes, style: RenderOptions) -> Iterator[Event]:
    """Yield fragments of the summary, with Claude's signature last; encrypted reasoning is one chunk."""
    choice = plan.choices[number]
    if style.encrypted:
        if run.end > run.start:
            part = dump_json([build_thought(plan.key, number, "", style)])
            yield choice.due[run.end - 1], b'%b"content":%b%b' % (before, part, _AFTER), run.end, PLAIN
        return
    before += b'"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":'
    after = b"}]}]" + _AFTER
    yield from token_events(choice, run, before, after)
    if style.family == "claude" and run.end > run.start:
        signature = b'"","signature":' + encode_string(sign(plan.key, number))
        yield choice.due[run.end - 1], before + signature + after, run.end, PLAIN
