"""Parse ``/v3/responses`` requests, since 2026.2.

Source: model_server, src/llm/apis/openai_responses.cpp.
"""

from emulator.core.calls import InferenceCall
from emulator.core.json import JSON
from emulator.vendors.openvino.chat.fields import parse_fields, parse_token_limit
from emulator.vendors.openvino.chat.formats import parse_response_format
from emulator.vendors.openvino.chat.parse import apply_chat_template, build_chat, find_separate_kinds, find_voice
from emulator.vendors.openvino.decoder import promote
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import Fields, ParsedRequest, parse_flag
from emulator.vendors.openvino.responses.input import parse_input
from emulator.vendors.openvino.responses.render import RequestEcho, ResponsesCodec
from emulator.vendors.openvino.tools import OfferedTools, parse_tools

_CHOICES = frozenset(("none", "auto", "required"))
_IGNORED = frozenset(("max_tokens", "max_completion_tokens"))


def parse_responses(parsed: ParsedRequest) -> InferenceCall:
    body = parsed.body
    parsed.body = {name: value for name, value in body.items() if name not in _IGNORED}
    fields = parse_fields(parsed)
    if "stream_options" in body:
        raise refusal("stream_options is not supported in Responses API.")
    messages = parse_input(fields)
    effort = _parse_effort(fields)
    if parse_flag(fields, "logprobs") and parsed.stream:
        raise refusal("logprobs are not supported in streaming mode.")
    offer = parse_tools(fields)
    _parse_max_output_tokens(fields)
    form = parse_response_format(fields)
    messages, thinks = apply_chat_template(fields, messages)
    chat, counted = build_chat(fields, messages, offer, form, (effort or "medium") if thinks else None)
    deployment, profile = parsed.deployment, parsed.profile
    echo = _build_echo(fields, deployment.name, offer)
    separate_kinds = find_separate_kinds(fields, offer)
    return InferenceCall(
        deployment=deployment,
        request=chat,
        codec=ResponsesCodec(parsed.settings, echo, separate_kinds, profile.markup, find_voice(fields)),
        stream=parsed.stream,
        prompt_tokens=counted,
        served=parsed.method,
        repeatable=True,
    )


def _build_echo(fields: Fields, model: str, offer: OfferedTools) -> RequestEcho:
    """Build the members that the response repeats; only tools with parameters, by name."""
    known: dict[str, JSON] = {tool.name: tool.parameters for tool in offer.tools if tool.parameters is not None}
    tools: JSON = [{"type": "function", "name": name, "parameters": known[name]} for name in sorted(known)]
    choice: JSON = offer.selected if offer.selected in _CHOICES else {"type": "function", "name": offer.selected}
    numbers = {
        name: promote(fields.numbers[name]) for name in ("temperature", "top_p", "min_p") if name in fields.numbers
    }
    return RequestEcho(
        model=model,
        tools=tools,
        tool_choice=choice,
        temperature=numbers.get("temperature"),
        top_p=numbers.get("top_p"),
        min_p=numbers.get("min_p"),
        max_output_tokens=fields.max_tokens,
    )


def _parse_max_output_tokens(fields: Fields) -> None:
    """Parse ``max_output_tokens``, the limit of this endpoint."""
    limit = parse_token_limit(fields, "max_output_tokens", inclusive=fields.release.since(2025, 1))
    if limit is not None:
        fields.max_tokens = limit
    if fields.max_tokens == 0:
        raise refusal("max_output_tokens value should be greater than 0")


def _parse_effort(fields: Fields) -> str | None:
    """Parse ``reasoning.effort``."""
    reasoning = fields.body.get("reasoning", {})
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
