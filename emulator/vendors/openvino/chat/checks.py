"""Checks of messages, images, sounds and tools in chats and Responses, with a row for each release that changed one.

Source: model_server, src/llm/http_llm_calculator.cc (v2024.2), src/llm/apis/openai_completions.cpp, parseMessages and
parseTools (v2025.0 to v2026.3), src/llm/servable.cpp, prepareInputs, and src/llm/io_processing (v2026.3).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Literal

from emulator.core.dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """Checks of one release.

    Fields:
        texts: keep the last one of several text parts, or join all with line breaks.
        pictures: accept images in ``base64`` only, or of hosts and folders, too (``anywhere``); ``deferred``: the same,
            validated when the model takes them, not while the message is parsed.
        domains: hosts must be allowed; earlier releases fetch images from any host.
        failure: error text of an image in no supported format.
        media: status word with which a graph for text alone refuses images; empty: it ignores them.
        content: handling of a content that is neither text nor array: refuse, show or hide it in the template.
        tool_calls: validate ``tool_calls`` of messages.
        tools: validate all offered tools, or only if ``tool_choice`` names one.
        sounds: parts of a message may be ``input_audio``.
    """

    texts: Literal["last", "joined"] = "last"
    pictures: Literal["base64", "anywhere", "deferred"] = "base64"
    domains: bool = False
    failure: str = "Image size invalid"
    media: Literal["", "INTERNAL", "INVALID_ARGUMENT"] = ""
    content: Literal["refused", "shown", "unseen"] = "refused"
    tool_calls: bool = False
    tools: Literal["all", "named"] = "all"
    sounds: bool = False


_2025_0 = Checks()
_2025_1 = replace(_2025_0, media="INTERNAL", failure="Response generation failed")
_2025_2 = replace(
    _2025_1, pictures="anywhere", content="shown", tools="named", failure="Image parsing failed: unknown image type"
)
_2025_3 = replace(_2025_2, tools="all")
_2025_4 = replace(_2025_3, tool_calls=True)
_2026_0 = replace(_2025_4, domains=True)
_2026_2 = replace(_2026_0, texts="joined", failure="Image parsing failed")
_2026_3 = replace(_2026_2, pictures="deferred", media="INVALID_ARGUMENT", content="unseen", sounds=True)
_ROWS: Mapping[tuple[int, int], Checks] = {
    (2026, 3): _2026_3,
    (2026, 2): _2026_2,
    (2026, 0): _2026_0,
    (2025, 4): _2025_4,
    (2025, 3): _2025_3,
    (2025, 2): _2025_2,
    (2025, 1): _2025_1,
}


@cache
def find_checks(version: tuple[int, int]) -> Checks:
    return next((row for since, row in _ROWS.items() if version >= since), _2025_0)
