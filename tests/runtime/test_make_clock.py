"""Clocks that a scenario and the flag ``--clock`` ask for."""

import pytest

from emulator.core.clock import EPOCH
from emulator.core.units import write_date
from emulator.runtime.factory import make_clock
from emulator.scenario.load import load_text
from emulator.scenario.models import ClockSettings
from emulator.serve.application import create_application
from emulator.serve.server import prepare
from emulator.settings import SettingsError, load_settings


@pytest.mark.covers("language/clocks", "kind", case="frozen by kind")
@pytest.mark.covers("language/clocks", "start", case="frozen")
@pytest.mark.parametrize(
    ("clock", "kind", "time"),
    [
        pytest.param("instant", "InstantClock", "2026-01-01T00:00:00.000Z", id="instant"),
        pytest.param("{kind: frozen}", "FrozenClock", "2026-01-01T00:00:00.000Z", id="frozen by kind"),
        pytest.param(
            "{kind: frozen, start: 2026-11-23T09:55:00Z}", "FrozenClock", "2026-11-23T09:55:00.000Z", id="frozen"
        ),
        pytest.param(
            "{kind: instant, start: 2026-11-23T09:55+01:00}", "InstantClock", "2026-11-23T08:55:00.000Z", id="zone"
        ),
        pytest.param("{kind: real, start: 2026-11-23T09:55:00Z}", "RealClock", "2026-11-23T09:55:0", id="real"),
        pytest.param("{scale: 0.001, start: 2026-11-23T09:55:00Z}", "RealClock", "2026-11-23T09:55:0", id="scaled"),
    ],
)
def test_a_clock_begins_at_its_start(clock: str, kind: str, time: str) -> None:
    made = make_clock(load_text(f"version: 1\nclock: {clock}").scenario.clock)
    assert (type(made).__name__, write_date(made.now())[: len(time)]) == (kind, time)


async def test_the_flag_wins_over_the_file_but_not_over_a_session() -> None:
    loaded = load_text("version: 1\nclock: frozen")
    wanted = ClockSettings.model_validate({"kind": "instant", "start": "2026-11-23T09:55:00Z"})
    built = create_application(loaded, clock=wanted)
    assert write_date(built.clock.now()) == "2026-11-23T09:55:00.000Z"
    runtime = built.runtime
    runtime.put(loaded)
    assert type(built.clock).__name__ == "InstantClock"
    runtime.put(loaded, "a")
    assert (type(runtime.for_session("a").emulator.clock).__name__, runtime.for_session("a").emulator.clock.now()) == (
        "FrozenClock",
        EPOCH,
    )


@pytest.mark.parametrize("value", ["instant@", "stopped", "frozen@2026-11-23", "instant@10:00", "", "scale@60"])
def test_a_clock_that_cannot_be_is_a_setting_that_cannot_be_used(value: str) -> None:
    with pytest.raises(SettingsError, match=r"--clock \(EMULATOR_CLOCK\) takes real, instant or frozen, or one"):
        prepare(load_settings({"clock": value}, {}))


def test_the_flag_reaches_the_server() -> None:
    prepared = prepare(load_settings({}, {"EMULATOR_CLOCK": "frozen@2026-11-23T09:55:00Z"}))
    assert prepared is not None
    assert write_date(prepared.built.clock.now()) == "2026-11-23T09:55:00.000Z"
