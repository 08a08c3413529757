"""JSON objects shared by streaming and non-streaming responses of the OpenAI routes.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp`` and
``mindie_llm/runtime/models/base/tool_calls_processor.py``.
"""

from collections.abc import Sequence
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.core.plan import Choice, Plan
from emulator.core.rng import draw_alphanumeric
from emulator.core.vendor import Tokenizer
from emulator.protocols.choice_events import THINK, collect_message, merge_into_text
from emulator.protocols.openai.messages import build_logprob
from emulator.protocols.tgi import report_counts
from emulator.vendors.mindie.postprocess import Stops, clean, cut_at_id
from emulator.vendors.mindie.request_ids import RequestId
from emulator.vendors.mindie.settings import BLOCK_SIZE


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIAnswer:
    """Render options of the OpenAI routes.

    Fields:
        limit: maximum tokens of a choice; a choice that reaches it reports ``length``.
        full_text: each chunk contains all text so far.
        split: reasoning goes to ``reasoning_content``; else it stays in the text, in the model's tags.
        beams: beam search: a stream has one chunk per choice, the likeliest choice first.
        prefix_cache: usage reports the cached tokens of the prompt.
    """

    id: RequestId
    model: str
    prompt_tokens: int
    limit: int
    stops: Stops
    tokenizer: Tokenizer
    full_text: bool
    split: bool = False
    beams: bool = False
    prefix_cache: bool = False

    def read(self, choice: Choice) -> Choice:
        """Return ``choice`` as the server reports it: cut at stop token ids, reasoning joined unless ``split``."""
        choice = cut_at_id(choice, self.stops)
        return choice if self.split or not has_reasoning(choice) else _join_thoughts(choice)

    def parse_all(self, plan: Plan) -> list[Choice]:
        """Return every choice in the order of the response."""
        choices = [self.read(choice) for choice in plan.choices]
        if self.beams:
            choices.sort(key=lambda choice: -sum(entry.logprob for entry in choice.logprobs or ()))
        return choices

    def find_finish_reason(self, choice: Choice) -> str:
        """Return ``finish_reason``: ``length``, ``tool_calls`` or ``stop``."""
        if choice.finish_reason == "length" or choice.count >= self.limit:
            return "length"
        return "tool_calls" if any(segment.kind == "tool_call" for segment in choice.segments) else "stop"

    def count(self, plan: Plan, choices: Sequence[Choice]) -> tuple[int, int]:
        """Return prompt tokens and completion tokens."""
        return report_counts(plan, self.prompt_tokens, sum([choice.count for choice in choices]))

    def build_usage(self, plan: Plan, choices: Sequence[Choice]) -> JSON:
        """Build ``usage`` of ``choices``; reasoning tokens are reported if there are any."""
        prompt, completion = self.count(plan, choices)
        usage: Object = {"prompt_tokens": prompt}
        if self.prefix_cache:
            usage["prompt_tokens_details"] = {"cached_tokens": plan.usage.cached_tokens}
        usage["completion_tokens"] = completion
        if any(map(has_reasoning, choices)):
            count = sum(segment.end - segment.start for segment in choices[0].segments if segment.kind == "reasoning")
            usage["completion_tokens_details"] = {"reasoning_tokens": count}
        return {**usage, "total_tokens": prompt + completion}

    def count_cached(self, plan: Plan, request: Request) -> Plan:
        """Return ``plan`` with ``cached_tokens``: if the request was seen before, all full blocks but the last token's.

        Source: MindIE-LLM, ``src/engine/model_exec_output_handler.cpp``; cache hits of other requests are not modelled.
        """
        if not self.prefix_cache or not request.attempt:
            return plan
        cached = (self.prompt_tokens - 1) // BLOCK_SIZE * BLOCK_SIZE
        return replace(plan, usage=replace(plan.usage, cached_tokens=cached))


def has_reasoning(choice: Choice) -> bool:
    return any(segment.kind == "reasoning" for segment in choice.segments)


def _join_thoughts(choice: Choice) -> Choice:
    """Join reasoning into the text, in the model's tags.

    Source: MindIE-LLM, ``runtime/tokenizer/tokenizer_wrapper.py``; white space around the tags is Qwen's.
    """
    return merge_into_text(
        choice, {"reasoning", "text"}, lambda segment: THINK if segment.kind == "reasoning" else ("", "")
    )


def pick_call_id(key: bytes, fixed: str, choice: int, number: int) -> str:
    """Return the id of a tool call: ``fixed`` by the scenario, or drawn from ``key``."""
    return fixed or "call_" + draw_alphanumeric(key, 8, "call", choice, number)


def build_logprobs(choice: Choice, start: int, end: int) -> JSON:
    """Build ``logprobs`` of the tokens from ``start`` to ``end``; ``None`` if they were not requested."""
    if choice.logprobs is None:
        return None
    return {"content": [build_logprob(entry) for entry in choice.logprobs[start:end]]}


def build_message(key: bytes, choice: Choice, index: int) -> Object:
    """Build ``message`` of a non-streaming response."""
    collected = collect_message(choice)
    message: Object = {"role": "assistant", "content": clean(collected.text + collected.refusal)}
    if has_reasoning(choice):
        message["reasoning_content"] = clean(collected.reasoning)
    message["tool_calls"] = [
        {
            "function": {"arguments": call.arguments, "name": call.name},
            "id": pick_call_id(key, call.id, index, call.number),
            "type": "function",
        }
        for call in collected.calls
    ]
    return message
