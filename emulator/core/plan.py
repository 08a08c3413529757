"""Response plan: the tokens of each choice, when each is due, and token usage, before rendering in a wire format.

``handler/planning.py`` makes it, and a vendor's codec renders it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import dump_string
from emulator.core.quota import Left

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
Breakage = Literal["truncated", "not_json", "wrong_type", "missing", "extra"]
"""How the arguments of a tool call are broken."""
SegmentKind = Literal["reasoning", "text", "refusal", "frame", "tool_call"]


@lru(4096)
def undelayed(count: int) -> Sequence[float]:
    """Return due times of ``count`` tokens without any delay."""
    return (0.0,) * count


@fast_dataclass(frozen=True, slots=True)
class Segment:
    """Range ``tokens[start:end]`` of a choice that holds one kind of content.

    A ``tool_call`` segment holds the call's arguments; ``name`` is the tool's. A ``frame`` holds what the model writes
    before them and no client receives as text. ``id`` is set only where a
    scenario fixes the call's id; otherwise the renderer draws one in the vendor's form.
    """

    kind: SegmentKind
    start: int
    end: int
    name: str = ""
    id: str = ""


@fast_dataclass(frozen=True, slots=True)
class Logprob:
    """Log-probability of a token, and of its alternatives, best first and including the sampled token."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class TokenSequence(Protocol):
    """Tokens of one choice, as texts, ids and JSON strings."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Text per token; ``""`` for a token that completes no character or was cut off by a stop string."""

    @property
    def ids(self) -> tuple[int, ...]:
        """Id per token in the model's vocabulary; the same length as ``tokens``."""

    @property
    def text(self) -> str:
        """Concatenated text of all tokens."""

    @property
    def quoted(self) -> Sequence[bytes]:
        """Text per token as a JSON string."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Token sequence held as two tuples."""

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
    """One generated answer: its tokens and their due times.

    Fields:
        due: one per token, seconds after admission, never decreasing.
        segments: cover all tokens in order.
        stopped_by: the stop string that ended the choice, or ``None``.
        prompt: index of the prompt that the choice answers.
    """

    sequence: TokenSequence
    due: Sequence[float]
    finish_reason: FinishReason
    segments: tuple[Segment, ...]
    logprobs: tuple[Logprob, ...] | None = None
    stopped_by: str | None = None
    prompt: int = 0

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.sequence.tokens

    @property
    def ids(self) -> tuple[int, ...]:
        return self.sequence.ids

    @property
    def count(self) -> int:
        """Number of tokens."""
        return len(self.due)

    def schedule(self, due: Sequence[float]) -> Choice:
        """Return the choice with other due times."""
        return Choice(
            self.sequence, due, self.finish_reason, self.segments, self.logprobs, self.stopped_by, self.prompt
        )

    def cut(self, count: int) -> Choice:
        """Return the choice with its first ``count`` tokens only; ``count`` is at least 1."""
        return replace(
            self,
            sequence=Tokens(self.tokens[:count], self.ids[:count]),
            due=self.due[:count],
            segments=tuple([replace(s, end=min(s.end, count)) for s in self.segments if s.start < count]),
            logprobs=None if self.logprobs is None else self.logprobs[:count],
        )

    def text(self, kind: str = "text") -> str:
        """Return the concatenated text of all segments of one kind."""
        if len(self.segments) == 1 and self.segments[0].kind == kind:
            return self.sequence.text
        return "".join("".join(self.tokens[s.start : s.end]) for s in self.segments if s.kind == kind)

    @property
    def tool_calls(self) -> tuple[tuple[str, str], ...]:
        """Name and arguments of each tool call."""
        return tuple((s.name, "".join(self.tokens[s.start : s.end])) for s in self.segments if s.kind == "tool_call")


@fast_dataclass(frozen=True, slots=True, eq=False)
class PromptTokens:
    """Tokens of a prompt with their log-probabilities; the first token has none."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    logprobs: tuple[Logprob, ...]


@fast_dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a whole response.

    ``completion_tokens`` includes ``reasoning_tokens``. ``prompt_tokens`` includes ``cached_tokens`` (read from a
    prompt cache) and ``stored_tokens`` (written to it).
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
    """Timed content of the response to one inference call.

    Fields:
        key: 16 bytes derived from request fingerprint and attempt; all ids of the response are drawn from it.
        created: Unix seconds at admission.
        due: seconds after admission at which an unstreamed response is sent.
        vectors: one row per input, for embeddings.
        prompts: one per prompt if the request sets ``prompt_details``.
        quota: units left of each quota the call is charged to; empty where a scenario sets no limits.
    """

    key: bytes
    created: float
    choices: tuple[Choice, ...] = ()
    vectors: Vectors | None = None
    prompts: tuple[PromptTokens, ...] = ()
    usage: Usage = NOTHING_USED
    due: float = 0.0
    quota: Left = ()

    def count_due(self, elapsed: float) -> int:
        """Return how many tokens of all choices are due ``elapsed`` seconds after admission."""
        return sum([bisect_right(choice.due, elapsed) for choice in self.choices])

    def stop(self, elapsed: float) -> Plan:
        """Return the plan cut off ``elapsed`` seconds after admission; each choice keeps the token then in progress."""
        choices = tuple([_stop(choice, elapsed) for choice in self.choices])
        lost = sum(choice.count for choice in self.choices) - sum(choice.count for choice in choices)
        usage = replace(self.usage, completion_tokens=max(0, self.usage.completion_tokens - lost))
        return replace(self, choices=choices, usage=usage, due=min(self.due, elapsed))

    def abandon(self) -> Plan:
        """Return the plan of a call that is stopped before generation: one empty token per choice, due at once."""
        choices = tuple([_abandon(choice) for choice in self.choices])
        usage = replace(self.usage, completion_tokens=len(choices), reasoning_tokens=0)
        return replace(self, choices=choices, usage=usage, due=0.0)


def _abandon(choice: Choice) -> Choice:
    tokens, segments = Tokens(("",), choice.ids[:1]), (Segment("text", 0, 1),)
    ended = replace(choice, sequence=tokens, due=(0.0,), segments=segments, logprobs=None)
    return replace(ended, finish_reason="stop", stopped_by="")


def _stop(choice: Choice, elapsed: float) -> Choice:
    count = bisect_right(choice.due, elapsed)
    if count >= choice.count:
        return choice
    cut = choice.cut(count + 1)
    return replace(cut, due=(*cut.due[:count], elapsed), finish_reason="stop", stopped_by="")
