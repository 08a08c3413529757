"""``POST /responses``: what a request becomes, and what is refused."""

import pytest

from emulator.core.calls import InferenceCall
from emulator.core.requests import ChatRequest
from emulator.vendors.azure.responses.models import ResponseRequest
from tests.conftest import Start
from tests.untyped_json import JSON, parse_json
from tests.vendors.azure.chat.plans import HELLO, REQUEST
from tests.vendors.azure.service import Refused, accept, refuse, send

V1 = "/openai/v1/responses"
FUNCTION: JSON = {"type": "function", "name": "f", "parameters": {"type": "object"}}
ORDINARY: dict[str, JSON] = {
    "background": False,
    "context_management": [{"type": "compaction"}],
    "conversation": "conv_1",
    "include": ["reasoning.encrypted_content"],
    "input": "Hi",
    "instructions": "Be brief.",
    "max_output_tokens": 16,
    "max_tool_calls": 2,
    "metadata": {"a": "b"},
    "model": "gpt-4o",
    "moderation": {"model": "m"},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt": {"id": "p"},
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "implicit"},
    "prompt_cache_retention": "24h",
    "reasoning": {"summary": "auto"},
    "safety_identifier": "s",
    "service_tier": "auto",
    "store": False,
    "stream": True,
    "stream_options": {"include_obfuscation": False},
    "temperature": 0.5,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [FUNCTION, {"type": "web_search"}],
    "top_logprobs": 2,
    "top_p": 0.9,
    "truncation": "auto",
    "user": "u",
}


def ask(**fields: JSON) -> JSON:
    return {"model": "gpt-4o", "input": "Hi", **fields}


def ask_of(**fields: JSON) -> ChatRequest:
    found = accept(ask(**fields), V1).request
    assert isinstance(found, ChatRequest)
    return found


def body_of(call: InferenceCall) -> JSON:
    return parse_json(call.codec.render(HELLO, REQUEST).body)


def test_every_field_has_case() -> None:
    assert ORDINARY.keys() == ResponseRequest.model_fields.keys()


@pytest.mark.covers("azure/Azure OpenAI", "Responses' fields")
@pytest.mark.parametrize("name", sorted(ORDINARY))
def test_every_field_is_accepted(name: str) -> None:
    if name == "conversation":
        assert refuse(ask(conversation="conv_1"), V1).status == 404  # test_conversations.py has one that exists
    else:
        prompts = "prompts: {p: Be brief.}"
        assert accept(ask(**{name: ORDINARY[name]}), V1, f"vendors: {{azure: {{hosted_tools: ignore, {prompts}}}}}")


@pytest.mark.covers("azure/routes", "openai/v1/responses")
@pytest.mark.covers("azure/routes", "openai/responses", case="dated")
@pytest.mark.parametrize(
    ("target", "model", "status"),
    [
        pytest.param("/openai/responses?api-version=2025-04-01-preview", "gpt-4o", 200, id="dated"),
        pytest.param("/api/projects/p/openai/responses?api-version=2025-05-01", "gpt-4o", 200, id="a project's, dated"),
        pytest.param("/api/projects/p/openai/v1/responses", "gpt-4o", 200, id="a project's"),
        pytest.param(V1, "gpt-5-codex", 200, id="a model that has this API alone"),
        pytest.param("/openai/responses", "gpt-4o", 404, id="without its version"),
        pytest.param("/responses?api-version=2024-05-01-preview", "gpt-4o", 404, id="at the root"),
        pytest.param("/openai/deployments/gpt-4o/responses?api-version=2024-10-21", "gpt-4o", 404, id="a deployment's"),
        pytest.param(V1, "nobody", 404, id="an unknown name"),
        pytest.param(V1, "text-embedding-3-small", 400, id="a model of another task"),
        pytest.param(V1, "claude-sonnet-4-5", 400, id="a model of another API"),
        pytest.param("/openai/v1/chat/completions", "gpt-5-codex", 400, id="this one's model in chat"),
    ],
)
def test_routes_and_models(target: str, model: str, status: int) -> None:
    answer = send(ask(model=model), target)
    assert (answer.status if isinstance(answer, Refused) else 200) == status


@pytest.mark.parametrize(
    ("fields", "message", "param", "code"),
    [
        pytest.param({"foo": 1}, "Unknown parameter: 'foo'.", "foo", "unknown_parameter", id="unknown"),
        pytest.param(
            {"input": None},
            "Invalid type for 'input': expected one of a string or array of input items, but got null instead.",
            "input",
            "invalid_type",
            id="null",
        ),
        pytest.param(
            {"max_output_tokens": 5},
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead.",
            "max_output_tokens",
            "integer_below_min_value",
            id="too few tokens",
        ),
        pytest.param(
            {"max_output_tokens": 20000},
            "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got 20000 "
            "instead.",
            "max_output_tokens",
            "integer_above_max_value",
            id="more tokens than the model gives",
        ),
        pytest.param(
            {"input": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
            "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', "
            "'input_file', 'computer_screenshot', and 'summary_text'.",
            "input[0].content[0].type",
            "invalid_value",
            id="a part of a chat",
        ),
        pytest.param(
            {"input": [{"role": "user"}]},
            "Missing required parameter: 'input[0].content'.",
            "input[0].content",
            "missing_required_parameter",
            id="no content",
        ),
        pytest.param(
            {"input": [{"type": "function_call_output", "output": "x"}]},
            "Missing required parameter: 'input[0].call_id'.",
            "input[0].call_id",
            "missing_required_parameter",
            id="a result of nothing",
        ),
        pytest.param(
            {"input": [{"type": ["function_call"], "call_id": "c"}]},
            "Invalid type for 'input[0].type': expected a string, but got an array instead.",
            "input[0].type",
            "invalid_type",
            id="of several kinds",
        ),
        pytest.param(
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "a.png"}]}]},
            "Invalid 'input[0].content[0].image_url'. Expected a valid URL, but got a value with an invalid format.",
            "input[0].content[0].image_url",
            "invalid_value",
            id="a picture nowhere",
        ),
        pytest.param(
            {"tools": [FUNCTION, {"type": {"a": 1}}]},
            "Invalid type for 'tools[1].type': expected a string, but got an object instead.",
            "tools[1].type",
            "invalid_type",
            id="a tool of no kind",
        ),
        pytest.param(
            {"tools": [{"name": "f"}]},
            "Missing required parameter: 'tools[0].type'.",
            "tools[0].type",
            "missing_required_parameter",
            id="a tool without a type",
        ),
        pytest.param(
            {"tools": [{"type": "function", "name": "a b"}]},
            "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            "tools[0].name",
            "invalid_value",
            id="a wrong name",
        ),
        pytest.param(
            {"tool_choice": {"type": "function", "name": "g"}, "tools": [FUNCTION]},
            "Tool choice 'g' not found in 'tools' parameter.",
            "tool_choice",
            None,
            id="a tool that is not there",
        ),
        pytest.param(
            {"tool_choice": "required"},
            "Tool choice 'required' must be specified with 'tools' parameter.",
            "tool_choice",
            None,
            id="a call of nothing",
        ),
        pytest.param(
            {"text": {"format": {"type": "json_schema", "name": "n"}}},
            "Missing required parameter: 'text.format.schema'.",
            "text.format.schema",
            "missing_required_parameter",
            id="no schema",
        ),
        pytest.param(
            {"reasoning": {"effort": "low"}},
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "reasoning.effort",
            "unsupported_parameter",
            id="a model that does not think",
        ),
        pytest.param(
            {"background": True, "store": False},
            "Background mode requires 'store' to be true.",
            "background",
            None,
            id="background work that is not stored",
        ),
        pytest.param(
            {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
            "No tool call found for function call output with call_id c.",
            "input",
            None,
            id="an output of no call",
        ),
        pytest.param(
            {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]},
            "No tool output found for function call c.",
            "input",
            None,
            id="a call without its output",
        ),
        pytest.param(
            {"text": {"format": {"type": "json_object"}}},
            "Response input messages must contain the word 'json' in some form to use 'text.format' of type "
            "'json_object'.",
            "input",
            None,
            id="JSON mode without the word",
        ),
        pytest.param(
            {"include": ["everything"]},
            "Invalid value: 'everything'. Supported values are: 'file_search_call.results', 'web_search_call.results', "
            "'web_search_call.action.sources', 'message.input_image.image_url', "
            "'computer_call_output.output.image_url', 'code_interpreter_call.outputs', 'reasoning.encrypted_content', "
            "and 'message.output_text.logprobs'.",
            "include[0]",
            "invalid_value",
            id="nothing to include",
        ),
        pytest.param(
            {"previous_response_id": "resp_0"},
            "Previous response with id 'resp_0' not found.",
            "previous_response_id",
            "previous_response_not_found",
            id="nothing to go on from",
        ),
    ],
)
def test_invalid_request_is_rejected(fields: JSON, message: str, param: str, code: str | None) -> None:
    refused = refuse(ask(**fields), V1)
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


def test_input_items_become_messages() -> None:
    items: JSON = [
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "Sun"}]},
        {"type": "reasoning", "summary": []},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://a"}]},
    ]
    messages = ask_of(input=items, instructions="Be brief.").messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert messages[2].tool_calls[0].id == messages[3].tool_call_id == "c"
    assert messages[-1].media == 1


@pytest.mark.parametrize(
    ("choice", "names", "expected"),
    [
        pytest.param(None, ["f", "g"], ("auto", None), id="absent"),
        pytest.param("required", ["f", "g"], ("required", None), id="required"),
        pytest.param({"type": "function", "name": "g"}, ["f", "g"], ("required", "g"), id="by name"),
        pytest.param(
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]},
            ["g"],
            ("required", None),
            id="of some",
        ),
        pytest.param({"type": "web_search"}, ["f", "g"], ("auto", None), id="one the service runs"),
    ],
)
def test_tool_choice(choice: JSON, names: list[str], expected: tuple[str, str | None]) -> None:
    found = ask_of(tools=[FUNCTION, {**FUNCTION, "name": "g"}], tool_choice=choice)
    assert [tool.name for tool in found.tools] == names
    assert (found.tool_choice, found.tool_name) == expected


def test_response_echoes_request_fields() -> None:
    body = body_of(accept(ask(model="gpt-5", reasoning={"effort": "low"}, metadata={"a": "b"}, user="u"), V1))
    assert (body["object"], body["status"], body["model"]) == ("response", "completed", "gpt-5")
    assert body["reasoning"] == {"effort": "low", "summary": None}
    assert body["text"] == {"format": {"type": "text"}, "verbosity": "medium"}
    assert (body["metadata"], body["user"], body["store"], body["background"]) == ({"a": "b"}, "u", True, False)


@pytest.mark.covers("azure/Azure OpenAI", "background")
def test_background_response_starts_queued() -> None:
    body = body_of(accept(ask(background=True), V1))
    assert (body["status"], body["output"], body["usage"]) == ("queued", [], None)


async def test_input_tokens_endpoint_counts_tokens(start: Start) -> None:
    running = await start()
    key = {"api-key": "k"}
    made = (await running.ask("azure", V1, ask(instructions="Be short."), headers=key)).json()
    counted = await running.ask("azure", f"{V1}/input_tokens", ask(instructions="Be short."), headers=key)
    assert counted.json() == {"object": "response.input_tokens", "input_tokens": made["usage"]["input_tokens"]}
    more = {"model": "gpt-4o", "previous_response_id": made["id"]}
    after = (await running.ask("azure", f"{V1}/input_tokens", more, headers=key)).json()
    assert after["input_tokens"] > made["usage"]["input_tokens"]


async def test_content_filters_in_response(start: Start) -> None:
    running = await start()
    key = {"api-key": "k"}
    made = (await running.ask("azure", V1, ask(), headers=key)).json()
    sources = [(each["source_type"], each["blocked"]) for each in made["content_filters"]]
    assert sources == [("prompt", False), ("completion", False)]
    stream = await running.ask("azure", V1, ask(stream=True), headers=key)
    events = [parse_json(line[6:]) for line in stream.body.splitlines() if line.startswith(b"data: ")]
    assert (events[0]["response"]["content_filters"], events[-1]["response"]["content_filters"]) == (
        None,
        made["content_filters"],
    )


async def test_content_filters_when_output_is_filtered(start: Start) -> None:
    running = await start("rules:\n  - {name: cut, reply: {text: bad, finish_reason: content_filter}}\n")
    key = {"api-key": "k"}
    made = (await running.ask("azure", V1, ask(), headers=key)).json()
    prompt, answer = made["content_filters"]
    assert (made["incomplete_details"], prompt["blocked"], answer["blocked"]) == (
        {"reason": "content_filter"},
        False,
        True,
    )
    assert answer["content_filter_results"]["violence"]["filtered"]
    stream = await running.ask("azure", V1, ask(stream=True), headers=key)
    last = parse_json(stream.body.splitlines()[-2][6:])
    assert last["response"]["content_filters"] == made["content_filters"]


@pytest.mark.covers("azure/Azure OpenAI", "content filter of Responses")
async def test_filtered_prompt_is_rejected(start: Start) -> None:
    running = await start("rules:\n  - {name: no, error: {kind: content_filter}}\n")
    answer = await running.ask("azure", V1, ask(), headers={"api-key": "k"})
    error = answer.json()["error"]
    (found,) = error["content_filters"]
    assert (answer.status, error["code"], found["blocked"], found["source_type"]) == (
        400,
        "content_filter",
        True,
        "prompt",
    )
