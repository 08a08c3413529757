"""What a scenario makes of each vendor, and what it cannot."""

import pytest

from emulator.scenario.errors import ScenarioError
from emulator.scenario.load import load_text
from emulator.server.runtime import build

MISTAKES = """\
version: 1
vendors:
  azur: {}
  openvino: {profil: seed}
deployments:
  - {vendor: databrick, name: a}
  - {vendor: azure, name: b, tokenizer: qwen}
"""


def test_every_mistake_of_a_vendors_section_is_told_at_once() -> None:
    with pytest.raises(ScenarioError) as caught:
        build(load_text(MISTAKES, "s.yaml"))
    lines = str(caught.value).split("\n")
    assert [line.split(": ")[0] for line in lines] == ["s.yaml:3:3", "s.yaml:4:14", "s.yaml:6:14", "s.yaml:7:41"]
    assert [line.rpartition("did you mean ")[2] for line in lines] == ["azure?", "profile?", "databricks?", "qwen2?"]


def test_a_vendor_can_be_left_out() -> None:
    built = build(load_text("version: 1\nvendors: {tgi: false}\n"))
    assert [app.vendor.name for app in built.apps] == ["databricks", "azure", "mindie", "openvino"]
