"""The page ``docs/sdks.md``: its tables are written from ``docs/sdks/verdicts.json``, its other text by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from emulator.core.json import dump_text
from emulator.verdicts.judge import RULE_NAMES
from tests.tools.sdks.clients import SDKS
from tests.tools.sdks.plays import OWN, PLAYS, ROOT, SHIPPED
from tests.untyped_json import JSON, parse_json

FILE = ROOT / "docs" / "sdks.md"
DATA = OWN / "verdicts.json"
_PART = re.compile(r"(<!-- written by python -m tests\.tools\.sdks -->\n).*?(<!-- end -->)", re.DOTALL)


def read_data() -> dict[str, JSON]:
    """Return the outcomes by client: date, release, and those of each scenario."""
    found: dict[str, JSON] = parse_json(DATA.read_bytes()) if DATA.exists() else {}
    return found


def write_data(data: Mapping[str, JSON]) -> None:
    lines = ",\n".join(f"{dump_text(name)}: {dump_text(data[name])}" for name in SDKS if name in data)
    DATA.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def render(data: Mapping[str, JSON], page: str) -> str:
    """Return the page with its tables from these outcomes."""
    parts = iter((_write_rules(data), _write_scenarios(data), _write_breaches(data)))
    return _PART.sub(lambda found: f"{found[1]}\n{next(parts)}\n{found[2]}", page)


def find_cell(scenarios: Mapping[str, JSON], rule: str) -> str:
    """Return in how many scenarios a client kept or broke a rule, with the first figures; empty: not judged."""
    judged = [row["rules"][rule] for row in scenarios.values() if rule in row["rules"]]
    broken = judged.count(False)
    if not judged:
        return ""
    if not broken:
        return f"kept {len(judged)}"
    breaches = [breach for row in scenarios.values() for breach in row["broken"] if breach["rule"] == rule]
    figures = ", ".join(f"{name.replace('_', ' ')} {_write(value)}" for name, value in breaches[0]["figures"].items())
    return f"**broken** {broken} of {len(judged)}" + (f": {figures}" if figures else "")


def _write(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _write_rules(data: Mapping[str, JSON]) -> str:
    rules = [rule for rule in RULE_NAMES if any(find_cell(row["scenarios"], rule) for row in data.values())]
    others = [rule for rule in RULE_NAMES if rule not in rules]
    rows = [
        [f"{name} {row['release']}", row["date"], *(find_cell(row["scenarios"], rule) for rule in rules)]
        for name, row in data.items()
    ]
    head = ["client", "tried", *(f"`{rule}`" for rule in rules)]
    never = ", ".join(f"`{rule}`" for rule in others)
    return f"{_table(head, rows)}\nNever at stake: {never}.\n"


def _write_scenarios(data: Mapping[str, JSON]) -> str:
    """Return a table for Python and one for Node."""
    return "\n".join(
        _write_outcomes({name: row for name, row in data.items() if SDKS[name].is_node == is_node})
        for is_node in (False, True)
    )


def _write_outcomes(data: Mapping[str, JSON]) -> str:
    rows = []
    for name in PLAYS:
        folder = "../scenarios" if (SHIPPED / f"{name}.yaml").is_file() else "sdks"
        rows.append([f"[{name}]({folder}/{name}.yaml)", *(_show(row["scenarios"].get(name)) for row in data.values())])
    return _table(["scenario", *data], rows)


def _show(outcome: JSON) -> str:
    """Return the broken rules of a scenario; empty where the client does not meet it, or cannot take its steps."""
    if outcome is None or not outcome["rules"]:
        return ""
    broken = dict.fromkeys(row["rule"] for row in outcome["broken"])
    return ", ".join(f"`{rule}`" for rule in broken) or "sound"


def _write_breaches(data: Mapping[str, JSON]) -> str:
    rows = []
    for client, row in data.items():
        for rule in RULE_NAMES:
            found = [
                (scenario, breach["sentence"])
                for scenario in PLAYS
                for breach in row["scenarios"].get(scenario, {"broken": ()})["broken"]
                if breach["rule"] == rule
            ]
            if found:
                scenario, sentence = found[0]
                rows.append([client, f"`{rule}`", scenario, sentence.replace("|", "\\|")])
    return _table(["client", "rule", "scenario", "what it did first"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(_write_lines(head, rows))


def _write_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |\n"


def write(file: Path = FILE) -> None:
    """Write the tables of the page anew."""
    file.write_text(render(read_data(), file.read_text(encoding="utf-8")), encoding="utf-8")
