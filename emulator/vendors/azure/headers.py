"""Build the response headers of each Azure service, in its order and letter case, and JSON responses of a resource.

All renderers of the vendor call it.

Source: Azure/azure-sdk-assets, recorded traffic of the Python, .NET and JavaScript test suites.
"""

from collections.abc import Mapping
from typing import get_args
from urllib.parse import urlsplit

from emulator.core.cache import lru
from emulator.core.hosts import is_loopback
from emulator.core.http import Headers, Request, Response
from emulator.core.json import JSON, as_array, as_integer, as_text, dump_json
from emulator.core.plan import Plan, Usage
from emulator.core.quota import Left, Quota, Unit
from emulator.core.rng import format_uuid, prepare_key
from emulator.vendors.azure.profile import AzureService, DeploymentProfile

JSON_TYPE = ("Content-Type", "application/json")
STREAM_TYPE = ("Content-Type", "text/event-stream; charset=utf-8")
_JSON_ONLY, _STREAM_ONLY = (JSON_TYPE,), (STREAM_TYPE,)
REGION = "East US"
_REGION, _NO_SNIFF = ("x-ms-region", REGION), ("X-Content-Type-Options", "nosniff")
_GATEWAY = (_REGION, _NO_SNIFF)
_GATEWAY_HSTS = (_REGION, ("Strict-Transport-Security", "max-age=31536000; includeSubDomains; preload"), _NO_SNIFF)
_derive_name, _derive_answer = prepare_key(..., "apim"), prepare_key(..., "request")
_QUOTA_NAMES = {"requests": "requests", "tokens": "tokens", "input_tokens": "tokens", "output_tokens": "tokens"}
_UNITS: Mapping[str, Unit] = {unit: unit for unit in get_args(Unit)}
_COUNTED = [(name, f"x-ratelimit-limit-{name}", f"x-ratelimit-remaining-{name}") for name in ("requests", "tokens")]
_Counts = Mapping[str, tuple[int, int]]  # amount and remaining by the end of a header's name
_NONE: _Counts = {}


def echo_request_id(request: Request) -> Headers:
    """Return the client's own request id if it is printable ASCII."""
    given = request.all_headers.get("x-ms-client-request-id")
    return (("x-ms-client-request-id", given),) if given and given.isascii() and given.isprintable() else ()


def answer_headers(plan: Plan, request: Request, profile: DeploymentProfile, *, stream: bool = False) -> Headers:
    """Return the headers of a successful response."""
    kind = STREAM_TYPE if stream else JSON_TYPE
    dialect = profile.dialect
    if dialect == "seed":
        echo = echo_request_id(request)
        only_type = _STREAM_ONLY if stream else _JSON_ONLY
        return (kind, *quota_headers(plan.quota), *echo) if plan.quota or echo else only_type
    if dialect in ("foundry", "aoai"):
        unbuffered = (("x-accel-buffering", "no"),) if stream else ()
        counts = quota_headers(plan.quota, _count_defaults(plan, profile))
        own = (*counts, *gateway_headers(request, profile.hsts), *unbuffered)
        return (kind, *own, *echo_request_id(request))
    return (kind, *_serverless_headers(plan, profile, stream), *echo_request_id(request))


def _count_defaults(plan: Plan, profile: DeploymentProfile) -> _Counts:
    """Return the counts of the default quotas after this call alone, as the services always report quotas."""
    if profile.quota is None:
        return {}
    requests, tokens = profile.quota
    return {"requests": (requests, requests - 1), "tokens": (tokens, tokens - plan.usage.total_tokens)}


def quota_headers(left: Left, usual: _Counts = _NONE) -> Headers:
    """Return the tightest quota of each unit, as Foundry and Azure OpenAI count."""
    counts: dict[str, tuple[int, int]] = {}
    for quota, units in left:
        name = _QUOTA_NAMES.get(quota.unit)
        if name is not None and (name not in counts or units <= counts[name][1]):
            counts[name] = quota.amount, units
    limits, rest = [], []
    for name, limit, remaining in _COUNTED:
        count = counts.get(name) or usual.get(name)
        if count is not None:
            limits.append((limit, f"{count[0]}"))
            rest.append((remaining, f"{count[1]}"))
    return (*limits, *rest)


def throttled_headers(
    details: Mapping[str, JSON], limit: str | None = None, usual: tuple[int, int] | None = None
) -> Headers:
    """Return the quota headers of a throttled request.

    Args:
        details: details of the error; without ``balances`` a rule throttled it and ``limit`` is used up.
        usual: default quotas, requests and tokens a minute.
    """
    listed: list[tuple[str, int, int]] = []
    if usual is not None:
        spent = _QUOTA_NAMES.get(limit or "requests")
        pairs = zip(("requests", "tokens"), usual, strict=True)
        listed = [(unit, amount, 0 if unit == spent else amount) for unit, amount in pairs]
    balances = [as_array(balance) for balance in as_array(details.get("balances", []))]
    found = [(as_text(unit), as_integer(amount), as_integer(remaining)) for unit, amount, remaining in balances]
    counted = {_QUOTA_NAMES.get(unit) for unit, _, _ in found}
    listed = [
        (unit, amount, amount if found else remaining) for unit, amount, remaining in listed if unit not in counted
    ]
    quotas = [(Quota(name="", unit=_UNITS[unit], amount=amount), units) for unit, amount, units in (*listed, *found)]
    return quota_headers(quotas)


def gateway_headers(request: Request, hsts: bool | None) -> Headers:
    """Return the headers that Azure's API gateway adds to every response of a Foundry or OpenAI resource.

    Args:
        hsts: browsers shall use TLS for every port of the host; absent: unless it is this machine.
    """
    if hsts is None:
        hsts = not _is_local(request.base_url)
    return (
        ("apim-request-id", format_uuid(_derive_name(request.key))),
        *(_GATEWAY_HSTS if hsts else _GATEWAY),
    )


def answer_json(body: JSON, request: Request, service: AzureService) -> Response:
    """Return a JSON response (200) of a Foundry or OpenAI resource itself, rather than of a model."""
    headers = (JSON_TYPE, *gateway_headers(request, service.settings.hsts), *echo_request_id(request))
    return Response(200, dump_json(body), headers)


@lru(256)
def _is_local(url: str) -> bool:
    try:
        host = urlsplit(url).hostname
    except ValueError:  # a client's malformed Host header
        host = None
    return not host or is_loopback(host)


def _serverless_headers(plan: Plan, profile: DeploymentProfile, stream: bool) -> Headers:
    group, session, context = profile.identity
    counts = () if stream else _count_headers(plan.usage)
    request_id = ("X-Request-ID", format_uuid(_derive_answer(plan.key)))
    return (group, session, *counts, context, request_id, ("x-ms-rai-invoked", "true"))


def _count_headers(usage: Usage) -> Headers:
    return (
        ("prompt_token_len", str(usage.prompt_tokens)),
        ("sampling_token_len", str(usage.completion_tokens)),
    )
