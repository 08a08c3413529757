"""The codecs, and what they remember of a request."""

from __future__ import annotations

from emulator.core.plan import Plan
from emulator.core.record import record
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse, WireStream
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.text.shapes import render_chat, render_completion
from emulator.vendors.openvino.text.stream import stream_chat, stream_completion


@record(frozen=True, slots=True)
class Remembered:
    """What a codec wants to know of the request: ``echo`` is the prompt to send back first."""

    include_usage: bool
    echo: str = ""


class ChatCodec:
    """``/v3/chat/completions``."""

    def render(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireResponse:
        return render_chat(plan, call, service)

    def stream(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireStream:
        return stream_chat(plan, call, service)


class CompletionCodec:
    """``/v3/completions``."""

    def render(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireResponse:
        return render_completion(plan, call, service)

    def stream(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireStream:
        return stream_completion(plan, call, service)


CHAT = ChatCodec()
COMPLETIONS = CompletionCodec()
