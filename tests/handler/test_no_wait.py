"""openai's client under ``clock: instant``: it repeats every refusal that it repeats at all without a real wait."""

import contextlib
import logging
import re
from collections.abc import Iterator

import openai
import pytest

from emulator import start
from emulator.client import EmulatorClient
from emulator.core.errors import ErrorKind
from emulator.core.json import JSON, Object

pytestmark = pytest.mark.slow

ROADS = {
    "databricks": ("/serving-endpoints", "databricks-meta-llama-3-3-70b-instruct"),
    "azure": ("/openai/v1", "gpt-4o"),
    "mindie": ("/v1", "llama_65b"),
    "tgi": ("/v1", "tgi"),
    "openvino": ("/v3", "llama3"),
}
DROPPED = ("mindie", ErrorKind.OVERLOADED)
_PAUSE = re.compile(r"Retrying request .*in ([\d.]+) seconds")  # as the client logs each of its waits


@pytest.fixture(scope="module")
def served() -> Iterator[EmulatorClient]:
    rules: list[JSON] = [
        {"name": kind, "when": {"prompt": kind}, "times": {"first": 2, "per": "request"}, "error": {"kind": kind}}
        for kind in ErrorKind
    ]
    vendors: Object = {"azure": {"profile": "aoai"}}
    with start({"rules": rules}, clock="instant", vendors=vendors) as emulator:
        yield emulator


def connect(emulator: EmulatorClient, vendor: str) -> openai.OpenAI:
    key = "k" * 32
    url = emulator.url(vendor) + ROADS[vendor][0]
    return openai.OpenAI(base_url=url, api_key=key, default_headers={"api-key": key}, max_retries=2)


def ask(client: openai.OpenAI, vendor: str, prompt: str, tokens: int = 2) -> None:
    """Make a call; it may be refused in the end."""
    with contextlib.suppress(openai.APIStatusError):
        client.chat.completions.create(
            model=ROADS[vendor][1], messages=[{"role": "user", "content": prompt}], max_tokens=tokens, timeout=60
        )


def read_pauses(caplog: pytest.LogCaptureFixture) -> list[float]:
    """Return the seconds that openai's client waited before each repetition."""
    return [float(found[1]) for record in caplog.records if (found := _PAUSE.match(record.getMessage()))]


@pytest.mark.parametrize("vendor", ROADS)
def test_no_kind_of_refusal_costs_real_time(
    served: EmulatorClient, vendor: str, caplog: pytest.LogCaptureFixture
) -> None:
    served.reset()
    caplog.set_level(logging.INFO, logger="openai")
    with connect(served, vendor) as client:
        for kind in ErrorKind:
            if (vendor, kind) != DROPPED:
                ask(client, vendor, kind)
    pauses = read_pauses(caplog)
    assert len(pauses) > 4
    assert max(pauses) <= 0.001
    refused = [call for call in served.requests(vendor=vendor) if call.error]
    again = {call.error for call in refused if call.attempt == 2}
    assert {call.error for call in refused if call.status >= 500 or call.status in (408, 409, 429)} == again
    waits = {
        call.error: (call.response.headers.get("retry-after") or call.response.headers.get("Retry-After"))
        for call in refused
    }
    assert set(waits.values()) <= {None, "0"}


SCENES = {
    "a full server": "latency: {{load: {{capacity: 1, queue: 0}}}}",
    "a cold start": "deployments: [{{vendor: {vendor}, name: {model}, state: {{loading: 20s}}}}]",
    "a quota": "limits: [{{unit: requests, amount: 1, window: 60s}}]",
    "a wrong status": "rules: [{{name: a, when: {{prompt: hello}}, faults: [{{type: status, status: 502}}]}}]",
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("vendor", ROADS)
def test_no_scene_costs_real_time(
    served: EmulatorClient, scene: str, vendor: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="openai")
    model = "mistralai/Mistral-7B-Instruct-v0.2" if vendor == "tgi" else ROADS[vendor][1]
    holds: Object = {"name": "holds", "when": {"prompt": "held"}, "faults": [{"type": "hang", "after_tokens": 1}]}
    with served.session("scene") as session, connect(session, vendor) as client, contextlib.ExitStack() as stack:
        session.load(
            SCENES[scene].format(vendor=vendor, model=model),
            rules=[holds],
            clock="instant",
            vendors={"azure": {"profile": "aoai"}},
        )
        if scene != "a cold start":  # a call that takes the place, or the quota
            held = client.chat.completions.create(
                model=ROADS[vendor][1], messages=[{"role": "user", "content": "held"}], max_tokens=4, stream=True
            )
            next(iter(stack.enter_context(held)))
        if (vendor, scene) == (DROPPED[0], "a full server"):
            with pytest.raises(openai.APIConnectionError):
                ask(client, vendor, "hello")
            return
        ask(client, vendor, "hello")
    pauses = read_pauses(caplog)
    assert len(pauses) == (1 if scene == "a quota" else 2)
    assert max(pauses) <= 0.001


LIMITED = """
clock: {clock}
limits: [{{vendor: databricks, unit: tokens, amount: 500, window: 60s}}]
rules:
- name: told
  when: {{prompt: told}}
  error: {{kind: rate_limited, headers: {{Retry-After: "7"}}}}
"""


@pytest.mark.parametrize("clock", ["real", "instant", "frozen", "{scale: 60}"])
@pytest.mark.parametrize("vendor", ROADS)
def test_what_can_never_succeed_names_no_wait(served: EmulatorClient, clock: str, vendor: str) -> None:
    text = LIMITED.format(clock=clock).replace("databricks", vendor)
    with served.session(f"never-{vendor}") as session, connect(session, vendor) as client:
        session.load(text)
        ask(client.with_options(max_retries=0), vendor, "hello", 1000)
        call = session.last()
        assert call.error == "rate_limited"
        assert call.limits[0].wait is None
        assert not {"retry-after", "retry-after-ms"} & {name.lower() for name in call.response.headers}


def headers_of(session: EmulatorClient, vendor: str, prompt: str) -> dict[str, str]:
    with connect(session, vendor) as client:
        ask(client.with_options(max_retries=0), vendor, prompt)
    return {name.lower(): value for name, value in session.last().response.headers.items() if "retry" in name.lower()}


@pytest.mark.covers("language/clocks", "retry_after_ms")
def test_the_switch_takes_only_the_header_that_the_vendor_has_not(served: EmulatorClient) -> None:
    rules: list[JSON] = [
        {"name": kind, "when": {"prompt": kind}, "error": {"kind": kind}} for kind in ("internal", "rate_limited")
    ]
    with served.session("switch") as session:
        session.load({"rules": rules}, clock={"kind": "instant", "retry_after_ms": False})
        assert headers_of(session, "databricks", "internal") == {}
        assert headers_of(session, "databricks", "rate_limited") == {"retry-after": "0", "retry-after-ms": "1"}
        session.load({"rules": rules}, clock="instant")
        assert headers_of(session, "databricks", "internal") == {"retry-after-ms": "1"}


def test_headers_of_a_rule_stay_as_they_are(served: EmulatorClient) -> None:
    with served.session("told") as session:
        session.load(LIMITED.format(clock="instant"))
        assert headers_of(session, "databricks", "told") == {"retry-after": "7"}
