"""``/v3/responses``, since 2026.2: what it takes.

Source: model_server, src/llm/apis/openai_responses.cpp.
"""

from __future__ import annotations

from emulator.core.json import JSON
from emulator.core.vendor import InferenceCall
from emulator.vendors.openvino.chat.fields import read_fields, read_limit
from emulator.vendors.openvino.chat.formats import read_response_format
from emulator.vendors.openvino.chat.parse import ask_chat, find_apart, find_voice, settle_template
from emulator.vendors.openvino.decoder import promote
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields, ParsedRequest, read_flag
from emulator.vendors.openvino.responses.input import read_input
from emulator.vendors.openvino.responses.render import ResponsesCodec
from emulator.vendors.openvino.responses.shapes import Echoed
from emulator.vendors.openvino.tools import Offer, read_tools

_WORDS = frozenset(("none", "auto", "required"))
_IGNORED = frozenset(("max_tokens", "max_completion_tokens"))


def parse_responses(accepted: ParsedRequest) -> InferenceCall:
    """A conversation to go on with.

    Raises:
        EmulatedError: the first check that fails, in the server's order.
    """
    sent = accepted.body
    accepted.body = {name: value for name, value in sent.items() if name not in _IGNORED}
    read = read_fields(accepted)
    if "stream_options" in sent:
        raise refusal("stream_options is not supported in Responses API.")
    messages = read_input(read)
    effort = _read_effort(read)
    if read_flag(read, "logprobs") and accepted.stream:
        raise refusal("logprobs are not supported in streaming mode.")
    offer = read_tools(read)
    _read_max_output_tokens(read)
    form = read_response_format(read)
    messages, thinks = settle_template(read, messages)
    ask, counted = ask_chat(read, messages, offer, form, (effort or "medium") if thinks else None)
    deployment, servable = accepted.deployment, accepted.servable
    echoed = _echo_request(read, deployment.name, offer)
    return InferenceCall(
        deployment=deployment,
        request=ask,
        codec=ResponsesCodec(accepted.settings, echoed, find_apart(read, offer), servable.markup, find_voice(read)),
        stream=accepted.stream,
        prompt_tokens=counted,
        served=accepted.method,
        repeatable=True,
    )


def _echo_request(read: Fields, model: str, offer: Offer) -> Echoed:
    """What the answer will repeat: of the tools those with parameters, by name."""
    known: dict[str, JSON] = {tool.name: tool.parameters for tool in offer.tools if tool.parameters is not None}
    tools: JSON = [{"type": "function", "name": name, "parameters": known[name]} for name in sorted(known)]
    said: JSON = offer.said if offer.said in _WORDS else {"type": "function", "name": offer.said}
    numbers = {name: promote(read.numbers[name]) for name in ("temperature", "top_p", "min_p") if name in read.numbers}
    return Echoed(
        model=model,
        tools=tools,
        tool_choice=said,
        temperature=numbers.get("temperature"),
        top_p=numbers.get("top_p"),
        min_p=numbers.get("min_p"),
        max_output_tokens=read.max_tokens,
    )


def _read_max_output_tokens(read: Fields) -> None:
    """The limit of this endpoint."""
    limit = read_limit(read, "max_output_tokens", inclusive=read.release.since(2025, 1))
    if limit is not None:
        read.max_tokens = limit
    if read.max_tokens == 0:
        raise refusal("max_output_tokens value should be greater than 0")


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
