"""Handlers of an active scenario."""

import gc
import weakref

import pytest

from emulator.runtime.active import Apps
from emulator.scenario.load import load_text
from emulator.serve.application import create_application


def refuse(name: str, apps: Apps) -> None:
    raise AssertionError(f"{name} was mounted")


def test_listing_apps_mounts_nothing() -> None:
    apps = Apps(["databricks", "azure"], refuse)  # type: ignore[arg-type]
    assert ("azure" in apps, "tgi" in apps) == (True, False)
    assert [*apps] == ["databricks", "azure"]
    assert len(apps) == 2
    with pytest.raises(KeyError, match="tgi"):
        apps["tgi"]


def test_replaced_scenario_is_freed_without_garbage_collector() -> None:
    """An active scenario has no reference cycles, which would keep replaced scenarios alive between collections."""
    built = create_application(load_text("version: 1\nname: x\n"))
    gc.disable()
    try:
        assert set(built.runtime.active.apps.values())
        emulator = weakref.ref(built.runtime.active.emulator)
        built.runtime.reset()
        assert emulator() is None
    finally:
        gc.enable()
