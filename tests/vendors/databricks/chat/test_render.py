"""Chat answers in one piece, as each family and each trait has them."""

import pytest

from emulator.core.requests import Deployment
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import (
    CLAUDE,
    GEMINI,
    GPT,
    LLAMA,
    OSS,
    chat,
    invoke,
    mine,
    with_traits,
)


@pytest.mark.covers("databricks/chat", "logprobs")
def test_logprobs_cover_every_token() -> None:
    answer = chat(logprobs=True, top_logprobs=4, max_tokens=5)
    entries = answer.body["choices"][0]["logprobs"]["content"]
    assert len(entries) == 5
    assert all(len(entry["top_logprobs"]) == 4 for entry in entries)
    plain = chat(logprobs=True, max_tokens=5).body["choices"][0]["logprobs"]["content"]
    assert all(entry["top_logprobs"] == [] for entry in plain)
    assert "".join(bytes(e["bytes"]).decode() for e in entries) == answer.body["choices"][0]["message"]["content"]


@pytest.mark.covers("databricks/conventions", "served-model-name")
@pytest.mark.covers("databricks/usage", "total_tokens")
@pytest.mark.covers("databricks/chat", "model", "id")
def test_response_matches_reference_shape() -> None:
    answer = chat(max_tokens=2)
    body = answer.body
    assert list(body) == ["id", "object", "created", "model", "choices", "usage"]
    assert body["id"].startswith("chatcmpl_")
    assert (body["object"], body["created"]) == ("chat.completion", 5)
    assert body["model"] == "meta-llama-3.3-70b-instruct-121024"
    assert list(body["choices"][0]) == ["index", "message", "finish_reason", "logprobs"]
    assert body["choices"][0]["message"]["role"] == "assistant"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert answer.headers["served-model-name"] == LLAMA


PICTURE: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}


@pytest.mark.covers("databricks/usage", "reasoning_tokens", "completion_tokens_details")
@pytest.mark.covers("databricks/chat", "reasoning as a list")
def test_gpt_oss_response_includes_reasoning() -> None:
    body = chat(OSS).body
    thought, text = body["choices"][0]["message"]["content"]
    assert (thought["type"], text["type"]) == ("reasoning", "text")
    assert set(thought["summary"][0]) == {"type", "text"}
    assert body["usage"]["reasoning_tokens"] == body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 64


@pytest.mark.covers("databricks/chat", "signatures")
def test_claude_reasons_on_request_with_signature() -> None:
    plain = chat(CLAUDE).body
    assert isinstance(plain["choices"][0]["message"]["content"], str)
    assert "reasoning_tokens" not in plain["usage"]
    thinking = chat(CLAUDE, thinking={"type": "enabled", "budget_tokens": 4096}).body
    assert thinking["choices"][0]["message"]["content"][0]["summary"][0]["signature"]
    assert thinking["usage"]["reasoning_tokens"] > 0
    assert chat(CLAUDE, thinking={"type": "disabled"}).body["choices"] == plain["choices"]


@pytest.mark.covers("databricks/chat", "max_completion_tokens of GPT", "nulls of GPT")
def test_gpt_message_has_null_fields() -> None:
    message = chat(GPT, max_completion_tokens=90).body["choices"][0]["message"]
    assert (message["refusal"], message["annotations"]) == (None, None)


@pytest.mark.covers("databricks/chat", "extra_fields")
def test_external_gemini_has_safety_rating() -> None:
    external = with_traits("external", family="gemini")
    assert "safetyRating" in mine(external).body["choices"][0]["extra_fields"]
    assert "extra_fields" not in chat(GEMINI).body["choices"][0]


def test_external_models_without_reasoning_answer_directly() -> None:
    for model, thinks in (("gpt-4o", False), ("gpt-35-turbo", False), ("gpt-5-mini", True)):
        external = Deployment(vendor="databricks", name="mine", mode="external", model=model)
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        answer = invoke("mine", body, deployments=(external,)).body
        assert ("reasoning_tokens" in answer["usage"]) is thinks
        assert bool(answer["choices"][0]["message"]["content"]) is not thinks


def test_deployment_traits() -> None:
    listed = mine(with_traits(content_style="list")).body["choices"][0]["message"]["content"]
    assert [part["type"] for part in listed] == ["text"]
    thought = mine(with_traits(reasoning=True)).body["choices"][0]["message"]["content"]
    assert [part["type"] for part in thought] == ["reasoning", "text"]
    assert mine(with_traits(allow_n=True), n=2).status == 200
    assert mine(with_traits("provisioned", allow_n=False), n=2).status == 400
    assert mine(with_traits(responses_api=True, family="gpt"), messages=None, input="x").body["object"] == "response"
    seen = [{"role": "user", "content": [PICTURE]}]
    assert mine(with_traits(vision=True, content_parts=True), messages=seen).status == 200
    plain = mine(with_traits()).body["usage"]["prompt_tokens"]
    assert mine(with_traits(template_overhead_tokens=7)).body["usage"]["prompt_tokens"] == plain + 7
