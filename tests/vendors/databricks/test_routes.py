"""Test the environment variables of clients."""

import pytest

from emulator.vendors import environment_of


@pytest.mark.covers("databricks/authentication", "what clients read of the environment")
def test_environment_has_variables_read_by_clients() -> None:
    environment = environment_of("databricks", "http://host")
    assert environment["DATABRICKS_HOST"] == "http://host"
    assert environment["DATABRICKS_API_BASE"] == "http://host/serving-endpoints"
