"""Parse ``POST /v1/models/{name}:predict`` of TensorFlow Serving, up to 2026.2, by rows or by columns.

Source: model_server, src/rest_parser.cpp, TFSRestParser, and src/http_rest_api_handler.cpp, processPredictRequest.
"""

import re
from collections.abc import Mapping
from itertools import chain

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.core.requests import CompletionRequest
from emulator.vendors.openvino.chat.media import decode_base64
from emulator.vendors.openvino.errors import MISSING_MODEL, add_call_details, path_refusal
from emulator.vendors.openvino.profile import REFUSED, OpenVinoService
from emulator.vendors.openvino.tensors.kserve import load_object
from emulator.vendors.openvino.tensors.render import PredictCodec
from emulator.vendors.openvino.tensors.tensor import (
    FLOATS,
    MAX_INLINE_VALUES,
    Tensor,
    TensorInfo,
    Value,
    count_item_bytes,
    count_outputs,
    list_tensors,
    pack_values,
    status_refusal,
)
from emulator.vendors.openvino.tensors.validation import RequestTensor, find_model, validate_tensors

_PATH = re.compile(r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/[^/]+)?:(?P<verb>predict)")
_INPUT = "Could not parse input content. Not valid ndarray detected"
_INSTANCE = "Could not parse instance content. Not valid ndarray detected"
_FORMAT = "Inputs inside buffer does not match expected format."


class _NoArrayError(Exception):
    """Value that is not an array of one type and shape."""


def parse_predict(request: Request, service: OpenVinoService) -> InferenceCall:
    """Parse tensors for a classic model; the model's name is validated before the body."""
    match = _PATH.fullmatch(request.path)
    if match is None:
        raise path_refusal(request)
    name = match["name"]
    if name in service.profiles and service.profiles[name].kind != "classic":
        raise EmulatedError(ErrorKind.NOT_FOUND, MISSING_MODEL)
    request.params = {"name": name, "version": match["version"] or "1"}
    deployment = find_model(request, service, name)
    declared = {info.name: info for info in list_tensors(deployment, "inputs")}
    try:
        rows, arrays = _parse_body(load_object(request.body, request, service), declared)
        given = {
            key: _build_tensor(key, array, declared.get(key), _INSTANCE if rows else _INPUT)
            for key, array in arrays.items()
        }
        validate_tensors([*declared.values()], given, len(given))
    except EmulatedError as error:
        raise add_call_details(error, deployment, f"Predict {REFUSED}") from None
    count = count_outputs(deployment, [each.tensor for each in given.values()])
    return InferenceCall(
        deployment=deployment,
        is_cpu_heavy=count > MAX_INLINE_VALUES,
        request=CompletionRequest(prompts=("",), known=""),
        served="Predict",
        codec=PredictCodec(
            headers=service.settings.json_headers,
            deployment=deployment,
            inputs=tuple([each.tensor for each in given.values()]),
            rows=rows,
        ),
    )


def _parse_body(body: Object, declared: Mapping[str, TensorInfo]) -> tuple[bool, dict[str, JSON]]:
    """Return whether the body is in rows, and the array of each input."""
    if ("instances" in body) == ("inputs" in body):
        raise status_refusal("Invalid JSON structure. Could not detect row or column format")
    if "instances" in body:
        return True, _parse_rows(body["instances"], declared)
    return False, _parse_columns(body["inputs"], declared)


def _parse_rows(rows: JSON, declared: Mapping[str, TensorInfo]) -> dict[str, JSON]:
    if not isinstance(rows, list):
        raise status_refusal("Invalid JSON structure. Nonamed instance is not an array.")
    if not rows:
        raise status_refusal("Invalid JSON structure. Missing instances in row format")
    first = rows[0]
    if isinstance(first, dict) and not _is_binary(first):
        return _gather_rows(rows)
    if first is None or isinstance(first, bool):
        raise status_refusal("Could not detect neither named or nonamed format")
    return {_find_single_input(declared): rows}


def _gather_rows(rows: list[JSON]) -> dict[str, JSON]:
    """Return rows with named values as one column per name."""
    columns: dict[str, list[JSON]] = {}
    for row in rows:
        if not isinstance(row, dict):
            raise status_refusal("Invalid JSON structure. One of named instances is not a JSON object.")
        if not row:
            raise status_refusal(_INSTANCE)
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    if len({len(column) for column in columns.values()}) > 1:
        raise status_refusal("Invalid JSON structure. Request inputs have different batch sizes")
    return dict(columns)


def _parse_columns(inputs: JSON, declared: Mapping[str, TensorInfo]) -> dict[str, JSON]:
    if isinstance(inputs, list) or type(inputs) in (int, float):
        return {_find_single_input(declared): inputs}
    if not isinstance(inputs, dict):
        raise status_refusal("Invalid JSON structure. One of inputs is not a JSON object.")
    if not inputs:
        raise status_refusal("Invalid JSON structure, missing inputs")
    return inputs


def _find_single_input(declared: Mapping[str, TensorInfo]) -> str:
    """Return the name of the only input, which unnamed values require."""
    if not declared:
        raise status_refusal("Internal allocation error", status=500)
    if len(declared) != 1:
        raise status_refusal(_FORMAT)
    return next(iter(declared))


def _is_binary(value: JSON) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _build_tensor(name: str, array: JSON, info: TensorInfo | None, reason: str) -> RequestTensor:
    """Build a tensor of its input's type; of an unknown input, the type of the first element."""
    try:
        shape, values = _measure(array)
        datatype = info.datatype if info is not None else _find_datatype(values)
        if any(isinstance(value, str) or _is_binary(value) for value in values):
            datatype = "BYTES"
        packed = pack_values(datatype, [_convert(value, datatype) for value in values])
    except _NoArrayError:
        raise status_refusal(reason) from None
    return RequestTensor(Tensor(name, datatype, tuple(shape), packed), len(values))


def _measure(array: JSON) -> tuple[list[int], list[JSON]]:
    """Return the shape of nested arrays, which must be regular, and their elements."""
    shape: list[int] = []
    level = [array]
    while level and isinstance(level[0], list):
        arrays = [each for each in level if isinstance(each, list) and len(each) == len(level[0])]
        if len(arrays) != len(level):
            raise _NoArrayError
        shape.append(len(arrays[0]))
        level = [*chain.from_iterable(arrays)]
    if any(isinstance(value, list) for value in level):
        raise _NoArrayError
    return shape, level


def _find_datatype(values: list[JSON]) -> str:
    return "INT32" if values and type(values[0]) is int else "FP32"


def _convert(value: JSON, datatype: str) -> Value:
    """Convert an element as C++ casts it."""
    if _is_binary(value) and isinstance(value, dict):
        decoded = decode_base64(str(value["b64"]))
        if decoded is None:
            raise _NoArrayError
        return decoded
    if isinstance(value, str) and datatype == "BYTES":
        return value.encode()
    if isinstance(value, bool) or not isinstance(value, int | float) or datatype == "BYTES":
        raise _NoArrayError
    if datatype in FLOATS:
        return float(value)
    bits = 8 * count_item_bytes(datatype)
    whole = int(value) & ((1 << bits) - 1)
    return whole - (1 << bits) if datatype.startswith("INT") and whole >> (bits - 1) else whole
