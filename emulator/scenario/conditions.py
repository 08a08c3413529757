"""Models of the conditions in ``when``, which select the requests of a rule.

A rule has them, and so has a request that a test expects (``/_emulator/verify``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from emulator.core.json import JSON, Object
from emulator.core.units import StrictModel, parse_size, require
from emulator.scenario.regex import Expressions, RegexError

_BODY_PATH = re.compile(r"[^.\[\]]+(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*")
NAMED_FACETS = ("header", "query", "body")  # written with a name or path: `header.<name>`


def wrap_in_list(value: JSON) -> JSON:
    """Wrap a single value in a list."""
    return value if isinstance(value, list) else [value]


def _read_names(value: JSON) -> JSON:
    if not isinstance(value, str | list):
        raise PydanticCustomError("wanted", "expected a name or a list of names")
    return wrap_in_list(value)


def _check_regex(pattern: str, info: ValidationInfo) -> str:
    _add(pattern, False, info)
    return pattern


Pattern = Annotated[str, AfterValidator(_check_regex)]


def _add(pattern: str, ignore_case: bool, info: ValidationInfo) -> None:
    expressions = info.context if isinstance(info.context, Expressions) else Expressions()
    try:
        expressions.add(pattern, ignore_case)
    except RegexError as error:
        raise PydanticCustomError(
            "wanted", "expected a regular expression ({reason})", {"reason": str(error)}
        ) from error


def is_body_path(path: str) -> bool:
    return _BODY_PATH.fullmatch(path) is not None


def _check_body_path(path: str) -> str:
    if not is_body_path(path):
        raise PydanticCustomError("key", "expected a dotted path with [n], such as body.messages[0].role")
    return path


Names = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    Field(strict=False, min_length=1),
    BeforeValidator(_read_names),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
"""One or more names or globs with ``*``, of which one must match."""


class Comparison(StrictModel):
    """What a text is compared with; all keys must match. Case-sensitive unless ``ignore_case``."""

    contains: str | None = Field(default=None, description="The text contains this.")
    prefix: str | None = Field(default=None, description="The text starts with this.")
    suffix: str | None = Field(default=None, description="The text ends with this.")
    regex: Pattern | None = Field(
        default=None,
        description="A regular expression that matches somewhere in the text; no look-around, no back-reference.",
        examples=["[0-9]{4}"],
    )
    not_: Text | None = Field(
        default=None, alias="not", description="The text is not this string, or this comparison does not match."
    )
    ignore_case: bool = Field(default=False, description="Ignore upper and lower case, under `not` too.")

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        require(bool(self.model_fields_set - {"ignore_case"}), "expected contains, prefix, suffix, regex or not")
        inner: Text | None = self if self.ignore_case else None
        while isinstance(inner, Comparison):  # the flag also applies under `not`
            if inner.regex is not None:
                _add(inner.regex, True, info)
            inner = inner.not_
        return self


_COMPARISONS = frozenset(field.alias or name for name, field in Comparison.model_fields.items())


def _tag_text(value: JSON) -> str | None:
    if isinstance(value, str):
        return "<string>"
    return "<comparison>" if isinstance(value, dict | Comparison) else None


def _tag_body(value: JSON) -> str:
    is_comparison = isinstance(value, dict) and bool(value) and value.keys() <= _COMPARISONS
    return "<comparison>" if is_comparison or isinstance(value, Comparison) else "<value>"


def _tag_number(value: JSON) -> str | None:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return "<number>"
    return "<bounds>" if isinstance(value, dict | StrictModel) else None


Text = Annotated[
    Annotated[str, Tag("<string>")] | Annotated[Comparison, Tag("<comparison>")],
    Discriminator(
        _tag_text, custom_error_type="wanted", custom_error_message="expected a string or a comparison such as contains"
    ),
]
"""String to be equal to, or a comparison."""

Value = Annotated[
    Annotated[Comparison, Tag("<comparison>")] | Annotated[JSON, Tag("<value>")],
    Discriminator(_tag_body),
]
"""Comparison, or any JSON value to be equal to."""


def _read_size(value: JSON) -> JSON:
    return parse_size(value) if isinstance(value, str) else value


Size = Annotated[float, BeforeValidator(_read_size), WithJsonSchema({"type": ["number", "string"]})]
"""Size in bytes, as a number or a string with a unit."""


class Bounds(StrictModel):
    """A range of numbers, without its bounds."""

    above: float | None = Field(default=None, description="More than this.")
    below: float | None = Field(default=None, description="Less than this.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(self.above is not None or self.below is not None, "expected above or below")
        return self


class SizeBounds(Bounds):
    above: Size | None = Field(default=None, description="More bytes than this.")
    below: Size | None = Field(default=None, description="Fewer bytes than this.")


_NUMBER_OR_BOUNDS = Discriminator(
    _tag_number, custom_error_type="wanted", custom_error_message="expected a number, or above and below"
)
Number = Annotated[Annotated[float, Tag("<number>")] | Annotated[Bounds, Tag("<bounds>")], _NUMBER_OR_BOUNDS]
Bytes = Annotated[Annotated[Size, Tag("<number>")] | Annotated[SizeBounds, Tag("<bounds>")], _NUMBER_OR_BOUNDS]


Condition = tuple[str, ...] | str | bool | float | Comparison | Bounds
"""Condition of a match field; that of a body value can also be any JSON value."""


def _publish_named_facets(schema: JsonDict) -> None:
    """Rewrite ``header.*`` and its like as ``patternProperties``.

    Any value is valid under ``body.*``, a comparison too, so ``oneOf`` becomes ``anyOf``.
    """
    patterns: JsonDict = {}
    for name in NAMED_FACETS:
        match schema["properties"]:
            case dict(properties):
                facet = properties.pop(f"{name}.*")
        match facet:
            case {"description": description, "additionalProperties": {"oneOf": options}}:
                patterns[rf"^{name}\..+$"] = {"description": description, "anyOf": options}
    schema["patternProperties"] = patterns


class When(StrictModel):
    """Conditions on a call, all of which must match; one about something that the call lacks does not."""

    model_config = ConfigDict(json_schema_extra=_publish_named_facets)

    vendor: Names | None = Field(
        default=None, description="The vendor that is called.", examples=["databricks", ["azure", "tgi"]]
    )
    deployment: Names | None = Field(
        default=None, description="The deployment that the call addresses.", examples=["llama-*"]
    )
    served: Names | None = Field(
        default=None, description="The served model that answers, if the deployment has several.", examples=["canary"]
    )
    task: Names | None = Field(
        default=None,
        description="The task: chat, completions, embeddings, rerank, images, transcription or speech.",
    )
    endpoint: Names | None = Field(default=None, description="The path on the vendor's own port.", examples=["/v1/*"])
    principal: Names | None = Field(default=None, description="The caller: the principal of its key.")
    session: Names | None = Field(default=None, description="The session that the call belongs to.")
    stream: bool | None = Field(default=None, description="Whether the answer is streamed.")
    structured: bool | None = Field(default=None, description="Whether the answer must be JSON, by mode or by schema.")
    multimodal: bool | None = Field(default=None, description="Whether the prompt has images or audio.")
    prompt: Text | None = Field(
        default=None, description="The text of the last user message, the prompt, or any of the inputs."
    )
    system: Text | None = Field(default=None, description="The system message.")
    tools: Names | None = Field(default=None, description="A tool that the request offers.")
    tool_called: Names | None = Field(
        default=None, description="A tool that was called anywhere in the conversation.", examples=["search"]
    )
    tool_result: Text | None = Field(default=None, description="The last tool message.")
    prompt_tokens: Number | None = Field(
        default=None, description="The number of prompt tokens.", examples=[{"above": 4000}]
    )
    max_tokens: Number | None = Field(default=None, description="The `max_tokens` of the request.")
    messages: Number | None = Field(default=None, description="The number of messages in the conversation.")
    turn: Number | None = Field(
        default=None, description="The number of user messages in the conversation.", examples=[2, {"above": 1}]
    )
    last_role: Names | None = Field(
        default=None,
        alias="messages.last.role",
        description="The role of the last message.",
        examples=["tool", ["user", "tool"]],
    )
    body_bytes: Bytes | None = Field(
        default=None, description="The length of the request body.", examples=[{"above": "64KiB"}]
    )
    header: dict[str, Text] = Field(default={}, alias="header.*", description="A request header.")
    query: dict[str, Text] = Field(default={}, alias="query.*", description="A query parameter.")
    body: dict[Annotated[str, AfterValidator(_check_body_path)], Value] = Field(
        default={},
        alias="body.*",
        description="A value in the request body: a comparison, or the value that it equals.",
    )
    any: Annotated[tuple[When, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None,
        description="A list of conditions, of which at least one matches.",
        examples=[[{"stream": True}, {"prompt_tokens": {"above": 4000}}]],
    )
    not_: When | None = Field(
        default=None, alias="not", description="Conditions that do not all match.", examples=[{"principal": "batch"}]
    )

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: JSON) -> JSON:
        """Collect ``header.<name>`` and its like under one key each, ``header.*``, which is no valid name."""
        if not isinstance(data, dict):
            return data
        rest: Object = {}
        named: dict[str, Object] = {}
        for key, value in data.items():
            facet, _, name = key.partition(".")
            if name and facet in NAMED_FACETS:
                named.setdefault(f"{facet}.*", {})[name] = value
            else:
                rest[key] = value
        return {**rest, **named}

    @model_validator(mode="after")
    def _check(self) -> Self:
        inner = [*(self.any or ()), *([] if self.not_ is None else [self.not_])]
        require(all(when.model_fields_set for when in inner), "expected a facet in each part of any and not")
        return self

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """Conditions by the field names in the file; without ``body.*``, ``any`` and ``not``."""
        return {
            **{key: getattr(self, name) for name, key in _PLAIN_FACETS.items() if name in self.model_fields_set},
            **{f"header.{name}": text for name, text in self.header.items()},
            **{f"query.{name}": text for name, text in self.query.items()},
        }


GROUPS = ("any", "not")  # fields that contain conditions
_PLAIN_FACETS = {
    name: field.alias or name
    for name, field in When.model_fields.items()
    if name not in NAMED_FACETS and (field.alias or name) not in GROUPS
}
