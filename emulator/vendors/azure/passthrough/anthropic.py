"""Claude over the Messages API, for Anthropic's own clients.

Source: learn.microsoft.com, "Deploy and use Claude models in Microsoft Foundry" (``/anthropic/v1/messages``).
"""

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
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.management.models import answer
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, admit
from emulator.vendors.azure.sampling import limit_tokens
from emulator.vendors.azure.url_kind import Kind

_URL_KINDS: frozenset[Kind] = frozenset({"anthropic"})


@fast_dataclass(frozen=True, slots=True)
class MessagesCodec:
    """Codec of messages."""

    profile: DeploymentProfile

    def render(self, plan: Plan, request: Request) -> Response:
        body = dump_json(build_message(plan, self.profile.model))
        return Response(200, body, answer_headers(plan, request, self.profile))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = answer_headers(plan, request, self.profile, stream=True)
        return StreamingResponse(stream_message(plan, self.profile.model), headers)


def parse_messages(request: Request, service: AzureService) -> InferenceCall:
    """``POST /anthropic/v1/messages``."""
    query = _admit(request, service)
    body = query.fields
    validate_fields(body)
    if query.profile.traits.get("fixed_sampling"):
        validate_sampling(body)
    chat_request = _build_request(query)
    counts = service.count_prompt(chat_request, query.deployment)
    wanted = body["max_tokens"]
    limit = limit_tokens(wanted if isinstance(wanted, int) else None, None, query.deployment, counts[0], query.settings)
    knobs: tuple[tuple[str, JSON], ...] = tuple(
        (name, body[name]) for name in ("temperature", "top_p", "top_k") if body.get(name) is not None
    )
    greedy = body.get("temperature") == 0 or body.get("top_k") == 1
    sampling = Sampling(max_tokens=limit, greedy=greedy, knobs=knobs, stop=parse_stops(body))
    return InferenceCall(
        deployment=query.deployment,
        request=replace(chat_request, sampling=sampling),
        codec=MessagesCodec(query.profile),
        stream=body.get("stream") is True,
        prompt_tokens=counts,
        repeatable=True,
    )


def count_tokens(request: Request, service: AzureService) -> Response:
    """``POST /anthropic/v1/messages/count_tokens``."""
    query = _admit(request, service)
    validate_fields(query.fields, counts=True)
    (tokens,) = service.count_prompt(_build_request(query), query.deployment)
    return answer({"input_tokens": tokens}, request)


def _admit(request: Request, service: AzureService) -> ParsedRequest:
    query = admit(request, service, "chat", _URL_KINDS, "anthropic")
    if not isinstance(query.body, dict):
        raise refusals.not_json("not an object")
    if query.profile.traits.get("api") != "anthropic":
        raise refusals.unknown_deployment(query.deployment.name)
    return query


def _build_request(query: ParsedRequest) -> ChatRequest:
    body = query.fields
    tools = parse_tools(body)
    choice, name = parse_tool_choice(body, tools)
    schema = parse_schema(body)
    given = body.get("tool_choice")
    alone = isinstance(given, dict) and given.get("disable_parallel_tool_use") is True
    return ChatRequest(
        messages=parse_messages_body(body),
        tools=tools,
        tool_choice=choice,
        tool_name=name,
        parallel=not alone,
        format="text" if schema is None else "json_schema",
        schema=schema,
        reasoning=parse_effort(body),
    )
