"""Answers of ``/chat/completions`` in one piece, and the codec.

Sources: Azure Machine Learning reference, Chat Completions, sample response (profile ``seed``);
Azure/azure-sdk-assets, recorded answers of serverless endpoints and of Azure OpenAI (the others).
"""

from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import Call
from emulator.core.wire import WireResponse, WireStream
from emulator.dialects.sse import quote
from emulator.vendors.azure.catalogue import model_name
from emulator.vendors.azure.chat.shapes import (
    Shown,
    answer_id,
    dump_detailed_usage,
    dump_logprobs,
    dump_sorted_usage,
    fingerprint,
    list_calls,
    read_finish,
    read_text,
    read_thoughts,
)
from emulator.vendors.azure.chat.stream import stream_chat
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.request import AzureService

_SAFE: JSON = {"filtered": False, "severity": "safe"}
_UNSEEN: JSON = {"filtered": False, "detected": False}
_HARMS: JSON = {"hate": _SAFE, "self_harm": _SAFE, "sexual": _SAFE, "violence": _SAFE}
_PROMPT_HARMS: JSON = {"hate": _SAFE, "jailbreak": _UNSEEN, "self_harm": _SAFE, "sexual": _SAFE, "violence": _SAFE}
_MATERIAL: JSON = {"protected_material_code": _UNSEEN, "protected_material_text": _UNSEEN}
_ANSWER_RESULTS = b'"content_filter_results":%b,' % dump_json({**_HARMS, **_MATERIAL})
_PROMPT_RESULTS = b'"prompt_filter_results":%b,' % dump_json(
    [{"prompt_index": 0, "content_filter_results": _PROMPT_HARMS}]
)


class ChatCodec:
    """Words a chat answer in the form of the profile and the model."""

    def render(self, plan: Plan, call: Call, service: AzureService) -> WireResponse:
        headers = answer_headers(plan, call, service)
        shown: Shown = call.context
        if service.settings.filtered_output == "error" and _is_filtered(plan):
            return WireResponse(400, dump_json(_render_blocked(plan)), headers)
        if shown.openai:
            return WireResponse(200, _render_openai(plan, call, shown), headers)
        if service.settings.profile == "seed":
            return WireResponse(200, _render_seed(plan, call, shown), headers)
        return WireResponse(200, _render_serverless(plan, call, shown), headers)

    def stream(self, plan: Plan, call: Call, service: AzureService) -> WireStream:
        return WireStream(stream_chat(plan, call), answer_headers(plan, call, service, stream=True))


CHAT = ChatCodec()


def _is_filtered(plan: Plan) -> bool:
    return any(choice.finish_reason == "content_filter" for choice in plan.choices)


def _render_seed(plan: Plan, call: Call, shown: Shown) -> bytes:
    """Keys in the order of the documented sample; what it lacks follows."""
    name = model_name(call.deployment)
    usage = plan.usage
    return (
        b'{"id":"%b","model":%b,"choices":[%b],"created":%d,"object":"chat.completion","usage":{"prompt_tokens":%d,'
        b'"completion_tokens":%d,"total_tokens":%d},"system_fingerprint":"%b"}'
    ) % (
        answer_id(plan, openai=False).encode(),
        quote(name),
        b",".join([_shape_seed(choice, plan, index, shown) for index, choice in enumerate(plan.choices)]),
        int(plan.created),
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
        fingerprint(name).encode(),
    )


def _shape_seed(choice: Choice, plan: Plan, index: int, shown: Shown) -> bytes:
    more = read_thoughts(choice, shown)
    if calls := list_calls(choice, plan, index, shown):
        listed = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in calls
        ]
        more += b',"tool_calls":%b' % dump_json(listed)
    return b'{"index":%d,"finish_reason":%b,"message":{"role":"assistant","content":%b%b}%b}' % (
        index,
        quote(choice.finish_reason),
        dump_json(read_text(choice, shown)),
        more,
        b"" if choice.logprobs is None else b',"logprobs":%b' % dump_logprobs(choice),
    )


def _render_serverless(plan: Plan, call: Call, shown: Shown) -> bytes:
    return b'{"choices":[%b],"created":%d,"id":"%b","model":%b,"object":"chat.completion","usage":%b}' % (
        b",".join([_shape_serverless(choice, plan, index, shown) for index, choice in enumerate(plan.choices)]),
        int(plan.created),
        answer_id(plan, openai=False).encode(),
        quote(model_name(call.deployment)),
        dump_sorted_usage(plan),
    )


def _shape_serverless(choice: Choice, plan: Plan, index: int, shown: Shown) -> bytes:
    calls = [
        {"function": {"arguments": arguments, "call_id": None, "name": name}, "id": call_id, "type": "function"}
        for call_id, name, arguments in list_calls(choice, plan, index, shown)
    ]
    return b'{"finish_reason":%b,"index":%d,%b"message":{"content":%b%b,"role":"assistant","tool_calls":%b}}' % (
        quote(choice.finish_reason),
        index,
        b"" if choice.logprobs is None else b'"logprobs":%b,' % dump_logprobs(choice),
        dump_json(read_text(choice, shown)),
        read_thoughts(choice, shown),
        dump_json(calls) if calls else b"null",
    )


def _render_openai(plan: Plan, call: Call, shown: Shown) -> bytes:
    name = model_name(call.deployment)
    return (
        b'{"choices":[%b],"created":%d,"id":"%b","model":%b,"object":"chat.completion",%b'
        b'"system_fingerprint":"%b","usage":%b}'
    ) % (
        b",".join([_shape_openai(choice, plan, index, shown) for index, choice in enumerate(plan.choices)]),
        int(plan.created),
        answer_id(plan, openai=True).encode(),
        quote(name),
        _PROMPT_RESULTS if shown.filtered else b"",
        fingerprint(name).encode(),
        dump_detailed_usage(plan),
    )


def _shape_openai(choice: Choice, plan: Plan, index: int, shown: Shown) -> bytes:
    calls = [
        {"function": {"arguments": arguments, "name": name}, "id": call_id, "type": "function"}
        for call_id, name, arguments in list_calls(choice, plan, index, shown)
    ]
    text = read_text(choice, shown)
    refusal = choice.text("refusal") if len(choice.spans) != 1 or choice.spans[0].kind == "refusal" else ""
    silent = not text and (calls or refusal)
    return (
        b'{%b"finish_reason":%b,"index":%d,"logprobs":%b,"message":{"content":%b%b,"refusal":%b,"role":"assistant"%b}}'
    ) % (
        _ANSWER_RESULTS if shown.filtered else b"",
        quote(read_finish(choice, shown)),
        index,
        dump_logprobs(choice),
        b"null" if silent else dump_json(text),
        read_thoughts(choice, shown),
        dump_json(refusal) if refusal else b"null",
        b',"tool_calls":%b' % dump_json(calls) if calls else b"",
    )


def _render_blocked(plan: Plan) -> JSON:
    """A filtered answer as Foundry sends it. Source: experientiallabs/experiential issue 967."""
    label = {"code": "content_filter", "message": "Response content blocked by label 'MultiSeverity_ViolenceScore'."}
    choices = [
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
        "id": answer_id(plan, openai=True),
        "model": "",
        "choices": choices,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "created": int(plan.created),
        "object": "chat.completion",
        "prompt_filter_results": None,
    }
