"""A usual chat is read the short way just as it would be read the long one."""

import json
from dataclasses import replace

import pytest

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, Object
from emulator.core.vendor import Call
from emulator.core.wire import WireRequest
from emulator.vendors.databricks.chat.parse import parse_chat, read_chat
from emulator.vendors.databricks.chat.plain import read_plain
from emulator.vendors.databricks.request import Query, find_by_model
from tests.vendors.databricks.harness import CLAUDE, GEMINI, GPT, LLAMA, OSS, make_service

USER: Object = {"role": "user", "content": "Tell me about the tides."}
SYSTEM: Object = {"role": "system", "content": "Be brief."}
SAID: Object = {"role": "assistant", "content": ""}
SMALL = Deployment(vendor="databricks", name="small", context=40, max_output=10)
SPLIT = Deployment(vendor="databricks", name="split", traits={"served_entities": {"a": 50, "b": 50}})


def find(settings: Object, **fields: JSON) -> Query:
    body = {"model": LLAMA, "messages": [USER], **fields}
    request = WireRequest(method="POST", path="/serving-endpoints/chat/completions", body=json.dumps(body).encode())
    return find_by_model(request, make_service(settings, (SMALL, SPLIT)))


def describe(query: Query) -> object:
    """All that a call is, or the words that refuse it."""
    try:
        call = read_chat(query)
    except EmulatedError as error:
        return (error.kind, error.message, error.param)
    return (call.deployment, call.ask, call.stream, call.prompt_tokens, call.repeatable, call.served, vars_of(call))


def vars_of(call: Call) -> object:
    return [getattr(call.codec, name) for name in ("settings", "style", "served", "include_usage", "marked")]


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        pytest.param({}, {}, id="a text"),
        pytest.param({}, {"max_tokens": 5, "stream": True}, id="a limit and a stream"),
        pytest.param({}, {"max_tokens": None}, id="a limit of null"),
        pytest.param({}, {"stream": None}, id="a stream of null"),
        pytest.param({"stream_default": True}, {}, id="streams by default"),
        pytest.param({"model_max_tokens": False}, {}, id="no limit of the model's own"),
        pytest.param({"parallel_tool_calls": True}, {}, id="calls in parallel"),
        pytest.param({}, {"messages": [SYSTEM, USER, SAID, USER]}, id="a conversation"),
        pytest.param({"alternate_roles": True}, {"messages": [USER, USER]}, id="roles that must alternate"),
        pytest.param({}, {"messages": [USER, SYSTEM]}, id="a system that comes late"),
        pytest.param({}, {"messages": [{**USER, "name": "a"}]}, id="a message with a name"),
        pytest.param({}, {"messages": [{"role": "user", "content": None}]}, id="no text"),
        pytest.param({}, {"messages": [{"role": "tool", "content": "x"}]}, id="a tool"),
        pytest.param({}, {"messages": [[]]}, id="a message that is a list"),
        pytest.param({}, {"messages": []}, id="no messages"),
        pytest.param({}, {"messages": {}}, id="messages that are an object"),
        pytest.param({}, {"max_tokens": 0}, id="a limit of nothing"),
        pytest.param({}, {"max_tokens": True}, id="a limit that is true"),
        pytest.param({}, {"max_tokens": 2**63}, id="a limit beyond integers"),
        pytest.param({}, {"stream": "yes"}, id="a stream that is a text"),
        pytest.param({}, {"temperature": 0.5}, id="a temperature"),
        pytest.param({}, {"model": "small", "max_tokens": 10}, id="as much as there may be"),
        pytest.param({}, {"model": "small", "max_tokens": 11}, id="more than there may be"),
        pytest.param({}, {"model": "small", "messages": [{"role": "user", "content": "tide " * 60}]}, id="too long"),
        pytest.param({}, {"model": "split"}, id="one of two entities"),
        *(pytest.param({}, {"model": name}, id=name) for name in (CLAUDE, GEMINI, GPT, OSS)),
    ],
)
def test_the_short_way_reads_what_the_long_one_does(settings: Object, fields: Object) -> None:
    query = find(settings, **fields)
    assert describe(query) == describe(replace(query, habits=replace(query.habits, plain=False)))


def test_a_usual_request_takes_the_short_way() -> None:
    assert read_plain(find({}, max_tokens=64, stream=True)) is not None
    assert read_plain(find({}, n=1)) is None


def test_both_are_one_endpoint() -> None:
    query = find({})
    assert parse_chat(query.request, query.service).ask == read_chat(query).ask
