"""Lists of rows of a vendor's wire, each beside the test that shows it.

A line is one row or several, a bar and their test: ``file::function`` or ``file::function[case]``. The file lies in
the tests of a vendor and goes without ``test_`` and ``.py``, as the function goes without ``test_``; ``tgi:file`` is of
another vendor. One with ``.py`` is written whole, from ``tests``.
"""

from collections.abc import Mapping

Tables = Mapping[str, str]


def read_rows(tables: Tables, vendor: str) -> Mapping[tuple[str, str], str]:
    """The test of each row of each table, as it is written from the root."""
    found: dict[tuple[str, str], str] = {}
    for table, lines in tables.items():
        for line in lines.strip().splitlines():
            rows, _, test = line.partition(" | ")
            for row in rows.split(";"):
                assert (table, row.strip()) not in found, f"{table}: {row} stands twice"
                found[table, row.strip()] = _locate(test.strip(), vendor)
    return found


def count_rows(tables: Tables) -> Mapping[str, int]:
    return {
        table: sum(line.partition(" | ")[0].count(";") + 1 for line in lines.strip().splitlines())
        for table, lines in tables.items()
    }


def _locate(test: str, vendor: str) -> str:
    file, _, name = test.partition("::")
    if file.endswith(".py"):
        return f"tests/{file}::{name}"
    other, _, file = file.rpartition(":")
    folder, slash, module = file.rpartition("/")
    return f"tests/vendors/{other or vendor}/{folder}{slash}test_{module}.py::test_{name}"
