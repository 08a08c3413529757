"""Codes of diagnostics (``EM012``) with their severities, and comments that hide one: ``# emulator: ignore EM012``.

Every mistake, warning and note has one; docs/scenarios.md lists them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

Severity = Literal["error", "warning", "note"]

UNREADABLE = "EM001"
UNKNOWN_KEY = "EM002"
MISSING_KEY = "EM003"
WRONG_VALUE = "EM004"
TAKEN = "EM005"
NEVER_REACHED = "EM010"
LIMIT_NEVER_REACHED = "EM011"
UNSERVED = "EM012"
NEVER_MET = "EM013"
PROBABILITY = "EM014"
NO_SUCH_REPLY = "EM015"
PLACEHOLDER = "EM016"
IDLE_FAULT = "EM017"
ONE_CALLER = "EM018"
IGNORED = "EM019"
ORDER = "EM030"

CODES: Mapping[str, str] = {
    UNREADABLE: "the file cannot be read, or is not YAML",
    UNKNOWN_KEY: "unknown key",
    MISSING_KEY: "missing key",
    WRONG_VALUE: "wrong value",
    TAKEN: "a name or value is set twice",
    NEVER_REACHED: "a rule or an outage never matches",
    LIMIT_NEVER_REACHED: "a limit is never reached",
    UNSERVED: "no vendor serves the deployment or endpoint",
    NEVER_MET: "a limit refuses every call without `max_tokens`",
    PROBABILITY: "a probability is not between 0 and 1",
    NO_SUCH_REPLY: "the task of the rule has no such reply",
    PLACEHOLDER: "a placeholder is sent as it is",
    IDLE_FAULT: "a fault has no effect",
    ONE_CALLER: "callers are counted apart, but `keys` do not tell them apart",
    IGNORED: "a comment ignores a code that does not exist, or an error",
    ORDER: "the result depends on the order of requests",
}
"""Meaning of each code. Up to ``EM009`` errors, up to ``EM029`` warnings, then notes, which no check fails on."""

Ignored = Mapping[tuple[str, int], frozenset[str]]
"""Codes to hide, by file and line."""

_COMMENT = re.compile(r"#\s*emulator:\s*ignore\b[ \t]*(.*?)\s*$")


def find_severity(code: str) -> Severity:
    return "error" if code < "EM010" else "warning" if code < "EM030" else "note"


def read_ignored(text: str, file: str) -> Iterator[tuple[tuple[str, int], frozenset[str]]]:
    """Yield the position and the codes of each comment ``# emulator: ignore EM012, EM030``."""
    if "emulator:" not in text:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if (found := _COMMENT.search(line)) is not None:
            yield (file, number), frozenset(filter(None, re.split(r"[,\s]+", found[1])))
