"""A chat answer event by event.

Sources: litellm and databricks-langchain test fixtures, docs.databricks.com "Score foundation models" (usage in
every chunk), databricks-ai-bridge (lists of content parts in deltas).
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan, Span
from emulator.core.seed import draw_uuid
from emulator.dialects.openai import shape_logprob
from emulator.dialects.sse import DONE, quote
from emulator.vendors.databricks.chat.shapes import is_plain, shape_call, sign, thinks_aloud
from emulator.vendors.databricks.reply import Reply, dump_usage, shape_usage

# One chunk's choice: when it is due, which choice, how many tokens it has by then, and the bytes.
# The last of a choice has its count negated, bit by bit.
Piece = tuple[float, int, int, bytes]


def stream_chat(plan: Plan, reply: Reply) -> Iterator[tuple[float, bytes]]:
    """All chunks of all choices as they come due, then ``[DONE]``."""
    head = (
        f'data: {{"id":"chatcmpl_{draw_uuid(plan.key, "chat")}","object":"chat.completion.chunk",'
        f'"created":{int(plan.created)},"model":'
    ).encode() + quote(reply.model)
    if reply.usage_style == "every" and not reply.role_everywhere and is_plain(plan, reply):
        return _stream_plain(head, plan, reply)
    return _stream_any(head, plan, reply)


def _stream_plain(head: bytes, plan: Plan, reply: Reply) -> Iterator[tuple[float, bytes]]:
    """The usual stream, which is what :func:`_stream_any` makes of it."""
    choice = plan.choices[0]
    due, prompt = choice.due, plan.usage.prompt_tokens
    first, last = (due[0], due[-1]) if len(due) else (0.0, 0.0)
    before = head + b',"choices":[{"index":0,"delta":{'
    after = b'},"finish_reason":null,"logprobs":null}],"usage":{"prompt_tokens":%d,"completion_tokens":' % prompt
    yield first, b'%b"role":"assistant","content":""%b0,"total_tokens":%d}}\n\n' % (before, after, prompt)
    # Every % of the head stands for itself.
    template = before.replace(b"%", b"%%") + b'"content":%b' + after + b'%d,"total_tokens":%d}}\n\n'
    for number, (token, when) in enumerate(zip(choice.tokens, due, strict=True), 1):
        if token:
            yield when, template % (quote(token), number, prompt + number)
    delta = b'"delta":{}' if reply.family == "gpt" else b'"delta":{"content":""}'
    finish = b'%b,"choices":[{"index":0,%b,"finish_reason":%b,"logprobs":null}],"usage":%b}\n\n'
    yield last, finish % (head, delta, quote(choice.finish_reason), dump_usage(plan.usage, reply))
    yield last, DONE


def _stream_any(head: bytes, plan: Plan, reply: Reply) -> Iterator[tuple[float, bytes]]:
    choices = [_pieces(plan, number, reply) for number in range(len(plan.choices))]
    if reply.role_everywhere:
        choices = [_repeat_role(pieces) for pieces in choices]
    pieces = choices[0] if len(choices) == 1 else merge(*choices, key=_order)
    counted = _count_all if reply.usage_style == "every" else _count_some
    yield from counted(head + b',"choices":[', pieces, plan, reply)
    last = max((choice.due[-1] if len(choice.due) else 0.0 for choice in plan.choices), default=0.0)
    if reply.include_usage and reply.usage_style in ("on-request", "none"):
        yield last, b'%b,"choices":[],"usage":%b}\n\n' % (head, dump_json(shape_usage(plan.usage, reply)))
    yield last, DONE


def _order(piece: Piece) -> tuple[float, int]:
    """Choices that keep the same pace take turns."""
    return piece[0], piece[2] if piece[2] >= 0 else ~piece[2]


def _count_all(prefix: bytes, pieces: Iterator[Piece], plan: Plan, reply: Reply) -> Iterator[tuple[float, bytes]]:
    """Running counts in every chunk; the last one has the whole usage."""
    prompt = plan.usage.prompt_tokens
    counts = [0] * len(plan.choices)
    left = len(counts)
    # Every % of the prefix stands for itself.
    template = prefix.replace(b"%", b"%%") + b'%%b],"usage":{"prompt_tokens":%d,' % prompt
    template += b'"completion_tokens":%d,"total_tokens":%d}}\n\n'
    single = left == 1
    for due, number, tokens, body in pieces:
        if tokens < 0:
            left -= 1
            if not left:
                yield due, b'%b%b],"usage":%b}\n\n' % (prefix, body, dump_json(shape_usage(plan.usage, reply)))
                return
            tokens = ~tokens
        if not single:
            counts[number] = tokens
            tokens = sum(counts)
        yield due, template % (body, tokens, prompt + tokens)


def _count_some(prefix: bytes, pieces: Iterator[Piece], plan: Plan, reply: Reply) -> Iterator[tuple[float, bytes]]:
    """No counts before the last chunk, or not even there."""
    style = reply.usage_style
    silent = style in ("on-request", "none")
    suffix = final = b"]}\n\n"
    if style == "claude":
        prompt = plan.usage.prompt_tokens
        suffix = b'],"usage":{"prompt_tokens":%d,"completion_tokens":null,"total_tokens":null}}\n\n' % prompt
    elif silent and reply.include_usage:
        suffix = final = b'],"usage":null}\n\n'
    if not silent:
        final = b'],"usage":%b}\n\n' % dump_json(shape_usage(plan.usage, reply))
    left = len(plan.choices)
    for due, _, tokens, body in pieces:
        left -= tokens < 0
        yield due, b"%b%b%b" % (prefix, body, suffix if left else final)


def _pieces(plan: Plan, number: int, reply: Reply) -> Iterator[Piece]:
    """The chunks of one choice: role, each span, the finish reason."""
    choice = plan.choices[number]
    before, after = b'{"index":%d,"delta":' % number, b',"finish_reason":null,"logprobs":null}'
    first = choice.due[0] if len(choice.due) else 0.0
    if not choice.spans or choice.spans[0].kind != "tool_call":
        yield first, number, 0, before + b'{"role":"assistant","content":""}' + after
    calls = 0
    for span in choice.spans:
        if span.kind == "tool_call":
            yield from _stream_call(plan, number, span, calls, reply)
            calls += 1
        elif span.kind != "reasoning":
            yield from _stream_text(choice, number, span, reply)
        elif thinks_aloud(reply):
            yield from _stream_thought(plan, number, span, reply)
    delta = b"{}" if choice.finish_reason == "tool_calls" or reply.family == "gpt" else b'{"content":""}'
    finish = b',"finish_reason":%b,"logprobs":null}' % quote(choice.finish_reason)
    yield choice.due[-1] if len(choice.due) else 0.0, number, ~len(choice.tokens), before + delta + finish


def _repeat_role(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same chunks, each with the role in front."""
    for due, number, tokens, body in pieces:
        head, mark, rest = body.partition(b'"delta":{')
        if not rest.startswith(b'"role"'):
            rest = (b'"role":"assistant"%b' if rest.startswith(b"}") else b'"role":"assistant",%b') % rest
        yield due, number, tokens, head + mark + rest


def _stream_text(choice: Choice, number: int, span: Span, reply: Reply) -> Iterator[Piece]:
    """One chunk a token; a token without text has none."""
    field = b"refusal" if span.kind == "refusal" and reply.family == "gpt" else b"content"
    before = b'{"index":%d,"delta":{"%b":' % (number, field)
    after = b'},"finish_reason":null,"logprobs":null}'
    tokens, due, logprobs = choice.tokens, choice.due, choice.logprobs
    if logprobs is None:
        for position in range(span.start, span.end):
            token = tokens[position]
            if token:
                yield due[position], number, position + 1, b"%b%b%b" % (before, quote(token), after)
        return
    for position in range(span.start, span.end):
        entry = dump_json({"content": [shape_logprob(logprobs[position])]})
        body = b'%b%b},"finish_reason":null,"logprobs":%b}' % (before, quote(tokens[position]), entry)
        yield due[position], number, position + 1, body


def _stream_thought(plan: Plan, number: int, span: Span, reply: Reply) -> Iterator[Piece]:
    """A list of one part with a fragment of the summary; Claude signs at the end."""
    choice = plan.choices[number]
    before = b'{"index":%d,"delta":{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":' % number
    after = b'}]}]},"finish_reason":null,"logprobs":null}'
    for position in range(span.start, span.end):
        token = choice.tokens[position]
        if token:
            yield choice.due[position], number, position + 1, before + quote(token) + after
    if reply.family == "claude" and span.end > span.start:
        signature = b'"","signature":' + quote(sign(plan.key, number))
        yield choice.due[span.end - 1], number, span.end, before + signature + after


def _stream_call(plan: Plan, number: int, span: Span, index: int, reply: Reply) -> Iterator[Piece]:
    """The call's name and id first, its arguments in fragments after."""
    choice = plan.choices[number]
    opening: dict[str, JSON] = {"index": index, **shape_call(plan.key, number, index, span, "", reply)}
    delta: dict[str, JSON] = {"tool_calls": [opening]}
    if span is choice.spans[0]:
        delta = {"role": "assistant", "content": None if reply.family == "gpt" else "", **delta}
    before, after = b'{"index":%d,"delta":' % number, b',"finish_reason":null,"logprobs":null}'
    due = choice.due[span.start] if span.start < len(choice.due) else choice.due[-1] if len(choice.due) else 0.0
    yield due, number, span.start, before + dump_json(delta) + after
    before += b'{"tool_calls":[{"index":%d,"function":{"arguments":' % index
    after = b"}}]}" + after
    for position in range(span.start, span.end):
        token = choice.tokens[position]
        if token:
            yield choice.due[position], number, position + 1, before + quote(token) + after
