"""Generate the content of a response from a request: tokens of each choice, log-probabilities, vectors, usage.

``segments.py`` plans the parts of an answer, ``text.py`` writes prose, ``embeddings/`` the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from emulator.core.cache import BoundedCache, lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.plan import Choice, FinishReason, Logprob, PromptTokens, Segment, Tokens, Usage, undelayed
from emulator.core.requests import (
    ChatRequest,
    CompletionRequest,
    Deployment,
    EmbeddingRequest,
    InferenceRequest,
    Message,
    Sampling,
)
from emulator.core.rng import derive_key, digest_long, prepare_key
from emulator.core.vendor import Tokenizer
from emulator.generation.language import detect_language
from emulator.generation.segments import ContentPart, FixedReply, is_prose, plan_parts
from emulator.generation.stop_sequences import cut_at_stop
from emulator.generation.text import generate_text

if TYPE_CHECKING:
    from emulator.core.plan import Vectors


_LONG_PROSE, _MAX_PROSE = 128, 1024  # tokens of a cached text; a shorter one takes as long to find as to write
_get_text = attrgetter("text")
_MAX_CACHED_ROLES = 8  # messages of a conversation with a role sequence that is worth caching


@fast_dataclass(frozen=True, slots=True, eq=False)
class Content:
    """Generated content of a plan, before pacing: all tokens are due at once."""

    usage: Usage
    choices: tuple[Choice, ...] = ()
    prompts: tuple[PromptTokens, ...] = ()
    vectors: Vectors | None = None

    @property
    def weight(self) -> int:
        """Cache cost: its tokens, plus one for each log-probability and each alternative."""
        logprobs = [*(choice.logprobs for choice in self.choices), *(prompt.logprobs for prompt in self.prompts)]
        alternatives = sum(len(entries) * (1 + len(entries[0].top)) for entries in logprobs if entries)
        return sum(choice.count for choice in self.choices) + alternatives


def generate(
    request: InferenceRequest,
    deployment: Deployment,
    tokenizer: Tokenizer,
    seed: int,
    prompt_tokens: tuple[int, ...],
    reply: FixedReply | None = None,
) -> Content:
    """Generate the content of a response; the same request and seed always give the same content.

    Raises:
        emulator.generation.json_schema.Unsatisfiable: no JSON satisfies the requested schema.
    """
    if reply is None and isinstance(request, ChatRequest) and (request.is_prose or _is_single_prose(request)):
        language = request.language or detect_language(request.prompt or "")
        choice = _find_prose(_chat_key(request, deployment, seed), language, request.sampling, tokenizer, 0)
        return Content(Usage(sum(prompt_tokens), choice.count), (choice,))
    if isinstance(request, EmbeddingRequest):
        return _write_vectors(request, deployment, tokenizer, seed, prompt_tokens, reply)
    sampling = request.sampling
    if isinstance(request, ChatRequest):
        prompts = [(request.prompt or "", _chat_key(request, deployment, seed))]
    else:
        texts = (p if isinstance(p, str) else tokenizer.decode(p) for p in request.prompts)
        variation = (deployment.name, request.raw, *_variation(sampling))
        prompts = [(text, derive_key(seed, "text", text, *variation)) for text in texts]
    choices = []
    for position, (prompt, prompt_key) in enumerate(prompts):
        bounded = _limit(request, position)
        for number in range(sampling.n):
            key = prompt_key if number == 0 or sampling.greedy else derive_key(prompt_key, number)
            choices.append(_write_choice(bounded, prompt, key, tokenizer, reply, position))
    details: tuple[PromptTokens, ...] = ()
    if sampling.prompt_details:
        details = tuple(_read_prompt(text, tokenizer, key) for text, key in prompts)
    usage = _count_usage(choices, prompt_tokens)
    if reply is not None and reply.usage:
        usage = replace(usage, **reply.usage)
    return Content(usage, tuple(choices), details)


def _is_single_prose(request: ChatRequest) -> bool:
    return request.sampling.n == 1 and _is_uncut_prose(request)


def _limit(request: ChatRequest | CompletionRequest, position: int) -> ChatRequest | CompletionRequest:
    """Return the request with the maximum tokens of the answer to one of its prompts."""
    if isinstance(request, CompletionRequest) and request.limits:
        return replace(request, sampling=replace(request.sampling, max_tokens=request.limits[position]))
    return request


def _variation(sampling: Sampling) -> tuple[str | int | None, ...]:
    """Return the key parts of sampling parameters that vary the text; none if sampling is greedy."""
    if sampling.greedy:
        return ()
    return (sampling.seed, repr(sampling.parameters))


def _chat_key(request: ChatRequest, deployment: Deployment, seed: int) -> bytes:
    messages = request.messages
    is_text = bool(request.language) or not any(map(_has_more, messages))
    if is_text and len(messages) <= _MAX_CACHED_ROLES and (request.is_prose or not _has_form(request)):
        roles = tuple([message.role for message in messages])
        derive_texts = _prepare_key(seed, deployment.name, roles, _variation(request.sampling))
        return derive_texts(*map(_get_text, messages))
    turns: list[str | int | None] = []
    for message in messages:
        turns += (message.role, message.text)
        if _has_more(message):
            calls = repr([(call.name, call.arguments) for call in message.tool_calls])
            turns += (calls, message.tool_call_id, message.media)
    if _has_form(request):
        tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
        chosen = (request.tool_choice, request.tool_name, request.parallel)
        form = (tools, *chosen, request.format, request.schema, request.reasoning)
        turns.append(digest_long(repr(form)))
    return derive_key(seed, "text", deployment.name, len(messages), *turns, *_variation(request.sampling))


def _has_more(message: Message) -> bool:
    """Return whether a message has tool calls, a tool result or media."""
    return bool(message.tool_calls or message.tool_call_id or message.media)


def _has_form(request: ChatRequest) -> bool:
    """Return whether the answer may contain other content than prose."""
    return bool(request.tools or request.format != "text" or request.reasoning)


@lru(1024)
def _prepare_key(
    seed: int, deployment: str, roles: tuple[str, ...], variation: tuple[str | int | None, ...]
) -> Callable[..., bytes]:
    """Return a function from the texts of a text-only conversation to its key."""
    turns = [part for role in roles for part in (role, ...)]
    return prepare_key(seed, "text", deployment, len(roles), *turns, *variation)


def _count_usage(choices: list[Choice], prompt_tokens: tuple[int, ...]) -> Usage:
    completion = reasoning = 0
    for choice in choices:
        completion += choice.count
        for span in choice.segments:
            if span.kind == "reasoning":
                reasoning += span.end - span.start
    return Usage(sum(prompt_tokens), completion, reasoning)


def _write_choice(
    request: ChatRequest | CompletionRequest,
    prompt: str,
    key: bytes,
    tokenizer: Tokenizer,
    reply: FixedReply | None,
    position: int,
) -> Choice:
    sampling = request.sampling
    limit = sampling.max_tokens
    if reply is None and _is_uncut_prose(request):
        return _find_prose(key, detect_language(prompt), sampling, tokenizer, position)
    parts = plan_parts(request, prompt, key, tokenizer, reply)
    tokens: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    spans = []
    stopped_by: str | None = None
    finish: FinishReason = "stop"
    for part in parts:
        before = len(tokens)
        part, stopped_by, whole = _truncate(part, sampling, None if limit is None else limit - before)
        tokens = tokens + part.tokens if before else part.tokens
        ids = ids + part.ids if before else part.ids
        spans.append(Segment(part.kind, before, len(tokens), part.name, part.id))
        if stopped_by is not None or not whole:
            finish = "stop" if stopped_by is not None else "length"
            break
    else:
        finish = "tool_calls" if spans and spans[-1].kind == "tool_call" else "stop"
        if sampling.show_eos and (limit is None or len(tokens) < limit):
            tokens, ids = (*tokens, ""), (*ids, tokenizer.eos)
            spans[-1] = replace(spans[-1], end=len(tokens))
        elif sampling.show_eos:
            finish = "length"  # the limit leaves no token for the end of the sequence
    if reply is not None and reply.finish_reason is not None:
        finish = reply.finish_reason
    logprobs = None if sampling.logprobs is None else _write_logprobs(sampling, tokens, key)
    sequence = Tokens(tokens, ids)
    return Choice(sequence, undelayed(len(tokens)), finish, tuple(spans), logprobs, stopped_by, position)


def _is_uncut_prose(request: ChatRequest | CompletionRequest) -> bool:
    """Return whether a generated answer is prose that only its natural end or a token limit ends."""
    sampling = request.sampling
    return not sampling.stop and sampling.logprobs is None and not sampling.prompt_details and is_prose(request)


class _LongProse(BoundedCache[Hashable, Choice | None]):
    """Cache of long prose, with the tokens and bytes that are made of it on first use; ``None``: seen once."""

    max_entries = 256


_long_prose = _LongProse()


def _find_prose(key: bytes, language: str, sampling: Sampling, tokenizer: Tokenizer, position: int) -> Choice:
    """Return a choice of prose; equal to that of :func:`_write_choice`, without its parts.

    Requests may differ and have the same long answer, as those that name another ``user``.
    """
    limit = sampling.max_tokens
    if limit is not None and limit < _LONG_PROSE:
        return _write_prose(key, language, sampling, tokenizer, position)
    place = key, language, limit, sampling.ignore_eos, sampling.show_eos, tokenizer, position
    choice = _long_prose.get(place)
    if choice is None:
        choice = _write_prose(key, language, sampling, tokenizer, position)
        if choice.count <= _MAX_PROSE:
            _long_prose.keep(place, choice if place in _long_prose else None)
    return choice


def _write_prose(key: bytes, language: str, sampling: Sampling, tokenizer: Tokenizer, position: int) -> Choice:
    limit = sampling.max_tokens
    prose = generate_text(tokenizer, key, language, limit, sampling.ignore_eos)
    count = prose.count
    finish: FinishReason = "stop" if prose.ended else "length"
    if sampling.show_eos and prose.ended:
        if limit is None or count < limit:
            prose.eos = tokenizer.eos
            count += 1
        else:
            finish = "length"  # the limit leaves no token for the end of the sequence
    return Choice(prose, undelayed(count), finish, _one_text(count), None, None, position)


@lru(4096)
def _one_text(count: int) -> tuple[Segment, ...]:
    """Return the segments of a choice of one text."""
    return (Segment("text", 0, count),)


def _truncate(part: ContentPart, sampling: Sampling, limit: int | None) -> tuple[ContentPart, str | None, bool]:
    """Cut a part at the first stop string, then at ``limit`` tokens.

    Returns the part, the stop string or ``None``, and whether the part reached its own end uncut.
    """
    stopped_by = None
    if sampling.stop and part.kind == "text":
        tokens, stopped_by = cut_at_stop(
            part.tokens, sampling.stop, keep=sampling.keep_stop, listed=sampling.listed_stop
        )
        if stopped_by is not None and (limit is None or len(tokens) <= limit):
            return replace(part, tokens=tokens, ids=part.ids[: len(tokens)]), stopped_by, False
    if limit is not None and len(part.tokens) > limit:
        return replace(part, tokens=part.tokens[:limit], ids=part.ids[:limit]), None, False
    return part, None, part.ended


def _write_logprobs(sampling: Sampling, tokens: tuple[str, ...], key: bytes) -> tuple[Logprob, ...]:
    from emulator.generation.logprobs import token_logprobs

    return token_logprobs(tokens, derive_key(key, "logprobs"), sampling.logprobs or 0, sampling.greedy)


def _read_prompt(prompt: str, tokenizer: Tokenizer, key: bytes) -> PromptTokens:
    from emulator.generation.logprobs import token_logprobs

    ids = tuple(tokenizer.encode(prompt))
    tokens = tuple(tokenizer.pieces(prompt))
    if tokenizer.bos is not None:
        ids, tokens = (tokenizer.bos, *ids), ("", *tokens)
    return PromptTokens(tokens, ids, token_logprobs(tokens, derive_key(key, "prompt")))


def _write_vectors(
    request: EmbeddingRequest,
    deployment: Deployment,
    tokenizer: Tokenizer,
    seed: int,
    prompt_tokens: tuple[int, ...],
    reply: FixedReply | None,
) -> Content:
    texts = [text if isinstance(text, str) else tokenizer.decode(text) for text in request.inputs]
    dimensions = request.dimensions or deployment.dimensions
    usage = Usage(sum(prompt_tokens))
    if reply is not None and reply.embedding is not None:
        import numpy as np

        vector = _fit(reply.embedding, dimensions) if reply.pad else reply.embedding
        return Content(vectors=np.array([vector] * len(texts), dtype=np.float32), usage=usage)
    instruction = request.instruction and digest_long(request.instruction)
    key_of = prepare_key(seed, "embedding", deployment.name, instruction, ...)
    keys = [key_of(digest_long(text)) for text in texts]
    vectors = _draw_vectors(texts, keys, deployment, dimensions, seed)
    if reply is not None and reply.embeddings and not vectors.flags.writeable:
        vectors = vectors.copy()
    for takes, vector in reversed(() if reply is None else reply.embeddings):  # the first entry wins
        for row, text in enumerate(texts):
            if takes(text):
                vectors[row] = _fit(vector, dimensions)
    return Content(vectors=vectors, usage=usage)


def _draw_vectors(
    texts: Sequence[str], keys: Sequence[bytes], deployment: Deployment, dimensions: int, seed: int
) -> Vectors:
    """Return the vectors of texts: drawn from their keys, unless the deployment's vectors have a meaning."""
    from emulator.generation.embeddings.hashed import embed, lengthen

    geometry = deployment.geometry
    if geometry is None or geometry.kind == "hashed":
        return embed(keys, dimensions, deployment.normalized)
    from emulator.generation.embeddings.declared import embed_texts

    model = derive_key(seed, "geometry", deployment.name)
    rows = embed_texts(geometry, texts, keys, deployment.dimensions, dimensions, model)
    return rows if deployment.normalized else lengthen(rows, keys)


def _fit(vector: tuple[float, ...], length: int) -> tuple[float, ...]:
    """Return a vector of the length: cut, or filled up with zeros."""
    return (*vector[:length], *(0.0,) * (length - len(vector)))


_MAX_ENTRIES = 512
_MAX_WEIGHT = 4096  # of one entry; a heavier one costs more memory than it saves time
_MAX_TOTAL_WEIGHT = 262_144  # of all entries; about 40 MB if all of it is alternatives


class ContentCache:
    """Cache of generated content by the exact request; evicts the oldest first."""

    def __init__(self) -> None:
        self._contents: dict[Hashable, Content] = {}
        self._weight = 0

    def find(self, request: Hashable) -> Content | None:
        """Return the content of an earlier equal request, or ``None``."""
        return self._contents.get(request)

    def keep(self, request: Hashable, content: Content) -> None:
        """Cache the content of a request that has none yet, except embeddings and content above ``_MAX_WEIGHT``."""
        if content.vectors is not None or content.weight > _MAX_WEIGHT:
            return
        self._contents[request] = content
        self._weight += content.weight
        while len(self._contents) > _MAX_ENTRIES or self._weight > _MAX_TOTAL_WEIGHT:
            self._weight -= self._contents.pop(next(iter(self._contents))).weight
