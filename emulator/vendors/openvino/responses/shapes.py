"""Build the response object and its items, which streaming and complete responses of the Responses API share.

Source: model_server, src/llm/apis/openai_responses.cpp, serializeResponsesUnaryResponse and serializeStreamingChunk.
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array, as_object, as_text
from emulator.core.plan import Choice, Plan
from emulator.encoding import sse
from emulator.protocols.choice_events import collect_message
from emulator.vendors.openvino.chat.shapes import draw_id
from emulator.vendors.openvino.media.audio_files import Voice


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class RequestEcho:
    """Members of the request that the response repeats."""

    model: str
    tools: JSON
    tool_choice: JSON
    temperature: float | None
    top_p: float | None
    min_p: float | None
    max_output_tokens: int | None


def build_response(plan: Plan, echo: RequestEcho, voice: Voice | None = None) -> Object:
    """Build a finished response, ``incomplete`` if cut off; with a ``voice``, its first message has audio."""
    output = [item for index, choice in enumerate(plan.choices) for item in _build_items(plan, index, choice)]
    if voice is not None:
        _add_sound(output, voice)
    cut = any(choice.finish_reason == "length" for choice in plan.choices)
    usage: JSON = {
        "input_tokens": plan.usage.prompt_tokens,
        "output_tokens": plan.usage.completion_tokens,
        "total_tokens": plan.usage.total_tokens,
    }
    return build_envelope(plan, echo, "incomplete" if cut else "completed", output) | {"usage": usage}


def _add_sound(output: list[Object], voice: Voice) -> None:
    for item in output:
        if item["type"] == "message":
            content = as_array(item["content"])
            text = as_text(as_object(content[0])["text"])
            sound: Object = {"type": "output_audio", "data": voice.say(text).decode()}
            item["content"] = [*(content if voice.writes else []), sound]
            return


def build_envelope(plan: Plan, echo: RequestEcho, status: str, output: list[Object]) -> Object:
    """Build a response object in any status."""
    created = int(plan.created)
    response: Object = {"id": f"resp-{created}", "object": "response", "created_at": created}
    if status == "completed":
        response["completed_at"] = created
    if status == "incomplete":
        response["incomplete_details"] = {"reason": "max_tokens"}
    response |= {"error": None, "model": echo.model, "status": status}
    response |= {"parallel_tool_calls": True, "store": True}
    response |= _build_optional("temperature", echo.temperature)
    response["text"] = {"format": {"type": "text"}}
    response["tool_choice"] = echo.tool_choice
    response["tools"] = echo.tools
    response |= _build_optional("top_p", echo.top_p) | _build_optional("min_p", echo.min_p)
    response["truncation"] = "disabled"
    response["metadata"] = {}
    response |= _build_optional("max_output_tokens", echo.max_output_tokens)
    response["output"] = output
    return response


def _build_optional(name: str, value: float | None) -> Object:
    return {} if value is None else {name: value}


def _build_items(plan: Plan, index: int, choice: Choice) -> list[Object]:
    """Build reasoning, tool calls, and the message unless it is empty."""
    collected = collect_message(choice)
    items: list[Object] = []
    if collected.reasoning:
        items.append(build_thoughts(index, collected.reasoning))
    for call in collected.calls:
        items.append(build_call(draw_id(plan, call.id, index, call.number), call.name, call.arguments, "completed"))
    text = collected.text + collected.refusal
    if text:
        items.append(build_message(index, "completed", [build_text(text)]))
    return items


def build_thoughts(index: int, text: str) -> Object:
    return {"id": f"rs-{index}", "type": "reasoning", "summary": [build_summary(text)] if text else []}


def build_summary(text: str) -> Object:
    return {"type": "summary_text", "text": text}


def build_call(call_id: str, name: str, arguments: str, status: str) -> Object:
    head: Object = {"id": call_id, "type": "function_call", "status": status}
    return head | {"call_id": call_id, "name": name, "arguments": arguments}


def build_message(index: int, status: str, content: list[Object]) -> Object:
    return {"id": f"msg-{index}", "type": "message", "role": "assistant", "status": status, "content": content}


def build_text(text: str) -> Object:
    return {"type": "output_text", "text": text, "annotations": []}


def render_failed(text: str, model: str | None, created: int, number: int) -> bytes:
    """Encode the event that ends a failed stream; ``number``: its sequence number."""
    response: Object = {
        "id": f"resp-{created}",
        "object": "response",
        "created_at": created,
        "error": {"code": "server_error", "message": text},
        "model": model,
        "status": "failed",
        "output": [],
    }
    return sse.encode_event({"type": "response.failed", "sequence_number": number, "response": response}) + sse.DONE
