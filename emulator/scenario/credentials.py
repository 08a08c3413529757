"""The credentials that a scenario lists, cut wherever else they are said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.core.json import JSON, dump_text
from emulator.core.redaction.credentials import CredentialDigest, mask
from emulator.scenario.models import Rule, Scenario

if TYPE_CHECKING:
    from emulator.scenario.matching import RuleResult

TELLING = 6  # letters that are hardly anything but a token; a shorter one may be a word that means something else


class ListedCredentials:
    """Those of one scenario that are long enough to be known in a text."""

    def __init__(self, listed: Iterable[str] = ()) -> None:
        shown = {token: mask(token) for token in listed if len(token) >= TELLING}
        shown |= {dump_text(token)[1:-1]: mask(token) for token in shown}  # as JSON has it
        self._shown = shown
        self._found = _compile(shown)
        self._in_bytes = {token.encode("utf-8", "replace"): text.encode() for token, text in shown.items()}
        found = b"|".join(re.escape(token) for token in sorted(self._in_bytes, key=len, reverse=True))
        self._found_in_bytes = re.compile(found) if found else None

    def cut(self, text: str) -> str:
        """A text with each token cut."""
        return text if self._found is None else self._found.sub(lambda found: self._shown[found[0]], text)

    def cut_bytes(self, text: bytes) -> bytes:
        """The same of a body."""
        found = self._found_in_bytes
        return text if found is None else found.sub(lambda token: self._in_bytes[token[0]], text)

    def cut_value(self, value: JSON) -> JSON:
        """The same of every text and name in a document."""
        if self._found is None:
            return value
        if isinstance(value, str):
            return self.cut(value)
        if isinstance(value, list):
            return [self.cut_value(item) for item in value]
        if isinstance(value, dict):
            return {self.cut(name): self.cut_value(item) for name, item in value.items()}
        return value

    def cut_verdict(self, verdict: RuleResult) -> RuleResult:
        """The same of what a rule said."""
        if self._found is None or not verdict.failed:
            return verdict
        failed, detail, loggable = map(self.cut, (verdict.failed, verdict.detail, verdict.loggable))
        return replace(verdict, failed=failed, detail=detail, loggable=loggable)


def _compile(shown: Iterable[str]) -> re.Pattern[str] | None:
    """The longest first: one may begin as another."""
    found = "|".join(re.escape(token) for token in sorted(shown, key=len, reverse=True))
    return re.compile(found) if found else None


NO_TOKENS = ListedCredentials()


def list_credentials(scenario: Scenario) -> ListedCredentials:
    """Those of a scenario; of what another process sent only digests are known."""
    return ListedCredentials(key.token for key in scenario.keys or () if not isinstance(key.token, CredentialDigest))


def redact_name(scenario: Scenario) -> Scenario:
    """A scenario whose names hold no token: they are said in answers, logs and metrics. Each stays unique."""
    tokens = list_credentials(scenario)
    rules, taken = [], {tokens.cut(rule.name) for rule in scenario.rules if tokens.cut(rule.name) == rule.name}
    for rule in scenario.rules:
        rules.append(_rename(rule, tokens.cut(rule.name), taken))
        taken.add(rules[-1].name)
    names = {"name": tokens.cut(scenario.name), "description": tokens.cut(scenario.description)}
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
