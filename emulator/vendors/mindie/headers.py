"""Build the response headers of MindIE's server and of the Coordinator, the proxy in front of its nodes.

Source: MindIE-LLM, ``utils/http_rest_resource.cpp`` and ``utils/random_generator.h``.
"""

from dataclasses import replace

from emulator.core.calls import Codec
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response, StreamingResponse
from emulator.core.plan import Plan
from emulator.core.rng import prepare_key

JSON_TYPE = "application/json"
_derive_uuid = prepare_key(..., "uuid")


def closing_headers(key: bytes, content_type: str = JSON_TYPE) -> Headers:
    """Build the headers of a non-streaming response."""
    kind = (("Content-Type", content_type),) if content_type else ()
    return (*kind, ("Connection", "close"), ("RequestUUID", _derive_uuid(key).hex()))


def stream_headers(key: bytes) -> Headers:
    return (("Content-Type", "text/event-stream"), ("RequestUUID", _derive_uuid(key).hex()))


def coordinator_headers(content_type: str = "") -> Headers:
    """Build the headers of the Coordinator's own responses.

    Source: MindIE-Motor, ``common/http_server/ServerConnection.cpp`` and ``config/ms_coordinator.json``.
    """
    return (("Server", "MindIE-MS"), ("Content-Type", f"{content_type}; charset=utf-8"))


def relay_response(answer: Response) -> Response:
    """Return a node's response as the Coordinator relays it: with its own headers on a kept-alive connection.

    Source: MindIE-Motor, ``request_repeater/single_repeater/SingleRequestRepeater.cpp``.
    """
    return replace(answer, headers=_relay(answer.headers), close=False)


def _relay(headers: Headers) -> Headers:
    kind = next((value for name, value in headers if name == "Content-Type"), "")
    retry = tuple([pair for pair in headers if pair[0] == "Retry-After"])
    return (*coordinator_headers(kind), *retry)


@fast_dataclass(frozen=True, slots=True)
class RelayedCodec:
    """Codec that renders as a node does and replaces the headers as the Coordinator does."""

    codec: Codec

    def render(self, plan: Plan, request: Request) -> Response:
        return relay_response(self.codec.render(plan, request))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        answer = self.codec.stream(plan, request)
        return replace(answer, headers=_relay(answer.headers))
