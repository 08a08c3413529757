"""The vendors that a scenario serves."""

import pytest

from emulator.server.active import Apps


def refuse(name: str) -> None:
    raise AssertionError(f"{name} was mounted")


def test_to_ask_which_are_served_mounts_none() -> None:
    apps = Apps(["databricks", "azure"], refuse)  # type: ignore[arg-type]
    assert ("azure" in apps, "tgi" in apps) == (True, False)
    assert [*apps] == ["databricks", "azure"]
    assert len(apps) == 2
    with pytest.raises(KeyError, match="tgi"):
        apps["tgi"]
