"""Every row of a specification, and every name of the scenario language, is covered by a test with its marker."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import get_args

import pytest

from emulator.cli import build_parser
from emulator.control.routes import ROUTES
from emulator.core.errors import ErrorKind
from emulator.core.json import Object, as_array, as_object, as_text
from emulator.core.quota import Strategy, Unit
from emulator.faults import AnyFault
from emulator.latency import Delay
from emulator.scenario import header_overrides
from emulator.scenario.conditions import GROUPS, NAMED_FACETS
from emulator.scenario.matchers import MATCH_FIELDS
from emulator.scenario.models import schema_json
from emulator.scenario.outcomes import Scope
from emulator.scenario.placeholders import PLACEHOLDERS
from tests.covers import ROOT, read_covers, read_tables
from tests.vendors.databricks.test_models import CORE
from tests.vendors.openvino.test_cases import CHATS


@cache
def _definitions() -> Object:
    schema = schema_json()
    return {**as_object(schema["$defs"]), "Scenario": schema}


def _properties(name: str) -> Object:
    return as_object(as_object(_definitions()[name])["properties"])


def keys(name: str) -> set[str]:
    """Keys of an object of the language."""
    return set(_properties(name))


def values(name: str, key: str) -> set[str]:
    """What one of its keys can be."""
    return set(map(as_text, as_array(as_object(_properties(name)[key])["enum"])))


def types(union: object) -> set[str]:
    """What the members of a union are called."""
    members = get_args(get_args(union)[0])
    return {get_args(member.model_fields["type"].annotation)[0] for member in members}


def commands() -> Iterable[str]:
    (verbs,) = (action.choices for action in build_parser()._actions if action.dest == "verb")
    return verbs or ()


def clocks() -> set[str]:
    names, *mappings = map(as_object, as_array(as_object(_properties("Scenario")["clock"])["oneOf"]))
    found = [keys(as_text(mapping["$ref"]).rpartition("/")[2]) for mapping in mappings]
    return set().union(map(as_text, as_array(names["enum"])), *found)


MARKS = {f"{name}: {value}" for name in ("before", "inside") for value in values("Disconnect", name)}

# Every name of the scenario language, by table.
NAMES: dict[str, Iterable[str]] = {
    "sections": keys("Scenario"),
    "facets": [*MATCH_FIELDS, *GROUPS, *(f"{name}.<{'path' if name == 'body' else 'name'}>" for name in NAMED_FACETS)],
    "comparisons": keys("Comparison") | keys("Bounds"),
    "times": keys("Times"),
    "scopes": get_args(Scope),
    "what follows a sequence": values("Rule", "then"),
    "outcomes": keys("Step") | {"sequence"},
    "keys of an error": keys("ErrorOutcome"),
    "keys of a reply": keys("ReplyOutcome"),
    "placeholders": PLACEHOLDERS,
    "instances": values("ReplyOutcome", "generate"),
    "error kinds": list(ErrorKind),
    "faults": types(AnyFault),
    "positions": (keys("Disconnect") - {"type"}) | MARKS,
    "writes": values("Split", "writes"),
    "latency types": types(Delay),
    "keys of latency": keys("Latency") | keys("Load") | {"max"},
    "units": get_args(Unit),
    "strategies": get_args(Strategy),
    "keys of a limit": keys("Limit") | {f"per: {value}" for value in values("Limit", "per")},
    "clocks": clocks(),
    "headers": [header_overrides.ERROR_HEADER, header_overrides.FAULT_HEADER, header_overrides.TTFT_HEADER],
    "control plane": [f"{route.method} {route.path}" for route in ROUTES],
    "commands": commands(),
}
_CHATS = {name.partition(" ")[0] for name in CHATS}

# Least numbers of rows that a group and a table have: a test that is deleted takes its rows with it.
GROUPS_OF_ROWS = {"azure": 360, "databricks": 480, "mindie": 220, "openvino": 350, "promises": 195}
TABLES_OF_ROWS = {
    "azure": {
        "reference page: request": 17,
        "routes": 27,
        "fields of a chat": 21,
        "400 or 422": 8,
        "extra-parameters": 14,
        "errors": 32,
        "violations": 16,
        "embeddings": 16,
        "headers of an answer": 34,
        "Azure OpenAI": 17,
        "traps": 14,
    },
    "databricks": {
        "REST reference: chat request": 14,
        "REST reference: Responses": 33,
        "where reference and service differ": 22,
        "management routes": 26,
        "validation": 43,
        "envelopes": 7,
        "errors": 19,
        "catalogue": 35,
        "limits": 12,
        "traps": 27,
    },
    "mindie": {
        "planes": 3,
        "routes": 16,
        "top level": 3,
        "parameters": 17,
        "other checks": 16,
        "media": 3,
        "finish_reason": 4,
        "TGI beside it": 25,
        "what clients accept": 6,
        "programs": 8,
        "decisions": 16,
        "vectors": 20,
    },
    "openvino": {
        "routes": 29,
        "fields of 2025.0": 28,
        "fields of 2026.3": 17,
        "the engine's check": 5,
        "releases": 36,
        "decisions": 18,
        "traps": 25,
        "cases": 73,
    },
}


def test_no_row_is_covered_twice() -> None:
    rows = Counter((cover.table, cover.row) for cover in read_covers())
    assert not [row for row, count in rows.items() if count > 1]


def test_named_case_exists() -> None:
    missing = [
        cover
        for cover in read_covers()
        if cover.case is not None
        and f'"{cover.case}"' not in (ROOT.parent / cover.test.partition("::")[0]).read_text(encoding="utf-8")
    ]
    assert not missing


@pytest.mark.parametrize("table", NAMES)
def test_every_language_name_is_covered(table: str) -> None:
    assert read_tables("language")[table] == set(NAMES[table])


def test_every_language_table_is_checked() -> None:
    assert read_tables("language").keys() == NAMES.keys()


@pytest.mark.parametrize("group", GROUPS_OF_ROWS)
def test_group_keeps_its_rows(group: str) -> None:
    assert sum(map(len, read_tables(group).values())) >= GROUPS_OF_ROWS[group]


@pytest.mark.parametrize("group", TABLES_OF_ROWS)
def test_table_keeps_its_rows(group: str) -> None:
    tables = read_tables(group)
    assert {table: len(tables[table]) for table in TABLES_OF_ROWS[group]} == TABLES_OF_ROWS[group]


def test_every_databricks_endpoint_is_covered() -> None:
    assert set(CORE) <= read_tables("databricks")["catalogue"]


def test_every_openvino_chat_case_is_covered() -> None:
    covered = {cover.row for cover in read_covers() if cover.table == "openvino/cases" and "::test_chat" in cover.test}
    assert covered == _CHATS
