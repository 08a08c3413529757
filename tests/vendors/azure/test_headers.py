"""Headers that are read, repeated, or report the remaining quota."""

from math import ceil

import pytest
from multidict import CIMultiDict

from emulator.core.calls import InferenceCall
from emulator.vendors.azure.routes import VENDOR
from tests.conftest import Start
from tests.untyped_json import JSON
from tests.vendors import client
from tests.vendors.azure.service import CHAT, HELLO, VERSION, chat, make_request, refuse, serve


@pytest.mark.covers("azure/headers of a request", "x-ms-client-request-id")
def test_client_request_id_is_echoed() -> None:
    headers = {"x-ms-client-request-id": "d9a11e7a"}
    assert refuse({}, headers=headers).headers["x-ms-client-request-id"] == "d9a11e7a"
    assert "x-ms-client-request-id" not in refuse({}).headers


READ: JSON = {
    "/chat/completions": chat(max_tokens=3, stream=True, tools=[{"type": "function", "function": {"name": "f"}}]),
    "/completions": {"prompt": ["a", "b"]},
    "/embeddings": {"input": ["a"]},
    "/images/embeddings": {"input": [{"image": "data:,a"}]},
}


@pytest.mark.parametrize("route", READ)
def test_unrelated_headers_do_not_change_parsed_call(route: str) -> None:
    first, second = (make_request(f"{route}{VERSION}", READ[route]) for _ in range(2))
    second.key = b"another key 1234"
    second.headers = CIMultiDict({**second.headers, "x-ms-client-request-id": "i", "User-Agent": "u"})
    calls = []
    for request in (first, second):
        call = client.send(VENDOR, serve(), request)
        assert isinstance(call, InferenceCall)
        calls.append(call)
    for name in ("deployment", "request", "codec", "stream", "prompt_tokens"):
        assert getattr(calls[0], name) == getattr(calls[1], name)
    assert calls[0].repeatable
    assert calls[1].repeatable


@pytest.mark.covers("azure/routing", "x-ms-model-mesh-model-name", case="x-ms-model-mesh-model-name")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"azureml-model-deployment": "nobody"}, 404, id="azureml-model-deployment"),
        pytest.param({"extra-parameters": "maybe"}, 400, id="extra-parameters"),
        pytest.param({"x-ms-model-mesh-model-name": "llama2-7b"}, 404, id="x-ms-model-mesh-model-name"),
        pytest.param({"Content-Type": "text/plain"}, 422, id="Content-Type"),
        pytest.param({"api-key": "000"}, 401, id="api-key"),
    ],
)
async def test_relevant_header_is_read_on_repeated_request(start: Start, headers: dict[str, str], status: int) -> None:
    running = await start()
    good = {"api-key": "k"}
    answers = [await running.ask("azure", CHAT, HELLO, headers=good) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert len({answer.json()["id"] for answer in answers}) == 3
    assert len({answer.json()["choices"][0]["message"]["content"] for answer in answers}) == 1
    assert (await running.ask("azure", CHAT, HELLO, headers={**good, **headers})).status == status
    echoed = await running.ask("azure", CHAT, HELLO, headers={**good, "x-ms-client-request-id": "mine"})
    assert echoed.header("x-ms-client-request-id") == "mine"


KEY = {"api-key": "k", "x-ms-client-request-id": "d9"}
LIMIT = "limits:\n  - {vendor: azure, unit: requests, amount: 2, window: 60s, strategy: fixed}\n"
LEFT = ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests")


@pytest.mark.covers("azure/headers of an answer", "x-ratelimit-remaining-requests", "UserByModelByMinute")
@pytest.mark.parametrize(
    ("profile", "reported"),
    [("seed", True), ("maas", False), ("managed", False), ("foundry", True), ("aoai", True)],
)
async def test_call_over_request_limit_is_rejected(start: Start, profile: str, reported: bool) -> None:
    running = await start(f"vendors: {{azure: {{profile: {profile}}}}}\n{LIMIT}")
    body = chat(model="gpt-4o-mini", max_tokens=2)
    answers = [await running.ask("azure", CHAT, body, headers=KEY) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert int(answers[2].header("Retry-After") or 0) == 60
    left = [[answer.header(name) for name in LEFT] for answer in answers]
    assert left == ([["2", "1"], ["2", "0"], ["2", "0"]] if reported else [[None, None]] * 3)
    for answer in answers:
        assert [value for name, value in answer.headers if name == "x-ms-client-request-id"] == ["d9"]
    if profile == "foundry":
        assert answers[2].json()["error"]["message"] == (
            "Rate limit of 2 per 60s exceeded for UserByModelByMinute. Please wait 60 seconds before retrying."
        )


@pytest.mark.covers(
    "azure/headers of an answer",
    "x-ratelimit-limit-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
)
@pytest.mark.parametrize(
    ("target", "scenario", "expected"),
    [
        pytest.param("/openai/v1/chat/completions", "", ("1000", "999", "400000"), id="Azure OpenAI always reports"),
        pytest.param(CHAT, "profile=foundry", ("1000", "999", "400000"), id="Foundry too"),
        pytest.param(CHAT, "profile=foundry, rate_limit_headers=false", (None, None, None), id="switched off"),
        pytest.param(CHAT, "", (None, None, None), id="the documented API does not"),
        pytest.param(CHAT, "profile=maas", (None, None, None), id="nor does a serverless endpoint"),
    ],
)
async def test_default_quota_headers(
    start: Start, target: str, scenario: str, expected: tuple[str | None, ...]
) -> None:
    settings = "{" + scenario.replace("=", ": ") + "}"
    running = await start(f"vendors: {{azure: {settings}}}\n")
    answer = await running.ask("azure", target, chat(model="gpt-4o-mini", max_tokens=2), headers=KEY)
    names = ("limit-requests", "remaining-requests", "limit-tokens")
    assert tuple(answer.header(f"x-ratelimit-{name}") for name in names) == expected
    if expected[2] is not None:
        used = answer.json()["usage"]["total_tokens"]
        assert answer.header("x-ratelimit-remaining-tokens") == str(400_000 - used)


COUNTS = [f"x-ratelimit-{what}-{unit}" for unit in ("requests", "tokens") for what in ("limit", "remaining")]
BOTH = (
    "limits:\n  - {vendor: azure, unit: requests, amount: 3, window: 60s, strategy: fixed}\n"
    "  - {vendor: azure, unit: tokens, amount: 25, window: 60s, strategy: fixed}\n"
)
ONE = "limits: [{vendor: azure, unit: requests, amount: 2, window: 60s, strategy: fixed}]\n"
RULE = "rules: [{name: r, times: {after: 2}, error: {kind: rate_limited, limit: input_tokens}}]\n"


@pytest.mark.covers("azure/headers of an answer", "the same of a 429", "retry-after-ms")
@pytest.mark.parametrize("target", [CHAT, "/openai/deployments/gpt-4o-mini" + CHAT, "/openai/v1/chat/completions"])
@pytest.mark.parametrize(
    ("limits", "answered", "refused"),
    [
        pytest.param(BOTH, ["3", "1", "25", "5"], ["3", "1", "25", "5"], id="a limit of each, tokens refuse"),
        pytest.param(ONE, ["2", "0", "400000", "399990"], ["2", "0", "400000", "400000"], id="one limit"),
        pytest.param(RULE, ["1000", "999", "400000", "399990"], ["1000", "1000", "400000", "0"], id="a rule refuses"),
    ],
)
async def test_rejection_has_rate_limit_headers_like_response(
    start: Start, target: str, limits: str, answered: list[str], refused: list[str]
) -> None:
    running = await start(f"vendors: {{azure: {{profile: foundry}}}}\n{limits}")
    body = chat(model="gpt-4o-mini", max_tokens=2)
    answers = [await running.ask("azure", target, body, headers=KEY) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answers[1].header(name) for name in COUNTS] == answered
    assert [answers[2].header(name) for name in COUNTS] == refused
    assert answers[2].header("Retry-After") == str(ceil(int(answers[2].header("retry-after-ms") or 0) / 1000))


@pytest.mark.parametrize(
    ("wait", "seconds", "milliseconds"),
    [("1ms", "1", "1"), ("1.2s", "2", "1200"), ("2s", "2", "2000"), ("0.25ms", "1", "1"), ("2.3s", "3", "2300")],
)
async def test_wait_in_milliseconds_is_not_rounded_to_seconds(
    start: Start, wait: str, seconds: str, milliseconds: str
) -> None:
    rule = f"rules: [{{name: r, error: {{kind: rate_limited, retry_after: {wait}}}}}]\n"
    running = await start(f"vendors: {{azure: {{profile: foundry}}}}\n{rule}")
    answer = await running.ask("azure", CHAT, chat(model="gpt-4o-mini"), headers=KEY)
    assert [answer.header(name) for name in ("Retry-After", "retry-after-ms")] == [seconds, milliseconds]


@pytest.mark.covers("azure/headers of an answer", "UserByModelByDay")
async def test_daily_limit_is_named_in_error(start: Start) -> None:
    limit = "limits: [{vendor: azure, unit: requests, amount: 1, window: 24h, strategy: fixed}]\n"
    running = await start(f"vendors: {{azure: {{profile: foundry}}}}\n{limit}")
    answers = [await running.ask("azure", CHAT, chat(model="gpt-4o-mini"), headers=KEY) for _ in range(2)]
    assert answers[1].json()["error"]["message"] == (
        "Rate limit of 1 per 86400s exceeded for UserByModelByDay. Please wait 86400 seconds before retrying."
    )
