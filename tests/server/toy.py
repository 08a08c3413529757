"""A vendor made up for tests of the road: it says little, and does everything a vendor may do."""

from collections.abc import Iterator
from typing import Any

from emulator.core.call import ChatAsk, Deployment, Message, Sampling
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import dump_json
from emulator.core.plan import Plan
from emulator.core.vendor import Call, Endpoint, Service, Vendor, VendorSettings
from emulator.core.wire import WireRequest, WireResponse, WireStream

_TEXT = (("Content-Type", "text/plain"),)
_STATUS = {ErrorKind.NOT_FOUND: 404, ErrorKind.METHOD_NOT_ALLOWED: 405, ErrorKind.UNAUTHENTICATED: 401}


class ToySettings(VendorSettings):
    """One switch."""

    loud: bool = False


class ToyCodec:
    """Tokens as lines."""

    def render(self, plan: Plan, call: Call, service: Service[Any]) -> WireResponse:
        return WireResponse(200, plan.choices[0].text().encode(), _TEXT)

    def stream(self, plan: Plan, call: Call, service: Service[Any]) -> WireStream:
        return WireStream(self._events(plan, call), _TEXT)

    def _events(self, plan: Plan, call: Call) -> Iterator[tuple[float, bytes]]:
        for token, due in zip(plan.choices[0].tokens, plan.choices[0].due, strict=True):
            if call.context == "break":
                raise RuntimeError("a bug while streaming")
            yield due, token.encode() + b"\n"


def _chat(request: WireRequest, service: Service[ToySettings]) -> Call:
    try:
        body = request.json()
    except ValueError as error:
        raise EmulatedError(ErrorKind.INVALID_REQUEST, str(error)) from None
    ask = ChatAsk(messages=(Message(role="user", text=body["prompt"]),), sampling=Sampling(max_tokens=body.get("max")))
    deployment = service.deployments["toy"]
    return Call(
        request=request,
        deployment=deployment,
        ask=ask,
        codec=ToyCodec(),
        stream=body.get("stream", False),
        prompt_tokens=service.count_prompt(ask, deployment),
        context=body.get("context"),
    )


def _echo(request: WireRequest, service: Service[ToySettings]) -> WireResponse:
    seen = {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "base_url": request.base_url,
        "size": len(request.body),
        "principal": request.principal,
    }
    return WireResponse(200, dump_json(seen))


def _bug(request: WireRequest, service: Service[ToySettings]) -> WireResponse:
    raise RuntimeError("a bug while parsing")


def _drop(request: WireRequest, service: Service[ToySettings]) -> WireResponse:
    return WireResponse(0)


def _authenticate(request: WireRequest, service: Service[ToySettings]) -> str:
    principal = service.principal(request.headers.get("x-key"))
    if principal is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED)
    return principal


def _render_error(error: EmulatedError, request: WireRequest, service: Service[ToySettings]) -> WireResponse:
    status = error.status or _STATUS.get(error.kind, 400)
    wait = () if error.retry_after is None else (("x-retry", str(error.retry_after)),)
    return WireResponse(status, f"{error.kind}: {error.message} {dict(error.details)}".encode(), (*_TEXT, *wait))


TOY = Vendor(
    name="toy",
    title="Toy",
    endpoints=(
        Endpoint(method="POST", path="/chat", parse=_chat),
        Endpoint(method="*", path="/echo", parse=_echo),
        Endpoint(method="GET", path="/open", parse=_echo, open=True),
        Endpoint(method="GET", path="/bug", parse=_bug),
        Endpoint(method="GET", path="/drop", parse=_drop),
    ),
    settings=ToySettings,
    catalogue=lambda settings: (Deployment(vendor="toy", name="toy"),),
    authenticate=_authenticate,
    render_error=_render_error,
    environment=lambda url: {"TOY_URL": url},
    body_limit=1024 * 1024,
)
