"""Every name of the scenario language stands beside a test that covers it; see ``tests/language.py``."""

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
from emulator.scenario.models import Scope, schema_json
from emulator.scenario.template import PLACEHOLDERS
from tests import language
from tests.named import find_missing


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
    names, scale = map(as_object, as_array(as_object(_properties("Scenario")["clock"])["oneOf"]))
    return {*map(as_text, as_array(names["enum"])), *keys(as_text(scale["$ref"]).rpartition("/")[2])}


MARKS = {f"{name}: {value}" for name in ("before", "inside") for value in values("Disconnect", name)}

TABLES: dict[str, tuple[language.Rows, Iterable[str]]] = {
    "sections": (language.SECTIONS, keys("Scenario")),
    "facets": (
        language.FACETS,
        [*MATCH_FIELDS, *GROUPS, *(f"{name}.<{'path' if name == 'body' else 'name'}>" for name in NAMED_FACETS)],
    ),
    "comparisons": (language.COMPARISONS, keys("Comparison") | keys("Bounds")),
    "times": (language.TIMES, keys("Times")),
    "scopes": (language.SCOPES, get_args(Scope)),
    "what follows a sequence": (language.THEN, values("Rule", "then")),
    "outcomes": (language.OUTCOMES, keys("Step") | {"sequence"}),
    "keys of an error": (language.ERROR_KEYS, keys("ErrorOutcome")),
    "keys of a reply": (language.REPLY_KEYS, keys("ReplyOutcome")),
    "placeholders": (language.PLACEHOLDERS, PLACEHOLDERS),
    "instances": (language.GENERATE, values("ReplyOutcome", "generate")),
    "error kinds": (language.ERROR_KINDS, list(ErrorKind)),
    "faults": (language.FAULTS, types(AnyFault)),
    "positions": (language.POSITIONS, (keys("Disconnect") - {"type"}) | MARKS),
    "writes": (language.WRITES, values("Split", "writes")),
    "latency types": (language.LATENCIES, types(Delay)),
    "keys of latency": (language.LATENCY_KEYS, keys("Latency") | keys("Load") | {"max"}),
    "units": (language.UNITS, get_args(Unit)),
    "strategies": (language.STRATEGIES, get_args(Strategy)),
    "keys of a limit": (
        language.LIMIT_KEYS,
        keys("Limit") | {f"per: {value}" for value in values("Limit", "per")},
    ),
    "clocks": (language.CLOCKS, clocks()),
    "headers": (language.HEADERS, [header_overrides.ERROR, header_overrides.FAULT, header_overrides.TTFT]),
    "control plane": (language.CONTROL, [f"{route.method} {route.path}" for route in ROUTES]),
    "commands": (language.COMMANDS, commands()),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_name_has_a_row(table: str) -> None:
    rows, names = TABLES[table]
    assert set(rows) == set(names)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_names_a_test_that_exists(table: str) -> None:
    missing = find_missing(TABLES[table][0])
    assert not missing, "\n".join(missing)


def test_every_list_is_a_table() -> None:
    lists = [value for name, value in vars(language).items() if name.isupper() and not name.startswith("_")]
    assert len(lists) == len(TABLES)
    assert all(any(rows is listed for rows, _ in TABLES.values()) for listed in lists)
