"""Headers the server sets on every answer, and those a node behind a Coordinator asks for."""

import re

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.seed import draw_hex
from emulator.core.vendor import Service
from emulator.core.wire import Headers, WireRequest
from emulator.vendors.mindie.settings import MindieSettings

JSON_TYPE = "application/json"
_REQUEST_ID = re.compile(r"[0-9a-fA-F]{1,1024}")
_TARGET = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?:;\d{1,5})?")


def closing_headers(key: bytes, content_type: str = JSON_TYPE) -> Headers:
    """Headers of an answer in one piece.

    Source: MindIE-LLM, ``utils/http_rest_resource.cpp`` and ``utils/random_generator.h``.
    """
    kind = (("Content-Type", content_type),) if content_type else ()
    return (*kind, ("Connection", "close"), ("RequestUUID", draw_hex(key, "uuid")))


def stream_headers(key: bytes) -> Headers:
    return (("Content-Type", "text/event-stream"), ("RequestUUID", draw_hex(key, "uuid")))


def check_headers(request: WireRequest, service: Service[MindieSettings, None]) -> None:
    """A node of a disaggregated service takes only what a Coordinator sends on.

    Source: MindIE-LLM, ``http_wrapper/http_handler.cpp``.
    """
    if service.settings.infer_mode != "dmi":
        return
    headers = request.headers
    valid = (
        headers.get("req-type", "") == "prefill"
        and _REQUEST_ID.fullmatch(headers.get("req-id", "")) is not None
        and _TARGET.fullmatch(headers.get("d-target", "")) is not None
    )
    if not valid:
        text = "DMI request must have req-type, req-id, d-target headers"
        raise EmulatedError(ErrorKind.INVALID_REQUEST, message=text, status=400)
