"""What answers of the OpenAI routes hold, whole or streamed.

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
from emulator.protocols.choice_events import THINK, collect_message, put_in_text
from emulator.protocols.openai.messages import shape_logprob
from emulator.protocols.tgi import report_counts
from emulator.vendors.mindie.postprocess import Stops, clean, cut_at_id
from emulator.vendors.mindie.request_ids import RequestId
from emulator.vendors.mindie.settings import BLOCK_SIZE


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIAnswer:
    """What an answer depends on beside what is said.

    Fields:
        limit: most tokens of a choice; one that reaches it reports ``length``.
        full_text: what a token brings is all text so far.
        split: thoughts stand apart from the text; else among it, in the tags the model writes.
        beams: the answer is known only when it is whole, so a stream has it in one chunk; the likeliest comes first.
        prefix_cache: the server has one, and counts what it found there.
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
        """What is said as the server sees it."""
        choice = cut_at_id(choice, self.stops)
        return choice if self.split or not has_reasoning(choice) else _join_thoughts(choice)

    def read_all(self, plan: Plan) -> list[Choice]:
        """Every choice, in the order in which they are sent."""
        choices = [self.read(choice) for choice in plan.choices]
        if self.beams:
            choices.sort(key=lambda choice: -sum(entry.logprob for entry in choice.logprobs or ()))
        return choices

    def name_finish(self, choice: Choice) -> str:
        """``length``, ``tool_calls``, or ``stop`` for everything else."""
        if choice.finish_reason == "length" or choice.count >= self.limit:
            return "length"
        return "tool_calls" if any(span.kind == "tool_call" for span in choice.segments) else "stop"

    def count(self, plan: Plan, choices: Sequence[Choice]) -> tuple[int, int]:
        """Tokens of the prompt and of these choices."""
        return report_counts(plan, self.prompt_tokens, sum([choice.count for choice in choices]))

    def shape_usage(self, plan: Plan, choices: Sequence[Choice]) -> JSON:
        """Token counts of these choices; where the model thinks, its thoughts are counted apart."""
        prompt, completion = self.count(plan, choices)
        usage: Object = {"prompt_tokens": prompt}
        if self.prefix_cache:
            usage["prompt_tokens_details"] = {"cached_tokens": plan.usage.cached_tokens}
        usage["completion_tokens"] = completion
        if any(map(has_reasoning, choices)):
            count = sum(span.end - span.start for span in choices[0].segments if span.kind == "reasoning")
            usage["completion_tokens_details"] = {"reasoning_tokens": count}
        return {**usage, "total_tokens": prompt + completion}

    def count_cached(self, plan: Plan, request: Request) -> Plan:
        """The plan with the tokens of the prompt's blocks that an equal request brought before, but for the last.

        Source: MindIE-LLM, ``src/engine/model_exec_output_handler.cpp``; what else the cache may hold is not known.
        """
        if not self.prefix_cache or not request.attempt:
            return plan
        cached = (self.prompt_tokens - 1) // BLOCK_SIZE * BLOCK_SIZE
        return replace(plan, usage=replace(plan.usage, cached_tokens=cached))


def has_reasoning(choice: Choice) -> bool:
    return any(span.kind == "reasoning" for span in choice.segments)


def _join_thoughts(choice: Choice) -> Choice:
    """Thoughts as part of the text, in their tags.

    Source: MindIE-LLM, ``runtime/tokenizer/tokenizer_wrapper.py``; white space about the tags is Qwen's.
    """
    return put_in_text(choice, {"reasoning", "text"}, lambda span: THINK if span.kind == "reasoning" else ("", ""))


def pick_call_id(key: bytes, fixed: str, choice: int, number: int) -> str:
    """Of a tool call: as a scenario fixes it, or drawn."""
    return fixed or "call_" + draw_alphanumeric(key, 8, "call", choice, number)


def shape_logprobs(choice: Choice, start: int, end: int) -> JSON:
    """Log-probabilities of some tokens, where they are asked for."""
    if choice.logprobs is None:
        return None
    return {"content": [shape_logprob(entry) for entry in choice.logprobs[start:end]]}


def shape_message(key: bytes, choice: Choice, index: int) -> Object:
    """``message`` of an answer in one piece."""
    said = collect_message(choice)
    message: Object = {"role": "assistant", "content": clean(said.text + said.refusal)}
    if has_reasoning(choice):
        message["reasoning_content"] = clean(said.reasoning)
    message["tool_calls"] = [
        {
            "function": {"arguments": call.arguments, "name": call.name},
            "id": pick_call_id(key, call.id, index, call.number),
            "type": "function",
        }
        for call in said.calls
    ]
    return message
