"""Charges of a call, the quotas that apply to it, and the details of a refusal."""

from dataclasses import replace

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.requests import (
    ChatRequest,
    CompletionRequest,
    Deployment,
    EmbeddingRequest,
    InferenceRequest,
    Message,
    Sampling,
)
from emulator.ratelimit import AdmissionController, Ticket
from emulator.ratelimit.admission import count_reserved_output
from emulator.ratelimit.concurrency import ConcurrencyLimits
from emulator.scenario.limits import compile_limits
from emulator.scenario.load import load_text
from emulator.storage.memory import MemoryState
from tests.handler.toy import ToyCodec
from tests.untyped_json import JSON

TOY = Deployment(vendor="toy", name="llama")


def make_call(
    ask: InferenceRequest | None = None,
    deployment: Deployment = TOY,
    prompt_tokens: tuple[int, ...] = (10,),
) -> InferenceCall:
    return InferenceCall(deployment=deployment, request=ask or chat(20), codec=ToyCodec(), prompt_tokens=prompt_tokens)


def sent_by(principal: str = "search", session: str = "") -> Request:
    return Request(method="POST", path="/", principal=principal, session=session)


def chat(max_tokens: int | None = None, n: int = 1) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", text="Hi"),), sampling=Sampling(max_tokens=max_tokens, n=n))


def open_gate(*limits: str) -> AdmissionController:
    listed = "".join(f"  - {limit}\n" for limit in limits)
    scenario = load_text(f"version: 1\nlimits:\n{listed}").scenario
    return AdmissionController(compile_limits(scenario.limits), MemoryState())


async def admit(
    gate: AdmissionController, call: InferenceCall, request: Request, now: float, room: ConcurrencyLimits | None = None
) -> Ticket:
    admission = gate.reserve_now(call, request, now) or await gate.reserve(call, request, now)
    if room is not None:
        await gate.acquire(admission, call, now, room)
    return admission


@pytest.mark.parametrize(
    ("ask", "deployment", "prompt_tokens", "reserved"),
    [
        pytest.param(chat(20), TOY, (10,), 20, id="as many as the request allows"),
        pytest.param(chat(20, n=3), TOY, (10,), 60, id="for each answer"),
        pytest.param(chat(), replace(TOY, default_max_tokens=50), (10,), 50, id="the deployment's default"),
        pytest.param(chat(), TOY, (10,), 1024, id="as long as an answer can be"),
        pytest.param(chat(), replace(TOY, max_output=100), (10,), 100, id="no more than the deployment gives"),
        pytest.param(chat(110), replace(TOY, context=120), (10,), 110, id="nor than its context holds"),
        pytest.param(
            chat(8000), replace(TOY, max_output=8000, default_max_tokens=50), (10,), 50, id="all there is is no limit"
        ),
        pytest.param(chat(7999), replace(TOY, max_output=8000, default_max_tokens=50), (10,), 7999, id="less is one"),
        pytest.param(
            CompletionRequest(prompts=("a", "b"), sampling=Sampling(max_tokens=7)),
            TOY,
            (1, 1),
            14,
            id="for each prompt",
        ),
        pytest.param(EmbeddingRequest(inputs=("a",)), TOY, (1,), 0, id="vectors have no tokens"),
    ],
)
def test_output_is_reserved(
    ask: InferenceRequest, deployment: Deployment, prompt_tokens: tuple[int, ...], reserved: int
) -> None:
    assert count_reserved_output(make_call(ask, deployment, prompt_tokens)) == reserved


@pytest.mark.covers("language/sections", "limits")
@pytest.mark.covers("language/units", "input_tokens", case="prompt tokens are counted exactly")
@pytest.mark.covers("language/units", "output_tokens", case="an answer is settled with what was sent")
@pytest.mark.covers("language/units", "tokens", case="both together")
@pytest.mark.covers("language/keys of a limit", "unit")
@pytest.mark.parametrize(
    ("unit", "left", "settled", "refused"),
    [
        pytest.param("requests", 99, 99, 100, id="requests"),
        pytest.param("input_tokens", 88, 88, 100, id="prompt tokens are counted exactly"),
        pytest.param("output_tokens", 80, 95, 100, id="an answer is settled with what was sent"),
        pytest.param("tokens", 68, 83, 100, id="both together"),
        pytest.param("concurrency", 99, 100, 100, id="a call that is over runs no more"),
    ],
)
async def test_each_unit_is_charged_and_settled(unit: str, left: int, settled: int, refused: int) -> None:
    window = "" if unit == "concurrency" else ", window: 60s"
    for sent, remaining in ((5, settled), (None, refused)):
        gate = open_gate(f"{{unit: {unit}, amount: 100{window}}}")
        admission = await admit(gate, make_call(prompt_tokens=(10, 2)), sent_by(), 0.0)
        assert [units for _, units in admission.left] == [left]
        await gate.release(admission, sent, 0.0)
        probe = await admit(gate, make_call(EmbeddingRequest(inputs=("",)), prompt_tokens=(0,)), sent_by(), 0.0)
        assert probe.left[0][1] == remaining - (unit in ("requests", "concurrency"))


@pytest.mark.covers("language/keys of a limit", "vendor", case="one vendor's")
@pytest.mark.covers("language/keys of a limit", "deployment", case="one name's")
@pytest.mark.covers("language/keys of a limit", "principal", case="one caller's own")
@pytest.mark.covers("language/keys of a limit", "per", case="one for all")
@pytest.mark.covers("language/keys of a limit", "per: principal", case="each caller")
@pytest.mark.covers("language/keys of a limit", "per: deployment", case="each deployment")
@pytest.mark.covers("promises/first steps", "a limit of one principal", case="one caller's own")
@pytest.mark.parametrize(
    ("limit", "shared"),
    [
        pytest.param(
            "", {"llama": True, "batch": True, "other": True, "vendor": True, "session": False}, id="one for all"
        ),
        pytest.param(
            "per: principal, ", {"llama": True, "batch": False, "other": True, "vendor": True}, id="each caller"
        ),
        pytest.param("per: deployment, ", {"batch": True, "other": False, "vendor": False}, id="each deployment"),
        pytest.param("vendor: toy, ", {"other": True, "vendor": False}, id="one vendor's"),
        pytest.param("deployment: llama, ", {"other": False, "vendor": True}, id="one name's"),
        pytest.param("principal: search, ", {"other": True, "vendor": True, "batch": False}, id="one caller's own"),
        pytest.param("principal: [s*, x], ", {"other": True, "batch": False}, id="callers by a glob"),
        pytest.param("principal: '*', per: principal, ", {"other": True, "batch": False}, id="each of those callers"),
        pytest.param("deployment: [ll*, x], ", {"other": False, "vendor": True}, id="a glob"),
    ],
)
async def test_limit_scope_decides_shared_quota(limit: str, shared: dict[str, bool]) -> None:
    calls = {
        "llama": (make_call(), sent_by()),
        "batch": (make_call(), sent_by("batch")),
        "other": (make_call(deployment=replace(TOY, name="other")), sent_by()),
        "vendor": (make_call(deployment=replace(TOY, vendor="someone")), sent_by()),
        "session": (make_call(), sent_by(session="s")),
    }
    for name, is_shared in shared.items():
        gate = open_gate(f"{{{limit}unit: requests, amount: 1, window: 60s}}")
        await admit(gate, make_call(), sent_by(), 0.0)
        if is_shared:
            with pytest.raises(EmulatedError):
                await admit(gate, *calls[name], 0.0)
        else:
            await admit(gate, *calls[name], 0.0)


@pytest.mark.covers("databricks/rate limits", "the tightest wins")
async def test_rejection_names_quota_with_longest_wait() -> None:
    gate = open_gate(
        "{unit: requests, amount: 1, window: 10s, strategy: fixed}",
        "{vendor: toy, per: principal, unit: output_tokens, amount: 60, window: 60s, strategy: sliding}",
        "{unit: input_tokens, amount: 1000, window: 60s}",
    )
    await admit(gate, make_call(chat(50)), sent_by(), 4.0)
    with pytest.raises(EmulatedError) as refused:
        await admit(gate, make_call(chat(11)), sent_by(), 6.0)
    error = refused.value
    expected: dict[str, JSON] = {
        "unit": "output_tokens",
        "amount": 60,
        "window": 60,
        "per": "principal",
        "deployment": "llama",
        "used": 50,
        "asked": 11,
        "balances": [["requests", 1, 0], ["output_tokens", 60, 10], ["input_tokens", 1000, 1000]],
    }
    assert (error.kind, error.limit, error.retry_after) == (ErrorKind.RATE_LIMITED, "output_tokens", 58.0)
    assert error.details == expected


async def test_rejected_call_charges_nothing() -> None:
    gate = open_gate("{unit: requests, amount: 2, window: 60s}", "{unit: output_tokens, amount: 50, window: 60s}")
    for _ in range(3):
        with pytest.raises(EmulatedError, match="rate_limited"):
            await admit(gate, make_call(chat(51)), sent_by(), 0.0)
    assert [units for _, units in (await admit(gate, make_call(chat(50)), sent_by(), 0.0)).left] == [1, 0]


async def test_overloaded_call_charges_nothing() -> None:
    gate = open_gate("{unit: requests, amount: 2, window: 60s}")

    class OnePlace:
        capacity = 1
        queue = 0

    first = await admit(gate, make_call(), sent_by(), 0.0, OnePlace())
    with pytest.raises(EmulatedError, match="overloaded"):
        await admit(gate, make_call(), sent_by(), 0.0, OnePlace())
    await gate.release(first, 1, 0.0)
    assert (await admit(gate, make_call(), sent_by(), 0.0, OnePlace())).left[0][1] == 0


async def test_concurrency_retry_after_is_expected_end() -> None:
    gate = open_gate("{unit: concurrency, amount: 1}")
    admission = await admit(gate, make_call(), sent_by(), 1.0)
    with pytest.raises(EmulatedError) as unknown:
        await admit(gate, make_call(), sent_by(), 2.0)
    await gate.set_expected_end(admission, 12.5)
    with pytest.raises(EmulatedError) as known:
        await admit(gate, make_call(), sent_by(), 2.0)
    assert (unknown.value.retry_after, known.value.retry_after) == (None, 10.5)
