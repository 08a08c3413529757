"""``/v3/responses``, since 2026.2: what it takes.

Source: model_server, src/llm/apis/openai_responses.cpp.
"""

from __future__ import annotations

from emulator.core.json import JSON
from emulator.core.vendor import Call
from emulator.vendors.openvino.decoder import is_uint32, promote
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Accepted, Fields
from emulator.vendors.openvino.responses.codec import ResponsesCodec
from emulator.vendors.openvino.responses.input import read_input
from emulator.vendors.openvino.responses.shapes import Echoed
from emulator.vendors.openvino.text.fields import read_fields, read_limit
from emulator.vendors.openvino.text.messages import check_media
from emulator.vendors.openvino.text.parse import ask_chat, thinks_aloud
from emulator.vendors.openvino.tools import read_response_format, read_tools

_IGNORED = frozenset(("max_tokens", "max_completion_tokens"))


def parse_responses(accepted: Accepted) -> Call:
    """A conversation to go on with.

    Raises:
        EmulatedError: the first check that fails, in the server's order.
    """
    _check_start(accepted)
    accepted.body = {name: value for name, value in accepted.body.items() if name not in _IGNORED}
    read = read_fields(accepted)
    messages = read_input(read)
    offer = read_tools(read)
    _read_max_output_tokens(read)
    effort = _read_effort(read)
    form = read_response_format(read)
    thinks = thinks_aloud(read)
    check_media(read, messages)
    ask, counted = ask_chat(read, messages, offer, form, (effort or "medium") if thinks else None)
    deployment = accepted.deployment
    codec = ResponsesCodec(accepted.settings, _echo_request(read, deployment.name))
    return Call(
        deployment=deployment, ask=ask, codec=codec, stream=accepted.stream, prompt_tokens=counted, repeatable=True
    )


def _check_start(accepted: Accepted) -> None:
    """What is looked at before the fields that all endpoints share: options of a stream, and its number of answers."""
    if "stream_options" in accepted.body:
        raise refusal("stream_options is not supported in Responses API.")
    count = accepted.body.get("n", 1)
    if accepted.stream and is_uint32(count) and count > 1:
        raise refusal("n greater than 1 is not supported for Responses API streaming")


def _echo_request(read: Fields, model: str) -> Echoed:
    """What the answer will repeat; without tools the choice is ``none``."""
    tools = read.body.get("tools") or []
    choice: JSON = read.body.get("tool_choice", "auto") if tools else "none"
    numbers = {name: promote(read.numbers[name]) for name in ("temperature", "top_p", "min_p") if name in read.numbers}
    return Echoed(
        model=model,
        tools=tools,
        tool_choice=choice,
        temperature=numbers.get("temperature"),
        top_p=numbers.get("top_p"),
        min_p=numbers.get("min_p"),
        max_output_tokens=read.max_tokens,
    )


def _read_max_output_tokens(read: Fields) -> None:
    """The limit of this endpoint."""
    limit = read_limit(read, "max_output_tokens", inclusive=read.release.since(2025, 1))
    if limit == 0:
        raise refusal("max_output_tokens value should be greater than 0")
    if limit is not None:
        read.max_tokens = limit


def _read_effort(read: Fields) -> str | None:
    """``reasoning.effort``."""
    reasoning = read.body.get("reasoning", {})
    if not isinstance(reasoning, dict):
        raise refusal("reasoning is not an object")
    effort = reasoning.get("effort")
    if effort is None:
        return None
    if not isinstance(effort, str):
        raise refusal("reasoning.effort is not a string")
    if effort not in ("low", "medium", "high"):
        raise refusal("reasoning.effort must be one of: low, medium, high")
    return effort
