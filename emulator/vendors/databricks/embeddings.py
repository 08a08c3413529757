"""The embeddings task: texts become vectors.

Source: Databricks, "Foundation model REST API reference", embedding task.
"""

from __future__ import annotations

from typing import Any

from emulator.core.call import EmbeddingAsk
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import dump_json
from emulator.core.plan import Plan
from emulator.core.seed import draw_uuid
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.floats import dump_base64, dump_float32
from emulator.dialects.sse import quote
from emulator.vendors.databricks.decoder import INTEGER, STRING, TEXTS, Struct, refuse
from emulator.vendors.databricks.reply import Reply, answer_headers
from emulator.vendors.databricks.request import COMMON, Habits, Query, find_by_model
from emulator.vendors.databricks.sampling import check_positive, count

_CODE = "INVALID_PARAMETER_VALUE"  # databricks-demos/dbdemos issue 97
_FIELDS = Struct({**COMMON, "input": TEXTS, "instruction": STRING, "user": STRING})
_EXTRA_FIELDS = Struct({**_FIELDS.fields, "encoding_format": STRING, "dimensions": INTEGER})


def parse_embeddings(request: WireRequest, service: Service[Any, Any]) -> Call:
    """``POST /serving-endpoints/embeddings``."""
    return read_embeddings(find_by_model(request, service))


def read_embeddings(query: Query) -> Call:
    """Validate and read an embeddings request.

    Raises:
        EmulatedError: what the endpoint refuses.
    """
    if query.deployment.task != "embeddings":
        # unverified
        raise refuse(f"Bad request: endpoint {query.deployment.name} does not support the embeddings task")
    query.check("embeddings", _list_fields)
    inputs = _read_inputs(query)
    encoding = query.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise refuse(f"encoding_format must be 'float' or 'base64', but got {encoding!r}", "encoding_format", _CODE)
    dimensions = _read_dimensions(query)
    ask = EmbeddingAsk(inputs=inputs, dimensions=dimensions, instruction=query.get("instruction", ""))
    ask, counts = _fit(query, ask)
    return Call(
        request=query.request,
        deployment=query.deployment,
        ask=ask,
        codec=_CODEC,
        prompt_tokens=counts,
        context=Reply.of(query, encoding),
        repeatable=query.repeatable,
    )


def _list_fields(habits: Habits) -> Struct:
    return _EXTRA_FIELDS if habits.settings.embeddings_extras else _FIELDS


def _read_inputs(query: Query) -> tuple[str, ...]:
    given = query.get("input")
    if given is None:
        raise refuse("Missing required embeddings parameter: 'input'", "input", _CODE)
    inputs = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(one, str) for one in inputs):
        raise refuse("input must be a string or a list of strings", "input", _CODE)
    if not inputs or not all(inputs):
        raise refuse("input must not be empty", "input", _CODE)
    most = query.settings.max_inputs
    if len(inputs) > most:
        text = f"Input embeddings size is too large, exceeding {most} limit for {query.deployment.name}"
        raise refuse(text, "input", _CODE)
    return inputs


def _read_dimensions(query: Query) -> int | None:
    """Only models that can shorten their vectors heed ``dimensions``; the others leave it aside."""
    check_positive(query, "dimensions")
    wanted: int | None = query.get("dimensions")
    if wanted is None or not query.traits.get("resizable"):
        return None
    most = query.deployment.dimensions
    if wanted > most:
        raise refuse(f"dimensions must not exceed {most}, but got {wanted}", "dimensions", _CODE)
    return wanted


def _fit(query: Query, ask: EmbeddingAsk) -> tuple[EmbeddingAsk, tuple[int, ...]]:
    """Inputs longer than the model reads are cut, and what is left is counted; that the service cuts is unverified."""
    counts = count(query, ask)
    context = query.deployment.context
    longest = max(counts)
    if context is None or longest <= context:
        return ask, counts
    if query.settings.embeddings_overflow == "refuse":
        text = f"Input is too long: {longest} tokens exceed the maximum of {context} tokens"
        raise EmulatedError(ErrorKind.CONTEXT_LENGTH, text, "input", details={"error_code": _CODE})
    tokenizer = query.service.tokenizer(query.deployment)
    room = max(0, context - count(query, EmbeddingAsk(inputs=("",), instruction=ask.instruction))[0])
    cut = tuple(
        text if number <= context else tokenizer.decode(tokenizer.encode(str(text))[:room])
        for text, number in zip(ask.inputs, counts, strict=True)
    )
    counts = tuple(min(number, context) for number in counts)
    return EmbeddingAsk(inputs=cut, dimensions=ask.dimensions, instruction=ask.instruction), counts


class EmbeddingsCodec:
    """Words vectors, as numbers or in base64."""

    def render(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireResponse:
        reply: Reply = call.context
        rows = plan.vectors if plan.vectors is not None else ()
        if reply.extra == "base64":
            items = [b'"%b"' % dump_base64(row).encode() for row in rows]
        else:
            items = [dump_float32(row) for row in rows]
        data = b",".join(
            [b'{"object":"embedding","index":%d,"embedding":%b}' % (number, item) for number, item in enumerate(items)]
        )
        tokens = plan.usage.prompt_tokens
        name = dump_json(draw_uuid(plan.key, "embeddings"))
        body = b'{"id":%b,"object":"list","model":%b,"data":[%b],"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (
            name, quote(reply.model), data, tokens, tokens,
        )  # fmt: skip
        return WireResponse(200, body, answer_headers(call, service))

    def stream(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireStream:
        raise NotImplementedError("embeddings do not stream")


_CODEC = EmbeddingsCodec()
