"""The fields of a Gemini request as Google reads JSON into its messages.

Names come in camel case or with underscores, one message may stand for a list of one, numbers may be strings, and
``null`` is as good as absent. Source: ai.google.dev, "Generating content"; the texts are those of Google's JSON
reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object, dump_text

_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
_PACKAGE = "type.googleapis.com/google.ai.generativelanguage.v1beta"
# Message → its fields. A star: a list; ``any``: left as it is.
MESSAGES: Mapping[str, Mapping[str, str]] = {
    "GenerateContentRequest": {
        "model": "string", "contents": "*Content", "systemInstruction": "Content", "tools": "*Tool",
        "toolConfig": "ToolConfig", "safetySettings": "any", "generationConfig": "GenerationConfig",
        "cachedContent": "string", "labels": "any", "serviceTier": "string", "store": "bool",
        "modelArmorConfig": "any",
    },
    "CountTokensRequest": {
        "model": "string", "contents": "*Content", "generateContentRequest": "GenerateContentRequest",
        "systemInstruction": "Content", "tools": "*Tool", "generationConfig": "GenerationConfig",
    },
    "Content": {"role": "string", "parts": "*Part"},
    "Part": {
        "text": "string", "thought": "bool", "thoughtSignature": "string", "inlineData": "Blob",
        "functionCall": "FunctionCall", "functionResponse": "FunctionResponse", "fileData": "FileData",
        "executableCode": "any", "codeExecutionResult": "any", "videoMetadata": "any", "partMetadata": "any",
        "mediaResolution": "any", "toolCall": "any", "toolResponse": "any",
    },
    "Blob": {"mimeType": "string", "data": "string", "displayName": "string"},
    "FileData": {"mimeType": "string", "fileUri": "string", "displayName": "string"},
    "FunctionCall": {"id": "string", "name": "string", "args": "any", "partialArgs": "any", "willContinue": "bool"},
    "FunctionResponse": {
        "id": "string", "name": "string", "response": "any", "willContinue": "bool", "scheduling": "string",
        "parts": "any",
    },
    "Tool": {
        "functionDeclarations": "*FunctionDeclaration", "googleSearch": "any", "googleSearchRetrieval": "any",
        "codeExecution": "any", "urlContext": "any", "computerUse": "any", "googleMaps": "any", "fileSearch": "any",
        "enterpriseWebSearch": "any", "retrieval": "any", "mcpServers": "any",
    },
    "FunctionDeclaration": {
        "name": "string", "description": "string", "behavior": "string", "parameters": "any",
        "parametersJsonSchema": "any", "response": "any", "responseJsonSchema": "any",
    },
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig", "retrievalConfig": "any",
        "includeServerSideToolInvocations": "bool",
    },
    "FunctionCallingConfig": {
        "mode": "Mode", "allowedFunctionNames": "*string", "streamFunctionCallArguments": "bool",
    },
    "GenerationConfig": {
        "stopSequences": "*string", "responseMimeType": "string", "responseSchema": "any",
        "responseJsonSchema": "any", "_responseJsonSchema": "any", "responseModalities": "*string",
        "candidateCount": "int32", "maxOutputTokens": "int32", "temperature": "float", "topP": "float",
        "topK": "float", "seed": "int32", "presencePenalty": "float", "frequencyPenalty": "float",
        "responseLogprobs": "bool", "logprobs": "int32", "enableEnhancedCivicAnswers": "bool",
        "speechConfig": "any", "thinkingConfig": "ThinkingConfig", "imageConfig": "any",
        "mediaResolution": "string", "audioTimestamp": "bool", "routingConfig": "any", "modelConfig": "any",
        "modelSelectionConfig": "any", "enableAffectiveDialog": "bool",
    },
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "int32", "thinkingLevel": "string"},
}  # fmt: skip


def invalid(text: str, field: str | None = None) -> EmulatedError:
    """400; ``field``: which one, where Google says so."""
    return EmulatedError(ErrorKind.INVALID_PARAMETER, text, field)


def read_request(body: Mapping[str, JSON], message: str) -> Object:
    """A request with every name in camel case, and without what is ``null``.

    Raises:
        EmulatedError: the first field that is unknown or mistyped.
    """
    return _read_message(body, message, "")


def _read_message(value: JSON, message: str, where: str) -> Object:
    if not isinstance(value, dict):
        raise _mistyped(value, f"{_PACKAGE}.{message}", where)
    fields = MESSAGES[message]
    found: Object = {}
    for given, inner in value.items():
        name = given if given in fields else _to_camel(given)
        kind = fields.get(name)
        if kind is None:
            place = f" at '{where}'" if where else ""
            text = f'Invalid JSON payload received. Unknown name "{given}"{place}: Cannot find field.'
            raise invalid(text, where or None)
        if inner is not None:
            found[name] = _read(inner, kind, f"{where}.{_to_snake(name)}" if where else _to_snake(name))
    return found


def _read(value: JSON, kind: str, where: str) -> JSON:
    if kind.startswith("*"):
        if not isinstance(value, list):
            return [_read(value, kind[1:], where)]
        return [_read(item, kind[1:], f"{where}[{number}]") for number, item in enumerate(value)]
    if kind in MESSAGES:
        return _read_message(value, kind, where)
    return value if kind == "any" else _read_scalar(value, kind, where)


def _read_scalar(value: JSON, kind: str, where: str) -> JSON:
    if kind == "Mode":
        if value not in _MODES:
            raise _mistyped(value, f"{_PACKAGE}.FunctionCallingConfig.Mode", where)
        return value
    if kind in ("int32", "float"):
        number = _read_number(value)
        if number is not None and (kind == "float" or number == int(number)):
            return number if kind == "float" else int(number)
    elif isinstance(value, bool if kind == "bool" else str):
        return value
    raise _mistyped(value, f"TYPE_{kind.upper()}", where)


def _read_number(value: JSON) -> float | None:
    """A number, or a string that is one; none that has no end."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _mistyped(value: JSON, kind: str, where: str) -> EmulatedError:
    return invalid(f"Invalid value at '{where}' ({kind}), {dump_text(value)}", where)


def _to_camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _to_snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
