"""Find the model that a tensor request addresses, and validate its tensors, in the server's order and words.

KServe and TensorFlow Serving routes share it.
"""

from collections.abc import Mapping, Sequence
from math import prod

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.requests import Deployment
from emulator.vendors.openvino.errors import MISSING_MODEL
from emulator.vendors.openvino.profile import OpenVinoService
from emulator.vendors.openvino.tensors.tensor import Tensor, TensorInfo, count_item_bytes, status_refusal, unpack_texts

_IMAGE_DIMENSIONS = (4, 5)


@fast_dataclass(frozen=True, slots=True)
class RequestTensor:
    """Tensor of a request.

    Fields:
        count: number of values sent as JSON; ``None``: they were sent as bytes.
    """

    tensor: Tensor
    count: int | None


def validate_tensors(
    declared: Sequence[TensorInfo], given: Mapping[str, RequestTensor], count: int, prefix: str = ""
) -> None:
    """Raise unless the request has exactly the declared inputs; ``prefix``: text before a name in KServe errors."""
    if count != len(declared):
        raise status_refusal("Invalid number of inputs", f"Expected: {len(declared)}; Actual: {count}")
    for info in declared:
        if info.name not in given:
            raise status_refusal("Missing input with specific name", f"Required input: {info.name}")
        _check(info, given[info.name], f"input name: {prefix}{info.name}")


def _check(info: TensorInfo, given: RequestTensor, name: str) -> None:
    tensor = given.tensor
    if tensor.datatype == "BYTES" and info.datatype != "BYTES":
        _validate_converted(info, tensor, name)
        return
    if tensor.datatype != info.datatype:
        raise status_refusal(
            "Invalid input precision", f"Expected: {info.precision}; Actual: {tensor.datatype}; {name}"
        )
    expected, actual = _format_shape(info.shape), _format_shape(tensor.shape)
    if len(info.shape) != len(tensor.shape):
        raise status_refusal("Invalid number of shape dimensions", f"Expected: {expected}; Actual: {actual}; {name}")
    if tensor.shape and info.shape[0] not in (-1, tensor.shape[0]):
        raise status_refusal(
            "Invalid input batch size", f"Expected: {info.shape[0]}; Actual: {tensor.shape[0]}; {name}"
        )
    if any(size not in (-1, found) for size, found in zip(info.shape, tensor.shape, strict=True)):
        raise status_refusal("Invalid input shape", f"Expected: {expected}; Actual: {actual}; {name}")
    _validate_content(given, name)


def _validate_content(given: RequestTensor, name: str) -> None:
    """Raise unless there are as many values, or bytes, as the shape requires."""
    tensor = given.tensor
    wanted = prod(tensor.shape)
    count = len(unpack_texts(tensor.raw)) if given.count is None and tensor.datatype == "BYTES" else given.count
    if count is not None:
        if count != wanted:
            detail = f"Expected: {wanted} values; Actual: {count} values; {name}"
            raise status_refusal("Invalid number of values in tensor proto container", detail)
        return
    size = wanted * count_item_bytes(tensor.datatype)
    if len(tensor.raw) != size:
        detail = f"Expected: {size} bytes; Actual: {len(tensor.raw)} bytes; {name}"
        raise status_refusal("Invalid content size of tensor proto", detail)


def _validate_converted(info: TensorInfo, tensor: Tensor, name: str) -> None:
    """Raise unless texts fit an input of byte rows or image files; image content is not validated."""
    if not (len(info.shape) in _IMAGE_DIMENSIONS or (len(info.shape) == 2 and info.datatype == "UINT8")):
        raise status_refusal("Functionality not implemented", status=500)
    if len(tensor.shape) != 1:
        detail = f"Expected number of input shape dimensions: 1; Actual: {len(tensor.shape)}; {name}"
        raise status_refusal("Invalid number of shape dimensions", detail)
    count = len(unpack_texts(tensor.raw))
    if info.shape[0] not in (-1, count):
        raise status_refusal("Invalid input batch size", f"Expected: {info.shape[0]}; Actual: {count}; {name}")


def _format_shape(shape: tuple[int, ...]) -> str:
    return f"({','.join(map(str, shape))})"


_STATES = {
    "retired": "Model with requested version is retired",
    "ready": "",
}


def find_model(request: Request, service: OpenVinoService, name: str) -> Deployment:
    """Find a servable by name and version; graphs are included.

    Raises:
        EmulatedError: 404, unknown or not available.
    """
    deployment = service.deployments.get(name)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND, MISSING_MODEL)
    if request.params.get("version", "1") not in ("1", "0"):
        raise EmulatedError(ErrorKind.NOT_FOUND, "Model with requested version is not found")
    if text := _STATES.get(deployment.state, "Model with requested version is not loaded yet"):
        raise EmulatedError(ErrorKind.NOT_FOUND, text)
    return deployment
