"""Words of Azure OpenAI's refusals: every member of rich requests unknown, of another type, and of a wrong value.

The expected type is that of the member itself, so no table of the emulator is asked.
"""

import re
from collections.abc import Iterator

import pytest

from tests.untyped_json import JSON
from tests.vendors.azure.service import Refused, accept, send

CHAT = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
V1_CHAT = "/openai/v1/chat/completions"
RESPONSES = "/openai/v1/responses"
_SCHEMA: JSON = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
RICH_CHAT: JSON = {
    "model": "gpt-4o",
    "messages": [
        {"role": "developer", "content": "x", "name": "n"},
        {
            "role": "user",
            "name": "u",
            "content": [
                {"type": "text", "text": "x"},
                {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:,"}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "a"}],
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "x"}]},
        {"role": "user", "content": "x"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": _SCHEMA, "strict": True}}
    ],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "parallel_tool_calls": True,
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "n", "description": "d", "strict": True, "schema": _SCHEMA},
    },
    "stream": True,
    "stream_options": {"include_usage": True, "include_obfuscation": False},
    "temperature": 0.5,
    "top_p": 0.5,
    "n": 1,
    "stop": ["a"],
    "max_completion_tokens": 5,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "logit_bias": {"5": 1},
    "logprobs": True,
    "top_logprobs": 1,
    "seed": 1,
    "user": "u",
    "metadata": {"a": "b"},
    "store": False,
    "service_tier": "auto",
    "modalities": ["text"],
    "prompt_cache_key": "k",
    "safety_identifier": "s",
    "prediction": {"type": "content", "content": [{"type": "text", "text": "x"}]},
}
RICH_RESPONSE: JSON = {
    "model": "gpt-4o",
    "instructions": "i",
    "input": [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url": "https://x/a.png", "detail": "low"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
            ],
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "x",
                    "annotations": [
                        {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
                    ],
                    "logprobs": [],
                },
                {"type": "refusal", "refusal": "r"},
            ],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "f",
            "arguments": "{}",
            "status": "completed",
        },
        {"type": "function_call_output", "id": "fc_2", "call_id": "call_1", "output": "x", "status": "completed"},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "c", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": "x"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "x"}],
            "encrypted_content": "x",
        },
        {"role": "user", "content": "x"},
    ],
    "tools": [
        {"type": "function", "name": "f", "description": "d", "parameters": _SCHEMA, "strict": True},
        {
            "type": "custom",
            "name": "c",
            "description": "d",
            "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'},
        },
    ],
    "tool_choice": {"type": "function", "name": "f"},
    "parallel_tool_calls": True,
    "text": {
        "format": {"type": "json_schema", "name": "n", "description": "d", "strict": True, "schema": _SCHEMA},
        "verbosity": "medium",
    },
    "stream": True,
    "stream_options": {"include_obfuscation": False},
    "include": ["message.output_text.logprobs"],
    "top_logprobs": 1,
    "max_output_tokens": 50,
    "max_tool_calls": 3,
    "metadata": {"a": "b"},
    "store": False,
    "service_tier": "auto",
    "temperature": 0.5,
    "top_p": 0.5,
    "truncation": "auto",
    "user": "u",
    "prompt_cache_key": "k",
    "safety_identifier": "s",
    "background": False,
}
REQUESTS = [(RICH_CHAT, CHAT), (RICH_CHAT, V1_CHAT), (RICH_RESPONSE, RESPONSES)]
_FREE = ("parameters", "schema", "metadata", "logit_bias")
_CHOICES = ("role", "type", "detail", "status", "verbosity", "service_tier", "truncation", "syntax", "modalities[0]")
_UNIONS = ("content", "output", "input", "stop", "tool_choice", "prediction.content")
_OTHERS: list[tuple[JSON, str]] = [
    (True, "a boolean"),
    (7, "an integer"),
    (0.5, "a decimal number"),
    ("odd", "a string"),
    ([], "an array"),
    ([7], "an array"),
    ({}, "an object"),
    ({"odd": 1}, "an object"),
]


def list_members(value: JSON, path: str = "") -> Iterator[tuple[str, JSON]]:
    """Yield every member and item by its path, but none of an object that takes any."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        place = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        yield place, inner
        if key not in _FREE:
            yield from list_members(inner, place)


def put(body: JSON, path: str, value: JSON) -> JSON:
    """Return the body with another value at a path."""
    head, rest = re.fullmatch(r"(\[\d+\]|[^.\[]+)\.?(.*)", path).groups()  # type: ignore[union-attr]
    if head.startswith("["):
        number = int(head[1:-1])
        inner = put(body[number], rest, value) if rest else value
        return [*body[:number], inner, *body[number + 1 :]]
    return {**body, head: put(body[head], rest, value) if rest else value}


def refuse(body: JSON, target: str) -> JSON:
    """Return the error of a refused request."""
    answer = send(body, target)
    return answer.json()["error"] if isinstance(answer, Refused) else {"message": "", "code": None, "param": None}


def describe(value: JSON, path: str) -> str:
    """Return a pattern of what the service expects in place of a valid value."""
    name = path.rpartition(".")[2]
    if name in _CHOICES or name.startswith("include["):
        return "(a string|(one of )?'.+')"
    if name in _UNIONS:
        return "(a string|an array of objects|an object|one of .+)"
    if isinstance(value, bool):
        return "a boolean"
    kinds = {str: "a string", int: "an integer", float: "a decimal", dict: "an object", list: "an array of objects"}
    return kinds[type(value)]


@pytest.mark.parametrize(("body", "target"), REQUESTS)
def test_rich_request_passes(body: JSON, target: str) -> None:
    assert accept(body, target)


@pytest.mark.parametrize(("body", "target"), REQUESTS)
def test_unknown_member_is_named_at_every_depth(body: JSON, target: str) -> None:
    objects = [path for path, value in list_members(body) if isinstance(value, dict)]
    wrong = {}
    for path in objects:
        if path.rpartition(".")[2] not in _FREE:
            error = refuse(put(body, f"{path}.odd", 1), target)
            unknown = f"Unknown parameter: '{path}.odd'."
            if (error["message"], error["param"], error["code"]) != (unknown, f"{path}.odd", "unknown_parameter"):
                wrong[path] = error
    assert wrong == {}
    assert len(objects) > 20


@pytest.mark.parametrize(("body", "target"), REQUESTS)
def test_value_of_another_type_is_named_at_every_depth(body: JSON, target: str) -> None:
    wrong = {}
    for path, value in list_members(body):
        for other, given in _OTHERS:
            if type(other) is type(value) or (type(value), type(other)) == (float, int):
                continue
            error = refuse(put(body, path, other), target)
            name = path.rpartition(".")[2]
            if name in _UNIONS and error["code"] != "invalid_type":
                continue  # the other type of two
            if isinstance(other, str) and (name in _CHOICES or name == "model"):
                continue  # a value that is none of them
            if name in _UNIONS and other == [7] and error["param"] == f"{path}[0]":
                continue  # a list, of wrong items
            start, end = f"Invalid type for '{path}': expected ", f", but got {given} instead."
            words = re.escape(start) + describe(value, path) + re.escape(end)
            if re.fullmatch(words, error["message"]) is None or error["param"] != path:
                wrong[f"{path}: {other!r}"] = error["message"]
    assert wrong == {}


@pytest.mark.parametrize(("body", "target"), REQUESTS)
def test_wrong_choice_is_named_at_every_depth(body: JSON, target: str) -> None:
    wrong = {}
    for path, value in list_members(body):
        if isinstance(value, str) and path.rpartition(".")[2] in _CHOICES:
            error = refuse(put(body, path, "odd"), target)
            if (
                not error["message"].startswith("Invalid value: 'odd'. Supported values are: '")
                or error["param"] != path
            ):
                wrong[path] = error
    assert wrong == {}


@pytest.mark.parametrize("place", [0, 1, 3, 4])
@pytest.mark.parametrize("target", [CHAT, V1_CHAT])
def test_null_content_has_words_of_its_own(place: int, target: str) -> None:
    error = refuse(put(RICH_CHAT, f"messages[{place}].content", None), target)
    assert (error["message"], error["param"], error["code"]) == (
        "Invalid value for 'content': expected a string, got null.",
        f"messages.[{place}].content",
        None,
    )


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"odd": 1}, "odd"),
        ({"stream": True}, "stream"),
        ({"text": {"fromat": {}}}, "text.fromat"),
        ({"reasoning": {"max_tokens": 5}}, "reasoning.max_tokens"),
        ({"input": [{"role": "user", "content": "x", "odd": 1}]}, "input[0].odd"),
        ({"tools": [{"type": "function", "name": "f", "parameters": {}, "n": 1}]}, "tools[0].n"),
    ],
)
def test_counting_refuses_unknown_members(fields: JSON, param: str) -> None:
    error = refuse({"model": "gpt-4o", "input": "x", **fields}, f"{RESPONSES}/input_tokens")
    assert (error["message"], error["param"]) == (f"Unknown parameter: '{param}'.", param)


def test_counting_takes_requests_of_responses() -> None:
    names = ("input", "tools", "tool_choice", "text", "truncation", "instructions", "parallel_tool_calls")
    rest = {name: RICH_RESPONSE[name] for name in names}
    assert not isinstance(send({"model": "gpt-4o", **rest}, f"{RESPONSES}/input_tokens"), Refused)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"functions": [{"name": "f"}], "function_call": {"name": 5}}, "function_call.name': expected a string"),
        ({"prompt_cache_key": []}, "prompt_cache_key': expected a string, but got an array"),
        ({"stop": ["a", 5]}, "stop[1]': expected a string, but got an integer"),
        ({"prediction": {"type": "content", "content": ["x"]}}, "prediction.content[0]': expected an object"),
    ],
)
def test_member_of_one_of_two_types_is_named(fields: JSON, message: str) -> None:
    error = refuse({"messages": [{"role": "user", "content": "x"}], **fields}, CHAT)
    assert message in error["message"]
