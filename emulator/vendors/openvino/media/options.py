"""Parse the options of image generation and edits from the members of a body or the fields of a form.

Source: model_server, src/image_gen/imagegenutils.cpp.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.core.text import parse_integer
from emulator.encoding.multipart import NUMBER, Form
from emulator.vendors.openvino.decoder import is_int32, is_number, parse_double
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.release import Release

TEXT_OPTIONS = ("prompt_2", "prompt_3", "negative_prompt", "negative_prompt_2", "negative_prompt_3")
_MAX_FLOAT = 3.4028234e38  # the JSON library's bound of a float
_MAX_SIDE = 2**63 - 1
_WHOLE = re.compile(r"-?[0-9]+")


@fast_dataclass(slots=True)
class Options:
    """Options of OpenVINO GenAI, by its names."""

    release: Release
    values: dict[str, JSON] = field(default_factory=dict)

    def insert(self, name: str, value: JSON) -> None:
        if value is None:
            return
        if name in self.values:
            raise refusal(f"Key: {name} already exists in request options.")
        self.values[name] = value

    def number(self, name: str) -> float | None:
        value = self.values.get(name)
        return value if isinstance(value, int | float) else None


Take = Callable[[str, str], JSON]


def parse_options(release: Release, take: Take) -> Options:
    """Parse the options of both endpoints; ``take`` returns a member as a kind of value, or raises."""
    options = Options(release)
    _parse_size(options, take("size", "string"))
    for name in TEXT_OPTIONS:
        options.insert(name, take(name, "string"))
    if release.since(2025, 3):
        form = take("response_format", "string")
        if form not in (None, "b64_json"):
            raise refusal(f"Unsupported response_format: {form}. Only b64_json is supported.")
    options.insert("num_images_per_prompt", take("n", "int"))
    for kind, names in _KINDS.items():
        for name in names:
            options.insert(name, take(name, kind))
    return options


_KINDS: Mapping[str, tuple[str, ...]] = {
    "int": ("num_images_per_prompt", "max_sequence_length"),
    "float": ("guidance_scale", "strength"),
    "int64": ("width", "height"),
    "size_t": ("num_inference_steps", "rng_seed"),
}
_FITS: Mapping[str, Callable[[JSON], bool]] = {
    "string": lambda value: isinstance(value, str),
    "int": is_int32,
    "float": lambda value: is_number(value) and not is_int32(value) and abs(parse_double(value)) <= _MAX_FLOAT,
    "int64": lambda value: type(value) is int and -(2**63) <= value < 2**63,
    "size_t": lambda value: type(value) is int and 0 <= value < 2**64,
}


def _parse_size(options: Options, size: JSON) -> None:
    """Parse width and height from one text; ``auto``: the model's own."""
    if not isinstance(size, str) or size == "auto":
        return
    left, found, right = size.partition("x")
    if not found or not _WHOLE.fullmatch(left) or not _WHOLE.fullmatch(right):
        raise refusal("size field is not in correct format - WxH")
    width, height = parse_integer(left), parse_integer(right)
    if max(abs(width), abs(height)) > _MAX_SIDE:
        raise refusal("size field is not in correct format - WxH")
    if width <= 0 or height <= 0:
        raise refusal("size field values must be greater than 0")
    options.insert("width", width)
    options.insert("height", height)


def take_member(body: Object, name: str, kind: str) -> JSON:
    if name not in body:
        return None
    if not _FITS[kind](body[name]):
        raise refusal(f"{name} field is not a {kind}")
    return body[name]


def take_text(form: Form, name: str, kind: str) -> JSON:
    """Return a form field as a value of ``kind``; raise if its text is no such value."""
    text = form.text(name)
    if not text or kind == "string":
        return text or None
    value: JSON = None
    if kind == "float":
        value = float(text) if NUMBER.fullmatch(text) else None
    elif _WHOLE.fullmatch(text):
        number = parse_integer(text)
        value = number if _FITS[kind](number) else None
    if value is None:
        raise refusal(f"{name} field is not a {'int32' if kind == 'int' else kind}")
    return value
