"""Schemas as people write them: those of a public collection, where it is at hand."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from emulator.core.json import Object
from emulator.generation.json_schema import generate, generate_invalid

SAMPLE = Path(__file__).parents[4] / "shared" / "data" / "json-schemas-sample.jsonl.gz"
EVERY = 10  # of the sample in an ordinary run
NO_INSTANCE = {"Glaiveai2K/calculate_area_f88fb53c"}  # requires the properties of two branches of which one must hold
OTHER_READING = {"Github_hard/o72113"}  # the judge takes ``\<`` for the beginning of a word, and ECMA 262 for ``<``
UNBREAKABLE = {
    "Github_trivial/o47151",  # constrains no value
    "Github_medium/o69749",  # has the same type twice: its own, and that of its branches
}


def schemas() -> Iterator[tuple[str, Object]]:
    if not SAMPLE.exists():
        return
    with gzip.open(SAMPLE, "rt") as lines:
        for number, line in enumerate(lines):
            entry = json.loads(line)
            if number % EVERY == 0 and entry["id"] not in NO_INSTANCE | OTHER_READING:
                yield entry["id"], entry["schema"]


def judge(schema: Object) -> jsonschema_rs.Validator:
    """Under the schema's own draft; under draft 4 where a schema without one has the forms of draft 4."""
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=True)
    except (ValueError, jsonschema_rs.ValidationError):
        return jsonschema_rs.Draft4Validator(schema, validate_formats=True)


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample is not at hand")
def test_every_schema_has_instance() -> None:
    wrong = [
        (name, key)
        for name, schema in schemas()
        for key in (b"a", b"b", b"c")
        if not judge(schema).is_valid(generate(schema, key))
    ]
    assert wrong == []


@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample is not at hand")
def test_every_schema_can_be_broken() -> None:
    breakable = [(name, schema) for name, schema in schemas() if name not in UNBREAKABLE]
    wrong = [name for name, schema in breakable if judge(schema).is_valid(generate_invalid(schema, b"k").instance)]
    assert wrong == []
