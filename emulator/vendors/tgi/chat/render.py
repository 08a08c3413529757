"""Render non-streaming responses of ``/v1/chat/completions``.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletion) and ``router/src/chat.rs``.
"""

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json, dump_string, dump_text, parse_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.template import SAMPLE, SAMPLE_TEXT, Template
from emulator.protocols.choice_events import collect_message, is_plain_text
from emulator.vendors.tgi.chat.shapes import (
    SAMPLE_OPTIONS,
    ChatOptions,
    build_chat_usage,
    build_head,
    build_logprobs,
    find_finish_reason,
    list_values,
)
from emulator.vendors.tgi.chat.stream import stream_chat
from emulator.vendors.tgi.headers import response_headers, stream_headers
from emulator.vendors.tgi.keepalive import keep_alive

CALL_ID = "0"  # constant in non-streaming responses


@fast_dataclass(frozen=True, slots=True)
class ChatCodec:
    """Codec of chat completions."""

    options: ChatOptions

    def render(self, plan: Plan, request: Request) -> Response:
        options = self.options
        headers = response_headers(plan, options.settings, options.prompt_tokens, options.characters)
        if is_plain_text(plan) and not options.logprobs:
            values = list_values(plan, options, dump_string(plan.choices[0].sequence.text))
            return Response(200, _build_template().fill(values), headers)
        return Response(200, dump_json(_build_answer(plan, options)), headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = stream_headers(self.options.settings, self.options.characters)
        return StreamingResponse(keep_alive(stream_chat(plan, self.options), plan), headers)


@lru(1)
def _build_template() -> Template:
    """Return the byte template of all plain text responses."""
    values = list_values(SAMPLE, SAMPLE_OPTIONS, dump_json(SAMPLE_TEXT))
    return Template(dump_json(_build_answer(SAMPLE, SAMPLE_OPTIONS)), values)


def _build_answer(plan: Plan, options: ChatOptions) -> Object:
    choice = plan.choices[0]
    row: JSON = {
        "index": 0,
        "message": _build_message(choice),
        "logprobs": build_logprobs(choice.logprobs or (), options.top) if options.logprobs else None,
        "finish_reason": find_finish_reason(choice, options.limit),
    }
    return {
        **build_head(plan, options, "chat.completion"),
        "choices": [row],
        "usage": build_chat_usage(plan, options),
    }


def _build_message(choice: Choice) -> JSON:
    collected = collect_message(choice)
    if not collected.calls:
        return {"role": "assistant", "content": collected.text + collected.refusal}
    call = collected.calls[0]
    function: JSON = {"description": None, "name": call.name, "arguments": _compact(call.arguments)}
    return {"role": "assistant", "tool_calls": [{"id": CALL_ID, "type": "function", "function": function}]}


def _compact(arguments: str) -> str:
    """Return the arguments as the router re-encodes them; invalid JSON is unchanged."""
    try:
        return dump_text(parse_json(arguments))
    except ValueError:
        return arguments
