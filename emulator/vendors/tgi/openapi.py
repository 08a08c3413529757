"""``/docs`` and the OpenAPI document behind it: the routes of the release, and the fields their bodies may have.

Source: text-generation-inference, ``router/src/server.rs`` (ApiDoc, SwaggerUi) and ``docs/openapi.json``. The page is
the emulator's own; of schemas only those of requests and errors are there.
"""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import get_args, get_origin, get_type_hints

from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.vendors.tgi.chat.fields import ChatBody
from emulator.vendors.tgi.completions import CompletionBody
from emulator.vendors.tgi.generate.fields import NEW, Parameters
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
# Path, operation and schema of the body, as the document of each release lists them.
_OLD_POSTS: Mapping[str, tuple[str, str]] = {
    "/": ("compat_generate", "CompatGenerateRequest"),
    "/generate": ("generate", "GenerateRequest"),
    "/generate_stream": ("generate_stream", "GenerateRequest"),
}
_POSTS: Mapping[str, tuple[str, str]] = {
    **_OLD_POSTS,
    "/chat_tokenize": ("get_chat_tokenize", "ChatBody"),
    "/invocations": ("sagemaker_compatibility", "SagemakerRequest"),
    "/tokenize": ("tokenize", "GenerateRequest"),
    "/v1/chat/completions": ("chat_completions", "ChatBody"),
    "/v1/completions": ("completions", "CompletionBody"),
}
_OLD_GETS: Mapping[str, str] = {"/health": "health", "/info": "get_model_info", "/metrics": "metrics"}
_GETS: Mapping[str, str] = {**_OLD_GETS, "/v1/models": "openai_get_model_info"}


def redirect_to_docs(request: Request, service: TgiService) -> Response:
    return Response(303, b"", (("location", "/docs/"), *CORS))


def answer_docs(request: Request, service: TgiService) -> Response:
    """A page that lists the routes and links the document."""
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


def answer_document(request: Request, service: TgiService) -> Response:
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
    paths: dict[str, Mapping[str, JSON]] = {path: {"post": _describe_post(*row)} for path, row in posts.items()}
    paths.update(
        {path: {"get": _describe(operation, {"200": {"description": "OK"}})} for path, operation in gets.items()}
    )
    return dict(sorted(paths.items()))


def _describe(operation: str, responses: JSON) -> Object:
    return {"tags": [_TITLE], "operationId": operation, "responses": responses}


def _describe_post(operation: str, schema: str) -> Object:
    responses: dict[str, JSON] = {"200": {"description": "OK"}}
    if operation.endswith("tokenize"):
        responses["404"] = _describe_failure("No tokenizer found", "no tokenizer")
    else:
        responses |= {status: _describe_failure(*words) for status, words in _FAILURES.items()}
    body: JSON = {"content": {"application/json": {"schema": _refer(schema)}}, "required": True}
    return {**_describe(operation, responses), "requestBody": body}


def _describe_failure(text: str, kind: str) -> JSON:
    example = {"error": text, "error_type": kind}
    return {
        "description": text,
        "content": {"application/json": {"schema": _refer("ErrorResponse"), "example": example}},
    }


def _refer(schema: str) -> Object:
    return {"$ref": f"#/components/schemas/{schema}"}


def _list_schemas(*, old: bool) -> Object:
    text: JSON = {"type": "string"}
    members: Mapping[str, JSON] = {"inputs": text, "parameters": _refer("GenerateParameters")}
    errors: Mapping[str, JSON] = {"error": text, "error_type": text}
    schemas: dict[str, JSON] = {
        "CompatGenerateRequest": _shape({**members, "stream": {"type": "boolean"}}, "inputs"),
        "ErrorResponse": _shape(errors, "error", "error_type"),
        "GenerateParameters": _shape(_list_properties(Parameters, without=NEW if old else ())),
        "GenerateRequest": _shape(members, "inputs"),
    }
    if not old:
        forms = ("CompatGenerateRequest", "ChatBody", "CompletionBody")
        schemas["ChatBody"] = _shape(_list_properties(ChatBody), "messages")
        schemas["CompletionBody"] = _shape(_list_properties(CompletionBody), "prompt")
        schemas["SagemakerRequest"] = {"oneOf": [_refer(form) for form in forms]}
    return schemas


def _shape(properties: Mapping[str, JSON], *required: str) -> Object:
    shape: Object = {"type": "object", "properties": properties}
    return {**shape, "required": list(required)} if required else shape


def _list_properties(struct: type, without: Sequence[str] = ()) -> Mapping[str, JSON]:
    """The fields of a request struct by name; those of no simple type may be anything."""
    hints = get_type_hints(struct)
    return {name: _describe_type(hint) for name, hint in hints.items() if name not in without}


def _describe_type(hint: object) -> JSON:
    inner = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) is Sequence:
        return {"type": "array", "items": _describe_type(inner[0])}
    if isinstance(hint, UnionType):
        found = _describe_type(inner[0]) if len(inner) == 1 else {}
        return {**found, "nullable": True} if found and isinstance(found, dict) else found
    return {"type": _TYPES[hint]} if hint in _TYPES else {}
