"""``/conversations`` and their items: a conversation that responses continue and add to.

A document holds a conversation's own items; those of its responses are in the documents of the responses, so that
concurrent ones do not overwrite one another. Sources: openai/openai-openapi, "Conversations"; learn.microsoft.com,
"Azure OpenAI Responses API". Texts of refusals as the OpenAI API words them, unverified for Azure.
"""

from collections.abc import Callable, Iterable, Mapping

from emulator.core.calls import Change, Write
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_array, as_integer, as_object
from emulator.core.rng import draw_hex
from emulator.protocols.shapes import OPENAI_SHAPES
from emulator.vendors.azure.chat.openai_models import Metadata
from emulator.vendors.azure.decoder import WireModel, parse_body, validate
from emulator.vendors.azure.documents import find_owned
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.errors.refusals import validate_names
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.members import build_refusal
from emulator.vendors.azure.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import validate_place
from emulator.vendors.azure.responses.input import identify, list_items, parse_items
from emulator.vendors.azure.responses.references import resolve_references, validate_ids
from emulator.vendors.azure.responses.stored import has_ended

MAX_ITEMS = 20  # of one request

Documents = Mapping[str, JSON]


class NewConversation(WireModel):
    """``POST /conversations``."""

    items: list[dict[str, JSON]] | None = None
    metadata: Metadata | None = None


class NewItems(WireModel):
    """``POST /conversations/{conversation}/items``."""

    items: list[dict[str, JSON]]


class NewMetadata(WireModel):
    """``POST /conversations/{conversation}``."""

    metadata: Metadata | None


def create(request: Request, service: AzureService) -> Change:
    """``POST /conversations``."""
    wire = validate(NewConversation, _parse_body(request, service, NewConversation))
    items = _parse_new(wire.items or [], request, service)
    name = f"conv_{draw_hex(request.key, 'conversation')}{draw_hex(request.key, 'conversation', 'end', digits=16)}"
    document: Object = {
        "conversation": {
            "id": name,
            "object": "conversation",
            "created_at": int(service.clock.now()),
            "metadata": dict(wire.metadata or {}),
        },
        "added": [{"at": 0, "items": [*items]}] if items else [],
        "deleted": [],
        "principal": request.principal,
    }
    return Change(lambda documents: Write(answer_json(document["conversation"], request, service), name, document))


def retrieve(request: Request, service: AzureService) -> Response:
    """``GET /conversations/{conversation}``."""
    validate_place(request, service)
    return answer_json(_find(request.documents, request)["conversation"], request, service)


def update(request: Request, service: AzureService) -> Change:
    """``POST /conversations/{conversation}``: replace the metadata."""
    wire = validate(NewMetadata, _parse_body(request, service, NewMetadata))

    def change(document: Object, documents: Documents) -> tuple[JSON, Object]:
        changed: Object = {**as_object(document["conversation"]), "metadata": dict(wire.metadata or {})}
        return changed, {**document, "conversation": changed}

    return _change(request, service, change)


def delete(request: Request, service: AzureService) -> Change:
    """``DELETE /conversations/{conversation}``: its items stay with the responses that made them."""
    validate_place(request, service)

    def make(documents: Documents) -> Write:
        _find(documents, request)
        name = request.params["conversation"]
        return Write(
            answer_json({"id": name, "object": "conversation.deleted", "deleted": True}, request, service), name, None
        )

    return Change(make)


def add_items(request: Request, service: AzureService) -> Change:
    """``POST /conversations/{conversation}/items``."""
    wire = validate(NewItems, _parse_body(request, service, NewItems))
    items = _parse_new(wire.items, request, service)

    def change(document: Object, documents: Documents) -> tuple[JSON, Object]:
        validate_ids(list_kept(document, documents, service.clock.now()), items, "items")
        at = len(list_all(document, documents))
        page: Object = {"object": "list", "data": [*items], "has_more": False}
        ends: Object = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {}
        added: JSON = [*as_array(document["added"]), {"at": at, "items": [*items]}]
        return {**page, "first_id": None, "last_id": None, **ends}, {**document, "added": added}

    return _change(request, service, change)


def show_items(request: Request, service: AzureService) -> Response:
    """``GET /conversations/{conversation}/items``: a page, the newest first."""
    validate_place(request, service)
    items = list_kept(_find(request.documents, request), request.documents, service.clock.now())
    return answer_json(list_page(items, request.query, newest_first=True), request, service)


def show_item(request: Request, service: AzureService) -> Response:
    """``GET /conversations/{conversation}/items/{item}``."""
    validate_place(request, service)
    item = _find_item(_find(request.documents, request), request.documents, request, service)
    return answer_json(item, request, service)


def delete_item(request: Request, service: AzureService) -> Change:
    """``DELETE /conversations/{conversation}/items/{item}``: answers the conversation."""
    validate_place(request, service)

    def change(document: Object, documents: Documents) -> tuple[JSON, Object]:
        _find_item(document, documents, request, service)
        deleted: JSON = [*as_array(document["deleted"]), request.params["item"]]
        return document["conversation"], {**document, "deleted": deleted}

    return _change(request, service, change)


def find_conversation(documents: Documents, name: str, request: Request) -> Object:
    """Return the document of a conversation of the same principal.

    Raises:
        EmulatedError: 404.
    """
    document = find_owned(documents, name, "added", request.principal)
    if document is None:
        raise refusals.not_found(f"Conversation with id '{name}' not found.")
    return document


def list_kept(document: Object, documents: Documents, now: float) -> list[Object]:
    """Return the items of a conversation in their order, without the deleted and those of unended responses."""
    deleted = as_array(document["deleted"])
    return [item for item in list_all(document, documents, now) if item["id"] not in deleted]


def list_all(document: Object, documents: Documents, now: float | None = None) -> list[Object]:
    """Return all items that a conversation ever had: its own and those of its responses, as they came.

    Args:
        now: leave out background responses that have not ended by then. Source: openai/openai-openapi, "added to this
            conversation after this response completes".
    """
    name = as_object(document["conversation"])["id"]
    batches = [as_object(batch) for batch in as_array(document["added"])]
    for stored in map(as_object, documents.values()):
        if stored.get("joined") == name and (now is None or not stored["background"] or has_ended(stored, now)):
            output = as_object(stored["response"])["output"]
            batches.append({"at": stored["at"], "items": [*as_array(stored["input"]), *as_array(output)]})
    batches.sort(key=lambda batch: as_integer(batch["at"]))
    return [as_object(item) for batch in batches for item in as_array(batch["items"])]


def _change(
    request: Request, service: AzureService, change: Callable[[Object, Documents], tuple[JSON, Object]]
) -> Change:
    def make(documents: Documents) -> Write:
        body, document = change(_find(documents, request), documents)
        return Write(answer_json(body, request, service), request.params["conversation"], document)

    return Change(make)


def _find(documents: Documents, request: Request) -> Object:
    return find_conversation(documents, request.params["conversation"], request)


def _find_item(document: Object, documents: Documents, request: Request, service: AzureService) -> Object:
    name = request.params["item"]
    kept = list_kept(document, documents, service.clock.now())
    found = next((item for item in kept if item["id"] == name), None)
    if found is None:
        raise refusals.not_found(f"Item with id '{name}' not found in conversation '{request.params['conversation']}'.")
    return found


def _parse_body(request: Request, service: AzureService, model: type[WireModel]) -> JSON:
    """Return the body of a request; an absent one has no fields.

    Raises:
        EmulatedError: 400, the model lacks a field.
    """
    _, settings = validate_place(request, service)
    body = parse_body(request, settings) if request.body else {}
    validate_names(body if isinstance(body, dict) else (), model.model_fields)
    return body


def _parse_new(given: Iterable[Object], request: Request, service: AzureService) -> list[Object]:
    """Return new items with ids.

    Raises:
        EmulatedError: too many, or one is invalid.
    """
    items = list_items([*given])
    if len(items) > MAX_ITEMS:
        raise refusals.too_long("items", [*items], MAX_ITEMS)
    for position, item in enumerate(items):
        found = OPENAI_SHAPES.find_misfit("item", item, ("items", position))
        if found is not None:
            raise build_refusal(found)
    parse_items(items)
    known = identify(resolve_references(items, request, service.clock.now(), stored=True), request.key)
    validate_ids((), known, "items")
    return known
