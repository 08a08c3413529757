"""Plan the parts of an answer: reasoning, prose, tool calls, JSON, a refusal, or a reply that a scenario fixes.

``generate.py`` makes the segments of a plan of them, joined and truncated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, dump_text
from emulator.core.plan import Breakage, FinishReason, SegmentKind
from emulator.core.requests import ANY_OBJECT, ChatRequest, CompletionRequest, Sampling
from emulator.core.rng import derive_key
from emulator.core.vendor import Tokenizer
from emulator.generation.language import detect_language
from emulator.generation.step_budget import load
from emulator.generation.text import generate_text

if TYPE_CHECKING:
    from emulator.generation.json_schema import Mode

_GENERATOR = "emulator.generation.json_schema"  # some 50 ms
_REASONING_TOKENS = {"none": 0, "minimal": 8, "low": 24, "medium": 64, "high": 160, "xhigh": 240, "max": 320}


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class FixedReply:
    """Reply that a scenario fixes, or what it changes of a generated one.

    Fields:
        pieces: texts sent as one token each, after ``text``.
        tool_calls: name, arguments as JSON text and, if it is fixed too, id.
        embedding: vector of every input.
        pad: vectors are filled up with zeros to the model's length.
        embeddings: tests of an input, each with its vector; the first that holds.
        usage: token counts to report by name, in place of the actual ones.
        mode: generate an instance of the request's schema, in this mode; also of a tool's if the answer calls one.
        broken: way in which the arguments of tool calls are broken.
        is_generated: nothing is fixed.
    """

    text: str | None = None
    pieces: tuple[str, ...] = ()
    refusal: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[tuple[str, str, str], ...] = ()
    embedding: tuple[float, ...] | None = None
    embeddings: tuple[tuple[Callable[[str], bool], tuple[float, ...]], ...] = ()
    pad: bool = False
    finish_reason: FinishReason | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    mode: Mode | None = None
    broken: Breakage | None = None

    is_generated: bool = False


GENERATED = FixedReply(is_generated=True)
"""Marker of a scenario: the answer is generated as without a reply."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class ContentPart:
    """Part of an answer with one kind of content, before truncation; ``ended``: it has its natural end."""

    kind: SegmentKind
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    name: str = ""
    id: str = ""
    ended: bool = True


def plan_parts(
    request: ChatRequest | CompletionRequest, prompt: str, key: bytes, tokenizer: Tokenizer, reply: FixedReply | None
) -> list[ContentPart]:
    """Return the parts of the answer to one prompt, in order, before truncation.

    Raises:
        emulator.generation.json_schema.Unsatisfiable: no JSON satisfies the requested schema.
    """
    if reply is None:
        return _own_parts(request, prompt, key, tokenizer, request.sampling.max_tokens)
    if reply.mode is not None and isinstance(request, ChatRequest):
        calls = _call_tools(request, prompt, key, tokenizer, reply.mode) if request.tools else []
        parts = calls or [_structured(request, key, tokenizer, reply.mode)]
    elif reply.is_generated:
        parts = _own_parts(request, prompt, key, tokenizer, request.sampling.max_tokens)
    else:
        frame = request.call_frame if isinstance(request, ChatRequest) else None
        parts = _fixed_parts(reply, tokenizer, frame)
    return parts if reply.broken is None else _break_calls(parts, request, reply.broken, tokenizer)


def _break_calls(
    parts: list[ContentPart], request: ChatRequest | CompletionRequest, how: Breakage, tokenizer: Tokenizer
) -> list[ContentPart]:
    """Return the parts with broken arguments in each tool call."""
    if not any([part.kind == "tool_call" for part in parts]):
        return parts
    load(_GENERATOR)
    from emulator.generation.broken_arguments import break_arguments

    schemas = {tool.name: tool.parameters for tool in request.tools} if isinstance(request, ChatRequest) else {}
    broken = []
    for part in parts:
        if part.kind == "tool_call":
            text = break_arguments("".join(part.tokens), schemas.get(part.name, {}), how)
            part = _whole("tool_call", text, tokenizer, part.name, part.id)
        broken.append(part)
    return broken


def _own_parts(
    request: ChatRequest | CompletionRequest, prompt: str, key: bytes, tokenizer: Tokenizer, limit: int | None
) -> list[ContentPart]:
    if isinstance(request, CompletionRequest):
        if request.known is not None:
            return [_whole("text", request.known, tokenizer)]
        if request.schema is not None:
            return [_constrained(request.schema, key, tokenizer, bare=request.bare)]
        return [_prose(prompt, key, tokenizer, request.sampling, limit)]
    return _chat_parts(request, prompt, key, tokenizer, limit)


def _chat_parts(
    request: ChatRequest, prompt: str, key: bytes, tokenizer: Tokenizer, limit: int | None
) -> list[ContentPart]:
    parts = []
    if request.reasoning is not None:
        thought = _think(request.reasoning, prompt, key, tokenizer)
        parts.append(thought)
        limit = None if limit is None else max(0, limit - len(thought.tokens))
    if request.tools and (calls := _call_tools(request, prompt, key, tokenizer)):
        return parts + calls
    if request.format != "text":
        return [*parts, _structured(request, key, tokenizer)]
    if request.known is not None:
        return [*parts, _whole("text", request.known, tokenizer)]
    opening = ""
    if _answers_tool(request):
        from emulator.generation.tools import answer_opening

        opening = answer_opening(request, detect_language(prompt))
    return [*parts, _prose(prompt, key, tokenizer, request.sampling, limit, opening)]


def is_prose(request: ChatRequest | CompletionRequest) -> bool:
    """Return whether a generated answer consists of prose only."""
    if isinstance(request, CompletionRequest):
        return request.known is None and request.schema is None
    if request.tools or request.format != "text" or request.reasoning is not None or request.known is not None:
        return False
    return not _answers_tool(request)


def _answers_tool(request: ChatRequest) -> bool:
    return bool(request.messages) and request.messages[-1].role == "tool"


def _prose(
    prompt: str, key: bytes, tokenizer: Tokenizer, sampling: Sampling, limit: int | None, opening: str = ""
) -> ContentPart:
    """Generate prose in the language of the prompt."""
    prose = generate_text(tokenizer, key, detect_language(prompt), limit, sampling.ignore_eos, opening)
    return ContentPart("text", prose.tokens, prose.ids, ended=prose.ended)


def _think(effort: str, prompt: str, key: bytes, tokenizer: Tokenizer) -> ContentPart:
    count = _REASONING_TOKENS.get(effort, _REASONING_TOKENS["medium"])
    prose = generate_text(tokenizer, derive_key(key, "reasoning"), detect_language(prompt), count, True)
    return ContentPart("reasoning", prose.tokens, prose.ids)


def _call_tools(
    request: ChatRequest, prompt: str, key: bytes, tokenizer: Tokenizer, mode: Mode = "typical"
) -> list[ContentPart]:
    load(_GENERATOR)
    from emulator.generation.tools import choose_tools, write_arguments

    calls = choose_tools(request, derive_key(key, "tools"))
    parts = []
    for number, tool in enumerate(calls):
        turn = calls[:number].count(tool)  # a second call of one tool takes the prompt's second value
        arguments = write_arguments(tool, prompt, derive_key(key, "arguments", number), turn, mode)
        parts += _frame_call(request.call_frame, tool.name, tokenizer)
        parts.append(_whole("tool_call", arguments, tokenizer, tool.name))
    return parts


def _frame_call(frame: tuple[str, str] | None, name: str, tokenizer: Tokenizer) -> list[ContentPart]:
    """Return the part in front of the arguments of a call, if the model writes one."""
    if frame is None:
        return []
    opening = frame[0] + dump_text(name)[1:-1]
    ids = *tokenizer.encode(opening), (tokenizer.encode(frame[1]) or [tokenizer.eos])[0]
    return [ContentPart("frame", (*tokenizer.pieces(opening), frame[1]), ids)]


def _structured(request: ChatRequest, key: bytes, tokenizer: Tokenizer, mode: Mode = "typical") -> ContentPart:
    load(_GENERATOR)
    from emulator.generation.json_schema import generate

    schema: JSON = request.schema if request.format == "json_schema" else ANY_OBJECT
    opening, closing = request.around
    text = _word(generate(schema, derive_key(key, "json"), mode=mode), bare=request.bare)
    return _whole("text", opening + text + closing, tokenizer)


def _constrained(schema: JSON, key: bytes, tokenizer: Tokenizer, *, bare: bool) -> ContentPart:
    load(_GENERATOR)
    from emulator.generation.json_schema import generate

    return _whole("text", _word(generate(schema, derive_key(key, "json")), bare=bare), tokenizer)


def _word(value: JSON, *, bare: bool) -> str:
    return value if bare and isinstance(value, str) else dump_text(value)


def _whole(kind: SegmentKind, text: str, tokenizer: Tokenizer, name: str = "", call_id: str = "") -> ContentPart:
    return ContentPart(kind, tuple(tokenizer.pieces(text)), tuple(tokenizer.encode(text)), name, call_id)


def _fixed_parts(reply: FixedReply, tokenizer: Tokenizer, frame: tuple[str, str] | None) -> list[ContentPart]:
    parts = []
    if reply.reasoning is not None:
        parts.append(_whole("reasoning", reply.reasoning, tokenizer))
    if reply.refusal is not None:
        parts.append(_whole("refusal", reply.refusal, tokenizer))
    if reply.text is not None:
        parts.append(_whole("text", reply.text, tokenizer))
    if reply.pieces:
        ids = tuple((tokenizer.encode(piece) or [tokenizer.eos])[0] for piece in reply.pieces)
        parts.append(ContentPart("text", reply.pieces, ids))
    for name, arguments, call_id in reply.tool_calls:
        parts += _frame_call(frame, name, tokenizer)
        parts.append(_whole("tool_call", arguments, tokenizer, name, call_id))
    return parts or [ContentPart("text", (), ())]
