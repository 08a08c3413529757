"""Parameters outside the API that the models behind it know, once they are passed through.

Source: Azure OpenAI and vLLM chat and completions parameters of the same names.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from emulator.core.json import JSON
from emulator.vendors.azure.chat.fields import Count, Fraction, Integer, WireModel, read_whole

Number = Annotated[int, BeforeValidator(read_whole), Field(ge=1, le=128)]


class StreamOptions(WireModel):
    include_usage: bool | None = None


class SharedExtras(WireModel):
    """Known to chat and text completions alike."""

    n: Number | None = None
    best_of: Number | None = None
    user: str | None = None
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = None
    stream_options: StreamOptions | None = None
    ignore_eos: bool | None = None
    top_k: Annotated[Integer, Field(ge=-1)] | None = None
    min_p: Fraction | None = None
    repetition_penalty: Annotated[float, Field(gt=0)] | None = None
    min_tokens: Count | None = None
    safe_prompt: bool | None = None


class ChatExtras(SharedExtras):
    logprobs: bool | None = None
    top_logprobs: Annotated[Integer, Field(ge=0, le=20)] | None = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: Count | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None


class CompletionExtras(SharedExtras):
    logprobs: Annotated[Integer, Field(ge=0, le=5)] | None = None
    echo: bool | None = None
    suffix: str | None = None


class StrictChatExtras(ChatExtras):
    model_config = ConfigDict(strict=True)


class StrictCompletionExtras(CompletionExtras):
    model_config = ConfigDict(strict=True)


def read_knobs(extras: SharedExtras) -> tuple[tuple[str, JSON], ...]:
    """The passed-through fields that change which tokens are sampled."""
    names = ("top_k", "min_p", "repetition_penalty", "min_tokens")
    knobs = [(name, getattr(extras, name)) for name in names]
    bias = sorted(extras.logit_bias.items()) if extras.logit_bias else None
    return tuple((name, value) for name, value in (*knobs, ("logit_bias", bias)) if value is not None)
