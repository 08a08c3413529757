"""What no request changes of a servable: its kind, its name in error texts, and what its graph file sets."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.core.vendor import Service
from emulator.vendors.openvino.decoder import is_uint32
from emulator.vendors.openvino.settings import OpenVinoSettings

# Behind the method of a call that a graph refused, or could not take: so they are counted apart.
REFUSED, REJECTED = "refused", "rejected"
# How models write a call: before and behind its arguments, with the name as JSON text.
MARKUPS: Mapping[str, tuple[str, str]] = {
    "llama3": ('{"name": %s, "parameters": ', "}"),
    "hermes3": ('<tool_call>\n{"name": %s, "arguments": ', "}\n</tool_call>"),
    "phi4": ('functools[{"name": %s, "arguments": ', "}]"),
    "mistral": ('[TOOL_CALLS][{"name": %s, "arguments": ', "}]"),
}
# Names of the same in configuration files and export tools.
_SAME = {
    "llm": "text", "vlm": "vision", "image_generation": "image", "speech2text": "stt", "text2speech": "tts",
}  # fmt: skip
_EXECUTORS = {"image": "ImageGenExecutor", "stt": "S2tExecutor", "tts": "T2sExecutor"}


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeploymentProfile:
    """A model or graph as its files have it; bounds are 0 where there is none.

    Fields:
        kind: ``text``, ``speculative``, ``vision``, ``omni``, ``classic``, ``embeddings``, ``rerank``, ``image``,
            ``stt``, ``tts`` or ``other``.
        node: the graph's node as error texts show it.
        stock_template: it has no chat template of its own.
        thinks: its model thinks aloud.
        stateful: it is served without continuous batching.
        tool_parser: calls are read out of the text; ``reasoning_parser``: thoughts are.
        markup: how its model writes a call, by the name of the parser that would read it.
        nireq: inference requests of a classic model at once.
    """

    kind: str
    node: str
    max_tokens_limit: int
    max_prompt_len: int
    max_num_batched_tokens: int
    best_of_limit: int
    max_allowed_chunks: int
    stock_template: bool
    thinks: bool
    stateful: bool
    tool_parser: bool
    reasoning_parser: bool
    markup: str
    nireq: int


OvmsService = Service[OpenVinoSettings, DeploymentProfile]


def profile_deployment(deployment: Deployment, settings: OpenVinoSettings) -> DeploymentProfile:
    """Read a servable's traits; what they leave out is as the settings say."""
    traits = deployment.traits
    kind = kind_of(deployment)
    node = traits.get("node_name")
    return DeploymentProfile(
        kind=kind,
        node=node if isinstance(node, str) else name_node(kind, settings),
        max_tokens_limit=_read_bound(traits.get("max_tokens_limit"), settings.release.max_tokens_limit),
        max_prompt_len=_read_bound(traits.get("max_prompt_len")),
        max_num_batched_tokens=_read_bound(traits.get("max_num_batched_tokens")),
        best_of_limit=_read_bound(traits.get("best_of_limit"), settings.best_of_limit),
        max_allowed_chunks=_read_bound(traits.get("max_allowed_chunks"), settings.max_allowed_chunks),
        stock_template=traits.get("chat_template") == "stock",
        thinks=bool(traits.get("reasoning")),
        stateful=bool(traits.get("stateful")),
        tool_parser=_has_parser(traits, "tool_parser"),
        reasoning_parser=_has_parser(traits, "reasoning_parser"),
        markup=_find_markup(deployment),
        nireq=_read_bound(traits.get("nireq"), 1),
    )


def _has_parser(traits: Mapping[str, JSON], name: str) -> bool:
    """A graph has its parsers unless it says ``none`` (or null, or false)."""
    return name not in traits or traits[name] not in (None, False, "", "none")


def _find_markup(deployment: Deployment) -> str:
    """A parser the graph names tells the model's way; without one its tokenizer does."""
    named = deployment.traits.get("tool_parser")
    if isinstance(named, str) and named in MARKUPS:
        return named
    return next((name for name in MARKUPS if deployment.tokenizer.startswith(name)), "hermes3")


def kind_of(deployment: Deployment) -> str:
    """One of the kinds; a servable that has none is what its task says."""
    kind = deployment.kind
    if not kind:
        return deployment.task if deployment.task in ("embeddings", "rerank") else "text"
    return _SAME.get(kind, kind)


def name_node(kind: str, settings: OpenVinoSettings) -> str:
    """The node of a graph that names none: the stock names of the export tool, or the calculator's class."""
    if settings.node_name is not None:
        return settings.node_name
    if kind in ("embeddings", "rerank"):
        return kind.capitalize() + ("Executor" if settings.release.executor_names else "Calculator")
    return _EXECUTORS.get(kind, "LLMExecutor")


def _read_bound(value: JSON, default: int = 0) -> int:
    return value if is_uint32(value) else default
