"""Message batches of Claude (``/anthropic/v1/messages/batches``): jobs that end by the scenario's clock.

The messages are answered when the batch is made, by the rules, limits and faults of all requests; their results appear
when the batch has ended. A cancelled one is ``canceling`` for a tenth of its time and keeps the messages that had been
answered by then. Source: docs.anthropic.com, "Message Batches"; the package ``anthropic``,
``types/messages/message_batch.py``. That Foundry has the routes is unverified.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from emulator.core.calls import Answers, Change, InnerRequest, Write
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text, dump_json, dump_text, parse_json
from emulator.core.rng import draw_alphanumeric
from emulator.protocols.anthropic.lists import list_page
from emulator.protocols.anthropic.rules import error_parameter
from emulator.vendors.azure.documents import TOLERANCE, find_owned
from emulator.vendors.azure.passthrough.anthropic import answer_json
from emulator.vendors.azure.profile import AzureService

MAX_REQUESTS = 1000
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
_LIFETIME = 24 * 3600  # seconds
_CANCELING = 0.1  # share of the batch's time

Documents = Mapping[str, JSON]


def create(request: Request, service: AzureService) -> Change:
    """``POST /anthropic/v1/messages/batches``."""
    listed = _parse_requests(request)
    now = service.clock.now()
    name = f"msgbatch_01{draw_alphanumeric(request.key, 22, 'batch')}"
    inner = tuple(InnerRequest("POST", "/anthropic/v1/messages", dump_json(one["params"])) for one in listed)

    def make_with(answers: Answers) -> Change:
        results = [_build_result(as_text(one["custom_id"]), *found) for one, found in zip(listed, answers, strict=True)]
        document: Object = {
            "message_batch": name,
            "results": results,
            "starts": now,
            "ends": now + service.settings.batch_seconds,
            "principal": request.principal,
        }
        body = build_state(document, now - TOLERANCE, request)
        return Change(lambda documents: Write(answer_json(body, request, service), name, document))

    return Change(lambda documents: answer_json({}, request, service), inner=inner, make_with=make_with)


def retrieve(request: Request, service: AzureService) -> Response:
    """``GET /anthropic/v1/messages/batches/{batch}``."""
    return answer_json(build_state(_find(request.documents, request), service.clock.now(), request), request, service)


def show_batches(request: Request, service: AzureService) -> Response:
    """``GET /anthropic/v1/messages/batches``: the newest first."""
    now = service.clock.now()
    stored = [one for one in map(as_object, request.documents.values()) if "message_batch" in one]
    mine = [build_state(one, now, request) for one in stored if one["principal"] == request.principal]
    return answer_json(list_page(mine[::-1], request.query), request, service)


def show_results(request: Request, service: AzureService) -> Response:
    """``GET /anthropic/v1/messages/batches/{batch}/results``: one result a line."""
    document = _find(request.documents, request)
    if build_state(document, service.clock.now(), request)["processing_status"] != "ended":
        text = f"Batch '{document['message_batch']}' has no available results because it has not ended."
        raise error_parameter(text)
    lines = "".join(f"{dump_text(result)}\n" for result in as_array(document["results"]))
    whole = answer_json({}, request, service)
    headers = [("Content-Type", "application/x-jsonl"), *[each for each in whole.headers if each[0] != "Content-Type"]]
    return Response(200, lines.encode(), tuple(headers))


def cancel(request: Request, service: AzureService) -> Change:
    """``POST /anthropic/v1/messages/batches/{batch}/cancel``: a batch that has not ended."""

    def make(documents: Documents) -> Write:
        document, now = _find(documents, request), service.clock.now()
        if now < as_number(document["ends"]) - TOLERANCE and "cancelled_at" not in document:
            document = _cancel(document, now)
        body = answer_json(build_state(document, now, request), request, service)
        return Write(body, as_text(document["message_batch"]), document)

    return Change(make)


def _cancel(document: Object, now: float) -> Object:
    start, end = as_number(document["starts"]), as_number(document["ends"])
    results = [as_object(one) for one in as_array(document["results"])]
    answered = int(len(results) * (now - start + TOLERANCE) / (end - start))
    rest = [{**one, "result": {"type": "canceled"}} for one in results[answered:]]
    ends = now + (end - start) * _CANCELING
    return {**document, "results": [*results[:answered], *rest], "ends": ends, "cancelled_at": now}


def delete(request: Request, service: AzureService) -> Change:
    """``DELETE /anthropic/v1/messages/batches/{batch}``: once it has ended."""

    def make(documents: Documents) -> Write:
        document = _find(documents, request)
        if build_state(document, service.clock.now(), request)["processing_status"] != "ended":
            raise error_parameter("Batch cannot be deleted while it is processing. Cancel it first.")
        name = as_text(document["message_batch"])
        return Write(answer_json({"id": name, "type": "message_batch_deleted"}, request, service), name, None)

    return Change(make)


def build_state(document: Object, now: float, request: Request) -> Object:
    """Return a batch in its state at a time."""
    ended = now >= as_number(document["ends"]) - TOLERANCE
    kinds = [as_object(as_object(one)["result"])["type"] for one in as_array(document["results"])]
    names = ("succeeded", "errored", "canceled", "expired")
    counts: Object = {name: kinds.count(name) if ended else 0 for name in names}
    start, name = as_number(document["starts"]), as_text(document["message_batch"])
    cancelled = document.get("cancelled_at")
    return {
        "id": name,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress" if cancelled is None else "canceling",
        "request_counts": {"processing": 0 if ended else len(kinds), **counts},
        "ended_at": _format_time(as_number(document["ends"])) if ended else None,
        "created_at": _format_time(start),
        "expires_at": _format_time(start + _LIFETIME),
        "archived_at": None,
        "cancel_initiated_at": None if cancelled is None else _format_time(as_number(cancelled)),
        "results_url": f"{request.base_url}/anthropic/v1/messages/batches/{name}/results" if ended else None,
    }


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _find(documents: Documents, request: Request) -> Object:
    name = request.params["batch"]
    document = find_owned(documents, name, "message_batch", request.principal)
    if document is None:
        raise EmulatedError(ErrorKind.NOT_FOUND, f"Batch '{name}' not found.")
    return document


def _parse_requests(request: Request) -> list[Object]:
    try:
        body = request.json()
    except ValueError as error:
        raise error_parameter(f"The request body is not valid JSON: {error}") from None
    fields = body if isinstance(body, dict) else {}
    listed = fields.get("requests")
    if listed is None:
        raise error_parameter("requests: Field required")
    unknown = next((name for name in fields if name != "requests"), None)
    if unknown is not None:
        raise error_parameter(f"{unknown}: Extra inputs are not permitted")
    if not isinstance(listed, list):
        raise error_parameter("requests: Input should be a valid list")
    if not 1 <= len(listed) <= MAX_REQUESTS:
        raise error_parameter(f"requests: List should have between 1 and {MAX_REQUESTS} items")
    names: set[JSON] = set()
    requests: list[Object] = []
    for position, one in enumerate(listed):
        requests.append(_parse_request(one, f"requests.{position}"))
        name = requests[-1]["custom_id"]
        if name in names:
            raise error_parameter(f"requests.{position}.custom_id: Duplicate custom_id '{name}'")
        names.add(name)
    return requests


def _parse_request(one: JSON, where: str) -> Object:
    if not isinstance(one, dict):
        raise error_parameter(f"{where}: Input should be a valid dictionary")
    for name, kind, title in (("custom_id", str, "string"), ("params", dict, "dictionary")):
        if one.get(name) is None:
            raise error_parameter(f"{where}.{name}: Field required")
        if not isinstance(one[name], kind):
            raise error_parameter(f"{where}.{name}: Input should be a valid {title}")
    if not _NAME.fullmatch(as_text(one["custom_id"])):
        raise error_parameter(f"{where}.custom_id: String should match pattern '^{_NAME.pattern}$'")
    unknown = next((name for name in one if name not in ("custom_id", "params")), None)
    if unknown is not None:
        raise error_parameter(f"{where}.{unknown}: Extra inputs are not permitted")
    if as_object(one["params"]).get("stream"):
        raise error_parameter(f"{where}.params.stream: Streaming is not supported in batches")
    return one


def _build_result(name: str, status: int, body: bytes) -> JSON:
    try:
        parsed: JSON = parse_json(body.decode())
    except ValueError:
        parsed = body.decode("utf-8", "replace")  # a fault broke it
    if status < 400:
        return {"custom_id": name, "result": {"type": "succeeded", "message": parsed}}
    return {"custom_id": name, "result": {"type": "errored", "error": parsed}}
