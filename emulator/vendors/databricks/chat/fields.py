"""The fields of a chat request, by family of models.

Source: Databricks, "Foundation model REST API reference", chat task; databricks-sdk-py issue 1263 for the fields
that open models do not know.
"""

from __future__ import annotations

from emulator.vendors.databricks.catalogue import Family
from emulator.vendors.databricks.chat.messages import CACHED, LISTED, MESSAGES
from emulator.vendors.databricks.decoder import BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, STRINGS, Shape, Struct
from emulator.vendors.databricks.request import COMMON, TOLERATED, Habits
from emulator.vendors.databricks.tools import CACHED_TOOLS, RESPONSE_FORMAT, TOOL_CHOICE, TOOLS

_FIELDS: dict[str, Shape] = {
    **COMMON,
    **TOLERATED,
    "max_tokens": INTEGER,
    "stream": BOOLEAN,
    "temperature": NUMBER,
    "top_p": NUMBER,
    "top_k": INTEGER,
    "stop": STRINGS,
    "n": INTEGER,
    "tool_choice": TOOL_CHOICE,
    "tools": TOOLS,
    "response_format": RESPONSE_FORMAT,
    "logprobs": BOOLEAN,
    "top_logprobs": INTEGER,
    "user": STRING,
}
_HOSTED_ELSEWHERE: dict[str, Shape] = {
    "max_completion_tokens": INTEGER,
    "stream_options": Struct({"include_usage": BOOLEAN}),
    "parallel_tool_calls": BOOLEAN,
}
_OWN: dict[Family, dict[str, Shape]] = {
    "open": {},
    "gpt-oss": {"reasoning_effort": STRING},
    "claude": {
        **_HOSTED_ELSEWHERE,
        "tools": CACHED_TOOLS,
        "thinking": Struct({"type": STRING, "budget_tokens": INTEGER}),
        "output_config": Struct({"effort": STRING}),
    },
    "gpt": {**_HOSTED_ELSEWHERE, "reasoning_effort": STRING},
    "gemini": {**_HOSTED_ELSEWHERE, "reasoning_effort": STRING, "google_search": OBJECT},
}


def list_fields(habits: Habits) -> Struct:
    """What a chat request holds; where unknown fields may stay, those of other families have a type all the same."""
    claude = habits.family == "claude"
    messages = MESSAGES if not habits.lists else CACHED if claude else LISTED
    others: dict[str, Shape] = {}
    if habits.tolerant:
        for family in sorted(_OWN):
            others |= {name: shape for name, shape in _OWN[family].items() if name != "tools" and habits.owns(name)}
    return Struct({**_FIELDS, **others, **_OWN[habits.family], "messages": messages})
