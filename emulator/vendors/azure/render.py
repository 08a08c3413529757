"""Answers of ``/chat/completions`` in one piece, and the codec.

Sources: Azure Machine Learning reference, Chat Completions, sample response (profile ``seed``);
Azure/azure-sdk-assets, recorded answers of serverless endpoints and of Azure OpenAI (the others).
"""

from emulator.core.call import Call
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import WireResponse, WireStream
from emulator.vendors.azure.catalogue import model_name
from emulator.vendors.azure.gate import AzureService
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.parts import (
    Shown,
    answer_id,
    count_usage,
    detail_usage,
    fingerprint,
    list_calls,
    read_finish,
    read_logprobs,
    read_text,
    read_thoughts,
    sort_usage,
)
from emulator.vendors.azure.stream import stream_chat

_SAFE: JSON = {"filtered": False, "severity": "safe"}
_UNSEEN: JSON = {"filtered": False, "detected": False}
_HARMS: JSON = {"hate": _SAFE, "self_harm": _SAFE, "sexual": _SAFE, "violence": _SAFE}
_PROMPT_RESULTS: JSON = {"hate": _SAFE, "jailbreak": _UNSEEN, "self_harm": _SAFE, "sexual": _SAFE, "violence": _SAFE}
_MATERIAL: JSON = {"protected_material_code": _UNSEEN, "protected_material_text": _UNSEEN}


class ChatCodec:
    """Words a chat answer in the form of the profile and the model."""

    def render(self, plan: Plan, call: Call, service: AzureService) -> WireResponse:
        headers = answer_headers(plan, call, service)
        shown: Shown = call.context
        if service.settings.filtered_output == "error" and _is_filtered(plan):
            return WireResponse(400, dump_json(_render_blocked(plan)), headers)
        if shown.openai:
            body = _render_openai(plan, call, shown)
        elif service.settings.profile == "seed":
            body = _render_seed(plan, call, shown)
        else:
            body = _render_serverless(plan, call, shown)
        return WireResponse(200, dump_json(body), headers)

    def stream(self, plan: Plan, call: Call, service: AzureService) -> WireStream:
        return WireStream(stream_chat(plan, call), answer_headers(plan, call, service, stream=True))


CHAT = ChatCodec()


def _is_filtered(plan: Plan) -> bool:
    return any(choice.finish_reason == "content_filter" for choice in plan.choices)


def _render_seed(plan: Plan, call: Call, shown: Shown) -> JSON:
    """Keys in the order of the documented sample; what it lacks follows."""
    choices = []
    for index, choice in enumerate(plan.choices):
        message = {"role": "assistant", "content": read_text(choice, shown), **read_thoughts(choice, shown)}
        if calls := list_calls(choice, plan, index, shown):
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in calls
            ]
        shaped = {"index": index, "finish_reason": choice.finish_reason, "message": message}
        if choice.logprobs is not None:
            shaped["logprobs"] = read_logprobs(choice)
        choices.append(shaped)
    name = model_name(call.deployment)
    return {
        "id": answer_id(plan, openai=False),
        "model": name,
        "choices": choices,
        "created": int(plan.created),
        "object": "chat.completion",
        "usage": count_usage(plan),
        "system_fingerprint": fingerprint(name),
    }


def _render_serverless(plan: Plan, call: Call, shown: Shown) -> JSON:
    choices = []
    for index, choice in enumerate(plan.choices):
        calls = [
            {"function": {"arguments": arguments, "call_id": None, "name": name}, "id": call_id, "type": "function"}
            for call_id, name, arguments in list_calls(choice, plan, index, shown)
        ]
        shaped: JSON = {"finish_reason": choice.finish_reason, "index": index}
        if choice.logprobs is not None:
            shaped["logprobs"] = read_logprobs(choice)
        shaped["message"] = {
            "content": read_text(choice, shown),
            **read_thoughts(choice, shown),
            "role": "assistant",
            "tool_calls": calls or None,
        }
        choices.append(shaped)
    return {
        "choices": choices,
        "created": int(plan.created),
        "id": answer_id(plan, openai=False),
        "model": model_name(call.deployment),
        "object": "chat.completion",
        "usage": sort_usage(plan),
    }


def _render_openai(plan: Plan, call: Call, shown: Shown) -> JSON:
    name = model_name(call.deployment)
    prompt = {"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": _PROMPT_RESULTS}]}
    return {
        "choices": [_shape_openai(choice, plan, index, shown) for index, choice in enumerate(plan.choices)],
        "created": int(plan.created),
        "id": answer_id(plan, openai=True),
        "model": name,
        "object": "chat.completion",
        **(prompt if shown.filtered else {}),
        "system_fingerprint": fingerprint(name),
        "usage": detail_usage(plan),
    }


def _shape_openai(choice: Choice, plan: Plan, index: int, shown: Shown) -> JSON:
    calls = [
        {"function": {"arguments": arguments, "name": name}, "id": call_id, "type": "function"}
        for call_id, name, arguments in list_calls(choice, plan, index, shown)
    ]
    text: str | None = read_text(choice, shown)
    refusal = choice.text("refusal") or None
    if not text and (calls or refusal):
        text = None
    message = {"content": text, **read_thoughts(choice, shown), "refusal": refusal, "role": "assistant"}
    if calls:
        message["tool_calls"] = calls
    return {
        **({"content_filter_results": {**_HARMS, **_MATERIAL}} if shown.filtered else {}),
        "finish_reason": read_finish(choice, shown),
        "index": index,
        "logprobs": read_logprobs(choice),
        "message": message,
    }


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
