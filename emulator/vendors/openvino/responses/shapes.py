"""Parts that answers in one piece and streams share: the frame of an answer, and its items.

Source: model_server, src/llm/apis/openai_responses.cpp, serializeResponsesUnaryResponse and serializeStreamingChunk.
"""

from __future__ import annotations

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.protocols.choice_events import collect_message
from emulator.vendors.openvino.chat.shapes import draw_id
from emulator.vendors.openvino.media.audio_files import Voice


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Echoed:
    """What an answer repeats of its request."""

    model: str
    tools: JSON
    tool_choice: JSON
    temperature: float | None
    top_p: float | None
    min_p: float | None
    max_output_tokens: int | None


def shape_answer(plan: Plan, echoed: Echoed, voice: Voice | None = None) -> Object:
    """The finished answer; one cut off says so, and one with a ``voice`` has its first message said, too."""
    output = [item for index, choice in enumerate(plan.choices) for item in _list_items(plan, index, choice)]
    if voice is not None:
        _add_sound(output, voice)
    cut = any(choice.finish_reason == "length" for choice in plan.choices)
    usage: JSON = {
        "input_tokens": plan.usage.prompt_tokens,
        "output_tokens": plan.usage.completion_tokens,
        "total_tokens": plan.usage.total_tokens,
    }
    return frame_answer(plan, echoed, "incomplete" if cut else "completed", output) | {"usage": usage}


def _add_sound(output: list[Object], voice: Voice) -> None:
    for item in output:
        if item["type"] == "message":
            content = as_array(item["content"])
            text = as_text(as_object(content[0])["text"])
            sound: Object = {"type": "output_audio", "data": voice.say(text).decode()}
            item["content"] = [*(content if voice.writes else []), sound]
            return


def frame_answer(plan: Plan, echoed: Echoed, status: str, output: list[Object]) -> Object:
    """An answer at any stage."""
    created = int(plan.created)
    answer: Object = {"id": f"resp-{created}", "object": "response", "created_at": created}
    if status == "completed":
        answer["completed_at"] = created
    if status == "incomplete":
        answer["incomplete_details"] = {"reason": "max_tokens"}
    answer |= {"error": None, "model": echoed.model, "status": status}
    answer |= {"parallel_tool_calls": True, "store": True}
    answer |= _given("temperature", echoed.temperature)
    answer["text"] = {"format": {"type": "text"}}
    answer["tool_choice"] = echoed.tool_choice
    answer["tools"] = echoed.tools
    answer |= _given("top_p", echoed.top_p) | _given("min_p", echoed.min_p)
    answer["truncation"] = "disabled"
    answer["metadata"] = {}
    answer |= _given("max_output_tokens", echoed.max_output_tokens)
    answer["output"] = output
    return answer


def _given(name: str, value: float | None) -> Object:
    return {} if value is None else {name: value}


def _list_items(plan: Plan, index: int, choice: Choice) -> list[Object]:
    """Thoughts, calls, and the message unless it is empty."""
    said = collect_message(choice)
    items: list[Object] = []
    if said.reasoning:
        items.append(shape_thoughts(index, said.reasoning))
    for call in said.calls:
        items.append(shape_call(draw_id(plan, call.id, index, call.number), call.name, call.arguments, "completed"))
    text = said.text + said.refusal
    if text:
        items.append(shape_message(index, "completed", [shape_text(text)]))
    return items


def shape_thoughts(index: int, text: str) -> Object:
    return {"id": f"rs-{index}", "type": "reasoning", "summary": [shape_summary(text)] if text else []}


def shape_summary(text: str) -> Object:
    return {"type": "summary_text", "text": text}


def shape_call(identity: str, name: str, arguments: str, status: str) -> Object:
    head: Object = {"id": identity, "type": "function_call", "status": status}
    return head | {"call_id": identity, "name": name, "arguments": arguments}


def shape_message(index: int, status: str, content: list[Object]) -> Object:
    return {"id": f"msg-{index}", "type": "message", "role": "assistant", "status": status, "content": content}


def shape_text(text: str) -> Object:
    return {"type": "output_text", "text": text, "annotations": []}


def render_failed(text: str, model: str | None, created: int) -> bytes:
    """The event that ends a stream whose generation failed; its number, which nobody knows here, is 0: unverified."""
    response: Object = {
        "id": f"resp-{created}",
        "object": "response",
        "created_at": created,
        "error": {"code": "server_error", "message": text},
        "model": model,
        "status": "failed",
        "output": [],
    }
    return sse.frame({"type": "response.failed", "sequence_number": 0, "response": response}) + sse.DONE
