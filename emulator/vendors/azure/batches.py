"""``/batches``: jobs over the lines of an uploaded file, which end by the scenario's clock.

The lines are answered when the batch is made, by the rules, limits and faults of all requests; their results appear
when the batch has completed. Sources: openai/openai-openapi, "Batch"; learn.microsoft.com, "Azure OpenAI Batch", which
names the codes of the errors of lines. Texts of refusals unverified.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import ConfigDict

from emulator.core.calls import Answers, Change, InnerRequest, Write
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_object, as_text, dump_json, dump_text, parse_json
from emulator.core.rng import draw_hex
from emulator.vendors.azure.batch_results import build_state
from emulator.vendors.azure.chat.openai_models import Metadata
from emulator.vendors.azure.decoder import WireModel, parse_body, validate
from emulator.vendors.azure.documents import find_owned, find_upload, read_content
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.files import FileExpiry
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import look_up, validate_place

MAX_LINES = 1000
_WINDOW = 24 * 3600  # seconds
_ROUTES = {
    "/v1/responses": "/openai/v1/responses",
    "/v1/chat/completions": "/openai/v1/chat/completions",
    "/v1/embeddings": "/openai/v1/embeddings",
    "/v1/completions": "/openai/v1/completions",
    "/chat/completions": "/openai/v1/chat/completions",
    "/responses": "/openai/v1/responses",
    "/embeddings": "/openai/v1/embeddings",
}
"""Path of a line, and the one that answers it. Azure's own lines have no version."""

Documents = Mapping[str, JSON]


class NewBatch(WireModel):
    """``POST /batches``."""

    model_config = ConfigDict(strict=True)

    input_file_id: str
    endpoint: str
    completion_window: Literal["24h"]
    metadata: Metadata | None = None
    anchor: Literal["created_at"] | None = None
    output_expires_after: FileExpiry | None = None


def create(request: Request, service: AzureService) -> Change:
    """``POST /batches``; a file with an invalid line makes a failed batch."""
    _, settings = validate_place(request, service)
    body = _move_anchor(parse_body(request, settings))
    wire = validate(NewBatch, body)
    fields = as_object(body)
    expiry = fields.get("output_expires_after") or {}
    unknown = [name for name in fields if name not in NewBatch.model_fields]
    unknown += [f"output_expires_after.{name}" for name in as_object(expiry) if name not in FileExpiry.model_fields]
    if unknown:
        raise refusals.unknown_parameter(unknown[0])
    if wire.endpoint not in _ROUTES:
        known = ", ".join(f"'{name}'" for name in _ROUTES)
        text = f"Invalid value: '{wire.endpoint}'. Supported values are: {known}."
        raise refusals.contradicts(text, "endpoint", "invalid_value")
    file = find_upload(request, wire.input_file_id, service.clock.now())
    if file is None:
        text = f"Invalid input_file_id: no such file '{wire.input_file_id}'."
        raise refusals.contradicts(text, "input_file_id", "invalid_input_file_id")
    if as_object(file["file"])["purpose"] != "batch":
        text = "Invalid input_file_id: the file must have the purpose 'batch'."
        raise refusals.contradicts(text, "input_file_id", "invalid_input_file_id")
    lines, errors = _parse_lines(read_content(file), wire.endpoint, service)
    batch = _build_batch(wire, request, service, len(lines))
    if errors:
        return _store(_fail(batch, errors), request, service)
    inner = tuple(InnerRequest("POST", _ROUTES[wire.endpoint], dump_json(line["body"])) for line in lines)

    def make_with(answers: Answers) -> Change:
        expiry = wire.output_expires_after
        document = _finish(batch, lines, answers, request, service)
        return _store({**document, "lifetime": None if expiry is None else expiry.seconds}, request, service)

    return Change(
        lambda documents: Write(answer_json({}, request, service), "", None), inner=inner, make_with=make_with
    )


def _move_anchor(body: JSON) -> JSON:
    """Return the body with an ``anchor`` beside ``output_expires_after`` in it, unless it has one.

    Source: learn.microsoft.com, "Azure OpenAI Batch", whose example in REST writes it there.
    """
    expiry = body.get("output_expires_after") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(expiry, dict) or body.get("anchor") is None:
        return body
    return {**body, "output_expires_after": {"anchor": body["anchor"], **expiry}}


def retrieve(request: Request, service: AzureService) -> Response:
    """``GET /batches/{batch}``."""
    validate_place(request, service)
    document = _find(request.documents, request)
    return answer_json(build_state(document, service.clock.now()), request, service)


def show_batches(request: Request, service: AzureService) -> Response:
    """``GET /batches``: the newest first."""
    validate_place(request, service)
    stored = [one for one in map(as_object, request.documents.values()) if "batch" in one]
    now = service.clock.now()
    batches = [build_state(one, now) for one in stored if one["principal"] == request.principal]
    return answer_json(list_page(batches, request.query, newest_first=True), request, service)


def cancel(request: Request, service: AzureService) -> Change:
    """``POST /batches/{batch}/cancel``."""
    validate_place(request, service)

    def make(documents: Documents) -> Write:
        document = _find(documents, request)
        now = service.clock.now()
        state = build_state(document, now)
        if state["status"] in ("completed", "failed"):
            text = f"Cannot cancel a batch with status '{state['status']}'."
            raise EmulatedError(ErrorKind.INVALID_REQUEST, text, status=409)
        changed: Object = {"stopped": now, **document}
        return Write(answer_json(build_state(changed, now), request, service), request.params["batch"], changed)

    return Change(make)


def _find(documents: Documents, request: Request) -> Object:
    name = request.params["batch"]
    document = find_owned(documents, name, "batch", request.principal)
    if document is None:
        raise refusals.not_found(f"No batch found with id '{name}'.")
    return document


def _parse_lines(content: bytes, endpoint: str, service: AzureService) -> tuple[list[Object], list[Object]]:
    """Return the requests of a file, and the errors of its lines."""
    lines: list[Object] = []
    errors: list[Object] = []
    names: set[JSON] = set()
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        problem = _check_line(line, endpoint, names, lines, service)
        if problem is not None:
            errors.append({"code": problem[0], "message": problem[1], "param": problem[2], "line": number})
    if not lines and not errors:
        text = "The input file is empty. Please ensure that the batch contains at least one request."
        errors = [{"code": "empty_file", "message": text, "param": None, "line": None}]
    if len(lines) > MAX_LINES:
        text = f"The input file has more than {MAX_LINES} requests."
        errors = [{"code": "too_many_tasks", "message": text, "param": None, "line": None}]
    return lines, errors


def _check_line(
    text: bytes, endpoint: str, names: set[JSON], lines: list[Object], service: AzureService
) -> tuple[str, str, JSON] | None:
    """Add the request of a line; or return code, message and parameter of its error."""
    try:
        line = parse_json(text.decode())
    except ValueError:
        return "invalid_json_line", "This line is not parseable as valid JSON.", None
    if not isinstance(line, dict):
        return "invalid_request", "Each line must be a JSON object.", None
    found = _find_misfit(line) or _find_conflict(line, endpoint, names) or _find_model_error(line, lines, service)
    if found is None:
        names.add(line["custom_id"])
        lines.append(line)
    return found


def _find_misfit(line: Object) -> tuple[str, str, JSON] | None:
    for name, kind in (("custom_id", str), ("method", str), ("url", str), ("body", dict)):
        if line.get(name) is None:
            return "invalid_request", f"Missing required parameter: '{name}'.", name
        if not isinstance(line[name], kind):
            return "invalid_request", f"Invalid type for '{name}'.", name
    return None


def _find_conflict(line: Object, endpoint: str, names: set[JSON]) -> tuple[str, str, JSON] | None:
    if line["method"] != "POST":
        return "invalid_request", "The method must be 'POST'.", "method"
    if _ROUTES.get(as_text(line["url"])) != _ROUTES[endpoint]:
        text = f"The URL provided for this request does not match the batch endpoint '{endpoint}'."
        return "url_mismatch", text, "url"
    if line["custom_id"] in names:
        text = f"The custom_id '{line['custom_id']}' is a duplicate of another request. Custom IDs must be unique."
        return "duplicate_custom_id", text, "custom_id"
    if as_object(line["body"]).get("stream"):
        return "invalid_request", "Streaming is not supported in the Batch API.", "stream"
    return None


def _find_model_error(line: Object, lines: Sequence[Object], service: AzureService) -> tuple[str, str, JSON] | None:
    """Return the error of a line for an unknown deployment, or for another one than the first line's."""
    name = as_object(line["body"]).get("model")
    if not isinstance(name, str):
        return None  # the call itself is refused
    if look_up(service, name) is None:
        return "model_not_found", f"The model deployment '{name}' was not found.", "body.model"
    first = as_object(lines[0]["body"]).get("model") if lines else name
    if isinstance(first, str) and first.casefold() != name.casefold():
        text = f"The model deployment '{name}' of this request does not match the rest of the file, '{first}'."
        return "model_mismatch", text, "body.model"
    return None


def _build_batch(wire: NewBatch, request: Request, service: AzureService, total: int) -> Object:
    now = int(service.clock.now())
    return {
        "id": f"batch_{draw_hex(request.key, 'batch')}",
        "object": "batch",
        "endpoint": wire.endpoint,
        "errors": None,
        "input_file_id": wire.input_file_id,
        "completion_window": wire.completion_window,
        "status": "validating",
        "output_file_id": None,
        "error_file_id": None,
        "created_at": now,
        "in_progress_at": None,
        "expires_at": now + _WINDOW,
        "finalizing_at": None,
        "completed_at": None,
        "failed_at": None,
        "expired_at": None,
        "cancelling_at": None,
        "cancelled_at": None,
        "request_counts": {"total": total, "completed": 0, "failed": 0},
        "metadata": dict(wire.metadata) if wire.metadata else None,
    }


def _fail(batch: Object, errors: Sequence[JSON]) -> Object:
    failed: Object = {"status": "failed", "failed_at": batch["created_at"]}
    counts: Object = {"total": 0, "completed": 0, "failed": 0}
    listed: Object = {"object": "list", "data": [*errors]}
    whole: Object = {**batch, **failed, "errors": listed, "request_counts": counts}
    return {"batch": whole, "lifetime": None}


def _finish(
    batch: Object, lines: Sequence[Object], answers: Answers, request: Request, service: AzureService
) -> Object:
    """Return the document of a batch whose requests are answered."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    answered: list[JSON] = []
    for number, (line, (status, body)) in enumerate(zip(lines, answers, strict=True)):
        answered.append(status < 400)
        texts[status < 400].append(f"{dump_text(_build_result(line, status, body, request, number))}\n")
    starts = service.clock.now()
    files: Object = {name: f"file-{draw_hex(request.key, name)}" for name in ("output_file_id", "error_file_id")}
    return {
        "batch": batch,
        **files,
        "answered": answered,
        "output": "".join(texts[True]),
        "failures": "".join(texts[False]),
        "starts": starts,
        "ends": starts + service.settings.batch_seconds,
    }


def _build_result(line: Object, status: int, body: bytes, request: Request, number: int) -> Object:
    try:
        parsed = parse_json(body.decode())
    except ValueError:
        parsed = body.decode("utf-8", "replace")  # a fault broke it
    name = draw_hex(request.key, "line", number)
    response: Object = {"status_code": status, "request_id": name, "body": parsed}
    return {"id": f"batch_req_{name}", "custom_id": line["custom_id"], "response": response, "error": None}


def _store(document: Object, request: Request, service: AzureService) -> Change:
    batch = as_object(document["batch"])
    whole: Object = {**document, "principal": request.principal}
    return Change(lambda documents: Write(answer_json(batch, request, service), str(batch["id"]), whole))
