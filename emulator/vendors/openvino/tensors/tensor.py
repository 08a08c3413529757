"""Tensors of classic models: declare them, pack their values as bytes, and generate the outputs of a model.

The routes of KServe and TensorFlow Serving parse requests to tensors, and render those that a model returns.

Source: model_server, src/precision.cpp and src/kfs_frontend/kfs_utils.cpp.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from math import copysign, inf, prod
from struct import Struct, calcsize, iter_unpack, pack

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.requests import Deployment

# By KServe's type name: struct letter, OpenVINO's name, TensorFlow's name.
_TYPES: Mapping[str, tuple[str, str, str]] = {
    "BOOL": ("?", "BOOL", "DT_BOOL"),
    "UINT8": ("B", "U8", "DT_UINT8"),
    "UINT16": ("H", "U16", "DT_UINT16"),
    "UINT32": ("I", "U32", "DT_UINT32"),
    "UINT64": ("Q", "U64", "DT_UINT64"),
    "INT8": ("b", "I8", "DT_INT8"),
    "INT16": ("h", "I16", "DT_INT16"),
    "INT32": ("i", "I32", "DT_INT32"),
    "INT64": ("q", "I64", "DT_INT64"),
    "FP16": ("e", "FP16", "DT_HALF"),
    "FP32": ("f", "FP32", "DT_FLOAT"),
    "FP64": ("d", "FP64", "DT_DOUBLE"),
    "BYTES": ("", "STRING", "DT_STRING"),
}
FLOATS = frozenset(("FP16", "FP32", "FP64"))
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DEFAULT_SIZE = 1  # of a variable dimension that no input determines
MAX_VALUES = 524_288
"""Maximum number of values in all outputs of one call."""
MAX_INLINE_VALUES = 8_192
"""Maximum number of values that are generated on the event loop: it takes some milliseconds."""
Value = bool | int | float | bytes


@fast_dataclass(frozen=True, slots=True)
class TensorInfo:
    """Tensor declared by a model; a dimension of -1 is variable."""

    name: str
    datatype: str
    shape: tuple[int, ...]

    @property
    def precision(self) -> str:
        """Return OpenVINO's name of the type."""
        return _TYPES[self.datatype][1]

    @property
    def tensorflow_type(self) -> str:
        return _TYPES[self.datatype][2]


@fast_dataclass(frozen=True, slots=True)
class Tensor:
    """Values, packed as bytes, with a type and a shape.

    Fields:
        raw: values in memory order, little-endian; each text has its length in front.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    raw: bytes

    def values(self) -> list[Value]:
        """Return the elements in order."""
        return unpack_texts(self.raw) if self.datatype == "BYTES" else unpack_values(self.datatype, self.raw)


def status_refusal(text: str, detail: str = "", *, status: int = 400) -> EmulatedError:
    """Return the error of a server status with an optional detail."""
    return EmulatedError(ErrorKind.INVALID_REQUEST, f"{text} - {detail}" if detail else text, status=status)


def list_tensors(deployment: Deployment, trait: str) -> tuple[TensorInfo, ...]:
    """Return ``inputs`` or ``outputs`` of a model by name; invalid entries are omitted."""
    declared = deployment.traits.get(trait)
    found = [_parse_info(entry) for entry in declared] if isinstance(declared, list | tuple) else []
    return tuple(sorted([info for info in found if info is not None], key=lambda info: info.name))


def validate_tensors(deployment: Deployment) -> str:
    """Return the problem of a scenario's tensor declarations; empty if there is none."""
    declared = {trait: deployment.traits[trait] for trait in ("inputs", "outputs") if trait in deployment.traits}
    for trait, entries in declared.items():
        if not isinstance(entries, list | tuple):
            return f"{trait} is a list of tensors, each with a name, a datatype and a shape"
        if reason := next(filter(None, map(_find_entry_problem, entries)), ""):
            return f"{trait}: {reason}"
    if len(declared) == 1:
        return "a model has inputs and outputs"
    return ""


def _find_entry_problem(entry: JSON) -> str:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        return "a tensor has a name"
    name, datatype, shape = entry["name"], entry.get("datatype", "FP32"), entry.get("shape")
    if datatype not in _TYPES:
        return f"the datatype of {name} is none of {', '.join(_TYPES)}"
    if not isinstance(shape, list | tuple) or not all(type(size) is int and size >= -1 for size in shape):
        return f"the shape of {name} is a list of whole numbers, -1 for any size"
    if unknown := set(entry) - {"name", "datatype", "shape"}:
        return f"a tensor has no {min(map(str, unknown))}"
    return ""


def _parse_info(entry: JSON) -> TensorInfo | None:
    if not isinstance(entry, Mapping):
        return None
    name, datatype, shape = entry.get("name"), entry.get("datatype", "FP32"), entry.get("shape", ())
    if not isinstance(name, str) or datatype not in _TYPES or not isinstance(shape, list | tuple):
        return None
    return TensorInfo(name, str(datatype), tuple([size if isinstance(size, int) else -1 for size in shape]))


def is_known(datatype: str) -> bool:
    return datatype in _TYPES


def count_item_bytes(datatype: str) -> int:
    """Return the bytes of one element; 0 for texts and unknown types."""
    letter = _TYPES.get(datatype, ("",))[0]
    return calcsize(f"<{letter}") if letter else 0


def pack_values(datatype: str, values: Sequence[Value]) -> bytes:
    if datatype == "BYTES":
        return pack_texts([value for value in values if isinstance(value, bytes)])
    letter = _TYPES[datatype][0]
    form = Struct(f"<{len(values)}{letter}")  # pack() would cache every format
    try:
        return form.pack(*values)
    except OverflowError:  # beyond the range of the float type
        return form.pack(*[_clamp(value, letter) for value in values])


def _clamp(value: Value, letter: str) -> float:
    number = float(value)
    try:
        pack(f"<{letter}", number)
    except OverflowError:
        return copysign(inf, number)
    return number


def unpack_values(datatype: str, raw: bytes) -> list[Value]:
    return [value for (value,) in iter_unpack(f"<{_TYPES[datatype][0]}", raw)]


def pack_texts(texts: Iterable[bytes]) -> bytes:
    """Join texts with the length in front of each."""
    return b"".join([pack("<I", len(text)) + text for text in texts])


def unpack_texts(raw: bytes) -> list[Value]:
    """Split texts joined by :func:`pack_texts`; a length beyond the end cuts the last text."""
    texts: list[Value] = []
    position = 0
    while position + 4 <= len(raw):
        end = position + 4 + int.from_bytes(raw[position : position + 4], "little")
        texts.append(raw[position + 4 : end])
        position = end
    return texts


def count_outputs(deployment: Deployment, inputs: Sequence[Tensor]) -> int:
    """Return the number of values in all outputs, before they are generated: a small request may cause many.

    Raises:
        EmulatedError: 400, there are more than :data:`MAX_VALUES`.
    """
    first = inputs[0].shape if inputs else ()
    count = sum(prod(_resolve_shape(info.shape, first)) for info in list_tensors(deployment, "outputs"))
    if count > MAX_VALUES:
        raise status_refusal(f"The outputs would have {count} values, and those of one call may have {MAX_VALUES}.")
    return count


def infer(deployment: Deployment, inputs: Sequence[Tensor], fixed: Mapping[str, JSON]) -> list[Tensor]:
    """Return the outputs of a model: equal for equal inputs in any request format.

    ``fixed``: output values that a scenario sets, by name.
    """
    digest = hashlib.sha256(deployment.name.encode())
    for tensor in sorted(inputs, key=lambda tensor: tensor.name):
        digest.update(f"\0{tensor.name}\0{tensor.datatype}\0{tensor.shape}\0".encode())
        digest.update(tensor.raw)
    first = inputs[0].shape if inputs else ()
    made = []
    for info in list_tensors(deployment, "outputs"):
        shape = _resolve_shape(info.shape, first)
        values = _parse_fixed(fixed.get(info.name), info.datatype, prod(shape))
        if values is None:
            values = _draw(digest.digest() + info.name.encode(), info.datatype, prod(shape))
        made.append(Tensor(info.name, info.datatype, shape, pack_values(info.datatype, values)))
    return made


def _resolve_shape(shape: tuple[int, ...], first: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape with variable dimensions taken from the first input."""
    return tuple(
        [
            size if size >= 0 else first[index] if index < len(first) else _DEFAULT_SIZE
            for index, size in enumerate(shape)
        ]
    )


def _parse_fixed(value: JSON, datatype: str, count: int) -> list[Value] | None:
    """Parse values that a scenario sets, nested or flat; too few are repeated."""
    flat = list(_flatten(value))
    if not flat or any(isinstance(element, dict) or element is None for element in flat):
        return None
    elements = [flat[index % len(flat)] for index in range(count)]
    if datatype == "BYTES":
        return [str(element).encode() for element in elements]
    numbers = [float(element) if isinstance(element, int | float) else 0.0 for element in elements]
    if datatype == "BOOL":
        return [bool(number) for number in numbers]
    return list(numbers) if datatype in FLOATS else [int(number) for number in numbers]


def _flatten(value: JSON) -> Iterable[JSON]:
    if isinstance(value, list | tuple):
        for element in value:
            yield from _flatten(element)
    elif value is not None:
        yield value


def _draw(key: bytes, datatype: str, count: int) -> list[Value]:
    """Generate floats from 0 to 1 in steps of 1/65536, integers below 100, or digits in words."""
    drawn = hashlib.shake_128(key).digest(2 * count)
    numbers = [int.from_bytes(drawn[index : index + 2], "little") for index in range(0, 2 * count, 2)]
    if datatype in FLOATS:
        return [number / 65536 for number in numbers]
    if datatype == "BOOL":
        return [number % 2 == 1 for number in numbers]
    if datatype == "BYTES":
        return [_DIGITS[number % len(_DIGITS)].encode() for number in numbers]
    return [number % 100 for number in numbers]
