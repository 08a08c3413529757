"""What is asked, in words no vendor owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON

Task = Literal["chat", "completions", "embeddings", "rerank", "images"]

ANY_OBJECT: JSON = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "summary": {"type": "string"},
        "items": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "count": {"type": "integer", "minimum": 0, "maximum": 100},
    },
    "required": ["title", "summary", "items", "count"],
}
"""The schema of an answer that is to be some JSON object."""

_USUAL_OUTPUT = 1024  # tokens; no answer that ends by itself is longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a client addresses: a serving endpoint, an Azure deployment, an OVMS graph, a ``model_id``.

    Fields:
        model: the name the answer's ``model`` field carries; the deployment's own name if empty.
        context: tokens of prompt and answer together; ``None``: no bound.
        max_output: most tokens of one answer; ``None``: no bound of its own.
        default_max_tokens: tokens of an answer when the request sets no limit.
        dimensions: of an embedding.
        normalized: embeddings have unit length.
        tokenizer: name of a profile in ``engine.tokenizer.PROFILES``.
        mode: ``pay_per_token``, ``provisioned``, ``external`` or ``custom``.
        state: ``ready``, ``loading``, ``retired``, ``stopped``; what holds now.
        state_lasts: seconds since the scenario began after which it is ready; ``None``: it stays.
        kind: what only the vendor tells apart (OVMS: ``text``, ``speculative``, ``classic``).
        traits: further properties only the vendor reads (``vision``, ``reasoning``, …).
    """

    vendor: str
    name: str
    task: Task = "chat"
    model: str = ""
    context: int | None = None
    max_output: int | None = None
    default_max_tokens: int | None = None
    dimensions: int = 1024
    normalized: bool = True
    tokenizer: str = "llama3"
    mode: str = "pay_per_token"
    state: str = "ready"
    state_lasts: float | None = None
    kind: str = ""
    traits: Mapping[str, JSON] = field(default_factory=dict)

    def room_for(self, prompt_tokens: int) -> float:
        """Most tokens of an answer to such a prompt; infinite without a bound."""
        left = inf if self.context is None else max(0, self.context - prompt_tokens)
        return min(left, inf if self.max_output is None else self.max_output)

    def usual_output(self, prompt_tokens: int = 0) -> int:
        """Tokens that are set aside for an answer if the request sets no limit."""
        return int(min(self.room_for(prompt_tokens), self.default_max_tokens or _USUAL_OUTPUT))


@fast_dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen and where they end.

    Fields:
        max_tokens: most tokens of one answer, already lowered to what the deployment allows;
            ``None``: the answer ends by itself.
        greedy: temperature 0, ``top_k`` 1, no sampling: the text depends on the prompt alone.
        seed: the request's own; pins the text when sampling.
        knobs: further sampling fields; a different value may give a different text.
        stop: generation ends at the first that appears; it is cut off unless ``keep_stop``.
        ignore_eos: no natural end; goes on to ``max_tokens``.
        show_eos: the end-of-sequence token is one of the answer's tokens, with empty text.
        n: answers per prompt.
        logprobs: ``None``: none; else how many alternatives beside each sampled token.
        prompt_details: the plan also carries the prompt's own tokens.
    """

    max_tokens: int | None = None
    greedy: bool = False
    seed: int | None = None
    knobs: tuple[tuple[str, JSON], ...] = ()
    stop: tuple[str, ...] = ()
    keep_stop: bool = False
    ignore_eos: bool = False
    show_eos: bool = False
    n: int = 1
    logprobs: int | None = None
    prompt_details: bool = False


@fast_dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


@fast_dataclass(frozen=True, slots=True)
class Message:
    """One turn. ``media`` counts pictures, sounds and films that came with the text."""

    role: str
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    media: int = 0


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function on offer; ``parameters`` is its JSON Schema, ``None`` if it takes no arguments.

    With ``bare`` its argument is a text that fits the schema, and no JSON.
    """

    name: str
    description: str = ""
    parameters: JSON | None = None
    bare: bool = False


@fast_dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation to go on with.

    Fields:
        tool_choice: ``required`` with ``tool_name`` set forces that one tool.
        parallel: more than one call in an answer is allowed.
        format: ``json_schema`` needs ``schema``; with ``bare`` the answer is the text of the string that fits it.
        around: texts before and behind an answer that fits a schema.
        reasoning: effort (``low``, ``medium``, ``high``, …) of a model that thinks aloud; ``None``: none.
        language: locale of the last message, which is the user's, where nothing but texts is sent and one answer of
            prose is asked for, whatever its length; empty: nobody has looked.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    tools: tuple[Tool, ...] = ()
    tool_choice: Literal["none", "auto", "required"] = "none"
    tool_name: str | None = None
    parallel: bool = False
    format: Literal["text", "json_object", "json_schema"] = "text"
    schema: JSON | None = None
    bare: bool = False
    around: tuple[str, str] = ("", "")
    reasoning: str | None = None
    language: str = field(default="", compare=False)
    task: Literal["chat"] = "chat"

    @property
    def prompt(self) -> str | None:
        """Text of the last user message."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        return None

    @property
    def system(self) -> str | None:
        """Text of the first system or developer message."""
        return next((m.text for m in self.messages if m.role in ("system", "developer")), None)

    @property
    def tool_result(self) -> str | None:
        """Text of the last tool message."""
        return next((m.text for m in reversed(self.messages) if m.role == "tool"), None)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """Prompts to go on with, each a text or its token ids.

    Fields:
        raw: no template around the prompts.
        known: what the deployment is known to answer; cut, counted and paced like any other text.
        schema: the answer is JSON that fits it, or, with ``bare``, the text of the string that fits it.
    """

    prompts: tuple[str | tuple[int, ...], ...]
    sampling: Sampling = Sampling()
    raw: bool = True
    media: int = 0
    known: str | None = None
    schema: JSON | None = None
    bare: bool = False
    task: Literal["completions"] = "completions"

    @property
    def prompt(self) -> str | None:
        return next((p for p in reversed(self.prompts) if isinstance(p, str)), None)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRequest:
    """Texts, or their token ids, to turn into vectors; ``instruction`` goes in front of each text."""

    inputs: tuple[str | tuple[int, ...], ...]
    dimensions: int | None = None
    instruction: str = ""
    task: Literal["embeddings"] = "embeddings"

    @property
    def prompt(self) -> str | None:
        return next((i for i in reversed(self.inputs) if isinstance(i, str)), None)


InferenceRequest = ChatRequest | CompletionRequest | EmbeddingRequest
