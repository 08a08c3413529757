"""What a quick try leaves to a longer one."""

import pytest

from emulator.generation.step_budget import Exhausted, StepBudget, TooLong, load, quick


def test_quick_budget_stops_after_fewer_steps() -> None:
    with quick():
        hurried = StepBudget(steps=1000)
    patient = StepBudget(steps=1000)
    for _ in range(300):
        hurried.spend()
        patient.spend()
    with pytest.raises(TooLong):
        hurried.spend()
    for _ in range(700):
        patient.spend()
    with pytest.raises(Exhausted):
        patient.spend()


def test_quick_run_refuses_first_import() -> None:
    with quick(), pytest.raises(TooLong):
        load("colorsys")
    load("colorsys")
    with quick():
        load("colorsys")
