"""An ask becomes a draft: what is said, before anyone decides when.

Nothing here depends on how the answer is delivered: streamed or whole, a draft is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from emulator.core.call import Ask, ChatAsk, CompletionAsk, Deployment, EmbeddingAsk, Sampling
from emulator.core.json import JSON, dump_text
from emulator.core.plan import Choice, FinishReason, Logprob, PromptTokens, Span, SpanKind, Usage, at_once
from emulator.core.record import record
from emulator.core.seed import derive
from emulator.core.tokenizer import Tokenizer
from emulator.engine.language import detect_language
from emulator.engine.stop import cut_at_stop
from emulator.engine.text import write_answer

if TYPE_CHECKING:
    from emulator.core.plan import Vectors
    from emulator.engine.json_schema import Mode

_REASONING_TOKENS = {"none": 0, "minimal": 8, "low": 24, "medium": 64, "high": 160, "xhigh": 240, "max": 320}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedReply:
    """What a scenario says the answer is, in place of one of our own.

    Fields:
        pieces: texts sent as one token each, after ``text``.
        tool_calls: name, arguments as JSON text and, if it is fixed too, id.
        usage: counts to report by name, in place of the true ones.
        mode: make an instance of the request's schema, in this mode.
    """

    text: str | None = None
    pieces: tuple[str, ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[tuple[str, str, str], ...] = ()
    embedding: tuple[float, ...] | None = None
    finish_reason: FinishReason | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    mode: Mode | None = None


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """The said part of a plan; its tokens are due at once until someone paces them."""

    choices: tuple[Choice, ...] = ()
    vectors: Vectors | None = None
    prompts: tuple[PromptTokens, ...] = ()
    usage: Usage


@record(frozen=True, slots=True, eq=False)
class _Part:
    """A stretch of one kind, still whole; ``ended``: it came to its own end."""

    kind: SpanKind
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    name: str = ""
    id: str = ""
    ended: bool = True


def write(
    ask: Ask,
    deployment: Deployment,
    tokenizer: Tokenizer,
    *,
    seed: int,
    prompt_tokens: tuple[int, ...],
    reply: FixedReply | None = None,
) -> Draft:
    """Say what the deployment answers; the same ask and seed always give the same draft.

    Raises:
        emulator.engine.json_schema.Unsatisfiable: no JSON fits the asked schema.
    """
    if isinstance(ask, EmbeddingAsk):
        return _write_vectors(ask, deployment, tokenizer, seed, prompt_tokens, reply)
    sampling = ask.sampling
    if isinstance(ask, ChatAsk):
        prompts = [(ask.prompt or "", _chat_key(ask, deployment, seed))]
    else:
        texts = (p if isinstance(p, str) else tokenizer.decode(p) for p in ask.prompts)
        variation = (deployment.name, ask.raw, *_variation(sampling))
        prompts = [(text, derive(seed, "text", text, *variation)) for text in texts]
    choices = []
    for position, (prompt, prompt_key) in enumerate(prompts):
        for number in range(sampling.n):
            key = prompt_key if number == 0 or sampling.greedy else derive(prompt_key, number)
            choice = _write_choice(ask, prompt, key, tokenizer, reply)
            choices.append(replace(choice, prompt=position) if position else choice)
    details: tuple[PromptTokens, ...] = ()
    if sampling.prompt_details:
        details = tuple(_read_prompt(text, tokenizer, key) for text, key in prompts)
    usage = _count_usage(choices, prompt_tokens)
    if reply is not None and reply.usage:
        usage = replace(usage, **reply.usage)
    return Draft(choices=tuple(choices), prompts=details, usage=usage)


def _variation(sampling: Sampling) -> tuple[str | int | None, ...]:
    """What a sampled text depends on beside its prompt; nothing if it is greedy."""
    if sampling.greedy:
        return ()
    return (sampling.seed, repr(sampling.knobs))


def _chat_key(ask: ChatAsk, deployment: Deployment, seed: int) -> bytes:
    turns: list[str | int | None] = []
    for message in ask.messages:
        turns += (message.role, message.text)
        if message.tool_calls or message.tool_call_id or message.media:
            calls = repr([(call.name, call.arguments) for call in message.tool_calls])
            turns += (calls, message.tool_call_id, message.media)
    if ask.tools or ask.format != "text" or ask.reasoning:
        tools = [(tool.name, tool.description, tool.parameters) for tool in ask.tools]
        turns.append(repr((tools, ask.tool_choice, ask.tool_name, ask.parallel, ask.format, ask.schema, ask.reasoning)))
    return derive(seed, "text", deployment.name, len(ask.messages), *turns, *_variation(ask.sampling))


def _count_usage(choices: list[Choice], prompt_tokens: tuple[int, ...]) -> Usage:
    completion = reasoning = 0
    for choice in choices:
        completion += len(choice.tokens)
        for span in choice.spans:
            if span.kind == "reasoning":
                reasoning += span.end - span.start
    return Usage(sum(prompt_tokens), completion, reasoning)


def _write_choice(
    ask: ChatAsk | CompletionAsk, prompt: str, key: bytes, tokenizer: Tokenizer, reply: FixedReply | None
) -> Choice:
    sampling = ask.sampling
    limit = sampling.max_tokens
    parts = _parts(ask, prompt, key, tokenizer, reply)
    tokens: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    spans = []
    stopped_by: str | None = None
    finish: FinishReason = "stop"
    for part in parts:
        part, stopped_by, whole = _fit(part, sampling, None if limit is None else limit - len(tokens))
        spans.append(Span(part.kind, len(tokens), len(tokens) + len(part.tokens), part.name, part.id))
        tokens += part.tokens
        ids += part.ids
        if stopped_by is not None or not whole:
            finish = "stop" if stopped_by is not None else "length"
            break
    else:
        finish = "tool_calls" if spans and spans[-1].kind == "tool_call" else "stop"
        if sampling.show_eos and (limit is None or len(tokens) < limit):
            tokens, ids = (*tokens, ""), (*ids, tokenizer.eos)
            spans[-1] = replace(spans[-1], end=len(tokens))
        elif sampling.show_eos:
            finish = "length"  # no room was left for the end of the sequence
    if reply is not None and reply.finish_reason is not None:
        finish = reply.finish_reason
    return Choice(
        tokens=tokens,
        ids=ids,
        due=at_once(len(tokens)),
        finish_reason=finish,
        spans=tuple(spans),
        logprobs=None if sampling.logprobs is None else _write_logprobs(sampling, tokens, key),
        stopped_by=stopped_by,
    )


def _fit(part: _Part, sampling: Sampling, room: int | None) -> tuple[_Part, str | None, bool]:
    """Cut a part at the first stop string, then at the room that is left; ``whole``: nothing was cut."""
    stopped_by = None
    if sampling.stop and part.kind == "text":
        tokens, stopped_by = cut_at_stop(part.tokens, sampling.stop, keep=sampling.keep_stop)
        if stopped_by is not None and (room is None or len(tokens) <= room):
            return replace(part, tokens=tokens, ids=part.ids[: len(tokens)]), stopped_by, False
    if room is not None and len(part.tokens) > room:
        return replace(part, tokens=part.tokens[:room], ids=part.ids[:room]), None, False
    return part, None, part.ended


def _parts(
    ask: ChatAsk | CompletionAsk, prompt: str, key: bytes, tokenizer: Tokenizer, reply: FixedReply | None
) -> list[_Part]:
    if reply is None:
        return _own_parts(ask, prompt, key, tokenizer, ask.sampling.max_tokens)
    if reply.mode is not None and isinstance(ask, ChatAsk):
        return [_structured(ask, key, tokenizer, reply.mode)]
    return _fixed_parts(reply, tokenizer)


def _own_parts(
    ask: ChatAsk | CompletionAsk, prompt: str, key: bytes, tokenizer: Tokenizer, limit: int | None
) -> list[_Part]:
    if isinstance(ask, CompletionAsk):
        if ask.known is not None:
            return [_whole("text", ask.known, tokenizer)]
        if ask.schema is not None:
            return [_constrained(ask.schema, key, tokenizer, bare=ask.bare)]
        return [_prose(prompt, key, tokenizer, ask.sampling, limit)]
    parts = []
    if ask.reasoning is not None:
        thought = _think(ask.reasoning, prompt, key, tokenizer)
        parts.append(thought)
        limit = None if limit is None else max(0, limit - len(thought.tokens))
    if ask.tools and (calls := _call_tools(ask, prompt, key, tokenizer)):
        return parts + calls
    if ask.format != "text":
        return [*parts, _structured(ask, key, tokenizer)]
    opening = ""
    language = detect_language(prompt)
    if ask.messages and ask.messages[-1].role == "tool":
        from emulator.engine.tools import answer_opening

        opening = answer_opening(ask, language)
    return [*parts, _prose(prompt, key, tokenizer, ask.sampling, limit, opening, language)]


def _prose(
    prompt: str,
    key: bytes,
    tokenizer: Tokenizer,
    sampling: Sampling,
    limit: int | None,
    opening: str = "",
    language: str | None = None,
) -> _Part:
    language = language or detect_language(prompt)
    tokens, ids, ended = write_answer(tokenizer, key, language, limit, sampling.ignore_eos, opening)
    return _Part("text", tokens, ids, ended=ended)


def _think(effort: str, prompt: str, key: bytes, tokenizer: Tokenizer) -> _Part:
    count = _REASONING_TOKENS.get(effort, _REASONING_TOKENS["medium"])
    tokens, ids, _ = write_answer(tokenizer, derive(key, "reasoning"), detect_language(prompt), count, True)
    return _Part("reasoning", tokens, ids)


def _call_tools(ask: ChatAsk, prompt: str, key: bytes, tokenizer: Tokenizer) -> list[_Part]:
    from emulator.engine.tools import choose_tools, write_arguments

    calls = choose_tools(ask, derive(key, "tools"))
    parts = []
    for number, tool in enumerate(calls):
        turn = calls[:number].count(tool)  # a second call of one tool takes the prompt's second value
        arguments = write_arguments(tool, prompt, derive(key, "arguments", number), turn)
        parts.append(_whole("tool_call", arguments, tokenizer, tool.name))
    return parts


def _structured(ask: ChatAsk, key: bytes, tokenizer: Tokenizer, mode: Mode = "typical") -> _Part:
    from emulator.engine.json_schema import generate

    schema: JSON = ask.schema if ask.format == "json_schema" else _ANY_OBJECT
    return _whole("text", dump_text(generate(schema, derive(key, "json"), mode=mode)), tokenizer)


def _constrained(schema: JSON, key: bytes, tokenizer: Tokenizer, *, bare: bool) -> _Part:
    from emulator.engine.json_schema import generate

    value = generate(schema, derive(key, "json"))
    return _whole("text", value if bare and isinstance(value, str) else dump_text(value), tokenizer)


_ANY_OBJECT: JSON = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "summary": {"type": "string"},
        "items": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "count": {"type": "integer", "minimum": 0, "maximum": 100},
    },
    "required": ["title", "summary", "items", "count"],
}


def _whole(kind: SpanKind, text: str, tokenizer: Tokenizer, name: str = "", call_id: str = "") -> _Part:
    return _Part(kind, tuple(tokenizer.pieces(text)), tuple(tokenizer.encode(text)), name, call_id)


def _fixed_parts(reply: FixedReply, tokenizer: Tokenizer) -> list[_Part]:
    parts = []
    if reply.reasoning is not None:
        parts.append(_whole("reasoning", reply.reasoning, tokenizer))
    if reply.refusal is not None:
        parts.append(_whole("refusal", reply.refusal, tokenizer))
    if reply.text is not None:
        parts.append(_whole("text", reply.text, tokenizer))
    if reply.pieces:
        ids = tuple((tokenizer.encode(piece) or [tokenizer.eos])[0] for piece in reply.pieces)
        parts.append(_Part("text", reply.pieces, ids))
    parts += [_whole("tool_call", arguments, tokenizer, name, id_) for name, arguments, id_ in reply.tool_calls]
    return parts or [_Part("text", (), ())]


def _write_logprobs(sampling: Sampling, tokens: tuple[str, ...], key: bytes) -> tuple[Logprob, ...]:
    from emulator.engine.logprobs import token_logprobs

    return token_logprobs(tokens, derive(key, "logprobs"), sampling.logprobs or 0, sampling.greedy)


def _read_prompt(prompt: str, tokenizer: Tokenizer, key: bytes) -> PromptTokens:
    from emulator.engine.logprobs import token_logprobs

    ids = tuple(tokenizer.encode(prompt))
    tokens = tuple(tokenizer.pieces(prompt))
    if tokenizer.bos is not None:
        ids, tokens = (tokenizer.bos, *ids), ("", *tokens)
    return PromptTokens(tokens, ids, token_logprobs(tokens, derive(key, "prompt")))


def _write_vectors(
    ask: EmbeddingAsk,
    deployment: Deployment,
    tokenizer: Tokenizer,
    seed: int,
    prompt_tokens: tuple[int, ...],
    reply: FixedReply | None,
) -> Draft:
    from emulator.engine.embeddings import embed

    texts = [text if isinstance(text, str) else tokenizer.decode(text) for text in ask.inputs]
    dimensions = ask.dimensions or deployment.dimensions
    usage = Usage(sum(prompt_tokens))
    if reply is not None and reply.embedding is not None:
        import numpy as np

        return Draft(vectors=np.array([reply.embedding] * len(texts), dtype=np.float32), usage=usage)
    keys = [derive(seed, "embedding", deployment.name, ask.instruction, text) for text in texts]
    return Draft(vectors=embed(keys, dimensions, deployment.normalized), usage=usage)
