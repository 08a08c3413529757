"""``emulator models``: list a vendor's deployments, with those that a scenario adds."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from emulator.cli.files import require_readable
from emulator.core.json import dump_json
from emulator.core.requests import Deployment
from emulator.core.text import escape
from emulator.runtime.services import adding_vendor_mistakes, check_vendors, list_deployments, read_settings
from emulator.scenario.load import load_paths
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.settings import Settings, SettingsError
from emulator.vendors import VENDORS

_HEAD = ("NAME", "TASK", "CONTEXT", "STATE")


def list_models(name: str, settings: Settings, *, as_json: bool) -> int:
    """Print a vendor's deployments with those of a scenario; return 1 if the scenario has mistakes."""
    require_readable(settings.paths)
    try:
        with adding_vendor_mistakes(VENDORS):
            loaded, _ = load_paths(settings.paths, settings.scenario)
        deployments = _list(name, loaded)
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 1
    if as_json:
        print(dump_json([asdict(deployment) for deployment in deployments]).decode())
    else:
        print("\n".join(_align([_HEAD, *map(_row, deployments)])))
    return 0


def _list(name: str, loaded: ParsedScenario) -> Sequence[Deployment]:
    if name not in check_vendors(loaded, VENDORS):
        raise SettingsError(f"{name!r} is not served by this scenario")
    vendor = VENDORS[name]
    return list(list_deployments(vendor, read_settings(vendor, loaded.scenario), loaded.scenario).values())


def _row(deployment: Deployment) -> tuple[str, ...]:
    context = "-" if deployment.context is None else str(deployment.context)
    return escape(deployment.name), deployment.task, context, deployment.state


def _align(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
