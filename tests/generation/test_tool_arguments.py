"""What a prompt offers for the parameters of a tool, and how far it is looked at."""

import pytest

from emulator.core.json import JSON
from emulator.generation.tools import listed_values

TEXT: JSON = {"type": "string"}
NUMBER: JSON = {"type": "number"}


@pytest.mark.parametrize(
    ("prompt", "addresses"),
    [
        pytest.param("Write to ann.b-c+d@mail.example.org.", ["ann.b-c+d@mail.example.org"], id="in a sentence"),
        pytest.param("..ann@example.org", ["..ann@example.org"], id="behind dots"),
        pytest.param("a@b@example.org", ["b@example.org"], id="behind what is none"),
        pytest.param("a@b.de,c@d.fr a@b.de", ["a@b.de", "c@d.fr"], id="several"),
        pytest.param("_" * 60_000, [], id="a word without end"),
        pytest.param("a." * 30_000, [], id="words without end"),
    ],
)
def test_email_addresses_are_found_in_prompt(prompt: str, addresses: list[str]) -> None:
    assert listed_values({"properties": {"email": TEXT}}, prompt).get("email", []) == addresses


@pytest.mark.parametrize(
    ("prompt", "places"),
    [
        pytest.param("请问今天在北京市的天气", ["北京"], id="behind words"),
        pytest.param("在" * 20_000, [], id="words without end"),
    ],
)
def test_chinese_places_are_found_in_prompt(prompt: str, places: list[str]) -> None:
    assert listed_values({"properties": {"city": TEXT}}, prompt).get("city", []) == places


@pytest.mark.parametrize(
    ("place", "found"), [pytest.param(16_000, True, id="near"), pytest.param(16_384, False, id="too far")]
)
def test_prompt_scan_is_bounded(place: int, found: bool) -> None:
    assert ("email" in listed_values({"properties": {"email": TEXT}}, " " * place + "a@b.de")) == found


def test_member_and_number_scans_are_bounded() -> None:
    members = {f"v{n}": {"enum": [*map(str, range(1000, 1000 + n)), "red"]} for n in (249, 250)}
    assert [*listed_values({"properties": members}, "red")] == ["v249"]
    numbers = {f"n{n}": NUMBER for n in range(600)}
    assert len(listed_values({"properties": numbers}, "1 " * 1000)) == 500
