"""Find the stored documents of a principal: responses, conversations, chats, files, batches; decode uploaded files."""

from base64 import b64decode
from collections.abc import Mapping

from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_number, as_object, as_text

TOLERANCE = 1e-6  # seconds; absorbs the rounding of Unix time


def find_owned(documents: Mapping[str, JSON], name: str, kind: str, principal: str) -> Object | None:
    """Return a document by name if it belongs to the principal and has a member named ``kind``."""
    found = documents.get(name)
    document = {} if found is None else as_object(found)
    return document if kind in document and document["principal"] == principal else None


def find_upload(request: Request, name: str, now: float) -> Object | None:
    """Return the document of an uploaded file of the same principal that has not expired."""
    document = find_owned(request.documents, name, "file", request.principal)
    return None if document is None or is_expired(document, now) else document


def is_expired(document: Object, now: float) -> bool:
    """Return whether a file has passed its ``expires_at``; as the service deletes it then, nothing finds it."""
    expires = as_object(document["file"]).get("expires_at")
    return expires is not None and now + TOLERANCE >= as_number(expires)


def read_content(document: Object) -> bytes:
    """Return the content of an uploaded file."""
    return b64decode(as_text(document["content"]))
