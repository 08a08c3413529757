"""Tests of suggestions for common aliases."""

from collections.abc import Iterable
from dataclasses import fields

import pytest

from emulator.core.errors import ErrorKind
from emulator.core.json import Object, as_object
from emulator.core.requests import Deployment
from emulator.scenario.conditions import NAMED_FACETS
from emulator.scenario.errors import ALIASES, find_nearest_name
from emulator.scenario.models import schema_json
from emulator.vendors import VENDORS
from tests.scenario.texts import rows_of


@pytest.mark.covers("promises/first steps", "words people bring")
@pytest.mark.parametrize(
    ("rule", "meant"),
    [
        pytest.param("when: {model: llama3}", "deployment", id="model"),
        pytest.param("when: {key: dapi-1}", "principal", id="key"),
        pytest.param("when: {user: search}", "principal", id="user"),
        pytest.param("when: {path: /generate}", "endpoint", id="path"),
        pytest.param("when: {headers: {x-a: b}}", "header.<name>", id="headers"),
        pytest.param("when: {content: hello}", "prompt", id="content of a question"),
        pytest.param("reply: {content: hello}", "text", id="content of an answer"),
        pytest.param("response: {text: hello}", "reply", id="response"),
        pytest.param("text: hello", "reply", id="an answer outside its reply"),
        pytest.param("prompt: hello", "when", id="a facet outside its when"),
        pytest.param("first: 2", "times", id="a count outside its times"),
        pytest.param("status: 503", "error", id="a status outside its error"),
        pytest.param("error: {status: 503}", "kind: overloaded", id="a status without a kind"),
        pytest.param("error: {status: 429}", "kind: rate_limited", id="another status without a kind"),
        pytest.param("error: {kind: server_error}", "internal", id="server_error"),
        pytest.param("error: {kind: too_many_requests}", "rate_limited", id="too_many_requests"),
        pytest.param("times: {for: 10s}", "repeat", id="for without every"),
        pytest.param("faults: [{type: reset}]", "disconnect", id="reset"),
        pytest.param("faults: [{type: timeout}]", "hang", id="timeout"),
        pytest.param("latency: {ttft: {type: lognormal, p50: 1s, p99: 2s}}", "median", id="p50"),
        pytest.param("latency: {tpot: 10ms}", "itl", id="tpot"),
    ],
)
def test_alias_in_rule_gets_suggestion(rule: str, meant: str) -> None:
    rows = rows_of(f"version: 1\nrules:\n  - name: r\n    pass: true\n    {rule}\n")
    assert any(row.endswith(f"; did you mean {meant}?") for row in rows), rows


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        pytest.param("reply: {error: {kind: overloaded}}", "error belongs beside reply", id="beside"),
        pytest.param("when: {between: [10s, 20s]}", "between belongs in times, beside when", id="in another"),
        pytest.param("reply: {ttft: 2s}", "ttft belongs in latency, beside reply", id="by another name"),
        pytest.param("faults: [{type: hang, latency: {ttft: 1s}}]", "latency belongs beside faults", id="in a list"),
        pytest.param("when: {limits: 3}", "limits belongs beside rules", id="at the top"),
        pytest.param("when: {deployments: a}", "did you mean deployment?", id="misspelt, though valid at the top"),
        pytest.param('reply: "text"', 'expected a mapping, such as {text: "text"}, got a string', id="its text alone"),
        pytest.param("error: busy", 'expected a mapping, such as {kind: "busy"}, got a string', id="its kind alone"),
    ],
)
def test_key_at_wrong_level_gets_its_place(rule: str, says: str) -> None:
    rows = rows_of(f"version: 1\nrules:\n  - name: r\n    {rule}\n")
    assert [row for row in rows if row.endswith(says)] != [], rows


@pytest.mark.parametrize(
    ("section", "meant"),
    [
        pytest.param("keys: [{key: abc, principal: x}]", "token", id="key of a credential"),
        pytest.param("keys: [{api_key: abc, principal: x}]", "token", id="api_key"),
        pytest.param("limits: [{unit: rpm, amount: 1, window: 60s}]", "requests", id="rpm"),
        pytest.param("limits: [{unit: tpm, amount: 1, window: 60s}]", "tokens", id="tpm"),
        pytest.param("rules: [{name: r, retry: 2, pass: true}]", "times", id="retry"),
    ],
)
def test_alias_in_other_section_gets_suggestion(section: str, meant: str) -> None:
    rows = rows_of(f"version: 1\n{section}\n")
    assert any(row.endswith(f"; did you mean {meant}?") for row in rows), rows


def test_for_in_limit_suggests_window() -> None:
    rows = rows_of("version: 1\nlimits: [{unit: tokens, amount: 1, for: 60s}]\n")
    assert "unknown key; did you mean window?" in rows[0]


@pytest.mark.covers("promises/first steps", "short names of vendors")
@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        pytest.param("dbx", "databricks", id="Databricks"),
        pytest.param("AOAI", "azure", id="Azure, in capitals"),
        pytest.param("ascend", "mindie", id="MindIE"),
        pytest.param("hf", "tgi", id="TGI"),
        pytest.param("ovms", "openvino", id="OpenVINO"),
    ],
)
def test_vendor_short_names_resolve(name: str, vendor: str) -> None:
    assert find_nearest_name(name, VENDORS) == vendor


def test_every_suggestion_is_valid_language_name() -> None:
    schema = schema_json()
    names = {key for part in (schema, *map(as_object, as_object(schema["$defs"]).values())) for key in keys_of(part)}
    names |= {"requests", "tokens"}  # units
    names |= {*ErrorKind, "hang", "garbage", "disconnect", "drip", "late_error"}
    names |= {*VENDORS} | {field.name for field in fields(Deployment)}
    names |= {f"{facet}.<name>" for facet in NAMED_FACETS}
    assert {word for meant in ALIASES.values() for word in meant} <= names


def keys_of(part: Object) -> Iterable[str]:
    return as_object(part.get("properties", {}))
