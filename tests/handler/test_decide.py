"""Changes of a vendor's documents: when they take effect, and in which session."""

import threading
from typing import ClassVar, Literal

import pytest

from emulator.core.calls import InferenceCall, InnerRequest
from emulator.core.clock import FrozenClock
from emulator.core.faultable import FaultableResponse
from emulator.core.http import Request, Response, StreamingResponse
from emulator.core.plan import Plan, Usage
from emulator.core.requests import CompletionRequest
from emulator.faults.base import Fault
from emulator.handler.context import RequestContext
from emulator.handler.decide import ResponseDecider
from emulator.handler.diagnostics import Suggestions
from emulator.handler.planning import Emulator
from emulator.http.routing import Router
from emulator.observability.vendor_metrics import VendorMetrics
from emulator.runtime.services import create_service
from emulator.scenario.matching import Match
from emulator.scenario.models import Scenario
from emulator.scenario.outcomes import Outcome
from emulator.storage.memory import MemoryState
from tests.conftest import Start
from tests.handler.toy import TOY, ToySettings, make_target
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

REFUSED = "rules: [{name: no, when: {endpoint: /note}, times: {first: 1}, error: {kind: internal, status: 500%s}}]"


async def ask(running: Running, method: str = "GET", target: str = "/note") -> Answer:
    return await running.ask("toy", target, method=method, headers={"x-key": "k"})


async def test_change_applies_once_answered(start: Start) -> None:
    toy = await start(vendors=[TOY])
    assert (await ask(toy)).status == 404
    assert [(await ask(toy, "PUT")).json() for _ in range(2)] == [1, 2]
    assert (await ask(toy)).json() == 2
    assert (await ask(toy, "DELETE")).json() is None
    assert (await ask(toy)).status == 404


async def test_change_rejected_by_vendor_has_no_effect(start: Start) -> None:
    toy = await start(vendors=[TOY])
    assert [(await ask(toy, "PUT")).status for _ in range(4)] == [200, 200, 200, 400]
    assert (await ask(toy)).json() == 3


@pytest.mark.parametrize(("after", "kept"), [("", 404), (", after: state", 200)])
async def test_change_failed_by_rule_applies_only_with_after_state(start: Start, after: str, kept: int) -> None:
    toy = await start(REFUSED % after, vendors=[TOY])
    assert (await ask(toy, "PUT")).status == 500
    assert (await ask(toy)).status == kept


async def test_sessions_have_separate_documents(start: Start) -> None:
    toy = await start(vendors=[TOY])
    await ask(toy, "PUT", "/_s/a/note")
    assert (await ask(toy)).status == 404
    assert (await ask(toy, target="/_s/b/note")).status == 404
    assert (await ask(toy, target="/_s/a/note")).json() == 1


class Busy(MemoryState):
    """Store with one conflicting write by another client."""

    async def store(self, session: str, shelf: str, key: str, document: JSON, before: JSON) -> bool:
        if before is None:
            await super().store(session, shelf, key, 2, None)
        return await super().store(session, shelf, key, document, before)


class Alone:
    """Handler of requests that have none within them."""

    async def answer_inner(self, inner: InnerRequest, outer: Request) -> tuple[int, bytes]:
        raise NotImplementedError


async def test_conflicting_change_is_retried() -> None:
    scenario = Scenario.model_validate({"version": 1, "name": "test"})
    clock = FrozenClock()
    emulator = Emulator(scenario, clock=clock, state=Busy(), seed=0, latency=scenario.latency)
    service = create_service(TOY, ToySettings(), scenario, clock, VendorMetrics())
    wire = Request(method="PUT", path="/note")
    endpoint, _ = Router(TOY.endpoints).resolve("PUT", "/note")
    exchange = RequestContext(wire, make_target(wire), clock.now(), parsed=endpoint.parse(wire, service))
    answer = await ResponseDecider(TOY, service, emulator, Suggestions({"toy": TOY}, ["toy"], {})).decide(
        exchange, Alone()
    )
    assert isinstance(answer, Response)
    assert answer.body == b"3"


class Witness:
    """Codec that renders nothing and records its thread."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def render(self, plan: Plan, request: Request) -> Response:
        self.threads.append(threading.current_thread().name)
        return Response(200, b"", ())

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        raise NotImplementedError


@pytest.mark.parametrize("heavy", [True, False])
async def test_heavy_response_is_rendered_off_event_loop(start: Start, heavy: bool) -> None:
    app = (await start(vendors=[TOY])).built.apps[0]
    wire, codec = Request(method="POST", path="/chat"), Witness()
    call = InferenceCall(
        deployment=app.service.deployments["toy"],
        request=CompletionRequest(prompts=("a",)),
        codec=codec,
        is_cpu_heavy=heavy,
    )
    await ResponseDecider(TOY, app.service, app.emulator, Suggestions({}, [], {})).decide(
        RequestContext(wire, make_target(wire), 0.0, parsed=call), Alone()
    )
    assert (codec.threads == [threading.current_thread().name]) is not heavy


class Watched(Fault):
    """Fault that records the thread it is applied in."""

    type: Literal["watched"] = "watched"
    threads: ClassVar[list[str]] = []

    def apply(self, delivery: FaultableResponse) -> FaultableResponse:
        self.threads.append(threading.current_thread().name)
        return delivery


class Crumbling(Watched):
    """Fault that splits each chunk into many."""

    pieces: ClassVar[int] = 64


@pytest.mark.parametrize(
    ("faults", "tokens", "size", "aside"),
    [
        pytest.param([Watched()], 900, 5000, False, id="one fault of an answer"),
        pytest.param([Watched()] * 16, 50, 500, False, id="many of a short one"),
        pytest.param([Watched()] * 16, 900, 5000, True, id="many of a long one"),
        pytest.param([Watched()] * 16, 0, 20_000, True, id="many of one with many bytes"),
        pytest.param([Crumbling()], 10, 500, False, id="a short one that crumbles"),
        pytest.param([Crumbling()], 900, 5000, True, id="a long one that crumbles"),
    ],
)
async def test_expensive_faults_are_applied_off_event_loop(
    start: Start, faults: list[Fault], tokens: int, size: int, aside: bool
) -> None:
    app = (await start(vendors=[TOY])).built.apps[0]
    decider = ResponseDecider(TOY, app.service, app.emulator, Suggestions({}, [], {}))
    plan = Plan(b"", 0.0, (), None, (), Usage(1, tokens))
    match = Match(outcome=Outcome.model_construct(faults=tuple(faults)))
    request = Request(method="POST", path="/chat")
    exchange = RequestContext(request, make_target(request), 0.0, plan=plan, match=match)
    Watched.threads.clear()
    await decider.apply_faults(Response(200, b"x" * size, ()), exchange)
    assert (Watched.threads == [threading.current_thread().name] * len(faults)) is not aside
    assert len(Watched.threads) == len(faults)
