"""The fields of the REST reference's tables of Responses input, as requests show and refuse them."""

import pytest

from emulator.core.requests import ToolCall
from tests.reference_rows import Cases, check
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import refused, respond

CALL: JSON = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT: JSON = {"type": "function_call_output", "call_id": "c1", "output": "sunny"}
PDF = "data:application/pdf;base64,AA"


def block(**fields: JSON) -> JSON:
    """A request of one message with one content block."""
    return {"input": [{"role": "user", "content": [fields]}]}


def item(**fields: JSON) -> JSON:
    """Return a request with one input item."""
    return {"input": [fields]}


INPUT: dict[str, Cases] = {
    "ResponsesInput.role": [
        (item(role="assistant", content="x"), {"call.request.messages.0.role": "assistant"}),
        (item(role="tool", content="x"), refused("role must be one of")),
    ],
    "ResponsesInput.content": [
        (item(role="user", content="Hi"), {"call.request.messages.0.text": "Hi"}),
        (item(role="user"), refused("Missing required parameter: 'input[0].content'.")),
    ],
    "InputText.type": [
        (block(type="input_text", text="Hi"), {"call.request.messages.0.text": "Hi"}),
        (block(type="text", text="Hi"), refused("Supported values are: 'input_text'")),
    ],
    "InputText.text": [
        (block(type="input_text", text="Hi"), {"call.request.messages.0.text": "Hi"}),
        (block(type="input_text"), refused("'input[0].content[0].text'")),
    ],
    "OutputText.type": [
        (block(type="output_text", text="Hi"), {"call.request.messages.0.text": "Hi"}),
        (block(type="output", text="Hi"), refused("'output_text'")),
    ],
    "OutputText.text": [
        (block(type="output_text", text="Hi"), {"call.request.messages.0.text": "Hi"}),
        (block(type="output_text", text=5), refused("field 'input[0].content[0].text'")),
    ],
    "OutputText.annotations": [
        (block(type="output_text", text="Hi", annotations=[{}]), {"call.request.messages.0.text": "Hi"}),
        (block(type="output_text", text="Hi", annotations=5), refused("annotations' expects")),
    ],
    "InputImage.type": [
        (block(type="input_image", image_url="https://x/y.png"), {"call.request.messages.0.media": 1}),
        (block(type="image", image_url="https://x/y.png"), refused("'input_image'")),
    ],
    "InputImage.image_url": [
        (block(type="input_image", image_url="data:image/png;base64,AA"), {"call.request.messages.0.media": 1}),
        (block(type="input_image", image_url="ftp://x"), refused("Expected a valid URL")),
    ],
    "InputFile.type": [
        (block(type="input_file", file_id="f"), {"call.request.messages.0.media": 1}),
        (block(type="file", file_id="f"), refused("'input_file'")),
    ],
    "InputFile.file_id": [
        (block(type="input_file", file_id="f"), {"call.request.messages.0.media": 1}),
        (block(type="input_file", file_id=5), refused("file_id' expects")),
    ],
    "InputFile.filename": [
        (block(type="input_file", filename="a", file_data=PDF), {"call.request.messages.0.media": 1}),
        (block(type="input_file", filename=5, file_data=PDF), refused("filename' expects")),
    ],
    "InputFile.file_data": [
        (block(type="input_file", filename="a", file_data=PDF), {"call.request.messages.0.media": 1}),
        (block(type="input_file", filename="a", file_data="AA"), refused("base64-encoded data URL")),
    ],
    "FunctionCall.type": [
        (item(**CALL), {"call.request.messages.0.tool_calls": (ToolCall("c1", "f", "{}"),)}),
        (item(**CALL | {"type": "call"}), refused("Invalid value: 'call'")),
    ],
    "FunctionCall.id": [
        (item(**CALL | {"id": "fc_2"}), {"status": 200}),
        (item(**CALL | {"id": "call_1"}), refused("begins with 'fc'")),
    ],
    "FunctionCall.call_id": [
        (item(**CALL), {"call.request.messages.0.tool_calls.0.id": "c1"}),
        (item(**CALL | {"call_id": None}), refused("'input[0].call_id'")),
    ],
    "FunctionCall.name": [
        (item(**CALL), {"call.request.messages.0.tool_calls.0.name": "f"}),
        (item(**CALL | {"name": None}), refused("'input[0].name'")),
    ],
    "FunctionCall.arguments": [
        (item(**CALL | {"arguments": '{"a":2}'}), {"call.request.messages.0.tool_calls.0.arguments": '{"a":2}'}),
        (item(**CALL | {"arguments": {"a": 1}}), {"call.request.messages.0.tool_calls.0.arguments": '{"a":1}'}),
        (item(**CALL | {"arguments": 5}), refused("arguments' expects")),
    ],
    "FunctionCallOutput.type": [
        (item(**OUTPUT), {"call.request.messages.0.role": "tool"}),
        (item(**OUTPUT | {"type": "output"}), refused("Invalid value: 'output'")),
    ],
    "FunctionCallOutput.call_id": [
        (item(**OUTPUT), {"call.request.messages.0.tool_call_id": "c1"}),
        (item(**OUTPUT | {"call_id": 5}), refused("call_id' expects")),
    ],
    "FunctionCallOutput.output": [
        (item(**OUTPUT), {"call.request.messages.0.text": "sunny"}),
        (item(**OUTPUT | {"output": {"t": 1}}), {"call.request.messages.0.text": '{"t":1}'}),
        (item(**OUTPUT | {"output": None}), refused("'input[0].output'")),
    ],
}


@pytest.mark.covers(
    "databricks/REST reference: Responses",
    "ResponsesInput, InputText, OutputText, InputImage, InputFile",
    "FunctionCall, FunctionCallOutput",
)
@pytest.mark.parametrize("field", INPUT)
def test_field(field: str) -> None:
    for request, seen in INPUT[field]:
        check(respond(**request), seen)
