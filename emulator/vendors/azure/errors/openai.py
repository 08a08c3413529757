"""OpenAI's own error bodies, as an Azure OpenAI deployment hands them on.

Source: Azure/azure-sdk-assets, recorded refusals (``invalid_type``, unknown values); the other texts are those of the
OpenAI API, openai/openai-python issue threads, and ``unverified`` for Azure.
"""

from emulator.core.errors import ErrorKind
from emulator.core.json import JSON
from emulator.vendors.azure.chat.fields import BRANCHES
from emulator.vendors.azure.errors.wording import Refusal, Worded

_EXPECTED = {
    "string_type": "a string",
    "list_type": "an array of objects",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a decimal",
    "float_parsing": "a decimal",
    "bool_type": "a boolean",
    "bool_parsing": "a boolean",
}
_BOUNDS = {
    "greater_than_equal": ("below_min_value", "below minimum value", ">=", "ge"),
    "greater_than": ("below_min_value", "below minimum value", ">", "gt"),
    "less_than_equal": ("above_max_value", "above maximum value", "<=", "le"),
    "less_than": ("above_max_value", "above maximum value", "<", "lt"),
}
_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
)


def word_openai(refusal: Refusal) -> Worded:
    """``{"error": {message, type, param, code}}``; what elsewhere is 422 is 400 here."""
    details = refusal.details
    if refusal.kind is ErrorKind.INVALID_PARAMETER:
        return Worded(_word_violation(refusal), status=400)
    if refusal.kind is ErrorKind.CONTEXT_LENGTH:
        return Worded(_shape(_word_context(refusal), "messages", "context_length_exceeded"))
    if refusal.kind is ErrorKind.INVALID_REQUEST:
        message = _NOT_JSON if details.get("code") == "invalid_json" else refusal.text
        return Worded(_shape(message, refusal.param, None))
    return Worded({"error": {"code": refusal.phrase.replace(" ", ""), "message": refusal.text}})


def _shape(message: str, param: str | None, code: str | None) -> JSON:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def _word_violation(refusal: Refusal) -> JSON:
    first = refusal.errors[0]
    param = _join(first["loc"])
    if refusal.message is not None:
        return _shape(refusal.message, param, "invalid_value")
    if param == "encoding_format":
        message = f"Invalid value for 'encoding_format' = {first['input']}. Supported values: ['float', 'base64']."
        return _shape(message, None, None)
    if refusal.details.get("code") == "parameter_not_supported":
        message = f"Unsupported parameter: '{param}' is not supported with this model."
        return _shape(message, param, "unsupported_parameter")
    return _word_kind(first, param)


def _word_kind(first: JSON, param: str) -> JSON:
    kind = first["type"]
    if kind == "missing":
        return _shape(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
    if isinstance(first["input"], list) and not first["input"]:
        expected = "Expected an array with minimum length 1, but got an empty array instead."
        return _shape(f"Invalid '{param}': empty array. {expected}", param, "empty_array")
    if kind in _EXPECTED:
        got = _name_type(first["input"])
        message = f"Invalid type for '{param}': expected {_EXPECTED[kind]}, but got {got} instead."
        return _shape(message, param, "invalid_type")
    if kind in _BOUNDS:
        return _word_bound(first, param)
    if kind in ("enum", "literal_error"):
        expected = first["ctx"]["expected"].replace(" or ", " and ")
        message = f"Invalid value: '{first['input']}'. Supported values are: {expected}."
        return _shape(message, param, "invalid_value")
    reason = first["msg"].removeprefix("Value error, ")
    return _shape(f"Invalid '{param}': {reason}" if reason else f"Invalid value for '{param}'.", param, "invalid_value")


def _word_bound(violation: JSON, param: str) -> JSON:
    code, text, sign, bound = _BOUNDS[violation["type"]]
    limit, given = violation["ctx"][bound], violation["input"]
    kind = "integer" if isinstance(limit, int) else "decimal"
    message = f"Invalid '{param}': {kind} {text}. Expected a value {sign} {limit:g}, but got {given} instead."
    return _shape(message, param, f"{kind}_{code}")


def _join(loc: list[str | int]) -> str:
    """``messages[0].content`` for ``["body", "messages", 0, "content"]``; a union's branch is left out."""
    path = ""
    for part in loc[1:]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in BRANCHES:
            path += f".{part}" if path else part
    return path


def _name_type(value: JSON) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "an integer", float: "a decimal number", list: "an array", dict: "an object"}
    return names.get(type(value), "an unknown type")


def _word_context(refusal: Refusal) -> str:
    details = refusal.details
    if refusal.message is not None or "context" not in details:
        return refusal.text
    context, prompt, requested = details["context"], details["prompt_tokens"], details["requested"]
    head = f"This model's maximum context length is {context} tokens. However, "
    if requested is None:
        tail = "Please reduce the length of the messages."
        return f"{head}your messages resulted in {prompt} tokens. {tail}"
    return (
        f"{head}you requested {prompt + requested} tokens ({prompt} in the messages, {requested} in the completion). "
        "Please reduce the length of the messages or completion."
    )
