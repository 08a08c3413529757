"""Validate and parse a request of the Gemini API: fields, contents, tools, sampling, schemas; for Databricks."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object, as_array, as_integer, as_number, as_object, as_text, dump_text
from emulator.core.requests import Message, Sampling, Tool, ToolCall

_ENUMS: Mapping[str, tuple[str, Sequence[str]]] = {
    "Mode": ("FunctionCallingConfig.Mode", ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")),
    "HarmCategory": (
        "HarmCategory",
        (
            "HARM_CATEGORY_UNSPECIFIED", "HARM_CATEGORY_DEROGATORY", "HARM_CATEGORY_TOXICITY", "HARM_CATEGORY_VIOLENCE",
            "HARM_CATEGORY_SEXUAL", "HARM_CATEGORY_MEDICAL", "HARM_CATEGORY_DANGEROUS", "HARM_CATEGORY_HARASSMENT",
            "HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_SEXUALLY_EXPLICIT", "HARM_CATEGORY_DANGEROUS_CONTENT",
            "HARM_CATEGORY_CIVIC_INTEGRITY", "HARM_CATEGORY_JAILBREAK", "HARM_CATEGORY_IMAGE_HATE",
            "HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT", "HARM_CATEGORY_IMAGE_HARASSMENT",
            "HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT",
        ),
    ),
    "HarmBlockThreshold": (
        "SafetySetting.HarmBlockThreshold",
        (
            "HARM_BLOCK_THRESHOLD_UNSPECIFIED", "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH",
            "BLOCK_NONE", "OFF",
        ),
    ),
    "HarmBlockMethod": (
        "SafetySetting.HarmBlockMethod", ("HARM_BLOCK_METHOD_UNSPECIFIED", "SEVERITY", "PROBABILITY")
    ),
}  # fmt: skip
"""Enumerations: their names in errors, and their values. Source: google-genai, ``types.py``."""
_PACKAGE = "type.googleapis.com/google.ai.generativelanguage.v1beta"
# Message → its fields. A star: a list; ``any``: not validated.
MESSAGES: Mapping[str, Mapping[str, str]] = {
    "GenerateContentRequest": {
        "model": "string", "contents": "*Content", "systemInstruction": "Content", "tools": "*Tool",
        "toolConfig": "ToolConfig", "safetySettings": "*SafetySetting", "generationConfig": "GenerationConfig",
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
    "FunctionCall": {"id": "string", "name": "string", "args": "Struct", "partialArgs": "any", "willContinue": "bool"},
    "FunctionResponse": {
        "id": "string", "name": "string", "response": "Struct", "willContinue": "bool", "scheduling": "string",
        "parts": "any",
    },
    "Tool": {
        "functionDeclarations": "*FunctionDeclaration", "googleSearch": "any", "googleSearchRetrieval": "any",
        "codeExecution": "any", "urlContext": "any", "computerUse": "any", "googleMaps": "any", "fileSearch": "any",
        "enterpriseWebSearch": "any", "retrieval": "any", "mcpServers": "any",
    },
    "FunctionDeclaration": {
        "name": "string", "description": "string", "behavior": "string", "parameters": "Schema",
        "parametersJsonSchema": "any", "response": "Schema", "responseJsonSchema": "any",
    },
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig", "retrievalConfig": "any",
        "includeServerSideToolInvocations": "bool",
    },
    "FunctionCallingConfig": {
        "mode": "Mode", "allowedFunctionNames": "*string", "streamFunctionCallArguments": "bool",
    },
    "GenerationConfig": {
        "stopSequences": "*string", "responseMimeType": "string", "responseSchema": "Schema",
        "responseJsonSchema": "any", "_responseJsonSchema": "any", "responseModalities": "*string",
        "candidateCount": "int32", "maxOutputTokens": "int32", "temperature": "float", "topP": "float",
        "topK": "float", "seed": "int32", "presencePenalty": "float", "frequencyPenalty": "float",
        "responseLogprobs": "bool", "logprobs": "int32", "enableEnhancedCivicAnswers": "bool",
        "speechConfig": "any", "thinkingConfig": "ThinkingConfig", "imageConfig": "any",
        "mediaResolution": "string", "audioTimestamp": "bool", "routingConfig": "any", "modelConfig": "any",
        "modelSelectionConfig": "any", "enableAffectiveDialog": "bool",
    },
    "SafetySetting": {"category": "HarmCategory", "threshold": "HarmBlockThreshold", "method": "HarmBlockMethod"},
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "int32", "thinkingLevel": "string"},
}  # fmt: skip


_OPEN = {"Schema": f"{_PACKAGE}.Schema", "Struct": "type.googleapis.com/google.protobuf.Struct"}
"""Messages whose members are not validated here, by their names in errors."""


def error_parameter(text: str, field: str | None = None) -> EmulatedError:
    """Return the error of an invalid request (400); ``field``: its path, where Google reports one."""
    return EmulatedError(ErrorKind.INVALID_PARAMETER, text, field)


def parse_request(body: Mapping[str, JSON], message: str) -> Object:
    """Return the request with every name in camel case and without ``null`` members."""
    return _parse_message(body, message, "")


def _parse_message(value: JSON, message: str, where: str) -> Object:
    if not isinstance(value, dict):
        raise _error_type(value, f"{_PACKAGE}.{message}", where)
    fields = MESSAGES[message]
    found: Object = {}
    for given, inner in value.items():
        name = given if given in fields else _to_camel(given)
        kind = fields.get(name)
        if kind is None:
            place = f" at '{where}'" if where else ""
            text = f'Invalid JSON payload received. Unknown name "{given}"{place}: Cannot find field.'
            raise error_parameter(text, where or None)
        if inner is not None:
            found[name] = _parse_value(inner, kind, f"{where}.{_to_snake(name)}" if where else _to_snake(name))
    return found


def _parse_value(value: JSON, kind: str, where: str) -> JSON:
    if kind.startswith("*"):
        if not isinstance(value, list):
            return [_parse_value(value, kind[1:], where)]
        return [_parse_value(item, kind[1:], f"{where}[{number}]") for number, item in enumerate(value)]
    if kind in MESSAGES:
        return _parse_message(value, kind, where)
    if kind in _OPEN:
        if not isinstance(value, dict):
            raise _error_type(value, _OPEN[kind], where)
        return value
    return value if kind == "any" else _parse_scalar(value, kind, where)


def _parse_scalar(value: JSON, kind: str, where: str) -> JSON:
    if kind in _ENUMS:
        name, values = _ENUMS[kind]
        if value not in values:
            raise _error_type(value, f"{_PACKAGE}.{name}", where)
        return value
    if kind in ("int32", "float"):
        number = _parse_number(value)
        if number is not None and (kind == "float" or number == int(number)):
            return number if kind == "float" else int(number)
    elif isinstance(value, bool if kind == "bool" else str):
        return value
    raise _error_type(value, f"TYPE_{kind.upper()}", where)


def _parse_number(value: JSON) -> float | None:
    """Parse a finite number, or a string of one; ``None`` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _error_type(value: JSON, kind: str, where: str) -> EmulatedError:
    return error_parameter(f"Invalid value at '{where}' ({kind}), {dump_text(value)}", where)


def _to_camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _to_snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def list_rated(body: Object) -> tuple[str, ...]:
    """Return the categories of harm whose filter the request sets and does not turn off.

    Raises:
        EmulatedError: a category has no threshold, or two.
    """
    rated: dict[str, bool] = {}
    for number, setting in enumerate(map(as_object, as_array(body.get("safetySettings", [])))):
        category = as_text(setting.get("category", "HARM_CATEGORY_UNSPECIFIED"))
        if category == "HARM_CATEGORY_UNSPECIFIED":
            where = f"GenerateContentRequest.safety_settings[{number}].category"
            raise error_parameter(f"* {where}: element predicate failed: $.category != 0", where)
        if category in rated:
            raise error_parameter(f"Duplicate safety setting for category {category}.", "safety_settings")
        rated[category] = setting.get("threshold", "OFF") not in ("OFF", "HARM_BLOCK_THRESHOLD_UNSPECIFIED")
    return tuple([category for category, is_on in rated.items() if is_on])


_NUMBER_FORMATS = ("enum", "float", "double", "int32", "int64")  # formats that describe the storage of a number
_DROPPED = ("nullable", "propertyOrdering", "property_ordering", "example", "title", "default")
_SIZE_FIELDS = ("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength")
_NAMES: dict[str, str] = {
    "any_of": "anyOf", "min_items": "minItems", "max_items": "maxItems", "min_length": "minLength",
    "max_length": "maxLength", "min_properties": "minProperties", "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
}  # fmt: skip


def to_json_schema(schema: JSON) -> JSON:
    """Convert a Gemini schema to JSON Schema; a value that is no object is returned unchanged."""
    if not isinstance(schema, dict):
        return schema
    found: Object = {}
    for given, value in schema.items():
        name = _NAMES.get(given) or given
        if name in _DROPPED or value is None or (name == "format" and value in _NUMBER_FORMATS):
            continue
        found[name] = _convert(name, value)
    kind = found.get("type")
    if schema.get("nullable") is True and isinstance(kind, str):
        found["type"] = [kind, "null"]
        if isinstance(values := found.get("enum"), list):
            found["enum"] = [*values, None]
    return found


def _convert(name: str, value: JSON) -> JSON:
    if name == "type":
        return value.lower() if isinstance(value, str) else value
    if name == "properties" and isinstance(value, dict):
        return {key: to_json_schema(inner) for key, inner in value.items()}
    if name == "anyOf" and isinstance(value, list):
        return [to_json_schema(inner) for inner in value]
    if name in ("items", "additionalProperties"):
        return to_json_schema(value)
    if name in _SIZE_FIELDS and isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:9])  # an int64 is a string
    return value


ToolChoice = Literal["none", "auto", "required"]
Format = Literal["text", "json_object", "json_schema"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", re.ASCII)
_MEDIA = ("inlineData", "fileData")
_MAX_CANDIDATES = 8
_MAX_LOW_EFFORT = 2048  # tokens of thought up to which the effort is low
_MIME_TYPES = ("text/plain", "application/json", "text/x.enum")
# Fields of the generation config that change the text, each with the value that does not.
_PARAMETERS: tuple[tuple[str, JSON], ...] = (
    ("temperature", 1.0), ("topP", None), ("topK", None), ("frequencyPenalty", 0.0), ("presencePenalty", 0.0),
)  # fmt: skip


@fast_dataclass(frozen=True, slots=True, eq=False)
class GeminiToolChoice:
    """Function calling mode and the names of allowed functions; empty: all."""

    kind: ToolChoice
    names: tuple[str, ...] = ()


def parse_contents(body: Mapping[str, JSON]) -> tuple[Message, ...]:
    """Return the conversation of ``systemInstruction`` and ``contents``."""
    system = "".join(_parse_text(part) for part in _list_parts(body.get("systemInstruction")))
    messages = [Message(role="system", text=system)] if system else []
    contents = [as_object(content) for content in as_array(body.get("contents") or [])]
    if not contents:
        raise error_parameter("* GenerateContentRequest.contents: contents is not specified\n", "contents")
    called = -1
    for number, content in enumerate(contents):
        parts = _list_parts(content)
        if not parts:
            text = f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be empty.\n"
            raise error_parameter(text, "contents")
        if content.get("role", "user") not in ("user", "model", "function", ""):
            raise error_parameter("Please use a valid role: user, model.")
        called = _validate_turn(parts, called, number)
        messages += _parse_turn("assistant" if content.get("role") == "model" else "user", parts)
    return tuple(messages)


def _list_parts(content: JSON) -> list[Object]:
    return [as_object(part) for part in as_array(content.get("parts") or [])] if isinstance(content, dict) else []


def _validate_turn(parts: Sequence[Mapping[str, JSON]], called: int, number: int) -> int:
    """Validate a turn against the one before; return its function calls. ``called`` is -1 before the first."""
    calls = sum("functionCall" in part for part in parts)
    results = sum("functionResponse" in part for part in parts)
    if results and called < 1:
        raise error_parameter("Please ensure that function response turn comes immediately after a function call turn.")
    if called > 0 and results != called:
        text = (
            "Please ensure that the number of function response parts is equal to the number of function call parts"
            " of the function call turn."
        )
        raise error_parameter(text)
    if calls and not number:
        text = (
            "Please ensure that function call turn comes immediately after a user turn or after a function response"
            " turn."
        )
        raise error_parameter(text)
    return calls


def _parse_text(part: Mapping[str, JSON]) -> str:
    return "" if part.get("thought") else str(part.get("text", ""))


def _parse_turn(role: str, parts: Sequence[Mapping[str, JSON]]) -> Iterator[Message]:
    """Yield each function result of a turn as a message, then the turn's own message."""
    calls: list[ToolCall] = []
    for part in parts:
        if isinstance(result := part.get("functionResponse"), dict):
            name = str(result.get("id") or result.get("name", ""))
            yield Message(role="tool", text=dump_text(result.get("response") or {}), tool_call_id=name)
        elif isinstance(call := part.get("functionCall"), dict):
            name = str(call.get("name", ""))
            calls.append(ToolCall(str(call.get("id") or name), name, dump_text(call.get("args") or {})))
    text = "".join(map(_parse_text, parts))
    media = sum(name in part for part in parts for name in _MEDIA)
    if text or calls or media:
        yield Message(role=role, text=text, tool_calls=tuple(calls), media=media)


def find_unsigned(body: Mapping[str, JSON]) -> str | None:
    """Return name and position of the first call of a turn without a thought signature, as Google formats them."""
    position = 0
    for content in as_array(body.get("contents") or []):
        first = True
        for part in _list_parts(content):
            position += 1
            call = part.get("functionCall")
            if isinstance(call, dict):
                if first and not part.get("thoughtSignature"):
                    return f"`default_api:{call.get('name', '')}` , position {position}"
                first = False
    return None


def parse_tools(body: Mapping[str, JSON]) -> tuple[Tool, ...]:
    """Return the client's functions; tools that the service runs itself are ignored."""
    found: dict[str, Tool] = {}
    for number, tool in enumerate(as_array(body.get("tools") or [])):
        for place, declared in enumerate(as_array(as_object(tool).get("functionDeclarations") or [])):
            read = _parse_tool(as_object(declared), f"tools[{number}].function_declarations[{place}]")
            if read.name in found:
                raise error_parameter(f"Duplicate function declaration found: {read.name}")
            found[read.name] = read
    return tuple(found.values())


def _parse_tool(declared: Mapping[str, JSON], where: str) -> Tool:
    name = str(declared.get("name", ""))
    if not _NAME.fullmatch(name):
        text = (
            f"* GenerateContentRequest.{where}.name: Invalid function name. Must start with a letter or an underscore."
            " Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a"
            " maximum length of 64.\n"
        )
        raise error_parameter(text, where)
    schema = declared.get("parametersJsonSchema")
    if schema is None:
        schema = to_json_schema(declared.get("parameters"))
    parameters = schema if isinstance(schema, dict) else None
    return Tool(name=name, description=str(declared.get("description") or ""), parameters=parameters)


def parse_tool_choice(body: Mapping[str, JSON], tools: Sequence[Tool]) -> GeminiToolChoice:
    """Parse ``toolConfig.functionCallingConfig``."""
    config = body.get("toolConfig")
    calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
    if not isinstance(calling, dict):
        return GeminiToolChoice("auto" if tools else "none")
    mode = calling.get("mode", "AUTO")
    names = tuple(as_text(name) for name in as_array(calling.get("allowedFunctionNames") or []))
    if names and mode not in ("ANY", "VALIDATED"):
        raise error_parameter("Please set allowed_function_names only when function calling mode is ANY.")
    unknown = next((name for name in names if name not in [tool.name for tool in tools]), None)
    if unknown is not None:
        raise error_parameter(f"`allowed_function_names` contains a name that is not declared: {unknown}")
    if mode == "ANY" and not tools:
        raise error_parameter("Function calling config is set without function_declarations.")
    kinds: Mapping[JSON, ToolChoice] = {"ANY": "required", "NONE": "none"}
    return GeminiToolChoice(kinds.get(mode, "auto" if tools else "none"), names)


def get_config(body: Mapping[str, JSON]) -> Object:
    """Return ``generationConfig``, or an empty object."""
    config = body.get("generationConfig")
    return config if isinstance(config, dict) else {}


def validate_config(config: Mapping[str, JSON]) -> None:
    """Raise for the first value out of bounds."""
    _validate_range(config, "temperature", "temperature", 0.0, 2.0)
    _validate_range(config, "topP", "top_p", 0.0, 1.0)
    for name, snake in (("maxOutputTokens", "max_output_tokens"), ("topK", "top_k")):
        if name in config and as_number(config[name]) <= 0:
            raise _error_bounds(snake, "must be positive.")
    count = config.get("candidateCount", 1)
    if not 1 <= as_integer(count) <= _MAX_CANDIDATES:
        raise _error_bounds("candidate_count", f"must be in the range [1, {_MAX_CANDIDATES}].")
    if "logprobs" in config:
        if not config.get("responseLogprobs"):
            raise _error_bounds("logprobs", "only allowed when response_logprobs is set to true.")
        _validate_range(config, "logprobs", "logprobs", 0, 20)
    kind = config.get("responseMimeType", "text/plain")
    if kind not in _MIME_TYPES:
        raise _error_bounds("response_mime_type", f"allowed mimetypes are {', '.join(_MIME_TYPES)}.")
    if "responseSchema" in config and kind == "text/plain":
        raise _error_bounds("response_schema", "only allowed when response_mime_type is application/json.")


def _validate_range(config: Mapping[str, JSON], name: str, snake: str, low: float, high: float) -> None:
    if name in config and not low <= as_number(config[name]) <= high:
        raise _error_bounds(snake, f"must be in the range [{low}, {high}].")


def _error_bounds(name: str, text: str) -> EmulatedError:
    where = f"generation_config.{name}"
    return error_parameter(f"* GenerateContentRequest.{where}: {name} {text}\n", where)


def parse_sampling(config: Mapping[str, JSON], limit: int | None) -> Sampling:
    """Return the sampling of a validated config; ``limit``: max tokens."""
    seed = config.get("seed")
    logprobs = as_integer(config.get("logprobs", 0)) if config.get("responseLogprobs") else None
    return Sampling(
        max_tokens=limit,
        greedy=config.get("temperature") == 0 or config.get("topK") == 1,
        seed=None if seed is None else as_integer(seed),
        parameters=tuple((name, config[name]) for name, default in _PARAMETERS if config.get(name, default) != default),
        stop=tuple(as_text(stop) for stop in as_array(config.get("stopSequences") or []) if stop),
        n=as_integer(config.get("candidateCount", 1)),
        logprobs=logprobs,
    )


def parse_format(config: Mapping[str, JSON]) -> tuple[Format, JSON]:
    """Return the format of the answer and its JSON Schema."""
    if config.get("responseMimeType", "text/plain") == "text/plain":
        return "text", None
    schema = config.get("responseJsonSchema", config.get("_responseJsonSchema"))
    if schema is None and "responseSchema" in config:
        schema = to_json_schema(config["responseSchema"])
    return ("json_object", None) if schema is None else ("json_schema", schema)


def parse_effort(config: Mapping[str, JSON]) -> str | None:
    """Return the reasoning effort; ``None`` for a budget of 0. The default is ``medium``."""
    thinking = config.get("thinkingConfig")
    if not isinstance(thinking, dict):
        return "medium"
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if isinstance(level, str):
        return {"MINIMAL": "low", "LOW": "low", "HIGH": "high"}.get(level.upper(), "medium")
    if not isinstance(budget, int) or budget < 0:  # -1: dynamic
        return "medium"
    return None if budget == 0 else "low" if budget <= _MAX_LOW_EFFORT else "high"


def includes_thoughts(config: Mapping[str, JSON]) -> bool:
    thinking = config.get("thinkingConfig")
    return isinstance(thinking, dict) and thinking.get("includeThoughts") is True
