"""Clients' own retries and typed errors: what they make of a server that throttles twice and then answers."""

import logging
import re
import time
from collections.abc import Callable

import pytest
from openai import OpenAI

from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

CLIENTS = {"test_openai": "openai", "test_azure": "azure-ai-inference", "test_databricks": "databricks-sdk"}
_PAUSE = re.compile(r"Retrying request .*in ([\d.]+) seconds")  # as openai's client logs each of its waits
LiveWith = Callable[[str], Running]

CHAT = "databricks-meta-llama-3-3-70b-instruct"
TWICE = """\
version: 1
clock: {}
rules:
- name: throttled twice
  times: {{per: request}}
  sequence:
  - error: {{kind: rate_limited, retry_after: 1s}}
  - error: {{kind: rate_limited, retry_after: 1s}}
"""
KINDS = """\
version: 1
rules:
- {name: forbidden, when: {prompt: forbidden}, error: {kind: forbidden}}
- {name: internal, when: {prompt: internal}, error: {kind: internal}}
- {name: invalid_request, when: {prompt: invalid_request}, error: {kind: invalid_request}}
- {name: not_found, when: {prompt: not_found}, error: {kind: not_found}}
- {name: overloaded, when: {prompt: overloaded}, error: {kind: overloaded}}
- {name: rate_limited, when: {prompt: rate_limited}, error: {kind: rate_limited, retry_after: 0s}}
- {name: timeout, when: {prompt: timeout}, error: {kind: timeout}}
- {name: unauthenticated, when: {prompt: unauthenticated}, error: {kind: unauthenticated}}
"""


def ask_openai(running: Running, vendor: str, path: str, model: str) -> tuple[int, float]:
    """How often the client tried again, and how many seconds it took."""
    query = {"api-version": "2024-05-01-preview"} if vendor == "azure" else {}
    key = running.key("k")
    headers = {"api-key": key}
    with OpenAI(
        base_url=running.urls[vendor] + path, api_key=key, default_query=query, default_headers=headers
    ) as client:
        begun = time.monotonic()
        answer = client.chat.completions.with_raw_response.create(
            model=model, messages=[{"role": "user", "content": "hi"}], max_tokens=5
        )
        assert answer.parse().choices[0].message.content
        return answer.retries_taken, time.monotonic() - begun


def test_openai_waits_for_retry_after(live_with: LiveWith) -> None:
    retries, seconds = ask_openai(live_with(TWICE.format("real")), "databricks", "/serving-endpoints", CHAT)
    assert retries == 2
    assert seconds >= 2.0


@pytest.mark.parametrize(
    ("vendor", "path", "model"),
    [
        pytest.param("databricks", "/serving-endpoints", CHAT, id="databricks"),
        pytest.param("azure", "", "Llama", id="azure"),
        pytest.param("mindie", "/v1", "llama_65b", id="mindie"),
        pytest.param("tgi", "/v1", "tgi", id="tgi"),
        pytest.param("openvino", "/v3", "llama3", id="openvino"),
    ],
)
def test_openai_retries_immediately_on_instant_clock(
    live_with: LiveWith, vendor: str, path: str, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="openai")
    retries, _ = ask_openai(live_with(TWICE.format("instant")), vendor, path, model)
    pauses = [float(found[1]) for record in caplog.records if (found := _PAUSE.match(record.getMessage()))]
    assert (retries, pauses) == (2, [0.001, 0.001])


def test_azure_retries_rate_limited_call(live_with: LiveWith) -> None:
    inference = pytest.importorskip("azure.ai.inference")
    credentials = pytest.importorskip("azure.core.credentials")
    running = live_with(TWICE.format("{scale: 1000}"))
    message = inference.models.UserMessage(content="hi")
    with inference.ChatCompletionsClient(
        running.urls["azure"], credentials.AzureKeyCredential(running.key("k"))
    ) as client:
        begun = time.monotonic()
        assert client.complete(messages=[message], max_tokens=3).usage.completion_tokens == 3
    assert time.monotonic() - begun >= 2.0  # whole seconds, rounded up
    assert [entry.status for entry in running.built.journal][:2] == [429, 429]


@pytest.mark.parametrize(
    ("kind", "error", "status"),
    [
        pytest.param("unauthenticated", "ClientAuthenticationError", 401, id="unauthenticated"),
        pytest.param("forbidden", "HttpResponseError", 403, id="forbidden"),
        pytest.param("not_found", "ResourceNotFoundError", 404, id="not found"),
        pytest.param("invalid_request", "HttpResponseError", 400, id="a bad request"),
        pytest.param("rate_limited", "HttpResponseError", 429, id="throttled"),
        pytest.param("overloaded", "HttpResponseError", 503, id="overloaded"),
        pytest.param("internal", "HttpResponseError", 500, id="a failure"),
        pytest.param("timeout", "HttpResponseError", 504, id="too late"),
    ],
)
def test_azure_maps_error_kinds_to_classes(live_with: LiveWith, kind: str, error: str, status: int) -> None:
    inference = pytest.importorskip("azure.ai.inference")
    credentials = pytest.importorskip("azure.core.credentials")
    exceptions = pytest.importorskip("azure.core.exceptions")
    running = live_with(KINDS)
    message = inference.models.UserMessage(content=kind)
    with (
        inference.ChatCompletionsClient(
            running.urls["azure"], credentials.AzureKeyCredential(running.key("k")), retry_total=0
        ) as client,
        pytest.raises(exceptions.HttpResponseError) as caught,
    ):
        client.complete(messages=[message])
    assert (type(caught.value).__name__, caught.value.status_code) == (error, status)


HOST_ONLY = pytest.mark.parametrize("session_by", ["plain", "key", "own port"])  # the client drops a path


def databricks(running: Running, seconds: int) -> JSON:
    sdk = pytest.importorskip("databricks.sdk")
    host, token = running.urls["databricks"], running.key("dapi-x")
    config = sdk.core.Config(host=host, token=token, retry_timeout_seconds=seconds)
    return sdk.WorkspaceClient(config=config)


def query(client: JSON, text: str) -> JSON:
    serving = pytest.importorskip("databricks.sdk.service.serving")
    message = serving.ChatMessage(role=serving.ChatMessageRole.USER, content=text)
    return client.serving_endpoints.query(CHAT, messages=[message], max_tokens=3)


@HOST_ONLY
def test_databricks_retries_rate_limited_call(live_with: LiveWith) -> None:
    running = live_with(TWICE.format("real"))
    begun = time.monotonic()
    assert query(databricks(running, 20), "hi").choices
    assert time.monotonic() - begun >= 2.0
    assert [entry.status for entry in running.built.journal][:2] == [429, 429]


@HOST_ONLY
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        pytest.param("unauthenticated", "Unauthenticated", id="unauthenticated"),
        pytest.param("forbidden", "PermissionDenied", id="forbidden"),
        pytest.param("not_found", "NotFound", id="not found"),
        pytest.param("invalid_request", "BadRequest", id="a bad request"),
        pytest.param("internal", "InternalError", id="a failure"),
    ],
)
def test_databricks_maps_error_kinds_to_classes(live_with: LiveWith, kind: str, error: str) -> None:
    errors = pytest.importorskip("databricks.sdk.errors")
    with pytest.raises(getattr(errors, error)):
        query(databricks(live_with(KINDS), 1), kind)


@pytest.mark.covers("databricks/traps", "7 retried for five minutes")
@HOST_ONLY
@pytest.mark.parametrize("kind", ["rate_limited", "overloaded"])
def test_databricks_times_out_on_persistent_refusals(live_with: LiveWith, kind: str) -> None:
    client = databricks(live_with(KINDS), 1)
    with pytest.raises(TimeoutError, match="Timed out after"):
        query(client, kind)
