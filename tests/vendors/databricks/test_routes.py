"""Test the environment variables of clients."""

import pytest

from emulator.vendors import environment_of


@pytest.mark.covers("databricks/authentication", "what clients read of the environment")
def test_environment_names_what_clients_read() -> None:
    environment = environment_of("databricks", "http://host")
    assert environment["DATABRICKS_HOST"] == "http://host"
    assert environment["DATABRICKS_API_BASE"] == "http://host/serving-endpoints"
