"""Routes of stored responses: retrieve, delete, cancel, list input items.

Source: learn.microsoft.com, "Azure OpenAI Responses API"; openai-python, ``resources/responses``. Texts of refusals as
the OpenAI API words them, unverified for Azure.
"""

from collections.abc import Mapping

from emulator.core.calls import Change, Write
from emulator.core.errors import EmulatedError
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text
from emulator.vendors.azure.documents import TOLERANCE, find_owned
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import STREAM_TYPE, answer_json, echo_request_id, gateway_headers
from emulator.vendors.azure.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import validate_place
from emulator.vendors.azure.responses.replay import replay_stream

_CANCEL_ERRORS = {
    "completed": "Cannot cancel a completed response.",
    "incomplete": "Cannot cancel a response in terminal state.",
}


def error_not_found(name: str) -> EmulatedError:
    """Return the error of an unknown response (404)."""
    return refusals.not_found(f"Response with id '{name}' not found.")


def find_stored(documents: Mapping[str, JSON], name: str, request: Request) -> Object | None:
    """Return the document of a response of the same principal."""
    document = find_owned(documents, name, "response", request.principal)
    return None if document is None or document.get("hidden") else document


def retrieve(request: Request, service: AzureService) -> Response | StreamingResponse:
    """``GET /responses/{response}``: its current state, or its events."""
    validate_place(request, service)
    document = _find(request.documents, request)
    now = service.clock.now()
    if request.query.get("stream") != "true":
        return answer_json(build_state(document, now), request, service)
    headers = (
        STREAM_TYPE,
        *gateway_headers(request, service.settings.hsts),
        ("x-accel-buffering", "no"),
        *echo_request_id(request),
    )
    return StreamingResponse(replay_stream(document, request.query, now), headers)


def build_state(document: Object, now: float) -> Object:
    """Return a response in its state at a time."""
    response = as_object(document["response"])
    open_end: Object = {"completed_at": None, "output": [], "incomplete_details": None, "usage": None}
    if "cancelled_at" in document:
        return {**response, "status": "cancelled", **open_end}
    return response if has_ended(document, now) else {**response, "status": "in_progress", **open_end}


def has_ended(document: Object, now: float) -> bool:
    """Return whether a response was generated to its end."""
    return "cancelled_at" not in document and now >= as_number(document["ends"]) - TOLERANCE


def list_output(document: Object, now: float) -> list[Object]:
    """Return the items that a response has generated: a background one all at its end, else none."""
    if document["background"] and not has_ended(document, now):
        return []
    return [as_object(item) for item in as_array(as_object(document["response"])["output"])]


def delete(request: Request, service: AzureService) -> Change:
    """``DELETE /responses/{response}``."""
    validate_place(request, service)

    def make(documents: Mapping[str, JSON]) -> Write:
        document = _find(documents, request)
        name = request.params["response"]
        # the items stay in the conversation
        rest: JSON = {**document, "hidden": True} if document.get("joined") else None
        return Write(answer_json({"id": name, "object": "response", "deleted": True}, request, service), name, rest)

    return Change(make)


def cancel(request: Request, service: AzureService) -> Change:
    """``POST /responses/{response}/cancel``: repeatable, for a background response that has not ended.

    Source: the package azure-ai-agentserver-responses.
    """
    validate_place(request, service)

    def make(documents: Mapping[str, JSON]) -> Write:
        document = _find(documents, request)
        if not document["background"]:
            raise refusals.contradicts("Cannot cancel a synchronous response.", None)
        now = service.clock.now()
        if "cancelled_at" not in document:
            if has_ended(document, now):
                raise refusals.contradicts(_CANCEL_ERRORS[as_text(as_object(document["response"])["status"])], None)
            document = {**document, "cancelled_at": now}
        return Write(answer_json(build_state(document, now), request, service), request.params["response"], document)

    return Change(make)


def list_input(request: Request, service: AzureService) -> Response:
    """``GET /responses/{response}/input_items``: a page of items, the newest first."""
    validate_place(request, service)
    document = _find(request.documents, request)
    items = [as_object(item) for item in (*as_array(document["before"]), *as_array(document["input"]))]
    return answer_json(list_page(items, request.query, newest_first=True), request, service)


def _find(documents: Mapping[str, JSON], request: Request) -> Object:
    name = request.params["response"]
    document = find_stored(documents, name, request)
    if document is None:
        raise error_not_found(name)
    return document
