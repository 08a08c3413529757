"""Claude over the Messages API, for Anthropic's own clients.

Source: learn.microsoft.com, "Deploy and use Claude models in Microsoft Foundry" (``/anthropic/v1/messages``).
"""

from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response
from emulator.core.json import as_integer
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest
from emulator.core.vendor import InferenceCall
from emulator.protocols.anthropic.request import parse_chat_request, parse_sampling, validate_fields, validate_sampling
from emulator.protocols.anthropic.response import MessagesCodec
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.management.models import answer
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, admit
from emulator.vendors.azure.sampling import limit_tokens
from emulator.vendors.azure.url_kind import Kind

_URL_KINDS: frozenset[Kind] = frozenset({"anthropic"})


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Codec(MessagesCodec):
    profile: DeploymentProfile

    def build_headers(self, plan: Plan, request: Request, *, stream: bool = False) -> Headers:
        return answer_headers(plan, request, self.profile, stream=stream)


def parse_messages(request: Request, service: AzureService) -> InferenceCall:
    """``POST /anthropic/v1/messages``."""
    query = _admit(request, service)
    body, deployment = query.fields, query.deployment
    validate_fields(body)
    if query.profile.traits.get("fixed_sampling"):
        validate_sampling(body)
    chat_request = _parse_chat_request(query)
    counts = service.count_prompt(chat_request, deployment)
    limit = limit_tokens(as_integer(body["max_tokens"]), None, deployment, counts[0], query.settings)
    return InferenceCall(
        deployment=deployment,
        request=replace(chat_request, sampling=parse_sampling(body, limit)),
        codec=_Codec(query.profile.model, query.profile),
        stream=body.get("stream") is True,
        prompt_tokens=counts,
        repeatable=True,
    )


def count_tokens(request: Request, service: AzureService) -> Response:
    """``POST /anthropic/v1/messages/count_tokens``."""
    query = _admit(request, service)
    validate_fields(query.fields, counts=True)
    (tokens,) = service.count_prompt(_parse_chat_request(query), query.deployment)
    return answer({"input_tokens": tokens}, request)


def _admit(request: Request, service: AzureService) -> ParsedRequest:
    query = admit(request, service, "chat", _URL_KINDS, "anthropic")
    if not isinstance(query.body, dict):
        raise refusals.not_json("not an object")
    if query.profile.traits.get("api") != "anthropic":
        raise refusals.unknown_deployment(query.deployment.name)
    return query


def _parse_chat_request(query: ParsedRequest) -> ChatRequest:
    choice = query.fields.get("tool_choice")
    is_alone = isinstance(choice, dict) and choice.get("disable_parallel_tool_use") is True
    return parse_chat_request(query.fields, parallel=not is_alone)
