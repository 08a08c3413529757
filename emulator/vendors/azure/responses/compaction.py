"""``POST /responses/compact``: shorten a conversation to its plain messages and one item of type ``compaction``.

The item has a random text as ``encrypted_content``; a client sends both as ``input`` of its next request in place of
the conversation. ``routes.py`` names :func:`compact`.

Source: openai/openai-openapi, ``CompactResource``: messages of users stay, all else becomes one opaque item.
"""

from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object
from emulator.core.rng import draw_hex, draw_opaque
from emulator.protocols.shapes import OPENAI_SHAPES
from emulator.vendors.azure.decoder import validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_json
from emulator.vendors.azure.members import build_refusal
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.request import parse_request
from emulator.vendors.azure.responses.input import identify
from emulator.vendors.azure.responses.models import ResponseRequest
from emulator.vendors.azure.responses.parse import count_items, draw_id, load_items
from emulator.vendors.azure.url_kind import RESPONSES_KINDS

_RATIO = 8  # tokens of a conversation for each reported output token of its compaction; unverified


def compact(request: Request, service: AzureService) -> Response:
    """Return the compacted items of ``input`` or of a stored response."""
    parsed = parse_request(request, service, "chat", RESPONSES_KINDS, "responses")
    given = parsed.body
    if isinstance(given, dict):
        found = OPENAI_SHAPES.find_misfit("compact", given)
        if found is not None:
            raise build_refusal(found)
        given = {"input": "", **{name: value for name, value in given.items() if value is not None}}
    wire = validate(ResponseRequest, given)
    earlier, given_items = load_items(wire, request, service)
    items = [*earlier.items, *given_items]
    if not items:
        raise refusals.missing_parameter("input")
    tokens = count_items(wire, parsed, items)
    output = 1 + tokens // _RATIO
    kept = [item for item in items if item.get("role") in ("user", "developer", "system")]
    secret = draw_opaque(request.key, "compaction")
    compacted: JSON = [
        *identify(kept, request.key),
        {"id": f"cmp_{draw_hex(request.key, 'compaction')}", "type": "compaction", "encrypted_content": secret},
    ]
    body: Object = {
        "id": draw_id(request.key),
        "object": "response.compaction",
        "created_at": int(service.clock.now()),
        "output": compacted,
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + output,
        },
    }
    return answer_json(body, request, service)
