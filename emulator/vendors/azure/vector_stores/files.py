"""``/vector_stores/{store}/files`` and ``/file_batches``: attach files to a store, list, update and detach them.

Source: openai/openai-openapi, "Vector store files", "Vector store file batches". Texts of refusals unverified.
"""

from collections.abc import Callable
from typing import Annotated

from pydantic import ConfigDict, Field

from emulator.core.calls import Change, Write
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_number, as_object, as_text
from emulator.core.rng import draw_hex
from emulator.vendors.azure.decoder import WireModel
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import validate_place
from emulator.vendors.azure.vector_stores import stores
from emulator.vendors.azure.vector_stores.contents import build_source
from emulator.vendors.azure.vector_stores.search import split_chunks

_STATES = ("in_progress", "completed", "failed", "cancelled")
_STRICT = ConfigDict(strict=True)
Attributes = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)] | int | float | bool],
    Field(max_length=16),
]


class NewFile(WireModel):
    """``POST /vector_stores/{store}/files``."""

    model_config = _STRICT

    file_id: str
    chunking_strategy: stores.Chunking | None = None
    attributes: Attributes | None = None


class NewAttributes(WireModel):
    """``POST /vector_stores/{store}/files/{file}``."""

    model_config = _STRICT

    attributes: Attributes | None


class NewBatch(WireModel):
    """``POST /vector_stores/{store}/file_batches``."""

    model_config = _STRICT

    file_ids: Annotated[list[str], Field(min_length=1, max_length=2000)] | None = None
    files: Annotated[list[NewFile], Field(min_length=1, max_length=2000)] | None = None
    chunking_strategy: stores.Chunking | None = None
    attributes: Attributes | None = None


def add_file(request: Request, service: AzureService) -> Change:
    """``POST /vector_stores/{store}/files``."""
    wire = stores.parse_fields(request, service, "vector_store_file", NewFile)
    chunking = stores.read_chunking(wire.chunking_strategy)
    attributes: Object = dict(wire.attributes or {})

    def change(document: Object) -> tuple[Object, Object]:
        attached = stores.attach(wire.file_id, request, service.clock.now(), chunking, attributes)
        changed = _add(document, {wire.file_id: attached})
        return changed, stores.build_file(wire.file_id, attached, request.params["store"], request, service)

    return _change(request, service, change)


def show_files(request: Request, service: AzureService) -> Response:
    """``GET /vector_stores/{store}/files``: the newest first, perhaps of one state."""
    validate_place(request, service)
    document = stores.find_store(request.documents, request.params["store"], request, service)
    return _list(document, None, request, service)


def show_file(request: Request, service: AzureService) -> Response:
    """``GET /vector_stores/{store}/files/{file}``."""
    validate_place(request, service)
    document = stores.find_store(request.documents, request.params["store"], request, service)
    name = request.params["file"]
    file = stores.build_file(name, _find(document, request), request.params["store"], request, service)
    return answer_json(file, request, service)


def update_file(request: Request, service: AzureService) -> Change:
    """``POST /vector_stores/{store}/files/{file}``: replace the attributes."""
    wire = stores.parse_fields(request, service, "vector_store_attributes", NewAttributes)
    name = request.params["file"]

    def change(document: Object) -> tuple[Object, Object]:
        attached: Object = {**_find(document, request), "attributes": dict(wire.attributes or {})}
        changed: Object = {**document, "files": {**as_object(document["files"]), name: attached}}
        return changed, stores.build_file(name, attached, request.params["store"], request, service)

    return _change(request, service, change)


def delete_file(request: Request, service: AzureService) -> Change:
    """``DELETE /vector_stores/{store}/files/{file}``: detach a file, which stays."""
    validate_place(request, service)
    name = request.params["file"]

    def change(document: Object) -> tuple[Object, Object]:
        _find(document, request)
        files: Object = {key: value for key, value in as_object(document["files"]).items() if key != name}
        return {**document, "files": files}, {"id": name, "object": "vector_store.file.deleted", "deleted": True}

    return _change(request, service, change)


def show_content(request: Request, service: AzureService) -> Response:
    """``GET /vector_stores/{store}/files/{file}/content``: the text of a file in its chunks."""
    validate_place(request, service)
    document = stores.find_store(request.documents, request.params["store"], request, service)
    source = build_source(request.params["file"], _find(document, request), request, service)
    texts = [] if source is None else [text for text, _ in split_chunks(source.text, source.size, 0)]
    body: Object = {
        "object": "vector_store.file_content.page",
        "data": [{"type": "text", "text": text} for text in texts],
        "has_more": False,
        "next_page": None,
    }
    return answer_json(body, request, service)


def add_batch(request: Request, service: AzureService) -> Change:
    """``POST /vector_stores/{store}/file_batches``."""
    wire = stores.parse_fields(request, service, "vector_store_batch", NewBatch)
    if (wire.file_ids is None) == (wire.files is None):
        text = "Exactly one of 'file_ids' and 'files' must be given."
        raise refusals.contradicts(text, "file_ids", "invalid_request_error")
    name = f"vsfb_{draw_hex(request.key, 'file batch')}"
    shared, attributes = stores.read_chunking(wire.chunking_strategy), wire.attributes or {}
    listed = wire.files or [NewFile(file_id=each) for each in wire.file_ids or ()]

    def change(document: Object) -> tuple[Object, Object]:
        now = service.clock.now()
        files: Object = {}
        for each in listed:
            chunking = shared if each.chunking_strategy is None else stores.read_chunking(each.chunking_strategy)
            own: Object = dict(attributes if each.attributes is None else each.attributes)
            files[each.file_id] = stores.attach(each.file_id, request, now, chunking, own, name)
        changed = _add({**document, "batches": {**as_object(document["batches"]), name: now}}, files)
        return changed, _build_batch(name, changed, request, service)

    return _change(request, service, change)


def retrieve_batch(request: Request, service: AzureService) -> Response:
    """``GET /vector_stores/{store}/file_batches/{batch}``."""
    validate_place(request, service)
    document, name = _find_batch(request.documents, request, service)
    return answer_json(_build_batch(name, document, request, service), request, service)


def cancel_batch(request: Request, service: AzureService) -> Change:
    """``POST /vector_stores/{store}/file_batches/{batch}/cancel``: files that are not indexed yet are cancelled."""
    validate_place(request, service)

    def make(documents: stores.Documents) -> Write:
        stores.find_own(documents, request, service)
        document, name = _find_batch(documents, request, service)
        files: Object = {}
        for file, given in as_object(document["files"]).items():
            attached = as_object(given)
            built = stores.build_file(file, attached, request.params["store"], request, service)
            stops = attached["batch"] == name and built["status"] == "in_progress"
            files[file] = {**attached, "cancelled": True} if stops else attached
        changed: Object = {**document, "files": files}
        return stores.write_store(changed, _build_batch(name, changed, request, service), request, service)

    return Change(make)


def show_batch(request: Request, service: AzureService) -> Response:
    """``GET /vector_stores/{store}/file_batches/{batch}/files``."""
    validate_place(request, service)
    document, name = _find_batch(request.documents, request, service)
    return _list(document, name, request, service)


def _change(request: Request, service: AzureService, change: Callable[[Object], tuple[Object, Object]]) -> Change:
    def make(documents: stores.Documents) -> Write:
        document, body = change(stores.find_own(documents, request, service))
        return stores.write_store({**document, "active": service.clock.now()}, body, request, service)

    return Change(make)


def _add(document: Object, files: Object) -> Object:
    """Return a store with further files; one that is attached already is indexed again.

    Raises:
        EmulatedError: too many.
    """
    whole: Object = {**{key: value for key, value in as_object(document["files"]).items() if key not in files}, **files}
    if len(whole) > stores.MAX_FILES:
        text = f"A vector store may have {stores.MAX_FILES} files. Delete some first."
        raise refusals.contradicts(text, "file_id", "quota_exceeded")
    return {**document, "files": whole}


def _find(document: Object, request: Request) -> Object:
    name = request.params["file"]
    found = as_object(document["files"]).get(name)
    if found is None:
        raise refusals.not_found(f"No file found with id '{name}' in vector store '{request.params['store']}'.")
    return as_object(found)


def _find_batch(documents: stores.Documents, request: Request, service: AzureService) -> tuple[Object, str]:
    store, name = request.params["store"], request.params["batch"]
    document = stores.find_store(documents, store, request, service)
    if name not in as_object(document["batches"]):
        raise refusals.not_found(f"No file batch found with id '{name}' in vector store '{store}'.")
    return document, name


def _list(document: Object, batch: str | None, request: Request, service: AzureService) -> Response:
    """Return a page of the files of a store or of a batch."""
    state = request.query.get("filter")
    if state not in (None, *_STATES):
        raise refusals.invalid_value("filter", state, _STATES)
    built = _build_files(document, batch, request, service)
    kept = [file for file in built if state in (None, file["status"])]
    return answer_json(list_page(kept, request.query, newest_first=True), request, service)


def _build_files(document: Object, batch: str | None, request: Request, service: AzureService) -> list[Object]:
    store: JSON = as_object(document["vector_store"])["id"]
    files = [(name, as_object(given)) for name, given in as_object(document["files"]).items()]
    return [
        stores.build_file(name, attached, store, request, service)
        for name, attached in files
        if batch is None or attached["batch"] == batch
    ]


def _build_batch(name: str, document: Object, request: Request, service: AzureService) -> Object:
    """Return a batch in its state now."""
    counts = stores.count_states(_build_files(document, name, request, service))
    status = "in_progress" if counts["in_progress"] else "cancelled" if counts["cancelled"] else "completed"
    return {
        "id": name,
        "object": "vector_store.files_batch",
        "created_at": int(as_number(as_object(document["batches"])[name])),
        "vector_store_id": as_text(as_object(document["vector_store"])["id"]),
        "status": status,
        "file_counts": counts,
    }
