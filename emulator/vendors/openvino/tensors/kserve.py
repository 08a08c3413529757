"""Parse ``POST /v2/models/{name}/infer`` as JSON, with or without binary data behind it.

Source: model_server, src/rest_parser.cpp, KFSRestParser, and src/http_rest_api_handler.cpp, prepareGrpcRequest.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object, check_json
from emulator.core.requests import CompletionRequest
from emulator.core.text import parse_integer
from emulator.vendors.openvino.decoder import is_int32, is_uint32
from emulator.vendors.openvino.errors import add_call_details
from emulator.vendors.openvino.profile import REFUSED, OpenVinoService
from emulator.vendors.openvino.rapidjson import TooDeepError, parse_json
from emulator.vendors.openvino.request import ADD_PACKET
from emulator.vendors.openvino.tensors.render import InferCodec
from emulator.vendors.openvino.tensors.tensor import (
    FLOATS,
    MAX_INLINE_VALUES,
    Tensor,
    Value,
    count_item_bytes,
    count_outputs,
    is_known,
    list_tensors,
    pack_values,
    status_refusal,
)
from emulator.vendors.openvino.tensors.validation import RequestTensor, find_model, validate_tensors

_INPUT = "Could not parse input content. Not valid ndarray detected"
_OUTPUT = "Could not parse output content."
_NO_JSON = "The file is not valid json"
_PARAMETERS = "Could not parse request parameters"
_PRECISION = "Could not parse input content. Unsupported data precision detected"
_BOTH_WAYS = "Request contains values both in binary data and in content value"
_MIXED = (
    "Passing buffers both in ModelInferRequest::InferInputTensor::contents and in "
    "ModelInferRequest::raw_input_contents is not allowed"
)
_SIZE = "binary_data_size parameter is invalid and cannot be parsed"
_LENGTH = re.compile(r"-?[0-9]+")
_RAW_ONLY = frozenset(("FP16", "BF16"))


@fast_dataclass(frozen=True, slots=True)
class _Input:
    """Input tensor before its bytes are assigned; ``values``: ``None`` if there are none."""

    name: str
    shape: tuple[int, ...]
    datatype: str
    parameters: Mapping[str, JSON]
    values: list[Value] | None


def parse_infer(request: Request, service: OpenVinoService) -> InferenceCall:
    """Parse tensors for a model; the body is validated before the model's name."""
    head, tail = _split_body(request)
    body = _load_head(head, request, service)
    binary = _parse_binary(body)
    inputs = _parse_inputs(body)
    raws = _share_bytes(inputs, tail)
    deployment = find_model(request, service, request.params["name"])
    if service.profiles[deployment.name].kind != "classic":
        status = 412 if service.settings.release.since(2025, 0) else 500
        raise EmulatedError(ErrorKind.INVALID_REQUEST, ADD_PACKET, status=status)
    given = {each.name: _build_tensor(each, raw) for each, raw in zip(inputs, raws, strict=True)}
    try:
        if any(raw is not None for raw in raws) and any(each.values for each in inputs):
            raise status_refusal(_MIXED)
        validate_tensors(list_tensors(deployment, "inputs"), given, len(inputs), "input name: ")
    except EmulatedError as error:
        raise add_call_details(error, deployment, f"ModelInfer {REFUSED}") from None
    request_id = body.get("id")
    count = count_outputs(deployment, [each.tensor for each in given.values()])
    return InferenceCall(
        deployment=deployment,
        is_cpu_heavy=count > MAX_INLINE_VALUES,
        request=CompletionRequest(prompts=("",), known=""),
        served="ModelInfer",
        codec=InferCodec(
            headers=service.settings.json_headers,
            deployment=deployment,
            inputs=tuple([each.tensor for each in given.values()]),
            id=request_id if isinstance(request_id, str) else "",
            binary_output=binary,
        ),
    )


def _split_body(request: Request) -> tuple[bytes, memoryview]:
    """Split the body into JSON and binary data at the length given by a header."""
    header = request.headers.get("Inference-Header-Content-Length")
    if header is None:
        return request.body, memoryview(b"")
    if not _LENGTH.fullmatch(header.strip()) or not 0 <= parse_integer(header) < 2**31:
        text = "Inference-Header-Content-Length header is invalid and couldn't be parsed"
        raise status_refusal(text, status=500)
    length = int(header)
    if length > len(request.body):
        raise status_refusal("Inference-Header-Content-Length header exceeds actual payload length", status=500)
    return request.body[:length], memoryview(request.body)[length:]


def load_object(text: bytes, request: Request, service: OpenVinoService) -> Object:
    """Parse a JSON object with the errors of the classic routes, which include the offset.

    Raises:
        EmulatedError: 412, 400 or 500.
    """
    limit = service.settings.release.nesting_limit
    try:
        check_json(text, request.max_values, request.max_text)
        body = parse_json(text, limit)
    except TooDeepError as error:
        if limit:
            raise status_refusal("JSON nesting depth exceeds the allowed limit", status=500) from None
        raise status_refusal(_NO_JSON, str(error), status=412) from None
    except ValueError as error:
        raise status_refusal(_NO_JSON, str(error), status=412) from None
    if not isinstance(body, dict):
        raise status_refusal("Request body should be JSON object")
    return body


def _load_head(text: bytes, request: Request, service: OpenVinoService) -> Object:
    body = load_object(text, request, service)
    if not isinstance(body.get("id", ""), str):
        raise status_refusal(_INPUT)
    _validate_parameters(body)
    return body


def _validate_parameters(place: Object) -> Object:
    found = place.get("parameters", {})
    if not isinstance(found, dict):
        raise status_refusal(_PARAMETERS)
    if not all(isinstance(value, str | bool) or is_int32(value) for value in found.values()):
        raise status_refusal(_PARAMETERS)
    return found


def _parse_binary(body: Object) -> str:
    """Return the output requested as binary data; of several outputs only the last counts."""
    all_binary = _validate_parameters(body).get("binary_data_output") is True
    outputs = body.get("outputs", [])
    if not isinstance(outputs, list):
        raise status_refusal(_INPUT)
    name, binary = "", all_binary
    for output in outputs:
        if not isinstance(output, dict) or not isinstance(output.get("name"), str):
            raise status_refusal(_OUTPUT)
        wanted = _validate_parameters(output).get("binary_data")
        name, binary = str(output["name"]), wanted if isinstance(wanted, bool) else all_binary
    return name if binary else ""


def _parse_inputs(body: Object) -> list[_Input]:
    if "inputs" not in body:
        raise status_refusal("Invalid JSON structure, missing inputs")
    inputs = body["inputs"]
    if not isinstance(inputs, list):
        raise status_refusal(_INPUT)
    if not inputs:
        raise status_refusal("Invalid JSON structure, missing inputs")
    return [_parse_input(each, alone=len(inputs) == 1) for each in inputs]


def _parse_input(value: JSON, *, alone: bool) -> _Input:
    if not isinstance(value, dict):
        raise status_refusal(_INPUT)
    name, shape, datatype = value.get("name"), value.get("shape"), value.get("datatype")
    if not isinstance(name, str) or not isinstance(shape, list) or not isinstance(datatype, str):
        raise status_refusal(_INPUT)
    sizes = tuple([size for size in shape if is_int32(size) and size >= 0])
    if len(sizes) != len(shape):
        raise status_refusal(_INPUT)
    parameters = _validate_parameters(value)
    values: list[Value] | None = None
    if "data" in value:
        if not isinstance(value["data"], list) or datatype in _RAW_ONLY:
            raise status_refusal(_INPUT)
        if not is_known(datatype):
            raise status_refusal(_PRECISION)
        values = list(_parse_values(value["data"], datatype))
    elif "binary_data_size" not in parameters and datatype == "BYTES" and not (alone and sizes == (1,)):
        raise status_refusal(_INPUT)
    return _Input(name, sizes, datatype, parameters, values)


def _parse_values(data: list[JSON], datatype: str) -> list[Value]:
    """Parse the elements of nested arrays; integers must fit 32 bits."""
    fits = _CHECKS.get(datatype, is_int32)
    values: list[Value] = []
    for element in _flatten(data):
        if not fits(element):
            raise status_refusal(_INPUT)
        if isinstance(element, str):
            values.append(element.partition("\0")[0].encode())
        elif isinstance(element, int | float):
            values.append(float(element) if datatype in FLOATS else element)
    return values


def _flatten(data: list[JSON]) -> Iterator[JSON]:
    """Yield the elements of nested arrays of any depth."""
    open_arrays = [iter(data)]
    while open_arrays:
        for element in open_arrays[-1]:
            if isinstance(element, list):
                open_arrays.append(iter(element))
                break
            yield element
        else:
            open_arrays.pop()


def _is_number(value: JSON) -> bool:
    return type(value) in (int, float)


_CHECKS: Mapping[str, Callable[[JSON], bool]] = {
    "BOOL": lambda value: isinstance(value, bool),
    "BYTES": lambda value: isinstance(value, str),
    "FP32": _is_number,
    "FP64": _is_number,
} | dict.fromkeys(("UINT8", "UINT16", "UINT32", "UINT64"), is_uint32)


def _share_bytes(inputs: list[_Input], tail: memoryview) -> list[bytes | None]:
    """Return the bytes of each input without values; ``None`` for an input with values."""
    shares: list[bytes | None] = []
    position = 0
    for each in inputs:
        size: JSON = each.parameters.get("binary_data_size")
        if size is not None:
            if each.values:
                raise status_refusal(_BOTH_WAYS, status=500)
            if type(size) is not int or size < 0:
                raise status_refusal(_SIZE)
        elif each.values:
            shares.append(None)
            continue
        else:
            size = len(tail) if len(inputs) == 1 and each.datatype == "BYTES" else _count_bytes(each)
        if size > len(tail) - position:
            raise status_refusal("Received buffer size is smaller than binary_data_size parameter indicates")
        shares.append(bytes(tail[position : position + size]))
        position += size
    return shares


def _count_bytes(each: _Input) -> int:
    size = count_item_bytes(each.datatype)
    for dimension in each.shape:
        size *= dimension
    return size


def _build_tensor(each: _Input, raw: bytes | None) -> RequestTensor:
    """Build a tensor; values too big for a narrow type lose their high bits."""
    if raw is not None:
        return RequestTensor(Tensor(each.name, each.datatype, each.shape, raw), None)
    values = each.values or []
    bits = 8 * count_item_bytes(each.datatype)
    if each.datatype not in FLOATS and each.datatype not in ("BYTES", "BOOL"):
        values = [_wrap(value, bits, signed=each.datatype.startswith("INT")) for value in values]
    return RequestTensor(Tensor(each.name, each.datatype, each.shape, pack_values(each.datatype, values)), len(values))


def _wrap(value: Value, bits: int, *, signed: bool) -> Value:
    if not isinstance(value, int):
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
