"""Build the errors that Azure's parsers raise; ``render.py`` formats them in the shape of a profile.

Keys of ``details``: ``errors`` (violations as pydantic lists them, ``loc`` from ``body`` on); ``code``; ``loc``,
``input``, ``supported`` and ``advice`` (one invalid parameter, accepted values, the remedy); ``openai_code`` and
``openai_type``; ``bare``
(a FastAPI ``{"detail": …}``); ``task``, ``deployment``, ``model``.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence

from pydantic_core import ErrorDetails

from emulator.core.errors import MAX_TEXT, EmulatedError, ErrorKind, shorten
from emulator.core.json import JSON, Object, dump_json, parse_json
from emulator.vendors.azure.errors.bounds import format_type, list_values, word_length


def breaks_schema(errors: Iterable[ErrorDetails]) -> EmulatedError:
    """Return the error of known fields with a wrong type, an invalid value, or missing."""
    return EmulatedError(ErrorKind.INVALID_PARAMETER, details={"errors": [_list_violation(error) for error in errors]})


def _list_violation(error: ErrorDetails) -> Object:
    violation: Object = {
        "type": error["type"],
        "loc": ["body", *error["loc"]],
        "msg": shorten(error["msg"]),
        "input": echo(error["input"]),
    }
    if "ctx" in error:
        context = error["ctx"].items()
        violation["ctx"] = {name: {} if isinstance(value, ValueError) else echo(value) for name, value in context}
    return violation


def echo(value: JSON) -> JSON:
    """Return a value of the request as an error repeats it.

    A value that JSON cannot encode (too deep, not finite) is ``null``; a long one is the beginning of its JSON.
    """
    if isinstance(value, str):
        return shorten(value)
    try:
        written = dump_json(value)
        return parse_json(written) if len(written) <= MAX_TEXT else shorten(written.decode())
    except (ValueError, RecursionError):
        return None


def not_supported(loc: Sequence[str | int], value: JSON, *, advice: str = "") -> EmulatedError:
    """Return the error of a valid parameter that the model does not take; ``advice``: what to do instead."""
    details: Object = {"code": "parameter_not_supported", "loc": ["body", *loc], "input": echo(value)}
    if advice:
        details["advice"] = advice
    return EmulatedError(ErrorKind.INVALID_PARAMETER, param=str(loc[0]), details=details)


def unsupported_value(loc: Sequence[str | int], value: JSON, supported: Sequence[JSON]) -> EmulatedError:
    """Return the error of a parameter with a value that the model does not take."""
    error = not_supported(loc, value)
    error.details = {**error.details, "supported": list(supported)}
    return error


def contradicts(message: str, param: str | None, code: str | None = None) -> EmulatedError:
    """Return the error of contradicting fields of an OpenAI model; ``message`` is the service's text."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, message, param=param, details={"openai_code": code} if code else {})


def validate_names(given: Iterable[str], known: Container[str]) -> None:
    """Raise for the first name that is not known."""
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise unknown_parameter(unknown)


def not_found(message: str, param: str | None = None) -> EmulatedError:
    """Return OpenAI's error of an object that does not exist."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, message, param=param, status=404)


def missing_parameter(path: str) -> EmulatedError:
    """Return OpenAI's error of a missing member of a member."""
    return contradicts(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def unknown_parameter(path: str) -> EmulatedError:
    """Return OpenAI's error of a member that it does not know."""
    return contradicts(f"Unknown parameter: '{path}'.", path, "unknown_parameter")


def invalid_value(path: str, value: JSON, supported: Sequence[str]) -> EmulatedError:
    """Return OpenAI's error of a value that is none of those it accepts."""
    text = f"Invalid value: '{value}'. Supported values are: {list_values(supported)}."
    return contradicts(text, path, "invalid_value")


def invalid_type(path: str, value: JSON, expected: str) -> EmulatedError:
    """Return OpenAI's error of a value of another type; ``expected``: ``a string``."""
    text = f"Invalid type for '{path}': expected {expected}, but got {format_type(value)} instead."
    return contradicts(text, path, "invalid_type")


def too_long(path: str, value: JSON, limit: int) -> EmulatedError:
    """Return OpenAI's error of a text or a list that is too long."""
    message, code = word_length(path, value, limit, long=True)
    return contradicts(message, path, code)


def extra_forbidden(extras: Mapping[str, JSON], *, bare: bool) -> EmulatedError:
    """Return the error of passed-through parameters that the model refuses.

    Source: Azure/azure-sdk-assets, recorded answers of Mistral small; ``bare``: BerriAI/litellm issue 3899.
    """
    error = breaks_schema(
        {"type": "extra_forbidden", "loc": (name,), "msg": "Extra inputs are not permitted", "input": value}
        for name, value in extras.items()
    )
    error.param = next(iter(extras))
    error.details = {**error.details, "model_refused": True, "bare": bare}
    return error


def missing(name: str, body: JSON) -> EmulatedError:
    """Return the error of a body without a required member."""
    return breaks_schema([{"type": "missing", "loc": (name,), "msg": "Field required", "input": body}])


def unrecognized(names: Sequence[str]) -> EmulatedError:
    """Return the error of parameters unknown to an OpenAI model. Source: openai/openai-python issue threads."""
    message = f"Unrecognized request argument{'s' * (len(names) > 1)} supplied: {', '.join(names)}"
    return EmulatedError(ErrorKind.INVALID_REQUEST, message)


def extra_not_allowed(names: list[str], *, by_default: bool) -> EmulatedError:
    """Return the error of parameters outside the API while ``extra-parameters`` is ``error``.

    Source: Azure/azureml-assets, foundation/model/serve/request_adapter.py; ``names`` as Python prints a list.
    """
    message = f"Extra parameters {names} are not allowed when extra-parameters is set to 'error'."
    if by_default:
        message = (
            f"Extra parameters {names} are not allowed when extra-parameters is not set or set to be 'error'. "
            "Set extra-parameters to 'pass-through' to pass to the model."
        )
    return EmulatedError(
        ErrorKind.INVALID_REQUEST, message, param=names[0], details={"code": "parameter_not_allowed", "bare": True}
    )


def unexpected_option(value: str, expected: list[str]) -> EmulatedError:
    """Return the error of an ``extra-parameters`` header with an unknown value."""
    message = f"Unexpected EXTRA_PARAMETERS option {value}, expected options are {expected}"
    return EmulatedError(
        ErrorKind.INVALID_REQUEST,
        message,
        param="extra-parameters",
        details={"code": "parameter_not_allowed", "bare": True},
    )


def not_json(reason: str) -> EmulatedError:
    """Return the error of a body that is not JSON."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, f"JSON decode error: {reason}", details={"code": "invalid_json"})


def breaks_json(body: bytes, reason: str) -> EmulatedError:
    """Return a FastAPI container's error of a body that is not JSON: a violation with the text of Python's decoder.

    Source: fastapi, routing.py. A body that is not UTF-8 is a plain 400 there.

    Args:
        reason: the emulator's own error with line and column, for bodies that Python's decoder accepts.
    """
    try:
        text = body.decode()
        json.loads(text)
    except (UnicodeDecodeError, RecursionError):
        message = "There was an error parsing the body"
        return EmulatedError(ErrorKind.INVALID_REQUEST, message, details={"code": "invalid_json", "bare": True})
    except json.JSONDecodeError as error:
        offset, message = _parse_offset(error)
    else:
        offset, message = _find_offset(text, reason)
    context = {"error": message}
    return breaks_schema(
        [{"type": "json_invalid", "loc": (offset,), "msg": "JSON decode error", "input": {}, "ctx": context}]
    )


def _parse_offset(error: json.JSONDecodeError) -> tuple[int, str]:
    """Return offset and text of an error as Python before 3.13 has them, which reports trailing commas otherwise."""
    if not error.msg.startswith("Illegal trailing comma"):
        return error.pos, error.msg
    rest = error.doc[error.pos + 1 :]
    offset = error.pos + 1 + len(rest) - len(rest.lstrip(" \t\n\r"))
    closes_object = error.doc[offset : offset + 1] == "}"
    return offset, "Expecting property name enclosed in double quotes" if closes_object else "Expecting value"


def _find_offset(text: str, reason: str) -> tuple[int, str]:
    """Return offset and text of an error ``… at line 2 column 5``."""
    message, _, place = reason.rpartition(" at line ")
    line, _, column = place.partition(" column ")
    if not (line.isdecimal() and column.isdecimal()):
        return 0, reason
    before = text.split("\n")[: int(line) - 1]
    return sum(len(each) + 1 for each in before) + int(column) - 1, message.replace("expected value", "Expecting value")


def wrong_route(task: str, deployment_task: str, name: str) -> EmulatedError:
    """Return the error of a route for another kind of model than the deployment's."""
    details = {"task": task, "deployment_task": deployment_task, "model": name}
    return EmulatedError(ErrorKind.NOT_FOUND, details=details)


def no_such_path(path: str) -> EmulatedError:
    """Return the error of a route that the profile lacks."""
    return EmulatedError(ErrorKind.NOT_FOUND, details={"path": path})


def unknown_deployment(name: str) -> EmulatedError:
    return EmulatedError(ErrorKind.NOT_FOUND, details={"deployment": name})


def unknown_model(name: str) -> EmulatedError:
    """Return the error of an unknown model. Source: Azure/azure-sdk-assets, ``services.ai.azure.com/models``."""
    return EmulatedError(
        ErrorKind.INVALID_REQUEST, f"Unknown model: {name}", param="model", details={"code": "unknown_model"}
    )


def no_model() -> EmulatedError:
    """Return the error of a missing model. Source: microsoft/AI-Red-Teaming-Playground-Labs issue 14."""
    message = (
        "No model specified in request. Please provide a model name in the request body "
        "or as a x-ms-model-mesh-model-name header."
    )
    return EmulatedError(ErrorKind.INVALID_REQUEST, message, param="model", details={"code": "no_model_name"})


def wrong_api_version(given: str | None) -> EmulatedError:
    """Return the error of a missing, malformed or unknown ``api-version``; at the gateways, of an unknown path."""
    message = "The api-version query parameter is required." if given is None else "API version not supported"
    return EmulatedError(
        ErrorKind.INVALID_REQUEST, message, param="api-version", details={"code": "invalid_api_version"}
    )


def context_exceeded(context: int, prompt_tokens: int, model: str, requested: int | None = None) -> EmulatedError:
    """Return the error of a prompt, or prompt and token limit, longer than the model's context."""
    return EmulatedError(
        ErrorKind.CONTEXT_LENGTH,
        details={"context": context, "prompt_tokens": prompt_tokens, "requested": requested, "model": model},
    )
