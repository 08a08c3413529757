"""Hints of refused requests in journal and log."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request, Response
from emulator.core.json import as_object, as_text
from emulator.core.requests import Deployment
from emulator.core.vendor import Endpoint
from tests.conftest import Start
from tests.handler.toy import TOY, ToyService
from tests.http_client import Running
from tests.untyped_json import JSON

KEY: Mapping[str, str] = {"x-key": "k"}


def _chat(request: Request, service: ToyService) -> InferenceCall | Response:
    """Return a chat that names the model in its body, or the deployment in its path."""
    name = request.params.get("name") or as_text(as_object(request.json())["model"])
    deployment = service.deployments.get(name)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND)
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    return Response(200)


def _refuse_model(request: Request, service: ToyService) -> InferenceCall | Response:
    raise EmulatedError(ErrorKind.INVALID_PARAMETER, param="model")


NAMES = ("llama3", "llama-70b", "embed", "rerank-a", "rerank-b", "rerank-c")
OTHER = replace(
    TOY,
    name="other",
    title="Other Server",
    endpoints=(
        Endpoint(method="POST", path="/v1/chat/completions", parse=_chat),
        Endpoint(method="POST", path="/v1/{name}/invoke", parse=_chat),
        Endpoint(method="POST", path="/strict", parse=_refuse_model),
    ),
    catalogue=lambda settings: (
        *(Deployment(vendor="other", name=name) for name in NAMES),
        Deployment(vendor="other", name="cold", state="loading"),
    ),
)
THIRD = replace(OTHER, name="third", endpoints=(Endpoint(method="*", path="/anything/{rest:path}", parse=_chat),))


async def hint(running: Running, port: str, target: str, body: JSON = None, **headers: str) -> str:
    """Return the hint of the latest call."""
    await running.ask(port, target, body if body is not None else {}, headers={**KEY, **headers})
    *_, entry = running.built.journal
    assert entry.summary == (entry.hint or entry.summary)
    return entry.summary


def port_of(running: Running, vendor: str) -> str:
    return running.urls[vendor].rpartition(":")[2]


@pytest.mark.covers("promises/journal", "a path of another vendor", case="another")
@pytest.mark.parametrize(
    ("port", "target", "says"),
    [
        pytest.param("toy", "/v1/chat/completions", "Toy has no such path; other (port {other}) has it", id="another"),
        pytest.param("toy", "/v1/a/invoke", "Toy has no such path; other (port {other}) has it", id="by a pattern"),
        pytest.param("other", "/chat", "Other Server has no such path; toy (port {toy}) has it", id="the other way"),
        pytest.param(
            "toy",
            "/toy/chat",
            "Toy has no such path; /toy is for the front port, without it has it",
            id="with the front's prefix",
        ),
        pytest.param("toy", "/chta", "Toy has no such path; did you mean /chat?", id="a typo"),
        pytest.param("toy", "/chat/completions/x", "Toy has no such path", id="nothing is near"),
        pytest.param(
            "front",
            "/chat",
            "Nothing is served at /chat; toy (port {toy}) has it; here it is /toy/chat.",
            id="on the front without a vendor",
        ),
        pytest.param(
            "front",
            "/ohter/chat",
            "Nothing is served at /ohter/chat; did you mean /other/chat?",
            id="on the front with a typo",
        ),
        pytest.param(
            "front", "/x", "Nothing is served at /x; the front port serves /toy, /other.", id="nothing at all"
        ),
    ],
)
async def test_hint_for_missing_path(start: Start, port: str, target: str, says: str) -> None:
    running = await start(vendors=[TOY, OTHER])
    ports = {name: port_of(running, name) for name in ("toy", "other")}
    assert await hint(running, port, target) == says.format(**ports)


async def test_hint_prefers_literal_path_over_wildcard(start: Start) -> None:
    running = await start(vendors=[TOY, THIRD, OTHER])
    assert "; other (port" in await hint(running, "toy", "/v1/chat/completions")
    assert "; third (port" in await hint(running, "toy", "/anything/else")


async def test_hint_names_every_vendor_with_path(start: Start) -> None:
    twin = replace(OTHER, name="twin")
    running = await start(vendors=[TOY, OTHER, twin])
    says = f"other (port {port_of(running, 'other')}) and twin (port {port_of(running, 'twin')}) have it"
    assert says in await hint(running, "toy", "/v1/chat/completions")


@pytest.mark.covers("promises/journal", "a deployment spelled alike", case="a typo in the body")
@pytest.mark.parametrize(
    ("target", "body", "says"),
    [
        pytest.param(
            "/v1/chat/completions",
            {"model": "lama3"},
            "no deployment `lama3`; did you mean `llama3`?",
            id="a typo in the body",
        ),
        pytest.param("/v1/embde/invoke", {}, "no deployment `embde`; did you mean `embed`?", id="a typo in the path"),
        pytest.param(
            "/v1/chat/completions",
            {"model": "gpt"},
            "no deployment `gpt`; there are llama3, llama-70b, embed and 4 more",
            id="nothing is near",
        ),
        pytest.param("/v1/chat/completions", {"model": "cold"}, "`cold` is loading", id="not ready"),
        pytest.param(
            "/strict",
            {"model": "llama4"},
            "no deployment `llama4`; did you mean `llama3`?",
            id="refused as a parameter",
        ),
        pytest.param("/strict", {}, "Refused before the rules: invalid_parameter.", id="no name at all"),
    ],
)
async def test_hint_for_missing_deployment(start: Start, target: str, body: JSON, says: str) -> None:
    running = await start(vendors=[OTHER])
    assert await hint(running, "other", target, body) == says


@pytest.mark.covers("promises/journal", "which limit, asked, left, wait", case="tokens")
@pytest.mark.covers("promises/journal", "a limit that can never be met", case="never")
@pytest.mark.parametrize(
    ("limit", "tokens", "says"),
    [
        pytest.param(
            "unit: requests, amount: 1, window: 60s",
            3,
            "limits[0] refuses: 1 request asked, 0 of 1 left, enough in 60 s",
            id="requests",
        ),
        pytest.param(
            "unit: output_tokens, amount: 4, window: 60s",
            3,
            "limits[0] refuses: 3 output tokens asked, 1 of 4 left, enough in 30 s",
            id="tokens",
        ),
        pytest.param(
            "unit: output_tokens, amount: 4, window: 60s",
            400,
            "limits[0] can never be met: 400 output tokens asked, there are 4 in all",
            id="never",
        ),
    ],
)
async def test_hint_for_exceeded_limit(start: Start, limit: str, tokens: int, says: str) -> None:
    running = await start(f"limits: [{{vendor: toy, {limit}}}]\n", vendors=[TOY])
    await running.ask("toy", "/chat", {"prompt": "one", "max": 3}, headers=KEY)
    assert await hint(running, "toy", "/chat", {"prompt": "two", "max": tokens}) == says


async def test_entry_lists_every_exceeded_limit(start: Start) -> None:
    limits = "limits: [{unit: requests, amount: 1, window: 60s}, {unit: output_tokens, amount: 2, window: 1m}]\n"
    running = await start(limits, vendors=[TOY])
    says = await hint(running, "toy", "/chat", {"prompt": "one", "max": 3})
    assert says == "limits[1] can never be met: 3 output tokens asked, there are 2 in all"
    await running.ask("toy", "/chat", {"prompt": "one", "max": 1}, headers=KEY)
    assert (await hint(running, "toy", "/chat", {"prompt": "one", "max": 3})).startswith(
        "limits[0] refuses: 1 request asked"
    )
    *_, entry = running.built.journal
    assert [(limit.limit, limit.wait) for limit in entry.limits] == [("limits[0]", 60.0), ("limits[1]", None)]


@pytest.mark.covers("promises/journal", "for what was refused")
async def test_hint_for_missing_key_and_wrong_method(start: Start) -> None:
    running = await start("keys: [{token: t, principal: p}]\n", vendors=[TOY])
    assert await hint(running, "toy", "/chat", {}) == "no key of the scenario came with it"
    await running.ask("toy", "/chat", headers={"x-key": "t"})
    *_, entry = running.built.journal
    assert entry.summary == "the path takes POST"


async def test_injected_error_gets_no_hint(start: Start) -> None:
    running = await start("rules: [{name: gone, error: {kind: not_found}}]\n", vendors=[OTHER])
    assert await hint(running, "other", "/v1/llama3/invoke") == "'gone' matched."


# Headers of our own


@pytest.mark.covers("promises/first steps", "a typo in a header of ours")
@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("x-emulator-eror", "did you mean x-emulator-error? There are x-emulator-session, x-emulator-error, "),
        ("X-Emulator-Faults", "x-emulator-faults: no such header; did you mean x-emulator-fault?"),
        ("x-emulator-zzz", "there are x-emulator-session, x-emulator-error, x-emulator-fault, x-emulator-ttft, "),
    ],
)
@pytest.mark.parametrize("target", ["/chat", "/nowhere"])
async def test_unknown_emulator_header_is_rejected(start: Start, header: str, says: str, target: str) -> None:
    running = await start(vendors=[TOY])
    answer = await running.ask("toy", target, {"prompt": "Hi"}, headers={**KEY, header: "rate_limited"})
    assert (answer.status, answer.header("Content-Type")) == (400, "application/problem+json")
    assert says in answer.json()["detail"]
    (entry,) = running.built.journal
    assert (entry.error, entry.summary) == ("asked", answer.json()["detail"])
    assert int(entry.id, 16)


@pytest.mark.parametrize("header", ["x-emulator-token", "x-emulator-timing", "X-Emulator-Session", "x-key"])
async def test_recognized_header_is_accepted(start: Start, header: str) -> None:
    running = await start(vendors=[TOY])
    answer = await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3}, headers={**KEY, header: "on"})
    assert answer.status == 200
