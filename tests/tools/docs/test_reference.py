"""The language reference is current and complete, and every example of it works."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from emulator.scenario.load import load_scenario
from emulator.serve.application import create_application
from emulator.vendors import VENDORS
from tests.generation.vocabularies import BYTES
from tests.tools.docs import bounds
from tests.tools.docs.reference import FILE, properties, render
from tests.tools.docs.sections import POSITION, SECTIONS, TOLD_WITH_OTHERS, Section
from tests.tools.docs.vendors import defaults, read_switches, switches
from tests.tools.docs.words import definitions

EXAMPLES = [(section, key, text) for section in SECTIONS for key, text in section.examples.items()]


def test_reference_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == render(), "python -m tests.tools.docs writes it anew"


def test_bounds_page_is_current() -> None:
    assert FILE.with_name("bounds.md").read_text(encoding="utf-8") == bounds.render(), "python -m tests.tools.docs"


def test_every_key_is_documented_once() -> None:
    reported = Counter((section.model, key) for section in SECTIONS for key in section.examples)
    shared = {"max"} | POSITION
    wanted = {
        (model, key)
        for model in definitions().keys() - TOLD_WITH_OTHERS
        for key in properties(model)
        if key not in shared or (model, key) in reported
    }
    of_parts = {(model, key) for model, key in wanted if model == "ConstantPart" and key != "weight"}
    assert reported.keys() == wanted - of_parts
    assert shared <= {key for _, key in reported}
    assert max(reported.values()) == 1


@pytest.mark.slow
@pytest.mark.covers("promises/first steps", "the reference of the language")
@pytest.mark.parametrize(
    ("section", "key", "text"), [pytest.param(*row, id=f"{row[0].title}, {row[1]}") for row in EXAMPLES]
)
def test_example_loads_and_contains_key(section: Section, key: str, text: str, tmp_path: Path) -> None:
    value = yaml.safe_load(text)
    name, _, more = key.partition("<")
    assert any(given.startswith(name) if more else given == name for given in value)
    version = "" if key == "version" else "version: 1\n"
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(version + section.place.replace("…", text), encoding="utf-8")
    (tmp_path / "answers").mkdir()
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "1.exchange").write_text("exchange 1\n=== request\nGET /info\n", encoding="utf-8")
    (tmp_path / "answers" / "tides.md").write_text("Tides come and go.", encoding="utf-8")
    (tmp_path / "bytes.tiktoken").write_bytes(BYTES)
    assert create_application(load_scenario([scenario])).apps


@pytest.mark.slow
@pytest.mark.parametrize("name", VENDORS)
def test_every_vendor_setting_is_documented_and_accepts_default(name: str) -> None:
    vendor, text = VENDORS[name], render()
    reported = text[text.index(f"### vendors.{name}\n") :].partition("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", reported, re.MULTILINE)
    assert [row[0] for row in rows] == list(vendor.settings.model_fields)
    assert all(means.strip(" .") for *_, means in rows)
    for key in switches(vendor):
        for profile, value in defaults(vendor, key).items():
            plain = vendor.settings.model_validate({"profile": profile})
            given = vendor.settings.model_validate({"profile": profile, **({} if value is None else {key: value})})
            assert read_switches(given) == read_switches(plain), key


def test_every_link_has_target() -> None:
    text = render()
    headings = {line.lstrip("# ").lower().replace(" ", "-") for line in text.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_index_lists_every_page() -> None:
    index = (FILE.parent / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in FILE.parent.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == pages
