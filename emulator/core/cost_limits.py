"""What one call may cost, known before it is done: more is refused in the vendor's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.requests import (
    ChatRequest,
    CompletionRequest,
    Deployment,
    EmbeddingRequest,
    InferenceRequest,
    Sampling,
)
from emulator.core.units import Closed, Size, Whole

INLINE_BYTES = 64 * 1024
"""Bytes of a body, roughly, that cost no more than some milliseconds, whatever is done with them."""
_MIB = 1024**2
_LONG = 8_192  # tokens and alternatives, some milliseconds of work
_DENSEST = 8  # characters of a token, where text is plain; a text that is too long even so is not counted
_NATURAL = 1024  # tokens; no answer that ends by itself is longer
_Count = Annotated[Whole, Field(ge=1, le=1_000_000_000)]


class CallBounds(Closed):
    """The most that one call may cost; a vendor's own limit holds where it is lower."""

    body: Size = Field(default=40 * _MIB, description="Bytes of a request's body.")
    decompressed: Size = Field(default=16 * _MIB, description="Bytes of a body that comes compressed.")
    values: _Count = Field(default=300_000, description="Values in a body of JSON: members of objects, items of lists.")
    text: Size = Field(default=28 * _MIB, description="Bytes of the texts in a body of JSON once they are read.")
    messages: _Count = Field(default=16_384, description="Messages of a conversation.")
    tools: _Count = Field(default=1_024, description="Tools on offer.")
    inputs: _Count = Field(default=4_096, description="Prompts to go on with, texts to embed or to rank.")
    answers: _Count = Field(default=512, description="Answers to all prompts together.")
    tokens: _Count = Field(
        default=262_144, description="Tokens of all answers; each alternative that is shown beside one counts as one."
    )
    components: _Count = Field(
        default=3_145_728,
        description="Numbers of all vectors: inputs times dimensions, or numbers of a reply's `embedding`.",
    )
    faults: _Count = Field(default=16, description="Faults that the headers of one request ask for.")
    added: Size = Field(default=_MIB, description="Bytes that faults add to an answer; what is beyond is left out.")
    writes: _Count = Field(
        default=32_768, description="Writes that all faults together make of an answer; the last has the rest."
    )

    def check(self, ask: InferenceRequest, deployment: Deployment) -> None:
        """Refuse what asks for more.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``; the message says how much there may be.
        """
        match ask:
            case ChatRequest():
                self._check_count(len(ask.messages), self.messages, "messages", "messages")
                self._check_count(len(ask.tools), self.tools, "tools", "tools")
                self._check_answers(1, ask.sampling)
            case CompletionRequest():
                self._check_count(len(ask.prompts), self.inputs, "prompts", "prompt")
                self._check_answers(len(ask.prompts), ask.sampling)
            case EmbeddingRequest():
                self._check_count(len(ask.inputs), self.inputs, "inputs", "input")
                self._check_count(count_components(ask, deployment), self.components, "numbers in vectors", "input")

    @property
    def filled(self) -> int:
        """Bytes of a reply once its placeholders are filled in: no more than its tokens may take."""
        return min(self.text, _DENSEST * self.tokens)

    def check_vectors(self, ask: InferenceRequest, fixed: int) -> None:
        """Refuse inputs of which each gets a vector of so many numbers, which a scenario fixes.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``.
        """
        if isinstance(ask, EmbeddingRequest):
            self._check_count(len(ask.inputs) * fixed, self.components, "numbers in vectors", "input")

    def check_tokens(self, count: int, param: str) -> None:
        """Refuse a list of more tokens.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``.
        """
        self._check_count(count, self.tokens, "tokens", param)

    def check_texts(self, texts: Sequence[str], count: Callable[[str], int], param: str, each: int = 1) -> None:
        """Refuse texts that have more tokens than may be told, where telling one costs as much as ``each``.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``.
        """
        tokens = sum(map(len, texts)) // _DENSEST
        if tokens * each <= self.tokens:
            tokens = sum(map(count, texts))
        self.check_tokens(tokens * each, param)

    def _check_answers(self, prompts: int, sampling: Sampling) -> None:
        answers = prompts * sampling.n
        if answers > 1 or sampling.logprobs is not None or sampling.ignore_eos:
            self._check_count(answers, self.answers, "answers", "n")
            self._check_count(count_tokens(prompts, sampling), self.tokens, "tokens and alternatives", "n")

    def _check_count(self, count: int, most: int, what: str, param: str) -> None:
        if count > most:
            text = f"{count} {what} are asked for, and one call may have {most}."
            raise EmulatedError(ErrorKind.INVALID_PARAMETER, text, param=param)


def count_tokens(prompts: int, sampling: Sampling) -> int:
    """Most tokens of all answers, each alternative that is shown counted as one."""
    longest = _NATURAL if sampling.max_tokens is None else sampling.max_tokens
    tokens = longest if sampling.ignore_eos else min(longest, _NATURAL)
    alternatives = 0 if sampling.logprobs is None else 1 + sampling.logprobs
    return prompts * sampling.n * tokens * (1 + alternatives)


def count_components(ask: EmbeddingRequest, deployment: Deployment, fixed: int = 0) -> int:
    """Numbers in all vectors; ``fixed``: of each, where a scenario says it."""
    return len(ask.inputs) * (fixed or ask.dimensions or deployment.dimensions)


def is_slow(ask: InferenceRequest, deployment: Deployment, fixed: int = 0) -> bool:
    """The answer takes so long to make that the event loop must not wait for it; ``fixed``: numbers of each vector."""
    match ask:
        case ChatRequest():
            return count_tokens(1, ask.sampling) > _LONG
        case CompletionRequest():
            return count_tokens(len(ask.prompts), ask.sampling) > _LONG
        case EmbeddingRequest():
            return count_components(ask, deployment, fixed) > _LONG * 8


def is_cheap(ask: InferenceRequest, most_messages: int) -> bool:
    """A chat with one answer of natural length: no other bound has anything to say to it, and it is quickly made."""
    if not isinstance(ask, ChatRequest) or ask.tools or ask.schema is not None or len(ask.messages) > most_messages:
        return False
    sampling = ask.sampling
    return sampling.n == 1 and sampling.logprobs is None and not sampling.ignore_eos


def is_unbounded(ask: InferenceRequest) -> bool:
    """How long the answer takes to make, nobody knows: it has a schema to meet."""
    if isinstance(ask, ChatRequest):
        return ask.format != "text" or ask.schema is not None or bool(ask.tools)
    return isinstance(ask, CompletionRequest) and ask.schema is not None


DEFAULT = CallBounds.model_construct()
