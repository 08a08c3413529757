"""Find the stored documents of a principal: responses, conversations, chats, files, batches."""

from collections.abc import Mapping

from emulator.core.json import JSON, Object, as_object


def find_owned(documents: Mapping[str, JSON], name: str, kind: str, principal: str) -> Object | None:
    """Return a document by name if it belongs to the principal and has a member named ``kind``."""
    found = documents.get(name)
    document = {} if found is None else as_object(found)
    return document if kind in document and document["principal"] == principal else None
