"""The table of clients in ``docs/clients.md``: which operation of which client was tried, and what came of it.

A row is a test of this folder: ``test_<vendor>_<client>.py`` names the client, the test's name the operation. A module
may name the client's package (``CLIENT``), or one for each beginning of a test's name (``CLIENTS``). What is not
installed is not tried, and its rows keep the verdict they had.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.node import find_release

FOLDER = Path(__file__).parent
PAGES = frozenset({FOLDER / "test_table.py", FOLDER / "test_resources.py"})
FILE = FOLDER.parents[1] / "docs" / "clients.md"
COMMAND = "python -m tests.conformance"
NOT_RUN = "not run"
_VENDORS = ("databricks", "azure", "mindie", "tgi", "openvino")
_HEAD = "| vendor | client | operation | verdict | tried with |\n| --- | --- | --- | --- | --- |\n"
_WORSE = ("skipped", "passed", "known", "failed")
_WAY = re.compile(r"(?<=[\[-])(plain|path|key|own port)(?=[]-])")  # of ``session_by``
_KNOWN = re.compile(r"^- (\w+), ([\w.-]+), (.+), `(\w+)`: (.*)$", re.MULTILINE)
Key = tuple[str, str, str]  # vendor, client, operation


@dataclass(frozen=True, slots=True)
class Row:
    """One operation of a client; ``package``: name and version of the client it was last tried with."""

    vendor: str
    client: str
    operation: str
    verdict: str = NOT_RUN
    package: str = ""

    @property
    def key(self) -> Key:
        return self.vendor, self.client, self.operation

    def __str__(self) -> str:
        return f"| {self.vendor} | {self.client} | {self.operation} | {self.verdict} | {self.package} |"


@dataclass(slots=True, eq=False)
class Outcomes:
    """Plugin of pytest that records the outcome of each test; tests that share a row, by their names.

    A test that names its session in several ways is one, and as good as in the worst of them.
    """

    found: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        path, _, name = report.nodeid.partition("::")
        where = f"{Path(path).stem}::{name.partition('[')[0].split('::')[0]}"
        reason = getattr(report, "wasxfail", None)
        outcome = "known" if reason is not None and report.skipped else report.outcome
        test, found = _WAY.sub("", name), self.found[where]
        found[test] = max(found.get(test, outcome), outcome, key=_WORSE.index)
        if reason is not None and report.skipped:
            self.known[where, name.partition("[")[0].split("::")[-1]] = reason.removeprefix("reason: ")


def list_rows() -> Mapping[str, Row]:
    """Every row by ``module::test``, read from the sources alone."""
    found: dict[str, Row] = {}
    for path in sorted(set(FOLDER.glob("test_*.py")) - PAGES, key=_by_vendor):
        found.update(_list_module(path))
    return found


def _by_vendor(path: Path) -> tuple[int, str]:
    vendor = path.stem.split("_")[1]
    return (_VENDORS.index(vendor) if vendor in _VENDORS else len(_VENDORS)), path.stem


def _list_module(path: Path) -> Iterator[tuple[str, Row]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    _, first, *rest = path.stem.split("_")
    vendor = first if first in _VENDORS else "all"
    names = {name: ast.literal_eval(value) for name, value in _list_constants(tree) if name in ("CLIENT", "CLIENTS")}
    usual = names.get("CLIENT") or "-".join(rest) or first
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not node.name.startswith(("test_", "Test")):
            continue
        prefixes = [prefix for prefix in names.get("CLIENTS", {}) if node.name.startswith(prefix)]
        client = names["CLIENTS"][prefixes[0]] if prefixes else usual
        said = ast.get_docstring(node) if isinstance(node, ast.ClassDef) else node.name.removeprefix("test_")
        operation = (said or node.name).rstrip(".").replace("_", " ")
        yield f"{path.stem}::{node.name}", Row(vendor, client, operation)


def _list_constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def read_table(text: str) -> Mapping[Key, Row]:
    """The rows of a table that was written before."""
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    rows = [Row(*(cell.strip() for cell in f"{line} |".split("|")[:5])) for line in lines[1:] if line.count("|") >= 3]
    return {row.key: row for row in rows}


def judge(outcomes: Outcomes, before: str) -> str:
    """Return the page with the results of a run in place of earlier ones."""
    rows, old = list_rows(), read_table(before)
    judged = {where: _judge_row(row, [*outcomes.found.get(where, {}).values()], old) for where, row in rows.items()}
    keep = {row.key for where, row in rows.items() if {*outcomes.found.get(where, {}).values()} <= {"skipped"}}
    known = {(key, test): why for *row, test, why in _KNOWN.findall(before) if (key := tuple(row)) in keep}
    known |= {(rows[where].key, test): why for (where, test), why in outcomes.known.items() if where in rows}
    return render([*judged.values()], known)


def _judge_row(row: Row, said: list[str], old: Mapping[Key, Row]) -> Row:
    told = [one for one in said if one != "skipped"]
    if not told:
        return old.get(row.key, row)
    known = told.count("known")
    verdict = "no" if "failed" in told else f"{len(told) - known} of {len(told)}; the rest below" if known else "yes"
    return replace(row, verdict=verdict, package=_name_package(row.client))


def _name_package(client: str) -> str:
    try:
        return f"{client} {version(client)}"
    except PackageNotFoundError:
        return f"{client} {find_release(client.removesuffix(' (Node)'))}".rstrip()


def render(rows: list[Row], known: Mapping[tuple[Key, str], str]) -> str:
    """The page as Markdown."""
    count = sum(row.verdict == "yes" for row in rows)
    reasons = "".join(f"- {', '.join(key)}, `{test}`: {why}\n" for (key, test), why in sorted(known.items()))
    return (
        "# Clients\n\n"
        "Look here to see if your client library works with the emulator. The table has the operations that were\n"
        "tested with each library against a running emulator, and the verdict: *yes*, or how many of the tests\n"
        "passed. The libraries are real and unmodified. *Tried with* is the version of the client in the latest\n"
        "test.\n\n"
        "- `responses` is the package openai on Azure's Responses API.\n"
        "- `resource` is openai, anthropic and Azure's packages for projects, identity and inference, on one\n"
        "  resource.\n"
        "- `load clients` are benchmarks, such as vLLM's and guidellm. The tests read a stream as these do, without\n"
        "  their code.\n"
        "- A verdict such as *28 of 38* counts a test once for each set of its parameters. The list below has the\n"
        "  name of the test once.\n\n"
        f"{count} of {len(rows)} operations work.\n\n"
        f"{_HEAD}{''.join(f'{row}{chr(10)}' for row in rows)}"
        f"\n## Known failures and why\n\n{reasons or 'None.' + chr(10)}"
    )
