"""Headers the server sets on every answer.

Source: MindIE-LLM, ``utils/http_rest_resource.cpp`` and ``utils/random_generator.h``.
"""

from emulator.core.seed import draw_hex
from emulator.core.wire import Headers

JSON_TYPE = "application/json"


def closing_headers(key: bytes, content_type: str = JSON_TYPE) -> Headers:
    """Headers of an answer in one piece."""
    kind = (("Content-Type", content_type),) if content_type else ()
    return (*kind, ("Connection", "close"), ("RequestUUID", draw_hex(key, "uuid")))


def stream_headers(key: bytes) -> Headers:
    return (("Content-Type", "text/event-stream"), ("RequestUUID", draw_hex(key, "uuid")))


def coordinator_headers(content_type: str = "") -> Headers:
    """Headers of what the Coordinator answers by itself.

    Source: MindIE-Motor, ``common/http_server/ServerConnection.cpp`` and ``config/ms_coordinator.json``.
    """
    return (("Server", "MindIE-MS"), ("Content-Type", f"{content_type}; charset=utf-8"))
