"""What a facet found in a call beside what it wanted, in words."""

from __future__ import annotations

from pydantic import BaseModel

from emulator.core.json import JSON, dump_text
from emulator.scenario.conditions import Condition
from emulator.scenario.facets import ABSENT, Check, Facts
from emulator.scenario.redacted import redact_found, redact_wanted

_LOGGABLE = ("vendor", "deployment", "task", "endpoint", "principal", "session", "tools", "messages.last.role")
_LONGEST = 80  # characters of a value


def compare(check: Check, facts: Facts, *, loggable: bool = False) -> str:
    """Why a check fails; ``loggable``: without what prompt, headers, query and body say. No credential is whole."""
    if check.parts:
        return _compare_parts(check, facts, loggable=loggable)
    value = check.extract(facts)
    wanted = f"wanted {show(redact_wanted(check.name, check.wanted))}"
    if value is ABSENT:
        return f"the call has none, {wanted}"
    if loggable and check.name not in _LOGGABLE and not isinstance(value, bool | int | float):
        return wanted
    found = redact_found(check.name, value, facts)
    return f"is {'gone' if found is ABSENT else show(found)}, {wanted}"


def _compare_parts(check: Check, facts: Facts, *, loggable: bool) -> str:
    """Of ``any`` what each item lacks; of ``not`` that all of it holds."""
    if check.name == "not":
        (refused,) = check.parts
        return f"all of it holds: {', '.join(_name(inner) for inner in refused)}"
    lacking = [next(inner for inner in part if not inner.holds(inner.extract(facts))) for part in check.parts]
    return "; ".join(f"{inner.name} {compare(inner, facts, loggable=loggable)}" for inner in lacking)


def _name(check: Check) -> str:
    return check.name if check.parts else f"{check.name} {show(redact_wanted(check.name, check.wanted))}"


def show(value: Condition | JSON) -> str:
    """A value as JSON, not too long."""
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    text = dump_text(value[0] if isinstance(value, tuple) and len(value) == 1 else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
