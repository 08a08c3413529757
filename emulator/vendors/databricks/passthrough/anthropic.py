"""Parse and answer Anthropic's Messages API on Databricks, ``…/anthropic/v1/messages``.

With it Anthropic's own clients reach the Claude endpoints. ``protocols/anthropic/`` has the format.

Source: docs.databricks.com, "Query with the Anthropic Messages API"; that refusals take Anthropic's form is unverified.
"""

from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response
from emulator.core.json import Object
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest, Deployment
from emulator.protocols.anthropic.lists import build_list, build_model, error_no_model
from emulator.protocols.anthropic.request import parse_chat_request, parse_sampling, validate_fields, validate_sampling
from emulator.protocols.anthropic.response import MessagesCodec, parse_options
from emulator.protocols.anthropic.rules import validate_alternatives
from emulator.vendors.databricks.chat.shapes import count_cached
from emulator.vendors.databricks.gateway_routes import find_native
from emulator.vendors.databricks.headers import answer_headers, answer_json
from emulator.vendors.databricks.passthrough.errors import list_native_headers
from emulator.vendors.databricks.profile import DatabricksService, RenderOptions
from emulator.vendors.databricks.request import ParsedRequest
from emulator.vendors.databricks.sampling import count_prompts, error_length, limit_output, validate_output_limit
from emulator.vendors.databricks.settings import DatabricksSettings


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Codec(MessagesCodec):
    """Codec of messages; ``marked``: the request marks content for the cache."""

    settings: DatabricksSettings
    style: RenderOptions
    served: str
    marked: bool

    def build_headers(self, plan: Plan, request: Request, *, stream: bool = False) -> Headers:
        return *answer_headers(request, self.settings, self.served, stream=stream), *list_native_headers(request)

    def count_cached(self, plan: Plan, request: Request) -> Plan:
        return count_cached(plan, self.style, request.attempt, marked=self.marked)


def parse_messages(request: Request, service: DatabricksService) -> InferenceCall:
    """``POST …/anthropic/v1/messages``."""
    parsed = find_native(request, service, "claude")
    body, style = parsed.body, parsed.profile.style
    validate_fields(body)
    max_tokens = parsed.get_integer("max_tokens")
    validate_output_limit(parsed, "max_tokens", max_tokens)
    if parsed.traits.get("fixed_sampling"):
        validate_sampling(body)
    if parsed.traits.get("one_sampling"):
        validate_alternatives(body)
    chat_request = _parse_chat_request(parsed)
    counts = count_prompts(parsed, chat_request)
    context = parsed.deployment.context
    if context is not None and counts[0] > context:
        raise error_length(parsed.profile, counts[0])
    limit = limit_output(parsed.profile, max_tokens, counts[0])
    return InferenceCall(
        deployment=parsed.deployment,
        request=replace(chat_request, sampling=parse_sampling(body, limit)),
        codec=_Codec(
            parse_options(body, style.model), parsed.settings, style, parsed.served, b'"cache_control"' in request.body
        ),
        stream=parsed.get("stream") is True,
        prompt_tokens=counts,
        repeatable=parsed.repeatable,
        served=parsed.served,
    )


def count_tokens(request: Request, service: DatabricksService) -> Response:
    """``POST …/anthropic/v1/messages/count_tokens``."""
    parsed = find_native(request, service, "claude")
    validate_fields(parsed.body, counts=True)
    (tokens,) = count_prompts(parsed, _parse_chat_request(parsed))
    return _answer({"input_tokens": tokens}, request, service)


def _parse_chat_request(parsed: ParsedRequest) -> ChatRequest:
    choice = parsed.get_object("tool_choice")
    is_parallel = parsed.settings.parallel_tool_calls and not choice.get("disable_parallel_tool_use")
    return parse_chat_request(parsed.body, parallel=is_parallel)


def list_models(request: Request, service: DatabricksService) -> Response:
    """``GET …/anthropic/v1/models``; that the service has it is unverified."""
    return _answer(build_list(_list_claude(service), request.query), request, service)


def retrieve_model(request: Request, service: DatabricksService) -> Response:
    """``GET …/anthropic/v1/models/{name}``."""
    name = request.params["name"]
    found = next((one for one in _list_claude(service) if one.name == name), None)
    if found is None:
        raise error_no_model(name)
    return _answer(build_model(found), request, service)


def _list_claude(service: DatabricksService) -> list[Deployment]:
    return [one for one in service.deployments.values() if service.profiles[one.name].family == "claude"]


def _answer(body: Object, request: Request, service: DatabricksService) -> Response:
    found = answer_json(body, request, service.settings)
    return replace(found, headers=(*found.headers, *list_native_headers(request)))
