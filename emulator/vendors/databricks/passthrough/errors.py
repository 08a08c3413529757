"""Format errors as Anthropic or Google does, on the routes of their APIs."""

from emulator.core.errors import EmulatedError
from emulator.core.http import Headers, Request
from emulator.core.json import Object, dump_json
from emulator.encoding.sse import encode_event
from emulator.protocols.anthropic import response as anthropic
from emulator.protocols.gemini import response as gemini


def _is_anthropic(request: Request) -> bool:
    return "/anthropic/v1/" in request.path


def _is_gemini(request: Request) -> bool:
    return request.path.startswith(("/serving-endpoints/gemini/", "/ai-gateway/gemini/"))


def list_native_headers(request: Request) -> Headers:
    """Return the headers that the model's maker adds."""
    return (("request-id", anthropic.draw_request_id(request)),) if _is_anthropic(request) else ()


def build_native(error: EmulatedError, status: int, message: str, request: Request) -> Object | None:
    """Return an error body of the model's maker; ``None`` for Databricks' own API."""
    if _is_anthropic(request):
        return anthropic.build_error(anthropic.find_error_type(status), message, request)
    return gemini.build_error(status, message, error.param) if _is_gemini(request) else None


def frame_native(status: int, message: str, request: Request) -> bytes | None:
    """Encode an error event of the model's maker; ``None`` for Databricks' own API."""
    if _is_anthropic(request):
        return anthropic.encode_error(anthropic.find_error_type(status), message, request)
    if not _is_gemini(request):
        return None
    body = gemini.build_error(status, message)
    return encode_event(body) if request.query.get("alt") == "sse" else b",\r\n%b]" % dump_json(body)
