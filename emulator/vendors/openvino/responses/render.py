"""Answers of ``/v3/responses``."""

from __future__ import annotations

from dataclasses import replace

from emulator.core.dataclass import record
from emulator.core.http import WireRequest, WireResponse, WireStream
from emulator.core.json import dump_json
from emulator.core.plan import Plan, SpanKind
from emulator.vendors.openvino.chat.shapes import put_in_text
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.responses.shapes import Echoed, shape_answer
from emulator.vendors.openvino.responses.stream import ResponseStream
from emulator.vendors.openvino.settings import OpenVinoSettings


@record(frozen=True, slots=True)
class ResponsesCodec:
    """Items of thoughts, calls and a message; ``apart``: what is read out of the text, where a call is ``markup``.

    ``voice``: the answer is said, too.
    """

    settings: OpenVinoSettings
    echoed: Echoed
    apart: frozenset[SpanKind]
    markup: str
    voice: Voice | None

    def render(self, plan: Plan, request: WireRequest) -> WireResponse:
        answer = shape_answer(self._read(plan), self.echoed, self.voice)
        return WireResponse(200, dump_json(answer), self.settings.json_headers)

    def stream(self, plan: Plan, request: WireRequest) -> WireStream:
        return WireStream(
            ResponseStream(self._read(plan), self.echoed, self.voice).events(), self.settings.stream_headers
        )

    def _read(self, plan: Plan) -> Plan:
        choices = tuple([put_in_text(choice, self.apart, self.markup) for choice in plan.choices])
        return plan if choices == plan.choices else replace(plan, choices=choices)
