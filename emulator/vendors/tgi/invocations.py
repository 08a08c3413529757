"""``POST /invocations``: any of the three requests, as SageMaker sends them.

Source: text-generation-inference, ``router/src/sagemaker.rs``.
"""

from emulator.core.vendor import Call, Service
from emulator.core.wire import WireRequest, WireResponse
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.parse import CHAT_REQUEST, parse_chat_body
from emulator.vendors.tgi.completions import COMPLETION_REQUEST, parse_completions_body
from emulator.vendors.tgi.generate.parse import COMPAT, parse_compat
from emulator.vendors.tgi.settings import TgiSettings

_ANY = serde.untagged("SagemakerRequest", COMPAT, CHAT_REQUEST, COMPLETION_REQUEST)


def parse_invocations(request: WireRequest, service: Service[TgiSettings, None]) -> Call | WireResponse:
    """The first form that fits: ``inputs``, ``messages`` or ``prompt``."""
    body = serde.read(request, _ANY)
    if "inputs" in body:
        return parse_compat(request, service, body)
    if "messages" in body:
        return parse_chat_body(request, service, body)
    return parse_completions_body(request, service, body)
