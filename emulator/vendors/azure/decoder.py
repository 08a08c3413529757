"""Decode a request body as JSON and validate it with pydantic, as the FastAPI server in Azure's model containers does.

``WireModel`` is the base of all request models of this vendor.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from emulator.core.http import Request
from emulator.core.json import JSON
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.settings import AzureSettings

_JSON_TYPE = re.compile(r"application/([\w.+-]+\+)?json\s*(;|$)", re.IGNORECASE)


def parse_body(request: Request, settings: AzureSettings) -> JSON:
    """Return the body as JSON; a body with another content type is a text to the service.

    Raises:
        EmulatedError: ``INVALID_REQUEST`` (no JSON) or, of a container, ``INVALID_PARAMETER``.
    """
    if settings.shape in ("maas", "managed"):
        return _read_as_container(request)
    try:
        body = request.json()
    except ValueError as error:
        raise refusals.not_json(str(error)) from None
    return body if settings.profile in ("foundry", "aoai") or _is_json(request) else _read_text(request)


def _read_as_container(request: Request) -> JSON:
    """Return the body as FastAPI reads it: an empty or broken body violates the schema."""
    if not request.body:
        raise refusals.breaks_schema([{"type": "missing", "loc": (), "msg": "Field required", "input": None}])
    if not _is_json(request):
        return _read_text(request)
    try:
        return request.json()
    except ValueError as error:
        raise refusals.breaks_json(request.body, str(error)) from None


def _is_json(request: Request) -> bool:
    content_type = request.headers.get("Content-Type", "application/json")
    return content_type == "application/json" or _JSON_TYPE.match(content_type) is not None


def _read_text(request: Request) -> str:
    return request.body.decode("utf-8", "replace")


class WireModel(BaseModel):
    """Base of wire models; unknown keys inside messages and tools are ignored."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=(), defer_build=True)


_MAX_LISTED = 1000
_MIN_ITEMS = 20  # items of each list that are validated once there are too many violations to list
M = TypeVar("M", bound=WireModel)


def validate(model: type[M], body: JSON, place: tuple[str | int, ...] = ()) -> M:
    """Return the body as ``model``; ``place``: its path within the request body.

    Raises:
        EmulatedError: ``INVALID_PARAMETER`` with all violations.
    """
    try:
        if _has_long_list(body):
            with suppress(RecursionError):
                _try_beginnings(model, body)
        # with ``from_attributes`` pydantic's text for a wrong type is the container's
        validated: M = model.__pydantic_validator__.validate_python(body, from_attributes=True)
    except ValidationError as error:
        errors = _list_errors(error, model, body)
        raise refusals.breaks_schema([{**each, "loc": (*place, *each["loc"])} for each in errors]) from None
    return validated


def _list_errors(error: ValidationError, model: type[WireModel], body: JSON) -> Sequence[ErrorDetails]:
    """Return all violations; above :data:`_MAX_LISTED`, only those among the first items of each list."""
    if error.error_count() > _MAX_LISTED:
        try:
            model.__pydantic_validator__.validate_python(_shorten(body), from_attributes=True)
        except ValidationError as first:
            error = first
    return error.errors(include_url=False)


def _try_beginnings(model: type[WireModel], body: JSON) -> None:
    """Validate growing beginnings of long lists, so that mostly invalid lists stay cheap.

    Raises:
        ValidationError: a beginning is invalid.
    """
    limit = _MIN_ITEMS
    while (beginning := _shorten(body, limit)) != body:
        model.__pydantic_validator__.validate_python(beginning, from_attributes=True)
        limit += max(_MAX_LISTED, limit // 2)


def _has_long_list(body: JSON) -> bool:
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            if len(value) > _MAX_LISTED:
                return True
            waiting += value
    return False


def _shorten(value: JSON, limit: int = _MIN_ITEMS) -> JSON:
    if isinstance(value, dict):
        return {key: _shorten(inner, limit) for key, inner in value.items()}
    return [_shorten(item, limit) for item in value[:limit]] if isinstance(value, list) else value


def _read_whole(value: JSON) -> JSON:
    """Convert an integral float to an integer: 256.0 is an integer in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_read_whole)]
Count = Annotated[int, BeforeValidator(_read_whole), Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
