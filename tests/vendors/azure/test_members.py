"""Members of Azure OpenAI's requests below the top level: what is refused, in which words, and what passes."""

from collections.abc import Iterator

import pytest

from tests.untyped_json import JSON
from tests.vendors.azure.service import Refused, accept, refuse, send

CHAT = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
RESPONSES = "/openai/v1/responses"
USER: JSON = {"role": "user", "content": "Hi"}
FUNCTION: JSON = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALLED: JSON = {
    "role": "assistant",
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
ANSWER: JSON = {"role": "tool", "tool_call_id": "c", "content": "3"}
FLAT: JSON = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}


def chat(**fields: JSON) -> JSON:
    return {"messages": [USER], **fields}


def talk(*messages: JSON) -> JSON:
    return {"messages": [USER, *messages]}


def say(**part: JSON) -> JSON:
    return {"messages": [{"role": "user", "content": [part]}]}


def ask(**fields: JSON) -> JSON:
    return {"model": "gpt-4o", "input": "Hi", **fields}


def put(*items: JSON) -> JSON:
    return ask(input=[USER, *items])


def show(**part: JSON) -> JSON:
    return ask(input=[{"role": "user", "content": [part]}])


UNKNOWN = [
    (chat(stream=True, stream_options={"include_cost": True}), "stream_options.include_cost"),
    (chat(response_format={"type": "text", "schema": {}}), "response_format.schema"),
    (
        chat(response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "stict": True}}),
        "response_format.json_schema.stict",
    ),
    (chat(tools=[{**FUNCTION, "strict": True}]), "tools[0].strict"),
    (chat(tools=[FUNCTION, {"type": "function", "function": {"name": "g", "args": {}}}]), "tools[1].function.args"),
    (
        chat(tools=[FUNCTION], tool_choice={"type": "function", "function": {"name": "f", "id": 1}}),
        "tool_choice.function.id",
    ),
    (say(type="text", text="Hi", cache_control={"type": "ephemeral"}), "messages[0].content[0].cache_control"),
    (say(type="image_url", image_url={"url": "https://x/y", "size": 3}), "messages[0].content[0].image_url.size"),
    (talk({"role": "assistant", "content": "a", "reasoning_content": "b"}, USER), "messages[1].reasoning_content"),
    (talk({"role": "assistant", "content": "a", "parsed": None}, USER), "messages[1].parsed"),
    (chat(messages=[{**USER, "id": "1"}]), "messages[0].id"),
    (
        talk({**CALLED, "tool_calls": [{**CALLED["tool_calls"][0], "extra": 1}]}, ANSWER),
        "messages[1].tool_calls[0].extra",
    ),
    (talk(CALLED, {**ANSWER, "is_error": True}), "messages[2].is_error"),
    (chat(prediction={"type": "content", "content": "x", "n": 1}), "prediction.n"),
]
UNKNOWN_IN_RESPONSES = [
    (ask(reasoning={"max_tokens": 5}), "reasoning.max_tokens"),
    (ask(stream=True, stream_options={"include_usage": True}), "stream_options.include_usage"),
    (ask(text={"fromat": {"type": "text"}}), "text.fromat"),
    (ask(text={"format": {"type": "json_object", "strict": True}}), "text.format.strict"),
    (ask(tools=[{**FLAT, "n": 1}]), "tools[0].n"),
    (ask(tools=[{"type": "web_search", "strict": False}]), "tools[0].strict"),
    (ask(tools=[FLAT], tool_choice={"type": "function", "function": {"name": "f"}}), "tool_choice.function"),
    (ask(prompt_cache_options={"mode": "implicit", "size": 1}), "prompt_cache_options.size"),
    (ask(input=[{**USER, "status": "completed"}]), "input[0].status"),
    (put({"role": "assistant", "content": "x", "status": "completed"}), "input[1].status"),
    (ask(input=[{**USER, "metadata": {}}]), "input[0].metadata"),
    (ask(input=[{**USER, "name": "Ann"}]), "input[0].name"),
    (show(type="input_text", text="Hi", cache_control={"type": "ephemeral"}), "input[0].content[0].cache_control"),
    (show(type="input_image", image_url="https://x/y", size=3), "input[0].content[0].size"),
    (
        put({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "parsed_arguments": {}}),
        "input[1].parsed_arguments",
    ),
    (put({"type": "function_call_output", "call_id": "c", "output": "x", "is_error": True}), "input[1].is_error"),
    (put({"type": "reasoning", "summary": [{"type": "summary_text", "text": "x", "n": 1}]}), "input[1].summary[0].n"),
]


@pytest.mark.parametrize(("body", "path"), [*UNKNOWN, *UNKNOWN_IN_RESPONSES])
def test_unknown_member_is_refused(body: JSON, path: str) -> None:
    refused = refuse(body, CHAT if "messages" in body else RESPONSES)
    error = {"message": f"Unknown parameter: '{path}'.", "type": "invalid_request_error", "param": path}
    assert (refused.status, refused.json()) == (400, {"error": {**error, "code": "unknown_parameter"}})


@pytest.mark.parametrize(("body", "path"), [UNKNOWN[0], UNKNOWN[6], *UNKNOWN_IN_RESPONSES[:2]])
def test_setting_ignores_unknown_members(body: JSON, path: str) -> None:
    assert accept(body, CHAT if "messages" in body else RESPONSES, "strict_members=false")


@pytest.mark.parametrize(
    ("body", "message", "param", "code"),
    [
        pytest.param(
            ask(tools=[{"type": "function", "function": {"name": "f"}}]),
            "Missing required parameter: 'tools[0].name'.",
            "tools[0].name",
            "missing_required_parameter",
            id="a tool of chat",
        ),
        pytest.param(
            ask(tools=[FLAT], tool_choice={"type": "function"}),
            "Missing required parameter: 'tool_choice.name'.",
            "tool_choice.name",
            "missing_required_parameter",
            id="a choice without a name",
        ),
        pytest.param(
            ask(tools=[FLAT], tool_choice={"type": "allowed_tools", "mode": "auto", "tools": ["f"]}),
            "Invalid type for 'tool_choice.tools[0]': expected an object, but got a string instead.",
            "tool_choice.tools[0]",
            "invalid_type",
            id="an allowed tool by its name alone",
        ),
        pytest.param(
            ask(tools=[FLAT], tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function"}]}),
            "Missing required parameter: 'tool_choice.tools[0].name'.",
            "tool_choice.tools[0].name",
            "missing_required_parameter",
            id="an allowed tool without a name",
        ),
        pytest.param(
            ask(
                tools=[FLAT],
                tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": 5}]},
            ),
            "Invalid type for 'tool_choice.tools[0].name': expected a string, but got an integer instead.",
            "tool_choice.tools[0].name",
            "invalid_type",
            id="an allowed tool whose name is a number",
        ),
        pytest.param(
            ask(tools=[FLAT], tool_choice={"type": "sometimes"}),
            "Invalid value: 'sometimes'. Supported values are: 'allowed_tools', 'file_search', 'web_search_preview', "
            "'computer', 'computer_use_preview', 'computer_use', 'web_search_preview_2025_03_11', 'image_generation', "
            "'code_interpreter', 'function', 'mcp', 'custom', 'programmatic_tool_calling', 'apply_patch', 'shell', "
            "'web_search', 'web_search_2025_08_26', and 'local_shell'.",
            "tool_choice.type",
            "invalid_value",
            id="an odd choice",
        ),
        pytest.param(
            put({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
            "input[1].content[0].type",
            "invalid_value",
            id="an assistant's input",
        ),
        pytest.param(
            show(type="input_image", image_url="https://x/y", detail="tiny"),
            "Invalid value: 'tiny'. Supported values are: 'low', 'high', 'auto', and 'original'.",
            "input[0].content[0].detail",
            "invalid_value",
            id="an odd detail",
        ),
        pytest.param(
            show(type="input_text", text=5),
            "Invalid type for 'input[0].content[0].text': expected a string, but got an integer instead.",
            "input[0].content[0].text",
            "invalid_type",
            id="a number for a text",
        ),
        pytest.param(
            ask(input=[{"role": "user", "content": 5}]),
            "Invalid type for 'input[0].content': expected one of a string or array of objects, "
            "but got an integer instead.",
            "input[0].content",
            "invalid_type",
            id="a number for content",
        ),
        pytest.param(
            ask(reasoning={"effort": "enormous"}),
            "Invalid value: 'enormous'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', "
            "'xhigh', and 'max'.",
            "reasoning.effort",
            "invalid_value",
            id="an odd effort",
        ),
        pytest.param(
            ask(messages=[USER]),
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again "
            "with the new parameter. See the API documentation for more information: "
            "https://platform.openai.com/docs/api-reference/responses/create.",
            None,
            "unsupported_parameter",
            id="moved",
        ),
        pytest.param(
            say(type="file", file={"file_data": 5}),
            "Invalid type for 'messages[0].content[0].file.file_data': expected a string, but got an integer instead.",
            "messages[0].content[0].file.file_data",
            "invalid_type",
            id="a number for a file",
        ),
        pytest.param(
            chat(web_search_options={"search_context_size": "huge"}),
            "Invalid value: 'huge'. Supported values are: 'low', 'medium', and 'high'.",
            "web_search_options.search_context_size",
            "invalid_value",
            id="an odd size of a search",
        ),
    ],
)
def test_misfit_is_refused(body: JSON, message: str, param: str | None, code: str) -> None:
    refused = refuse(body, CHAT if "messages" in body and "input" not in body else RESPONSES)
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert (refused.status, refused.json()) == (400, {"error": error})


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": "f"}},
        {"type": "allowed_tools", "mode": "auto", "tools": ["f"]},
        {"type": "allowed_tools", "mode": "auto"},
        {"type": "custom"},
    ],
)
def test_choice_that_names_no_tool_is_refused_when_counting(choice: JSON) -> None:
    assert refuse(ask(tools=[FLAT], tool_choice=choice), f"{RESPONSES}/input_tokens").status == 400


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(chat(messages=[{**USER, "name": "Ann"}]), id="a name"),
        pytest.param(chat(response_format={"type": "text", "json_schema": None}), id="another kind's field, null"),
        pytest.param(
            talk({**CALLED, "content": None, "refusal": None, "function_call": None, "audio": None}, ANSWER), id="nulls"
        ),
        pytest.param(talk({**CALLED, "annotations": []}, {**ANSWER, "name": "f"}), id="an answer as it came"),
        pytest.param(talk({**CALLED, "tool_calls": [{**CALLED["tool_calls"][0], "index": 0}]}, ANSWER), id="an index"),
        pytest.param(
            chat(tools=[{"type": "function", "function": {"name": "f", "parameters": {"x-mine": 1}}}]),
            id="a schema's own",
        ),
        pytest.param(chat(metadata={"any": "thing"}), id="metadata"),
        pytest.param(ask(tools=[FLAT], tool_choice={"type": "web_search"}), id="a choice that the service runs"),
        pytest.param(put({"role": "assistant", "content": "x", "phase": "final_answer"}), id="a phase"),
        pytest.param(ask(input=[{**USER, "id": "msg_1", "status": "completed"}]), id="a state with an id"),
        pytest.param(
            ask(text={"format": {"type": "text", "schema": None}}), id="another kind's field of a format, null"
        ),
    ],
)
def test_honest_request_passes(body: JSON) -> None:
    assert accept(body, CHAT if "messages" in body else RESPONSES)


RICH_CHAT: JSON = {
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "Brief."}], "name": "s"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hi"},
                {"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:,"}},
            ],
        },
        CALLED,
        ANSWER,
    ],
    "tools": [FUNCTION],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
    "stream": True,
    "stream_options": {"include_usage": True},
    "stop": ["x"],
    "prediction": {"type": "content", "content": "x"},
}
RICH_RESPONSE: JSON = {
    "model": "gpt-4o",
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Hi"},
                {"type": "input_image", "image_url": "https://x/y", "detail": "low"},
            ],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "function_call_output", "call_id": "c", "output": "3"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "t"}],
            "encrypted_content": "e",
        },
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "x", "annotations": [], "logprobs": []}],
        },
    ],
    "tools": [{**FLAT, "strict": False}, {"type": "web_search", "search_context_size": "low"}],
    "tool_choice": {"type": "function", "name": "f"},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}, "verbosity": "medium"},
    "reasoning": {"summary": "auto"},
    "stream": True,
    "stream_options": {"include_obfuscation": False},
    "include": ["reasoning.encrypted_content"],
}
_FREE = {"parameters", "schema", "metadata"}


def mutate(value: JSON) -> Iterator[tuple[str, JSON]]:
    """Every value with one member renamed, or one of no free form replaced by a member of another type."""
    if isinstance(value, dict):
        for name, inner in value.items():
            rest = {key: member for key, member in value.items() if key != name}
            yield f"{name} renamed", {**rest, f"{name}_": inner}
            if name not in _FREE:
                yield f"{name} retyped", {**value, name: {"odd": [1]}}
                for what, mutant in mutate(inner):
                    yield f"{name}.{what}", {**value, name: mutant}
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield f"{position} retyped", [*value[:position], [[]], *value[position + 1 :]]
            for what, mutant in mutate(inner):
                yield f"{position}.{what}", [*value[:position], mutant, *value[position + 1 :]]


@pytest.mark.parametrize(("body", "target"), [(RICH_CHAT, CHAT), (RICH_RESPONSE, RESPONSES)])
def test_every_mutant_is_refused(body: JSON, target: str) -> None:
    assert accept(body, target, "hosted_tools=ignore")
    passed = []
    for what, mutant in mutate(body):
        outcome = send(mutant, target, "hosted_tools=ignore")
        if not (isinstance(outcome, Refused) and outcome.status in (400, 404)):
            passed.append(what)
    assert passed == []
