"""Apply the AI gateway's policy to calls: limits, guardrails, fallback models.

Sources: databricks-sdk (``AiGatewayConfig``) and public notes on the gateway.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from emulator.core.calls import Codec, InferenceCall, Parsed
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_object, dump_json, parse_json
from emulator.core.plan import Plan
from emulator.core.quota import Quota
from emulator.core.requests import ChatRequest, Deployment
from emulator.vendors.databricks.errors import endpoint_name, render_error
from emulator.vendors.databricks.management.guardrails import Guard, error_guardrail, mask, parse_guard, validate_input
from emulator.vendors.databricks.management.limits import list_presets, list_quotas
from emulator.vendors.databricks.management.lookup import Documents, find
from emulator.vendors.databricks.management.scale_to_zero import wake_endpoint
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.request import pick_served

Parse = Callable[[Request, DatabricksService], Parsed]


def apply_gateway_policy(parse: Parse) -> Parse:
    """Return a parser that applies the endpoint's gateway policy to the calls of ``parse``."""

    def parse_governed(request: Request, service: DatabricksService) -> Parsed:
        try:
            parsed = parse(request, service)
        except EmulatedError as error:
            error.details = {**_find_requested(request, service), **error.details}
            raise
        if not isinstance(parsed, InferenceCall):
            return parsed
        deployment, traits = parsed.deployment, parsed.deployment.traits
        if not request.documents and "ai_gateway" not in traits and "scale_to_zero_enabled" not in traits:
            presets = service.profiles[deployment.name].quotas
            return parsed if presets == parsed.quotas else replace(parsed, quotas=presets)
        parsed = wake_endpoint(parsed, request, service)
        settings = _load_settings(parsed.deployment, request.documents)
        presets = _list_presets(parsed.deployment, settings, service)
        if not settings:
            return replace(parsed, quotas=presets) if presets else parsed
        gateway = settings.get("ai_gateway")
        call = replace(parsed, quotas=(*presets, *list_quotas(parsed.deployment.name, settings, request.principal)))
        return _apply_gateway(call, gateway, parse, request, service) if isinstance(gateway, dict) else call

    return parse_governed


def _find_requested(request: Request, service: DatabricksService) -> Mapping[str, JSON]:
    """Return the endpoint that rejects a request, for metrics."""
    name = endpoint_name(request)
    found = find(name, request.documents, service) if name else None
    if found is None:
        return {}
    return {"deployment": name, "served": request.params.get("served") or next(iter(found.profile.entities))}


def _list_presets(
    deployment: Deployment, settings: Mapping[str, JSON], service: DatabricksService
) -> tuple[Quota, ...]:
    """Return the preset quotas of an endpoint; a route-optimized one has none."""
    if settings.get("route_optimized"):
        return ()
    profile = service.profiles.get(deployment.name)
    return list_presets(deployment, service.settings.rate_limits) if profile is None else profile.quotas


def _load_settings(deployment: Deployment, documents: Documents) -> Mapping[str, JSON]:
    """Return an endpoint's settings from the management API, else from the scenario's trait ``ai_gateway``."""
    document = documents.get(deployment.name)
    if document is not None:
        return as_object(as_object(document)["told"])
    gateway = deployment.traits.get("ai_gateway")
    return {"ai_gateway": gateway} if gateway else {}


def _apply_gateway(
    call: InferenceCall, gateway: Mapping[str, JSON], parse: Parse, request: Request, service: DatabricksService
) -> InferenceCall:
    guardrails = gateway.get("guardrails")
    if isinstance(guardrails, dict) and isinstance(call.request, ChatRequest):
        call = _apply_guardrails(call, call.request, guardrails, service)
    fallback = gateway.get("fallback_config")
    if isinstance(fallback, dict) and fallback.get("enabled") is True and "served" not in request.params:
        found = find(call.deployment.name, request.documents, service)
        assert found is not None
        served = pick_served(request, found.profile.entities)
        others = [name for name in found.profile.entities if name != served]
        call = _with_fallback(call, others, parse, request, service)
    return call


def _with_fallback(
    call: InferenceCall, others: list[str], parse: Parse, request: Request, service: DatabricksService
) -> InferenceCall:
    """Return the call with the other served entities as fallbacks, in order."""
    if not others:
        return call
    name, *remaining = others

    def fall_back() -> InferenceCall:
        other = parse(replace(request, params={**request.params, "served": name}), service)
        assert isinstance(other, InferenceCall)
        replaced = replace(
            call,
            deployment=other.deployment,
            request=other.request,
            codec=other.codec,
            served=other.served,
            options=other.options,
        )
        return (
            _with_fallback(replaced, remaining, parse, request, service)
            if remaining
            else replace(replaced, fallback=None)
        )

    return replace(call, fallback=fall_back)


def _apply_guardrails(
    call: InferenceCall, chat_request: ChatRequest, guardrails: Mapping[str, JSON], service: DatabricksService
) -> InferenceCall:
    before, after = parse_guard(guardrails.get("input")), parse_guard(guardrails.get("output"))
    validate_input(before, chat_request.messages)
    if before.personal == "MASK":
        chat_request = replace(
            chat_request,
            messages=tuple(replace(message, text=mask(message.text)) for message in chat_request.messages),
            language="",
        )
    return replace(call, request=chat_request, codec=GuardedCodec(call.codec, replace(after, topics=()), service))


@fast_dataclass(frozen=True, slots=True, eq=False)
class GuardedCodec:
    """Codec that inspects and masks another codec's complete responses; streams are unchanged."""

    inner: Codec
    guard: Guard
    service: DatabricksService

    def render(self, plan: Plan, request: Request) -> Response:
        finding = self.guard.find([choice.text() for choice in plan.choices])
        if finding is not None:
            return render_error(error_guardrail("output", finding, plan.usage.prompt_tokens), request, self.service)
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
    """Return a body with personal data masked in the model's texts."""
    if isinstance(value, dict):
        return {key: _mask_strings(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mask_strings(inner, name) for inner in value]
    return mask(value) if isinstance(value, str) and name in ("content", "text") else value
