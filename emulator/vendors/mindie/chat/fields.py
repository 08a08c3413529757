"""Parse and validate ``logprobs`` and ``response_format`` of the chat route.

``../sampling.py`` parses the fields that it shares with other routes.

Source: MindIE-LLM, ``utils/infer_param.cpp``.
"""

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON
from emulator.protocols.openai.messages import Format, parse_format
from emulator.vendors.mindie import ranges
from emulator.vendors.mindie.decoder import Fields, parse_boolean, parse_unsigned, refusal

_FORMATS = ("json_object", "json_schema", "text")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def parse_logprobs(fields: Fields) -> int | None:
    """Return the number of alternatives to list; ``None``: no log-probabilities. Either field switches them on."""
    if "logprobs" not in fields and "top_logprobs" not in fields:
        return None
    wanted = parse_boolean(fields, "logprobs")
    top = parse_unsigned(fields, "top_logprobs", ranges.TOP_LOGPROBS)
    if wanted is False and top is not None:
        text = "Value error, when using top_logprobs, logprobs must be true or null in chat completions"
        raise refusal(text, "top_logprobs")
    return (top or 0) if wanted or top is not None else None


def validate_template(fields: Fields) -> None:
    """Raise if ``chat_template_kwargs`` or ``chat_template`` is invalid; the former may not be null.

    Source: MindIE-LLM, ``single_req_infer_interface_base.cpp``; the template's file is not opened.
    """
    if "chat_template_kwargs" in fields:
        options = fields["chat_template_kwargs"]
        if not isinstance(options, dict):
            raise refusal("chat_template_kwargs must be a JSON object", "chat_template_kwargs")
        if "enable_thinking" in options and not isinstance(options["enable_thinking"], bool):
            text = f"enable_thinking must be boolean, got {_name_type(options['enable_thinking'])}"
            raise refusal(text, "chat_template_kwargs")
    template = fields.get("chat_template")
    if template is not None and not isinstance(template, str):
        raise refusal("Parameter chat_template not string", "chat_template")
    if template == "":
        raise refusal("Parameter chat_template is not valid", "chat_template")


def _name_type(value: JSON) -> str:
    """Return the type name that the server's JSON library has for a value that is not a boolean."""
    names = {type(None): "null", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


def parse_response_format(fields: Fields) -> tuple[Format, JSON]:
    """Return the kind of ``response_format`` and, for ``json_schema``, the schema."""
    where = "Parameter response_format"
    value = fields.get("response_format")
    if value is None:
        return "text", None
    if not isinstance(value, dict):
        raise _format_refusal(f"{where} must be an object")
    kind = value.get("type")
    if kind is None:
        raise _format_refusal(f"{where} must contain 'type' field")
    if not isinstance(kind, str):
        raise _format_refusal(f"{where}.type must be a string")
    if kind not in _FORMATS:
        raise _format_refusal(f"{where}.type must be 'json_object', 'json_schema' or 'text', got '{kind}'")
    if kind == "json_schema":
        _validate_named_schema(value.get("json_schema"), f"{where}.json_schema")
    return parse_format(value)


def _format_refusal(text: str) -> EmulatedError:
    return refusal(text, "response_format")


def _validate_named_schema(value: JSON, where: str) -> None:
    if value is None:
        raise _format_refusal(f"{where} is required when type is 'json_schema'")
    if not isinstance(value, dict):
        raise _format_refusal(f"{where} must be an object")
    name = value.get("name")
    if name is None:
        raise _format_refusal(f"{where}.name is required")
    if not isinstance(name, str):
        raise _format_refusal(f"{where}.name must be a string")
    if not 1 <= len(name.encode()) <= 64:
        raise _format_refusal(f"{where}.name must be 1-64 characters")
    schema = value.get("schema")
    if schema is None:
        raise _format_refusal(f"{where}.schema is required when type is 'json_schema'")
    if not isinstance(schema, dict):
        raise _format_refusal(f"{where}.schema must be an object")
    _validate_schema(schema, "schema")


def _validate_schema(schema: Fields, path: str) -> None:
    """Raise if ``type``, ``properties``, ``items`` or ``required`` is invalid at any depth."""
    kind = schema.get("type", "object")
    if not isinstance(kind, str):
        raise _format_refusal(f"Invalid json_schema: 'type' at '{path}' must be a string")
    if kind not in _TYPES:
        raise _format_refusal(f"Invalid json_schema: unsupported type '{kind}' at '{path}'")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise _format_refusal(f"Invalid json_schema: 'properties' at '{path}' must be an object")
    for name, inner in properties.items():
        if not isinstance(inner, dict):
            raise _format_refusal(f"Invalid json_schema: property '{name}' at '{path} must be an object")
        _validate_schema(inner, f"{path}.properties.{name}")
    items = schema.get("items", {})
    if not isinstance(items, dict):
        raise _format_refusal(f"Invalid json_schema: 'items' at '{path}' must be an object")
    if items:
        _validate_schema(items, f"{path}.items")
    _validate_required(schema.get("required", []), path)


def _validate_required(required: JSON, path: str) -> None:
    if not isinstance(required, list):
        raise _format_refusal(f"Invalid json_schema: 'required' at '{path}' must be an array")
    if any(not isinstance(name, str) for name in required):
        raise _format_refusal(f"Invalid json_schema: elements of 'required' at '{path}' must be strings")
