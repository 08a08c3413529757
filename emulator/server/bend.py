"""Bending an answer by the faults of its rule, before it is played."""

from collections.abc import Sequence
from dataclasses import replace

from emulator.core.delivery import Delivery
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, dump_json, parse_json
from emulator.core.plan import Plan
from emulator.core.vendor import Call, Service, Vendor, VendorSettings
from emulator.core.wire import DROPPED, WireRequest, WireResponse, WireStream
from emulator.faults import Fault, measure


def bend(
    answer: WireResponse | WireStream,
    faults: Sequence[Fault],
    vendor: Vendor,
    service: Service[VendorSettings],
    request: WireRequest,
    call: Call | None,
    plan: Plan | None,
) -> WireResponse | Delivery:
    """The answer with all faults in it, in order; one that drops the connection anyway stays.

    Args:
        call, plan: what was asked and decided, unless the answer is a refusal or no model's.
    """
    if isinstance(answer, WireResponse) and answer.status == DROPPED:
        return answer
    if call is None or plan is None:
        delivery = measure(answer)
    else:
        codec = call.codec
        words = codec.stream if call.stream else codec.render
        delivery = measure(answer, due=plan.due, plan=plan, word=lambda other: words(other, call, service))
    delivery = replace(delivery, word_error=lambda error: word_late_error(error, vendor, request, service))
    for fault in faults:
        delivery = fault.bend(delivery)
    return delivery


def word_late_error(
    error: EmulatedError, vendor: Vendor, request: WireRequest, service: Service[VendorSettings]
) -> bytes:
    """What a stream says of a failure after it has begun; for a vendor without such words, an event ``error``."""
    if vendor.render_late_error is not None:
        return vendor.render_late_error(error, request, service)
    response = vendor.render_error(error, request, service)
    try:
        body: JSON = parse_json(response.body)
    except ValueError:
        body = {"message": response.body.decode("utf-8", "replace")}
    if not (isinstance(body, dict) and body.get("error")):
        text = body.get("message") if isinstance(body, dict) else None
        body = {"error": {"message": text or str(error.kind), "type": "server_error", "code": response.status}}
    return b"data: %b\n\n" % dump_json(body)
