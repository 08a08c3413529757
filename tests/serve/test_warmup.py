"""Full garbage collections: when they run."""

import gc
import os
import platform
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yarl._url

from emulator.core.cache import clear_all
from emulator.serve.warmup import CollectionPolicy, _collect


@pytest.mark.parametrize(
    ("count", "busy", "looks"),
    [
        pytest.param(299, False, 0, id="little is new"),
        pytest.param(300, False, 1, id="much is new, and no request waits"),
        pytest.param(300, True, 0, id="a request would wait"),
        pytest.param(1199, True, 0, id="a request still would"),
        pytest.param(1200, True, 1, id="too much is new"),
    ],
)
def test_collection_runs_when_idle_or_overdue(count: int, busy: bool, looks: int) -> None:
    looked: list[int] = []

    def collect() -> int:
        looked.append(1)
        return 0

    gave: list[int] = []
    CollectionPolicy(lambda: busy, lambda: count, collect, lambda: gave.append(1)).tidy()
    assert (len(looked), len(gave)) == (looks, 0 if busy else looks)


@pytest.mark.parametrize(("session", "looks"), [("", 1), ("a", 0)])
def test_replaced_scenario_is_collected_once_idle(session: str, looks: int) -> None:
    looked: list[int] = []
    busy = iter([True, False, False])

    def collect() -> int:
        looked.append(1)
        return 0

    forgot: list[int] = []
    garbage = CollectionPolicy(lambda: next(busy), lambda: 1, collect, lambda: None, lambda: forgot.append(1))
    garbage.expect(session)
    garbage.expect("b")
    garbage.tidy()
    assert not looked
    garbage.tidy()
    garbage.tidy()
    assert len(looked) == len(forgot) == looks


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no other C library is asked")
def test_tidy_returns_free_memory_to_system() -> None:
    held = [b"%d" % number * 20_000 for number in range(1000, 2000)]  # below what the C library maps separately
    stays = [held.pop() for _ in range(20)]
    before = measure()
    del held
    CollectionPolicy(lambda: False, lambda: 300, lambda: 0).tidy()
    assert before - measure() > 50 * 2**20
    assert len(stays) == 20


def measure() -> int:
    """Return the resident bytes of the process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_large_heap_delays_next_collection() -> None:
    counts, looked = iter([1200, 1499, 1500]), []

    def collect() -> int:
        looked.append(1)
        return 1_500_000

    garbage = CollectionPolicy(lambda: True, lambda: next(counts), collect)
    for looks in (1, 1, 2):
        garbage.tidy()
        assert len(looked) == looks


@pytest.mark.slow
def test_collection_does_not_disturb_tuple_creation() -> None:
    made: list[tuple[str, ...]] = []
    over = threading.Event()

    def make() -> None:
        while not over.is_set():
            made[:] = [tuple(str(number) for number in range(3_000))]

    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    gc.freeze()  # what other tests left would take long to look through
    try:
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(make)
            for _ in range(20_000):
                _collect()
            over.set()
            making.result(10)
    finally:
        over.set()
        sys.setswitchinterval(switched)
    assert len(made[0]) == 3_000


def test_clear_all_empties_url_cache() -> None:
    yarl.URL.build(path="/a", query_string="key=secret", encoded=True)
    assert yarl._url.build_pre_encoded_url.cache_info().currsize
    clear_all()
    assert not yarl._url.build_pre_encoded_url.cache_info().currsize


_READ = """
import resource, socket
from emulator.serve import warmup
warmup.begin()
warmup.return_memory()
one, two = socket.socketpair()
def read():
    one.send(b"request")
    return two.recv(256 * 1024)
read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(1000):
    read()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts page faults of Linux")
def test_reading_a_socket_maps_no_memory() -> None:
    run = subprocess.run([sys.executable, "-c", _READ], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 100  # a mapping faults at least once each time


_WARM_UP = """
import sys, threading
from emulator.serve.warmup import warm_up
from emulator.vendors import VENDORS
warm_up(VENDORS, ["azure", "tgi"])
[thread] = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
thread.join()
late = ["emulator.control.api", *VENDORS["azure"].late_modules]
print(len(late) > 20, {name for name in late if name not in sys.modules})
"""


def test_warm_up_imports_what_later_requests_need() -> None:
    run = subprocess.run([sys.executable, "-c", _WARM_UP], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "set()"]
