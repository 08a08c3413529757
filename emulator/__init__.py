"""An offline stand-in for LLM-serving vendors: their wire, deterministic answers, faults on demand."""

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
    clock: str | Mapping[str, float] | None = None,
    strict: bool | None = None,
    log: str | Path | None = None,
    **keys: Value,
) -> EmulatorClient:
    """An emulator in this process, on a thread and on free ports, until it is closed.

    Args:
        scenario: files, YAML or mappings, joined; none: everything simply answers.
        seed, clock, strict, keys: of the scenario; they win over what it says.
        log: a file that gets a line for each call.

    Raises:
        ScenarioError: the scenario has mistakes.
    """
    from pathlib import Path

    from emulator.serve.in_process import (
        start_here,  # slow to import; whoever imports the package may only want its version
    )

    return start_here(
        scenario, {"seed": seed, "clock": clock, "strict": strict, **keys}, None if log is None else Path(log)
    )
