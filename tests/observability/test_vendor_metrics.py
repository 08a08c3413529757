"""Tests that metrics refer to figures only, and not to records or scenarios."""

from __future__ import annotations

import gc
import sys
import weakref
from dataclasses import dataclass

import pytest

from emulator.handler.call_record import CallRecord
from emulator.observability.vendor_metrics import VendorMetrics
from tests.conftest import Start
from tests.handler.toy import TOY
from tests.http_client import Running
from tests.observability.test_labelled_totals import Ended


async def fill(running: Running) -> None:
    for number in range(3):
        await running.ask("toy", "/chat", {"prompt": f"Hi {number}", "max": 3}, headers={"x-key": "k"})


def count_traces() -> int:
    """Count the records that are still referenced."""
    gc.collect()
    return sum(isinstance(each, CallRecord) and each.vendor == "toy" for each in gc.get_objects())


@pytest.mark.slow
async def test_reset_releases_all_records(start: Start) -> None:
    running = await start(vendors=[TOY])
    before = count_traces()
    await fill(running)
    assert count_traces() >= before + 3
    await running.ask("front", "/_emulator/reset", method="POST")
    assert count_traces() == before
    metrics = running.built.runtime.metrics["toy"]
    assert (metrics.total("requests"), len(metrics.samples("duration"))) == (3, 3)


async def test_replaced_emulator_is_released(start: Start) -> None:
    running = await start(vendors=[TOY])
    await fill(running)
    emulator = weakref.ref(running.built.runtime.active.emulator)
    await running.ask("front", "/_emulator/scenario", b"version: 1\n", method="PUT")
    await running.ask("front", "/_emulator/reset", method="POST")
    gc.collect()
    assert emulator() is None


async def test_latest_ten_thousand_calls_use_little_memory(start: Start) -> None:
    running = await start(vendors=[TOY])
    await fill(running)
    metrics = running.built.runtime.metrics["toy"]
    assert isinstance(metrics, VendorMetrics)
    trace = running.built.journal.list_calls()[-1]
    assert isinstance(trace, CallRecord)
    for _ in range(10_700):
        metrics.add(trace)
    assert len(metrics.samples("duration")) == 10_000
    assert set(metrics.samples("events", deployment="toy", served=trace.served)) == {trace.events}
    assert metrics.samples("events", deployment="other") == ()
    assert sys.getsizeof(metrics._figures) < 1_000_000


@dataclass
class _Refused(Ended):
    """Return a record of a request to an unknown deployment."""

    asked_operation: str | None = None
    status: int = 404
    error: str | None = "not_found"
    reason: str = ""
    served: str = ""
    ended: float = 0.0
    completion_tokens: int = 0
    events: int = 0


@pytest.mark.slow
def test_made_up_deployment_names_are_forgotten() -> None:
    metrics = VendorMetrics()
    metrics.add(_Refused(deployment="real"))
    for number in range(60_000):
        metrics.add(_Refused(deployment=f"d{number}"))
    metrics.add(_Refused(deployment="real"))
    assert len(metrics.samples("duration")) == 10_000
    assert len(metrics._by_deployment) == 10_000
    assert len(metrics._names) <= 40_000
    assert metrics.samples("duration", deployment="real", served="") == (1.0,)
    assert metrics.samples("duration", deployment="d59999", served="") == (1.0,)
    assert metrics.samples("duration", deployment="d1", served="") == ()
    assert (metrics.total("requests"), metrics.total("failed", error="not_found")) == (60_002, 60_002)
