"""Golden exchanges; the prefix of a file name is its release."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from emulator.vendors.openvino.routes import VENDOR
from tests.golden import check_golden, golden_files
from tests.http_client import Running
from tests.vendors.openvino.scenario import SCENARIO


@pytest.mark.covers("openvino/routes", "POST chat/completions")
@pytest.mark.covers("openvino/answers", "every release")
@pytest.mark.covers("openvino/releases", "every release's bytes")
@pytest.mark.covers("openvino/decisions", "2 the manual's sample")
@pytest.mark.covers("openvino/traps", "1 the manual's sample")
@pytest.mark.parametrize("path", golden_files(__file__))
async def test_golden(path: Path, start: Callable[..., Awaitable[Running]], pytestconfig: pytest.Config) -> None:
    profile = path.stem.split("_")[0]
    running = await start(SCENARIO % profile, vendors=(VENDOR,))
    await check_golden(running, "openvino", path, update=pytestconfig.getoption("--update-goldens"))
