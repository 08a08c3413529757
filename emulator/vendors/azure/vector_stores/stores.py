"""``/vector_stores``: create, list, retrieve, update, delete and search vector stores.

A document holds a store and what is attached to it. A search moves its ``last_active_at``, a file search of a
response does not. Sources: openai/openai-openapi, "Vector stores"; learn.microsoft.com, "Azure OpenAI v1 API". Texts of
refusals as the OpenAI API words them, unverified for Azure.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import ConfigDict, Field

from emulator.core.calls import Change, Write
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_integer, as_number, as_object, as_text
from emulator.core.rng import draw_hex
from emulator.protocols.shapes import OPENAI_SHAPES
from emulator.vendors.azure.chat.openai_models import Metadata
from emulator.vendors.azure.decoder import Integer, WireModel, parse_body, validate
from emulator.vendors.azure.documents import TOLERANCE, find_owned, find_upload, read_content
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.members import build_refusal
from emulator.vendors.azure.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import validate_place
from emulator.vendors.azure.vector_stores.contents import AUTO_CHUNKING, build_source, find_error, list_declared_files
from emulator.vendors.azure.vector_stores.search import Hit, Source, find_hits

MAX_STORES = 100  # of a session
MAX_FILES = 1000  # of a store
_DAY = 86_400  # seconds
_STRICT = ConfigDict(strict=True)
Documents = Mapping[str, JSON]
M = TypeVar("M", bound=WireModel)


class Expiry(WireModel):
    """``expires_after``."""

    model_config = _STRICT

    anchor: Literal["last_active_at"]
    days: Annotated[Integer, Field(ge=1, le=365)]


class Static(WireModel):
    """``static`` of a chunking strategy."""

    model_config = _STRICT

    max_chunk_size_tokens: Annotated[Integer, Field(ge=100, le=4096)]
    chunk_overlap_tokens: Annotated[Integer, Field(ge=0)]


class Chunking(WireModel):
    """``chunking_strategy``."""

    model_config = _STRICT

    type: Literal["auto", "static"]
    static: Static | None = None


class NewStore(WireModel):
    """``POST /vector_stores``."""

    model_config = _STRICT

    file_ids: Annotated[list[str], Field(max_length=500)] | None = None
    name: str | None = None
    description: str | None = None
    expires_after: Expiry | None = None
    chunking_strategy: Chunking | None = None
    metadata: Metadata | None = None


class StoreUpdate(WireModel):
    """``POST /vector_stores/{store}``."""

    model_config = _STRICT

    name: str | None = None
    expires_after: Expiry | None = None
    metadata: Metadata | None = None


class Ranking(WireModel):
    """``ranking_options``."""

    model_config = _STRICT

    ranker: str | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class SearchRequest(WireModel):
    """``POST /vector_stores/{store}/search``."""

    model_config = _STRICT

    query: str | Annotated[list[str], Field(min_length=1)]
    rewrite_query: bool | None = None
    max_num_results: Annotated[Integer, Field(ge=1, le=50)] | None = None
    filters: dict[str, JSON] | None = None
    ranking_options: Ranking | None = None


def create(request: Request, service: AzureService) -> Change:
    """``POST /vector_stores``."""
    wire = parse_fields(request, service, "vector_store", NewStore)
    now = service.clock.now()
    name = f"vs_{draw_hex(request.key, 'vector store')}"
    chunking = read_chunking(wire.chunking_strategy)
    files = {file: attach(file, request, now, chunking, {}) for file in wire.file_ids or ()}
    document: Object = {
        "vector_store": {
            "id": name,
            "object": "vector_store",
            "created_at": int(now),
            "name": wire.name or "",
            "description": wire.description,
            "expires_after": None if wire.expires_after is None else wire.expires_after.model_dump(),
            "metadata": dict(wire.metadata or {}),
        },
        "files": files,
        "batches": {},
        "active": now,
        "principal": request.principal,
    }

    def make(documents: Documents) -> Write:
        if sum("vector_store" in as_object(one) for one in documents.values()) >= MAX_STORES:
            text = f"A session may have {MAX_STORES} vector stores. Delete some first."
            raise refusals.contradicts(text, None, "quota_exceeded")
        return Write(answer_json(build_store(document, request, service), request, service), name, document)

    return Change(make)


def show_stores(request: Request, service: AzureService) -> Response:
    """``GET /vector_stores``: the newest first."""
    validate_place(request, service)
    declared = [_declare(name, service) for name in service.settings.vector_stores]
    stored = [one for one in map(as_object, request.documents.values()) if "vector_store" in one]
    mine = [*declared, *[one for one in stored if one["principal"] == request.principal]]
    stores = [build_store(one, request, service) for one in mine]
    return answer_json(list_page(stores, request.query, newest_first=True), request, service)


def retrieve(request: Request, service: AzureService) -> Response:
    """``GET /vector_stores/{store}``."""
    validate_place(request, service)
    document = find_store(request.documents, request.params["store"], request, service)
    return answer_json(build_store(document, request, service), request, service)


def update(request: Request, service: AzureService) -> Change:
    """``POST /vector_stores/{store}``."""
    wire = parse_fields(request, service, "vector_store_update", StoreUpdate)

    def make(documents: Documents) -> Write:
        document = find_own(documents, request, service)
        given: Object = {name: value for name, value in wire.model_dump().items() if name in wire.model_fields_set}
        if given.get("name", "") is None:
            given["name"] = ""
        if given.get("metadata", {}) is None:
            given["metadata"] = {}
        changed: Object = {**document, "vector_store": {**as_object(document["vector_store"]), **given}}
        return write_store(changed, build_store(changed, request, service), request, service)

    return Change(make)


def delete(request: Request, service: AzureService) -> Change:
    """``DELETE /vector_stores/{store}``: the files stay."""
    validate_place(request, service)

    def make(documents: Documents) -> Write:
        find_own(documents, request, service)
        name = request.params["store"]
        body: Object = {"id": name, "object": "vector_store.deleted", "deleted": True}
        return Write(answer_json(body, request, service), name, None)

    return Change(make)


def search(request: Request, service: AzureService) -> Change:
    """``POST /vector_stores/{store}/search``."""
    wire = parse_fields(request, service, "vector_store_search", SearchRequest)
    queries = [wire.query] if isinstance(wire.query, str) else wire.query
    threshold = wire.ranking_options.score_threshold if wire.ranking_options else None

    def make(documents: Documents) -> Write | Response:
        document = find_store(documents, request.params["store"], request, service)
        sources = list_sources(document, request, service)
        hits = find_hits(sources, queries, wire.max_num_results or 10, threshold or 0.0, wire.filters)
        body: Object = {
            "object": "vector_store.search_results.page",
            "search_query": [*queries],
            "data": [_build_result(hit) for hit in hits],
            "has_more": False,
            "next_page": None,
        }
        if "declared" in document:
            return answer_json(body, request, service)
        return write_store({**document, "active": service.clock.now()}, body, request, service)

    return Change(make)


def _build_result(hit: Hit) -> Object:
    return {
        "file_id": hit.file,
        "filename": hit.filename,
        "score": hit.score,
        "attributes": hit.attributes,
        "content": [{"type": "text", "text": hit.text}],
    }


def parse_fields(request: Request, service: AzureService, shape: str, model: type[M]) -> M:
    """Return the body of a request as ``model``; an absent one has no fields.

    Raises:
        EmulatedError: 400, as the service words the first misfit at any depth.
    """
    _, settings = validate_place(request, service)
    body = parse_body(request, settings) if request.body else {}
    found = OPENAI_SHAPES.find_misfit(shape, body) if isinstance(body, dict) else None
    if found is not None:
        raise build_refusal(found)
    return validate(model, body)


def read_chunking(given: Chunking | None) -> Object:
    """Return a chunking strategy as the service lists it.

    Raises:
        EmulatedError: the overlap exceeds half of a chunk.
    """
    if given is None or given.static is None:
        return AUTO_CHUNKING
    size, overlap = given.static.max_chunk_size_tokens, given.static.chunk_overlap_tokens
    if overlap > size // 2:
        text = "Invalid 'chunking_strategy.static.chunk_overlap_tokens': must not exceed half of max_chunk_size_tokens."
        raise refusals.contradicts(text, "chunking_strategy.static.chunk_overlap_tokens", "invalid_value")
    return {"type": "static", "static": given.static.model_dump()}


def attach(
    file: str, request: Request, now: float, chunking: Object, attributes: Object, batch: str | None = None
) -> Object:
    """Return what a store keeps of a file.

    Raises:
        EmulatedError: 404, no such file.
    """
    if find_upload(request, file, now) is None:
        raise refusals.not_found(f"No such File object: {file}", "file_id")
    return {"at": now, "attributes": attributes, "chunking": chunking, "batch": batch, "cancelled": False}


def find_store(documents: Documents, name: str, request: Request, service: AzureService) -> Object:
    """Return the document of a store of the same principal, or of a declared one.

    Raises:
        EmulatedError: 404, or 400 for a name that no store can have.
    """
    if not name.startswith("vs"):
        text = f"Invalid 'vector_store_id': '{name}'. Expected an ID that begins with 'vs'."
        raise refusals.contradicts(text, "vector_store_id", "invalid_value")
    document = look_up(documents, name, request, service)
    if document is None:
        raise refusals.not_found(f"No vector store found with id '{name}'.")
    return document


def look_up(documents: Documents, name: str, request: Request, service: AzureService) -> Object | None:
    """Return the document of a store of the same principal, or of a declared one."""
    if name in service.settings.vector_stores:
        return _declare(name, service)
    return find_owned(documents, name, "vector_store", request.principal)


def find_own(documents: Documents, request: Request, service: AzureService) -> Object:
    """Return the document of a store that may be changed.

    Raises:
        EmulatedError: as :func:`find_store`; 400, the scenario declares it.
    """
    name = request.params["store"]
    document = find_store(documents, name, request, service)
    if "declared" in document:
        text = f"Vector store '{name}' is declared by the scenario and cannot be changed."
        raise refusals.contradicts(text, "vector_store_id", "invalid_value")
    return document


def _declare(name: str, service: AzureService) -> Object:
    """Return the document of a declared store."""
    at = service.started
    return {
        "vector_store": {
            "id": name,
            "object": "vector_store",
            "created_at": int(at),
            "name": name,
            "description": None,
            "expires_after": None,
            "metadata": {},
        },
        "files": list_declared_files(name, service),
        "batches": {},
        "active": at,
        "declared": True,
    }


def write_store(document: Object, body: JSON, request: Request, service: AzureService) -> Write:
    name = as_text(as_object(document["vector_store"])["id"])
    return Write(answer_json(body, request, service), name, document)


def build_store(document: Object, request: Request, service: AzureService) -> Object:
    """Return a store in its state now."""
    store, files = as_object(document["vector_store"]), as_object(document["files"])
    active, expiry = as_number(document["active"]), store["expires_after"]
    expires = None if expiry is None else active + _DAY * as_integer(as_object(expiry)["days"])
    built = [build_file(name, as_object(one), store["id"], request, service) for name, one in files.items()]
    counts = count_states(built)
    expired = expires is not None and service.clock.now() + TOLERANCE >= expires
    return {
        **store,
        "usage_bytes": 0 if expired else sum(as_integer(one["usage_bytes"]) for one in built),
        "file_counts": counts,
        "status": "expired" if expired else "in_progress" if counts["in_progress"] else "completed",
        "expires_at": None if expires is None else int(expires),
        "last_active_at": int(active),
    }


def count_states(files: list[Object]) -> Object:
    """Return how many files there are in each state."""
    states = [file["status"] for file in files]
    counts: Object = {state: states.count(state) for state in ("in_progress", "completed", "failed", "cancelled")}
    return {**counts, "total": len(states)}


def build_file(name: str, attached: Object, store: JSON, request: Request, service: AzureService) -> Object:
    """Return an attached file in its state now."""
    error, size = _inspect(name, attached, request, service)
    ready = service.clock.now() + TOLERANCE >= as_number(attached["at"]) + service.settings.indexing_seconds
    status = (
        "cancelled" if attached["cancelled"] else "in_progress" if not ready else "failed" if error else "completed"
    )
    return {
        "id": name,
        "object": "vector_store.file",
        "usage_bytes": size if status == "completed" else 0,
        "created_at": int(as_number(attached["at"])),
        "vector_store_id": store,
        "status": status,
        "last_error": error if status == "failed" else None,
        "chunking_strategy": attached["chunking"],
        "attributes": attached["attributes"],
    }


def _inspect(name: str, attached: Object, request: Request, service: AzureService) -> tuple[Object | None, int]:
    """Return why a file cannot be searched, and its size."""
    if "text" in attached:
        return None, len(as_text(attached["text"]).encode())
    document = find_upload(request, name, service.clock.now())
    if document is None:
        return None, 0
    content = read_content(document)
    filename = as_text(as_object(document["file"])["filename"])
    return find_error(filename, content, service.settings), len(content)


def list_sources(document: Object, request: Request, service: AzureService) -> list[Source]:
    """Return the files of a store that are ready.

    Raises:
        EmulatedError: the store has expired.
    """
    state = build_store(document, request, service)
    if state["status"] == "expired":
        text = f"Vector store '{state['id']}' has expired."
        raise refusals.contradicts(text, "vector_store_id", "vector_store_expired")
    found = []
    for name, attached in as_object(document["files"]).items():
        built = build_file(name, as_object(attached), state["id"], request, service)
        source = build_source(name, as_object(attached), request, service) if built["status"] == "completed" else None
        if source is not None:
            found.append(source)
    return found
