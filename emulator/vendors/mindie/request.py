"""Parse and validate what all routes share: headers, body, model name, token ids and token limits.

Source: MindIE-LLM, ``http_wrapper/http_handler.cpp`` and ``llm_manager_impl.cpp``.
"""

import json
import re
from collections.abc import Sequence
from math import isinf

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, check_json, parse_json
from emulator.core.requests import Deployment
from emulator.core.vendor import Tokenizer
from emulator.protocols.big_numbers import has_big_numbers
from emulator.protocols.openai.messages import Format
from emulator.vendors.mindie import ranges
from emulator.vendors.mindie.chat.fields import parse_logprobs, parse_response_format
from emulator.vendors.mindie.decoder import Fields, NegativeZero, parse_boolean, parse_unsigned, refusal
from emulator.vendors.mindie.errors import TOO_LONG
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.sampling import (
    SamplingFields,
    parse_max_tokens,
    parse_sampling,
    validate_choices,
    validate_completion_choices,
    validate_features,
)
from emulator.vendors.mindie.server_state import find_profile, parse_role
from emulator.vendors.mindie.settings import MindieSettings

MAX_PROMPT_TOKENS = 1048576
BOM = b"\xef\xbb\xbf"  # byte order mark, which the server's parser skips
_NO_PREFILL = "DMI inference requests can be sent only to the prefill node or p_percentage of the flex node == 0"
NO_JSON = "Req body converts to json fail."  # text of the service itself, not of one form
BROKEN_REQUEST = "Failed to parse request context to json"
_REQUEST_ID = re.compile(r"[0-9a-fA-F]{1,1024}")
_TARGET = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?:;\d{1,5})?")
_NEGATIVE_ZERO = re.compile(rb"(?<![\w.+\-])-0(?![\d.eE])")
_LONG = 300  # digits; a longer whole number may exceed doubles
_MODEL = re.compile(r"[\w\-.]+", re.ASCII)


def validate_headers(request: Request, service: MindieService) -> None:
    """Raise unless a node of a disaggregated service gets the headers that a Coordinator sends."""
    if service.settings.infer_mode != "dmi":
        return
    role, share = parse_role(request.documents, service)
    if role != "prefill" and not share:
        raise EmulatedError(ErrorKind.INVALID_REQUEST, message=_NO_PREFILL, status=400)
    headers = request.headers
    valid = (
        headers.get("req-type", "") == "prefill"
        and _REQUEST_ID.fullmatch(headers.get("req-id", "")) is not None
        and _TARGET.fullmatch(headers.get("d-target", "")) is not None
    )
    if not valid:
        text = "DMI request must have req-type, req-id, d-target headers"
        raise EmulatedError(ErrorKind.INVALID_REQUEST, message=text, status=400)


def parse_body(request: Request, settings: MindieSettings, broken: str = BROKEN_REQUEST) -> Fields:
    """Parse the JSON object of the body under any content type; other JSON counts as an empty object.

    Args:
        broken: error text for a body that is not JSON.
    """
    if len(request.body) > settings.max_request_length * 1024**2:
        raise EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE)
    max_depth = settings.max_json_depth
    try:
        body = parse_exactly(request)
    except ValueError:
        raise refusal(broken) from None
    brackets = request.body.count(b"{") + request.body.count(b"[")
    if brackets > max_depth and _is_deeper(body, max_depth):
        raise refusal(broken)
    if not isinstance(body, dict):
        return {}
    return body


def has_odd_numbers(body: bytes) -> bool:
    """Return whether a body may have a number that the server's JSON library reads otherwise than ``core/json.py``."""
    return has_big_numbers(body) or (b"-0" in body and _NEGATIVE_ZERO.search(body) is not None)


def parse_exactly(request: Request) -> JSON:
    """Parse a body as the server's JSON library does, after a byte order mark too.

    Source: nlohmann/json, include/nlohmann/detail/input/lexer.hpp (scan_number) and parser.hpp (``value_float``).

    Raises:
        ValueError: the body is not JSON, or has a number beyond the range of doubles.
    """
    text = request.body.removeprefix(BOM)
    if len(text) == len(request.body):
        body = request.json()
    else:
        check_json(text, request.max_values, request.max_text)
        body = parse_json(text)
    if not has_odd_numbers(text):
        return body
    try:
        exact: JSON = json.loads(text, parse_int=_read_integer, parse_float=_read_float)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return exact


def _read_float(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise ValueError("a number is beyond the range of doubles")
    return number


def _read_integer(digits: str) -> int:
    if len(digits) > _LONG:
        _read_float(digits)
    return NegativeZero() if digits == "-0" else int(digits)


def _is_deeper(value: JSON, limit: int) -> bool:
    """Return whether arrays and objects are nested deeper than ``limit``."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        inner = [v for outer in level for v in (outer.values() if isinstance(outer, dict) else outer)]
        level = [v for v in inner if isinstance(v, dict | list)]
    return bool(level)


def validate_relayed(request: Request) -> None:
    """Validate a request as the Coordinator does before it picks a node.

    Source: MindIE-Motor, ``coordinator/request_listener/RequestListener.cpp``.

    Raises:
        EmulatedError: the Coordinator finds no prompt.
    """
    path = request.path
    try:
        body = parse_exactly(request)
    except ValueError:
        raise _relay_refusal() from None
    fields = body if isinstance(body, dict) else {}
    # The path decides whether the response streams.
    streams_by_path = path.startswith("/v2/") or ("generate" in path and "inputs" in fields)
    if not streams_by_path and not isinstance(fields.get("stream", False), bool):
        raise _relay_refusal()
    if path.startswith("/v1/"):
        if not fields.keys() & {"prompt", "messages"}:
            raise _relay_refusal("Invalid request format: Missing both 'prompt' or 'messages'")
    elif not _is_relayed(path, fields):
        raise _relay_refusal()


def _is_relayed(path: str, fields: Fields) -> bool:
    """Return whether the body has a prompt in the route's form."""
    inputs = fields.get("inputs")
    if path.startswith("/v2/"):
        return isinstance(fields.get("text_input"), str) or _is_token_input(inputs)
    if path.startswith("/infer"):
        ids = fields.get("input_id")
        return ("inputs" in fields) != ("input_id" in fields) and (isinstance(inputs, str) or _is_numbers(ids))
    if path == "/generate" and "inputs" not in fields:
        return isinstance(fields.get("prompt"), str)
    return isinstance(inputs, str)


def _is_token_input(inputs: JSON) -> bool:
    first = inputs[0] if isinstance(inputs, list) and inputs else None
    return isinstance(first, dict) and first.get("datatype") == "UINT32" and _is_numbers(first.get("data"))


def _is_numbers(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(number, int | float) for number in value)


def _relay_refusal(text: str = "Request format is invalid") -> EmulatedError:
    return EmulatedError(ErrorKind.INVALID_REQUEST, message=text, status=400)


def find_model(request: Request, service: MindieService, *, adapters: bool = False) -> Deployment:
    """Find the model of the path; with ``adapters`` also a configured adapter.

    Raises:
        EmulatedError: the name is unknown.
    """
    name = request.params["model"]
    if not _MODEL.fullmatch(name):
        raise EmulatedError(ErrorKind.NOT_FOUND, details={"path": request.path})
    deployment = service.deployments.get(name)
    if deployment is None or (deployment.kind == "lora" and not adapters):
        raise EmulatedError(ErrorKind.NOT_FOUND, message=f"Model {name} not found.")
    return deployment


def validate_ids(ids: Sequence[int], tokenizer: Tokenizer, field: str) -> None:
    """Raise if a token id is outside the model's vocabulary."""
    size = tokenizer.vocabulary_size
    if any(not 0 <= token < size for token in ids):
        raise refusal("Failed to enqueue inferRequest. Invalid Input Ids", field, 424)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """Parsed fields of a request to an OpenAI route, without its prompt.

    Fields:
        logprobs: alternatives to list; ``None``: no log-probabilities.
        asked: requested maximum of completion tokens, before the limits of the deployment.
    """

    sampling: SamplingFields
    logprobs: int | None
    asked: int
    stream: bool
    form: Format
    schema: JSON


def parse_request(fields: Fields, service: MindieService, deployment: Deployment, *, chat: bool) -> ParsedRequest:
    """Parse all but the prompt in the server's order; ``chat``: by the rules of the chat route.

    Source: MindIE-LLM, the ``SetupInferParams`` of both routes.
    """
    settings = service.settings
    sampling = parse_sampling(fields, settings, chat=chat, ids_first=chat)
    logprobs = parse_logprobs(fields) if chat else parse_unsigned(fields, "logprobs", ranges.LOGPROBS)
    asked = parse_max_tokens(fields) or find_profile(service, deployment).answer
    stream = parse_boolean(fields, "stream") or False
    form, schema = parse_response_format(fields)
    if chat:
        validate_choices(sampling, stream=stream)
    else:
        validate_completion_choices(sampling, stream=stream)
    validate_features(sampling, settings, asked, logprobs)
    return ParsedRequest(sampling=sampling, logprobs=logprobs, asked=asked, stream=stream, form=form, schema=schema)


@fast_dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of the prompt that are kept, and the maximum of the response."""

    prompt: int
    answer: int


def validate_tokens(count: int, name: str = "inputs") -> None:
    """Raise unless a prompt, the field ``name``, has 1 to 1048576 tokens."""
    if not 0 < count <= MAX_PROMPT_TOKENS:
        label = "Inputs" if name == "inputs" else name
        raise refusal(f"{label} token length must be in (0, {MAX_PROMPT_TOKENS}], but got {count}", name)


def measure_lengths(service: MindieService, deployment: Deployment, count: int, asked: int) -> Lengths:
    """Raise if the prompt exceeds the engine's limits; return how long prompt and response may be.

    In a disaggregated service a response bounded by ``maxIterTimes`` has the prefill's token in addition.
    """
    settings, profile = service.settings, find_profile(service, deployment)
    positions = settings.max_position_embeddings
    limit = profile.prompt if positions is None else min(profile.prompt, positions)
    if settings.truncation:
        count = min(count, limit)
    if positions is not None and count > positions:
        raise length_refusal(f"maxPositionEmbeddings {positions}", count)
    if count > profile.prompt:
        raise length_refusal(str(profile.prompt), count)
    iterations = profile.answer
    if settings.disaggregated and asked > iterations:
        iterations += 1
    sequence = profile.sequence if positions is None else min(profile.sequence, positions)
    return Lengths(count, max(1, min(asked, iterations, sequence - count)))


def length_refusal(bound: str, count: int) -> EmulatedError:
    """Return the engine's error for a prompt longer than ``bound``."""
    return EmulatedError(ErrorKind.CONTEXT_LENGTH, TOO_LONG.format(most=bound, count=count), status=424)
