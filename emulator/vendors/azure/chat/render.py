"""Answers of ``/chat/completions`` in one piece, and the codec.

Sources: Azure Machine Learning reference, Chat Completions, sample response (profile ``seed``);
Azure/azure-sdk-assets, recorded answers of serverless endpoints and of Azure OpenAI (the others).
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Choice, Plan
from emulator.encoding.sse import quote
from emulator.protocols.choice_events import MessageContent, collect_message, is_plain_text
from emulator.protocols.openai.messages import count_blocks
from emulator.vendors.azure.chat.audio import AudioFormat, shape_sound
from emulator.vendors.azure.chat.shapes import (
    THINK,
    draw_answer_id,
    dump_detailed_usage,
    dump_logprobs,
    dump_sorted_usage,
    finish_reason,
    identify_calls,
    shape_harms,
)
from emulator.vendors.azure.chat.stream import stream_chat
from emulator.vendors.azure.chat.template import PROMPT_RESULTS, fill
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import DeploymentProfile


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatCodec:
    """Words a chat answer in the form of the profile and the model.

    Fields:
        usage: a stream ends with token counts.
        named_tool: the request forces one tool by name.
        functions: tools were offered as ``functions``, so a call of one is ``function_call``.
        customs: the custom tools that were offered, by name.
        audio: how an answer sounds that is to be heard.
    """

    habits: DeploymentProfile
    usage: bool
    named_tool: bool
    functions: bool = False
    customs: frozenset[str] = frozenset()
    audio: AudioFormat | None = None

    def render(self, plan: Plan, request: Request) -> Response:
        habits = self.habits
        if habits.caches:
            plan = count_blocks(plan, request.attempt)
        headers = answer_headers(plan, request, habits)
        if self.audio is None and is_plain_text(plan):
            return Response(200, fill(plan, habits), headers)
        if habits.blocking and any(choice.finish_reason == "content_filter" for choice in plan.choices):
            return Response(400, dump_json(_shape_blocked(plan)), headers)
        return Response(200, render_whole(plan, self), headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        if self.habits.caches:
            plan = count_blocks(plan, request.attempt)
        events = stream_chat(
            plan,
            self.habits,
            usage=self.usage,
            named_tool=self.named_tool,
            functions=self.functions,
            customs=self.customs,
            audio=self.audio,
        )
        return StreamingResponse(events, answer_headers(plan, request, self.habits, stream=True))


def render_whole(plan: Plan, codec: ChatCodec) -> bytes:
    """The answer, put together of its parts."""
    if codec.habits.openai:
        return _render_openai(plan, codec)
    return _render_seed(plan, codec) if codec.habits.profile == "seed" else _render_serverless(plan, codec)


def _render_seed(plan: Plan, codec: ChatCodec) -> bytes:
    """Keys in the order of the documented sample; what it lacks follows."""
    usage, habits = plan.usage, codec.habits
    return (
        b'{"id":"%b","model":%b,"choices":[%b],"created":%d,"object":"chat.completion","usage":{"prompt_tokens":%d,'
        b'"completion_tokens":%d,"total_tokens":%d},"system_fingerprint":"%b"}'
    ) % (
        draw_answer_id(plan, openai=False).encode(),
        quote(habits.model),
        b",".join([_shape_seed(choice, plan, index, codec) for index, choice in enumerate(plan.choices)]),
        int(plan.created),
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
        habits.fingerprint.encode(),
    )


def _shape_seed(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    said = collect_message(choice)
    habits = codec.habits
    more = _dump_thoughts(said, habits) + _dump_sound(choice, plan, index, codec)
    if said.calls:
        calls: list[Object] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in identify_calls(said.calls, plan, index, habits)
        ]
        more += b',"tool_calls":%b' % dump_json(calls)
    return b'{"index":%d,"finish_reason":%b,"message":{"role":"assistant","content":%b%b}%b}' % (
        index,
        quote(choice.finish_reason),
        dump_json("" if codec.audio else _content(choice, said, habits)),
        more,
        b"" if choice.logprobs is None else b',"logprobs":%b' % dump_logprobs(choice),
    )


def _render_serverless(plan: Plan, codec: ChatCodec) -> bytes:
    habits = codec.habits
    return b'{"choices":[%b],"created":%d,"id":"%b","model":%b,"object":"chat.completion","usage":%b}' % (
        b",".join([_shape_serverless(choice, plan, index, codec) for index, choice in enumerate(plan.choices)]),
        int(plan.created),
        draw_answer_id(plan, openai=False).encode(),
        quote(habits.model),
        dump_sorted_usage(plan),
    )


def _shape_serverless(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    said = collect_message(choice)
    habits = codec.habits
    calls: list[Object] = [
        {
            "function": {"arguments": call.arguments, "call_id": None, "name": call.name},
            "id": call.id,
            "type": "function",
        }
        for call in identify_calls(said.calls, plan, index, habits)
    ]
    return b'{"finish_reason":%b,"index":%d,%b"message":{"content":%b%b,"role":"assistant","tool_calls":%b}}' % (
        quote(choice.finish_reason),
        index,
        b"" if choice.logprobs is None else b'"logprobs":%b,' % dump_logprobs(choice),
        dump_json("" if codec.audio else _content(choice, said, habits)),
        _dump_thoughts(said, habits) + _dump_sound(choice, plan, index, codec),
        dump_json(calls) if calls else b"null",
    )


def _render_openai(plan: Plan, codec: ChatCodec) -> bytes:
    habits = codec.habits
    choices = [_shape_openai(choice, plan, index, codec) for index, choice in enumerate(plan.choices)]
    return (
        b'{"choices":[%b],"created":%d,"id":"%b","model":%b,"object":"chat.completion",%b'
        b'"system_fingerprint":"%b","usage":%b}'
    ) % (
        b",".join(choices),
        int(plan.created),
        draw_answer_id(plan, openai=True).encode(),
        quote(habits.model),
        PROMPT_RESULTS if habits.filtered else b"",
        habits.fingerprint.encode(),
        dump_detailed_usage(plan),
    )


def _shape_openai(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    said = collect_message(choice)
    habits = codec.habits
    calls = _dump_calls(said, plan, index, codec)
    text = _content(choice, said, habits)
    silent = codec.audio or (not text and (calls or said.refusal))
    return (
        b'{%b"finish_reason":%b,"index":%d,"logprobs":%b,"message":{"content":%b%b,"refusal":%b,"role":"assistant"%b}}'
    ) % (
        b'"content_filter_results":%b,' % dump_json(shape_harms(choice)) if habits.filtered else b"",
        quote(finish_reason(choice, habits, named_tool=codec.named_tool, functions=codec.functions)),
        index,
        dump_logprobs(choice),
        b"null" if silent else dump_json(text),
        _dump_thoughts(said, habits),
        dump_json(said.refusal) if said.refusal else b"null",
        _dump_sound(choice, plan, index, codec) + calls,
    )


def _dump_sound(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    """The member ``audio`` of a message that is to be heard, with a comma before it."""
    if codec.audio is None:
        return b""
    return b',"audio":%b' % dump_json(shape_sound(plan, choice, index, codec.audio))


def _dump_calls(said: MessageContent, plan: Plan, index: int, codec: ChatCodec) -> bytes:
    """The calls of an OpenAI model as members of a message, with a comma before them."""
    functions: list[Object] = [{"arguments": call.arguments, "name": call.name} for call in said.calls]
    if not functions:
        return b""
    if codec.functions:
        return b',"function_call":%b' % dump_json(functions[0])
    named = zip(functions, identify_calls(said.calls, plan, index, codec.habits), strict=True)
    calls: list[Object] = [
        {"custom": {"input": call.arguments, "name": call.name}, "id": call.id, "type": "custom"}
        if call.name in codec.customs
        else {"function": function, "id": call.id, "type": "function"}
        for function, call in named
    ]
    return b',"tool_calls":%b' % dump_json(calls)


def _content(choice: Choice, said: MessageContent, habits: DeploymentProfile) -> str:
    """The content of a message; a filtered one has none."""
    if choice.finish_reason == "content_filter":
        return ""
    text = said.text if habits.openai else said.text + said.refusal
    return f"{THINK[0]}{said.reasoning}{THINK[1]}{text}" if habits.inline and said.reasoning else text


def _dump_thoughts(said: MessageContent, habits: DeploymentProfile) -> bytes:
    """The member ``reasoning_content`` of a message, if its model has any, with a comma before it."""
    return (
        b""
        if habits.inline or habits.hidden or not said.reasoning
        else b',"reasoning_content":%b' % dump_json(said.reasoning)
    )


def _shape_blocked(plan: Plan) -> JSON:
    """A filtered answer as Foundry sends it. Source: experientiallabs/experiential issue 967."""
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
