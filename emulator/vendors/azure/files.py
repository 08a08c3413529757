"""``/files``: uploaded files, and those that batches write.

Sources: openai/openai-openapi, "Files"; learn.microsoft.com, "Azure OpenAI v1 API". Texts of refusals as the OpenAI API
words them, unverified for Azure. A file expires after an hour at least, as the description has it; Azure's guide to
batches names 14 days, unverified whether fewer are refused.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from emulator.core.calls import Change, Write
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, as_integer, as_object, as_text
from emulator.core.rng import draw_hex
from emulator.encoding.multipart import FormField
from emulator.vendors.azure.batch_results import list_results
from emulator.vendors.azure.decoder import Integer, WireModel, validate
from emulator.vendors.azure.documents import is_expired, read_content
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.errors.refusals import validate_names
from emulator.vendors.azure.forms import read_form, read_members
from emulator.vendors.azure.headers import answer_json, echo_request_id, gateway_headers
from emulator.vendors.azure.pages import list_page
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import validate_place
from emulator.vendors.azure.vector_stores.contents import list_declared

PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
MAX_STORED = 64 * 2**20  # bytes of all files of a session
_MAX_PAGE = 10_000  # files of a page, unless the query wants fewer
_NUMBER = re.compile("[0-9]{1,9}")
_FIELDS = ("file", "purpose", "expires_after")
Documents = Mapping[str, JSON]


class FileExpiry(WireModel):
    """``expires_after`` of a file and ``output_expires_after`` of a batch."""

    model_config = ConfigDict(strict=True)

    anchor: Literal["created_at"]
    seconds: Annotated[Integer, Field(ge=3600, le=2_592_000)]


def upload(request: Request, service: AzureService) -> Change:
    """``POST /files``: a form with ``purpose`` and ``file``."""
    validate_place(request, service)
    part, members = _parse_upload(request)
    content = part.content
    created = int(service.clock.now())
    name = f"file-{draw_hex(request.key, 'file')}"
    found: Object = {
        "id": name,
        "object": "file",
        "bytes": len(content),
        "created_at": created,
        "filename": part.filename or "file",
        "purpose": members["purpose"],
        "status": "processed",
        **_find_expiry(members.get("expires_after"), created),
    }
    document: Object = {"file": found, "content": b64encode(content).decode(), "principal": request.principal}

    def make(documents: Documents) -> Write:
        now = service.clock.now()
        files = _list_uploaded(documents)
        stored = sum(as_integer(as_object(one["file"])["bytes"]) for one in files if not is_expired(one, now))
        if stored + len(content) > MAX_STORED:
            text = f"The files of a session may have {MAX_STORED} bytes together. Delete some first."
            raise refusals.contradicts(text, "file", "quota_exceeded")
        expired = tuple(as_text(as_object(one["file"])["id"]) for one in files if is_expired(one, now))
        return Write(answer_json(found, request, service), name, document, expired)

    return Change(make)


def _parse_upload(request: Request) -> tuple[FormField, Object]:
    """Return the file of a form and its other fields."""
    form = read_form(request)
    part = next((field for field in form.fields if field.name == "file"), None)
    if part is None:
        raise refusals.missing_parameter("file")
    members = _fold_expiry(read_members(form))
    if not members.get("purpose"):
        raise refusals.missing_parameter("purpose")
    if members["purpose"] not in PURPOSES:
        raise refusals.invalid_value("purpose", form.text("purpose"), PURPOSES)
    validate_names(members, _FIELDS)
    return part, members


def _fold_expiry(members: Object) -> Object:
    """Return the fields with ``expires_after.seconds`` as a member of ``expires_after``.

    Source: learn.microsoft.com, "Azure OpenAI Batch", whose examples in REST write the names so.
    """
    dotted = {f"expires_after.{name}": name for name in FileExpiry.model_fields}
    inner: Object = {dotted[name]: value for name, value in members.items() if name in dotted}
    given = members.get("expires_after", {})
    if not inner or not isinstance(given, dict):
        return members
    return {**{name: value for name, value in members.items() if name not in dotted}, "expires_after": given | inner}


def show_files(request: Request, service: AzureService) -> Response:
    """``GET /files``: the newest first, perhaps of one purpose."""
    validate_place(request, service)
    purpose = request.query.get("purpose")
    files = [as_object(one["file"]) for one in _list_files(request, service)]
    wanted = [one for one in files if purpose in (None, one["purpose"])]
    page = list_page(wanted, request.query, newest_first=True, limits=(_MAX_PAGE, _MAX_PAGE))
    return answer_json(page, request, service)


def show_file(request: Request, service: AzureService) -> Response:
    """``GET /files/{file}``."""
    validate_place(request, service)
    return answer_json(_find(request, service)["file"], request, service)


def show_content(request: Request, service: AzureService) -> Response:
    """``GET /files/{file}/content``."""
    validate_place(request, service)
    content = read_content(_find(request, service))
    kind = ("Content-Type", "application/octet-stream")
    return Response(200, content, (kind, *gateway_headers(request, service.settings.hsts), *echo_request_id(request)))


def delete_file(request: Request, service: AzureService) -> Change:
    """``DELETE /files/{file}``; one that a batch wrote or a scenario declares stays."""
    validate_place(request, service)

    def make(documents: Documents) -> Write:
        name = as_text(as_object(_find(request, service)["file"])["id"])
        return Write(answer_json({"id": name, "object": "file", "deleted": True}, request, service), name, None)

    return Change(make)


def _find(request: Request, service: AzureService) -> Object:
    name = request.params["file"]
    found = [one for one in _list_files(request, service) if as_object(one["file"])["id"] == name]
    if not found:
        raise refusals.not_found(f"No such File object: {name}", "id")
    return found[0]


def _list_files(request: Request, service: AzureService) -> list[Object]:
    now = service.clock.now()
    mine = [one for one in _list_uploaded(request.documents) if one["principal"] == request.principal]
    found = [*list_declared(service), *mine, *list_results(request, now)]
    return [one for one in found if not is_expired(one, now)]


def _list_uploaded(documents: Documents) -> list[Object]:
    return [document for document in map(as_object, documents.values()) if "file" in document]


def _find_expiry(given: JSON, created: int) -> Object:
    """Return ``expires_at`` of a file from the form's ``expires_after``."""
    if given is None:
        return {}
    if isinstance(given, dict) and isinstance(seconds := given.get("seconds"), str) and _NUMBER.fullmatch(seconds):
        given = {**given, "seconds": int(seconds)}
    wire = validate(FileExpiry, given, ("expires_after",))
    return {"expires_at": created + wire.seconds}
