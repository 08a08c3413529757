"""Responses constrained by a grammar."""

import json
import re

import pytest

from tests.conftest import Start
from tests.vendors.tgi.direct import CHAT, HELLO, ask, post


@pytest.mark.covers("mindie/TGI beside it", "grammar and adapters")
async def test_json_grammar(start: Start) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 3}}, "required": ["age"]}
    running = await start()
    for value in (schema, json.dumps(schema)):
        answer = await post(running, ask({"max_new_tokens": 200, "grammar": {"type": "json", "value": value}}))
        assert json.loads(answer["generated_text"])["age"] >= 3
    wrapped = {"type": "json_schema", "value": {"name": "n", "schema": schema}}
    answer = await post(running, ask({"max_new_tokens": 200, "grammar": wrapped}))
    assert json.loads(answer["generated_text"])["age"] >= 3


async def test_regex_grammar(start: Start) -> None:
    grammar = {"type": "regex", "value": "[0-9]{3}-[a-c]+"}
    answer = await post(await start(), ask({"max_new_tokens": 200, "grammar": grammar, "details": True}))
    assert re.fullmatch(grammar["value"], answer["generated_text"])
    assert answer["details"]["finish_reason"] == "eos_token"


async def test_response_format(start: Start) -> None:
    form = {"type": "json_object", "value": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}}
    answer = (await (await start()).ask("tgi", CHAT, {"messages": HELLO, "response_format": form})).json()
    assert isinstance(json.loads(answer["choices"][0]["message"]["content"])["n"], int)
