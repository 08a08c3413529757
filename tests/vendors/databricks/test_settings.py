"""Switches: each alone, and all together in the profiles."""

import pytest
from pydantic import ValidationError

from emulator.vendors.databricks.settings import PROFILES, DatabricksSettings
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import BGE, CLAUDE, GPT, LLAMA, OSS, Exchange, chat, invoke, send

USER: JSON = {"role": "user", "content": "Tell me about Paris"}
FUNCTION: JSON = {"name": "f", "parameters": {"type": "object", "properties": {}}}
NESTED: JSON = {"type": "function", "function": {**FUNCTION, "description": "d"}}
FLAT: JSON = {"type": "function", **FUNCTION, "description": "d"}
SCHEMA: JSON = {"name": "s", "schema": {"type": "object"}}
CALLED: JSON = {
    "role": "assistant",
    "content": "x",
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT: JSON = {"role": "tool", "tool_call_id": "1", "content": "x"}


def respond(options: JSON, **fields: JSON) -> Exchange:
    return send("/serving-endpoints/responses", {"model": GPT, "input": "hi", **fields}, **options)


def talk(options: JSON, name: str = LLAMA, **fields: JSON) -> Exchange:
    return invoke(name, {"messages": [USER], "stream": False, **fields}, **options)


def conversation(options: JSON, *messages: JSON) -> Exchange:
    return invoke(LLAMA, {"messages": [USER, *messages], "stream": False}, **options)


CASES: JSON = [
    pytest.param("stream_default", True, lambda o: bool(chat(LLAMA, o).events), False, True, id="C1 streams unasked"),
    pytest.param(
        "stream_default",
        True,
        lambda o: bool(invoke("databricks-mpt-7b-instruct", {"prompt": "x"}, **o).events),
        False,
        True,
        id="C1 completions stream unasked",
    ),
    pytest.param(
        "chat_object",
        "chat.completions",
        lambda o: talk(o).body["object"],
        "chat.completion",
        "chat.completions",
        id="C2 object",
    ),
    pytest.param(
        "stream_usage",
        "none",
        lambda o: "usage" in talk(o, stream=True).events[0],
        True,
        False,
        id="C3 usage in chunks",
    ),
    pytest.param("top_p_zero", True, lambda o: talk(o, top_p=0).status, 400, 200, id="C5 top_p may be zero"),
    pytest.param(
        "require_description",
        True,
        lambda o: talk(o, tools=[{"type": "function", "function": FUNCTION}]).status,
        200,
        400,
        id="C6 a description is needed",
    ),
    pytest.param(
        "require_parameters",
        True,
        lambda o: talk(o, tools=[{"type": "function", "function": {"name": "f", "description": "d"}}]).status,
        200,
        400,
        id="C6 parameters are needed",
    ),
    pytest.param(
        "responses_tools", "nested", lambda o: respond(o, tools=[FLAT]).status, 200, 400, id="C7 nested tools only"
    ),
    pytest.param(
        "responses_tools", "flat", lambda o: respond(o, tools=[NESTED]).status, 200, 400, id="C7 flat tools only"
    ),
    pytest.param(
        "responses_format",
        "nested",
        lambda o: respond(o, text={"format": {"type": "json_schema", **SCHEMA}}).status,
        200,
        400,
        id="C8 nested format only",
    ),
    pytest.param(
        "responses_format",
        "flat",
        lambda o: respond(o, text={"format": {"type": "json_schema", "json_schema": SCHEMA}}).status,
        200,
        400,
        id="C8 flat format only",
    ),
    pytest.param(
        "refuse_previous_response_id",
        False,
        lambda o: respond(o, previous_response_id="r").status,
        400,
        200,
        id="C9 previous response",
    ),
    pytest.param(
        "responses_tool_types",
        "function",
        lambda o: respond(o, tools=[{"type": "web_search"}]).status,
        200,
        400,
        id="C10 functions only",
    ),
    pytest.param(
        "responses_system_roles",
        False,
        lambda o: respond(o, input=[{"role": "system", "content": "x"}]).status,
        200,
        400,
        id="C11 no system role",
    ),
    pytest.param(
        "strict_tool_call_content",
        True,
        lambda o: conversation(o, CALLED, RESULT).status,
        200,
        400,
        id="C12 no content beside calls",
    ),
    pytest.param(
        "cache_control",
        "string",
        lambda o: talk(o, CLAUDE, messages=[{**USER, "cache_control": {"type": "ephemeral"}}]).status,
        200,
        400,
        id="C13 a string only",
    ),
    pytest.param(
        "cache_control",
        "object",
        lambda o: talk(o, CLAUDE, messages=[{**USER, "cache_control": "ephemeral"}]).status,
        200,
        400,
        id="C13 an object only",
    ),
    pytest.param(
        "reasoning_efforts",
        "seed",
        lambda o: talk(o, GPT, reasoning_effort="minimal").status,
        200,
        400,
        id="C14 three efforts only",
    ),
    pytest.param(
        "content_lists",
        "never",
        lambda o: talk(o, OSS, messages=[{"role": "user", "content": [{"type": "text", "text": "x"}]}]).status,
        200,
        400,
        id="C15 no lists in requests",
    ),
    pytest.param(
        "content_lists",
        "never",
        lambda o: type(talk(o, OSS).body["choices"][0]["message"]["content"]),
        list,
        str,
        id="C15 no lists in answers",
    ),
    pytest.param(
        "embeddings_extras",
        False,
        lambda o: invoke(BGE, {"input": "x", "encoding_format": "float"}, **o).status,
        200,
        400,
        id="C16 no encoding",
    ),
    pytest.param(
        "model_max_tokens",
        False,
        lambda o: talk(o, "databricks-claude-sonnet-4").call.request.sampling.max_tokens,  # type: ignore[union-attr]
        1000,
        64000,
        id="C17 no limit of the model's own",
    ),
    pytest.param(
        "responses_usage",
        "both",
        lambda o: "prompt_tokens" in respond(o).body["usage"],
        False,
        True,
        id="both names of usage",
    ),
    pytest.param(
        "responses_always_usage",
        False,
        lambda o: respond(o, stream=True).events[-1]["response"]["usage"] is None,
        False,
        True,
        id="usage on request",
    ),
    pytest.param(
        "require_function_call_id",
        True,
        lambda o: respond(o, input=[{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]).status,
        200,
        400,
        id="calls need an id",
    ),
]


@pytest.mark.covers("databricks/where reference and service differ", "C1 stream", case="C1 streams unasked")
@pytest.mark.covers(
    "databricks/where reference and service differ", "C1 of completions", case="C1 completions stream unasked"
)
@pytest.mark.covers("databricks/where reference and service differ", "C2 object", case="C2 object")
@pytest.mark.covers("databricks/where reference and service differ", "C3 usage in a stream", case="C3 usage in chunks")
@pytest.mark.covers("databricks/where reference and service differ", "C5 top_p", case="C5 top_p may be zero")
@pytest.mark.covers(
    "databricks/where reference and service differ", "C6 description", case="C6 a description is needed"
)
@pytest.mark.covers("databricks/where reference and service differ", "C6 parameters", case="C6 parameters are needed")
@pytest.mark.covers("databricks/where reference and service differ", "C7 tools nested", case="C7 nested tools only")
@pytest.mark.covers("databricks/where reference and service differ", "C7 tools flat", case="C7 flat tools only")
@pytest.mark.covers("databricks/where reference and service differ", "C8 format nested", case="C8 nested format only")
@pytest.mark.covers("databricks/where reference and service differ", "C8 format flat", case="C8 flat format only")
@pytest.mark.covers(
    "databricks/where reference and service differ", "C9 what Responses refuse", case="C9 previous response"
)
@pytest.mark.covers(
    "databricks/where reference and service differ", "C10 tools of Responses", case="C10 functions only"
)
@pytest.mark.covers(
    "databricks/where reference and service differ", "C11 roles of Responses", case="C11 no system role"
)
@pytest.mark.covers(
    "databricks/where reference and service differ", "C12 content beside calls", case="C12 no content beside calls"
)
@pytest.mark.covers("databricks/where reference and service differ", "C13 cache_control", case="C13 a string only")
@pytest.mark.covers("databricks/where reference and service differ", "C14 efforts", case="C14 three efforts only")
@pytest.mark.covers("databricks/where reference and service differ", "C15 content", case="C15 no lists in requests")
@pytest.mark.covers("databricks/where reference and service differ", "C16 encoding", case="C16 no encoding")
@pytest.mark.covers(
    "databricks/where reference and service differ", "C17 default max_tokens", case="C17 no limit of the model's own"
)
@pytest.mark.covers("databricks/Responses", "usage", case="both names of usage")
@pytest.mark.covers("databricks/Responses", "include_usage", case="usage on request")
@pytest.mark.parametrize(("name", "value", "probe", "before", "after"), CASES)
def test_each_setting_alone_changes_behavior(name: str, value: JSON, probe: JSON, before: JSON, after: JSON) -> None:
    assert (probe({}), probe({name: value})) == (before, after)


@pytest.mark.covers("databricks/where reference and service differ", "profiles")
@pytest.mark.parametrize(("name", "value", "probe", "before", "after"), CASES)
def test_seed_s0_profile_follows_reference(name: str, value: JSON, probe: JSON, before: JSON, after: JSON) -> None:
    if PROFILES["seed-S0"].get(name) == value and name != "content_lists":
        assert probe({"profile": "seed-S0"}) == after
        if name not in ("stream_default", "require_description"):
            assert probe({"profile": "seed-S0", name: getattr(DatabricksSettings(), name)}) == before


def test_only_seed_s0_profile_accepts_zero_top_p() -> None:
    answers = [talk({"profile": profile}, top_p=0).status for profile in ("real", "seed", "seed-S0")]
    assert answers == [400, 400, 200]


def test_setting_overrides_profile() -> None:
    settings = DatabricksSettings(profile="seed", stream_default=False)
    assert (settings.stream_default, settings.chat_object) == (False, "chat.completions")


def test_profiles_contain_only_described_settings() -> None:
    for profile in PROFILES.values():
        assert set(profile) <= set(DatabricksSettings.model_fields)
    assert all(field.description for field in DatabricksSettings.model_fields.values())


@pytest.mark.parametrize("values", [{"profile": "x"}, {"bogus": 1}, {"profile": []}, {"max_tools": 0}])
def test_invalid_settings_are_refused(values: JSON) -> None:
    with pytest.raises(ValidationError):
        DatabricksSettings(**values)


@pytest.mark.parametrize(
    ("mode", "name", "field", "status"),
    [
        pytest.param("by-model", LLAMA, "bogus", 400, id="open models are strict"),
        pytest.param("by-model", LLAMA, "seed", 200, id="but take a seed"),
        pytest.param("by-model", OSS, "bogus", 400, id="so is gpt-oss"),
        pytest.param("by-model", CLAUDE, "bogus", 200, id="Claude is not"),
        pytest.param("by-model", CLAUDE, "reasoning_effort", 400, id="save for another family's field"),
        pytest.param("by-model", GPT, "bogus", 200, id="nor is GPT"),
        pytest.param("by-model", GPT, "thinking", 400, id="save for Claude's thinking"),
        pytest.param("on", LLAMA, "seed", 400, id="everywhere: no seed"),
        pytest.param("on", CLAUDE, "bogus", 400, id="everywhere: Claude too"),
        pytest.param("on", GPT, "max_completion_tokens", 200, id="everywhere: known fields stay"),
        pytest.param("off", LLAMA, "bogus", 200, id="nowhere"),
        pytest.param("off", LLAMA, "reasoning_effort", 200, id="nowhere, not even another family's"),
    ],
)
def test_unknown_fields_follow_strictness(mode: str, name: str, field: str, status: int) -> None:
    value: JSON = {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}.get(field, 5)
    assert talk({"strict_unknown_fields": mode}, name, **{field: value}).status == status


@pytest.mark.covers("databricks/where reference and service differ", "C4 properties of a function")
@pytest.mark.covers("databricks/validation", "the word json", case="JSON word")
@pytest.mark.covers("databricks/validation", "alternating roles", case="alternating")
@pytest.mark.parametrize(
    ("options", "fields", "text"),
    [
        pytest.param({"max_properties": 1}, {"tools": [{"type": "function", "function": {
            "name": "f", "parameters": {"properties": {"a": {}, "b": {}}}}}]}, "at most 1", id="C4 properties"),
        pytest.param({"max_tools": 1}, {"tools": [NESTED, {**NESTED, "function": {"name": "g"}}]}, "at most 1 tools",
            id="tools"),
        pytest.param({"max_schema_keys": 1}, {"tools": [{"type": "function", "function": {
            "name": "f", "parameters": {"properties": {"a": {"properties": {"b": {}}}}}}}]},
            "has 2 keys, but at most 1", id="C4 keys of a whole schema"),
        pytest.param({"alternate_roles": True}, {"messages": [USER, USER]}, "roles must alternate", id="alternating"),
        pytest.param({"json_word": "all"}, {"response_format": {"type": "json_object"}}, "word 'json'", id="JSON word"),
        pytest.param({"max_format_keys": 1}, {"response_format": {"type": "json_schema", "json_schema": {
            "name": "x", "schema": {"properties": {"a": {}, "b": {}}}}}}, "has 2 keys", id="keys of a format"),
    ],
)  # fmt: skip
def test_tool_schema_and_message_limits_follow_settings(options: JSON, fields: JSON, text: str | None) -> None:
    answer = talk(options, **fields)
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


@pytest.mark.covers("databricks/validation", "picky GPT")
@pytest.mark.parametrize(
    ("switch", "fields", "text"),
    [
        pytest.param("gpt_refuses_temperature", {"temperature": 1}, "'temperature' is not supported", id="temperature"),
        pytest.param("gpt_refuses_max_tokens", {"max_tokens": 9}, "Use 'max_completion_tokens' instead.", id="tokens"),
    ],
)
def test_gpt_refuses_parameter_when_set(switch: str, fields: JSON, text: str) -> None:
    assert talk({}, GPT, **fields).status == 200
    assert text in talk({switch: True}, GPT, **fields).message
