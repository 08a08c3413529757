"""Read the text of files in vector stores: uploaded ones, and those that a scenario declares.

Source: learn.microsoft.com, "Azure OpenAI Assistants file search", supported file types.
"""

from base64 import b64encode
from collections.abc import Iterator

from emulator.core.http import Request
from emulator.core.json import Object, as_integer, as_object, as_text
from emulator.core.rng import derive_key, draw_hex
from emulator.vendors.azure.documents import find_upload, read_content
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.settings import AzureSettings
from emulator.vendors.azure.vector_stores.search import MAX_TEXT, Source

_UNREAD = frozenset({"doc", "docx", "pdf", "pptx"})
_READ = frozenset(
    {
        "c", "cpp", "cs", "css", "go", "html", "java", "js", "json", "md", "php", "py", "rb", "sh", "tex", "ts", "txt",
    }
)  # fmt: skip
AUTO_CHUNKING: Object = {"type": "static", "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}}


def name_declared(store: str, filename: str) -> str:
    """Return the id of a declared file."""
    return f"file-{draw_hex(derive_key('declared file', store, filename), 'file')}"


def list_declared(service: AzureService) -> Iterator[Object]:
    """Yield declared files as documents of uploaded ones."""
    for store, declared in service.settings.vector_stores.items():
        for filename, written in declared.items():
            text = written.encode()
            found: Object = {
                "id": name_declared(store, filename),
                "object": "file",
                "bytes": len(text),
                "created_at": int(service.started),
                "filename": filename,
                "purpose": "assistants",
                "status": "processed",
            }
            yield {"file": found, "content": b64encode(text).decode()}


def find_error(filename: str, content: bytes, settings: AzureSettings) -> Object | None:
    """Return why a file cannot be searched; ``None`` if it can."""
    kind = filename.rpartition(".")[2].lower()
    if filename in settings.file_texts or kind in _UNREAD:
        return None
    if kind not in _READ:
        return {"code": "unsupported_file", "message": f"Files of the type '.{kind}' are not supported."}
    text = _decode(content)
    if text is None:
        return {"code": "invalid_file", "message": "The file could not be parsed because it is not UTF-8 or UTF-16."}
    return None if text.strip() else {"code": "invalid_file", "message": "The file is empty."}


def read_text(filename: str, content: bytes, settings: AzureSettings) -> str:
    """Return the text of a file; a PDF or an office document has that of ``file_texts``, or none."""
    declared = settings.file_texts.get(filename)
    if declared is not None:
        return declared
    return "" if filename.rpartition(".")[2].lower() in _UNREAD else _decode(content[: 4 * MAX_TEXT]) or ""


def _decode(content: bytes) -> str | None:
    try:
        return content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except ValueError:
        return None


def build_source(name: str, attached: Object, request: Request, service: AzureService) -> Source | None:
    """Return an attached file ready to be searched; ``None`` if it was deleted, has expired or cannot be read."""
    if "text" in attached:
        filename, text = as_text(attached["filename"]), as_text(attached["text"])
    else:
        document = find_upload(request, name, service.clock.now())
        if document is None:
            return None
        filename, content = as_text(as_object(document["file"])["filename"]), read_content(document)
        if find_error(filename, content, service.settings) is not None:
            return None
        text = read_text(filename, content, service.settings)
    static = as_object(as_object(attached["chunking"]).get("static", AUTO_CHUNKING["static"]))
    return Source(
        file=name,
        filename=filename,
        text=text,
        attributes=as_object(attached["attributes"]),
        size=as_integer(static["max_chunk_size_tokens"]),
        overlap=as_integer(static["chunk_overlap_tokens"]),
    )


def list_declared_files(store: str, service: AzureService) -> Object:
    """Return the files of a declared store as they are attached to it."""
    settings = service.settings
    return {
        name_declared(store, filename): {
            "at": service.started,
            "filename": filename,
            "text": text,
            "attributes": dict(settings.file_attributes.get(filename, {})),
            "chunking": AUTO_CHUNKING,
            "batch": None,
            "cancelled": False,
        }
        for filename, text in settings.vector_stores[store].items()
    }
