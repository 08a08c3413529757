"""Codec of ``/chat/completions``: it renders whole responses; ``stream.py`` has the events of streams.

Sources: Azure Machine Learning reference, Chat Completions, sample response (profile ``seed``); Azure/azure-sdk-assets,
recorded answers of serverless endpoints and of Azure OpenAI (the others).
"""

from emulator.core.cache import scenario_lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, dump_json, dump_string
from emulator.core.plan import Choice, Plan
from emulator.encoding.template import SAMPLE, SAMPLE_TEXT, Template
from emulator.protocols.choice_events import MessageContent, collect_message, is_plain_text
from emulator.protocols.openai.messages import count_cached_blocks
from emulator.vendors.azure.chat.audio import AudioFormat, build_audio
from emulator.vendors.azure.chat.shapes import (
    THINK,
    build_detailed_usage,
    build_harms,
    build_prompt_results,
    build_sorted_usage,
    collect_logprobs,
    count_usage,
    draw_answer_id,
    finish_reason,
    identify_calls,
    list_values,
)
from emulator.vendors.azure.chat.stream import stream_chat, stream_plain
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
        context: result of the data sources; ``None`` without sources.
        padded: chunks end with ``obfuscation``, which hides the lengths of their texts.
    """

    profile: DeploymentProfile
    usage: bool
    named_tool: bool
    functions: bool = False
    customs: frozenset[str] = frozenset()
    audio: AudioFormat | None = None
    context: Object | None = None
    padded: bool = False

    def render(self, plan: Plan, request: Request) -> Response:
        profile = self.profile
        if profile.caches:
            plan = count_cached_blocks(plan, request.attempt)
        headers = answer_headers(plan, request, profile)
        if self.audio is None and self.context is None and is_plain_text(plan):
            values = list_values(plan, profile, dump_string(plan.choices[0].sequence.text))
            return Response(200, _build_template(profile).fill(values), headers)
        if profile.blocking and any(choice.finish_reason == "content_filter" for choice in plan.choices):
            return Response(400, dump_json(_build_blocked(plan)), headers)
        return Response(200, dump_json(_build_answer(plan, self)), headers)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        if self.profile.caches:
            plan = count_cached_blocks(plan, request.attempt)
        headers = answer_headers(plan, request, self.profile, stream=True)
        if self.audio is None and self.context is None and is_plain_text(plan):
            return StreamingResponse(stream_plain(plan, self.profile, self.usage, self.padded), headers)
        events = stream_chat(
            plan,
            self.profile,
            usage=self.usage,
            named_tool=self.named_tool,
            functions=self.functions,
            customs=self.customs,
            audio=self.audio,
            context=self.context,
            padded=self.padded,
        )
        return StreamingResponse(events, headers)


@scenario_lru
def _build_template(profile: DeploymentProfile) -> Template:
    """Return the byte template of a deployment's plain text responses."""
    answer = _build_answer(SAMPLE, ChatCodec(profile=profile, usage=False, named_tool=False))
    return Template(dump_json(answer), list_values(SAMPLE, profile, dump_json(SAMPLE_TEXT)))


def _build_answer(plan: Plan, codec: ChatCodec) -> Object:
    if codec.profile.openai:
        return _build_openai(plan, codec)
    return _build_seed(plan, codec) if codec.profile.dialect == "seed" else _build_serverless(plan, codec)


def _build_seed(plan: Plan, codec: ChatCodec) -> Object:
    """Build a response with keys in the order of the documented sample; further keys follow."""
    return {
        "id": draw_answer_id(plan, openai=False),
        "model": codec.profile.model,
        "choices": [_build_seed_choice(choice, plan, index, codec) for index, choice in enumerate(plan.choices)],
        "created": int(plan.created),
        "object": "chat.completion",
        "usage": count_usage(plan),
        "system_fingerprint": codec.profile.fingerprint,
    }


def _build_seed_choice(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> Object:
    content = collect_message(choice)
    profile = codec.profile
    message: Object = {
        "role": "assistant",
        "content": "" if codec.audio else _format_content(choice, content, profile),
        **_build_reasoning(content, profile),
        **_build_audio(choice, plan, index, codec),
    }
    if content.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in identify_calls(content.calls, plan, index, profile)
        ]
    logprobs: Object = {} if choice.logprobs is None else {"logprobs": collect_logprobs(choice)}
    return {"index": index, "finish_reason": choice.finish_reason, "message": message, **logprobs}


def _build_serverless(plan: Plan, codec: ChatCodec) -> Object:
    return {
        "choices": [_build_serverless_choice(choice, plan, index, codec) for index, choice in enumerate(plan.choices)],
        "created": int(plan.created),
        "id": draw_answer_id(plan, openai=False),
        "model": codec.profile.model,
        "object": "chat.completion",
        "usage": build_sorted_usage(plan),
    }


def _build_serverless_choice(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> Object:
    content = collect_message(choice)
    profile = codec.profile
    calls: list[Object] = [
        {
            "function": {"arguments": call.arguments, "call_id": None, "name": call.name},
            "id": call.id,
            "type": "function",
        }
        for call in identify_calls(content.calls, plan, index, profile)
    ]
    return {
        "finish_reason": choice.finish_reason,
        "index": index,
        **({} if choice.logprobs is None else {"logprobs": collect_logprobs(choice)}),
        "message": {
            "content": "" if codec.audio else _format_content(choice, content, profile),
            **_build_reasoning(content, profile),
            **_build_audio(choice, plan, index, codec),
            "role": "assistant",
            "tool_calls": calls or None,
        },
    }


def _build_openai(plan: Plan, codec: ChatCodec) -> Object:
    profile = codec.profile
    return {
        "choices": [_build_openai_choice(choice, plan, index, codec) for index, choice in enumerate(plan.choices)],
        "created": int(plan.created),
        "id": draw_answer_id(plan, openai=True),
        "model": profile.model,
        "object": "chat.completion",
        **({"prompt_filter_results": build_prompt_results(1)} if profile.filtered else {}),
        "system_fingerprint": profile.fingerprint,
        "usage": build_detailed_usage(plan),
    }


def _build_openai_choice(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> Object:
    content = collect_message(choice)
    profile = codec.profile
    calls = _build_calls(content, plan, index, codec)
    text = _format_content(choice, content, profile)
    silent = codec.audio or (not text and (calls or content.refusal))
    return {
        **({"content_filter_results": build_harms(choice)} if profile.filtered else {}),
        "finish_reason": finish_reason(choice, profile, named_tool=codec.named_tool, functions=codec.functions),
        "index": index,
        "logprobs": collect_logprobs(choice),
        "message": {
            "content": None if silent else text,
            **_build_reasoning(content, profile),
            "refusal": content.refusal or None,
            "role": "assistant",
            **_build_audio(choice, plan, index, codec),
            **calls,
            **({} if codec.context is None else {"context": codec.context}),
        },
    }


def _build_audio(choice: Choice, plan: Plan, index: int, codec: ChatCodec) -> Object:
    """Return the member ``audio`` of a message; none for text."""
    return {} if codec.audio is None else {"audio": build_audio(plan, choice, index, codec.audio)}


def _build_calls(content: MessageContent, plan: Plan, index: int, codec: ChatCodec) -> Object:
    """Return an OpenAI model's calls as members of a message."""
    functions: list[Object] = [{"arguments": call.arguments, "name": call.name} for call in content.calls]
    if not functions:
        return {}
    if codec.functions:
        return {"function_call": functions[0]}
    named = zip(functions, identify_calls(content.calls, plan, index, codec.profile), strict=True)
    calls: list[Object] = [
        {"custom": {"input": call.arguments, "name": call.name}, "id": call.id, "type": "custom"}
        if call.name in codec.customs
        else {"function": function, "id": call.id, "type": "function"}
        for function, call in named
    ]
    return {"tool_calls": calls}


def _format_content(choice: Choice, message: MessageContent, profile: DeploymentProfile) -> str:
    """Return the content of a message; empty if filtered."""
    if choice.finish_reason == "content_filter":
        return ""
    text = message.text if profile.openai else message.text + message.refusal
    return f"{THINK[0]}{message.reasoning}{THINK[1]}{text}" if profile.inline and message.reasoning else text


def _build_reasoning(message: MessageContent, profile: DeploymentProfile) -> Object:
    """Return the member ``reasoning_content``; none without visible reasoning."""
    hidden = profile.inline or profile.hidden or not message.reasoning
    return {} if hidden else {"reasoning_content": message.reasoning}


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
