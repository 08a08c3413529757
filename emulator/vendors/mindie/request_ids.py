"""Choose the id of a request, which responses show, and stop a running request by its id (``/stopInfer``).

Source: MindIE-LLM, ``single_req_infer_interface_base.cpp`` and ``single_req_triton_text_infer_interface.cpp``.
"""

import re
from collections.abc import Mapping

from emulator.core.calls import Change
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import JSON, dump_json, dump_string
from emulator.core.rng import prepare_key
from emulator.vendors.mindie.decoder import Fields, parse_string, refusal
from emulator.vendors.mindie.headers import closing_headers
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import find_model, parse_body

HEADER = "req-id"
_derive_number = prepare_key(..., "id")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,256}")
_BAD_ID = "The id can contain only digits, letters, underscores(_), hyphens(-) and no more than 256 words in length."
_BROKEN = "Failed to parse context to json body."


@fast_dataclass(frozen=True, slots=True)
class RequestId:
    """The id of a request.

    Fields:
        given: header ``req-id``; if empty, the server counts its requests.
        own: ``id`` of a Triton body, which the response repeats.
    """

    given: str = ""
    own: str | None = None

    def show(self, key: bytes) -> str:
        """Return the id in the response."""
        return (self.given or _count(key)) if self.own is None else self.own

    def quote(self, key: bytes) -> bytes:
        """Encode the id in the response as JSON."""
        return dump_string(self.show(key))

    def names(self, key: bytes) -> tuple[str, ...]:
        """Return the ids that stop the request; with the header, only that one."""
        if self.given:
            return (self.given,)
        return (_count(key),) if self.own is None else (_count(key), self.own)


def parse_id(request: Request, fields: Fields | None = None) -> RequestId:
    """Parse the id of a request; ``fields``: a body that may have an ``id``."""
    given = request.headers.get(HEADER, "")
    own = None if fields is None else parse_string(fields, "id")
    if own is not None and not _ID.fullmatch(own):
        raise refusal(_BAD_ID, "id")
    return RequestId(given, own)


def _count(key: bytes) -> str:
    """Return ``endpoint_common_<n>``, the id by the server's request counter."""
    return f"endpoint_common_{int.from_bytes(_derive_number(key), 'big') % 10**6 + 1}"


def stop_infer(request: Request, service: MindieService) -> Change:
    """Handle ``POST /v2/models/{model}/stopInfer``: end a running request, which keeps the text sent so far."""
    find_model(request, service)
    fields = parse_body(request, service.settings, _BROKEN)
    name = _parse_target(fields)

    def stop(documents: Mapping[str, JSON]) -> Response:
        if not service.running.stop(request.session, name):
            raise EmulatedError(ErrorKind.NOT_FOUND, message=f"RequestId is {name} not found.")
        return Response(200, dump_json(fields), closing_headers(request.key), close=True)

    return Change(stop)


def _parse_target(fields: Fields) -> str:
    if "id" not in fields:
        raise refusal("Not found id.", "id")
    name = parse_string(fields, "id")
    if name is None:
        raise refusal("id must not be null.", "id")
    if not _ID.fullmatch(name):
        raise refusal(_BAD_ID, "id")
    return name
