"""Stop signals, and the limit on open files."""

import asyncio
import os
import signal
import sys

import pytest

from emulator.serve.signals import _find_most, allow_connections, stop_signals, stoppable, warn_of_few_files


def test_allow_connections_raises_open_file_limit() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
        allow_connections()
        raised = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if sys.platform == "darwin":  # its kernel allows no more than OPEN_MAX or kern.maxfilesperproc
            assert raised >= min(before[1], 10_240)
        else:
            assert raised == min(before[1], 2**20)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("most", [256, 257, 10_240, 1_048_575])
def test_find_most_ends_at_highest_number_that_is_allowed(most: int) -> None:
    allowed = [256]

    def allow(number: int) -> bool:
        if number <= most:
            allowed.append(number)
        return number <= most

    _find_most(allow, 256, 2**20)
    assert allowed[-1] == max(allowed) == most


@pytest.mark.parametrize(("soft", "is_low"), [(256, True), (1023, True), (1024, False)])
def test_low_limit_is_warned_of(soft: int, is_low: bool, caplog: pytest.LogCaptureFixture) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
        warn_of_few_files()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (f"the system allows {soft} open files" in caplog.text) is is_low


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_stop_signal_runs_cleanup_and_exits_0(name: str) -> None:
    tidied = []
    number = signal.Signals[name]
    before = signal.getsignal(number)
    code = None
    try:
        with stoppable():
            try:
                os.kill(os.getpid(), number)
            finally:
                tidied.append(True)
    except SystemExit as ended:
        code = ended.code
    assert (code, tidied) == (0, [True])
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("terminal")
async def test_stop_signals_arrive_in_order() -> None:
    names = [signal.SIGHUP, signal.SIGTERM, signal.SIGINT]
    with stoppable():
        async with stop_signals() as stops:
            for name in names:
                os.kill(os.getpid(), name)
                assert await asyncio.wait_for(stops.get(), 5) is name


async def test_ignored_sighup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            async with stop_signals() as stops:
                os.kill(os.getpid(), signal.SIGHUP)
                os.kill(os.getpid(), signal.SIGTERM)
                assert await asyncio.wait_for(stops.get(), 5) is signal.SIGTERM
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_signals_after_the_server_are_handled_as_before_it() -> None:
    def note(number: int, frame: object) -> None:
        raise AssertionError

    outer = signal.signal(signal.SIGTERM, note)
    try:
        async with stop_signals():
            assert signal.getsignal(signal.SIGTERM) is not note
        assert signal.getsignal(signal.SIGTERM) is note
    finally:
        signal.signal(signal.SIGTERM, outer)
