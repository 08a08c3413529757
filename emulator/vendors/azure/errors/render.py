"""Render an error as a response, or as the last event of a stream, in the format of the profile."""

from collections.abc import Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.core.vendor import AnyEndpoint, MethodNotAllowedError
from emulator.encoding import sse
from emulator.vendors.azure.errors.format_gateways import format_aoai, format_foundry
from emulator.vendors.azure.errors.format_serverless import (
    format_anthropic,
    format_docs,
    format_maas,
    format_managed,
    format_seed,
)
from emulator.vendors.azure.errors.rate_limits import retry_after
from emulator.vendors.azure.errors.refusals import no_such_path
from emulator.vendors.azure.errors.types import ERRORS, ErrorFields, ErrorFormatter, FormattedError, build_fields
from emulator.vendors.azure.headers import JSON_TYPE, echo_request_id
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import find_named, look_up
from emulator.vendors.azure.url_kind import classify_url, is_responses

_FORMATTERS: Mapping[str, ErrorFormatter] = {
    "seed": format_seed,
    "docs": format_docs,
    "maas": format_maas,
    "managed": format_managed,
    "foundry": format_foundry,
    "aoai": format_aoai,
    "anthropic": format_anthropic,
}
_TEXT_TYPE = ("Content-Type", "text/plain")
_UTF8_TYPE = ("Content-Type", "text/plain; charset=utf-8")


def render_error(error: EmulatedError, request: Request, service: AzureService) -> Response:
    """Return the response of an error in the dialect of its path; the error's own fields win."""
    if isinstance(error, MethodNotAllowedError):
        served = [row for row in error.rows if _is_served(*row, request, service)]
        # below a wrong base no method is allowed
        error = MethodNotAllowedError(request.path, served) if served else no_such_path(request.path)
    fields = _build_fields(error, request, service)
    formatted = _format_error(fields, error, _find_format(request, service))
    status = error.status or formatted.status or fields.status
    headers = (*formatted.headers, *retry_after(error, fields), *echo_request_id(request))
    if not isinstance(formatted.body, str):
        return Response(status, dump_json(formatted.body), (JSON_TYPE, *headers))
    kind = _TEXT_TYPE if error.body is None else _UTF8_TYPE
    return Response(status, formatted.body.encode("utf-8", "replace"), (kind, *headers))


def _is_served(endpoint: AnyEndpoint, params: Mapping[str, str], request: Request, service: AzureService) -> bool:
    """Return whether a route serves a path with its own method: an empty request does not fail by its place."""
    probe = Request(endpoint.method, request.path, request.query, request.headers, params=params)
    try:
        endpoint.parse(probe, service)
    except EmulatedError as refusal:
        elsewhere = refusal.kind is ErrorKind.NOT_FOUND and refusal.details.get("path") == request.path
        return not elsewhere and refusal.kind is not ErrorKind.METHOD_NOT_ALLOWED
    return True


def render_late_error(error: EmulatedError, request: Request, service: AzureService) -> bytes:
    """Return the last event of a stream that fails after it has begun; clients of Model Inference read none of it.

    Source: Azure/azureml-assets, foundation/model/serve/api_server.py (``managed``); openai-python,
    types/responses/response_failed_event.py; others ``unverified``.
    """
    shape = _find_format(request, service)
    if is_responses(request):
        number = error.details.get("events", 0)
        return _render_failed(_build_fields(error, request, service), request, service, number)
    if shape == "managed":
        text = " ".join((error.message or ERRORS[error.kind][2]).split())
        return f"event: error\ndata: Error parsing decoded stream: {text}\n\n".encode() + sse.DONE
    body = _format_error(_build_fields(error, request, service), error, shape).body
    framed = sse.encode_event({"error": {"message": body}} if isinstance(body, str) else body)
    return b"event: error\n" + framed if shape == "anthropic" else framed


def _render_failed(fields: ErrorFields, request: Request, service: AzureService, number: JSON) -> bytes:
    """Return the closing event of a failed response; ``number``: that of the event in its stream.

    Source: openai-python, types/responses/response_error.py, response_failed_event.py.
    """
    from emulator.vendors.azure.responses.parse import draw_id  # large; imported by whatever response has begun

    code = "rate_limit_exceeded" if fields.kind is ErrorKind.RATE_LIMITED else "server_error"
    failed: Object = {
        "id": request.params.get("response") or draw_id(request.key),
        "object": "response",
        "created_at": int(service.clock.now()),
        "status": "failed",
        "error": {"code": code, "message": fields.text},
        "incomplete_details": None,
        "model": request.json_members().get("model"),
        "output": [],
        "usage": None,
    }
    event: Object = {"type": "response.failed", "sequence_number": number, "response": failed}
    return b"event: response.failed\n" + sse.encode_event(event)


def _build_fields(error: EmulatedError, request: Request, service: AzureService) -> ErrorFields:
    """Return the fields of an error, with the profile of the model if the request names one."""
    url = classify_url(request)
    settings = url.settings(service.settings)
    named = look_up(service, url.deployment) if url.deployment else find_named(request, service)
    if named is None or settings.profile not in ("foundry", "aoai"):
        return build_fields(error, request, hsts=settings.hsts)
    profile = service.profiles[named.name][settings.profile]
    openai = settings.profile == "foundry" and profile.openai
    return build_fields(error, request, openai=openai, quota=profile.quota, hsts=settings.hsts)


def _find_format(request: Request, service: AzureService) -> str:
    url = classify_url(request)
    return "anthropic" if url.kind == "anthropic" else url.settings(service.settings).shape


def _format_error(fields: ErrorFields, error: EmulatedError, shape: str) -> FormattedError:
    formatted = _FORMATTERS[shape](fields)
    return formatted if error.body is None else FormattedError(error.body, formatted.headers, formatted.status)
