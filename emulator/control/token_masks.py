"""Mask the API keys of a scenario (``keys[].token``) for display, and restore them when it is sent back.

So the console can show and edit the active scenario without them; ``cluster/snapshot.py`` shows it masked, too.
"""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from emulator.core.json import JSON, Object, as_text
from emulator.core.redaction.credentials import CredentialDigest, mask, placeholder
from emulator.scenario.credentials import list_credentials
from emulator.scenario.models import Key
from emulator.scenario.parsed import ParsedScenario, ScenarioError

_MASKED = re.compile(r"…(?:[0-9a-f]{6})?$")  # the end of every masked token
_PLAIN = re.compile(r"[^\s\"'\\…]+")  # tokens that are written alike in every style of YAML


def mask_keys(document: JSON) -> JSON:
    """Return a scenario document with each token masked."""
    return _with_tokens(document, [mask(as_text(token)) for token in _list_tokens(document)])


def show_text(loaded: ParsedScenario) -> str:
    """Return the source text of a scenario with a placeholder for each token, wherever it occurs.

    A scenario without one source text, or with JSON on a single line, is returned as indented JSON.
    """
    text = loaded.text
    packed = text is not None and text.startswith("{") and "\n" not in text.strip()
    if text is not None and "\r" not in text and not packed:
        lines = text.split("\n")
        # From the end, so that the columns of other tokens on a line stay valid.
        positions = reversed(range(len(loaded.scenario.keys or ())))
        if all([_mask_in_place(lines, loaded, position) for position in positions]):
            return _redact_everywhere("\n".join(lines), loaded)
    shown = _with_tokens(loaded.data, [placeholder(key.token) for key in loaded.scenario.keys or ()])
    return "" if shown is None else _redact_everywhere(json.dumps(shown, ensure_ascii=False, indent=2) + "\n", loaded)


def _mask_in_place(lines: list[str], loaded: ParsedScenario, position: int) -> bool:
    """Mask one token in the source lines; return false if it is written differently, such as with escapes."""
    token = (loaded.scenario.keys or ())[position].token
    at = loaded.locations.values.get(("keys", position, "token"))
    if at is None or not 0 < at.line <= len(lines):
        return False
    line = lines[at.line - 1]
    start = at.column - 1 + (line[at.column - 1 : at.column] in ("'", '"'))
    for written in (placeholder(token), str(token), mask(token)):  # a text that was sent may hold a mask already
        if line.startswith(written, start):
            lines[at.line - 1] = line[:start] + placeholder(token) + line[start + len(written) :]
            return True
    return False


def _redact_everywhere(text: str, loaded: ParsedScenario) -> str:
    return list_credentials(loaded.scenario, placeholder).redact(text)


def resolve_text(text: bytes, before: ParsedScenario) -> bytes:
    """Replace the placeholders of the previous scenario's tokens in a text, wherever they stand."""
    for key in before.scenario.keys or ():
        if not isinstance(key.token, CredentialDigest) and _PLAIN.fullmatch(key.token):
            text = text.replace(placeholder(key.token).encode(), key.token.encode())
    return text


def restore_keys(loaded: ParsedScenario, before: ParsedScenario) -> ParsedScenario:
    """Replace masked tokens by those of the previous scenario with the same mask and principal, in order.

    Raises:
        ScenarioError: a masked token matches none or several of the previous ones.
    """
    keys = loaded.scenario.keys or ()
    if not any(_MASKED.search(key.token) for key in keys):
        return loaded
    known: dict[tuple[str, str], list[str]] = defaultdict(list)
    exact: dict[str, str] = {}
    for key in before.scenario.keys or ():
        known[mask(key.token), key.principal].append(key.token)
        exact[placeholder(key.token)] = key.token
    wanted = [(key.token, key.principal) for key in keys]
    whole: list[str] = []
    for position, key in enumerate(keys):
        same = known[wanted[position]]
        if key.token in exact or not _MASKED.search(key.token):
            whole.append(exact.get(key.token, key.token))
        elif len(same) == wanted.count(wanted[position]):
            whole.append(same[wanted[:position].count(wanted[position])])
        else:
            text = f"{key.token} is redacted and matches no single current key; enter the full token"
            raise ScenarioError([loaded.row(("keys", position, "token"), text)])
    return with_keys(loaded, keys, whole)


def with_keys(loaded: ParsedScenario, keys: Sequence[Key], tokens: Sequence[str]) -> ParsedScenario:
    """Return a scenario with the tokens of its keys replaced, in order."""
    changed = [key.model_copy(update={"token": token}) for key, token in zip(keys, tokens, strict=True)]
    scenario = loaded.scenario.model_copy(update={"keys": tuple(changed)})
    return replace(loaded, scenario=scenario, data=_with_tokens(loaded.data, tokens), original_digest=None)


def _list_tokens(document: JSON) -> list[JSON]:
    return [key.get("token") for key in _list_keys(document)]


def _with_tokens(document: JSON, tokens: Sequence[str]) -> JSON:
    if not isinstance(document, dict) or not tokens:
        return document
    keys = [{**key, "token": token} for key, token in zip(_list_keys(document), tokens, strict=True)]
    return {**document, "keys": keys}


def _list_keys(document: JSON) -> list[Object]:
    """Return the ``keys`` section of a valid document."""
    keys = document.get("keys") if isinstance(document, dict) else None
    return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
