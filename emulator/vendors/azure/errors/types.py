"""Status, code and text of each kind of error, the fields that formats need of an error, and texts that they share.

``refusals.py`` builds errors, ``format_*.py`` format them, ``render.py`` makes responses of them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Headers, Request
from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.core.text import reason_phrase
from emulator.vendors.azure.errors.refusals import echo

# Status, code and message of each kind, for profiles without texts of their own.
ERRORS: Mapping[ErrorKind, tuple[int, str, str]] = {
    ErrorKind.INVALID_REQUEST: (400, "invalid_request", "The request is not valid."),
    ErrorKind.INVALID_PARAMETER: (422, "parameter_not_supported", "One of the parameters contain invalid values."),
    ErrorKind.UNAUTHENTICATED: (401, "Unauthorized", "The access token is absent or not valid."),
    ErrorKind.FORBIDDEN: (403, "Forbidden", "The principal has no access to this operation."),
    ErrorKind.NOT_FOUND: (404, "NotFound", "This deployment does not serve the requested route."),
    ErrorKind.METHOD_NOT_ALLOWED: (405, "MethodNotAllowed", "Method Not Allowed"),
    ErrorKind.PAYLOAD_TOO_LARGE: (413, "PayloadTooLarge", "The request body is too large."),
    ErrorKind.CONTEXT_LENGTH: (400, "context_length_exceeded", "The messages exceed the model's context length."),
    ErrorKind.CONTENT_FILTER: (400, "content_filter", "The response was filtered"),
    ErrorKind.RATE_LIMITED: (429, "TooManyRequests", "Rate limit reached. Retry after {wait} seconds."),
    ErrorKind.OVERLOADED: (503, "ServiceUnavailable", "The service is overloaded. Please try again later."),
    ErrorKind.NOT_READY: (503, "ServiceUnavailable", "The deployment is not ready to serve requests."),
    ErrorKind.TIMEOUT: (504, "GatewayTimeout", "The operation timed out."),
    ErrorKind.INTERNAL: (500, "InternalServerError", "An internal error occurred."),
}
ON_YOUR_DATA = "on_your_data"
"""Code of errors that have the form of Azure OpenAI On Your Data."""
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
UNION_BRANCHES = frozenset(
    {"str", "constrained-str", "list[str]", "list[ContentPart]", "ChosenFunction"}
)  # of unions, as ``loc`` names them; no part of a path


@fast_dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """Violation of the schema by one value of the request.

    Fields:
        kind: pydantic's type of the error.
        loc: path, from ``body`` on.
        context: parameters of pydantic's text.
    """

    kind: str
    loc: Sequence[JSON]
    text: str
    value: JSON
    context: Object = field(default_factory=dict)


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorFields:
    """An error with its defaults filled in.

    Fields:
        message: text of the error itself; ``None``: the profile's text for its kind.
        openai: it is about a model of OpenAI.
        wait, wait_ms: whole seconds and milliseconds until a retry, for a throttled request.
        quota: requests and tokens a minute that responses of the model report, though not enforced.
        hsts: the setting of that name.
    """

    kind: ErrorKind
    status: int
    code: str
    message: str | None
    param: str | None
    wait: int
    wait_ms: int
    limit: str | None
    details: Mapping[str, JSON]
    request: Request
    openai: bool = False
    quota: tuple[int, int] | None = None
    hsts: bool | None = None

    @property
    def text(self) -> str:
        """The message, or the common text of the error's kind."""
        return self.message or ERRORS[self.kind][2].format(wait=self.wait)

    @property
    def phrase(self) -> str:
        return reason_phrase(self.status)

    @property
    def nearest(self) -> Violation:
        """The first violation, but of a list or object that is no text that of its member, if one is wrong."""
        first = self.violation
        is_other = isinstance(first.value, list | dict) and str(first.loc[-1]).startswith(("str", "literal["))
        for error in as_array(self.details.get("errors", []))[1:]:
            other = _parse_violation(as_object(error))
            is_item = len(other.loc) > len(first.loc) and [*other.loc[: len(first.loc) - 1]] == [*first.loc[:-1]]
            if is_other and is_item:
                return other
        return first

    @property
    def violation(self) -> Violation:
        """The first violation; if there is none, one built from the parameter's name and its value in the request."""
        details = self.details
        if "errors" in details:
            return _parse_violation(as_object(as_array(details["errors"])[0]))
        if "loc" in details:
            return Violation("value_error", as_array(details["loc"]), "", details["input"])
        path = _split_param(self.param or "messages")
        return Violation("value_error", ["body", *path], "", echo(_find_value(self.request.json_members(), path)))


def _split_param(param: str) -> list[JSON]:
    """Return the steps of a parameter's path: ``["messages", 0, "content"]`` of ``messages[0].content``."""
    return [int(index) if index else name for index, name in _STEP.findall(param)] or [param]


def _find_value(members: Object, path: Sequence[JSON]) -> JSON:
    """Return the value at a path of a request; ``None`` without one."""
    value: JSON = dict(members)
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def build_fields(
    error: EmulatedError,
    request: Request,
    *,
    openai: bool = False,
    quota: tuple[int, int] | None = None,
    hsts: bool | None = None,
) -> ErrorFields:
    """Return the fields of an error with its defaults filled in."""
    status, code, _ = ERRORS[error.kind]
    return ErrorFields(
        kind=error.kind,
        status=error.status or status,
        code=as_text(error.details.get("code", code)),
        message=error.message,
        param=error.param,
        wait=1 if error.wait is None else error.wait,
        wait_ms=1000 if error.wait_ms is None else error.wait_ms,
        limit=error.limit,
        details=error.details,
        request=request,
        openai=openai,
        quota=quota if error.kind is ErrorKind.RATE_LIMITED else None,
        hsts=hsts,
    )


def _parse_violation(listed: Object) -> Violation:
    return Violation(
        kind=as_text(listed["type"]),
        loc=as_array(listed["loc"]),
        text=as_text(listed["msg"]),
        value=listed["input"],
        context=as_object(listed.get("ctx", {})),
    )


@fast_dataclass(frozen=True, slots=True, eq=False)
class FormattedError:
    """An error in a profile's format; ``body`` is JSON, or a string for plain text."""

    body: JSON
    headers: Headers = ()
    status: int | None = None


ErrorFormatter = Callable[[ErrorFields], FormattedError]

NO_SCHEMA = "Response format is json_schema but json_schema is not provided."
_SAFE: JSON = {"filtered": False, "severity": "safe"}
_FOUND: JSON = {
    "hate": _SAFE,
    "jailbreak": {"filtered": False, "detected": False},
    "self_harm": _SAFE,
    "sexual": _SAFE,
    "violence": {"filtered": True, "severity": "medium"},
}
_FILTER_RESULT: JSON = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": _FOUND}
_FILTERED = (
    "The response was filtered due to the prompt triggering {policy} content management policy. "
    "Please modify your prompt and retry."
)


def model_error_headers(fields: ErrorFields) -> Headers:
    """Return the headers that a serverless endpoint adds to an error of its model."""
    return (
        ("ms-azureml-model-error-reason", "model_error"),
        ("ms-azureml-model-error-statuscode", str(fields.status)),
    )


def format_filtered(fields: ErrorFields, policy: str = "Microsoft's", advice: str = "") -> FormattedError:
    """Format a prompt stopped by the content filter. Source: continuedev/continue issue 3902."""
    return FormattedError(
        {
            "error": {
                "message": fields.message or _FILTERED.format(policy=policy) + advice,
                "type": None,
                "param": fields.param or "prompt",
                "code": "content_filter",
                "status": fields.status,
                "innererror": _FILTER_RESULT,
            }
        }
    )


def format_filtered_response(fields: ErrorFields, policy: str, advice: str) -> FormattedError:
    """Format a prompt stopped by the content filter for the Responses API. Source: Microsoft's migration guides."""
    return FormattedError(
        {
            "error": {
                "message": fields.message or _FILTERED.format(policy=policy) + advice,
                "type": "invalid_request_error",
                "param": fields.param or "prompt",
                "code": "content_filter",
                "content_filters": [{"blocked": True, "source_type": "prompt", "content_filter_results": _FOUND}],
            }
        }
    )
