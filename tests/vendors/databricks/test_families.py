"""Which family an endpoint is of."""

import pytest

from emulator.vendors.databricks.families import family_of
from emulator.vendors.databricks.routes import VENDOR
from emulator.vendors.databricks.settings import DatabricksSettings
from tests.vendors.databricks.harness import CLAUDE, GEMINI, GPT, LLAMA, OSS

CATALOGUE = VENDOR.catalogue(DatabricksSettings())


@pytest.mark.parametrize(
    ("name", "family"),
    [
        (LLAMA, "open"), (OSS, "gpt-oss"), (CLAUDE, "claude"), (GPT, "gpt"), (GEMINI, "gemini"),
        ("databricks-qwen35-122b-a10b", "open"), ("databricks-gpt-5-3-codex", "gpt"),
        ("databricks-gemma-3-12b", "open"),
    ],
)  # fmt: skip
def test_family(name: str, family: str) -> None:
    assert family_of(next(d for d in CATALOGUE if d.name == name)) == family
