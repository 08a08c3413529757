"""Tests of the places for runs of a sweep."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from emulator.sweep.run import Places

PATIENCE = 60.0  # real seconds


def test_run_that_waits_leaves_its_place_to_another() -> None:
    places, is_over = Places(1, 1), Event()

    def wait() -> bool:
        with places.work(leave_after=0.0):
            return is_over.wait(PATIENCE)

    def work() -> None:
        with places.work():
            is_over.set()

    with ThreadPoolExecutor(places.most) as pool:
        waiting = pool.submit(wait)
        pool.submit(work).result(PATIENCE)
        assert waiting.result(PATIENCE)


def test_one_job_has_no_place_to_wait() -> None:
    assert Places(1, 0).most == 1
