"""Build the OpenAPI 3.1 document of the control API from its routes and models.

``GET /_emulator/openapi.json`` returns it.
"""

import re
from functools import cache
from http import HTTPStatus

from pydantic.json_schema import models_json_schema

from emulator import __version__
from emulator.control.models import Problem
from emulator.control.routes import ROUTES, Route
from emulator.core.json import JSON, dump_json

_REF = "#/components/schemas/{model}"
_TOKENS: dict[str, JSON] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The token of `--control-token`."},
    "header": {"type": "apiKey", "in": "header", "name": "x-emulator-token", "description": "The same."},
}
_PROBLEM = {"application/problem+json": {"schema": {"$ref": _REF.format(model="Problem")}}}


@cache
def dump_openapi() -> bytes:
    """Return the document as JSON."""
    paths: dict[str, dict[str, JSON]] = {}
    for route in ROUTES:
        paths.setdefault(f"/_emulator{route.path or '/'}", {})[route.method.lower()] = _describe(route)
    return dump_json(
        {
            "openapi": "3.1.0",
            "info": {"title": "Emulator control plane", "version": __version__},
            "paths": paths,
            "components": {"schemas": _schemas(), "securitySchemes": _TOKENS},
        }
    )


def _schemas() -> JSON:
    taken = [route.takes for route in ROUTES if route.takes]
    given = [Problem, *(route.gives for route in ROUTES if route.gives)]
    models = [*((model, "validation") for model in taken), *((model, "serialization") for model in given)]
    _, definitions = models_json_schema(dict.fromkeys(models), ref_template=_REF)  # type: ignore[arg-type]  # keys do
    defined: JSON = definitions["$defs"]
    return defined


def _describe(route: Route) -> JSON:
    responses: dict[str, JSON] = {"200": {"description": "Done.", "content": {route.media: _content(route)}}}
    operation: dict[str, JSON] = {
        "operationId": route.action or re.sub(r"\W", "_", route.path.strip("/")),
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": responses,
    }
    if not route.is_open:
        operation["security"] = [{}, *({name: []} for name in _TOKENS)]
    for status in sorted({*route.statuses, 400, 403, 405} | (set() if route.is_open else {401})):
        wording = _content(route) if status == 503 else None
        content = {"application/json": wording} if wording else _PROBLEM
        responses[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
    if route.takes is not None:
        content = {"application/json": {"schema": {"$ref": _REF.format(model=route.takes.__name__)}}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.yaml:
        text = {"schema": {"type": "string", "description": "A scenario."}}
        operation["requestBody"] = {"required": False, "content": {"application/yaml": text}}
    return operation


def _content(route: Route) -> JSON:
    if route.gives is not None:
        return {"schema": {"$ref": _REF.format(model=route.gives.__name__)}}
    return {"schema": {"type": "object" if route.media == "application/json" else "string"}}


def _path_parameters(route: Route) -> list[JSON]:
    names = re.findall(r"\{(\w+)\}", route.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameters(route: Route) -> list[JSON]:
    schema = route.query.model_json_schema()
    return [
        {"name": name, "in": "query", "required": False, "description": field.get("description", ""), "schema": field}
        for name, field in schema.get("properties", {}).items()
    ]
