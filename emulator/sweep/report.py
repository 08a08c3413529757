"""Write the outcome of a sweep as Markdown, JSON, JUnit XML and SARIF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from emulator.core.json import JSON, as_array, as_object, as_text, dump_text, parse_json
from emulator.sweep.run import Key, Row

_GOOD = "survived"


def write_json(rows: Sequence[Row]) -> str:
    """Return the cells as JSON, one a line."""
    lines = ",\n".join(dump_text(asdict(row)) for row in rows)
    return f'{{"cells": [\n{lines}\n]}}\n'


def read_json(file: Path) -> dict[Key, Row]:
    """Return the cells of an earlier sweep, to go on with; none if there is no such file.

    Raises:
        ValueError: the file is no report of a sweep.
    """
    if not file.exists():
        return {}
    try:
        cells = as_array(as_object(parse_json(file.read_bytes()))["cells"])
        rows = [_read_row(cell) for cell in cells]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} is no report of a sweep: {error}") from None
    return {(row.call, row.fault, row.position): row for row in rows}


def _read_row(cell: JSON) -> Row:
    found = as_object(cell)
    call, fault, position = (as_text(found[name]) for name in ("call", "fault", "position"))
    outcome, scenario = as_text(found["outcome"]), as_text(found["scenario"])
    broken, like = (tuple(map(as_text, as_array(found[name]))) for name in ("broken", "like"))
    return Row(call, fault, position, outcome, scenario, broken, like)


def write_markdown(rows: Sequence[Row]) -> str:
    """Return a table of the cells, failures first, and how many there are of each outcome."""
    counts = Counter(row.outcome for row in rows)
    runs = sum(1 for row in rows if not row.like)
    ordered = sorted(rows, key=lambda row: row.outcome == _GOOD)
    lines = [f"{len(rows)} cells, {runs} runs: {', '.join(f'{count} {name}' for name, count in counts.items())}.", ""]
    lines += ["| call | fault | position | outcome | broken rules |", "| --- | --- | --- | --- | --- |"]
    for row in ordered:
        lines.append(f"| {row.call} | {row.fault} | {row.position} | {row.outcome} | {' '.join(row.broken)} |")
    return "\n".join(lines) + "\n"


def write_junit(rows: Sequence[Row]) -> str:
    """Return one test case for each cell."""
    failures = sum(1 for row in rows if row.outcome != _GOOD)
    suite = Element("testsuite", name="emulator sweep", tests=str(len(rows)), failures=str(failures))
    for row in rows:
        case = SubElement(suite, "testcase", classname=row.call, name=_name(row))
        if row.outcome != _GOOD:
            SubElement(case, "failure", message=row.outcome).text = "\n".join([*row.broken, row.scenario])
    return tostring(suite, encoding="unicode", xml_declaration=True)


def write_sarif(rows: Sequence[Row]) -> str:
    """Return one result for each cell that was not survived, in SARIF 2.1.0."""
    results = [*_list_results(rows)]
    driver: JSON = {"name": "emulator sweep", "rules": [{"id": name} for name in sorted({row.outcome for row in rows})]}
    run: JSON = {"tool": {"driver": driver}, "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return dump_text({"$schema": schema, "version": "2.1.0", "runs": [run]})


def _list_results(rows: Sequence[Row]) -> Iterator[JSON]:
    for row in rows:
        if row.outcome != _GOOD:
            text = f"{row.call}: {_name(row)}: {row.outcome}. {' '.join(row.broken)}".strip()
            place: JSON = {"logicalLocations": [{"name": row.call}]}
            yield {"ruleId": row.outcome, "level": "error", "message": {"text": text}, "locations": [place]}


def _name(row: Row) -> str:
    return f"{row.fault} {row.position}".strip()
