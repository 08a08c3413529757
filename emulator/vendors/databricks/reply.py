"""What the answers of all tasks share: their headers, their usage, and how an endpoint likes to word them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Usage
from emulator.core.record import record
from emulator.core.seed import derive
from emulator.core.vendor import Call, Service
from emulator.core.wire import Headers
from emulator.vendors.databricks.catalogue import Family, response_model
from emulator.vendors.databricks.errors import base_headers
from emulator.vendors.databricks.request import Query

JSON_TYPE = ("Content-Type", "application/json")
STREAM_TYPE = ("Content-Type", "text/event-stream; charset=utf-8")


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Reply:
    """How one answer is to be worded.

    Fields:
        served: the served entity that answers.
        usage_style: where a stream carries usage: ``every``, ``claude``, ``last``, ``on-request`` or ``none``.
        include_usage: the client asked for usage in the stream.
        reasoning: ``always``, ``on-request`` (by the request's ``thinking``), ``hidden``, or ``""``.
        lists: ``content`` may be a list of parts; ``listed``: it always is.
        signed: a Gemini model that signs its thoughts.
        plain: an answer that is one text is a string, with nothing beside it.
        extra: what only one task's codec wants.
    """

    served: str
    model: str
    family: Family
    usage_style: str
    include_usage: bool
    role_everywhere: bool
    reasoning: str
    lists: bool
    listed: bool
    signed: bool
    plain: bool
    extra: JSON = None

    @classmethod
    def of(cls, query: Query, extra: JSON = None) -> Reply:
        """What the endpoint's traits, the settings and the request say."""
        deployment, settings = query.deployment, query.settings
        style = settings.stream_usage
        lists = settings.content_lists == "model"
        listed = lists and query.traits.get("content_style") == "list"
        return cls(
            served=query.served,
            model=response_model(deployment),
            family=query.family,
            usage_style=str(query.traits.get("usage_style") or "every") if style == "model" else style,
            include_usage=bool((query.get("stream_options") or {}).get("include_usage")),
            role_everywhere=bool(query.traits.get("role_in_every_chunk")),
            reasoning=_reasoning(query.traits.get("reasoning")),
            lists=lists,
            listed=listed,
            signed=bool(query.traits.get("thought_signature")),
            plain=not listed and not extra,
            extra=extra,
        )


def _reasoning(value: JSON) -> str:
    """A scenario may write ``reasoning: true`` for a model that always thinks aloud."""
    return "always" if value is True else str(value or "")


def answer_headers(call: Call, service: Service[Any, Any], *, stream: bool = False) -> Headers:
    """Content type, request and workspace, and which served entity answered."""
    reply: Reply = call.context
    kind = STREAM_TYPE if stream else JSON_TYPE
    return (kind, *base_headers(call.request, service.settings), ("served-model-name", reply.served))


def draw_opaque(key: bytes, *name: str | int) -> str:
    """128 characters that mean something only to the service: signatures, encrypted ids."""
    return urlsafe_b64encode(b"".join([derive(key, *name, part) for part in range(6)])).decode()


def shape_usage(usage: Usage, reply: Reply) -> dict[str, JSON]:
    """``usage`` of chat and completions.

    Reasoning tokens stand at the top level as in the reference, and in the details as clients read them; the
    cache counts are what Claude and GPT endpoints add.
    """
    shape: dict[str, JSON] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    if usage.reasoning_tokens or reply.reasoning not in ("", "on-request"):
        shape["reasoning_tokens"] = usage.reasoning_tokens
        shape["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    if reply.family == "gpt":
        shape["prompt_tokens_details"] = {"cached_tokens": 0}
    elif reply.family == "claude":
        shape["cache_creation_input_tokens"] = 0
        shape["cache_read_input_tokens"] = 0
    return shape


def dump_usage(usage: Usage, reply: Reply) -> bytes:
    """:func:`shape_usage` as JSON."""
    if usage.reasoning_tokens or reply.reasoning or reply.family in ("gpt", "claude"):
        return dump_json(shape_usage(usage, reply))
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    return b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}' % (prompt, completion, prompt + completion)
