"""Every field of every table of the vendors' reference pages stands beside a test that covers it."""

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LISTS = sorted(path.parent.name for path in (ROOT / "tests" / "vendors").glob("*/completeness.py"))


@cache
def _tests(file: str) -> dict[str, str]:
    """Source of each test function of a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {node.name: node for node in ast.walk(ast.parse(text)) if isinstance(node, functions)}
    return {name: ast.get_source_segment(text, node) or "" for name, node in found.items()} | {"": text}


def _fields(vendor: str) -> dict[str, str]:
    fields: dict[str, str] = importlib.import_module(f"tests.vendors.{vendor}.completeness").FIELDS
    return fields


@pytest.mark.parametrize("vendor", LISTS)
def test_every_field_names_a_test_that_exists(vendor: str) -> None:
    missing = []
    for field, test in _fields(vendor).items():
        file, _, name = test.partition("::")
        function, bracket, case = name.partition("[")
        tests = _tests(file) if (ROOT / file).is_file() else {}
        if function not in tests or (bracket and case.removesuffix("]") not in tests[""]):
            missing.append(f"{field}: {test}")
    assert not missing, "\n".join(missing)


def test_every_vendor_of_the_reference_pages_has_a_list() -> None:
    assert LISTS == ["azure", "databricks", "mindie", "openvino"]


@pytest.mark.parametrize("vendor", LISTS)
def test_the_list_is_not_a_token_one(vendor: str) -> None:
    assert len(_fields(vendor)) >= 30
    assert len(set(_fields(vendor).values())) >= 15
