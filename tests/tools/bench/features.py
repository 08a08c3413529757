"""What features cost that nobody uses: their share of all that a server does for a chat, by its profile.

A profile makes calls look dearer than they are, so that the true share is rather less.
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
    "bodies": ("emulator/journal/record.py:_keep", "emulator/handler/record.py:_keep"),
    "metrics": ("emulator/observability/vendor_metrics", "emulator/observability/totals"),
}
_ROADS = ("emulator/http/listeners.py:serve", "emulator/http/head_cache.py:answer")  # where requests come in


def measure(side: Side, load: Load, loader: Loader, seconds: float) -> Figures:
    """Shares of the time of answering, by feature."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile"
        command = (sys.executable, "-m", "cProfile", "-o", str(file), *side.command[1:])
        with serving(replace(side, command=command)) as server:
            loader.run(load, server, seconds)
        return read_profile(pstats.Stats(str(file)))


def read_profile(stats: pstats.Stats) -> Figures:
    """The time inside the functions of each feature, over that from a request's first line to its last."""
    times = {
        f"{Path(path).as_posix()}:{name}": (own, whole)
        for (path, _, name), (_, _, own, whole, _) in stats.stats.items()  # type: ignore[attr-defined]
    }
    road = sum(whole for place, (_, whole) in times.items() if place.endswith(_ROADS))
    return {
        feature: sum(own for place, (own, _) in times.items() if any(part in place for part in parts)) / road
        for feature, parts in FEATURES.items()
    }
