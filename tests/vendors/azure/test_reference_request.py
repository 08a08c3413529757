"""The reference page's tables of a request, each field with a request that shows it and one that it refuses."""

from collections.abc import Mapping

import pytest

from emulator.core.requests import Message, Sampling, Tool
from tests.reference_rows import Cases, Piece, check
from tests.untyped_json import JSON
from tests.vendors.azure.service import CHAT, FIRST, HELLO, PASS, broken, chat, look

PARAMETERS: JSON = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION: JSON = {"name": "f", "description": "d", "parameters": PARAMETERS}
TOOL: JSON = {"type": "function", "function": FUNCTION}
NO_TOOLS: JSON = {"model": "llama2-70b-chat"}
DEFAULT = Sampling(max_tokens=4096)

# values that are taken, and values out of their range
REQUEST: dict[str, Cases] = {
    "messages": [
        ({"messages": [{"role": "user", "content": "Hi"}]}, {"request.messages": (Message(role="user", text="Hi"),)}),
        ({"messages": []}, broken("Value error, messages can not be an empty list", "messages")),
    ],
    "frequency_penalty": [
        ({"frequency_penalty": -2}, {"request.sampling.parameters": (("frequency_penalty", -2.0),)}),
        ({"frequency_penalty": 2.1}, broken("Input should be less than or equal to 2", "frequency_penalty")),
    ],
    "max_tokens": [
        ({"max_tokens": 7}, {"request.sampling.max_tokens": 7}),
        ({"max_tokens": -1}, broken("Input should be greater than or equal to 0", "max_tokens")),
    ],
    "presence_penalty": [
        ({"presence_penalty": 2}, {"request.sampling.parameters": (("presence_penalty", 2.0),)}),
        ({"presence_penalty": -2.1}, broken("Input should be greater than or equal to -2", "presence_penalty")),
    ],
    "response_format": [
        ({"response_format": {"type": "json_object"}}, {"request.format": "json_object"}),
        ({"response_format": {}}, broken("Field required", "response_format", "type")),
    ],
    "seed": [
        ({"seed": 42}, {"request.sampling.seed": 42}),
        ({"seed": 2**63}, broken("Input should be less than or equal to", "seed")),
    ],
    "stop": [
        ({"stop": "END"}, {"request.sampling.stop": ("END",)}),
        ({"stop": ["a", "b"]}, {"request.sampling.stop": ("a", "b")}),
        ({"stop": []}, broken("Input should be a valid string", "stop")),
    ],
    "stream": [
        ({"stream": True}, {"stream": True}),
        ({"stream": 1}, broken("Input should be a valid boolean", "stream")),
    ],
    "temperature": [
        ({"temperature": 2}, {"request.sampling.parameters": (("temperature", 2.0),)}),
        ({"temperature": 0}, {"request.sampling.greedy": True}),
        ({"temperature": -0.1}, broken("Input should be greater than or equal to 0", "temperature")),
    ],
    "tool_choice": [
        ({"tools": [TOOL], "tool_choice": "required"}, {"request.tool_choice": "required"}),
        ({"tool_choice": "maybe"}, broken("Input should be 'none', 'auto' or 'required'", "tool_choice")),
    ],
    "tools": [
        ({"tools": [TOOL]}, {"request.tools": (Tool(name="f", description="d", parameters=PARAMETERS),)}),
        ({**NO_TOOLS, "tools": [TOOL]}, {"status": 422, "answer.detail.loc": ["body", "tools"]}),
    ],
    "top_p": [
        ({"top_p": 0.1}, {"request.sampling.parameters": (("top_p", 0.1),)}),
        ({"top_p": 1.1}, broken("Input should be less than or equal to 1", "top_p")),
    ],
}

# the values of an absent field, and values of another type
DEFAULTS: dict[str, Cases] = {
    "messages": [({"messages": "Hi"}, broken("Input should be a valid list", "messages"))],
    "frequency_penalty": [
        ({"frequency_penalty": 0}, {"request.sampling": DEFAULT}),
        ({"frequency_penalty": "high"}, broken("Input should be a valid number", "frequency_penalty")),
    ],
    "max_tokens": [
        ({"max_tokens": None}, {"request.sampling": DEFAULT}),
        ({"max_tokens": 1.5}, broken("Input should be a valid integer", "max_tokens")),
    ],
    "presence_penalty": [
        ({"presence_penalty": 0}, {"request.sampling": DEFAULT}),
        ({"presence_penalty": []}, broken("Input should be a valid number", "presence_penalty")),
    ],
    "response_format": [
        ({}, {"request.format": "text"}),
        ({"response_format": "json_object"}, broken("Input should be a valid dictionary", "response_format")),
    ],
    "seed": [
        ({}, {"request.sampling.seed": None}),
        ({"seed": "x"}, broken("Input should be a valid integer", "seed")),
    ],
    "stop": [
        ({"stop": None}, {"request.sampling": DEFAULT}),
        ({"stop": 5}, broken("Input should be a valid string", "stop")),
    ],
    "stream": [
        ({}, {"stream": False}),
        ({"stream": "yes"}, broken("Input should be a valid boolean", "stream")),
    ],
    "temperature": [
        ({"temperature": 1}, {"request.sampling": DEFAULT}),
        ({"temperature": "hot"}, broken("Input should be a valid number", "temperature")),
    ],
    "tool_choice": [
        ({}, {"request.tool_choice": "none"}),
        ({"tools": [TOOL]}, {"request.tool_choice": "auto"}),
        (
            {"tools": [TOOL], "tool_choice": {"type": "function"}},
            broken("Field required", "tool_choice", "function"),
        ),
    ],
    "tools": [
        ({}, {"request.tools": ()}),
        ({"tools": {}}, broken("Input should be a valid list", "tools")),
    ],
    "top_p": [
        ({"top_p": 1}, {"request.sampling": DEFAULT}),
        ({"top_p": "x"}, broken("Input should be a valid number", "top_p")),
    ],
}

BODY: dict[str, Cases] = {
    **{f"Request Body.{name}": cases for name, cases in REQUEST.items()},
    **{f"CreateChatCompletionRequest.{name}": cases for name, cases in DEFAULTS.items()},
}


@pytest.mark.covers(
    "azure/reference page: request",
    "messages",
    "frequency_penalty",
    "max_tokens",
    "presence_penalty",
    "response_format",
    "seed",
    "stop",
    "stream",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
)
@pytest.mark.parametrize("field", BODY)
def test_body_field(field: str) -> None:
    for fields, seen in BODY[field]:
        check(look(body=chat(**fields)), seen)


KEYS = "keys:\n  - {token: t, principal: search}\n"
TOKEN = b"grant_type=client_credentials&client_secret=t"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
UNAUTHORIZED: Mapping[str, object] = {"status": 401, "headers.x-ms-error-code": "Unauthorized"}

AROUND: dict[str, Cases] = {
    "URI Parameters.api-version": [
        ({"target": "/chat/completions?api-version=2025-01-31"}, {"request.task": "chat"}),
        ({"target": "/chat/completions?api-version=2024-04-01-preview"}, {"request.task": "chat"}),
        ({"target": "/chat/completions"}, {"status": 400, "answer.param": "api-version"}),
        ({"target": "/chat/completions?api-version=soon"}, {"status": 400, "answer.param": "api-version"}),
    ],
    "Request Header.extra-parameters": [
        ({"body": chat(n=2), "headers": PASS}, {"request.sampling.n": 2}),
        ({"body": chat(n=2), "headers": {"extra-parameters": "ignore"}}, {"request.sampling.n": 1}),
        (
            {"body": chat(n=2), "headers": {"extra-parameters": "error"}},
            {"status": 400, "answer.message": Piece("Extra parameters ['n'] are not allowed")},
        ),
    ],
    "Request Header.azureml-model-deployment": [
        ({}, {"deployment.name": FIRST}),
        ({"headers": {"azureml-model-deployment": "gpt-4o-mini"}}, {"deployment.name": "gpt-4o-mini"}),
        ({"headers": {"azureml-model-deployment": "nobody"}}, {"status": 404, "answer.error": "Not Found"}),
    ],
    "Security.Authorization": [
        ({"headers": {"api-key": "", "Authorization": "Bearer t"}, "scenario": KEYS}, {"request.task": "chat"}),
        ({"headers": {"api-key": "", "Authorization": "Bearer x"}, "scenario": KEYS}, UNAUTHORIZED),
        ({"headers": {"api-key": "", "Authorization": "t"}, "scenario": KEYS}, UNAUTHORIZED),
    ],
    "Security.AADToken": [
        (
            {"body": TOKEN, "target": "/common/oauth2/v2.0/token", "headers": FORM, "scenario": KEYS},
            {"status": 200, "answer.token_type": "Bearer", "answer.access_token": "t", "answer.expires_in": 3599},
        ),
        (
            {"body": TOKEN + b"x", "target": "/common/oauth2/v2.0/token", "headers": FORM, "scenario": KEYS},
            {"status": 401, "answer.error": "invalid_client"},
        ),
    ],
}


@pytest.mark.covers("azure/reference page: request", "api-version", case="URI Parameters.api-version")
@pytest.mark.covers("azure/reference page: request", "extra-parameters", case="Request Header.extra-parameters")
@pytest.mark.covers(
    "azure/reference page: request", "azureml-model-deployment", case="Request Header.azureml-model-deployment"
)
@pytest.mark.covers("azure/reference page: request", "Authorization", case="Security.Authorization")
@pytest.mark.covers("azure/reference page: request", "AADToken", case="Security.AADToken")
@pytest.mark.parametrize("field", AROUND)
def test_header_and_query_fields(field: str) -> None:
    for request, seen in AROUND[field]:
        check(look(**{"body": HELLO, "target": CHAT, **request}), seen)
