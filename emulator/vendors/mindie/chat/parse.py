"""``POST /v1/chat/completions``: from the wire to a call.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp`` and ``utils/infer_param.cpp``.
"""

from collections.abc import Mapping

from emulator.core.call import ChatAsk, Sampling
from emulator.core.json import JSON
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects.openai import Format
from emulator.dialects.tgi import check_ready
from emulator.vendors.mindie.chat.codec import CHAT, Chat
from emulator.vendors.mindie.chat.messages import read_messages, read_tools
from emulator.vendors.mindie.decoder import parse_body, read_boolean, read_unsigned, refuse
from emulator.vendors.mindie.generate.parse import BROKEN_REQUEST, measure_room
from emulator.vendors.mindie.headers import check_headers
from emulator.vendors.mindie.sampling import Fields, read_max_tokens, read_model, read_sampling
from emulator.vendors.mindie.settings import MindieSettings

MAX_TOP_LOGPROBS = 20
_FORMATS = ("json_object", "json_schema", "text")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def parse_chat(request: WireRequest, service: Service[MindieSettings, None]) -> Call | WireResponse:
    check_headers(request, service)
    settings = service.settings
    body = parse_body(request, settings, BROKEN_REQUEST)
    fields: Fields = body if isinstance(body, dict) else {}
    model = read_model(fields, service.deployments, "Model not found")
    deployment = check_ready(service.deployments[model])
    tools, choice, name = read_tools(fields)
    messages = read_messages(fields, settings.max_input_chars, len(request.body))
    (count,) = service.count_prompt(ChatAsk(messages=messages, tools=tools), deployment)
    sampling, stop_ids = read_sampling(fields, settings, chat=True)
    read_boolean(fields, "use_beam_search")
    top = _read_logprobs(fields)
    asked = read_max_tokens(fields) or deployment.max_output or settings.max_iter_times
    stream = read_boolean(fields, "stream") or False
    form, schema = _read_format(fields.get("response_format"))
    check_count(fields, sampling["n"], stream=stream)
    room = measure_room(settings, deployment, count, asked)
    return Call(
        request=request,
        deployment=deployment,
        ask=ChatAsk(
            messages=messages,
            sampling=Sampling(max_tokens=room.answer, logprobs=top, **sampling),
            tools=tools,
            tool_choice=choice,
            tool_name=name,
            parallel=name is None,
            format=form,
            schema=schema,
            reasoning="medium" if _thinks(fields) else None,
        ),
        codec=CHAT,
        stream=stream,
        prompt_tokens=(room.prompt,),
        context=Chat(model=model, limit=room.answer, stop_ids=stop_ids, top=top),
        repeatable=True,
    )


def _thinks(fields: Fields) -> bool:
    options = fields.get("chat_template_kwargs")
    return isinstance(options, dict) and options.get("enable_thinking") is True


def _read_logprobs(fields: Fields) -> int | None:
    """How many alternatives to list; either field switches log-probabilities on."""
    if "logprobs" not in fields and "top_logprobs" not in fields:
        return None
    wanted = read_boolean(fields, "logprobs")
    top = read_unsigned(fields, "top_logprobs")
    if top is not None and top > MAX_TOP_LOGPROBS:
        raise refuse(f"Parameter top logprobs must be in [0, {MAX_TOP_LOGPROBS}], got {top}.", "top_logprobs")
    if wanted is False and top is not None:
        text = "Value error, when using top_logprobs, logprobs must be true or null in chat completions"
        raise refuse(text, "top_logprobs")
    return (top or 0) if wanted or top is not None else None


def check_count(fields: Fields, count: int, *, stream: bool) -> None:
    """Several answers need sampling; a stream makes no more of them than it sends."""
    if "best_of" not in fields and "n" not in fields:
        return
    best_of, n = fields.get("best_of"), fields.get("n")
    said = f"but best_of is {best_of}, n is {n}."
    if best_of is not None and stream and best_of != n:
        raise refuse(f"best_of must be equal to n in stream mode, {said}", "best_of")
    if best_of is not None and n is not None and best_of < n:
        raise refuse(f"best_of must be greater than or equal to n, {said}", "best_of")
    if count > 1 and not fields.get("temperature"):
        text = "best_of/n can not greater than 1 without using beam search when temperature is 0 or not set, "
        raise refuse(text + said, "best_of")


def _read_format(value: JSON) -> tuple[Format, JSON]:
    """``response_format``."""
    where = "Parameter response_format"
    if value is None:
        return "text", None
    if not isinstance(value, dict):
        raise refuse(f"{where} must be an object", "response_format")
    kind = value.get("type")
    if kind is None:
        raise refuse(f"{where} must contain 'type' field", "response_format")
    if not isinstance(kind, str):
        raise refuse(f"{where}.type must be a string", "response_format")
    if kind not in _FORMATS:
        raise refuse(f"{where}.type must be 'json_object', 'json_schema' or 'text', got '{kind}'", "response_format")
    if kind == "json_schema":
        return "json_schema", _read_schema(value.get("json_schema"), f"{where}.json_schema")
    return ("json_object", None) if kind == "json_object" else ("text", None)


def _read_schema(value: JSON, where: str) -> JSON:
    if value is None:
        raise refuse(f"{where} is required when type is 'json_schema'", "response_format")
    if not isinstance(value, dict):
        raise refuse(f"{where} must be an object", "response_format")
    name = value.get("name")
    if name is None:
        raise refuse(f"{where}.name is required", "response_format")
    if not isinstance(name, str):
        raise refuse(f"{where}.name must be a string", "response_format")
    if not 1 <= len(name.encode()) <= 64:
        raise refuse(f"{where}.name must be 1-64 characters", "response_format")
    schema = value.get("schema")
    if schema is None:
        raise refuse(f"{where}.schema is required when type is 'json_schema'", "response_format")
    if not isinstance(schema, dict):
        raise refuse(f"{where}.schema must be an object", "response_format")
    _check_schema(schema, "schema")
    return schema


def _check_schema(schema: Mapping[str, JSON], path: str) -> None:
    """Types, properties, items and required, at every level."""
    kind = schema.get("type", "object")
    if not isinstance(kind, str):
        raise refuse(f"Invalid json_schema: 'type' at '{path}' must be a string", "response_format")
    if kind not in _TYPES:
        raise refuse(f"Invalid json_schema: unsupported type '{kind}' at '{path}'", "response_format")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise refuse(f"Invalid json_schema: 'properties' at '{path}' must be an object", "response_format")
    for name, inner in properties.items():
        if not isinstance(inner, dict):
            raise refuse(f"Invalid json_schema: property '{name}' at '{path} must be an object", "response_format")
        _check_schema(inner, f"{path}.properties.{name}")
    items = schema.get("items", {})
    if not isinstance(items, dict):
        raise refuse(f"Invalid json_schema: 'items' at '{path}' must be an object", "response_format")
    if items:
        _check_schema(items, f"{path}.items")
    _check_required(schema.get("required", []), path)


def _check_required(required: JSON, path: str) -> None:
    if not isinstance(required, list):
        raise refuse(f"Invalid json_schema: 'required' at '{path}' must be an array", "response_format")
    if any(not isinstance(name, str) for name in required):
        raise refuse(f"Invalid json_schema: elements of 'required' at '{path}' must be strings", "response_format")
