"""What a widely used client makes of each fault; its own retries are off."""

import json
import sys
from collections.abc import Callable, Iterator

import openai
import pytest
from openai import OpenAI

from tests.http_client import Running

pytestmark = pytest.mark.slow

# Before its third major version the client let errors of its HTTP library through once a stream had begun.
TORN = (openai.APIConnectionError, getattr(sys.modules.get("httpx"), "TransportError", openai.APIConnectionError))
SCENARIO = "rules:\n- name: r\n  reply: {chunks: ['Hello ', '你好 ', '😀 ', 'end']}\n"
SILENT = {"hang": 0.25, "stall; for=1h; at=0.5": 0.25, "hang; after_tokens=2": 5}
"""Seconds after which the client gives up, where nothing more comes; the last leaves time for what came before."""
TEXT = "Hello 你好 😀 end"


@pytest.fixture
def client(live_with: Callable[[str], Running]) -> Iterator[OpenAI]:
    with OpenAI(
        base_url=live_with(SCENARIO).urls["databricks"] + "/serving-endpoints",
        api_key="k",
        max_retries=0,
        timeout=60,
    ) as client:
        yield client


def ask(client: OpenAI, fault: str) -> str | None:
    answer = client.with_options(timeout=SILENT.get(fault, 60)).chat.completions.create(
        model="databricks-meta-llama-3-3-70b-instruct",
        messages=[{"role": "user", "content": "hi"}],
        extra_headers={"x-emulator-fault": fault},
    )
    return answer.choices[0].message.content


def listen(client: OpenAI, fault: str, heard: list[str]) -> None:
    """Return all texts of a stream, and at last why it ends."""
    with client.with_options(timeout=SILENT.get(fault, 60)).chat.completions.create(
        model="databricks-meta-llama-3-3-70b-instruct",
        messages=[{"role": "user", "content": "hi"}],
        stream=True,
        extra_headers={"x-emulator-fault": fault},
    ) as stream:
        for chunk in stream:
            for choice in chunk.choices:
                heard.extend(filter(None, [choice.delta.content, choice.finish_reason]))


@pytest.mark.covers("language/faults", "status", case="a status")
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param("disconnect", openai.APIConnectionError, id="reset before any byte"),
        pytest.param("disconnect; at=0.5", openai.APIConnectionError, id="reset in the body"),
        pytest.param("hang", openai.APITimeoutError, id="no answer"),
        pytest.param("hang; for=1ms", openai.APIConnectionError, id="closed without an answer"),
        pytest.param("stall; for=1h; at=0.5", openai.APITimeoutError, id="silence in the body"),
        pytest.param("garbage", json.JSONDecodeError, id="no JSON"),
        pytest.param("truncate; at=0.5", json.JSONDecodeError, id="half the JSON"),
        pytest.param("empty_body", json.JSONDecodeError, id="no body"),
        pytest.param("status; status=503", openai.InternalServerError, id="a status"),
    ],
)
def test_faulted_response_raises_client_error(client: OpenAI, fault: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        ask(client, fault)


@pytest.mark.covers("language/writes", "utf8", case="inside characters")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("split; writes=byte", id="byte by byte"),
        pytest.param("split; writes=utf8", id="inside characters"),
        pytest.param("extra_fields", id="with unknown fields"),
        pytest.param("wrong_usage", id="with wrong counts"),
        pytest.param('drop; field=["usage","id"]', id="without counts and id"),
        pytest.param("drip; bytes_per_second=5000", id="slowly"),
    ],
)
def test_faulted_response_stays_readable(client: OpenAI, fault: str) -> None:
    assert ask(client, fault) == TEXT
    heard: list[str] = []
    listen(client, fault, heard)
    assert "".join(heard) == TEXT + "stop"


@pytest.mark.covers("language/faults", "truncate", case="an end that says nothing")
@pytest.mark.parametrize(
    ("fault", "said", "error"),
    [
        pytest.param("disconnect; after_tokens=2", "Hello 你好 ", TORN, id="reset"),
        pytest.param("disconnect; after_tokens=2; inside=event", "Hello 你好 ", TORN, id="reset in an event"),
        pytest.param("hang; after_tokens=2", "Hello 你好 ", TORN, id="silence"),
        pytest.param("hang; after_tokens=2; for=1ms", "Hello 你好 ", TORN, id="closed"),
        pytest.param("late_error; after_tokens=2", "Hello 你好 ", openai.APIError, id="an error"),
        pytest.param("garbage; after_tokens=2", "Hello 你好 ", json.JSONDecodeError, id="no JSON"),
        pytest.param("truncate; after_tokens=2", "Hello 你好 ", None, id="an end that says nothing"),
        pytest.param("drop; field=finish_reason", TEXT, None, id="no finish reason"),
        pytest.param("drop; field=done", TEXT + "stop", None, id="no mark of the end"),
        pytest.param("duplicate; after_tokens=3", TEXT + "endstop", None, id="a word twice"),
        pytest.param("reorder; after_tokens=1", "Hello 😀 你好 endstop", None, id="words exchanged"),
        pytest.param("empty_body", "", None, id="nothing"),
    ],
)
def test_faulted_stream_yields_text_or_error(
    client: OpenAI, fault: str, said: str, error: type[Exception] | tuple[type[Exception], ...] | None
) -> None:
    heard: list[str] = []
    if error is None:
        listen(client, fault, heard)
    else:
        with pytest.raises(error):
            listen(client, fault, heard)
    assert "".join(heard) == said
