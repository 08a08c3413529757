"""Differences between releases that have no switch and are independent of switches."""

import pytest

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Response
from emulator.core.requests import ChatRequest
from emulator.vendors.openvino.release import RELEASES
from emulator.vendors.openvino.routes import VENDOR
from tests.untyped_json import JSON
from tests.vendors.client import make_request
from tests.vendors.openvino.ovms import BASE, CHAT, COMPLETIONS, LATEST, PROMPT, make_server
from tests.vendors.openvino.plans import make_choice, make_plan, render, say


def turn(*parts: JSON) -> JSON:
    return {**BASE, "messages": [{"role": "user", "content": list(parts)}]}


def picture(url: str) -> JSON:
    return {"type": "image_url", "image_url": {"url": url}}


TAG: JSON = {"type": "text", "text": "<ov_genai_image_0>"}


@pytest.mark.parametrize(
    ("switch", "value", "path", "body"),
    [
        pytest.param("cors", False, CHAT, turn(picture("http://here/a.png")), id="where pictures may come from"),
        pytest.param("model_length", False, CHAT, turn(picture("base64,")), id="what is wrong with a picture"),
        pytest.param("model_length", False, CHAT, turn(picture("base64,iVBORw==")), id="pictures for a text graph"),
        pytest.param("modalities", False, CHAT, turn({"type": "input_audio"}), id="a part with a sound"),
        pytest.param("v1_alias", False, COMPLETIONS, {**PROMPT, "model": "eyes"}, id="completions of a vision graph"),
        pytest.param("content_type_routing", False, "/v3/", {**BASE, "model": ""}, id="a graph named by its path"),
        pytest.param("message_rule", "both", CHAT, {**turn(TAG), "model": "eyes"}, id="tags of a vision graph"),
        pytest.param(
            "tools", "ignored", CHAT, {**BASE, "chat_template_kwargs": 1}, id="options of the template are an object"
        ),
    ],
)
def test_setting_leaves_other_refusals_unchanged(switch: str, value: JSON, path: str, body: JSON) -> None:
    refusal = LATEST.refusal(body, path)
    assert refusal is not None
    assert make_server("latest", **{switch: value}).refusal(body, path) == refusal


def test_endpoint_list_without_responses_includes_tokenize() -> None:
    refusal = make_server("2026.2", responses_endpoint=False).refusal(BASE, "/v3/other")
    assert refusal is not None
    assert refusal.error.endswith("/v3/chat/completions, /v3/completions, /v3/tokenize")


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize(("release", "text"), [("2026.1", b"Error while loading a model"), ("2026.2", b"not ready")])
def test_not_ready_status_leaves_message(release: str, text: bytes, status: int) -> None:
    server = make_server(release, not_ready_status=status)
    request = make_request("/v2/health/ready", method="GET")
    answer = VENDOR.render_error(EmulatedError(ErrorKind.NOT_READY), request, server.service)
    assert answer.status == status
    assert text in answer.body


def test_max_completion_tokens_may_equal_limit_since_2025_1() -> None:
    body = {**BASE, "max_completion_tokens": 9}
    switches: dict[str, JSON] = {"max_tokens_limit": 9, "max_tokens_limit_is_default": False}
    assert make_server("2025.1", **switches).refusal(body) is None
    assert make_server("2025.0", **switches).refusal(body) is not None


@pytest.mark.covers("openvino/fields of 2026.3", "top_k")
def test_top_k_defaults_to_40_since_2026_2() -> None:
    for profile, top_k in (("2026.2", 40), ("2026.1", -1)):
        for checks in (True, False):
            sampling = make_server(profile, full_checks=checks).sampling(top_k=top_k)
            assert "top_k" not in dict(sampling.parameters)


def test_message_texts_are_joined_since_2026_2() -> None:
    body = turn({"type": "text", "text": "a"}, {"type": "text", "text": "b"})
    assert make_server("2026.2", message_rule="both").call(body).request.prompt == "a\nb"
    assert make_server("2026.1", message_rule="role").call(body).request.prompt == "b"


def test_vision_graphs_have_no_logprobs_key_since_2026_1() -> None:
    for last in (True, False):
        assert b"logprobs" not in render(make_server("2026.1", finish_reason_last=last), say("Hi"), model="eyes")
        assert b"logprobs" in render(make_server("2026.0", finish_reason_last=last), say("Hi"), model="eyes")


def test_verbose_response_ignores_empty_delta_setting() -> None:
    assert b"__verbose" in render(make_server("latest", verbose_response=True, empty_delta=False), say("Hi"))
    assert b"__verbose" not in render(make_server("2026.2", verbose_response=True, empty_delta=True), say("Hi"))


def test_reasoning_is_parsed_with_tools_ignored() -> None:
    server = make_server("latest", tools="ignored")
    ask = server.call({**BASE, "model": "thinker"}).request
    assert isinstance(ask, ChatRequest)
    assert ask.reasoning == "medium"
    plan = make_plan(make_choice(("reasoning", "", ["Hm"]), ("tool_call", "f", ["{}"])))
    text = b'{"content":"{\\"name\\": \\"f\\", \\"parameters\\": {}}","reasoning_content":"Hm","role":"assistant"}'
    assert text in render(server, plan)


@pytest.mark.parametrize(("profile", "status"), [("2025.4", 404), ("2026.3", 200)])
def test_v1_models_list_since_2026_3(profile: str, status: int) -> None:
    for alias in (True, False):
        answer = make_server(profile, v1_alias=alias).send("/v1/models", method="GET")
        assert isinstance(answer, Response)
        assert answer.status == status


def test_release_since_compares_versions() -> None:
    release = RELEASES["2025.3"]
    assert [release.since(*version) for version in ((2024, 2), (2025, 3), (2025, 4), (2026, 0))] == [1, 1, 0, 0]


_NAMES = tuple(name for name in RELEASES if name[0] == "2")
_SAYS: JSON = {"model": "llama3", "input": "Hello", "max_output_tokens": 1}
_EMBEDS: JSON = {"model": "embeddings", "input": "Hello"}
_RANKS: JSON = {"model": "rerank", "query": "a", "documents": ["b"]}
_DRAWS: JSON = {"model": "draws", "prompt": "a cat", "size": "2x2"}
_TALKS: JSON = {"model": "speaks", "input": "Hello"}


@pytest.mark.covers("openvino/releases", "aliases", "embeddings, rerank", "models list", "images", "responses")
@pytest.mark.parametrize("release", _NAMES)
@pytest.mark.parametrize(
    ("method", "path", "body", "since"),
    [
        pytest.param("POST", CHAT, BASE, "2024.2", id="chat"),
        pytest.param("POST", COMPLETIONS, PROMPT, "2024.2", id="completions"),
        pytest.param("POST", "/v3/v1/chat/completions", BASE, "2025.0", id="chat under v3/v1"),
        pytest.param("POST", "/v3/v1/completions", PROMPT, "2025.0", id="completions under v3/v1"),
        pytest.param("POST", "/v1/chat/completions", BASE, "2026.3", id="chat under v1"),
        pytest.param("POST", "/v1/completions", PROMPT, "2026.3", id="completions under v1"),
        pytest.param("POST", "/v3/embeddings", _EMBEDS, "2025.0", id="embeddings"),
        pytest.param("POST", "/v1/embeddings", _EMBEDS, "2026.3", id="embeddings under v1"),
        pytest.param("POST", "/v3/rerank", _RANKS, "2025.0", id="rerank"),
        pytest.param("POST", "/v3/images/generations", _DRAWS, "2025.2", id="images"),
        pytest.param("POST", "/v3/audio/speech", _TALKS, "2025.4", id="speech"),
        pytest.param("POST", "/v3/responses", _SAYS, "2026.2", id="responses"),
        pytest.param("POST", "/v3/v1/responses", _SAYS, "2026.2", id="responses under v3/v1"),
        pytest.param("POST", "/v1/responses", _SAYS, "2026.3", id="responses under v1"),
        pytest.param("POST", "/v3/tokenize", {"model": "embeddings", "text": "a"}, "2025.4", id="tokens of embeddings"),
        pytest.param("POST", "/v3/tokenize", {"model": "llama3", "text": "a"}, "2026.0", id="tokens of a chat"),
        pytest.param("GET", "/v3/models", None, "2025.3", id="the list"),
        pytest.param("GET", "/v3/v1/models", None, "2025.3", id="the list under v3/v1"),
        pytest.param("GET", "/v3/models/llama3", None, "2025.3", id="a model"),
        pytest.param("OPTIONS", CHAT, None, "2025.3", id="OPTIONS"),
    ],
)
def test_endpoints_by_release(release: str, method: str, path: str, body: JSON, since: str) -> None:
    refusal = make_server(release).refusal(body, path, method=method)
    assert (refusal is None) == (release >= since), refusal


@pytest.mark.covers("openvino/releases", "TensorFlow Serving")
@pytest.mark.parametrize("release", _NAMES)
@pytest.mark.parametrize("path", ["/v1/models/llama3", "/v1/models/llama3/versions/1", "/v1/models/dummy/metadata"])
def test_tensorflow_serving_is_removed_in_2026_3(release: str, path: str) -> None:
    refusal = make_server(release).refusal(None, path, method="GET")
    assert (refusal is None) == (release < "2026.3" or path == "/v1/models/llama3")


@pytest.mark.covers("openvino/releases", "API key", "CORS, OPTIONS")
@pytest.mark.parametrize("release", _NAMES)
def test_keys_and_origins_by_release(release: str) -> None:
    server = make_server(release, keys={"1234": "search"})
    assert (server.refusal(BASE) is None) == (release < "2025.4")
    answer = server.send(CHAT, b"{")
    assert isinstance(answer, Response)
    assert ("access-control-allow-origin" in dict(answer.headers)) == (release >= "2025.3")
