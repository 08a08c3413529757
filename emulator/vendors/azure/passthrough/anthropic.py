"""Parse and answer Anthropic's Messages API on Azure, ``/anthropic/v1/messages``.

Anthropic's own clients reach Claude in Foundry by it. It is answered here as any other call, nothing is forwarded.
``protocols/anthropic/`` has the format.

Source: learn.microsoft.com, "Deploy and use Claude models in Microsoft Foundry" (``/anthropic/v1/messages``).
"""

from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response
from emulator.core.json import Object, as_integer, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest, Deployment
from emulator.protocols.anthropic.lists import build_list, build_model, error_no_model
from emulator.protocols.anthropic.request import parse_chat_request, parse_sampling, validate_fields, validate_sampling
from emulator.protocols.anthropic.response import MessagesCodec, draw_request_id, parse_options
from emulator.protocols.anthropic.rules import validate_alternatives, validate_output
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import JSON_TYPE, answer_headers, echo_request_id, gateway_headers
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, parse_request
from emulator.vendors.azure.sampling import limit_tokens
from emulator.vendors.azure.url_kind import Kind

_URL_KINDS: frozenset[Kind] = frozenset({"anthropic"})


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Codec(MessagesCodec):
    profile: DeploymentProfile

    def build_headers(self, plan: Plan, request: Request, *, stream: bool = False) -> Headers:
        name = ("request-id", draw_request_id(request))
        return *answer_headers(plan, request, self.profile, stream=stream), name


def parse_messages(request: Request, service: AzureService) -> InferenceCall:
    """``POST /anthropic/v1/messages``."""
    parsed = _parse_request(request, service)
    body, deployment = parsed.fields, parsed.deployment
    validate_fields(body)
    validate_output(as_integer(body["max_tokens"]), deployment.max_output, parsed.profile.model)
    if parsed.profile.traits.get("fixed_sampling"):
        validate_sampling(body)
    if parsed.profile.traits.get("one_sampling"):
        validate_alternatives(body)
    chat_request = _parse_chat_request(parsed)
    counts = service.count_prompt(chat_request, deployment)
    limit = limit_tokens(as_integer(body["max_tokens"]), None, deployment, parsed.settings, counts[0])
    return InferenceCall(
        deployment=deployment,
        request=replace(chat_request, sampling=parse_sampling(body, limit)),
        codec=_Codec(parse_options(body, parsed.profile.model), parsed.profile),
        stream=body.get("stream") is True,
        prompt_tokens=counts,
        repeatable=True,
    )


def count_tokens(request: Request, service: AzureService) -> Response:
    """``POST /anthropic/v1/messages/count_tokens``."""
    parsed = _parse_request(request, service)
    validate_fields(parsed.fields, counts=True)
    (tokens,) = service.count_prompt(_parse_chat_request(parsed), parsed.deployment)
    return answer_json({"input_tokens": tokens}, request, service)


def _parse_request(request: Request, service: AzureService) -> ParsedRequest:
    parsed = parse_request(request, service, "chat", _URL_KINDS, "anthropic")
    if not isinstance(parsed.body, dict):
        raise refusals.not_json("not an object")
    if parsed.profile.traits.get("api") != "anthropic":
        raise refusals.unknown_deployment(parsed.deployment.name)
    return parsed


def _parse_chat_request(parsed: ParsedRequest) -> ChatRequest:
    choice = parsed.fields.get("tool_choice")
    is_alone = isinstance(choice, dict) and choice.get("disable_parallel_tool_use") is True
    return parse_chat_request(parsed.fields, parallel=not is_alone)


def list_models(request: Request, service: AzureService) -> Response:
    """``GET /anthropic/v1/models``."""
    return answer_json(build_list(_list_claude(service), request.query), request, service)


def retrieve_model(request: Request, service: AzureService) -> Response:
    """``GET /anthropic/v1/models/{model}``."""
    name = request.params["model"]
    found = next((one for one in _list_claude(service) if one.name.casefold() == name.casefold()), None)
    if found is None:
        raise error_no_model(name)
    return answer_json(build_model(found), request, service)


def _list_claude(service: AzureService) -> list[Deployment]:
    profiles = service.profiles
    return [
        one
        for one in service.deployments.values()
        if one.state != "retired" and profiles[one.name][service.settings.profile].api == "anthropic"
    ]


def answer_json(body: Object, request: Request, service: AzureService) -> Response:
    name = ("request-id", draw_request_id(request))
    return Response(
        200,
        dump_json(body),
        (JSON_TYPE, *gateway_headers(request, service.settings.hsts), *echo_request_id(request), name),
    )
