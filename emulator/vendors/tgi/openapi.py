"""Routes ``/docs`` and the OpenAPI document: the routes of the release, and the fields of their bodies.

Source: text-generation-inference, ``router/src/server.rs`` (ApiDoc, SwaggerUi) and ``docs/openapi.json``. The page
is the emulator's own; of the schemas, only those of requests and errors are included.
"""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import get_args, get_origin, get_type_hints

from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.vendors.tgi.chat.fields import ChatBody
from emulator.vendors.tgi.completions import CompletionBody
from emulator.vendors.tgi.generate.fields import NOT_IN_0_9, Parameters
from emulator.vendors.tgi.headers import CORS, JSON_HEADERS
from emulator.vendors.tgi.settings import TgiService

_TITLE = "Text Generation Inference"
_TYPES: Mapping[object, str] = {int: "integer", float: "number", bool: "boolean", str: "string"}
_FAILURES: Mapping[str, tuple[str, str]] = {
    "422": ("Input validation error", "validation"),
    "424": ("Request failed during generation", "generation"),
    "429": ("Model is overloaded", "overloaded"),
    "500": ("Incomplete generation", "incomplete_generation"),
}
# Path, operation and schema of the body, as in the document of each release.
_OLD_POSTS: Mapping[str, tuple[str, str]] = {
    "/": ("compat_generate", "CompatGenerateRequest"),
    "/generate": ("generate", "GenerateRequest"),
    "/generate_stream": ("generate_stream", "GenerateRequest"),
}
_POSTS: Mapping[str, tuple[str, str]] = {
    **_OLD_POSTS,
    "/chat_tokenize": ("get_chat_tokenize", "ChatRequest"),
    "/invocations": ("sagemaker_compatibility", "SagemakerRequest"),
    "/tokenize": ("tokenize", "GenerateRequest"),
    "/v1/chat/completions": ("chat_completions", "ChatRequest"),
    "/v1/completions": ("completions", "CompletionRequest"),
}
_OLD_GETS: Mapping[str, str] = {"/health": "health", "/info": "get_model_info", "/metrics": "metrics"}
_GETS: Mapping[str, str] = {**_OLD_GETS, "/v1/models": "openai_get_model_info"}


def redirect_to_docs(request: Request, service: TgiService) -> Response:
    return Response(303, b"", (("location", "/docs/"), *CORS))


def handle_docs(request: Request, service: TgiService) -> Response:
    """Return a page that lists the routes and links the document."""
    rows = "".join(
        f"<li><code>{method.upper()} {path}</code></li>"
        for path, methods in _list_paths(old=service.settings.old).items()
        for method in methods
    )
    page = (
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{_TITLE}</title></head><body><h1>{_TITLE}</h1>"
        f'<p><a href="/api-doc/openapi.json">/api-doc/openapi.json</a></p><ul>{rows}</ul></body></html>\n'
    )
    return Response(200, page.encode(), (("content-type", "text/html"), *CORS))


def handle_document(request: Request, service: TgiService) -> Response:
    settings = service.settings
    body: Object = {
        "openapi": "3.0.3",
        "info": {"title": _TITLE, "description": "Text Generation Webserver", "version": settings.version},
        "paths": _list_paths(old=settings.old),
        "components": {"schemas": _list_schemas(old=settings.old)},
        "tags": [{"name": _TITLE}],
    }
    return Response(200, dump_json(body), JSON_HEADERS)


def _list_paths(*, old: bool) -> Mapping[str, Mapping[str, JSON]]:
    posts, gets = (_OLD_POSTS, _OLD_GETS) if old else (_POSTS, _GETS)
    paths: dict[str, Mapping[str, JSON]] = {path: {"post": _build_post(*row)} for path, row in posts.items()}
    paths.update(
        {path: {"get": _build_operation(operation, {"200": {"description": "OK"}})} for path, operation in gets.items()}
    )
    return dict(sorted(paths.items()))


def _build_operation(operation: str, responses: JSON) -> Object:
    return {"tags": [_TITLE], "operationId": operation, "responses": responses}


def _build_post(operation: str, schema: str) -> Object:
    responses: dict[str, JSON] = {"200": {"description": "OK"}}
    if operation.endswith("tokenize"):
        responses["404"] = _build_failure("No tokenizer found", "no tokenizer")
    else:
        responses |= {status: _build_failure(*words) for status, words in _FAILURES.items()}
    body: JSON = {"content": {"application/json": {"schema": _build_ref(schema)}}, "required": True}
    return {**_build_operation(operation, responses), "requestBody": body}


def _build_failure(text: str, kind: str) -> JSON:
    example = {"error": text, "error_type": kind}
    return {
        "description": text,
        "content": {"application/json": {"schema": _build_ref("ErrorResponse"), "example": example}},
    }


def _build_ref(schema: str) -> Object:
    return {"$ref": f"#/components/schemas/{schema}"}


def _list_schemas(*, old: bool) -> Object:
    text: JSON = {"type": "string"}
    members: Mapping[str, JSON] = {"inputs": text, "parameters": _build_ref("GenerateParameters")}
    errors: Mapping[str, JSON] = {"error": text, "error_type": text}
    schemas: dict[str, JSON] = {
        "CompatGenerateRequest": _build_schema({**members, "stream": {"type": "boolean"}}, "inputs"),
        "ErrorResponse": _build_schema(errors, "error", "error_type"),
        "GenerateParameters": _build_schema(_build_properties(Parameters, without=NOT_IN_0_9 if old else ())),
        "GenerateRequest": _build_schema(members, "inputs"),
    }
    if not old:
        forms = ("CompatGenerateRequest", "ChatRequest", "CompletionRequest")
        schemas["ChatRequest"] = _build_schema(_build_properties(ChatBody), "messages")
        schemas["CompletionRequest"] = _build_schema(_build_properties(CompletionBody), "prompt")
        schemas["SagemakerRequest"] = {"oneOf": [_build_ref(form) for form in forms]}
    return schemas


def _build_schema(properties: Mapping[str, JSON], *required: str) -> Object:
    schema: Object = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _build_properties(struct: type, without: Sequence[str] = ()) -> Mapping[str, JSON]:
    """Build the properties of a request struct; fields of no simple type allow any value."""
    hints = get_type_hints(struct)
    return {name: _build_type(hint) for name, hint in hints.items() if name not in without}


def _build_type(hint: object) -> JSON:
    inner = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) is Sequence:
        return {"type": "array", "items": _build_type(inner[0])}
    if isinstance(hint, UnionType):
        found = _build_type(inner[0]) if len(inner) == 1 else {}
        return {**found, "nullable": True} if found and isinstance(found, dict) else found
    return {"type": _TYPES[hint]} if hint in _TYPES else {}
