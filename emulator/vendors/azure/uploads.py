"""Find uploaded files and read their contents."""

from base64 import b64decode

from emulator.core.http import Request
from emulator.core.json import Object, as_text
from emulator.vendors.azure.documents import find_owned


def find_upload(request: Request, name: str) -> Object | None:
    """Return the document of an uploaded file of the same principal."""
    return find_owned(request.documents, name, "file", request.principal)


def read_content(document: Object) -> bytes:
    return b64decode(as_text(document["content"]))
