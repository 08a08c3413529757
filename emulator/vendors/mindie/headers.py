"""Headers the server sets on every answer.

Source: MindIE-LLM, ``utils/http_rest_resource.cpp`` and ``utils/random_generator.h``.
"""

from emulator.core.seed import prepare
from emulator.core.wire import Headers

JSON_TYPE = "application/json"
_derive_uuid = prepare(..., "uuid")


def closing_headers(key: bytes, content_type: str = JSON_TYPE) -> Headers:
    """Headers of an answer in one piece."""
    kind = (("Content-Type", content_type),) if content_type else ()
    return (*kind, ("Connection", "close"), ("RequestUUID", _derive_uuid(key).hex()))


def stream_headers(key: bytes) -> Headers:
    return (("Content-Type", "text/event-stream"), ("RequestUUID", _derive_uuid(key).hex()))


def coordinator_headers(content_type: str = "") -> Headers:
    """Headers of what the Coordinator answers by itself.

    Source: MindIE-Motor, ``common/http_server/ServerConnection.cpp`` and ``config/ms_coordinator.json``.
    """
    return (("Server", "MindIE-MS"), ("Content-Type", f"{content_type}; charset=utf-8"))
