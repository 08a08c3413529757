"""The load of ``python -m tests.tools.soak`` for a few seconds: the server does it all, and loses nothing."""

import re

import pytest

from tests.tools.soak.__main__ import soak

pytestmark = pytest.mark.slow


async def test_soak_loses_nothing_and_looks_at_the_server_after_each_period(capsys: pytest.CaptureFixture[str]) -> None:
    await soak(seconds=2, warm_up=1, rate=100, seed=0, pauses=2)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if re.search(r" s +[0-9.]+ MiB +[0-9]+ files +[0-9]+ tasks$", line)]) == 3
    assert any(re.search(r"^[0-9]+ actions: .*\b[0-9]+ steer\b", line) for line in lines)
    assert "; 0 lost; seed 0" in lines[-1]
