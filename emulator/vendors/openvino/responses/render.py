"""Codec of ``/v3/responses``: it renders whole responses; ``stream.py`` has the events of streams."""

from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import dump_json
from emulator.core.plan import Plan, SegmentKind
from emulator.vendors.openvino.chat.shapes import merge_into_text
from emulator.vendors.openvino.media.audio_files import Voice
from emulator.vendors.openvino.responses.shapes import RequestEcho, build_response
from emulator.vendors.openvino.responses.stream import ResponseStream
from emulator.vendors.openvino.settings import OpenVinoSettings


@fast_dataclass(frozen=True, slots=True)
class ResponsesCodec:
    """Codec of the Responses API.

    Fields:
        separate_kinds: kinds of segments that are parsed out of the text.
        markup: format of a tool call in the text.
        voice: the response has audio.
    """

    settings: OpenVinoSettings
    echo: RequestEcho
    separate_kinds: frozenset[SegmentKind]
    markup: str
    voice: Voice | None

    def render(self, plan: Plan, request: Request) -> Response:
        response = build_response(self._join_segments(plan), self.echo, self.voice)
        return Response(200, dump_json(response), self.settings.json_headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(
            ResponseStream(self._join_segments(plan), self.echo, self.voice).events(), self.settings.stream_headers
        )

    def _join_segments(self, plan: Plan) -> Plan:
        choices = tuple([merge_into_text(choice, self.separate_kinds, self.markup) for choice in plan.choices])
        return plan if choices == plan.choices else replace(plan, choices=choices)
