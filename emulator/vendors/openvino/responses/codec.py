"""Answers of ``/v3/responses``."""

from __future__ import annotations

from emulator.core.json import dump_json
from emulator.core.plan import Plan
from emulator.core.record import record
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.vendors.openvino.responses.shapes import Echoed, shape_answer
from emulator.vendors.openvino.responses.stream import ResponseStream
from emulator.vendors.openvino.settings import OpenVinoSettings


@record(frozen=True, slots=True)
class ResponsesCodec:
    """Items of thoughts, calls and a message."""

    settings: OpenVinoSettings
    echoed: Echoed

    def render(self, plan: Plan, request: WireRequest) -> WireResponse:
        return WireResponse(200, dump_json(shape_answer(plan, self.echoed)), self.settings.json_headers)

    def stream(self, plan: Plan, request: WireRequest) -> WireStream:
        return WireStream(ResponseStream(plan, self.echoed).events(), self.settings.stream_headers)
