"""The tick of Windows' clock."""

import os
import sys

import pytest

from emulator.core.timerfd import open_alarm
from tests.platforms.simulation import PERIODS


@pytest.mark.skipif(sys.platform != "win32" or os.name == "nt", reason="the simulation records what Windows is asked")
def test_tick_of_a_millisecond_is_asked_for_once() -> None:
    for _ in range(2):
        open_alarm(lambda: None)
    assert PERIODS == [1]
