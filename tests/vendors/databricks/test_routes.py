"""What clients are to be told of the emulator."""

from emulator.vendors import environment_of


def test_environment_names_what_clients_read() -> None:
    environment = environment_of("databricks", "http://host")
    assert environment["DATABRICKS_HOST"] == "http://host"
    assert environment["DATABRICKS_API_BASE"] == "http://host/serving-endpoints"
