"""Vendor-neutral inference requests (chat, completion, embedding), and the deployments that they address.

A vendor's parser builds one of each accepted request, and ``generation/`` answers it.
"""

from collections.abc import Mapping
from dataclasses import field
from math import inf
from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.geometry import Geometry
from emulator.core.json import JSON

Task = Literal["chat", "completions", "embeddings", "rerank", "images", "transcription", "speech"]

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
"""JSON Schema of a response in ``json_object`` format, which asks for any object."""

_DEFAULT_OUTPUT = 1024  # tokens; an answer that ends by itself is never longer


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Model behind a name that clients address: serving endpoint, Azure deployment, OVMS graph, ``model_id``.

    Fields:
        model: value of the response's ``model`` field; the deployment's own name if empty.
        context: maximum tokens of prompt and answer together; ``None``: unbounded.
        max_output: maximum tokens of one answer; ``None``: bounded by ``context`` alone.
        default_max_tokens: maximum tokens of an answer when the request sets no limit.
        dimensions: length of an embedding.
        normalized: embeddings have unit length.
        geometry: meaning of its vectors; ``None``: they mean nothing.
        tokenizer: name of a profile in ``generation.tokenizer_profiles.PROFILES``.
        mode: ``pay_per_token``, ``provisioned``, ``external`` or ``custom``.
        state: current state: ``ready``, ``loading``, ``retired`` or ``stopped``.
        state_lasts: seconds since the start of the scenario after which it is ready; ``None``: the state stays.
        kind: vendor-specific kind (OVMS: ``text``, ``speculative``, ``classic``).
        traits: vendor-specific properties (``vision``, ``reasoning``, …).
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
    geometry: Geometry | None = None
    tokenizer: str = "llama3"
    mode: str = "pay_per_token"
    state: str = "ready"
    state_lasts: float | None = None
    kind: str = ""
    traits: Mapping[str, JSON] = field(default_factory=dict)

    def max_answer(self, prompt_tokens: int) -> float:
        """Return the maximum tokens of an answer to a prompt of that length; infinite if unbounded."""
        left = inf if self.context is None else max(0, self.context - prompt_tokens)
        return left if self.max_output is None else min(left, self.max_output)

    def expected_answer(self, prompt_tokens: int = 0) -> int:
        """Return the tokens to reserve for an answer if the request sets no limit."""
        return int(min(self.max_answer(prompt_tokens), self.default_max_tokens or _DEFAULT_OUTPUT))


@fast_dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters and stop conditions of a request.

    Fields:
        max_tokens: maximum tokens of one answer, already lowered to the deployment's limit;
            ``None``: the answer ends by itself.
        greedy: temperature 0, ``top_k`` 1 or sampling off: the text depends on the prompt alone.
        seed: the request's own seed; pins the text when sampling.
        parameters: further sampling fields by name; a different value may give a different text.
        stop: stop strings; generation ends at the first that appears, which is cut off unless ``keep_stop``.
        listed_stop: of stop strings that one token completes, the one listed first counts, else the one that begins
            first in the text.
        ignore_eos: generate up to ``max_tokens``.
        show_eos: include the end-of-sequence token in the answer, with empty text.
        n: number of answers per prompt.
        logprobs: number of alternatives in addition to each sampled token; ``None``: no log-probabilities.
        prompt_details: include the tokens of the prompt in the plan.
    """

    max_tokens: int | None = None
    greedy: bool = False
    seed: int | None = None
    parameters: tuple[tuple[str, JSON], ...] = ()
    stop: tuple[str, ...] = ()
    keep_stop: bool = False
    listed_stop: bool = False
    ignore_eos: bool = False
    show_eos: bool = False
    n: int = 1
    logprobs: int | None = None
    prompt_details: bool = False


@fast_dataclass(frozen=True, slots=True)
class ToolCall:
    """Call of a tool by the model; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


@fast_dataclass(frozen=True, slots=True)
class Message:
    """Message of a conversation; ``media`` is the number of images, audio clips and videos in it."""

    role: str
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    media: int = 0


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Tool that the model may call.

    Fields:
        parameters: JSON Schema of its arguments; ``None`` if it takes none.
        bare: the argument of a call is plain text that satisfies the schema, instead of JSON.
    """

    name: str
    description: str = ""
    parameters: JSON | None = None
    bare: bool = False


@fast_dataclass(frozen=True, slots=True)
class ChatRequest:
    """Request to continue a conversation.

    Fields:
        tool_choice: ``required`` with ``tool_name`` set forces that one tool.
        parallel: allow more than one tool call in an answer.
        format: ``json_schema`` needs ``schema``; with ``bare`` the answer is the text of a string that satisfies it.
        around: prefix and suffix of an answer that satisfies a schema.
        call_frame: texts that the model writes before and after a tool's name in a call; the second is one token.
        reasoning: effort (``low``, ``medium``, ``high``, …) of a reasoning model; ``None``: no reasoning.
        known: fixed text in place of generated prose.
        language: locale of the last message if all messages are text and it is a user's; empty: not detected yet.
        is_prose: the answer is one text that only its natural end or ``max_tokens`` ends; false: not examined yet.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    language: str = field(default="", compare=False)
    is_prose: bool = field(default=False, compare=False, repr=False)
    tools: tuple[Tool, ...] = ()
    tool_choice: Literal["none", "auto", "required"] = "none"
    tool_name: str | None = None
    parallel: bool = False
    format: Literal["text", "json_object", "json_schema"] = "text"
    schema: JSON | None = None
    bare: bool = False
    around: tuple[str, str] = ("", "")
    call_frame: tuple[str, str] | None = None
    reasoning: str | None = None
    known: str | None = None
    task: Literal["chat"] = "chat"

    @property
    def prompt(self) -> str | None:
        """Text of the last user message; ``None`` if there is no such message."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        return None

    @property
    def system(self) -> str | None:
        """Text of the first system or developer message; ``None`` if there is no such message."""
        for message in self.messages:
            if message.role in ("system", "developer"):
                return message.text
        return None

    @property
    def turn(self) -> int:
        """Number of user messages."""
        return sum([message.role == "user" for message in self.messages])

    @property
    def tool_result(self) -> str | None:
        """Text of the last tool message; ``None`` if there is no such message."""
        return next((m.text for m in reversed(self.messages) if m.role == "tool"), None)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """Request to continue prompts, each a text or its token ids.

    Fields:
        limits: maximum tokens of the answer to each prompt, where they differ; ``sampling`` has the largest.
        raw: apply no chat template to the prompts.
        known: fixed answer of the deployment; cut, counted and paced like any other text.
        schema: JSON Schema of the answer; with ``bare``, of the string that is the text of the answer.
    """

    prompts: tuple[str | tuple[int, ...], ...]
    sampling: Sampling = Sampling()
    limits: tuple[int, ...] = ()
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
    """Request to embed texts or token ids; ``instruction`` is prepended to each text."""

    inputs: tuple[str | tuple[int, ...], ...]
    dimensions: int | None = None
    instruction: str = ""
    task: Literal["embeddings"] = "embeddings"

    @property
    def prompt(self) -> str | None:
        return next((i for i in reversed(self.inputs) if isinstance(i, str)), None)


InferenceRequest = ChatRequest | CompletionRequest | EmbeddingRequest
