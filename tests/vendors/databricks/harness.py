"""Asking Databricks without a socket: requests straight to the endpoint table, answers straight from the engine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from emulator.core.calls import InferenceCall
from emulator.core.clock import FrozenClock
from emulator.core.http import Event, Mark, Request, Response
from emulator.core.plan import Plan
from emulator.core.requests import Deployment
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.services import create_service
from emulator.scenario.models import Scenario
from emulator.vendors.databricks.profile import DatabricksService
from emulator.vendors.databricks.routes import VENDOR
from emulator.vendors.databricks.settings import DatabricksSettings
from tests.reference_rows import Piece
from tests.untyped_json import JSON
from tests.vendors import client

LLAMA = "databricks-meta-llama-3-3-70b-instruct"
CLAUDE = "databricks-claude-sonnet-4-5"
GPT = "databricks-gpt-5"
OSS = "databricks-gpt-oss-120b"
GEMINI = "databricks-gemini-2-5-pro"
MPT = "databricks-mpt-7b-instruct"
BGE = "databricks-bge-large-en"
QWEN = "databricks-qwen3-embedding-0-6b"
PROVISIONED = "pt"
USER: JSON = {"role": "user", "content": "Tell me about Paris"}
AGENT = Deployment(vendor="databricks", name="agent", mode="custom", kind="agent")
_ENDS = (b'"finish_reason":"', b'"finishReason":"', b'"type":"response.completed"', b'"type":"response.incomplete"')
_BUILT_IN = {deployment.name: deployment for deployment in VENDOR.catalogue(DatabricksSettings())}


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """One request's fate: ``body`` is parsed JSON; a stream's events are its ``data:`` lines."""

    status: int
    body: JSON
    headers: Mapping[str, str]
    events: tuple[JSON, ...] = ()
    text: bytes = b""
    call: InferenceCall | None = None

    @property
    def message(self) -> str:
        return str(self.body["message"])


def make_service(
    settings: Mapping[str, JSON], deployments: tuple[Deployment, ...], keys: Mapping[str, str] | None = None
) -> DatabricksService:
    """The vendor as it runs with further deployments and, if any, the keys of these principals."""
    pt = replace(_BUILT_IN[LLAMA], name=PROVISIONED, mode="provisioned", traits={})
    known = {**_BUILT_IN, pt.name: pt, **{d.name: d for d in deployments}}
    vendor = replace(VENDOR, catalogue=lambda _: tuple(known.values()))
    head = {"version": 1, "name": "test"}
    listed = {} if keys is None else {"keys": [{"token": token, "principal": who} for token, who in keys.items()]}
    scenario = Scenario.model_validate({**head, **listed})
    return create_service(vendor, DatabricksSettings.model_validate(settings), scenario, FrozenClock(), VendorMetrics())


def send(
    path: str,
    body: JSON = None,
    *,
    method: str = "",
    deployments: tuple[Deployment, ...] = (),
    keys: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    **settings: JSON,
) -> Exchange:
    """Ask once; ``body`` is JSON unless bytes."""
    service = make_service(settings, deployments, keys)
    request = client.make_request(path, body, {"Authorization": "Bearer dapi-x", **(headers or {})}, method)
    request.query = query or {}
    outcome = client.send(VENDOR, service, request)
    return answer(outcome, request) if isinstance(outcome, InferenceCall) else _read(outcome)


def answer(call: InferenceCall, request: Request) -> Exchange:
    """Return the generated response of a call."""
    return render(client.make_plan(call), call, request)


def render(plan: Plan, call: InferenceCall, request: Request) -> Exchange:
    """Return a plan on the wire, whole or streamed as the call asks."""
    if not call.stream:
        return replace(_read(call.codec.render(plan, request)), call=call)
    stream = call.codec.stream(plan, request)
    timed = list(stream.events)
    check_marks(timed)
    text = b"".join(data for _, data, _, _ in timed)
    lines = [line[6:] for line in text.decode().split("\n") if line.startswith("data: ")]
    events = tuple(line if line == "[DONE]" else json.loads(line) for line in lines)
    return Exchange(stream.status, None, dict(stream.headers), events, text, call)


def check_marks(events: list[Event]) -> None:
    """Each is one server-sent event, due after the one before, with no fewer tokens and the marks its bytes deserve."""
    assert [due for due, _, _, _ in events] == sorted(due for due, _, _, _ in events)
    assert all(data.endswith(b"\n\n") and data.count(b"\n\n") == 1 for _, data, _, _ in events)
    counts = [tokens for _, data, tokens, _ in events if tokens]
    assert counts == sorted(counts)
    for _, data, _, mark in events:
        assert (Mark.DONE in mark) == (data == b"data: [DONE]\n\n")
        assert (Mark.FINISH in mark) == any(end in data for end in _ENDS)
    with_usage = [mark for _, data, _, mark in events if b'"usage":{' in data]
    assert [Mark.USAGE in mark for mark in with_usage] == [False] * (len(with_usage) - 1) + [True] * bool(with_usage)


def _read(response: Response) -> Exchange:
    body = json.loads(response.body) if response.body[:1] in (b"{", b"[") else None
    return Exchange(response.status, body, dict(response.headers), text=response.body)


def invoke(name: str, body: JSON, **options: JSON) -> Exchange:
    """``POST /serving-endpoints/{name}/invocations``."""
    return send(f"/serving-endpoints/{name}/invocations", body, **options)


def chat(name: str = LLAMA, options: Mapping[str, JSON] | None = None, **fields: JSON) -> Exchange:
    """Return a chat request with one user message and extra fields; ``options`` are of :func:`send`."""
    return invoke(name, {"messages": [USER], **fields}, **(options or {}))


def respond(options: JSON = None, path: str = "/serving-endpoints/responses", **fields: JSON) -> Exchange:
    """The same as a Responses request."""
    return send(path, {"model": GPT, "input": "Tell me about Paris", **fields}, deployments=(AGENT,), **(options or {}))


def with_traits(mode: str = "pay_per_token", kind: str = "", **traits: JSON) -> tuple[Deployment, ...]:
    """The endpoint ``mine``, alone."""
    return (Deployment(vendor="databricks", name="mine", mode=mode, kind=kind, traits=traits),)


def mine(deployments: tuple[Deployment, ...], **fields: JSON) -> Exchange:
    """A chat request to the endpoint ``mine``."""
    return invoke("mine", {"messages": [USER], **fields}, deployments=deployments)


def refused(text: str) -> Mapping[str, object]:
    """What is seen of a request that breaks a rule of the reference."""
    return {"status": 400, "message": Piece(text)}
