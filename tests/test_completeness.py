"""Every field of every table of the vendors' reference pages stands beside a test that covers it."""

import importlib

import pytest

from tests.named import ROOT, find_missing

LISTS = sorted(path.parent.name for path in (ROOT / "tests" / "vendors").glob("*/completeness.py"))


def _fields(vendor: str) -> dict[str, str]:
    fields: dict[str, str] = importlib.import_module(f"tests.vendors.{vendor}.completeness").FIELDS
    return fields


@pytest.mark.parametrize("vendor", LISTS)
def test_every_field_names_a_test_that_exists(vendor: str) -> None:
    missing = find_missing(_fields(vendor))
    assert not missing, "\n".join(missing)


def test_every_vendor_of_the_reference_pages_has_a_list() -> None:
    assert LISTS == ["openvino"]


@pytest.mark.parametrize("vendor", LISTS)
def test_the_list_is_not_a_token_one(vendor: str) -> None:
    assert len(_fields(vendor)) >= 30
    assert len(set(_fields(vendor).values())) >= 15
