"""Measure the cost of features that are off, as a share of the server's time for a chat request, by profiling.

Profiling makes function calls look more expensive than they are, so the true share is lower.
"""

import pstats
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.tools.bench.load import Figures, Load, Loader
from tests.tools.bench.servers import Side, serving

FEATURES: Mapping[str, tuple[str, ...]] = {
    "rules": ("emulator/scenario/",),
    "limits": ("emulator/ratelimit/", "emulator/core/quota"),
    "faults": ("emulator/faults/", "emulator/core/faultable"),
    "bodies": ("emulator/handler/call_record.py:cut", "emulator/handler/call_record.py:_build_payload"),
    "metrics": ("emulator/observability/vendor_metrics", "emulator/observability/totals"),
}
ENTRY = "emulator/http/connection.py:data_received"  # called with the bytes of each request


def measure(side: Side, load: Load, loader: Loader, seconds: float) -> Figures:
    """Return the share of each feature in the time of serving requests."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile"
        command = (sys.executable, "-m", "cProfile", "-o", str(file), *side.command[1:])
        with serving(replace(side, command=command)) as server:
            loader.run(load, server, seconds)
        return read_profile(pstats.Stats(str(file)))


def read_profile(stats: pstats.Stats) -> Figures:
    """Return the time in the functions of each feature, divided by the time in ``ENTRY`` and below."""
    times = {
        f"{Path(path).as_posix()}:{name}": (own, whole)
        for (path, _, name), (_, _, own, whole, _) in stats.stats.items()  # type: ignore[attr-defined]
    }
    total = sum(whole for place, (_, whole) in times.items() if place.endswith(ENTRY))
    return {
        feature: sum(own for place, (own, _) in times.items() if any(part in place for part in parts)) / total
        for feature, parts in FEATURES.items()
    }
