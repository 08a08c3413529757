"""Switches by which the releases of OpenVINO Model Server differ.

Source: openvinotoolkit/model_server, the tagged source trees ``v2024.2`` to ``v2026.3``.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from emulator.core.dataclass import fast_dataclass

Speculative = Literal["none", "strict", "lenient"]
MessageRule = Literal["strings", "parts", "both", "role"]
Tools = Literal["ignored", "unary", "streamed"]
ResponseFormat = Literal["ignored", "json_schema", "any"]
ChunkSplit = Literal["blank", "delay"]
Tokenize = Literal["none", "embeddings", "all"]


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Switches of one release, by default 2025.0; :class:`OpenVinoSettings` describes each.

    A limit of 0 means no limit. Differences without a switch are decided by :meth:`since`.
    """

    version: tuple[int, int] = (2025, 0)
    v1_alias: bool = False
    v3_v1_alias: bool = True
    embeddings: bool = True
    models_list: bool = False
    content_type_routing: bool = False
    api_keys: bool = False
    cors: bool = False
    tf_serving: bool = True
    nesting_limit: int = 0
    stream_error_status: int = 200
    stream_error_escaped: bool = True
    unary_usage: bool = True
    length_reason: bool = True
    stop_limit: int = 4
    max_tokens_limit: int = 4096
    max_tokens_limit_is_default: bool = False
    ignore_eos_limit: int = 4000
    integer_floats: bool = True
    null_is_absent: bool = False
    temperature: float = 1.0
    max_completion_tokens: bool = True
    speculative: Speculative = "strict"
    diversity_penalty: bool = True
    message_rule: MessageRule = "parts"
    empty_content: bool = False
    model_length: bool = False
    tools: Tools = "ignored"
    tool_choice_required: bool = False
    flat_tools: bool = False
    tool_calls_reason: bool = False
    response_format: ResponseFormat = "ignored"
    chat_template_kwargs: bool = False
    modalities: bool = False
    random_seed: bool = False
    full_checks: bool = False
    finish_reason_last: bool = False
    handshake: bool = False
    chunk_split: ChunkSplit = "blank"
    closing_chunk: bool = False
    empty_delta: bool = False
    logprobs_content: bool = True
    not_ready_status: int = 500
    metrics_text: bool = False
    executor_names: bool = False
    responses_endpoint: bool = False
    tokenize: Tokenize = "none"
    empty_input_checks: bool = False

    @property
    def name(self) -> str:
        year, number = self.version
        return f"{year}.{number}"

    def since(self, year: int, number: int) -> bool:
        """Return whether this is the given release or a later one, independent of its switches."""
        return self.version >= (year, number)


R2025_0 = Release()
R2024_2 = Release(
    version=(2024, 2),
    v3_v1_alias=False,
    embeddings=False,
    stream_error_escaped=False,
    unary_usage=False,
    length_reason=False,
    stop_limit=0,
    max_tokens_limit=0,
    integer_floats=False,
    temperature=0.0,
    max_completion_tokens=False,
    speculative="none",
    message_rule="strings",
    closing_chunk=True,
)
R2025_1 = replace(
    R2025_0,
    version=(2025, 1),
    stop_limit=16,
    max_tokens_limit=0,
    max_tokens_limit_is_default=True,
    ignore_eos_limit=0,
    null_is_absent=True,
    message_rule="both",
    model_length=True,
    chunk_split="delay",
)
R2025_2 = replace(
    R2025_1,
    version=(2025, 2),
    content_type_routing=True,
    stream_error_status=400,
    speculative="lenient",
    diversity_penalty=False,
    message_rule="role",
    tools="unary",
    executor_names=True,
)
R2025_3 = replace(
    R2025_2,
    version=(2025, 3),
    models_list=True,
    cors=True,
    tools="streamed",
    tool_choice_required=True,
    response_format="json_schema",
    chat_template_kwargs=True,
)
R2025_4 = replace(
    R2025_3,
    version=(2025, 4),
    api_keys=True,
    response_format="any",
    metrics_text=True,
    tokenize="embeddings",
    empty_input_checks=True,
)
R2026_0 = replace(R2025_4, version=(2026, 0), tokenize="all")
R2026_1 = replace(R2026_0, version=(2026, 1), tool_calls_reason=True, finish_reason_last=True, handshake=True)
R2026_2 = replace(
    R2026_1,
    version=(2026, 2),
    nesting_limit=100,
    flat_tools=True,
    random_seed=True,
    full_checks=True,
    not_ready_status=503,
    responses_endpoint=True,
)
R2026_3 = replace(
    R2026_2, version=(2026, 3), v1_alias=True, tf_serving=False, empty_content=True, modalities=True, empty_delta=True
)

_ROWS = (R2024_2, R2025_0, R2025_1, R2025_2, R2025_3, R2025_4, R2026_0, R2026_1, R2026_2, R2026_3)
RELEASES: Mapping[str, Release] = {row.name: row for row in _ROWS} | {"seed": R2025_0, "latest": R2026_3}
