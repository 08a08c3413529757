"""Redact the credentials that a scenario lists under ``keys``, in every text that the emulator keeps or shows.

Such texts are journal records, logs, the names of rules and what the control API returns. ``core/redaction/`` redacts
all other credentials, which it finds by the name of their field or by their form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.core.json import JSON, dump_text
from emulator.core.redaction.credentials import CredentialDigest, mask
from emulator.scenario.models import Rule, Scenario

if TYPE_CHECKING:
    from emulator.scenario.matching import RuleResult

MIN_TOKEN_LENGTH = 6  # characters of a token that is redacted; a shorter one may be an ordinary word


class ListedCredentials:
    """Credentials of one scenario that are long enough to be redacted from texts.

    Args:
        listed: the credentials.
        show: returns the text that replaces one.
    """

    def __init__(self, listed: Iterable[str] = (), show: Callable[[str], str] = mask) -> None:
        shown = {token: show(token) for token in listed if len(token) >= MIN_TOKEN_LENGTH}
        shown |= {dump_text(token)[1:-1]: show(token) for token in shown}  # escaped as in JSON
        self._shown = shown
        self._found = _compile(shown)
        self._in_bytes = {token.encode("utf-8", "replace"): text.encode() for token, text in shown.items()}
        found = b"|".join(re.escape(token) for token in sorted(self._in_bytes, key=len, reverse=True))
        self._found_in_bytes = re.compile(found) if found else None

    def redact(self, text: str) -> str:
        """Return a text with each token masked."""
        return text if self._found is None else self._found.sub(lambda found: self._shown[found[0]], text)

    def redact_bytes(self, text: bytes) -> bytes:
        """Return a body with each token masked."""
        found = self._found_in_bytes
        return text if found is None else found.sub(lambda token: self._in_bytes[token[0]], text)

    def redact_value(self, value: JSON) -> JSON:
        """Return a JSON value with each token masked, in strings and names."""
        if self._found is None:
            return value
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, list):
            return [self.redact_value(item) for item in value]
        if isinstance(value, dict):
            return {self.redact(name): self.redact_value(item) for name, item in value.items()}
        return value

    def redact_result(self, verdict: RuleResult) -> RuleResult:
        """Return the result of a rule with each token masked."""
        if self._found is None or not verdict.failed:
            return verdict
        failed, detail, loggable = map(self.redact, (verdict.failed, verdict.detail, verdict.loggable))
        return replace(verdict, failed=failed, detail=detail, loggable=loggable)


def _compile(shown: Iterable[str]) -> re.Pattern[str] | None:
    """Compile the alternatives, longest first, as one may be the prefix of another."""
    found = "|".join(re.escape(token) for token in sorted(shown, key=len, reverse=True))
    return re.compile(found) if found else None


NO_TOKENS = ListedCredentials()


def list_credentials(scenario: Scenario, show: Callable[[str], str] = mask) -> ListedCredentials:
    """Return the credentials of a scenario, without those of which only a digest is known; ``show``: masks one."""
    listed = (key.token for key in scenario.keys or () if not isinstance(key.token, CredentialDigest))
    return ListedCredentials(listed, show)


def redact_names(scenario: Scenario) -> Scenario:
    """Return a scenario with tokens masked in its names, which appear in responses, logs and metrics.

    Names of rules stay unique.
    """
    tokens = list_credentials(scenario)
    rules, taken = [], {tokens.redact(rule.name) for rule in scenario.rules if tokens.redact(rule.name) == rule.name}
    for rule in scenario.rules:
        rules.append(_rename(rule, tokens.redact(rule.name), taken))
        taken.add(rules[-1].name)
    names = {"name": tokens.redact(scenario.name), "description": tokens.redact(scenario.description)}
    if names == {"name": scenario.name, "description": scenario.description} and (*rules,) == scenario.rules:
        return scenario
    return scenario.model_copy(update={**names, "rules": tuple(rules)})


def _rename(rule: Rule, name: str, taken: set[str]) -> Rule:
    if name == rule.name:
        return rule
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name} ({number})"
    return rule.model_copy(update={"name": unique})
