"""Claude endpoints over the Messages API, for Anthropic's own clients.

Source: docs.databricks.com, "Query with the Anthropic Messages API"; that refusals take Anthropic's form is
unverified.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest, Sampling
from emulator.core.vendor import InferenceCall
from emulator.protocols.anthropic.request import (
    parse_effort,
    parse_messages_body,
    parse_schema,
    parse_stops,
    parse_tool_choice,
    parse_tools,
    validate_fields,
    validate_sampling,
)
from emulator.protocols.anthropic.response import build_message, stream_message
from emulator.vendors.databricks.chat.shapes import count_cached
from emulator.vendors.databricks.gateway_routes import find_native
from emulator.vendors.databricks.headers import answer_headers, answer_json
from emulator.vendors.databricks.profile import DatabricksService, RenderOptions
from emulator.vendors.databricks.request import ParsedRequest
from emulator.vendors.databricks.sampling import count, error_length, limit_output, validate_output_limit
from emulator.vendors.databricks.settings import DatabricksSettings


@fast_dataclass(frozen=True, slots=True, eq=False)
class MessagesCodec:
    """Codec of messages; ``marked``: the request marks content for the cache."""

    settings: DatabricksSettings
    style: RenderOptions
    served: str
    marked: bool

    def render(self, plan: Plan, request: Request) -> Response:
        body = build_message(self._count(plan, request), self.style.model)
        return Response(200, dump_json(body), answer_headers(request, self.settings, self.served))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        events = stream_message(self._count(plan, request), self.style.model)
        return StreamingResponse(events, answer_headers(request, self.settings, self.served, stream=True))

    def _count(self, plan: Plan, request: Request) -> Plan:
        return count_cached(plan, self.style, request.attempt, marked=self.marked)


def parse_messages(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST …/anthropic/v1/messages``.

    Raises:
        EmulatedError: the endpoint rejects the request.
    """
    query = find_native(request, service, "claude")
    body = query.body
    validate_fields(body)
    max_tokens = query.get_integer("max_tokens")
    validate_output_limit(query, "max_tokens", max_tokens)
    if query.traits.get("fixed_sampling"):
        validate_sampling(body)
    chat_request = _build_request(query)
    counts = count(query, chat_request)
    context = query.deployment.context
    if context is not None and counts[0] > context:
        raise error_length(query, counts[0])
    return InferenceCall(
        deployment=query.deployment,
        request=_with_sampling(query, chat_request, limit_output(query, max_tokens, counts[0])),
        codec=MessagesCodec(query.settings, query.profile.style, query.served, b'"cache_control"' in request.body),
        stream=query.get("stream") is True,
        prompt_tokens=counts,
        repeatable=query.repeatable,
        served=query.served,
    )


def count_tokens(request: Request, service: DatabricksService) -> Response:
    """``POST …/anthropic/v1/messages/count_tokens``."""
    query = find_native(request, service, "claude")
    validate_fields(query.body, counts=True)
    (tokens,) = count(query, _build_request(query))
    return answer_json({"input_tokens": tokens}, request, service.settings)


def _build_request(query: ParsedRequest) -> ChatRequest:
    body = query.body
    tools = parse_tools(body)
    choice, name = parse_tool_choice(body, tools)
    schema = parse_schema(body)
    given = query.get_object("tool_choice")
    return ChatRequest(
        messages=parse_messages_body(body),
        tools=tools,
        tool_choice=choice,
        tool_name=name,
        parallel=query.settings.parallel_tool_calls and not given.get("disable_parallel_tool_use"),
        format="text" if schema is None else "json_schema",
        schema=schema,
        reasoning=parse_effort(body),
    )


def _with_sampling(query: ParsedRequest, chat_request: ChatRequest, limit: int | None) -> ChatRequest:
    body = query.body
    knobs: tuple[tuple[str, JSON], ...] = tuple(
        (name, body[name]) for name in ("temperature", "top_p", "top_k") if body.get(name) is not None
    )
    greedy = body.get("temperature") == 0 or body.get("top_k") == 1
    sampling = Sampling(max_tokens=limit, greedy=greedy, knobs=knobs, stop=parse_stops(body))
    return replace(chat_request, sampling=sampling)
