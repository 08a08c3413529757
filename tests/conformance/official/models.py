"""Compare answers of Anthropic's API with the models of the package ``anthropic``."""

from collections.abc import Iterator

from anthropic.types import Message, RawMessageStreamEvent
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.conformance.official.walk import Deviation
from tests.untyped_json import JSON

_EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
_UNTOLD = ("ping", "error")  # events that the package reads without a model


def compare_message(value: JSON) -> list[Deviation]:
    """Return where a message or an event deviates from its model."""
    if value.get("type") in _UNTOLD:
        return []
    name = "Message" if value.get("type") == "message" else "RawMessageStreamEvent"
    try:
        model = Message.model_validate(value) if name == "Message" else _EVENT.validate_python(value)
    except ValidationError as error:
        return [Deviation(name, ".".join(map(str, each["loc"])), each["type"]) for each in error.errors()]
    return [Deviation(name, path, "unknown") for path in _list_extras(model, "")]


def _list_extras(value: object, path: str) -> Iterator[str]:
    if isinstance(value, BaseModel):
        yield from (f"{path}.{name}" for name in value.model_extra or {})
        for name in type(value).model_fields:
            yield from _list_extras(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _list_extras(item, f"{path}[]")
