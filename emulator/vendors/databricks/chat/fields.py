"""Shapes of a chat request's fields by model family, against which ``decoder.py`` validates the body.

Source: Databricks, "Foundation model REST API reference", chat task; databricks-sdk-py issue 1263 for the fields that
open models reject.
"""

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

# Fields that the serving API itself accepts with every task. Source: databricks-sdk,
# ``serving_endpoints.query``; mlflow adds ``databricks_options``.
COMMON: dict[str, Shape] = {
    "model": STRING,
    "client_request_id": STRING,
    "usage_context": OBJECT,
    "extra_params": OBJECT,
    "databricks_options": OBJECT,
}
# No recorded rejection was found for these; every model accepts them unless unknown fields are rejected everywhere.
TOLERATED: dict[str, Shape] = {
    "seed": INTEGER,
    "frequency_penalty": NUMBER,
    "presence_penalty": NUMBER,
    "logit_bias": OBJECT,
}
# Fields of one family, which all others reject as unknown.
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
_EXTERNAL_FIELDS: dict[str, Shape] = {
    "max_completion_tokens": INTEGER,
    "stream_options": Struct({"include_usage": BOOLEAN}),
    "parallel_tool_calls": BOOLEAN,
}
_FAMILY_FIELDS: dict[Family, dict[str, Shape]] = {
    "open": {},
    "gpt-oss": {"reasoning_effort": STRING},
    "claude": {
        **_EXTERNAL_FIELDS,
        "tools": _CACHED_TOOLS,
        "thinking": Struct({"type": STRING, "budget_tokens": INTEGER}),
        "output_config": Struct({"effort": STRING}),
    },
    "gpt": {**_EXTERNAL_FIELDS, "reasoning_effort": STRING},
    "gemini": {**_EXTERNAL_FIELDS, "reasoning_effort": STRING, "google_search": OBJECT},
}


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldRules:
    """Rules for unknown fields of an endpoint.

    Fields:
        tolerant: they are accepted: not on open models, unless a setting decides otherwise.
        lists: ``content`` may be a list of parts.
    """

    family: Family
    unknown: UnknownFields
    tolerant: bool
    lists: bool

    def allow(self, path: str, name: str) -> bool:
        """Return whether an unknown field is accepted."""
        return self.tolerant and self.owns(name)

    def owns(self, name: str) -> bool:
        """Return whether a field does not belong to another family."""
        return self.unknown == "off" or self.family in _OWNED.get(name, (self.family,))


def list_fields(rules: FieldRules) -> Struct:
    """Return the fields of a chat request; if unknown fields are accepted, other families' are typed as well."""
    family = rules.family
    messages = _MESSAGES if not rules.lists else _CACHED if family == "claude" else _LISTED
    others: dict[str, Shape] = {}
    if rules.tolerant:
        for other in sorted(_FAMILY_FIELDS):
            others |= {
                name: shape for name, shape in _FAMILY_FIELDS[other].items() if name != "tools" and rules.owns(name)
            }
    tolerated = {} if rules.unknown == "on" else TOLERATED
    return Struct({**_FIELDS, **tolerated, **others, **_FAMILY_FIELDS[family], "messages": messages})
