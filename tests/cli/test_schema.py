"""``emulator schema``: what editors read."""

import json

import pytest

from emulator.cli import main
from emulator.vendors import VENDORS


@pytest.mark.covers("language/commands", "schema")
def test_schema_is_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_schema_lists_every_vendor_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    sections = json.loads(capsys.readouterr().out)["properties"]["vendors"]["properties"]
    for vendor in VENDORS.values():
        known = sections[vendor.name]["oneOf"][1]
        assert set(known["properties"]) == set(vendor.settings.model_fields)
        assert all(field.get("description") for field in known["properties"].values())
        assert known["additionalProperties"] is False
