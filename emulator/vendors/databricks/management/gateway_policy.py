"""What the AI gateway makes of a call on its way to an endpoint: limits, guardrails, another model if one fails.

Sources: databricks-sdk (``AiGatewayConfig``) and public notes on the gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_object, dump_json, parse_json
from emulator.core.plan import Plan
from emulator.core.quota import Quota
from emulator.core.requests import ChatRequest, Deployment
from emulator.core.vendor import Codec, InferenceCall, Parsed
from emulator.vendors.databricks.errors import endpoint_name, render_error
from emulator.vendors.databricks.management.guardrails import Guard, check_input, guardrail_refusal, mask, read_guard
from emulator.vendors.databricks.management.limits import list_presets, list_quotas
from emulator.vendors.databricks.management.lookup import Documents, find
from emulator.vendors.databricks.management.scale_to_zero import wake_endpoint
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import pick_served

Parse = Callable[[Request, DatabricksService], Parsed]


def apply_gateway_policy(parse: Parse) -> Parse:
    """Reads requests as ``parse`` does, and holds the calls to what was said of their endpoints."""

    def parse_governed(request: Request, service: DatabricksService) -> Parsed:
        try:
            parsed = parse(request, service)
        except EmulatedError as error:
            error.details = {**_name_asked(request, service), **error.details}
            raise
        if not isinstance(parsed, InferenceCall):
            return parsed
        parsed = wake_endpoint(parsed, request, service)
        told = _told_of(parsed.deployment, request.documents)
        presets = _list_presets(parsed.deployment, told, service)
        if not told:
            return replace(parsed, quotas=presets) if presets else parsed
        gateway = told.get("ai_gateway")
        call = replace(parsed, quotas=(*presets, *list_quotas(parsed.deployment.name, told, request.principal)))
        return _pass_gateway(call, gateway, parse, request, service) if isinstance(gateway, dict) else call

    return parse_governed


def _name_asked(request: Request, service: DatabricksService) -> Mapping[str, JSON]:
    """The endpoint that refuses, for those who count."""
    name = endpoint_name(request)
    found = find(name, request.documents, service) if name else None
    if found is None:
        return {}
    return {"deployment": name, "served": request.params.get("served") or next(iter(found.habits.entities))}


def _list_presets(deployment: Deployment, told: Mapping[str, JSON], service: DatabricksService) -> tuple[Quota, ...]:
    """What a workspace limits by itself; a route-optimized endpoint answers more than anyone asks here."""
    if told.get("route_optimized"):
        return ()
    habits = service.profiles.get(deployment.name)
    return list_presets(deployment, service.settings.rate_limits) if habits is None else habits.quotas


def _told_of(deployment: Deployment, documents: Documents) -> Mapping[str, JSON]:
    """What the management API was told of an endpoint, else what the scenario says: its trait ``ai_gateway``."""
    document = documents.get(deployment.name)
    if document is not None:
        return as_object(as_object(document)["told"])
    gateway = deployment.traits.get("ai_gateway")
    return {"ai_gateway": gateway} if gateway else {}


def _pass_gateway(
    call: InferenceCall, gateway: Mapping[str, JSON], parse: Parse, request: Request, service: DatabricksService
) -> InferenceCall:
    guardrails = gateway.get("guardrails")
    if isinstance(guardrails, dict) and isinstance(call.request, ChatRequest):
        call = _guard(call, call.request, guardrails, service)
    fallback = gateway.get("fallback_config")
    if isinstance(fallback, dict) and fallback.get("enabled") is True and "served" not in request.params:
        found = find(call.deployment.name, request.documents, service)
        assert found is not None
        served = pick_served(request, found.habits.entities)
        others = [name for name in found.habits.entities if name != served]
        call = _with_fallback(call, others, parse, request, service)
    return call


def _with_fallback(
    call: InferenceCall, others: list[str], parse: Parse, request: Request, service: DatabricksService
) -> InferenceCall:
    """The call, with the other served entities in turn to take its place."""
    if not others:
        return call
    name, *rest = others

    def fall_back() -> InferenceCall:
        other = parse(replace(request, params={**request.params, "served": name}), service)
        assert isinstance(other, InferenceCall)
        kept = replace(call, deployment=other.deployment, request=other.request, codec=other.codec, served=other.served)
        return _with_fallback(kept, rest, parse, request, service) if rest else replace(kept, fallback=None)

    return replace(call, fallback=fall_back)


def _guard(
    call: InferenceCall, ask: ChatRequest, guardrails: Mapping[str, JSON], service: DatabricksService
) -> InferenceCall:
    before, after = read_guard(guardrails.get("input")), read_guard(guardrails.get("output"))
    check_input(before, ask.messages)
    if before.personal == "MASK":
        ask = replace(ask, messages=tuple(replace(message, text=mask(message.text)) for message in ask.messages))
    return replace(call, request=ask, codec=GuardedCodec(call.codec, replace(after, topics=()), service))


@fast_dataclass(frozen=True, slots=True, eq=False)
class GuardedCodec:
    """Words an answer as another codec does, after a look at what it says; streams go out as they are."""

    inner: Codec
    guard: Guard
    service: DatabricksService

    def render(self, plan: Plan, request: Request) -> Response:
        finding = self.guard.find([choice.text() for choice in plan.choices])
        if finding is not None:
            return render_error(guardrail_refusal("output", finding, plan.usage.prompt_tokens), request, self.service)
        answer = self.inner.render(plan, request)
        if self.guard.personal != "MASK" or answer.status != 200:
            return answer
        body = as_object(parse_json(answer.body))
        masked = as_object(_mask_strings(body))
        if masked == body:
            return answer
        finding = {"flagged": False, "categories": None, "category_scores": None, "pii_detection": True}
        shape: Object = {**masked, "output_guardrail": [finding]}
        return replace(answer, body=dump_json(shape))

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return self.inner.stream(plan, request)


def _mask_strings(value: JSON, name: str = "") -> JSON:
    """A body with placeholders in what the model says."""
    if isinstance(value, dict):
        return {key: _mask_strings(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mask_strings(inner, name) for inner in value]
    return mask(value) if isinstance(value, str) and name in ("content", "text") else value
