"""Find the stored documents of a principal: responses, conversations, chats, files, batches; decode uploaded files."""

from base64 import b64decode
from collections.abc import Mapping

from emulator.core.http import Request
from emulator.core.json import JSON, Object, as_object, as_text


def find_owned(documents: Mapping[str, JSON], name: str, kind: str, principal: str) -> Object | None:
    """Return a document by name if it belongs to the principal and has a member named ``kind``."""
    found = documents.get(name)
    document = {} if found is None else as_object(found)
    return document if kind in document and document["principal"] == principal else None


def find_upload(request: Request, name: str) -> Object | None:
    """Return the document of an uploaded file of the same principal."""
    return find_owned(request.documents, name, "file", request.principal)


def read_content(document: Object) -> bytes:
    """Return the content of an uploaded file."""
    return b64decode(as_text(document["content"]))
