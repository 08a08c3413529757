"""Codec of ``/v1/chat/completions``: it renders whole responses; ``stream.py`` has the events of streams.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp``.
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import has_only, is_plain_text
from emulator.vendors.mindie.chat.shapes import OpenAIAnswer, build_logprobs, build_message
from emulator.vendors.mindie.chat.stream import stream_chat
from emulator.vendors.mindie.headers import closing_headers, stream_headers
from emulator.vendors.mindie.postprocess import quote_clean

_PLAIN = (
    b'{"id":%b,"object":"chat.completion","created":%d,"model":%b,"choices":[{"index":0,"message":'
    b'{"role":"assistant","content":%b,"tool_calls":[]},"logprobs":null,"finish_reason":"%b"}],'
    b'"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}'
)


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatCodec(OpenAIAnswer):
    """Codec of chat completions."""

    def render(self, plan: Plan, request: Request) -> Response:
        if not self.stops.ids and not self.prefix_cache and is_plain_text(plan):
            return Response(200, _encode_plain(self, plan, plan.choices[0]), closing_headers(plan.key), close=True)
        plan = self.count_cached(plan, request)
        choices = self.parse_all(plan)
        plain = len(choices) == 1 and has_only(choices[0]) and choices[0].logprobs is None
        plain = plain and not self.prefix_cache
        body = _encode_plain(self, plan, choices[0]) if plain else dump_json(_build(self, plan, choices))
        return Response(200, body, closing_headers(plan.key), close=True)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(stream_chat(self, self.count_cached(plan, request)), stream_headers(plan.key))


def _encode_plain(answer: OpenAIAnswer, plan: Plan, choice: Choice) -> bytes:
    """Encode a response with a single text choice from a template."""
    prompt, completion = answer.count(plan, [choice])
    return _PLAIN % (
        answer.id.quote(plan.key),
        int(plan.created),
        encode_string(answer.model),
        quote_clean(choice.sequence.text),
        answer.find_finish_reason(choice).encode(),
        prompt,
        completion,
        prompt + completion,
    )


def _build(answer: OpenAIAnswer, plan: Plan, choices: list[Choice]) -> JSON:
    return {
        "id": answer.id.show(plan.key),
        "object": "chat.completion",
        "created": int(plan.created),
        "model": answer.model,
        "choices": [
            {
                "index": index,
                "message": build_message(plan.key, choice, index),
                "logprobs": build_logprobs(choice, 0, len(choice.tokens)),
                "finish_reason": answer.find_finish_reason(choice),
            }
            for index, choice in enumerate(choices)
        ],
        "usage": answer.build_usage(plan, choices),
    }
