"""What each release asks of a message, a picture and a tool: a table, a row for each tag that changed something.

Source: model_server, src/llm/http_llm_calculator.cc (v2024.2), src/llm/apis/openai_completions.cpp, parseMessages and
parseTools (v2025.0 to v2026.3), src/llm/servable.cpp, prepareInputs, and src/llm/io_processing (v2026.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """One release.

    Fields:
        texts: of several text parts the last counts, or all are joined with line breaks.
        pictures: they may come as base64 only, or from a host or folder too; ``held``: they are looked at when
            the model takes them, and not while the message is read.
        domains: hosts have to be allowed; before, every picture of the web was fetched.
        failure: of a picture that none of the server's formats fits.
        media: a text graph has no use for pictures, or refuses them with this status word.
        content: what the template sees of a content that is neither text nor array.
        tool_calls: those of a message are looked at.
        tools: all that are offered are looked at, or only where ``tool_choice`` names one.
        flat: a tool may come without ``function``; then its type counts, and in any case its parameters.
        sounds: parts of a message may be ``input_audio``.
    """

    texts: Literal["last", "joined"] = "last"
    pictures: Literal["base64", "anywhere", "held"] = "base64"
    domains: bool = False
    failure: str = "Image size invalid"
    media: Literal["", "INTERNAL", "INVALID_ARGUMENT"] = ""
    content: Literal["refused", "shown", "unseen"] = "refused"
    tool_calls: bool = False
    tools: Literal["all", "named"] = "all"
    flat: bool = False
    sounds: bool = False


_2025_0 = Checks()
_2025_1 = replace(_2025_0, media="INTERNAL", failure="Response generation failed")
_2025_2 = replace(
    _2025_1, pictures="anywhere", content="shown", tools="named", failure="Image parsing failed: unknown image type"
)
_2025_3 = replace(_2025_2, tools="all")
_2025_4 = replace(_2025_3, tool_calls=True)
_2026_0 = replace(_2025_4, domains=True)
_2026_2 = replace(_2026_0, texts="joined", flat=True, failure="Image parsing failed")
_2026_3 = replace(_2026_2, pictures="held", media="INVALID_ARGUMENT", content="unseen", sounds=True)
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
def checks_of(version: tuple[int, int]) -> Checks:
    """The row that holds for a release."""
    return next((row for since, row in _ROWS.items() if version >= since), _2025_0)
