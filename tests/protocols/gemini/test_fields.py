"""How Google's JSON reader takes a request."""

import pytest

from emulator.core.errors import EmulatedError
from emulator.protocols.gemini.request import parse_request
from tests.untyped_json import JSON

GENERATE = "GenerateContentRequest"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param({"generation_config": {"max_output_tokens": "5"}}, {"generationConfig": {"maxOutputTokens": 5}},
                     id="underscores, and a number in a string"),
        pytest.param({"contents": {"parts": {"text": "x"}}}, {"contents": [{"parts": [{"text": "x"}]}]},
                     id="one in place of a list"),
        pytest.param({"tools": None, "contents": []}, {"contents": []}, id="null is absent"),
        pytest.param({"generationConfig": {"candidateCount": 1.0}}, {"generationConfig": {"candidateCount": 1}},
                     id="a whole float"),
        pytest.param({"tools": [{"google_search": {"any_thing": 1}}]}, {"tools": [{"googleSearch": {"any_thing": 1}}]},
                     id="what is inside a tool of Google's own is left as it is"),
        pytest.param({"contents": [{"parts": [{"function_call": {"args": {"a_b": 1}}}]}]},
                     {"contents": [{"parts": [{"functionCall": {"args": {"a_b": 1}}}]}]}, id="and arguments"),
    ],
)  # fmt: skip
def test_parse_request_normalizes_names_and_numbers(given: JSON, read: JSON) -> None:
    assert parse_request(given, GENERATE) == read


_CONTENT = "type.googleapis.com/google.ai.generativelanguage.v1beta.Content"
_SCHEMA = "type.googleapis.com/google.ai.generativelanguage.v1beta.Schema"
_STRUCT = "type.googleapis.com/google.protobuf.Struct"
_MODE = "type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"max_tokens": 1}, 'Invalid JSON payload received. Unknown name "max_tokens": Cannot find field.',
                     id="unknown"),
        pytest.param({"contents": [{}, {"text": "x"}]},
                     "Invalid JSON payload received. Unknown name \"text\" at 'contents[1]': Cannot find field.",
                     id="unknown inside"),
        pytest.param({"contents": "x"}, f"Invalid value at 'contents' ({_CONTENT}), \"x\"", id="a text for a message"),
        pytest.param({"contents": [{"parts": [{"text": 5}]}]},
                     "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5", id="a number for a text"),
        pytest.param({"generationConfig": {"topK": True}},
                     "Invalid value at 'generation_config.top_k' (TYPE_FLOAT), true", id="a boolean for a number"),
        pytest.param({"generationConfig": {"seed": 1.5}}, "Invalid value at 'generation_config.seed' (TYPE_INT32), 1.5",
                     id="a fraction for an integer"),
        pytest.param({"generationConfig": {"temperature": "inf"}},
                     "Invalid value at 'generation_config.temperature' (TYPE_FLOAT), \"inf\"", id="no end"),
        pytest.param({"generationConfig": {"responseLogprobs": "true"}},
                     "Invalid value at 'generation_config.response_logprobs' (TYPE_BOOL), \"true\"", id="no boolean"),
        pytest.param({"tools": [{"functionDeclarations": [{"name": "f", "parameters": True}]}]},
                     f"Invalid value at 'tools[0].function_declarations[0].parameters' ({_SCHEMA}), true",
                     id="a boolean for a schema"),
        pytest.param({"generationConfig": {"responseSchema": [1]}},
                     f"Invalid value at 'generation_config.response_schema' ({_SCHEMA}), [1]",
                     id="a list for a schema"),
        pytest.param({"contents": [{"parts": [{"functionCall": {"name": "f", "args": "{}"}}]}]},
                     f"Invalid value at 'contents[0].parts[0].function_call.args' ({_STRUCT}), \"{{}}\"",
                     id="a text for arguments"),
        pytest.param({"contents": [{"parts": [{"functionResponse": {"name": "f", "response": 5}}]}]},
                     f"Invalid value at 'contents[0].parts[0].function_response.response' ({_STRUCT}), 5",
                     id="a number for a result"),
        pytest.param({"toolConfig": {"functionCallingConfig": {"mode": "MUST"}}},
                     f"Invalid value at 'tool_config.function_calling_config.mode' ({_MODE}), \"MUST\"", id="no mode"),
    ],
)  # fmt: skip
def test_parse_request_rejects_invalid_fields(given: JSON, message: str) -> None:
    with pytest.raises(EmulatedError) as refused:
        parse_request(given, GENERATE)
    assert refused.value.message == message
