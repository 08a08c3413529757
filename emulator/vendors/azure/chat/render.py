"""Chat codec and complete responses of ``/chat/completions``.

Sources: Azure Machine Learning reference, Chat Completions, sample response (profile ``seed``);
Azure/azure-sdk-assets, recorded answers of serverless endpoints and of Azure OpenAI (the others).
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.sse import encode_string
from emulator.protocols.choice_events import MessageContent, collect_message, is_plain_text
from emulator.protocols.openai.messages import count_cached_blocks
from emulator.vendors.azure.chat.audio import AudioFormat, build_audio
from emulator.vendors.azure.chat.shapes import (
    THINK,
    build_harms,
    draw_answer_id,
    encode_detailed_usage,
    encode_logprobs,
    encode_sorted_usage,
    finish_reason,
    identify_calls,
)
from emulator.vendors.azure.chat.stream import stream_chat
from emulator.vendors.azure.chat.template import PROMPT_RESULTS, encode_plain
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import DeploymentProfile


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatCodec:
    """Codec of chat responses in the form of the profile and the model.

    Fields:
        usage: a stream ends with token counts.
        named_tool: the request forces one tool by name.
        functions: tools were offered as ``functions``, so a call is ``function_call``.
        customs: names of the offered custom tools.
        audio: format of an audio answer; ``None`` for text.
    """

    profile: DeploymentProfile
    usage: bool
    named_tool: bool
    functions: bool = False
    customs: frozenset[str] = frozenset()
    audio: AudioFormat | None = None

    def render(self, plan: Plan, request: Request) -> Response:
        profile = self.profile
        if profile.caches:
            plan = count_cached_blocks(plan, request.attempt)
        headers = answer_headers(plan, request, profile)
        if self.audio is None and is_plain_text(plan):
            return Response(200, encode_plain(plan, profile), headers)
        if profile.blocking and any(choice.finish_reason == "content_filter" for choice in plan.choices):
            return Response(400, dump_json(_build_blocked(plan)), headers)
        return Response(200, render_whole(plan, self), headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        if self.profile.caches:
            plan = count_cached_blocks(plan, request.attempt)
        events = stream_chat(
            plan,
            self.profile,
            usage=self.usage,
            named_tool=self.named_tool,
            functions=self.functions,
            customs=self.customs,
            audio=self.audio,
        )
        return StreamingResponse(events, answer_headers(plan, request, self.profile, stream=True))


def render_whole(plan: Plan, codec: ChatCodec) -> bytes:
    """Encode a response from its parts, without a template."""
    if codec.profile.openai:
        return _render_openai(plan, codec)
    return _render_seed(plan, codec) if codec.profile.dialect == "seed" else _render_serverless(plan, codec)


def _render_seed(plan: Plan, codec: ChatCodec) -> bytes:
    """Encode keys in the order of the documented sample; further keys follow."""
    usage, profile = plan.usage, codec.profile
    return (
        b'{"id":"%b","model":%b,"choices":[%b],"created":%d,"object":"chat.completion","usage":{"prompt_tokens":%d,'
        b'"completion_tokens":%d,"total_tokens":%d},"system_fingerprint":"%b"}'
    ) % (
        draw_answer_id(plan, openai=False).encode(),
        encode_string(profile.model),
        b",".join([_encode_seed_choice(choice, plan, index, codec) for index, choice in enumerate(plan.choices)]),
        int(plan.created),
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
        profile.fingerprint.encode(),
    )


def _encode_seed_choice(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    message = collect_message(choice)
    profile = codec.profile
    more = _encode_reasoning(message, profile) + _encode_audio(choice, plan, index, codec)
    if message.calls:
        calls: list[Object] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in identify_calls(message.calls, plan, index, profile)
        ]
        more += b',"tool_calls":%b' % dump_json(calls)
    return b'{"index":%d,"finish_reason":%b,"message":{"role":"assistant","content":%b%b}%b}' % (
        index,
        encode_string(choice.finish_reason),
        dump_json("" if codec.audio else _format_content(choice, message, profile)),
        more,
        b"" if choice.logprobs is None else b',"logprobs":%b' % encode_logprobs(choice),
    )


def _render_serverless(plan: Plan, codec: ChatCodec) -> bytes:
    profile = codec.profile
    return b'{"choices":[%b],"created":%d,"id":"%b","model":%b,"object":"chat.completion","usage":%b}' % (
        b",".join([_encode_serverless_choice(choice, plan, index, codec) for index, choice in enumerate(plan.choices)]),
        int(plan.created),
        draw_answer_id(plan, openai=False).encode(),
        encode_string(profile.model),
        encode_sorted_usage(plan),
    )


def _encode_serverless_choice(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    message = collect_message(choice)
    profile = codec.profile
    calls: list[Object] = [
        {
            "function": {"arguments": call.arguments, "call_id": None, "name": call.name},
            "id": call.id,
            "type": "function",
        }
        for call in identify_calls(message.calls, plan, index, profile)
    ]
    return b'{"finish_reason":%b,"index":%d,%b"message":{"content":%b%b,"role":"assistant","tool_calls":%b}}' % (
        encode_string(choice.finish_reason),
        index,
        b"" if choice.logprobs is None else b'"logprobs":%b,' % encode_logprobs(choice),
        dump_json("" if codec.audio else _format_content(choice, message, profile)),
        _encode_reasoning(message, profile) + _encode_audio(choice, plan, index, codec),
        dump_json(calls) if calls else b"null",
    )


def _render_openai(plan: Plan, codec: ChatCodec) -> bytes:
    profile = codec.profile
    choices = [_encode_openai_choice(choice, plan, index, codec) for index, choice in enumerate(plan.choices)]
    return (
        b'{"choices":[%b],"created":%d,"id":"%b","model":%b,"object":"chat.completion",%b'
        b'"system_fingerprint":"%b","usage":%b}'
    ) % (
        b",".join(choices),
        int(plan.created),
        draw_answer_id(plan, openai=True).encode(),
        encode_string(profile.model),
        PROMPT_RESULTS if profile.filtered else b"",
        profile.fingerprint.encode(),
        encode_detailed_usage(plan),
    )


def _encode_openai_choice(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    message = collect_message(choice)
    profile = codec.profile
    calls = _encode_calls(message, plan, index, codec)
    text = _format_content(choice, message, profile)
    silent = codec.audio or (not text and (calls or message.refusal))
    return (
        b'{%b"finish_reason":%b,"index":%d,"logprobs":%b,"message":{"content":%b%b,"refusal":%b,"role":"assistant"%b}}'
    ) % (
        b'"content_filter_results":%b,' % dump_json(build_harms(choice)) if profile.filtered else b"",
        encode_string(finish_reason(choice, profile, named_tool=codec.named_tool, functions=codec.functions)),
        index,
        encode_logprobs(choice),
        b"null" if silent else dump_json(text),
        _encode_reasoning(message, profile),
        dump_json(message.refusal) if message.refusal else b"null",
        _encode_audio(choice, plan, index, codec) + calls,
    )


def _encode_audio(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    """Encode the member ``audio`` of a message, with a comma before it; empty for text."""
    if codec.audio is None:
        return b""
    return b',"audio":%b' % dump_json(build_audio(plan, choice, index, codec.audio))


def _encode_calls(message: MessageContent, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    """Encode an OpenAI model's calls as members of a message, with a comma before them."""
    functions: list[Object] = [{"arguments": call.arguments, "name": call.name} for call in message.calls]
    if not functions:
        return b""
    if codec.functions:
        return b',"function_call":%b' % dump_json(functions[0])
    named = zip(functions, identify_calls(message.calls, plan, index, codec.profile), strict=True)
    calls: list[Object] = [
        {"custom": {"input": call.arguments, "name": call.name}, "id": call.id, "type": "custom"}
        if call.name in codec.customs
        else {"function": function, "id": call.id, "type": "function"}
        for function, call in named
    ]
    return b',"tool_calls":%b' % dump_json(calls)


def _format_content(choice: Choice, message: MessageContent, profile: DeploymentProfile) -> str:
    """Return the content of a message; empty if filtered."""
    if choice.finish_reason == "content_filter":
        return ""
    text = message.text if profile.openai else message.text + message.refusal
    return f"{THINK[0]}{message.reasoning}{THINK[1]}{text}" if profile.inline and message.reasoning else text


def _encode_reasoning(message: MessageContent, profile: DeploymentProfile) -> bytes:
    """Encode the member ``reasoning_content`` with a comma before it; empty without visible reasoning."""
    return (
        b""
        if profile.inline or profile.hidden or not message.reasoning
        else b',"reasoning_content":%b' % dump_json(message.reasoning)
    )


def _build_blocked(plan: Plan) -> JSON:
    """Return a filtered answer as Foundry sends it. Source: experientiallabs/experiential issue 967."""
    label = {"code": "content_filter", "message": "Response content blocked by label 'MultiSeverity_ViolenceScore'."}
    choices: list[Object] = [
        {
            "index": index,
            "message": {"role": "assistant", "content": ""},
            "finish_reason": "content_filter",
            "content_filter_results": {"error": label},
        }
        for index in range(len(plan.choices))
    ]
    tokens = plan.usage.prompt_tokens
    return {
        "id": draw_answer_id(plan, openai=True),
        "model": "",
        "choices": choices,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "created": int(plan.created),
        "object": "chat.completion",
        "prompt_filter_results": None,
    }
