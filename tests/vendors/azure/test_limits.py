"""Quotas and late failures, through a live port."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.vendors.azure.errors.render import render_late_error
from tests.conftest import Start
from tests.vendors.azure.service import CHAT, chat, make_request, serve

KEY = {"api-key": "k", "x-ms-client-request-id": "d9"}
LIMIT = "limits:\n  - {vendor: azure, unit: requests, amount: 2, window: 60s, strategy: fixed}\n"
LEFT = ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests")


@pytest.mark.parametrize(
    ("profile", "told"),
    [("seed", True), ("maas", False), ("managed", False), ("foundry", True), ("aoai", True)],
)
async def test_the_third_of_two_calls_is_refused(start: Start, profile: str, told: bool) -> None:
    running = await start(f"vendors: {{azure: {{profile: {profile}}}}}\n{LIMIT}")
    body = chat(model="gpt-4o-mini", max_tokens=2)
    answers = [await running.ask("azure", CHAT, body, headers=KEY) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert int(answers[2].header("Retry-After") or 0) == 60
    left = [[answer.header(name) for name in LEFT] for answer in answers]
    assert left == ([["2", "1"], ["2", "0"], ["2", "0"]] if told else [[None, None]] * 3)
    for answer in answers:
        assert [value for name, value in answer.headers if name == "x-ms-client-request-id"] == ["d9"]
    if profile == "foundry":
        assert answers[2].json()["error"]["message"] == (
            "Rate limit of 2 per 60s exceeded for UserByModelByMinute. Please wait 60 seconds before retrying."
        )


@pytest.mark.parametrize(
    ("profile", "event"),
    [
        pytest.param(
            "managed", "event: error\ndata: Error parsing decoded stream: oh no\n\ndata: [DONE]\n\n", id="managed"
        ),
        pytest.param("aoai", 'data: {"error":{"code":"InternalServerError","message":"oh no"}}\n\n', id="aoai"),
        pytest.param(
            "maas",
            'data: {"error":{"code":"Internal Server Error","message":"oh no","status":500}}\n\n',
            id="maas",
        ),
        pytest.param(
            "seed",
            'data: {"status":500,"code":"InternalServerError","error":"Internal Server Error","message":"oh no",'
            '"param":""}\n\n',
            id="seed",
        ),
    ],
)
def test_late_failures(profile: str, event: str) -> None:
    error = EmulatedError(ErrorKind.INTERNAL, "oh no")
    service = serve(f"profile={profile}")
    assert render_late_error(error, make_request(CHAT, chat()), service).decode() == event


def test_a_late_failure_without_json_has_a_message() -> None:
    error = EmulatedError(ErrorKind.NOT_FOUND)
    event = render_late_error(error, make_request(CHAT, chat()), serve("profile=maas"))
    assert event == b'data: {"error":{"message":"NOT FOUND"}}\n\n'
