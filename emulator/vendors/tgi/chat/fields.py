"""Declare the body of ``POST /v1/chat/completions`` for ``decoder.py``: fields, types and defaults.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatRequest).
"""

from collections.abc import Sequence
from functools import partial

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.messages import message
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.grammar import GrammarType, grammar_type
from emulator.vendors.tgi.tools import TOOL, TOOL_CHOICE, NamedTool, OfferedTool


@fast_dataclass(frozen=True, slots=True)
class StreamOptions:
    """``stream_options``."""

    include_usage: bool = False


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatBody:
    """Fields of ``ChatBody``; ``messages`` stay JSON."""

    model: str | None = None
    messages: Sequence[Object]
    frequency_penalty: float | None = None
    logit_bias: Sequence[float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    presence_penalty: float | None = None
    stop: Sequence[str] | None = None
    stream: bool = False
    seed: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    tools: Sequence[OfferedTool] | None = None
    tool_prompt: str | None = None
    tool_choice: str | NamedTool | None = None
    response_format: GrammarType | None = None
    stream_options: StreamOptions = StreamOptions()


_NAMES = ("max_tokens", "max_completion_tokens")
_STREAM_OPTIONS = serde.build(StreamOptions, serde.struct("StreamOptions", (Field("include_usage", serde.boolean),)))
_MEMBERS = serde.build(
    ChatBody,
    serde.struct(
        "ChatRequest",
        (
            Field("model", serde.option(serde.string), listed=True),
            Field("messages", serde.sequence(message), required=True),
            Field("frequency_penalty", serde.option(serde.f32)),
            Field("logit_bias", serde.option(serde.sequence(serde.f32))),
            Field("logprobs", serde.option(serde.boolean)),
            Field("top_logprobs", serde.option(serde.u32)),
            Field("max_tokens", serde.option(serde.u32)),
            Field("max_completion_tokens", serde.option(serde.u32), alias=True),
            Field("n", serde.option(serde.u32)),
            Field("presence_penalty", serde.option(serde.f32)),
            Field("stop", serde.option(serde.sequence(serde.string))),
            Field("stream", serde.boolean),
            Field("seed", serde.option(serde.u64), listed=True),
            Field("temperature", serde.option(serde.f32)),
            Field("top_p", serde.option(serde.f32)),
            Field("tools", serde.option(serde.sequence(TOOL))),
            Field("tool_prompt", serde.option(serde.string)),
            Field("tool_choice", TOOL_CHOICE),
            Field("response_format", serde.option(grammar_type)),
            Field("stream_options", _STREAM_OPTIONS),
        ),
    ),
)


def _parse_chat(members: serde.Type[ChatBody], value: JSON) -> ChatBody:
    """Parse ``ChatBody``; ``max_completion_tokens`` counts as a second ``max_tokens``."""
    if not isinstance(value, dict) or not value.keys() >= set(_NAMES):
        return members(value)
    before: Object = {}
    for key, inner in value.items():
        if key in _NAMES and before.keys() & set(_NAMES):
            break
        before[key] = inner
    members({"messages": [], **before})
    raise serde.Mismatch("duplicate field `max_tokens`", repeated=_NAMES)


CHAT_REQUEST: serde.Type[ChatBody] = partial(_parse_chat, _MEMBERS)
