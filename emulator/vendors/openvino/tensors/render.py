"""Render responses of classic models in KServe's and TensorFlow Serving's formats, white space included.

Source: model_server, src/rest_utils.cpp, makeJsonFromPredictResponse, which writes with RapidJSON's PrettyWriter; its
tests, src/test/rest_utils_test.cpp; TensorFlow Serving, util/json_tensor.cc.
"""

import json
from collections.abc import Mapping, Sequence
from struct import pack, unpack

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response
from emulator.core.json import JSON
from emulator.core.plan import Plan
from emulator.core.requests import Deployment
from emulator.core.vendor import WholeCodec
from emulator.encoding.floats import format_float
from emulator.vendors.openvino.decoder import quote_long
from emulator.vendors.openvino.tensors.tensor import Tensor, Value, infer

_INDENT = "    "


def parse_fixed(plan: Plan) -> Mapping[str, JSON]:
    """Parse output values from a scenario's reply, a JSON object by output name; empty if it is none."""
    text = plan.choices[0].text() if plan.choices else ""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class InferCodec(WholeCodec):
    """Codec of KServe's format; the output ``binary_output`` is binary data behind the JSON."""

    headers: Headers
    deployment: Deployment
    inputs: tuple[Tensor, ...]
    id: str
    binary_output: str

    def render(self, plan: Plan, request: Request) -> Response:
        outputs = infer(self.deployment, self.inputs, parse_fixed(plan))
        id_member = f'"id": {_quote(self.id)},\n{_INDENT}' if self.id else ""
        written = ", ".join([self._format_tensor(tensor) for tensor in outputs])
        text = f'{{\n{_INDENT}"model_name": {_quote(self.deployment.name)},\n{_INDENT}{id_member}"model_version": "1",'
        head = f'{text}\n{_INDENT}"outputs": [{written}]\n}}'.encode()
        tail = b"".join([tensor.raw for tensor in outputs if tensor.name == self.binary_output])
        headers = self.headers
        if tail:
            headers = (*headers, ("inference-header-content-length", str(len(head))))
        return Response(200, head + tail, headers)

    def _format_tensor(self, tensor: Tensor) -> str:
        members = [
            f'"name": {_quote(tensor.name)}',
            f'"shape": [{", ".join(map(str, tensor.shape))}]',
            f'"datatype": "{tensor.datatype}"',
        ]
        if tensor.name != self.binary_output:
            members.append(f'"data": [{", ".join(map(_format_double, tensor.values()))}]')
        elif tensor.raw:
            inner = f'{_INDENT * 4}"binary_data_size": {len(tensor.raw)}\n{_INDENT * 3}'
            members.append(f'"parameters": {{\n{inner}}}')
        inner = ",\n".join([_INDENT * 3 + member for member in members])
        return f"{{\n{inner}\n{_INDENT * 2}}}"


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class PredictCodec(WholeCodec):
    """Codec of TensorFlow Serving's format, by ``rows`` or by columns as the request."""

    headers: Headers
    deployment: Deployment
    inputs: tuple[Tensor, ...]
    rows: bool

    def render(self, plan: Plan, request: Request) -> Response:
        outputs = infer(self.deployment, self.inputs, parse_fixed(plan))
        nested = {tensor.name: _nest(tensor.values(), tensor.shape) for tensor in outputs}
        text = _format_rows(nested) if self.rows else _format_columns(nested)
        return Response(200, text.encode(), self.headers)


Nested = Value | list["Nested"]


def _nest(values: Sequence[Value], shape: tuple[int, ...]) -> Nested:
    """Return a flat list as nested arrays; without dimensions, its single value."""
    if not shape:
        return values[0]
    if len(shape) == 1:
        return list(values)
    step = len(values) // shape[0] if shape[0] else 0
    return [_nest(values[row * step : (row + 1) * step], shape[1:]) for row in range(shape[0])]


def _format_rows(outputs: Mapping[str, Nested]) -> str:
    """Format one element per item of the batch; with several outputs, as objects."""
    lists = {name: values if isinstance(values, list) else [values] for name, values in outputs.items()}
    if len(lists) == 1:
        (rows,) = lists.values()
        return f'{{\n{_INDENT}"predictions": [{", ".join(map(_format_line, rows))}\n{_INDENT}]\n}}'
    items = []
    for number in range(min(map(len, lists.values()), default=0)):
        members = [f"{_INDENT * 3}{_quote(name)}: {_format_line(rows[number])}" for name, rows in lists.items()]
        items.append(f"{_INDENT * 2}{{\n" + ",\n".join(members) + f"\n{_INDENT * 2}}}")
    return f'{{\n{_INDENT}"predictions": [\n' + ",\n".join(items) + f"\n{_INDENT}]\n}}"


def _format_columns(outputs: Mapping[str, Nested]) -> str:
    """Format one array per output, with a line per value."""
    if len(outputs) == 1:
        (values,) = outputs.values()
        return f'{{\n{_INDENT}"outputs": {_format_tree(values, 1)}\n}}'
    members = [f"{_INDENT * 2}{_quote(name)}: {_format_tree(values, 2)}" for name, values in outputs.items()]
    return f'{{\n{_INDENT}"outputs": {{\n' + ",\n".join(members) + f"\n{_INDENT}}}\n}}"


def _format_line(values: Nested) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_format_line, values))}]"
    return _format_short(values)


def _format_tree(values: Nested, level: int) -> str:
    if not isinstance(values, list):
        return _format_short(values)
    if not values:
        return "[]"
    inner = ",\n".join([_INDENT * (level + 1) + _format_tree(value, level + 1) for value in values])
    return f"[\n{inner}\n{_INDENT * level}]"


def _format_double(value: Value) -> str:
    """Format a value for KServe; a float is promoted to a double."""
    if isinstance(value, float):
        return format_float(value)
    return _format_short(value)


def _format_short(value: Value) -> str:
    """Format a value for TensorFlow Serving; a float has the fewest digits that round-trip."""
    if isinstance(value, bytes):
        return _quote(value.decode("utf-8", "replace"))
    if isinstance(value, bool):
        return "true" if value else "false"
    return _shorten(value) if isinstance(value, float) else str(value)


def _shorten(value: float) -> str:
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if unpack("<f", pack("<f", float(text))) == unpack("<f", pack("<f", value)):
            return format_float(float(text))
    return format_float(value)


def _quote(text: str) -> str:
    return quote_long(text).decode()
