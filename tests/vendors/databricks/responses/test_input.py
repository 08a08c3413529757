"""Items and content blocks of ``input``."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import USER, respond

CALL: JSON = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT: JSON = {"type": "function_call_output", "call_id": "c1", "output": "sunny"}


def block(**fields: JSON) -> JSON:
    return {"role": "user", "content": [fields]}


@pytest.mark.covers("databricks/Responses", "items")
@pytest.mark.covers("databricks/Responses", "status on an item", case="a status")
@pytest.mark.covers("databricks/Responses", "ids of 64 characters", case="a long id")
@pytest.mark.covers("databricks/Responses", "ids that begin with fc", case="a call with an id of another kind")
@pytest.mark.covers("databricks/Responses", "a call among the blocks", case="a call among the blocks")
@pytest.mark.parametrize(
    ("item", "text"),
    [
        pytest.param(USER, None, id="a user's message"),
        pytest.param({"role": "assistant", "content": "x"}, None, id="an assistant's message"),
        pytest.param({"role": "system", "content": "x"}, None, id="a system message"),
        pytest.param({"role": "developer", "content": "x"}, None, id="a developer's message"),
        pytest.param({"type": "message", **USER}, None, id="a message with its type"),
        pytest.param({"role": "tool", "content": "x"}, "role must be one of", id="an odd role"),
        pytest.param({"role": "user"}, "Missing required parameter: 'input[0].content'.", id="no content"),
        pytest.param({"role": "user", "content": 5}, "field 'input[0].content' expects", id="a number for content"),
        pytest.param({"content": "x"}, "input[0].role must be one of", id="neither role nor type"),
        pytest.param({"type": "telepathy"}, "Invalid value: 'telepathy'", id="an odd item"),
        pytest.param("x", "field 'input[0]' expects input with json type 'object'", id="a text among items"),
        pytest.param({**USER, "status": "completed"}, "Unknown parameter: 'input[0].status'.", id="a status"),
        pytest.param({**USER, "metadata": {}}, "Unknown parameter: 'input[0].metadata'.", id="an unknown member"),
        pytest.param({**USER, "id": "msg_1"}, None, id="a message's id"),
        pytest.param({"type": "message", **USER, "id": "x1"}, "begins with 'msg'", id="an id of another kind"),
        pytest.param({**USER, "id": "msg_" + "x" * 61}, "maximum length 64", id="a long id"),
        pytest.param(block(type="input_text", text="x"), None, id="a text block"),
        pytest.param(
            block(type="input_text", text="x", cache_control={}),
            "content[0].cache_control'.",
            id="a block's unknown member",
        ),
        pytest.param(block(type="input_text"), "'input[0].content[0].text'", id="a text block without text"),
        pytest.param(block(type="input_text", text=5), "field 'input[0].content[0].text'", id="a number for a text"),
        pytest.param(block(type="output_text", text="x", annotations=[]), None, id="an output block"),
        pytest.param(block(type="output_text", text="x", annotations=5), "annotations' expects", id="odd annotations"),
        pytest.param(block(type="input_image", image_url="https://x/y.png"), None, id="a picture"),
        pytest.param(block(type="input_image", image_url="data:image/png;base64,AA"), None, id="a picture inside"),
        pytest.param(block(type="input_image", image_url="ftp://x"), "Expected a valid URL", id="an odd URL"),
        pytest.param(block(type="input_image"), "image_url'.", id="no picture"),
        pytest.param(block(type="input_file", file_id="f"), None, id="an uploaded file"),
        pytest.param(
            block(type="input_file", filename="a.pdf", file_data="data:application/pdf;base64,AA"), None, id="a file"
        ),
        pytest.param(block(type="input_file", file_data="AA"), "base64-encoded data URL", id="a file without format"),
        pytest.param(block(type="input_file", filename="a"), "file_data'.", id="a name without a file"),
        pytest.param(block(type="input_file", file_id=5), "file_id' expects", id="a number for a file"),
        pytest.param(block(type="text", text="x"), "Supported values are: 'input_text'", id="a block of chat's"),
        pytest.param({"role": "user", "content": ["x"]}, "field 'input[0].content[0]' expects", id="text as a block"),
        pytest.param(CALL, None, id="a call"),
        pytest.param({**CALL, "arguments": {"a": 1}}, None, id="arguments as an object"),
        pytest.param({**CALL, "arguments": 5}, "arguments' expects", id="arguments as a number"),
        pytest.param({**CALL, "id": "call_1"}, "begins with 'fc'", id="a call with an id of another kind"),
        pytest.param({k: v for k, v in CALL.items() if k != "id"}, None, id="a call without id"),
        pytest.param({k: v for k, v in CALL.items() if k != "call_id"}, "'input[0].call_id'", id="without call_id"),
        pytest.param({k: v for k, v in CALL.items() if k != "name"}, "'input[0].name'", id="without name"),
        pytest.param({k: v for k, v in CALL.items() if k != "arguments"}, "'input[0].arguments'", id="no arguments"),
        pytest.param(OUTPUT, None, id="a result"),
        pytest.param({**OUTPUT, "output": {"a": 1}}, None, id="a result as an object"),
        pytest.param({**OUTPUT, "output": None}, "'input[0].output'", id="no result"),
        pytest.param({**OUTPUT, "call_id": 5}, "call_id' expects", id="a number for a call_id"),
        pytest.param({"role": "assistant", "content": [CALL]}, None, id="a call among the blocks"),
        pytest.param({"role": "user", "content": [OUTPUT]}, None, id="a result among the blocks"),
        pytest.param({"type": "reasoning", "id": "rs_1", "summary": []}, None, id="reasoning"),
    ],
)
def test_item(item: JSON, text: str | None) -> None:
    answer = respond(input=[item])
    assert answer.status == (200 if text is None else 400), answer.text
    assert text is None or text in answer.message


def test_items_become_messages() -> None:
    call = respond(input=[USER, CALL, OUTPUT], instructions="Be brief").call
    assert call is not None
    assert call.request.task == "chat"
    assert [m.role for m in call.request.messages] == ["system", "user", "assistant", "tool"]
    assert call.request.messages[2].tool_calls[0].name == "f"
    assert call.request.messages[3].text == "sunny"
