"""A response in one piece or as a stream of events."""

from __future__ import annotations

from typing import Any

from emulator.core.json import dump_json
from emulator.core.plan import Plan
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse, WireStream
from emulator.vendors.databricks.reply import Reply, answer_headers
from emulator.vendors.databricks.responses.shapes import shape_output, shape_response, status_of
from emulator.vendors.databricks.responses.stream import stream_response


class ResponsesCodec:
    """Words chat plans as response objects."""

    def render(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireResponse:
        reply: Reply = call.context
        body = shape_response(plan, reply, status=status_of(plan), output=shape_output(plan, reply), usage=True)
        return WireResponse(200, dump_json(body), answer_headers(call, service))

    def stream(self, plan: Plan, call: Call, service: Service[Any, Any]) -> WireStream:
        return WireStream(stream_response(plan, call.context), answer_headers(call, service, stream=True))
