"""Format OpenAI's own error bodies, which an Azure OpenAI deployment passes on.

Source: Azure/azure-sdk-assets, recorded refusals (``invalid_type``, unknown values); the other texts are those of the
OpenAI API, openai/openai-python issue threads, and ``unverified`` for Azure.
"""

from collections.abc import Mapping, Sequence

from emulator.core.errors import ErrorKind
from emulator.core.json import (
    JSON,
    Object,
    as_array,
    as_integer,
    as_number,
    as_object,
    as_text,
    dump_text,
    format_value,
)
from emulator.core.rng import format_uuid, prepare_key
from emulator.vendors.azure.errors import bounds
from emulator.vendors.azure.errors.types import (
    NO_SCHEMA,
    ON_YOUR_DATA,
    UNION_BRANCHES,
    ErrorFields,
    FormattedError,
    Violation,
)

_derive_id = prepare_key(..., "on your data")
_EXPECTED = {
    "string_type": "a string",
    "list_type": "an array of objects",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "model_type": "an object",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a decimal",
    "float_parsing": "a decimal",
    "bool_type": "a boolean",
    "bool_parsing": "a boolean",
}
_UNIONS = {
    ("content", "string_type"): "one of a string or array of objects",
    ("input", "list_type"): "one of a string or array of input items",
}
"""Types of fields that take a text or a list, by name and by the kind that the first of them breaks.

Source: errors of OpenAI's API in public threads, ``messages[0].content`` and ``input`` as objects.
"""
_LISTS = ("content", "messages", "stop")  # fields whose empty list is too short, not of another type
_CHOICES = ("enum", "literal_error")
_BOUNDS: Mapping[str, tuple[bounds.Sign, str]] = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}
_LENGTHS = {
    "string_too_long": (True, "max_length"),
    "string_too_short": (False, "min_length"),
    "too_long": (True, "max_length"),
    "too_short": (False, "min_length"),
}
_TYPE = "invalid_request_error"
_MAX_NAME = 64
_CHAT = "/chat/completions"
_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
)


def format_openai(fields: ErrorFields) -> FormattedError:
    """Return ``{"error": {message, type, param, code}}``; the 422 of other profiles is 400 here."""
    details = fields.details
    if fields.kind is ErrorKind.INVALID_PARAMETER:
        return FormattedError(_format_violation(fields), status=400)
    if fields.kind is ErrorKind.CONTEXT_LENGTH:
        if fields.request.path.endswith(("/embeddings", "/completions")) and not fields.request.path.endswith(_CHAT):
            return FormattedError(_build_error(_format_prompt(fields), None, None))
        return FormattedError(_build_error(_format_context(fields), "messages", "context_length_exceeded"))
    if details.get("code") == ON_YOUR_DATA:
        request_id = format_uuid(_derive_id(fields.request.key))
        return FormattedError({"error": {"requestid": request_id, "code": 400, "message": fields.text}})
    if fields.kind is ErrorKind.INVALID_REQUEST:
        message = _NOT_JSON if details.get("code") == "invalid_json" else fields.text
        code = details.get("openai_code")
        body = _build_error(message, fields.param, None if code is None else as_text(code))
        return FormattedError({"error": {**as_object(body["error"]), "type": details.get("openai_type", _TYPE)}})
    return FormattedError({"error": {"code": fields.phrase.replace(" ", ""), "message": fields.text}})


def _build_error(message: str, param: str | None, code: str | None) -> Object:
    return {"error": {"message": message, "type": _TYPE, "param": param, "code": code}}


def _format_violation(fields: ErrorFields) -> Object:
    violation = fields.nearest
    param = _format_path(violation.loc)
    if not param:
        return _build_error(_NOT_JSON, None, None)
    if fields.message is not None:
        return _build_error(fields.message, param, "invalid_value")
    if param == "encoding_format":
        message = f"Invalid value for 'encoding_format' = {violation.value}. Supported values: ['float', 'base64']."
        return _build_error(message, None, None)
    if "supported" in fields.details:
        message = _format_values(param, violation.value, as_array(fields.details["supported"]))
        return _build_error(message, param, "unsupported_value")
    if fields.details.get("code") == "parameter_not_supported":
        advice = fields.details.get("advice")
        message = f"Unsupported parameter: '{param}' is not supported with this model.{f' {advice}' if advice else ''}"
        return _build_error(message, param, "unsupported_parameter")
    name = param.rpartition(".")[2]
    takes_items = name != "input" or "/responses" in fields.request.path
    return _format_kind(violation, param, _UNIONS.get((name, violation.kind), "") if takes_items else "")


def _format_kind(violation: Violation, param: str, union: str) -> Object:
    """Format a violation by its kind; ``union``: the types that the field takes, if it takes several."""
    kind, value = violation.kind, violation.value
    if kind == "missing":
        return _build_error(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
    name = param.rpartition(".")[2]
    is_typed = kind in _EXPECTED or kind in _CHOICES
    if isinstance(value, list) and not value and (name in _LISTS or not is_typed):
        return _build_worded(bounds.word_length(param, value, 1, long=False), param)
    if kind in _EXPECTED:
        wanted = union if union and not isinstance(value, list) else _EXPECTED[kind]
        message = f"Invalid type for '{param}': expected {wanted}, but got {bounds.format_type(value)} instead."
        return _build_error(message, param, "invalid_type")
    if kind in _BOUNDS:
        return _format_bound(violation, param)
    if kind in _CHOICES:
        expected = as_text(violation.context["expected"])
        if isinstance(value, str):
            message = f"Invalid value: '{value}'. Supported values are: {_list_names(expected)}."
            return _build_error(message, param, "invalid_value")
        expected = expected.replace(", and ", " or ")
        names = f"{'one of ' if ' or ' in expected else ''}{_list_names(expected, 'or')}"
        message = f"Invalid type for '{param}': expected {names}, but got {bounds.format_type(value)} instead."
        return _build_error(message, param, "invalid_type")
    if kind in _LENGTHS or kind == "string_pattern_mismatch":
        return _format_length(violation, param)
    return _format_reason(violation.text.removeprefix("Value error, "), value, param)


def _format_reason(reason: str, value: JSON, param: str) -> Object:
    """Format a violation that has a text of the container's own."""
    if reason == NO_SCHEMA:
        missing = f"{param}.json_schema"
        return _build_error(f"Missing required parameter: '{missing}'.", missing, "missing_required_parameter")
    if reason.startswith("Content part type is "):
        missing = f"{param}.{reason.split()[4]}"
        return _build_error(f"Missing required parameter: '{missing}'.", missing, "missing_required_parameter")
    if reason.startswith("Response format was "):
        known = "'json_object', 'json_schema', and 'text'"
        message = f"Invalid value: '{format_value(value)}'. Supported values are: {known}."
        return _build_error(message, param, "invalid_value")
    if reason.startswith("Function name was "):
        return _format_function_name(as_text(value), param)
    return _build_error(
        f"Invalid '{param}': {reason}" if reason else f"Invalid value for '{param}'.", param, "invalid_value"
    )


def _list_names(expected: str, conjunction: str = "and") -> str:
    """Format ``'a', 'b', and 'c'`` from pydantic's ``'a', 'b' or 'c'``."""
    head, _, last = expected.rpartition(" or ")
    return f"{head}{',' if ', ' in head else ''} {conjunction} {last}" if head else expected


def _format_length(violation: Violation, param: str) -> Object:
    """Format a text or a list of a wrong length, or a text that does not match its pattern."""
    value, context = violation.value, violation.context
    if violation.kind == "string_pattern_mismatch":
        return _build_worded(bounds.word_pattern(param, as_text(context["pattern"])), param)
    is_long, bound = _LENGTHS[violation.kind]
    limit = as_integer(context[bound])
    if isinstance(value, dict):
        expected = f"Expected an object with at most {limit} properties, but got an object with {len(value)} properties"
        return _build_error(
            f"Invalid '{param}': too many properties. {expected} instead.", param, "object_above_max_properties"
        )
    return _build_worded(bounds.word_length(param, value, limit, long=is_long), param)


def _build_worded(worded: bounds.Worded, param: str) -> Object:
    message, code = worded
    return _build_error(message, param, code)


def _format_function_name(name: str, param: str) -> Object:
    """Format a function name that is empty, too long or has invalid characters."""
    if 0 < len(name) <= _MAX_NAME:
        return _build_worded(bounds.word_pattern(param, "^[a-zA-Z0-9_-]+$"), param)
    return _build_worded(bounds.word_length(param, name, _MAX_NAME if name else 1, long=bool(name)), param)


def _format_values(param: str, value: JSON, supported: Sequence[JSON]) -> str:
    """Format accepted values. Source: openai/openai-python issue threads (``temperature``, ``messages[0].role`` …)."""
    quoted = f"'{value}'" if isinstance(value, str) else dump_text(value)
    head = f"Unsupported value: '{param}' does not support {quoted} with this model."
    if len(supported) == 1 and not isinstance(supported[0], str):
        return f"{head} Only the default ({supported[0]}) value is supported."
    if param.endswith(".role"):
        return head
    names = [f"'{value}'" for value in supported]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"
    return f"{head} Supported values are: {listed}."


def _format_bound(violation: Violation, param: str) -> Object:
    sign, bound = _BOUNDS[violation.kind]
    given = violation.value
    if given is None:  # 1e999: an infinity, which violations cannot hold
        given = "-Infinity" if ">" in sign else "Infinity"  # unverified
    return _build_worded(bounds.word_range(param, given, as_number(violation.context[bound]), sign), param)


def _format_path(loc: Sequence[JSON]) -> str:
    """Format ``messages[0].content`` from ``["body", "messages", 0, "content"]``, without union branches."""
    path = ""
    for part in loc[1:]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not _is_branch(str(part)):
            path += f".{part}" if path else str(part)
    return path


def _is_branch(part: str) -> bool:
    """Return whether a part of ``loc`` is a union's branch or ``[key]`` of a mapping."""
    return part in UNION_BRANCHES or "[" in part


def _format_prompt(fields: ErrorFields) -> str:
    """Format a prompt that is too long. Source: langchain-ai/langchain and openai/openai-python issue threads."""
    details = fields.details
    if fields.message is not None or "context" not in details:
        return fields.text
    prompt, requested = as_integer(details["prompt_tokens"]), as_integer(details["requested"] or 0)
    return (
        f"This model's maximum context length is {details['context']} tokens, however you requested "
        f"{prompt + requested} tokens ({prompt} in your prompt; {requested} for the completion). "
        "Please reduce your prompt; or completion length."
    )


def _format_context(fields: ErrorFields) -> str:
    details = fields.details
    if fields.message is not None or "context" not in details:
        return fields.text
    prompt, requested = as_integer(details["prompt_tokens"]), details["requested"]
    head = f"This model's maximum context length is {details['context']} tokens. However, "
    if requested is None:
        tail = "Please reduce the length of the messages."
        return f"{head}your messages resulted in {prompt} tokens. {tail}"
    both = prompt + as_integer(requested)
    return (
        f"{head}you requested {both} tokens ({prompt} in the messages, {requested} in the completion). "
        "Please reduce the length of the messages or completion."
    )
