"""Answers of ``/v1/chat/completions`` in one piece.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletion) and ``router/src/chat.rs``.
"""

from emulator.core.json import JSON, dump_json, dump_text, parse_json
from emulator.core.plan import Choice, Plan
from emulator.core.record import record
from emulator.core.wire import WireRequest, WireResponse, WireStream
from emulator.dialects.walk import gather
from emulator.vendors.tgi.chat.shapes import ChatOptions, name_finish, shape_chat_usage, shape_head, shape_logprobs
from emulator.vendors.tgi.chat.stream import stream_chat
from emulator.vendors.tgi.headers import answer_headers, stream_headers

CALL_ID = "0"  # of a call in an answer in one piece, whatever came before


@record(frozen=True, slots=True)
class ChatCodec:
    """Words the answer to one chat request."""

    options: ChatOptions

    def render(self, plan: Plan, request: WireRequest) -> WireResponse:
        options = self.options
        choice = plan.choices[0]
        row: JSON = {
            "index": 0,
            "message": _shape_message(choice),
            "logprobs": shape_logprobs(choice.logprobs or (), options.top) if options.logprobs else None,
            "finish_reason": name_finish(choice, options.limit),
        }
        head = shape_head(plan, options, "chat.completion")
        body = dump_json({**head, "choices": [row], "usage": shape_chat_usage(plan, options)})
        headers = answer_headers(plan, options.settings, options.prompt_tokens, options.characters)
        return WireResponse(200, body, headers)

    def stream(self, plan: Plan, request: WireRequest) -> WireStream:
        headers = stream_headers(self.options.settings, self.options.characters)
        return WireStream(stream_chat(plan, self.options), headers)


def _shape_message(choice: Choice) -> JSON:
    said = gather(choice)
    if not said.calls:
        return {"role": "assistant", "content": said.text + said.refusal}
    call = said.calls[0]
    function: JSON = {"description": None, "name": call.name, "arguments": _compact(call.arguments)}
    return {"role": "assistant", "tool_calls": [{"id": CALL_ID, "type": "function", "function": function}]}


def _compact(arguments: str) -> str:
    """Arguments as the router writes them again; what is no JSON stays."""
    try:
        return dump_text(parse_json(arguments))
    except ValueError:
        return arguments
