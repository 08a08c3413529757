"""Tests of the JSON Schema for editors against every mistake that ``emulator check`` reports."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from emulator.cli.schema import render_schema
from emulator.core.json import Object, as_object
from emulator.runtime.services import check_vendors
from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.yaml_reader import parse_document
from emulator.vendors import VENDORS
from tests.scenario.test_errors import test_mistake_is_reported_with_location as mistakes
from tests.scenario.test_models import TOUR, WRONG
from tests.scenario.test_rule_errors import test_rule_error_row as rule_mistakes
from tests.untyped_json import JSON

ROOT = Path(__file__).parent.parent.parent / "emulator"
SCHEMA = jsonschema_rs.Draft202012Validator(json.loads(render_schema()))

# Messages beyond JSON Schema: it compares no two values, reads no regular expression of Python's, and sees no YAML.
CANNOT = {
    "a budget of nothing": "one of three keys",
    "a price of nothing": "one of three keys",
    "tokens paid in PTU": "two keys compared",
    "an outage at no time": "one of two keys",
    "a region that comes back": "two keys compared",
    "a region of a served model": "two keys compared",
    "a served model and a share": "one of two keys",
    "a retirement for one": "two keys compared",
    "an outage that ends before it begins": "two values compared",
    "a blank text": "the text itself",
    "both a text and a pattern": "two values compared",
    "relations without declared": "two values compared",
    "otherwise without declared": "two values compared",
    "otherwise declared": "two values compared",
    "a text in two clusters": "two values compared",
    "a text with two ranks": "two values compared",
    "a query among its ranks": "two values compared",
    "regular expression": "whether Python can read it",
    "between the wrong way round": "two values compared",
    "between a duration and a time": "two values compared",
    "between twice the same time": "two values compared",
    "a start that is no date": "the calendar",
    "a start before 1970": "the calendar",
    "a switch of another clock": "two values compared",
    "low above high": "two values compared",
    "a median above its p99": "two values compared",
    "quantiles that fall": "two values compared",
    "edges that fall": "two values compared",
    "edges and weights that do not fit": "two lengths compared",
    "a name that is taken": "two rules compared",
    "a limit's name that is taken": "two limits compared",
    "a short vector": "the vendor's models",
    "a placeholder there is not": "words in a text",
    "a file that is not there": "another file",
    "a folder and exchanges": "one of two keys",
    "strict beside a policy": "two keys compared",
}


_VECTORS = "deployments: [{vendor: azure, name: m, embeddings: {geometry: "
_OUTAGE = "outages: [{name: a, between: [0s, 1s], kind: "
MORE = [
    pytest.param(_OUTAGE + "region, served: a}]", id="a region of a served model"),
    pytest.param(_OUTAGE + "bad_deploy, served: a, share: 0.1}]", id="a served model and a share"),
    pytest.param(_OUTAGE + "region, for: 1s}]", id="a region that comes back"),
    pytest.param(_OUTAGE + "retirement, principal: a}]", id="a retirement for one"),
    pytest.param("outages: [{name: a, kind: region}]", id="an outage at no time"),
    pytest.param("outages: [{name: a, kind: region, between: [2s, 1s]}]", id="an outage that ends before it begins"),
    pytest.param("budget: {enforce: true}", id="a budget of nothing"),
    pytest.param("prices: {a: {unit: DBU}}", id="a price of nothing"),
    pytest.param("prices: {a: {input: 1, unit: PTU}}", id="tokens paid in PTU"),
    pytest.param("prices: [1]", id="prices that are a list"),
    pytest.param("expect: sturdy", id="an expectation that is none"),
    pytest.param("expect: 5", id="a number for an expectation"),
    pytest.param(_VECTORS + "declared, clusters: {a: [' ']}}}]", id="a blank text"),
    pytest.param(_VECTORS + "declared, query: {text: a, pattern: b, ranks: [c]}}}]", id="both a text and a pattern"),
    pytest.param(_VECTORS + "lexical, clusters: {a: [b]}}}]", id="relations without declared"),
    pytest.param(_VECTORS + "lexical, otherwise: hashed}}]", id="otherwise without declared"),
    pytest.param(_VECTORS + "declared, otherwise: declared, clusters: {a: [b]}}}]", id="otherwise declared"),
    pytest.param(_VECTORS + "declared, clusters: {a: [c], b: [c]}}}]", id="a text in two clusters"),
    pytest.param(_VECTORS + "declared, query: {text: a, ranks: [b, b]}}}]", id="a text with two ranks"),
    pytest.param(_VECTORS + "declared, query: {text: a, ranks: [a]}}}]", id="a query among its ranks"),
    pytest.param("latency: {ttft: {type: uniform, low: 2s, high: 1s}}", id="low above high"),
    pytest.param("latency: {ttft: {type: lognormal, median: 2s, p99: 1s}}", id="a median above its p99"),
    pytest.param("latency: {ttft: {type: lognormal, median: 0s, p99: 1s}}", id="a median of nothing"),
    pytest.param("latency: {ttft: {type: lognormal, median: 1s}}", id="a median alone"),
    pytest.param("latency: {ttft: {type: lognormal, median: 1s, p99: 2s, sigma: 1}}", id="two spreads"),
    pytest.param("latency: {ttft: {type: empirical, quantiles: {p50: 2s, p90: 1s}}}", id="quantiles that fall"),
    pytest.param("latency: {ttft: {type: empirical, quantiles: {q50: 2s}}}", id="a quantile by another name"),
    pytest.param("latency: {ttft: {type: histogram, edges: [1s, 0s], weights: [1]}}", id="edges that fall"),
    pytest.param(
        "latency: {ttft: {type: histogram, edges: [0s, 1s], weights: [1, 2]}}", id="edges and weights that do not fit"
    ),
    pytest.param("latency: {ttft: {type: histogram, edges: [0s, 1s], weights: [0]}}", id="no weight in a histogram"),
    pytest.param(
        "latency: {ttft: {type: mixture, parts: [{weight: 0, type: constant, value: 1s}]}}", id="no weight in a mixture"
    ),
    pytest.param("latency: {load: {capacity: 0}}", id="no capacity"),
    pytest.param("latency: {load: {capacity: 1, queue: -1}}", id="a queue below zero"),
    pytest.param("limits: [{unit: tokens, amount: 0, window: 1s}]", id="an amount of nothing"),
    pytest.param("limits: [{unit: tokens, amount: 1, window: 0s}]", id="a window of no time"),
    pytest.param("limits: [{vendor: '', unit: tokens, amount: 1, window: 1s}]", id="a name without letters"),
    pytest.param("vendors: {azur: {}}", id="an unknown vendor"),
    pytest.param("vendors: {mindie: {profil: strict}}", id="an unknown switch"),
    pytest.param("deployments: [{vendor: azur, name: a}]", id="an unknown vendor of a deployment"),
    pytest.param("deployments: [{vendor: azure, name: a, tokenizer: llama9}]", id="an unknown tokenizer"),
    pytest.param("deployments: [{vendor: azure, name: a, context: 0}]", id="a context of nothing"),
    pytest.param("journal: {bodies: 64, entries: 1}", id="a size without unit"),
    pytest.param("journal: {entries: 0}", id="a journal without entries"),
    pytest.param("journal: {entries: 100001}", id="a journal without end"),
    pytest.param("rules: [{name: a, pass: true}, {name: a, pass: true}]", id="a name that is taken"),
    pytest.param("rules: [{name: a, error: {kind: timeout, status: 600}}]", id="a status there is not"),
    pytest.param('rules: [{name: a, error: {kind: timeout, headers: {a: "\\n"}}}]', id="a header of two lines"),
    pytest.param("rules: [{name: a, reply: {}}]", id="an empty reply"),
    pytest.param("rules: [{name: a, reply: {template: false}}]", id="a template of nothing"),
    pytest.param("rules: [{name: a, reply: {template: true, json: 1}}]", id="a template that is no text"),
    pytest.param("rules: [{name: a, reply: {text: a, file: b}}]", id="a text and a file"),
    pytest.param("rules: [{name: a, reply: {file: b, json: 1}}]", id="a file and a value"),
    pytest.param("rules: [{name: a, reply: {template: true, text: '{nope}'}}]", id="a placeholder there is not"),
    pytest.param("rules: [{name: a, reply: {file: nowhere.md}}]", id="a file that is not there"),
    pytest.param("rules: [{name: a, when: {any: [{}]}, pass: true}]", id="any of nothing"),
    pytest.param("rules: [{name: a, when: {any: []}, pass: true}]", id="any of none"),
    pytest.param("limits: [{principal: '', unit: tokens, amount: 1, window: 1s}]", id="a principal without letters"),
    pytest.param("deployments: [{vendor: tgi, name: a, state: {loading: 1s, ready: 1s}}]", id="two states"),
    pytest.param("deployments: [{vendor: tgi, name: a, state: {loading: 1}}]", id="a state for no time"),
    pytest.param("timing: {invalid_above: 5}", id="a bound without unit"),
    pytest.param("rules: [{name: a, times: {}, pass: true}]", id="an empty times"),
    pytest.param("rules: [{name: a, times: {nth: []}, pass: true}]", id="an empty list of counts"),
    pytest.param("rules: [{name: a, when: {messages: {}}, pass: true}]", id="empty bounds"),
    pytest.param("rules: [{name: a, when: {messages: [1]}, pass: true}]", id="a list is no number"),
    pytest.param("rules: [{name: a, when: {body_bytes: 64kb}, pass: true}]", id="a size of an unknown unit"),
    pytest.param("rules: [{name: a, when: {endpoint: ''}, pass: true}]", id="an endpoint without letters"),
    pytest.param("rules: [{name: a, times: {repeat: {every: 0s, for: 1s}}, pass: true}]", id="bursts without period"),
    pytest.param(
        "rules: [{name: a, times: {first: 1, per: rule}, per: request, sequence: [{pass: true}]}]", id="per twice"
    ),
    pytest.param("rules: [{name: a, faults: [{type: disconnect, at: 1, after_tokens: 1}]}]", id="two positions"),
    pytest.param("rules: [{name: a, faults: [{type: disconnect, after_bytes: -1}]}]", id="a position before the body"),
    pytest.param("rules: [{name: a, faults: [{type: drop, field: a..b}]}]", id="a field that is no path"),
    pytest.param("rules: [{name: a, faults: [{type: status, status: 99}]}]", id="a fault's status there is not"),
    pytest.param("clock: {scale: 0}", id="a scale of 0"),
    pytest.param("rules: [{name: a, times: {between: [1s, '10:00']}, pass: true}]", id="between a duration and a time"),
    pytest.param(
        "rules: [{name: a, times: {between: ['10:00', '10:00']}, pass: true}]", id="between twice the same time"
    ),
    pytest.param("rules: [{name: a, times: {between: ['10:00', '24:00']}, pass: true}]", id="a time there is not"),
    pytest.param("clock: {kind: frozen, start: 2026-02-30T00:00:00Z}", id="a start that is no date"),
    pytest.param("clock: {kind: frozen, start: 1969-01-01T00:00:00Z}", id="a start before 1970"),
    pytest.param("clock: {kind: frozen, start: 2026-02-20T00:00:00}", id="a start without zone"),
    pytest.param("clock: {kind: frozen, retry_after_ms: false}", id="a switch of another clock"),
    pytest.param("clock: {start: 2026-02-20T00:00:00Z}", id="a clock of no kind"),
    pytest.param("rules: [{name: a, reply: {text: a, pad: true}}]", id="nothing to pad"),
    pytest.param("rules: [{name: a, reply: {pad: true}}]", id="a pad alone"),
    pytest.param("limits: [{name: 'limits[0]', unit: requests, amount: 1, window: 1s}]", id="a place as a name"),
    pytest.param(
        "limits: [{name: a, unit: requests, amount: 1, window: 1s}, {name: a, unit: tokens, amount: 1, window: 1s}]",
        id="a limit's name that is taken",
    ),
    pytest.param(
        "rules: [{name: a, when: {deployment: gte-small}, reply: {embeddings: [{when: a, vector: [1]}]}}]\n"
        "deployments: [{vendor: azure, name: gte-small, task: embeddings, dimensions: 2}]",
        id="a short vector",
    ),
    pytest.param("clock: [1]", id="a clock that is a list"),
    pytest.param("replay: {from: a, exchanges: []}", id="a folder and exchanges"),
    pytest.param("replay: {exchanges: [], timing: 2}", id="a timing that is a number"),
    pytest.param("strict: true\nunmatched: answer", id="strict beside a policy"),
]
RULE = "version: 1\nrules:\n  - name: r\n    {}\n"


def list_mistakes() -> Iterator[tuple[str, str]]:
    """Return name and text of every mistake in the tests of the loader."""
    for test, form in ((mistakes, "version: 1\n{}"), (rule_mistakes, RULE)):
        (table,) = getattr(test, "pytestmark")  # noqa: B009  # pytest puts it there
        for row in table.args[1]:
            yield row.id, form.format(row.values[0])
    for row in MORE:
        yield str(row.id), f"version: 1\n{row.values[0]}"
    for row in WRONG:
        yield str(row.id), str(row.values[0])


def rows_of(text: str) -> list[str]:
    """Return the diagnostics of the loader, or else of the vendors."""
    try:
        check_vendors(load_text(text), VENDORS)
    except ScenarioError as error:
        return [row.message for row in error.rows]
    return []


MISTAKES = list(list_mistakes())


@pytest.mark.covers("promises/first steps", "the schema of editors")
@pytest.mark.parametrize(("name", "text"), MISTAKES, ids=[name for name, _ in MISTAKES])
def test_schema_rejects_what_check_rejects(name: str, text: str) -> None:
    assert rows_of(text)
    document = parse_document(text, "a.yaml")
    if not document.rows:  # else it is the YAML that is wrong
        assert SCHEMA.is_valid(document.data) is (name in CANNOT)


def test_exceptions_name_existing_mistakes() -> None:
    assert CANNOT.keys() <= {name for name, _ in MISTAKES}


def list_messages() -> Iterator[str]:
    """Return the beginning of every message raised by the models."""
    for part in ("core", "faults", "latency", "scenario"):
        for path in (ROOT / part).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Name(id="require" | "PydanticCustomError"), args=[_, said, *_]):
                        yield from texts_of(said)
                    case ast.keyword(arg="custom_error_message", value=said):
                        yield from texts_of(said)


def texts_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value.partition("{")[0]


def test_every_message_is_covered_by_mistakes() -> None:
    said = {message for _, text in MISTAKES for message in rows_of(text)}
    missing = [message for message in list_messages() if not any(known.startswith(message) for known in said)]
    assert not missing


VALID = [
    pytest.param(TOUR, id="the tour"),
    pytest.param("version: 1\nrules: [{name: a, times: {nth: 3}, pass: true}]", id="one count"),
    pytest.param("version: 1\nseed: 1e3\njournal: {bodies: none}", id="a whole number with an exponent"),
    pytest.param("version: 1\nrules: [{name: a, when: {body.a: [1], 'body.b[0]': null}, pass: true}]", id="any value"),
    pytest.param(
        "version: 1\nrules: [{name: a, when: {vendor: 'data*', task: [chat, 're*']}, pass: true}]", id="globs"
    ),
    pytest.param("version: 1\nrules: [{name: a, when: {body_bytes: 64KiB}, pass: true}]", id="a size"),
    pytest.param(
        "version: 1\nrules: [{name: a, error: {kind: timeout}, latency: {ttft: 1s}, faults: [{type: garbage}]}]",
        id="an error that is late and broken",
    ),
    pytest.param("version: 1\nrules: [{name: a, reply: {text: a, tool_calls: [{name: f}]}}]", id="text and a call"),
    pytest.param("version: 1\nrules: [{name: a, faults: [{type: drop, field: [id, 'a.b[0].c']}]}]", id="fields"),
    pytest.param("version: 1\nrules: [{name: a, reply: {template: true, text: '{prompt}'}}]", id="a template"),
    pytest.param(
        "version: 1\nrules: [{name: a, when: {any: [{stream: true}], not: {task: chat}}, pass: true}]", id="any"
    ),
    pytest.param("version: 1\ndeployments: [{vendor: tgi, name: a, state: {loading: 20s}}]", id="a state for a time"),
    pytest.param("version: 1\nlimits: [{unit: concurrency, amount: 8}]", id="places"),
]


@pytest.mark.parametrize("text", VALID)
def test_valid_scenario_satisfies_schema(text: str) -> None:
    assert rows_of(text) == []
    assert [error.message for error in SCHEMA.iter_errors(parse_document(text, "a.yaml").data)] == []


def walk(node: JSON) -> Iterator[Object]:
    """Yield every nested schema."""
    if isinstance(node, list):
        for item in node:
            yield from walk(item)
    elif isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key in ("properties", "patternProperties", "$defs", "dependentSchemas"):
                yield from walk([*as_object(value).values()])
            elif key not in ("default", "examples", "const", "enum", "required"):
                yield from walk(value)


KEYWORDS = {
    *("$schema", "$id", "$defs", "$ref", "title", "description", "default", "examples", "type", "const", "enum"),
    *("properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties"),
    *(
        "if",
        "then",
        "items",
        "prefixItems",
        "contains",
        "minItems",
        "maxItems",
        "dependentSchemas",
        "anyOf",
        "oneOf",
        "not",
    ),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern"),
}


def test_schema_uses_only_json_schema_keywords() -> None:
    schema = json.loads(render_schema())
    jsonschema_rs.meta.validate(schema)
    assert {key for found in walk(schema) for key in found} <= KEYWORDS


def test_schema_enumerates_vendors_and_tasks() -> None:
    definitions = json.loads(render_schema())["$defs"]
    names = [*VENDORS]
    tasks = ["chat", "completions", "embeddings", "rerank", "images", "transcription", "speech"]
    for key, offered in (("vendor", names), ("task", tasks)):
        one, several = definitions["When"]["properties"][key]["anyOf"]
        assert one == several["items"]
        assert one["anyOf"][0]["enum"] == offered
    assert definitions["DeploymentEntry"]["properties"]["vendor"]["enum"] == names
