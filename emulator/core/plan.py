"""What will be said, when each token is due, and how the answer ends: data, no behaviour."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import dump_string
from emulator.core.quota import Balance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
SegmentKind = Literal["reasoning", "text", "refusal", "tool_call"]


@lru(4096)
def at_once(count: int) -> Sequence[float]:
    """Due times of ``count`` tokens that nothing delays."""
    return (0.0,) * count


@fast_dataclass(frozen=True, slots=True)
class Segment:
    """Which tokens of a choice are what: ``tokens[start:end]``.

    A ``tool_call`` span holds the call's arguments; ``name`` is the tool's. ``id`` is set only where a
    scenario fixes the call's id; else it is drawn in the vendor's form.
    """

    kind: SegmentKind
    start: int
    end: int
    name: str = ""
    id: str = ""


@fast_dataclass(frozen=True, slots=True)
class Logprob:
    """One token's log-probability and its alternatives, best first (the sampled one among them)."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class TokenSequence(Protocol):
    """What a choice says, token by token and as a whole."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Their texts; one that completes no character, or was cut off by a stop string, is ``""``."""

    @property
    def ids(self) -> tuple[int, ...]:
        """As many, in the model's vocabulary."""

    @property
    def text(self) -> str:
        """The texts of all tokens together."""

    @property
    def quoted(self) -> Sequence[bytes]:
        """Their texts as JSON."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Tokens that are at hand."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]

    @property
    def text(self) -> str:
        return "".join(self.tokens)

    @property
    def quoted(self) -> Sequence[bytes]:
        return [*map(dump_string, self.tokens)]


@fast_dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One answer: its tokens, and when each is due.

    Fields:
        due: as many as tokens, seconds after admission, never decreasing.
        segments: cover all tokens in order.
        stopped_by: the stop string that ended it, if one did.
        prompt: which prompt of the call it answers.
    """

    tokens_said: TokenSequence
    due: Sequence[float]
    finish_reason: FinishReason
    segments: tuple[Segment, ...]
    logprobs: tuple[Logprob, ...] | None = None
    stopped_by: str | None = None
    prompt: int = 0

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.tokens_said.tokens

    @property
    def ids(self) -> tuple[int, ...]:
        return self.tokens_said.ids

    @property
    def count(self) -> int:
        """How many tokens it has."""
        return len(self.due)

    def cut(self, count: int) -> Choice:
        """The first ``count`` tokens, one at least."""
        return replace(
            self,
            tokens_said=Tokens(self.tokens[:count], self.ids[:count]),
            due=self.due[:count],
            segments=tuple([replace(s, end=min(s.end, count)) for s in self.segments if s.start < count]),
            logprobs=None if self.logprobs is None else self.logprobs[:count],
        )

    def text(self, kind: str = "text") -> str:
        """All text of one kind of span."""
        if len(self.segments) == 1 and self.segments[0].kind == kind:
            return self.tokens_said.text
        return "".join("".join(self.tokens[s.start : s.end]) for s in self.segments if s.kind == kind)

    @property
    def tool_calls(self) -> tuple[tuple[str, str], ...]:
        """Name and arguments of each call."""
        return tuple((s.name, "".join(self.tokens[s.start : s.end])) for s in self.segments if s.kind == "tool_call")


@fast_dataclass(frozen=True, slots=True, eq=False)
class PromptTokens:
    """A prompt as the model read it; the first token has no log-probability."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    logprobs: tuple[Logprob, ...]


@fast_dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a whole answer; ``completion_tokens`` includes ``reasoning_tokens``.

    ``prompt_tokens`` includes ``cached_tokens``, those read from a cache, and ``stored_tokens``, those written to it.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    stored_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


NOTHING_USED = Usage()


@fast_dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The answer to one call.

    Fields:
        key: names this very answer (request identity and attempt); ids are drawn from it.
        created: Unix seconds at admission.
        due: seconds after admission at which an answer in one piece is sent.
        vectors: one row per input, for embeddings.
        prompts: one per prompt, where the ask wants ``prompt_details``.
        quota: what is left of each quota the call is charged to; empty where a scenario sets no limits.
    """

    key: bytes
    created: float
    choices: tuple[Choice, ...] = ()
    vectors: Vectors | None = None
    prompts: tuple[PromptTokens, ...] = ()
    usage: Usage = NOTHING_USED
    due: float = 0.0
    quota: Sequence[Balance] = ()

    def count_due(self, elapsed: float) -> int:
        """Tokens of all choices that are due so many seconds after admission."""
        return sum([bisect_right(choice.due, elapsed) for choice in self.choices])

    def stop(self, elapsed: float) -> Plan:
        """The answer if it is stopped so many seconds after admission: it ends with the tokens in the making."""
        choices = tuple([_stop(choice, elapsed) for choice in self.choices])
        lost = sum(choice.count for choice in self.choices) - sum(choice.count for choice in choices)
        usage = replace(self.usage, completion_tokens=max(0, self.usage.completion_tokens - lost))
        return replace(self, choices=choices, usage=usage, due=min(self.due, elapsed))

    def abandon(self) -> Plan:
        """The answer if nobody works on it: each choice ends with one token, at once and without text."""
        choices = tuple([_abandon(choice) for choice in self.choices])
        usage = replace(self.usage, completion_tokens=len(choices), reasoning_tokens=0)
        return replace(self, choices=choices, usage=usage, due=0.0)


def _abandon(choice: Choice) -> Choice:
    said, spans = Tokens(("",), choice.ids[:1]), (Segment("text", 0, 1),)
    ended = replace(choice, tokens_said=said, due=(0.0,), segments=spans, logprobs=None)
    return replace(ended, finish_reason="stop", stopped_by="")


def _stop(choice: Choice, elapsed: float) -> Choice:
    count = bisect_right(choice.due, elapsed)
    if count >= choice.count:
        return choice
    cut = choice.cut(count + 1)
    return replace(cut, due=(*cut.due[:count], elapsed), finish_reason="stop", stopped_by="")
