"""The credentials of a scenario: shown cut, and whole again when what was shown comes back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from emulator.core.json import JSON, Object, as_text
from emulator.core.redaction.credentials import mask
from emulator.scenario.credentials import list_credentials
from emulator.scenario.models import Key
from emulator.scenario.parsed import ParsedScenario, ScenarioError

_CUT = mask("")  # how every token ends that is not whole


def mask_keys(document: JSON) -> JSON:
    """The document of a scenario with each token cut."""
    return _with_tokens(document, [mask(as_text(token)) for token in _list_tokens(document)])


def show_text(loaded: ParsedScenario) -> str:
    """The scenario as it was written, or as JSON, which is YAML too; each token is cut, also where else it is said.

    What a program wrote on one line is shown on several.
    """
    text = loaded.text
    packed = text is not None and text.startswith("{") and "\n" not in text.strip()
    if text is not None and "\r" not in text and not packed:
        lines = text.split("\n")
        positions = reversed(range(len(loaded.scenario.keys or ())))  # so that no place on a line moves
        if all([_cut_in_place(lines, loaded, position) for position in positions]):
            return _cut_everywhere("\n".join(lines), loaded)
    shown = mask_keys(loaded.data)
    return "" if shown is None else _cut_everywhere(json.dumps(shown, ensure_ascii=False, indent=2) + "\n", loaded)


def _cut_in_place(lines: list[str], loaded: ParsedScenario, position: int) -> bool:
    """Cut one token where it stands; false if what stands there is written in another way."""
    token = (loaded.scenario.keys or ())[position].token
    at = loaded.locations.values.get(("keys", position, "token"))
    if at is None or not 0 < at.line <= len(lines):
        return False
    line = lines[at.line - 1]
    start = at.column - 1 + (line[at.column - 1 : at.column] in ("'", '"'))
    if not line.startswith(token, start):
        return line.startswith(mask(token), start)  # as it was shown before
    lines[at.line - 1] = line[:start] + mask(token) + line[start + len(token) :]
    return True


def _cut_everywhere(text: str, loaded: ParsedScenario) -> str:
    return list_credentials(loaded.scenario).cut(text)


def restore_keys(loaded: ParsedScenario, before: ParsedScenario) -> ParsedScenario:
    """A scenario in which tokens that are cut are those of the one before, of the same principals in the same order.

    Raises:
        ScenarioError: one is cut that cannot be told by what is left of it.
    """
    keys = loaded.scenario.keys or ()
    if not any(key.token.endswith(_CUT) for key in keys):
        return loaded
    known: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in before.scenario.keys or ():
        known[mask(key.token), key.principal].append(key.token)
    wanted = [(key.token, key.principal) for key in keys]
    whole: list[str] = []
    for position, key in enumerate(keys):
        same = known[wanted[position]]
        if not key.token.endswith(_CUT):
            whole.append(key.token)
        elif len(same) == wanted.count(wanted[position]):
            whole.append(same[wanted[:position].count(wanted[position])])
        else:
            text = f"{key.token} is cut; write it whole, as no single key at work is told by it"
            raise ScenarioError([loaded.row(("keys", position, "token"), text)])
    return with_keys(loaded, keys, whole)


def with_keys(loaded: ParsedScenario, keys: Sequence[Key], tokens: Sequence[str]) -> ParsedScenario:
    """A scenario with other credentials in the places of its own."""
    changed = [key.model_copy(update={"token": token}) for key, token in zip(keys, tokens, strict=True)]
    scenario = loaded.scenario.model_copy(update={"keys": tuple(changed)})
    return replace(loaded, scenario=scenario, data=_with_tokens(loaded.data, tokens), known_as=None)


def _list_tokens(document: JSON) -> list[JSON]:
    return [key.get("token") for key in _list_keys(document)]


def _with_tokens(document: JSON, tokens: Sequence[str]) -> JSON:
    if not isinstance(document, dict) or not tokens:
        return document
    keys = [{**key, "token": token} for key, token in zip(_list_keys(document), tokens, strict=True)]
    return {**document, "keys": keys}


def _list_keys(document: JSON) -> list[Object]:
    """Those of a scenario that was found to be right."""
    keys = document.get("keys") if isinstance(document, dict) else None
    return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
