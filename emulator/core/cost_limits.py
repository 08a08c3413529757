"""Limits on tokens, vectors and texts of one request, checked before they are generated; and estimates of the work.

``handler/parse.py`` checks each call; the scenario's section ``bounds`` changes the limits. Work that takes long runs
in the worker thread, so that the event loop stays responsive.
"""

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
from emulator.core.units import Size, StrictModel, Whole

INLINE_BYTES = 64 * 1024
"""Maximum bytes of a body that is processed on the event loop; any processing takes a few milliseconds at most."""
_MIB = 1024**2
_MAX_INLINE_TOKENS = 8_192  # tokens and alternatives; a few milliseconds of work
_MAX_TOKEN_CHARACTERS = 8  # of plain text; gives a lower bound of the tokens without counting them
_MAX_NATURAL_TOKENS = 1024  # an answer that ends by itself is never longer
_Count = Annotated[Whole, Field(ge=1, le=1_000_000_000)]


class CallBounds(StrictModel):
    """The maximum cost of one call; a vendor's own limit applies if it is lower."""

    body: Size = Field(default=40 * _MIB, description="Bytes of the request body.")
    decompressed: Size = Field(default=16 * _MIB, description="Bytes of a compressed body after decompression.")
    values: _Count = Field(default=300_000, description="Values in a JSON body: members of objects, items of lists.")
    text: Size = Field(default=28 * _MIB, description="Bytes of all strings in a JSON body after parsing.")
    messages: _Count = Field(default=16_384, description="Messages of a conversation.")
    tools: _Count = Field(default=1_024, description="Tools that the request offers.")
    inputs: _Count = Field(default=4_096, description="Prompts to complete, texts to embed or to rank.")
    answers: _Count = Field(default=512, description="Generated choices for all prompts together.")
    tokens: _Count = Field(
        default=262_144, description="Tokens of all choices; each alternative in log probabilities counts as one."
    )
    components: _Count = Field(
        default=3_145_728,
        description="Numbers of all vectors: inputs times dimensions, or numbers of a reply's `embedding`.",
    )
    faults: _Count = Field(default=16, description="Faults that the headers of one request ask for.")
    added: Size = Field(default=_MIB, description="Bytes that faults add to a response; the rest is left out.")
    writes: _Count = Field(default=32_768, description="Writes that all faults together split a response into.")

    def check(self, request: InferenceRequest, deployment: Deployment) -> None:
        """Raise if a request exceeds a limit.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``; the message names the limit.
        """
        if is_cheap(request, self.messages):
            return
        match request:
            case ChatRequest():
                self._check_count(len(request.messages), self.messages, "messages", "messages")
                self._check_count(len(request.tools), self.tools, "tools", "tools")
                self._check_answers(1, request.sampling)
            case CompletionRequest():
                self._check_count(len(request.prompts), self.inputs, "prompts", "prompt")
                self._check_answers(len(request.prompts), request.sampling)
            case EmbeddingRequest():
                self._check_count(len(request.inputs), self.inputs, "inputs", "input")
                self._check_count(count_components(request, deployment), self.components, "numbers in vectors", "input")

    @property
    def filled(self) -> int:
        """Maximum bytes of a reply after its placeholders are filled in."""
        return min(self.text, _MAX_TOKEN_CHARACTERS * self.tokens)

    def check_vectors(self, request: InferenceRequest, fixed: int) -> None:
        """Raise if vectors of ``fixed`` components, which a scenario sets, exceed the limit for all inputs.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``.
        """
        if isinstance(request, EmbeddingRequest):
            self._check_count(len(request.inputs) * fixed, self.components, "numbers in vectors", "input")

    def check_tokens(self, count: int, param: str) -> None:
        """Raise if a list has more tokens than allowed.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``.
        """
        self._check_count(count, self.tokens, "tokens", param)

    def check_texts(self, texts: Sequence[str], count: Callable[[str], int], param: str, each: int = 1) -> None:
        """Raise if texts have more tokens than allowed, at a cost of ``each`` per token.

        Raises:
            EmulatedError: ``INVALID_PARAMETER``.
        """
        tokens = sum(map(len, texts)) // _MAX_TOKEN_CHARACTERS
        if tokens * each <= self.tokens:
            tokens = sum(map(count, texts))
        self.check_tokens(tokens * each, param)

    def _check_answers(self, prompts: int, sampling: Sampling) -> None:
        answers = prompts * sampling.n
        if answers > 1 or sampling.logprobs is not None or sampling.ignore_eos:
            self._check_count(answers, self.answers, "answers", "n")
            self._check_count(count_tokens(prompts, sampling), self.tokens, "tokens and alternatives", "n")

    def _check_count(self, count: int, limit: int, what: str, param: str) -> None:
        if count > limit:
            text = f"{count} {what} are asked for, and one call may have {limit}."
            raise EmulatedError(ErrorKind.INVALID_PARAMETER, text, param=param)


def count_tokens(prompts: int, sampling: Sampling) -> int:
    """Return the maximum tokens of all answers, where each reported alternative counts as a token."""
    longest = _MAX_NATURAL_TOKENS if sampling.max_tokens is None else sampling.max_tokens
    tokens = longest if sampling.ignore_eos else min(longest, _MAX_NATURAL_TOKENS)
    alternatives = 0 if sampling.logprobs is None else 1 + sampling.logprobs
    return prompts * sampling.n * tokens * (1 + alternatives)


def count_components(request: EmbeddingRequest, deployment: Deployment, fixed: int = 0) -> int:
    """Return the components of all vectors together; ``fixed``: length of a vector that a scenario sets, or 0."""
    return len(request.inputs) * (fixed or request.dimensions or deployment.dimensions)


def is_slow(request: InferenceRequest, deployment: Deployment, fixed: int = 0) -> bool:
    """Return whether generation is too slow for the event loop; ``fixed`` as in :func:`count_components`."""
    match request:
        case ChatRequest():
            return count_tokens(1, request.sampling) > _MAX_INLINE_TOKENS
        case CompletionRequest():
            return count_tokens(len(request.prompts), request.sampling) > _MAX_INLINE_TOKENS
        case EmbeddingRequest():
            return count_components(request, deployment, fixed) > _MAX_INLINE_TOKENS * 8


def is_cheap(request: InferenceRequest, max_messages: int) -> bool:
    """Return whether a request is a chat with one answer of natural length, to which no other limit applies."""
    if not isinstance(request, ChatRequest) or len(request.messages) > max_messages:
        return False
    if request.is_prose:
        return True
    if request.tools or request.schema is not None:
        return False
    sampling = request.sampling
    return sampling.n == 1 and sampling.logprobs is None and not sampling.ignore_eos


def is_unbounded(request: InferenceRequest) -> bool:
    """Return whether generation time is unbounded, because the answer may have to satisfy a schema."""
    if isinstance(request, ChatRequest):
        return request.format != "text" or request.schema is not None or bool(request.tools)
    return isinstance(request, CompletionRequest) and request.schema is not None


DEFAULT_BOUNDS = CallBounds.model_construct()
