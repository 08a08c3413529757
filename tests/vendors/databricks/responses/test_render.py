"""Responses in one piece."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import GPT, respond

SCHEMA: JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: JSON = {"name": "get_weather", "description": "Weather", "parameters": SCHEMA}
NESTED: JSON = {"type": "function", "function": FUNCTION}


@pytest.mark.covers("databricks/Responses", "answer")
def test_response_has_reference_fields() -> None:
    sent: JSON = {
        "instructions": "Be brief", "max_output_tokens": 400, "temperature": 0.5, "top_p": 0.9, "tools": [NESTED],
        "tool_choice": "none", "parallel_tool_calls": False, "metadata": {"a": "b"},
    }  # fmt: skip
    body = respond(**sent).body
    assert {name: body[name] for name in sent} == sent
    assert (body["object"], body["created_at"], body["status"], body["store"]) == ("response", 5, "completed", False)
    assert (body["error"], body["incomplete_details"], body["model"]) == (None, None, GPT)
    assert len(body["id"]) > 64
    assert [item["type"] for item in body["output"]] == ["reasoning", "message"]
    message = body["output"][-1]
    assert set(message) == {"id", "type", "role", "status", "content"}
    assert (message["role"], message["status"]) == ("assistant", "completed")
    (content,) = message["content"]
    assert (content["type"], content["annotations"]) == ("output_text", [])
    usage = body["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["output_tokens_details"]["reasoning_tokens"] > 0


def test_defaults_are_echoed() -> None:
    body = respond().body
    defaults = {"temperature": 1.0, "top_p": 1.0, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    assert {name: body[name] for name in defaults} == defaults
    assert (body["metadata"], body["instructions"], body["max_output_tokens"]) == ({}, None, None)


@pytest.mark.covers("databricks/Responses", "incomplete")
def test_response_at_token_limit_is_incomplete() -> None:
    body = respond(max_output_tokens=70).body
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert body["usage"]["output_tokens"] == 70
    assert body["output"][-1]["status"] == "incomplete"


def test_include_adds_fields_to_response() -> None:
    body = respond(include=["reasoning.encrypted_content", "message.output_text.logprobs"]).body
    assert body["output"][0]["encrypted_content"]
    assert body["output"][1]["content"][0]["logprobs"]


def test_top_logprobs_lists_alternatives() -> None:
    logprobs = respond(top_logprobs=3).body["output"][-1]["content"][0]["logprobs"]
    assert {len(entry["top_logprobs"]) for entry in logprobs} == {3}


def test_summary_is_shown_on_request() -> None:
    assert respond().body["output"][0]["summary"] == []
    assert respond(reasoning={"summary": "auto"}).body["output"][0]["summary"][0]["type"] == "summary_text"
