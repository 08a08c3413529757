"""Write the outcomes of a sweep as Markdown, JSON, JUnit XML, SARIF, and as one scenario for each failure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from emulator.core.json import JSON, dump_text
from emulator.sweep.earlier_report import SweepReport
from emulator.sweep.plan import SURVIVED
from emulator.sweep.run import Row

OUTCOMES = ("hung", "failed silently", "over budget", "failed loudly", SURVIVED)
"""Outcomes, the worst first."""
_AGAIN = "To see it again: "
_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML


def sort_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, the worst outcomes first."""
    return sorted(rows, key=lambda row: OUTCOMES.index(row.outcome))


def count_outcomes(rows: Sequence[Row]) -> str:
    """Return how many cells there are of each outcome, and how many runs they took."""
    counts = Counter(row.outcome for row in rows)
    runs = sum(1 for row in rows if not row.like)
    found = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if name in counts)
    return f"{len(rows)} cells, {runs} runs: {found or 'none'}."


def write_json(report: SweepReport) -> str:
    """Return the cells as JSON, one a line, with the digests by which a later sweep reuses their outcomes."""
    lines = ",\n".join(dump_text(asdict(row)) for row in report.rows.values())
    about: JSON = {
        "complete": report.is_complete,
        "command": [*report.command],
        "files": report.files,
        "calls": dict(report.calls),
    }
    return f'{dump_text(about)[:-1]},"cells": [\n{lines}\n]}}\n'


def write_markdown(rows: Sequence[Row]) -> str:
    """Return a table of the outcomes, failures first, with the positions of each fault in one line."""
    lines = [count_outcomes(rows), "", "| call | fault | position | outcome | broken rules |"]
    lines.append("| --- | --- | --- | --- | --- |")
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in sort_rows(rows):
        groups.setdefault((row.call, row.fault, row.breaches), []).append(row)
    for alike in groups.values():
        first = min(alike, key=lambda row: len(row.like))
        broken = _list_breaches(first).replace("|", "\\|")
        positions = ", ".join(row.position for row in alike)
        lines.append(f"| {first.call} | {first.fault} | {positions} | {first.outcome} | {broken} |")
    return "\n".join(lines) + "\n"


def _list_breaches(row: Row) -> str:
    """Return the breaches of a run, or of the rules alone where another run shows them."""
    if not row.like or not row.broken:
        return " ".join(row.broken)
    return f"{', '.join(row.rules)}, as {' '.join(row.like[1:]).strip()}"


def write_junit(rows: Sequence[Row]) -> str:
    """Return one test case for each cell."""
    failures = sum(1 for row in rows if row.outcome != SURVIVED)
    suite = Element("testsuite", name="emulator sweep", tests=str(len(rows)), failures=str(failures))
    for row in rows:
        case = SubElement(suite, "testcase", classname=row.call, name=row.name)
        if row.outcome != SURVIVED:
            text = "\n".join([*row.broken, row.said, row.scenario])
            SubElement(case, "failure", message=row.outcome).text = _UNWRITABLE.sub("?", text)
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
        if row.outcome != SURVIVED:
            text = f"{row.call}: {row.name}: {row.outcome}. {' '.join(row.broken)}".strip()
            place: JSON = {"logicalLocations": [{"name": row.call}]}
            yield {"ruleId": row.outcome, "level": "error", "message": {"text": text}, "locations": [place]}


def list_scenarios(rows: Sequence[Row], command: str) -> Mapping[str, str]:
    """Return a scenario file for each failure that was run, by name; ``command``: shows it again."""
    found: dict[str, str] = {}
    for row in sort_rows(rows):
        if row.outcome != SURVIVED and not row.like:
            name = re.sub(r"[^a-z0-9]+", "-", " ".join(row.key).lower()).strip("-")
            how = f"emulator serve {name}.yaml, and {command}"
            if row.test:
                how = f'emulator.load("{name}.yaml") before the calls of {row.test}'
            about = [f"{row.call}: {row.outcome}.", *row.broken, f"{_AGAIN}{how}"]
            lines = "".join(f"# {line}\n" for text in about for line in text.splitlines())
            found[f"{name}.yaml"] = lines + row.scenario
    return found


def write_scenarios(rows: Sequence[Row], command: str, folder: Path) -> None:
    """Write a scenario for each failure, and delete those that an earlier sweep wrote for failures that are mended."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list_scenarios(rows, command)
    for old in folder.glob("*.yaml"):
        if old.name not in found and f"\n# {_AGAIN}" in old.read_text(encoding="utf-8"):
            old.unlink()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
