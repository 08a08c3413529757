"""Profile of an OpenVINO deployment: kind of the servable, its node name in error texts, its graph file's settings."""

from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.core.vendor import Service
from emulator.vendors.openvino.decoder import is_uint32
from emulator.vendors.openvino.settings import OpenVinoSettings

# Suffixes of the method of a refused and of a rejected call, which count separately.
REFUSED, REJECTED = "refused", "rejected"
# Format of a tool call in the text: before and after its arguments, with the name as JSON text.
MARKUPS: Mapping[str, tuple[str, str]] = {
    "llama3": ('{"name": %s, "parameters": ', "}"),
    "hermes3": ('<tool_call>\n{"name": %s, "arguments": ', "}\n</tool_call>"),
    "phi4": ('functools[{"name": %s, "arguments": ', "}]"),
    "mistral": ('[TOOL_CALLS][{"name": %s, "arguments": ', "}]"),
}
# Aliases of kinds in configuration files and export tools.
_ALIASES = {
    "llm": "text", "vlm": "vision", "image_generation": "image", "speech2text": "stt", "text2speech": "tts",
}  # fmt: skip
_EXECUTORS = {"image": "ImageGenExecutor", "stt": "S2tExecutor", "tts": "T2sExecutor"}


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeploymentProfile:
    """Configuration of a model or graph; a bound of 0 means no bound.

    Fields:
        kind: ``text``, ``speculative``, ``vision``, ``omni``, ``classic``, ``embeddings``, ``rerank``, ``image``,
            ``stt``, ``tts`` or ``other``.
        node: name of the graph's node in error texts.
        stock_template: the servable has no chat template of its own.
        thinks: the model reasons.
        stateful: served without continuous batching.
        tool_parser: tool calls are parsed out of the text.
        reasoning_parser: reasoning is parsed out of the text.
        markup: format of a tool call in the text, by the name of its parser.
        nireq: parallel inference requests of a classic model.
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


OpenVinoService = Service[OpenVinoSettings, DeploymentProfile]


def profile_deployment(deployment: Deployment, settings: OpenVinoSettings) -> DeploymentProfile:
    """Build the profile from a servable's traits, with defaults from the settings."""
    traits = deployment.traits
    kind = find_kind(deployment)
    node = traits.get("node_name")
    return DeploymentProfile(
        kind=kind,
        node=node if isinstance(node, str) else find_node(kind, settings),
        max_tokens_limit=_parse_bound(traits.get("max_tokens_limit"), settings.release.max_tokens_limit),
        max_prompt_len=_parse_bound(traits.get("max_prompt_len")),
        max_num_batched_tokens=_parse_bound(traits.get("max_num_batched_tokens")),
        best_of_limit=_parse_bound(traits.get("best_of_limit"), settings.best_of_limit),
        max_allowed_chunks=_parse_bound(traits.get("max_allowed_chunks"), settings.max_allowed_chunks),
        stock_template=traits.get("chat_template") == "stock",
        thinks=bool(traits.get("reasoning")),
        stateful=bool(traits.get("stateful")),
        tool_parser=_has_parser(traits, "tool_parser"),
        reasoning_parser=_has_parser(traits, "reasoning_parser"),
        markup=_find_markup(deployment),
        nireq=_parse_bound(traits.get("nireq"), 1),
    )


def _has_parser(traits: Mapping[str, JSON], name: str) -> bool:
    """Return whether the graph has a parser: it does unless its trait is ``none``, null or false."""
    return name not in traits or traits[name] not in (None, False, "", "none")


def _find_markup(deployment: Deployment) -> str:
    """Return the format of tool calls: that of the graph's parser, else the tokenizer's."""
    named = deployment.traits.get("tool_parser")
    if isinstance(named, str) and named in MARKUPS:
        return named
    return next((name for name in MARKUPS if deployment.tokenizer.startswith(name)), "hermes3")


def find_kind(deployment: Deployment) -> str:
    """Return the kind of a servable; without one, the kind of its task."""
    kind = deployment.kind
    if not kind:
        return deployment.task if deployment.task in ("embeddings", "rerank") else "text"
    return _ALIASES.get(kind, kind)


def find_node(kind: str, settings: OpenVinoSettings) -> str:
    """Return the node name of a graph that sets none: the export tool's default or the calculator's class."""
    if settings.node_name is not None:
        return settings.node_name
    if kind in ("embeddings", "rerank"):
        return kind.capitalize() + ("Executor" if settings.release.executor_names else "Calculator")
    return _EXECUTORS.get(kind, "LLMExecutor")


def _parse_bound(value: JSON, default: int = 0) -> int:
    return value if is_uint32(value) else default
