"""What is right in a scenario that has mistakes, so that it can be looked at all the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from emulator.core.json import JSON, Object
from emulator.scenario.locations import KeyPath
from emulator.scenario.regex import Expressions
from emulator.scenario.schema import Scenario

# In the place of a rule or limit with a mistake, so that those after it keep their numbers; no call meets them.
_STAND_INS: Mapping[str, Object] = {
    "rules": {"name": "…", "times": {"probability": 0}, "pass": True},
    "limits": {"vendor": "…", "unit": "requests", "amount": 1, "window": "1s"},
}


def salvage(data: JSON, mistakes: Iterable[KeyPath], name: str) -> Scenario:
    """A scenario of every part without a mistake; a section with one in it is left out, or only the item with it."""
    kept: Object = {**data} if isinstance(data, dict) else {}
    for path in mistakes:
        _leave_out(kept, path)
    try:
        return Scenario.model_validate({"name": name, **kept, "version": 1}, context=Expressions())
    except ValidationError:
        return Scenario(version=1, name=name)


def _leave_out(kept: Object, path: KeyPath) -> None:
    match path:
        case (str(section), int(index), *_) if section in _STAND_INS and isinstance(items := kept.get(section), list):
            kept[section] = [*items[:index], _STAND_INS[section], *items[index + 1 :]]
        case ("vendors", str(vendor), *_) if isinstance(vendors := kept.get("vendors"), dict):
            kept["vendors"] = {key: value for key, value in vendors.items() if key != vendor}
        case (str(section), *_):
            kept.pop(section, None)
