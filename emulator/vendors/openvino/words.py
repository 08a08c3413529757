"""What the server says where a scenario names only the kind of a refusal.

Source: model_server, src/status.cpp and src/http_server.cpp. Kinds the server never refuses by itself have
the common status, in the usual envelope.
"""

from __future__ import annotations

from emulator.core.errors import ErrorKind

MISSING_GRAPH = "Mediapipe graph definition with requested name is not found"
MISSING_MODEL = "Model with requested name is not found"
FAILED = "Response generation failed"

# Kinds that a graph's calculator refuses; inside an open stream they are part of it.
GRAPH_KINDS = frozenset((ErrorKind.INVALID_PARAMETER, ErrorKind.CONTEXT_LENGTH, ErrorKind.CONTENT_FILTER))

STATUS: dict[ErrorKind, int] = {
    ErrorKind.INVALID_REQUEST: 412,
    ErrorKind.INVALID_PARAMETER: 400,
    ErrorKind.UNAUTHENTICATED: 500,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.METHOD_NOT_ALLOWED: 406,
    ErrorKind.PAYLOAD_TOO_LARGE: 413,  # unverified
    ErrorKind.CONTEXT_LENGTH: 400,
    ErrorKind.CONTENT_FILTER: 400,
    ErrorKind.RATE_LIMITED: 429,
    ErrorKind.OVERLOADED: 503,
    ErrorKind.NOT_READY: 500,
    ErrorKind.TIMEOUT: 504,
    ErrorKind.INTERNAL: 500,
}
TEXT: dict[ErrorKind, str] = {
    ErrorKind.INVALID_REQUEST: "The file is not valid json - Cannot parse JSON body",
    ErrorKind.INVALID_PARAMETER: FAILED,
    ErrorKind.UNAUTHENTICATED: "Unauthorized request due to invalid or missing api-key",
    ErrorKind.FORBIDDEN: "Forbidden",
    ErrorKind.NOT_FOUND: MISSING_GRAPH,
    ErrorKind.METHOD_NOT_ALLOWED: "Unsupported method",
    ErrorKind.PAYLOAD_TOO_LARGE: "Request body is too large",
    ErrorKind.CONTEXT_LENGTH: FAILED,  # with numbers, where they are known
    ErrorKind.CONTENT_FILTER: FAILED,
    ErrorKind.RATE_LIMITED: "Too many requests",
    ErrorKind.OVERLOADED: "Server is overloaded",
    ErrorKind.NOT_READY: "Mediapipe is not loaded yet",
    ErrorKind.TIMEOUT: "Request timed out",
    ErrorKind.INTERNAL: "",  # an unexpected exception: the body is empty
}
_WRONG_TYPE = {
    "is not a valid number": """frequency_penalty presence_penalty repetition_penalty diversity_penalty length_penalty
        temperature top_p min_p""",
    "is not an unsigned integer": "max_tokens max_completion_tokens best_of n seed",
    "is not an integer": "top_k",
    "accepts values true or false": "ignore_eos include_stop_str_in_output echo logprobs",
    "is not a string or array of strings": "stop",
    "is not an object": "stream_options response_format",
    "is not a string": "prompt query",
    "is not an array": "documents",
}
_FIELDS = {name: f"{name} {text}" for text, names in _WRONG_TYPE.items() for name in names.split()} | {
    "messages": "Messages are not an array",
    "tools": "Tools are not an array",
    "input": "input should be string, array of strings or array of integers",
    "encoding_format": "encoding_format should either base64 or float",
}


def word_field(name: str) -> str:
    """What is said of a field of the wrong type."""
    return _FIELDS.get(name, f"{name} is not valid")


def word_probe(kind: ErrorKind, path: str, not_ready_status: int) -> tuple[int, str] | None:
    """Status and text of a refusal on routes that no graph answers, where they differ."""
    if kind is ErrorKind.NOT_READY and path == "/v2/health/ready":
        return not_ready_status, "Error while loading a model" if not_ready_status == 500 else "Server is not ready"
    if kind is ErrorKind.NOT_READY and path.startswith("/v2/models/"):
        return 404, "Model with requested version is not loaded yet"
    if kind is ErrorKind.NOT_FOUND and path.startswith(("/v2/models/", "/v1/models/")):
        return 404, MISSING_MODEL
    if kind is ErrorKind.INTERNAL and path == "/v1/config/reload":
        return 500, "Reloading config file failed. Check server logs for more info."
    return None
