"""Tests of mistakes found after loading."""

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from emulator.scenario.load import load_text
from emulator.scenario.parsed import ParsedScenario

LATER = "version: 1\nvendors:\n  tgi: {profil: x}\nrules:\n- {name: a, pass: true}\n"


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    profile: str = "real"


def find_settings_error(loaded: ParsedScenario) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(loaded.scenario.vendors["tgi"])
    return caught.value


def test_vendor_settings_error_is_reported_as_row() -> None:
    loaded = load_text(LATER, "a.yaml")
    rows = loaded.rows(find_settings_error(loaded), Settings, ("vendors", "tgi"))
    assert [str(row) for row in rows] == ["a.yaml:3:9: vendors.tgi.profil: unknown key; did you mean profile?"]


@pytest.mark.parametrize(
    ("path", "row"),
    [
        pytest.param(("vendors", "tgi"), "a.yaml:3:8: vendors.tgi: wrong", id="a value"),
        pytest.param(("vendors", "tgi", "profile"), "a.yaml:3:8: vendors.tgi.profile: wrong", id="a key not written"),
        pytest.param(("rules", 0, "name"), "a.yaml:5:10: rules[0].name: wrong", id="in a list"),
        pytest.param((), "a.yaml:1:1: wrong", id="the whole file"),
    ],
)
def test_row_locates_later_error(path: tuple[str | int, ...], row: str) -> None:
    loaded = load_text(LATER, "a.yaml")
    assert str(loaded.row(path, "wrong")) == row


def test_digest_depends_on_content_and_not_format() -> None:
    digest = load_text("version: 1\nseed: 7").digest
    assert load_text("{seed: 7, version: 1}  # the same").digest == digest
    assert load_text("version: 1\nseed: 8").digest != digest
