"""Toy vendor with every feature a vendor may have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emulator.core.calls import Change, InferenceCall, Write
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Event, FieldNames, Mark, Request, Response, StreamingResponse
from emulator.core.json import dump_json
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest, Deployment, Message, Sampling
from emulator.core.vendor import Endpoint, Service, Vendor, VendorSettings, no_profile
from emulator.handler.context import RequestTarget
from tests.untyped_json import JSON

_TEXT = (("Content-Type", "text/plain"),)
_STATUS = {ErrorKind.NOT_FOUND: 404, ErrorKind.METHOD_NOT_ALLOWED: 405, ErrorKind.UNAUTHENTICATED: 401}


class ToySettings(VendorSettings):
    """Settings with one switch."""

    loud: bool = False


ToyService = Service[ToySettings, None]


@dataclass(frozen=True)
class ToyCodec:
    """Codec of one token per line; ``breaks``: it raises at the first token."""

    breaks: bool = False

    def render(self, plan: Plan, request: Request) -> Response:
        return Response(200, plan.choices[0].text().encode(), _TEXT)

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        return StreamingResponse(self._events(plan), _TEXT)

    def _events(self, plan: Plan) -> Iterator[Event]:
        for number, (token, due) in enumerate(zip(plan.choices[0].tokens, plan.choices[0].due, strict=True), 1):
            if self.breaks:
                raise RuntimeError("a bug while streaming")
            yield due, token.encode() + b"\n", number, Mark.PLAIN


def _chat(request: Request, service: ToyService) -> InferenceCall:
    try:
        body: JSON = request.json()
    except ValueError as error:
        raise EmulatedError(ErrorKind.INVALID_REQUEST, str(error)) from None
    ask = ChatRequest(
        messages=(Message(role="user", text=body["prompt"]),), sampling=Sampling(max_tokens=body.get("max"))
    )
    deployment = service.deployments["toy"]
    return InferenceCall(
        deployment=deployment,
        request=ask,
        codec=ToyCodec(breaks=body.get("context") == "break"),
        stream=body.get("stream", False),
        prompt_tokens=service.count_prompt(ask, deployment),
    )


def _echo(request: Request, service: ToyService) -> Response:
    seen: JSON = {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "base_url": request.base_url,
        "size": len(request.body),
        "principal": request.principal,
    }
    return Response(200, dump_json(seen))


def _bug(request: Request, service: ToyService) -> Response:
    raise RuntimeError("a bug while parsing")


def _drop(request: Request, service: ToyService) -> Response:
    return Response(0)


def _show_note(request: Request, service: ToyService) -> Response:
    if "note" not in request.documents:
        raise EmulatedError(ErrorKind.NOT_FOUND)
    return Response(200, dump_json(request.documents["note"]))


def _write_note(request: Request, service: ToyService) -> Change:
    """Return a document with the next number, or delete it at the maximum."""

    def make(documents: Mapping[str, JSON]) -> Write:
        number = documents.get("note", 0) + 1
        if number > 3:
            raise EmulatedError(ErrorKind.INVALID_PARAMETER, "full")
        document = None if request.method == "DELETE" else number
        return Write(Response(200, dump_json(document)), "note", document)

    return Change(make)


def _authenticate(request: Request, service: ToyService) -> str:
    principal = service.principal(request.headers.get("x-key"))
    if principal is None:
        raise EmulatedError(ErrorKind.UNAUTHENTICATED)
    return principal


def _render_error(error: EmulatedError, request: Request, service: ToyService) -> Response:
    status = error.status or _STATUS.get(error.kind, 400)
    wait = () if error.retry_after is None else (("x-retry", str(error.retry_after)),)
    return Response(status, f"{error.kind}: {error.message} {dict(error.details)}".encode(), (*_TEXT, *wait))


def _render_late_error(error: EmulatedError, request: Request, service: ToyService) -> bytes:
    return f"{error.kind}: {error.message}\n".encode()


def make_target(request: Request) -> RequestTarget:
    """Return the target of a request, as if no endpoint had its path."""
    return RequestTarget(
        method=request.method,
        path=request.path,
        query=request.query,
        written_query="",
        headers=request.headers,
        params=request.params,
        base_url=request.base_url,
        session=request.session,
        key_suffix="",
        visible=request.headers,
        encoding="",
        overrides=False,
        head_size=0,
        endpoint=None,
        missing=None,
        place=None,
    )


TOY = Vendor(
    profile_deployment=no_profile,
    render_late_error=_render_late_error,
    fields=FieldNames(),
    name="toy",
    title="Toy",
    endpoints=(
        Endpoint(method="POST", path="/chat", parse=_chat),
        Endpoint(method="*", path="/echo", parse=_echo),
        Endpoint(method="GET", path="/open", parse=_echo, is_public=True),
        Endpoint(method="GET", path="/bug", parse=_bug),
        Endpoint(method="GET", path="/drop", parse=_drop),
        Endpoint(method="GET", path="/note", parse=_show_note),
        Endpoint(method="*", path="/note", parse=_write_note),
    ),
    settings=ToySettings,
    catalogue=lambda settings: (Deployment(vendor="toy", name="toy"),),
    authenticate=_authenticate,
    render_error=_render_error,
    body_limit=1024 * 1024,
    is_stateful=True,
)
