"""Responses that were kept: looking at them, forgetting them, stopping them, listing what they were asked.

Source: learn.microsoft.com, "Azure OpenAI Responses API"; openai-python, ``resources/responses``. Texts of refusals as
the OpenAI API words them, unverified for Azure.
"""

from collections.abc import Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_array, as_number, as_object, as_text, dump_json
from emulator.core.vendor import Change, Write
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import JSON_TYPE, STREAM_TYPE, echo_request_id, gateway_headers
from emulator.vendors.azure.management.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import check_place
from emulator.vendors.azure.responses.replay import replay_stream

_EARLY = 1e-6  # seconds; what is over but for the rounding of Unix time is over
_OVER = {
    "completed": "Cannot cancel a completed response.",
    "incomplete": "Cannot cancel a response in terminal state.",
}


def missing_refusal(name: str) -> EmulatedError:
    """404."""
    text = f"Response with id '{name}' not found."
    return EmulatedError(ErrorKind.INVALID_REQUEST, text, status=404)


def find_kept(documents: Mapping[str, JSON], name: str, request: Request) -> Object | None:
    """The document of a response that the same principal asked for."""
    found = documents.get(name)
    document = as_object(found) if found is not None else None
    if document is None or "response" not in document or document["principal"] != request.principal:
        return None
    return document


def retrieve(request: Request, service: AzureService) -> Response | StreamingResponse:
    """``GET /responses/{response}``: as it is by now, or the events that lead there."""
    check_place(request, service)
    document = _find(request.documents, request)
    now = service.clock.now()
    if request.query.get("stream") != "true":
        return _answer(show(document, now), request)
    headers = (STREAM_TYPE, *gateway_headers(request), ("x-accel-buffering", "no"), *echo_request_id(request))
    return StreamingResponse(replay_stream(document, request.query, now), headers)


def show(document: Object, now: float) -> Object:
    """A response as it is at a time."""
    response = as_object(document["response"])
    if "cancelled_at" in document:
        return {**response, "status": "cancelled", "output": [], "incomplete_details": None, "usage": None}
    if now < as_number(document["ends"]) - _EARLY:
        return {**response, "status": "in_progress", "output": [], "incomplete_details": None, "usage": None}
    return response


def delete(request: Request, service: AzureService) -> Change:
    """``DELETE /responses/{response}``."""
    check_place(request, service)

    def make(documents: Mapping[str, JSON]) -> Write:
        _find(documents, request)
        name = request.params["response"]
        return Write(_answer({"id": name, "object": "response", "deleted": True}, request), name, None)

    return Change(make)


def cancel(request: Request, service: AzureService) -> Change:
    """``POST /responses/{response}/cancel``: of one in the background, once or more often, but not of one that is over.

    Source: the package azure-ai-agentserver-responses.
    """
    check_place(request, service)

    def make(documents: Mapping[str, JSON]) -> Write:
        document = _find(documents, request)
        if not document["background"]:
            raise refusals.contradicts("Cannot cancel a synchronous response.", None)
        now = service.clock.now()
        if "cancelled_at" not in document:
            if now >= as_number(document["ends"]) - _EARLY:
                raise refusals.contradicts(_OVER[as_text(as_object(document["response"])["status"])], None)
            document = {**document, "cancelled_at": now}
        return Write(_answer(show(document, now), request), request.params["response"], document)

    return Change(make)


def list_input(request: Request, service: AzureService) -> Response:
    """``GET /responses/{response}/input_items``: a page of them, the newest first."""
    check_place(request, service)
    document = _find(request.documents, request)
    items = [as_object(item) for item in (*as_array(document["before"]), *as_array(document["input"]))]
    return _answer(list_page(items, request.query, newest_first=True), request)


def _find(documents: Mapping[str, JSON], request: Request) -> Object:
    name = request.params["response"]
    document = find_kept(documents, name, request)
    if document is None:
        raise missing_refusal(name)
    return document


def _answer(body: JSON, request: Request) -> Response:
    headers = (JSON_TYPE, *gateway_headers(request), *echo_request_id(request))
    return Response(200, dump_json(body), headers)
