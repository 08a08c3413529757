"""The reference page's definitions of what a request holds, each with a request that shows it or that it refuses."""

import pytest

from emulator.core.requests import ToolCall
from tests.reference_rows import Cases, check
from tests.untyped_json import JSON
from tests.vendors.azure.service import broken, chat, look

PARAMETERS: JSON = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION: JSON = {"name": "f", "description": "d", "parameters": PARAMETERS}
TOOL: JSON = {"type": "function", "function": FUNCTION}
NAMED: JSON = {"type": "function", "function": {"name": "f"}}
CALLED: JSON = {"name": "f", "arguments": "{}"}
CALL = ("messages", "0", "tool_calls", "0")
PART = ("messages", "0", "content", "0")


def says(role: str = "user", **message: JSON) -> JSON:
    """A body with one message."""
    return {"messages": [{"role": role, **message}]}


def part(**fields: JSON) -> JSON:
    """A body with one message of one part."""
    return says(content=[fields])


def reported(**call: JSON) -> JSON:
    """Return a body with one tool call."""
    return says("assistant", tool_calls=[{"id": "c1", "type": "function", "function": CALLED, **call}])


def offered(**fields: JSON) -> JSON:
    return {"tools": [{"type": "function", "function": {**FUNCTION, **fields}}]}


DEFINITIONS: dict[str, Cases] = {
    "ChatCompletionMessageToolCall.function": [
        (reported(), {"request.messages.0.tool_calls": (ToolCall("c1", "f", "{}"),)}),
        (reported(function=None), broken("", *CALL, "function")),
    ],
    "ChatCompletionMessageToolCall.ID": [
        (
            says("assistant", tool_calls=[{"ID": "c2", "function": CALLED}]),
            {"request.messages.0.tool_calls.0.id": "c2"},
        ),
        (reported(id=1), broken("Input should be a valid string", *CALL, "id")),
    ],
    "ChatCompletionMessageToolCall.type": [
        (reported(type="x"), broken("Input should be 'function'", *CALL, "type")),
    ],
    "ChatCompletionResponseFormat.type": [
        ({"response_format": {"type": "json_object"}}, {"request.format": "json_object"}),
        (
            {"response_format": {"type": "xml"}},
            broken("Value error, Response format was xml", "response_format", "type"),
        ),
    ],
    "ChatCompletionResponseFormatType.json_object": [
        ({"response_format": {"type": "json_object"}}, {"request.format": "json_object"})
    ],
    "ChatCompletionResponseFormatType.text": [({"response_format": {"type": "text"}}, {"request.format": "text"})],
    "ChatCompletionTool.function": [
        (offered(name="g"), {"request.tools.0.name": "g"}),
        ({"tools": [{"type": "function"}]}, broken("Field required", "tools", "0", "function")),
    ],
    "ChatCompletionTool.type": [
        (
            {"tools": [{"type": "x", "function": FUNCTION}]},
            broken("Input should be 'function'", "tools", "0", "type"),
        )
    ],
    "ChatMessageRole.assistant": [(says("assistant", content="Hi"), {"request.messages.0.role": "assistant"})],
    "ChatMessageRole.system": [(says("system", content="Hi"), {"request.messages.0.role": "system"})],
    "ChatMessageRole.tool": [(says("tool", content="Hi", tool_call_id="c"), {"request.messages.0.role": "tool"})],
    "ChatMessageRole.user": [(says("user", content="Hi"), {"request.messages.0.role": "user"})],
    "ChatCompletionRequestMessage.content": [
        (says(content="Hi"), {"request.messages.0.text": "Hi"}),
        (part(type="text", text="Hi"), {"request.messages.0.text": "Hi"}),
        (says(content=5), broken("Input should be a valid string", "messages", "0", "content")),
    ],
    "ChatCompletionRequestMessage.role": [
        (says("wizard", content="Hi"), broken("Input should be 'system', 'user',", "messages", "0", "role"))
    ],
    "ChatCompletionRequestMessage.tool_calls": [
        (reported(), {"request.messages.0.tool_calls": (ToolCall("c1", "f", "{}"),)}),
        (
            says("assistant", tool_calls="x"),
            broken("Input should be a valid list", "messages", "0", "tool_calls"),
        ),
    ],
    "ChatCompletionMessageContentPart.content": [
        (part(type="image", content="aGk="), {"request.messages.0.media": 1}),
        (part(type="image_url"), broken("Value error, Content part type is image_url but", *PART)),
    ],
    "ChatCompletionMessageContentPart.detail": [
        (part(type="image", content="aGk=", detail="huge"), broken("Input should be 'auto'", *PART, "detail"))
    ],
    "ChatCompletionMessageContentPart.type": [
        (part(type="film", content="x"), broken("Input should be 'text', 'image', 'image_url'", *PART, "type"))
    ],
    "ChatCompletionMessageContentPartType.text": [(part(type="text", content="Hi"), {"request.messages.0.text": "Hi"})],
    "ChatCompletionMessageContentPartType.image": [
        (part(type="image", content="aGk="), {"request.messages.0.media": 1})
    ],
    "ChatCompletionMessageContentPartType.image_url": [
        (part(type="image_url", content="https://e.org/a.png"), {"request.messages.0.media": 1})
    ],
    "ChatCompletionToolChoiceOption.none": [
        ({"tools": [TOOL], "tool_choice": "none"}, {"request.tool_choice": "none", "request.tools.0.name": "f"})
    ],
    "ChatCompletionToolChoiceOption.auto": [
        ({"tools": [TOOL], "tool_choice": "auto"}, {"request.tool_choice": "auto"})
    ],
    "ChatCompletionToolChoiceOption.required": [
        ({"tools": [TOOL], "tool_choice": "required"}, {"request.tool_choice": "required", "request.tool_name": None})
    ],
    "ChatCompletionToolChoiceOption.string": [
        ({"tools": [TOOL], "tool_choice": NAMED}, {"request.tool_choice": "required", "request.tool_name": "f"})
    ],
    **{
        f"ImageDetail.{level}": [(part(type="image", content="aGk=", detail=level), {"request.messages.0.media": 1})]
        for level in ("auto", "low", "high")
    },
    "Function.arguments": [
        (
            reported(function={"name": "f", "arguments": '{"a":1}'}),
            {"request.messages.0.tool_calls.0.arguments": '{"a":1}'},
        ),
        (
            reported(function={"name": "f", "arguments": {}}),
            broken("Input should be a valid string", *CALL, "function", "arguments"),
        ),
    ],
    "Function.name": [
        (reported(function={"name": "g", "arguments": ""}), {"request.messages.0.tool_calls.0.name": "g"}),
        (reported(function={"arguments": ""}), broken("Field required", *CALL, "function", "name")),
    ],
    "FunctionObject.description": [
        (offered(description="more"), {"request.tools.0.description": "more"}),
        (
            offered(description=1),
            broken("Input should be a valid string", "tools", "0", "function", "description"),
        ),
    ],
    "FunctionObject.name": [
        (offered(name="a_B-9" + "x" * 59), {"request.tools.0.name": "a_B-9" + "x" * 59}),
        (offered(name="f" * 65), broken("Value error, Function name was", "tools", "0", "function", "name")),
    ],
    "FunctionObject.parameters": [
        (offered(), {"request.tools.0.parameters": PARAMETERS}),
        (
            offered(parameters=[]),
            broken("Input should be a valid dictionary", "tools", "0", "function", "parameters"),
        ),
    ],
    "ToolType.function": [
        ({"tools": [TOOL]}, {"request.tools.0.name": "f"}),
        (
            {"tools": [{"type": "x", "function": FUNCTION}]},
            broken("Input should be 'function'", "tools", "0", "type"),
        ),
    ],
}


@pytest.mark.covers(
    "azure/reference page: definitions of a request",
    "ChatCompletionMessageToolCall function, ID, type",
    "ChatCompletionResponseFormat type",
    "ChatCompletionResponseFormatType json_object, text",
    "ChatCompletionTool function, type",
    "ChatMessageRole assistant, system, tool, user",
    "ChatCompletionRequestMessage content, role, tool_calls",
    "ChatCompletionMessageContentPart content, detail, type",
    "ChatCompletionMessageContentPartType text, image, image_url",
    "ChatCompletionToolChoiceOption",
    "ImageDetail auto, low, high",
    "Function arguments, name",
    "FunctionObject description, name, parameters",
    "ToolType",
)
@pytest.mark.parametrize("field", DEFINITIONS)
def test_definition_field(field: str) -> None:
    for fields, seen in DEFINITIONS[field]:
        check(look(body=chat(**fields)), seen)
