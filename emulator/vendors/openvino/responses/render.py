"""Answers of ``/v3/responses``."""

from __future__ import annotations

from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import dump_json
from emulator.core.plan import Plan, SegmentKind
from emulator.vendors.openvino.chat.shapes import put_in_text
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.responses.shapes import Echoed, shape_answer
from emulator.vendors.openvino.responses.stream import ResponseStream
from emulator.vendors.openvino.settings import OpenVinoSettings


@fast_dataclass(frozen=True, slots=True)
class ResponsesCodec:
    """Items of thoughts, calls and a message; ``apart``: what is read out of the text, where a call is ``markup``.

    ``voice``: the answer is said, too.
    """

    settings: OpenVinoSettings
    echoed: Echoed
    apart: frozenset[SegmentKind]
    markup: str
    voice: Voice | None

    def render(self, plan: Plan, request: Request) -> Response:
        answer = shape_answer(self._read(plan), self.echoed, self.voice)
        return Response(200, dump_json(answer), self.settings.json_headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(
            ResponseStream(self._read(plan), self.echoed, self.voice).events(), self.settings.stream_headers
        )

    def _read(self, plan: Plan) -> Plan:
        choices = tuple([put_in_text(choice, self.apart, self.markup) for choice in plan.choices])
        return plan if choices == plan.choices else replace(plan, choices=choices)
