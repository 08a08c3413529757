"""Offline stand-in for LLM-serving vendors: their wire formats, deterministic responses, and faults on demand.

``start`` runs one in this process, for tests. The command line is in ``cli``, the clients of a running emulator are in
``client``, the pytest fixtures in ``pytest_plugin``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from emulator.client import EmulatorClient
    from emulator.client.scenario import Source, Value

__all__ = ["__version__", "start"]
__version__ = "0.1.0"


def start(
    *scenario: Source,
    seed: int | None = None,
    clock: str | Mapping[str, Value] | None = None,
    strict: bool | None = None,
    log: str | Path | None = None,
    forward: Mapping[str, str] | None = None,
    record_to: str | Path | None = None,
    **keys: Value,
) -> EmulatorClient:
    """Start an emulator in this process, on a thread and on free ports; it runs until it is closed.

    Args:
        scenario: files, YAML or mappings, joined; none: every request gets a plain response.
        seed, clock, strict, keys: scenario keys, which override the files.
        log: file for the access log.
        forward: base URL of a vendor's service, for scenarios with ``unmatched: forward`` or ``record``.
        record_to: folder for the calls that ``record`` forwards.

    Raises:
        ScenarioError: the scenario has mistakes.
    """
    from pathlib import Path

    from emulator.serve.in_process import Targets, start_here  # slow to import; the version alone must stay cheap

    paths = [None if path is None else Path(path) for path in (log, record_to)]
    targets = Targets(forward or {}, paths[1])
    return start_here(scenario, {"seed": seed, "clock": clock, "strict": strict, **keys}, paths[0], targets)
