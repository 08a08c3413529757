"""The fields of a chat request, by family of models, and which fields each family keeps to itself.

Source: Databricks, "Foundation model REST API reference", chat task; databricks-sdk-py issue 1263 for the fields
that open models do not know.
"""

from __future__ import annotations

from emulator.core.dataclass import fast_dataclass
from emulator.vendors.databricks.decoder import (
    ANY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    STRINGS,
    Many,
    Shape,
    Struct,
    either,
)
from emulator.vendors.databricks.families import Family
from emulator.vendors.databricks.settings import UnknownFields

# Fields the serving API itself defines and takes beside every task's own. Source: databricks-sdk,
# ``serving_endpoints.query``; mlflow adds ``databricks_options``.
COMMON: dict[str, Shape] = {
    "model": STRING,
    "client_request_id": STRING,
    "usage_context": OBJECT,
    "extra_params": OBJECT,
    "databricks_options": OBJECT,
}
# No trace of a refusal was found for these; every model takes them unless unknown fields are refused everywhere.
TOLERATED: dict[str, Shape] = {
    "seed": INTEGER,
    "frequency_penalty": NUMBER,
    "presence_penalty": NUMBER,
    "logit_bias": OBJECT,
}
# Fields of one family, which are unknown to every other.
_OWNED: dict[str, frozenset[Family]] = {
    "cache_control": frozenset({"claude"}),
    "thinking": frozenset({"claude"}),
    "output_config": frozenset({"claude"}),
    "google_search": frozenset({"gemini"}),
    "reasoning_effort": frozenset({"gpt-oss", "gpt", "gemini"}),
}

FUNCTION = Struct({"name": STRING, "description": STRING, "parameters": OBJECT, "strict": BOOLEAN})
_CACHE_CONTROL = either(OBJECT, STRING)
_TOOLS = Many(Struct({"type": STRING, "function": FUNCTION}))
_CACHED_TOOLS = Many(Struct({"type": STRING, "function": FUNCTION, "cache_control": _CACHE_CONTROL}))
_TOOL_CHOICE = either(STRING, Struct({"type": STRING, "function": Struct({"name": STRING})}))
JSON_SCHEMA: dict[str, Shape] = {"name": STRING, "description": STRING, "schema": OBJECT, "strict": BOOLEAN}
_RESPONSE_FORMAT = Struct({"type": STRING, "json_schema": Struct(JSON_SCHEMA)})

_CALL: dict[str, Shape] = {"id": STRING, "type": STRING, "function": Struct({"name": STRING, "arguments": STRING})}
_OPAQUE = ("image_url", "citations", "summary", "source", "file")
_PART: dict[str, Shape] = {"type": STRING, "text": STRING, **{name: ANY for name in _OPAQUE}}
_MESSAGE: dict[str, Shape] = {"role": STRING, "tool_call_id": STRING, "name": STRING}
_MESSAGES = Many(Struct({**_MESSAGE, "content": STRING, "tool_calls": Many(Struct(_CALL))}))
_LISTED = Many(Struct({**_MESSAGE, "content": either(STRING, Many(Struct(_PART))), "tool_calls": Many(Struct(_CALL))}))
_CACHED = Many(
    Struct(
        {
            **_MESSAGE,
            "content": either(STRING, Many(Struct({**_PART, "cache_control": _CACHE_CONTROL}))),
            "tool_calls": Many(Struct({**_CALL, "cache_control": _CACHE_CONTROL})),
            "cache_control": _CACHE_CONTROL,
        }
    )
)

_FIELDS: dict[str, Shape] = {
    **COMMON,
    "max_tokens": INTEGER,
    "stream": BOOLEAN,
    "temperature": NUMBER,
    "top_p": NUMBER,
    "top_k": INTEGER,
    "stop": STRINGS,
    "n": INTEGER,
    "tool_choice": _TOOL_CHOICE,
    "tools": _TOOLS,
    "response_format": _RESPONSE_FORMAT,
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
        "tools": _CACHED_TOOLS,
        "thinking": Struct({"type": STRING, "budget_tokens": INTEGER}),
        "output_config": Struct({"effort": STRING}),
    },
    "gpt": {**_HOSTED_ELSEWHERE, "reasoning_effort": STRING},
    "gemini": {**_HOSTED_ELSEWHERE, "reasoning_effort": STRING, "google_search": OBJECT},
}


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldRules:
    """What an endpoint does with fields that no table lists.

    Fields:
        tolerant: they may stay: not on open models, unless a setting says otherwise.
        lists: ``content`` may be a list of parts.
    """

    family: Family
    unknown: UnknownFields
    tolerant: bool
    lists: bool

    def allow(self, path: str, name: str) -> bool:
        """Whether an unknown field may stay."""
        return self.tolerant and self.owns(name)

    def owns(self, name: str) -> bool:
        """Whether a field is not one of another family's own."""
        return self.unknown == "off" or self.family in _OWNED.get(name, (self.family,))


def list_fields(rules: FieldRules) -> Struct:
    """What a chat request holds; where unknown fields may stay, those of other families have a type all the same."""
    family = rules.family
    messages = _MESSAGES if not rules.lists else _CACHED if family == "claude" else _LISTED
    others: dict[str, Shape] = {}
    if rules.tolerant:
        for other in sorted(_OWN):
            others |= {name: shape for name, shape in _OWN[other].items() if name != "tools" and rules.owns(name)}
    tolerated = {} if rules.unknown == "on" else TOLERATED
    return Struct({**_FIELDS, **tolerated, **others, **_OWN[family], "messages": messages})
