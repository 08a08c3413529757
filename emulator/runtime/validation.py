"""Validate a scenario before it is served (``emulator check``, ``/_emulator/check``): mistakes, warnings, notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from emulator.core.requests import Deployment
from emulator.scenario import codes
from emulator.scenario.codes import Severity
from emulator.scenario.conditions import When
from emulator.scenario.errors import Diagnostic, locate_diagnostic
from emulator.scenario.lint import find_unknown_endpoints, lint
from emulator.scenario.matchers import compile_names
from emulator.scenario.models import Limit, Scenario
from emulator.scenario.parsed import ParsedScenario, ScenarioError

if TYPE_CHECKING:
    from emulator.core.vendor import Vendors  # slow to import

Finding = tuple[Severity, Diagnostic]


def validate_scenario(
    load: Callable[[], ParsedScenario],
    vendors: Vendors,
    files: Sequence[str] = (),
    *,
    may_have_keys: Callable[[], bool] = lambda: False,
) -> list[Finding]:
    """Return the mistakes, warnings and notes of a scenario, in the order of ``files``.

    Items with a mistake get no warnings, nor do lines with a comment that ignores them.

    Args:
        load: loads the scenario, or raises :class:`ScenarioError`.
        vendors: known vendors, imported only where needed, as imports are slow.
        may_have_keys: asked of a scenario without keys, whether files beside it may bring some.
    """
    errors: list[Diagnostic] = []
    parts = _load_parts(load, errors)
    warnings: list[Diagnostic] = []
    for part in parts:
        catalogue, more = _list_known_models(part, vendors)
        errors += more
        wrong_sections = {_item(row)[1] for row in errors}
        whole = None if "deployments" in wrong_sections else catalogue
        knows_keys = "keys" not in wrong_sections and (part.scenario.keys is not None or not may_have_keys())
        some = [
            *lint(part, list(vendors), whole, knows_keys=knows_keys),
            *_find_unknown_endpoints(part, vendors),
        ]
        some += _find_ignored_tools(part, catalogue)
        warnings += (row for row in some if row.code not in part.ignored.get((row.file, row.line), ()))
    wrong = {_item(row) for row in errors}
    findings: list[Finding] = [("error", row) for row in errors]
    findings += ((row.severity, row) for row in warnings if _item(row) not in wrong)
    return sorted(findings, key=lambda found: locate_diagnostic(found[1], files))


def _load_parts(load: Callable[[], ParsedScenario], errors: list[Diagnostic]) -> list[ParsedScenario]:
    """Return the scenario, or what can be read of one with mistakes; the mistakes are added to ``errors``."""
    try:
        return [load()]
    except ScenarioError as error:
        errors += error.rows
        return list(error.parts)


def has_keys(load: Callable[[], ParsedScenario]) -> bool:
    """Return whether a scenario has keys, also if it has mistakes."""
    errors: list[Diagnostic] = []
    parts = _load_parts(load, errors)
    return any(part.scenario.keys is not None for part in parts) or any(_item(row)[1] == "keys" for row in errors)


def _item(row: Diagnostic) -> tuple[str, str]:
    """Return the section or list item of a file that a diagnostic is about."""
    return row.file, "".join(re.findall(r"^(?:rules|limits)\[\d+\]|^\w+", row.path)[:1])


def _needs_vendors(scenario: Scenario) -> bool:
    """Return whether only vendors, which are slow to import, can validate part of the scenario."""
    about: list[When | Limit] = [*(rule.when for rule in scenario.rules), *scenario.limits]
    tokens = any(limit.unit in ("output_tokens", "tokens") for limit in scenario.limits)
    named = any(part.deployment is not None for part in about)
    named = named or any(outage.deployments is not None for outage in scenario.outages)
    named = named or any(rule.when.tools is not None for rule in scenario.rules)
    replies = [outcome.reply for rule in scenario.rules for outcome in (rule, *(rule.sequence or ()))]
    vectors = any(reply is not None and reply.embeddings is not None and not reply.pad for reply in replies)
    return bool(scenario.vendors or scenario.deployments) or tokens or named or vectors


def _list_known_models(loaded: ParsedScenario, vendors: Vendors) -> tuple[_Catalogue | None, Sequence[Diagnostic]]:
    """Return the models each vendor serves, and mistakes in vendor sections; ``None`` if no vendor is needed."""
    if not _needs_vendors(loaded.scenario):
        return None, ()
    from emulator.runtime.services import check_vendors

    try:
        served = check_vendors(loaded, vendors)
    except ScenarioError as error:
        return None, error.rows
    return _Catalogue(loaded.scenario, vendors, served), ()


class _Catalogue(Mapping[str, Mapping[str, Deployment]]):
    """Deployments by vendor; each vendor is imported on first use."""

    def __init__(self, scenario: Scenario, vendors: Vendors, served: Sequence[str]) -> None:
        self._scenario = scenario
        self._vendors = vendors
        self._served = served
        self._known: dict[str, Mapping[str, Deployment]] = {}

    def ignores_tools(self, name: str) -> bool:
        """Return whether a vendor reads no tools, in its profile."""
        from emulator.runtime.services import read_settings

        return read_settings(self._vendors[name], self._scenario).ignores_tools()

    def __getitem__(self, name: str) -> Mapping[str, Deployment]:
        from emulator.runtime.services import list_deployments, read_settings

        if name not in self._known:
            vendor = self._vendors[name]
            self._known[name] = list_deployments(vendor, read_settings(vendor, self._scenario), self._scenario)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._served)

    def __len__(self) -> int:
        return len(self._served)


def _find_ignored_tools(loaded: ParsedScenario, catalogue: _Catalogue | None) -> Iterator[Diagnostic]:
    """Yield warnings about rules for tools of vendors that read none in their profile."""
    for position, rule in enumerate(loaded.scenario.rules):
        if rule.when.tools is None or catalogue is None:
            continue
        about = [*filter(compile_names(rule.when.vendor or ("*",)), catalogue)]
        if about and all(map(catalogue.ignores_tools, about)):
            text = f"the rule is never reached: the profile of {' and '.join(about)} ignores tools"
            yield loaded.row(("rules", position, "when", "tools"), text, code=codes.NEVER_REACHED)


def _find_unknown_endpoints(loaded: ParsedScenario, vendors: Vendors) -> Iterator[Diagnostic]:
    if all(rule.when.endpoint is None for rule in loaded.scenario.rules):
        return
    routes = {name: [endpoint.path for endpoint in vendor.endpoints] for name, vendor in vendors.items()}
    yield from find_unknown_endpoints(loaded, routes)
