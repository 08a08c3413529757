"""Errors of external models, which Databricks passes on in the provider's format.

Source: public traces; often the whole is text in Databricks' own error.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON, Object, dump_text
from emulator.vendors.databricks.management.lookup import find
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.settings import DatabricksSettings

# Kinds of errors that the provider reports: its type of error, and its text.
_PROVIDER_ERRORS: Mapping[ErrorKind, tuple[str, str]] = MappingProxyType(
    {
        ErrorKind.RATE_LIMITED: ("rate_limit_error", "Rate limit reached for requests"),
        ErrorKind.OVERLOADED: ("server_error", "The server is currently overloaded with other requests."),
        ErrorKind.TIMEOUT: ("server_error", "Request timed out."),
        ErrorKind.INTERNAL: ("server_error", "The server had an error while processing your request."),
        ErrorKind.CONTEXT_LENGTH: ("invalid_request_error", "This model's maximum context length is exceeded."),
    }
)


def word_external(
    error: EmulatedError, name: str, request: Request, service: DatabricksService, code: JSON
) -> Object | None:
    """Return the error body of an external model's provider; ``None`` if Databricks reports the error itself."""
    provider = _find_provider(error, name, request, service)
    return _build_body(error, provider, service.settings, code) if provider else None


def _find_provider(error: EmulatedError, name: str, request: Request, service: DatabricksService) -> str:
    """Return the provider of the external model that failed; empty if Databricks reports the error itself."""
    if error.kind not in _PROVIDER_ERRORS or "unit" in error.details:
        return ""
    found = find(name, request.documents, service)
    if found is None or found.deployment.mode != "external":
        return ""
    return str(found.profile.traits.get("provider") or "openai")


def _build_body(error: EmulatedError, provider: str, settings: DatabricksSettings, code: JSON) -> Object:
    """Return a provider's error as passed on, in OpenAI's format (unverified for others)."""
    kind, text = _PROVIDER_ERRORS[error.kind]
    inner: Object = {"message": error.message or text, "type": kind, "param": error.param, "code": None}
    body: Object = {"error": f"Received error from {provider}", "external_model_message": {"error": inner}}
    return {"error_code": code, "message": dump_text(body)} if settings.external_errors == "wrapped" else body
