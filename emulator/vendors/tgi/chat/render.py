"""Render non-streaming responses of ``/v1/chat/completions``.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletion) and ``router/src/chat.rs``.
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, dump_json, dump_string, dump_text, parse_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import collect_message, is_plain_text
from emulator.protocols.tgi import report_counts
from emulator.vendors.tgi.chat.shapes import (
    ChatOptions,
    build_chat_usage,
    build_head,
    build_logprobs,
    find_finish_reason,
)
from emulator.vendors.tgi.chat.stream import stream_chat
from emulator.vendors.tgi.headers import response_headers, stream_headers
from emulator.vendors.tgi.keepalive import keep_alive

_PLAIN = (
    b'{"object":"chat.completion","id":"","created":%d,"model":%b,"system_fingerprint":%b,"choices":[{"index":0,'
    b'"message":{"role":"assistant","content":%b},"logprobs":null,"finish_reason":"%b"}],'
    b'"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}'
)
CALL_ID = "0"  # constant in non-streaming responses


@fast_dataclass(frozen=True, slots=True)
class ChatCodec:
    """Codec of chat completions."""

    options: ChatOptions

    def render(self, plan: Plan, request: Request) -> Response:
        options = self.options
        choice = plan.choices[0]
        headers = response_headers(plan, options.settings, options.prompt_tokens, options.characters)
        if is_plain_text(plan) and not options.logprobs:
            return Response(200, _encode_plain(plan, options), headers)
        row: JSON = {
            "index": 0,
            "message": _build_message(choice),
            "logprobs": build_logprobs(choice.logprobs or (), options.top) if options.logprobs else None,
            "finish_reason": find_finish_reason(choice, options.limit),
        }
        head = build_head(plan, options, "chat.completion")
        body = dump_json({**head, "choices": [row], "usage": build_chat_usage(plan, options)})
        return Response(200, body, headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = stream_headers(self.options.settings, self.options.characters)
        return StreamingResponse(keep_alive(stream_chat(plan, self.options), plan), headers)


def _encode_plain(plan: Plan, options: ChatOptions) -> bytes:
    """Encode a response with a single text choice from a template."""
    choice = plan.choices[0]
    prompt, completion = report_counts(plan, options.prompt_tokens, choice.count)
    return _PLAIN % (
        int(plan.created),
        encode_string(options.model),
        encode_string(options.settings.fingerprint),
        dump_string(choice.sequence.text),
        find_finish_reason(choice, options.limit).encode(),
        prompt,
        completion,
        prompt + completion,
    )


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
