"""Selected tools, their arguments, and answers to their results."""

import json
from typing import Literal

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.json import Object
from emulator.core.requests import ChatRequest, Message, Tool
from emulator.generation.tools import answer_opening, choose_tools, write_arguments
from tests.untyped_json import JSON

STRING: JSON = {"type": "string"}


def takes(*required: str, **properties: JSON) -> Object:
    return {"type": "object", "properties": properties, "required": list(required)}


WEATHER = Tool(
    name="get_weather",
    description="Get the current weather in a city",
    parameters=takes("city", city=STRING, unit={"type": "string", "enum": ["celsius", "fahrenheit"]}),
)
FLIGHTS = Tool(
    name="searchFlights",
    description="Look for flights between airports",
    parameters=takes(
        "origin", "destination", origin=STRING, destination=STRING, passengers={"type": "integer", "maximum": 9},
        date={"type": "string", "format": "date"},
    ),
)  # fmt: skip
ADD = Tool(name="add_numbers", parameters=takes("a", "b", a={"type": "number"}, b={"type": "number"}))
NOW = Tool(name="current_time")
TOOLS = (WEATHER, FLIGHTS, ADD, NOW)


def ask(
    prompt: str,
    choice: Literal["none", "auto", "required"] = "auto",
    *,
    name: str | None = None,
    parallel: bool = False,
    after: tuple[Message, ...] = (),
) -> ChatRequest:
    messages = (Message(role="user", text=prompt), *after)
    return ChatRequest(messages=messages, tools=TOOLS, tool_choice=choice, tool_name=name, parallel=parallel)


RESULT = Message(role="tool", text='{"temp": 21, "sky": "clear"}', tool_call_id="1")


@pytest.mark.parametrize(
    ("chat", "names"),
    [
        pytest.param(ask("What is the weather in Paris?"), ["get_weather"], id="a word of the name"),
        pytest.param(ask("Any flight to Rome?"), ["searchFlights"], id="a word in camel case, in the singular"),
        pytest.param(ask("Which airport is closest?"), ["searchFlights"], id="a word of the description"),
        pytest.param(ask("Is it 30 celsius?"), ["get_weather"], id="a member of an enumeration"),
        pytest.param(ask("北京的天气怎么样？"), ["get_weather"], id="a word in Chinese"),
        pytest.param(ask("Wie wird das Wetter?"), ["get_weather"], id="a word in German"),
        pytest.param(ask("Tell me a joke"), [], id="nothing in common"),
        pytest.param(ask("Could you get the current one for me"), [], id="stop words do not count"),
        pytest.param(ask("weather", "none"), [], id="none"),
        pytest.param(ask("weather", after=(RESULT,)), [], id="none right after a result"),
        pytest.param(ask("weather", "required", after=(RESULT,)), ["get_weather"], id="required even after a result"),
        pytest.param(ask("Tell me a joke", "required", name="add_numbers"), ["add_numbers"], id="the named one"),
        pytest.param(ask("weather in Paris and Rome"), ["get_weather"], id="one call unless parallel"),
        pytest.param(ask("weather in Paris and Rome", parallel=True), ["get_weather"] * 2, id="one call for each city"),
        pytest.param(ask("weather and flights", parallel=True), ["get_weather", "searchFlights"], id="two tools"),
    ],
)
def test_choice(chat: ChatRequest, names: list[str]) -> None:
    assert [tool.name for tool in choose_tools(chat, b"k")] == names


def test_required_without_match_draws_any_tool() -> None:
    chat = ask("Tell me a joke", "required")
    drawn = {choose_tools(chat, bytes([i]))[0].name for i in range(40)}
    assert drawn == {tool.name for tool in TOOLS}
    assert choose_tools(chat, b"k") == choose_tools(chat, b"k")


@pytest.mark.parametrize(
    ("tool", "prompt", "expected"),
    [
        pytest.param(WEATHER, "What's the weather in New York?", {"city": "New York"}, id="a city of two words"),
        pytest.param(WEATHER, "Wetter für München, in Celsius", {"city": "München", "unit": "celsius"}, id="an umlaut"),
        pytest.param(WEATHER, "请问上海今天天气如何", {"city": "上海"}, id="a city in Chinese"),
        pytest.param(WEATHER, "weather at Land's End", {"city": "Land"}, id="cut at an apostrophe"),
        pytest.param(
            FLIGHTS,
            "3 seats from Berlin to Paris on 2026-03-01",
            {"origin": "Berlin", "destination": "Paris", "passengers": 3, "date": "2026-03-01"},
            id="origin, destination, number and date",
        ),
        pytest.param(ADD, "add 3 and 5.5", {"a": 3, "b": 5.5}, id="numbers in order"),
        pytest.param(NOW, "anything", {}, id="no parameters"),
        pytest.param(
            Tool(name="find", parameters=takes("query", query={"type": "string", "minLength": 3})),
            'search for "red shoes" now',
            {"query": "red shoes"},
            id="what is quoted",
        ),
        pytest.param(
            Tool(name="add_customer", parameters=takes("customer_name", customer_name={"type": "string"})),
            "It's time: create a customer named '你好啊集团' (Hello Group), don't wait",
            {"customer_name": "你好啊集团"},
            id="text between single quotation marks",
        ),
    ],
)
def test_arguments_come_from_prompt(tool: Tool, prompt: str, expected: Object) -> None:
    arguments = json.loads(write_arguments(tool, prompt, b"k"))
    assert {name: arguments[name] for name in expected} == expected


def test_invalid_value_is_not_taken_from_prompt() -> None:
    assert json.loads(write_arguments(FLIGHTS, "42 people", b"k")).get("passengers", 1) <= 9


def test_each_turn_takes_next_value() -> None:
    prompt = "weather in Paris, Tokyo, and San Francisco"
    cities = [json.loads(write_arguments(WEATHER, prompt, b"k", turn))["city"] for turn in range(4)]
    assert cities == ["Paris", "Tokyo", "San Francisco", "San Francisco"]


def test_arguments_are_spaced_like_model_output() -> None:
    tool = Tool(name="t", parameters=takes("city", city={"const": "Köln"}))
    assert write_arguments(tool, "", b"k") == '{"city": "Köln"}'


PROPERTIES = st.sampled_from(
    [STRING, {"type": "integer", "minimum": 1, "maximum": 5}, {"type": "boolean"}, {"enum": ["a", "b c"]},
     {"type": "string", "format": "date"}, {"type": "array", "items": STRING}, takes("x", x=STRING)]
)  # fmt: skip
NAMES = st.sampled_from(["city", "name", "last_name", "company", "query", "count", "date", "address", "job"])


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(NAMES, PROPERTIES, min_size=1, max_size=5), st.text(max_size=60), st.binary(max_size=3))
def test_arguments_are_always_valid(properties: dict[str, JSON], prompt: str, key: bytes) -> None:
    schema = takes(*properties, **properties)
    text = write_arguments(Tool(name="t", parameters=schema), prompt + " in O'Hara and Rome's, 7", key)
    assert jsonschema_rs.is_valid(schema, json.loads(text))
    assert "'" not in text


@pytest.mark.parametrize(
    ("result", "language", "said"),
    [
        pytest.param('{"temp": 21, "sky": "clear"}', "en_US", "temp: 21, sky: clear", id="an object as pairs"),
        pytest.param('{"a": {"b": [1, 2]}}', "en_US", "a: b: 1, 2", id="nested values"),
        pytest.param("Sunny,\n21 degrees.", "de_DE", "Sunny, 21 degrees.", id="plain text"),
        pytest.param("晴", "zh_CN", "晴。", id="Chinese"),
        pytest.param("x" * 500, "en_US", "x" * 199 + "…", id="shortened"),
    ],
)
def test_opening_uses_tool_result(result: str, language: str, said: str) -> None:
    chat = ask("weather", after=(Message(role="tool", text=result),))
    assert said in answer_opening(chat, language)


def test_opening_depends_on_language() -> None:
    chat = ask("weather", after=(RESULT,))
    openings = {answer_opening(chat, language) for language in ("en_US", "de_DE", "zh_CN")}
    assert len(openings) == 3


@pytest.mark.parametrize("after", [(), (Message(role="tool", text=""),)], ids=["no result", "an empty result"])
def test_opening_is_empty_without_result(after: tuple[Message, ...]) -> None:
    assert answer_opening(ask("weather", after=after)) == ""
