"""Write the outcomes of a sweep: Markdown, JSON, JUnit XML, SARIF, a page, and one scenario for each failure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from emulator import __version__
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


_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0 0 1.5rem; }
th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8886; white-space: pre-wrap; }
.o { display: inline-block; border-radius: .3rem; padding: 0 .45rem; margin: .1rem; color: #fff; }
a.o { text-decoration: none; }
.o0 { background: #7a1fa2; } .o1 { background: #b00020; } .o2 { background: #8a4b00; }
.o3 { background: #a05a00; } .o4 { background: #1b6e3c; }
.like { opacity: .8; }
"""


def write_page(rows: Sequence[Row], command: str) -> str:
    """Return the page: a table of faults and positions for each class of calls, then every failure."""
    return "".join(_list_parts(rows, command))


def _list_parts(rows: Sequence[Row], command: str) -> Iterator[str]:
    yield f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Sweep of {escape(command)}</title>'
    yield f"<style>{_STYLE}</style></head><body>\n<h1>Sweep of <code>{escape(command)}</code></h1>\n"
    yield f"<p>{escape(count_outcomes(rows))}</p>\n<p>"
    yield from (f'<span class="o o{number}">{name}</span>' for number, name in enumerate(OUTCOMES))
    yield "</p>\n<p>Pale: the outcome of another cell, which gives the client the same bytes or lies beside it.</p>\n"
    failures = [row for row in sort_rows(rows) if row.outcome != SURVIVED]
    numbers = {row.key: number for number, row in enumerate(failures, 1)}
    for call in dict.fromkeys(row.call for row in rows):
        yield f"<h2>{escape(call)}</h2>\n<table><tr><th>fault</th><th>positions</th></tr>\n"
        mine = [row for row in rows if row.call == call]
        for fault in dict.fromkeys(row.fault for row in mine):
            cells = "".join(_show_cell(row, numbers.get(row.key)) for row in mine if row.fault == fault)
            yield f"<tr><td>{escape(fault)}</td><td>{cells}</td></tr>\n"
        yield "</table>\n"
    if failures:
        yield "<h2>Failures</h2>\n"
    for number, row in enumerate(failures, 1):
        yield from _show_failure(number, row)
    yield f"<footer>emulator {__version__}</footer></body></html>\n"


def _show_cell(row: Row, number: int | None) -> str:
    style = f"o o{OUTCOMES.index(row.outcome)}{' like' if row.like else ''}"
    text = escape(row.position or row.fault)
    title = f' title="{row.outcome}"'
    return (
        f'<a class="{style}"{title} href="#f{number}">{text}</a>'
        if number
        else f'<span class="{style}"{title}>{text}</span>'
    )


def _show_failure(number: int, row: Row) -> Iterator[str]:
    style = f"o o{OUTCOMES.index(row.outcome)}"
    yield f'<details id="f{number}" open><summary><span class="{style}">{row.outcome}</span> '
    yield f"{escape(row.call)}: {escape(row.name)}</summary>\n"
    if row.like:
        yield f"<p>As {escape(' '.join(row.like[1:]).strip())}.</p>\n"
    yield "".join(f"<p>{escape(text)}</p>\n" for text in row.broken)
    if row.said and not row.like:
        yield f"<p>The command said last:</p><pre>{escape(row.said)}</pre>\n"
    if not row.like:
        yield f"<p>To see it again, serve this scenario:</p><pre>{escape(row.scenario)}</pre>\n"
    yield "</details>\n"
