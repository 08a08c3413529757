"""Build the parts that complete and streamed chat responses share: ids, tool calls, filter results, usage."""

from collections.abc import Sequence

from emulator.core.json import JSON, Object
from emulator.core.plan import Choice, Logprob, Plan
from emulator.core.rng import draw_alphanumeric, prepare_key
from emulator.encoding.sse import encode_event
from emulator.protocols.choice_events import MessageToolCall, list_logprobs
from emulator.protocols.openai.messages import build_logprob
from emulator.vendors.azure.profile import DeploymentProfile

_derive_id = prepare_key(..., "chat")
_SAFE: JSON = {"filtered": False, "severity": "safe"}
NOT_DETECTED: JSON = {"filtered": False, "detected": False}
HARMS: Object = {"hate": _SAFE, "self_harm": _SAFE, "sexual": _SAFE, "violence": _SAFE}
PROMPT_HARMS: JSON = {"hate": _SAFE, "jailbreak": NOT_DETECTED, "self_harm": _SAFE, "sexual": _SAFE, "violence": _SAFE}
_MATERIAL: Object = {"protected_material_code": NOT_DETECTED, "protected_material_text": NOT_DETECTED}
ANSWER_HARMS: Object = {**HARMS, **_MATERIAL}
FOUND_HARMS: Object = {**ANSWER_HARMS, "violence": {"filtered": True, "severity": "medium"}}
"""Results for an answer that the content filter ended; which harm it reports is unverified, as for prompts."""
PROMPT_SEEN = encode_event(
    {
        "choices": [],
        "created": 0,
        "id": "",
        "model": "",
        "object": "",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": PROMPT_HARMS}],
    }
)
"""First event of a stream."""
THINK = ("<think>\n", "\n</think>\n\n")


def build_prompt_results(count: int) -> JSON:
    """Return the content filter's results for ``count`` prompts."""
    return [{"prompt_index": index, "content_filter_results": PROMPT_HARMS} for index in range(count)]


def build_harms(choice: Choice) -> Object:
    """Return the content filter's results for an answer."""
    return FOUND_HARMS if choice.finish_reason == "content_filter" else ANSWER_HARMS


def draw_answer_id(plan: Plan, *, openai: bool) -> str:
    return f"chatcmpl-{draw_alphanumeric(plan.key, 29, 'chat')}" if openai else _derive_id(plan.key).hex()


def finish_reason(choice: Choice, profile: DeploymentProfile, *, named_tool: bool, functions: bool = False) -> str:
    """Return the finish reason; ``stop`` for a forced tool. Source: Azure/azure-sdk-assets, recorded answers."""
    if choice.finish_reason != "tool_calls" or not profile.openai:
        return choice.finish_reason
    if named_tool:
        return "stop"
    return "function_call" if functions else "tool_calls"


def list_values(plan: Plan, profile: DeploymentProfile, text: bytes = b"") -> tuple[int | bytes, ...]:
    """Return the values for the template of plain text responses of a deployment, in the order of its slots."""
    usage = plan.usage
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    return (
        draw_answer_id(plan, openai=profile.openai).encode(),
        int(plan.created),
        plan.choices[0].finish_reason.encode(),
        prompt,
        completion,
        prompt + completion,
        usage.reasoning_tokens,
        usage.cached_tokens,
        text,
    )


def identify_calls(
    calls: Sequence[MessageToolCall], plan: Plan, index: int, profile: DeploymentProfile
) -> list[MessageToolCall]:
    """Return the tool calls of a choice with their ids."""
    return [
        MessageToolCall(
            call.number, call.name, call.id or draw_call_id(plan, index, call.number, profile), call.arguments
        )
        for call in calls
    ]


def draw_call_id(plan: Plan, index: int, number: int, profile: DeploymentProfile) -> str:
    """Return a call id: nine characters for Mistral, ``call_`` and 24 for all others."""
    if profile.mistral:
        return draw_alphanumeric(plan.key, 9, "call", index, number)
    return f"call_{draw_alphanumeric(plan.key, 24, 'call', index, number)}"


def build_logprobs(entries: Sequence[Logprob]) -> JSON:
    return {"content": [build_logprob(entry) for entry in entries], "refusal": None}


def collect_logprobs(choice: Choice) -> JSON:
    """Return ``logprobs`` of the visible tokens; ``None`` where the request has none."""
    return None if choice.logprobs is None else build_logprobs(list_logprobs(choice))


def count_usage(plan: Plan) -> Object:
    """Return ``usage`` in the order of the documentation."""
    usage = plan.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def build_sorted_usage(plan: Plan) -> Object:
    """Return ``usage`` of a serverless endpoint: keys in alphabetical order."""
    return dict(sorted(count_usage(plan).items()))


def build_detailed_usage(plan: Plan) -> JSON:
    """Return ``usage`` of Azure OpenAI."""
    usage = plan.usage
    return {
        "completion_tokens": usage.completion_tokens,
        "completion_tokens_details": {
            "accepted_prediction_tokens": 0,
            "audio_tokens": 0,
            "reasoning_tokens": usage.reasoning_tokens,
            "rejected_prediction_tokens": 0,
        },
        "prompt_tokens": usage.prompt_tokens,
        "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": usage.cached_tokens},
        "total_tokens": usage.total_tokens,
    }
