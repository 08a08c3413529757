"""What the container checks beyond types, and what a model can do."""

import pytest

from emulator.core.json import dump_text
from tests.untyped_json import JSON
from tests.vendors.azure.service import HELLO, accept, chat, messages, refuse

TOOL: JSON = {"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"a": 1}}}
NAMED: JSON = {"type": "function", "function": {"name": "get_weather"}}
PICTURE: JSON = {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low"}}
SCHEMA: JSON = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}


@pytest.mark.covers("azure/400 or 422", "2 what the model lacks")
@pytest.mark.covers("azure/messages and parts", "a model without vision", case="a picture")
@pytest.mark.covers("azure/tools and formats", "required, none there", case="a required tool where none is")
@pytest.mark.covers("azure/tools and formats", "no tools", case="tools")
@pytest.mark.covers("azure/tools and formats", "unsupported", case="JSON mode")
@pytest.mark.parametrize(
    ("fields", "loc", "value"),
    [
        pytest.param({"response_format": {"type": "json_object"}}, "response_format", "json_object", id="JSON mode"),
        pytest.param({"response_format": SCHEMA}, "response_format", "json_schema", id="a schema"),
        pytest.param({"tools": [TOOL]}, "tools", [TOOL], id="tools"),
        pytest.param({"tool_choice": "required"}, "tool_choice", "required", id="a required tool where none is"),
        pytest.param({"tool_choice": NAMED}, "tool_choice", NAMED, id="a named tool where none is"),
        pytest.param({"modalities": ["text", "audio"]}, "modalities", ["text", "audio"], id="an answer in sound"),
        pytest.param(messages(PICTURE), "messages", "image_url", id="a picture"),
        pytest.param(
            messages({"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}),
            "messages",
            "input_audio",
            id="a sound",
        ),
    ],
)
def test_unsupported_parameter_returns_422(fields: JSON, loc: str, value: JSON) -> None:

    refused = refuse(chat(model="llama2-70b-chat", **fields) | fields)
    assert refused.status == 422
    assert refused.headers["x-ms-error-code"] == "parameter_not_supported"
    detail = {"loc": ["body", loc], "value": value if isinstance(value, str) else dump_text(value), "input": value}
    assert refused.json() == {
        "status": 422,
        "code": "parameter_not_supported",
        "error": "Unprocessable Entity",
        "message": "One of the parameters contain invalid values.",
        "detail": detail,
    }


def test_azure_openai_names_the_part_that_its_model_lacks() -> None:
    """Source: browser-use/web-ui issue 274."""
    refused = refuse(
        {**messages({"type": "text", "text": "x"}, PICTURE), "model": "gpt-4"}, "/openai/v1/chat/completions"
    )
    error = {
        "message": "Invalid content type. image_url is only supported by certain models.",
        "type": "invalid_request_error",
        "param": "messages.[0].content.[1].type",
        "code": None,
    }
    assert (refused.status, refused.json()) == (400, {"error": error})


@pytest.mark.covers("azure/where page and service differ", "temperature", case="a narrow range")
@pytest.mark.covers("azure/where page and service differ", "tool_call_id", case="tool_call_id required")
@pytest.mark.covers("azure/where page and service differ", "tool_choice", case="a string only")
@pytest.mark.parametrize(
    ("scenario", "body", "loc"),
    [
        pytest.param("strict_range=true", chat(temperature=1.1), "temperature", id="a narrow range"),
        pytest.param(
            "strict_tool_choice=true", chat(tools=[TOOL], tool_choice=NAMED), "tool_choice", id="a string only"
        ),
        pytest.param(
            "require_tool_call_id=true",
            {"messages": [*HELLO["messages"], {"role": "tool", "content": "x"}]},
            "messages",
            id="tool_call_id required",
        ),
    ],
)
def test_strict_settings_refuse_parameters(scenario: str, body: JSON, loc: str) -> None:
    assert accept(body)
    assert refuse(body, scenario=scenario).json()["detail"]["loc"][1] == loc
