"""The fault ``bad_arguments`` and ``generate: invalid`` on tool calls, in every dialect, streamed and whole."""

import json
import urllib.request
from collections.abc import Iterator

import pytest

from emulator import start
from emulator.client import EmulatorClient
from emulator.core.json import as_object
from emulator.core.plan import Breakage
from emulator.generation.broken_arguments import break_arguments
from emulator.generation.json_schema import is_instance
from tests.untyped_json import JSON

SCHEMA: JSON = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
PROMPT = "What is the weather in Paris for 3 days?"
FUNCTION: JSON = {"name": "get_weather", "description": "The weather", "parameters": SCHEMA}
HOW = ("truncated", "not_json", "wrong_type", "missing", "extra")
UNPARSED = ("truncated", "not_json")
_MESSAGES: JSON = [{"role": "user", "content": PROMPT}]
_OPENAI: JSON = {"messages": _MESSAGES, "tools": [{"type": "function", "function": FUNCTION}]}
_RESPONSES: JSON = {"input": PROMPT, "tools": [{"type": "function", **FUNCTION}], "tool_choice": "required"}
_ANTHROPIC: JSON = {
    "model": "databricks-claude-sonnet-4",
    "max_tokens": 200,
    "messages": _MESSAGES,
    "tools": [{"name": "get_weather", "input_schema": SCHEMA}],
}
_GEMINI: JSON = {
    "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
    "tools": [{"functionDeclarations": [{**FUNCTION, "parameters": {**SCHEMA, "additionalProperties": None}}]}],
}
del _GEMINI["tools"][0]["functionDeclarations"][0]["parameters"]["additionalProperties"]

# name, vendor, path, path of the stream, body
DIALECTS: dict[str, tuple[str, str, str, JSON]] = {
    "databricks": (
        "databricks",
        "/serving-endpoints/chat/completions",
        "",
        {"model": "databricks-meta-llama-3-3-70b-instruct", **_OPENAI},
    ),
    "azure": ("azure", "/openai/v1/chat/completions", "", {"model": "gpt-4o", **_OPENAI}),
    "mindie": ("mindie", "/v1/chat/completions", "", {"model": "llama_65b", **_OPENAI, "max_tokens": 200}),
    "tgi": ("tgi", "/v1/chat/completions", "", {"model": "tgi", **_OPENAI}),
    "openvino": ("openvino", "/v3/chat/completions", "", {"model": "hermes", **_OPENAI, "max_tokens": 200}),
    "responses": ("databricks", "/serving-endpoints/responses", "", {"model": "databricks-gpt-5", **_RESPONSES}),
    "responses of azure": ("azure", "/openai/v1/responses", "", {"model": "gpt-4o", **_RESPONSES}),
    "anthropic": ("databricks", "/serving-endpoints/anthropic/v1/messages", "", _ANTHROPIC),
    "gemini": (
        "databricks",
        "/serving-endpoints/gemini/v1beta/models/databricks-gemini-2-5-flash:generateContent",
        "/serving-endpoints/gemini/v1beta/models/databricks-gemini-2-5-flash:streamGenerateContent?alt=sse",
        _GEMINI,
    ),
}


@pytest.fixture(scope="module")
def served() -> Iterator[EmulatorClient]:
    rules: list[JSON] = [
        {"name": how, "when": {"header.x-how": how}, "faults": [{"type": "bad_arguments", "how": how}]} for how in HOW
    ]
    rules.append({"name": "invalid", "when": {"header.x-how": "invalid"}, "reply": {"generate": "invalid"}})
    deployments: list[JSON] = [{"vendor": "openvino", "name": "hermes", "traits": {"tool_parser": "hermes3"}}]
    with start(
        {"rules": rules},
        vendors={"azure": {"profile": "aoai"}, "openvino": {"profile": "latest"}},
        deployments=deployments,
    ) as emulator:
        yield emulator


def send(emulator: EmulatorClient, dialect: str, how: str, *, stream: bool) -> str:
    vendor, path, stream_path, body = DIALECTS[dialect]
    if stream:
        path, body = (stream_path, body) if stream_path else (path, {**body, "stream": True})
    headers = {"content-type": "application/json", "authorization": "Bearer k", "api-key": "k" * 32, "x-how": how}
    asked = urllib.request.Request(emulator.url(vendor) + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=20) as response:
        text: str = response.read().decode()
    return text


def find(node: JSON, names: tuple[str, ...]) -> Iterator[JSON]:
    """Yield the values of the named members, in order."""
    if isinstance(node, list):
        for item in node:
            yield from find(item, names)
    if isinstance(node, dict):
        for name, value in node.items():
            if name in names:
                yield value
            else:
                yield from find(value, names)


def read_whole(text: str, dialect: str) -> JSON:
    """Return the arguments of a whole response: text, or a value of a dialect that parses them."""
    body = json.loads(text)
    names = {"anthropic": ("input",), "gemini": ("args",)}.get(dialect, ("arguments",))
    found = [value for value in find(body, names) if value != SCHEMA]
    return found[0] if found else None


def read_stream(text: str, dialect: str) -> JSON:
    """Return the arguments of a stream."""
    events = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:") and "[DONE]" not in line]
    if dialect == "gemini":
        return next(find(events, ("args",)), None)
    if dialect.startswith("responses"):
        return "".join(event["delta"] for event in events if event["type"].endswith("function_call_arguments.delta"))
    names = ("partial_json",) if dialect == "anthropic" else ("arguments",)
    return "".join(part for part in find(events, names) if isinstance(part, str))


def is_valid(arguments: JSON) -> bool:
    if not isinstance(arguments, str):
        return is_instance(SCHEMA, arguments)
    try:
        return is_instance(SCHEMA, json.loads(arguments))
    except ValueError:
        return False


@pytest.mark.covers("language/faults", "bad_arguments")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_a_broken_call(served: EmulatorClient, dialect: str, stream: bool) -> None:
    read = read_stream if stream else read_whole
    fine = read(send(served, dialect, "no", stream=stream), dialect)
    assert is_valid(fine)
    for how in (*HOW, "invalid"):
        found = read(send(served, dialect, how, stream=stream), dialect)
        no_place = how in UNPARSED and (dialect == "gemini" or (dialect == "anthropic" and not stream))
        assert (found is None) is no_place, how
        assert found != fine, how
        assert not is_valid(found), how
        if how == "extra":
            assert ("unexpected" in found) or ("unexpected" in as_object(found))
    assert [call.faults for call in served.requests(rule="missing", limit=1)] == [["bad_arguments"]]


@pytest.mark.parametrize(
    ("how", "text", "schema", "expected"),
    [
        pytest.param("truncated", '{"city": "Paris", "days": 3}', SCHEMA, '{"city": "Pari', id="cut off"),
        pytest.param("truncated", "{}", {}, "{", id="cut off, without arguments"),
        pytest.param("truncated", "1234", {}, "{", id="cut off, a number"),
        pytest.param("not_json", "{}", {}, "```json\n{}\n```", id="in a code fence"),
        pytest.param("wrong_type", '{"city": "Paris", "days": 3}', SCHEMA, '{"city":7,"days":3}', id="another type"),
        pytest.param("wrong_type", '{"a": "b"}', {}, '[{"a":"b"}]', id="a list where every type fits"),
        pytest.param("wrong_type", "{}", {}, "[{}]", id="a list without arguments"),
        pytest.param("missing", '{"x": 1, "days": 3}', SCHEMA, '{"x":1}', id="the first required one"),
        pytest.param("missing", '{"x": 1}', {}, "{}", id="the first one"),
        pytest.param("extra", '{"unexpected": 1}', {}, '{"unexpected":1,"unexpected_":"value"}', id="a free name"),
        pytest.param("missing", "no JSON", {}, "no JSON", id="text stays"),
    ],
)
def test_arguments_break_as_told(how: Breakage, text: str, schema: JSON, expected: str) -> None:
    assert break_arguments(text, schema, how) == expected


def test_a_fixed_call_breaks_too_and_a_header_asks_for_it(served: EmulatorClient) -> None:
    with served.session("fixed") as session:
        session.load(
            {
                "rules": [
                    {"name": "r", "reply": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}]}}
                ]
            }
        )
        vendor, path, _, body = DIALECTS["databricks"]
        asked = urllib.request.Request(
            session.url(vendor) + path,
            json.dumps(body).encode(),
            {
                "content-type": "application/json",
                "authorization": "Bearer k",
                "x-emulator-fault": "bad_arguments; how=missing",
            },
        )
        with urllib.request.urlopen(asked, timeout=20) as response:
            assert '"arguments":"{}"' in response.read().decode()
