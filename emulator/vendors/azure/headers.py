"""Headers of answers, in the order and case of each service.

Source: Azure/azure-sdk-assets, recorded traffic of the Python, .NET and JavaScript test suites.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from emulator.core.json import JSON
from emulator.core.plan import Plan, Usage
from emulator.core.quota import Balance
from emulator.core.seed import derive, draw_hex, draw_uuid
from emulator.core.vendor import Call
from emulator.core.wire import Headers, WireRequest
from emulator.vendors.azure.catalogue import model_name
from emulator.vendors.azure.request import AzureService

JSON_TYPE = ("Content-Type", "application/json")
STREAM_TYPE = ("Content-Type", "text/event-stream; charset=utf-8")
REGION = "East US"
_QUOTA_NAMES = {"requests": "requests", "tokens": "tokens", "input_tokens": "tokens", "output_tokens": "tokens"}


def echo_request_id(request: WireRequest) -> Headers:
    """The client's own request id, given back."""
    given = request.headers.get("x-ms-client-request-id")
    return (("x-ms-client-request-id", given),) if given else ()


def answer_headers(plan: Plan, call: Call, service: AzureService, *, stream: bool = False) -> Headers:
    """Headers of a successful answer."""
    request = call.request
    kind = STREAM_TYPE if stream else JSON_TYPE
    profile = service.settings.profile
    if profile == "seed":
        return (kind, *quota_headers(plan.quota), *echo_request_id(request))
    if profile in ("foundry", "aoai"):
        unbuffered = (("x-accel-buffering", "no"),) if stream else ()
        own = (*quota_headers(plan.quota), *gateway_headers(request), *unbuffered)
        return (kind, *own, *echo_request_id(request))
    return (kind, *_serverless_headers(plan, call, stream), *echo_request_id(request))


def quota_headers(balances: Sequence[Balance]) -> Headers:
    """What is left of the tightest quota of each unit, as Foundry and Azure OpenAI count."""
    headers: dict[str, str] = {}
    for balance in sorted(balances, key=lambda balance: balance.left, reverse=True):
        headers |= _count_quota(balance.quota.unit, balance.quota.amount, balance.left)
    return tuple(sorted(headers.items()))


def refused_headers(details: Mapping[str, JSON]) -> Headers:
    """The same of the quota that refused a call."""
    if "used" not in details:
        return ()
    return tuple(_count_quota(details["unit"], details["amount"], details["amount"] - details["used"]).items())


def _count_quota(unit: str, amount: int, left: int) -> Mapping[str, str]:
    name = _QUOTA_NAMES.get(unit)
    if name is None:
        return {}
    return {f"x-ratelimit-limit-{name}": str(amount), f"x-ratelimit-remaining-{name}": str(left)}


def gateway_headers(request: WireRequest) -> Headers:
    """What Azure's API gateway adds to every answer of a Foundry or OpenAI resource."""
    return (
        ("apim-request-id", draw_uuid(request.key, "apim")),
        ("x-ms-region", REGION),
        ("Strict-Transport-Security", "max-age=31536000; includeSubDomains; preload"),
        ("X-Content-Type-Options", "nosniff"),
    )


def _serverless_headers(plan: Plan, call: Call, stream: bool) -> Headers:
    head, tail = _name_deployment(model_name(call.deployment))
    identity = ("X-Request-ID", draw_uuid(plan.key, "request"))
    counts = () if stream else _count_headers(plan.usage)
    return (*head, *counts, tail, identity, ("x-ms-rai-invoked", "true"))


@lru_cache(maxsize=64)
def _name_deployment(name: str) -> tuple[Headers, tuple[str, str]]:
    identity = derive("deployment", name)
    session = f"dep-{draw_hex(identity, digits=8)}"
    head = (("azureml-model-group", name), ("azureml-model-session", session))
    return head, ("Request-Context", f"appId=cid-v1:{draw_uuid(identity, 'app')}")


def _count_headers(usage: Usage) -> Headers:
    return (
        ("prompt_token_len", str(usage.prompt_tokens)),
        ("sampling_token_len", str(usage.completion_tokens)),
    )
