"""Headers of answers, in the order and case of each service.

Source: Azure/azure-sdk-assets, recorded traffic of the Python, .NET and JavaScript test suites.
"""

from emulator.core.call import Call
from emulator.core.plan import Plan, Usage
from emulator.core.seed import derive, draw_hex, draw_uuid
from emulator.core.vendor import Headers, WireRequest
from emulator.vendors.azure.catalogue import model_name
from emulator.vendors.azure.gate import AzureService

JSON_TYPE = ("Content-Type", "application/json")
STREAM_TYPE = ("Content-Type", "text/event-stream; charset=utf-8")
REGION = "East US"


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
        return (kind, *echo_request_id(request))
    if profile in ("foundry", "aoai"):
        return (kind, *gateway_headers(request), *((("x-accel-buffering", "no"),) if stream else ()))
    return (kind, *_serverless_headers(plan, call, stream), *echo_request_id(request))


def gateway_headers(request: WireRequest) -> Headers:
    """What Azure's API gateway adds to every answer of a Foundry or OpenAI resource."""
    return (
        ("apim-request-id", draw_uuid(request.key, "apim")),
        ("x-ms-region", REGION),
        *echo_request_id(request),
        ("Strict-Transport-Security", "max-age=31536000; includeSubDomains; preload"),
        ("X-Content-Type-Options", "nosniff"),
    )


def _serverless_headers(plan: Plan, call: Call, stream: bool) -> Headers:
    name = model_name(call.deployment)
    identity = derive("deployment", name)
    head = (
        ("azureml-model-group", name),
        ("azureml-model-session", f"dep-{draw_hex(identity, digits=8)}"),
    )
    tail = (
        ("Request-Context", f"appId=cid-v1:{draw_uuid(identity, 'app')}"),
        ("X-Request-ID", draw_uuid(plan.key, "request")),
        ("x-ms-rai-invoked", "true"),
    )
    return (*head, *tail) if stream else (*head, *_count_headers(plan.usage), *tail)


def _count_headers(usage: Usage) -> Headers:
    return (
        ("prompt_token_len", str(usage.prompt_tokens)),
        ("sampling_token_len", str(usage.completion_tokens)),
    )
