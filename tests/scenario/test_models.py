"""Tests of the scenario models and their JSON Schema."""

import json
from collections.abc import Iterator

import jsonschema_rs
import pytest
from pydantic import BaseModel

from emulator.core.errors import ErrorKind
from emulator.core.json import Object, as_array, as_object
from emulator.core.requests import Deployment
from emulator.core.units import StrictModel
from emulator.scenario.load import load_text
from emulator.scenario.models import DeploymentEntry, Scenario, schema_json
from emulator.scenario.outcomes import ErrorOutcome
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.yaml_reader import parse_document
from tests.untyped_json import JSON

TOUR = """
version: 1
name: tour
description: A bit of everything.
seed: 7
clock: {scale: 60}
strict: false
vendors:
  databricks: {profile: real}
  mindie: {profile: strict, full_text: false}
  tgi: false
keys:
- {token: dapi-search, principal: search}
deployments:
- {vendor: databricks, name: llama-70b, task: chat, context: 131072, max_output: 4096, mode: provisioned}
- {vendor: azure, name: embed-3072, task: embeddings, dimensions: 3072, normalized: true}
latency:
  ttft: {type: lognormal, median: 180ms, p99: 900ms}
  itl: {type: normal, mean: 12ms, stddev: 3ms, max: 50ms}
  prefill: 0.2ms
  load: {capacity: 32, factor: 3.0, queue: 128}
limits:
- {vendor: databricks, deployment: llama-70b, per: principal, unit: output_tokens, amount: 4000, window: 60s}
- {vendor: azure, unit: requests, amount: 60, window: 60s, strategy: sliding}
- {vendor: databricks, per: deployment, unit: concurrency, amount: 8}
rules:
- name: throttled
  when: {vendor: databricks, principal: [search, batch]}
  times: {every: 3, nth: [3, 6], between: [1s, 2s], repeat: {every: 60s, for: 10s}, per: request}
  error: {kind: rate_limited, retry_after: 2s, headers: {x-a: b}, after: state}
- name: tools
  when:
    prompt: {contains: weather}
    tools: get_weather
    body.temperature: 1
    body.model: {prefix: g}
    header.x-a: {not: b}
    query.b: c
  reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}
- name: faults
  when: {stream: true, prompt_tokens: {above: 4000}, body_bytes: {below: 64KiB}}
  faults: [{type: disconnect, after_tokens: 20, inside: utf8}]
- name: slow
  latency: {ttft: 2s}
- name: steps
  sequence: [{error: {kind: internal}}, {reply: {json: {a: null}}}, {pass: true}]
  then: repeat
"""
WRONG = [
    pytest.param("version: 2", id="another version"),
    pytest.param("version: 1\nnam: x", id="an unknown key"),
    pytest.param("version: 1\nseed: x", id="a seed that is no number"),
    pytest.param("version: 1\nclock: fast", id="an unknown clock"),
    pytest.param("version: 1\nvendors: {tgi: true}", id="a vendor that is on"),
    pytest.param("version: 1\nlatency: {ttft: 12}", id="a duration without unit"),
    pytest.param("version: 1\nlatency: {ttft: {median: 1s, p99: 2s}}", id="a distribution without type"),
    pytest.param("version: 1\nrules: [{name: a, when: {prompt: {contain: x}}, pass: true}]", id="a comparison"),
    pytest.param("version: 1\nrules: [{name: a, when: {header.: x}, pass: true}]", id="a header without name"),
    pytest.param("version: 1\nrules: [{name: a, when: {principal: }, pass: true}]", id="a facet without value"),
    pytest.param("version: 1\nrules: [{name: a, error: {kind: oops}}]", id="an unknown error kind"),
    pytest.param("version: 1\nrules: [{name: a, faults: [{type: oops}]}]", id="an unknown fault"),
    pytest.param("version: 1\nrules: [{pass: true}]", id="a rule without name"),
]


def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema_json())


def test_loaded_scenario_satisfies_schema() -> None:
    assert [error.message for error in validator().iter_errors(load_text(TOUR).data)] == []


@pytest.mark.slow
@pytest.mark.parametrize("text", WRONG)
def test_schema_rejects_invalid_scenario(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_text(text)
    data = load_text_as_json(text)
    assert caught.value.rows
    assert not validator().is_valid(data)


def load_text_as_json(text: str) -> JSON:
    return parse_document(text, "a.yaml").data


def walk(node: JSON) -> Iterator[JSON]:
    yield node
    members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for member in members:
        yield from walk(member)


def properties(definition: Object) -> Object:
    return as_object(definition.get("properties", {}))


def test_schema_is_valid_and_requires_type_of_union_members() -> None:
    schema = schema_json()
    jsonschema_rs.meta.validate(schema)
    definitions = map(as_object, as_object(schema["$defs"]).values())
    typed = [definition for definition in definitions if "const" in as_object(properties(definition).get("type", {}))]
    assert len(typed) == 34  # nine distributions, eight of them parts of a mixture, seventeen faults
    assert all("type" in as_array(definition["required"]) for definition in typed)


def test_every_field_is_described_and_objects_are_closed() -> None:
    for name, definition in as_object(schema_json()["$defs"]).items():
        whole = as_object(definition)
        if whole.get("type") != "object":
            continue
        assert whole["additionalProperties"] is False, name
        for key, field in properties(whole).items():
            assert "description" in as_object(field) or key == "type" or "const" in as_object(field), f"{name}.{key}"


def test_schema_has_no_null() -> None:
    nodes = [node for node in walk(schema_json()) if isinstance(node, dict)]
    assert not [node for node in nodes if node.get("type") == "null"]


def test_schema_is_json_serializable() -> None:
    assert json.loads(json.dumps(schema_json())) == schema_json()


BUILTIN = Deployment(vendor="azure", name="gpt", task="chat", context=1000, mode="provisioned", dimensions=8)


@pytest.mark.covers("language/sections", "deployments")
@pytest.mark.parametrize(
    ("entry", "builtin", "expected"),
    [
        pytest.param(
            {"vendor": "azure", "name": "gpt"},
            None,
            Deployment(vendor="azure", name="gpt"),
            id="defaults, if it is new",
        ),
        pytest.param({"vendor": "azure", "name": "gpt"}, BUILTIN, BUILTIN, id="the catalogue's, if nothing is given"),
        pytest.param(
            {"vendor": "azure", "name": "gpt", "context": 5, "state": "loading", "traits": {"vision": True}},
            BUILTIN,
            Deployment(
                vendor="azure",
                name="gpt",
                context=5,
                mode="provisioned",
                dimensions=8,
                state="loading",
                traits={"vision": True},
            ),
            id="what is given replaces",
        ),
        pytest.param(
            {"vendor": "azure", "name": "gpt", "state": {"loading": "20s"}},
            None,
            Deployment(vendor="azure", name="gpt", state="loading", state_lasts=20.0),
            id="a state for a time",
        ),
    ],
)
def test_deployment(entry: JSON, builtin: Deployment | None, expected: Deployment) -> None:
    assert DeploymentEntry.model_validate(entry).to_deployment(builtin) == expected


@pytest.mark.covers("language/keys of an error", "kind")
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_error_kind_is_accepted(kind: ErrorKind) -> None:
    assert ErrorOutcome.model_validate({"kind": kind.value}).to_error().kind is kind


def test_scenario_is_frozen() -> None:
    scenario = Scenario.model_validate({"version": 1})
    with pytest.raises(ValueError, match="frozen"):
        scenario.seed = 1
    assert scenario.seed == 0


@pytest.mark.parametrize(
    ("reply", "has_json", "value"),
    [
        pytest.param("{json: null}", True, None, id="null is a value"),
        pytest.param("{json: [1]}", True, [1], id="any value"),
        pytest.param("{text: a}", False, None, id="no value"),
    ],
)
def test_reply_reports_whether_it_has_json(reply: str, has_json: bool, value: JSON) -> None:
    outcome = load_text(f"version: 1\nrules: [{{name: r, reply: {reply}}}]").scenario.rules[0].reply
    assert outcome is not None
    assert (outcome.has_json, outcome.json_) == (has_json, value)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("{text: a, reasoning: b}", id="text and reasoning"),
        pytest.param("{reasoning: b}", id="reasoning alone"),
        pytest.param("{text: a, tool_calls: [{name: f}]}", id="text and a tool call"),
        pytest.param("{chunks: [a, b]}", id="chunks alone"),
        pytest.param("{text: ab, chunks: [a, b]}", id="chunks with text"),
        pytest.param("{text: ''}", id="no text at all"),
        pytest.param("{embedding: [1, 0.5]}", id="a vector"),
        pytest.param("{refusal: no, finish_reason: content_filter, usage: {completion_tokens: 3}}", id="a refusal"),
        pytest.param("{generate: minimal}", id="an instance of the schema"),
        pytest.param("{tool_calls: [{name: f, arguments: '{\"a\": '}]}", id="arguments that are no JSON"),
    ],
)
def test_compatible_reply_keys_are_accepted(reply: str) -> None:
    assert load_text(f"version: 1\nrules: [{{name: r, reply: {reply}}}]").scenario.rules[0].reply is not None


@pytest.mark.covers("language/sections", "timing")
def test_timing_is_loaded() -> None:
    assert load_text("version: 1\ntiming: {invalid_above: 5ms}").scenario.timing.invalid_above == 0.005
    assert load_text("version: 1").scenario.timing.invalid_above is None


@pytest.mark.covers("language/sections", "journal")
@pytest.mark.covers("promises/journal", "how much of a body, and how many calls", case="as a rule")
@pytest.mark.parametrize(
    ("journal", "bodies", "entries"),
    [
        pytest.param("{}", 65536, 10_000, id="as a rule"),
        pytest.param("{bodies: none}", 0, 10_000, id="no bodies"),
        pytest.param("{bodies: 4MiB, entries: 5}", 4 * 1024**2, 5, id="few calls and all of them"),
    ],
)
def test_journal_limits_are_loaded(journal: str, bodies: int, entries: int) -> None:
    kept = load_text(f"version: 1\njournal: {journal}").scenario.journal
    assert (kept.bodies, kept.entries) == (bodies, entries)


def test_no_field_default_is_model() -> None:
    models = {each for each in _list_models(StrictModel) if each.__module__.startswith("emulator.")}
    assert Scenario in models
    fields = [(each, name, field) for each in models for name, field in each.model_fields.items()]
    assert [(each, name) for each, name, field in fields if isinstance(field.default, BaseModel)] == []


def _list_models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in base.__subclasses__():
        yield each
        yield from _list_models(each)
