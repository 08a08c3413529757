"""Reduce requests to a canonical form, in which those that differ only in ids, dates and the like are equal.

Replays find the recorded exchange of a new request by it, and ``emulator diff`` pairs the requests of two recordings.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from emulator.core.json import JSON, canonical_json, parse_json

PARTS = ("prompt", "model", "tools", "parameters")
"""Parts of a canonical request that may count."""

_MODEL = frozenset({"model", "model_id", "deployment", "engine"})
_TOOLS = frozenset({"tools", "functions", "tool_choice", "function_call", "toolConfig", "tool_config"})
_LISTS_OF_TOOLS = frozenset({"tools", "functions", "functionDeclarations", "function_declarations"})
# Members that change from call to call, or that do not change what is asked.
_IGNORED = frozenset(
    {
        "seed", "random_seed", "user", "safety_identifier", "prompt_cache_key", "metadata", "request_id", "id",
        "stream", "client_request_id", "session_id", "store", "service_tier", "stream_options", "user_id",
        "usage_context",
    }
)  # fmt: skip
_PROMPT = frozenset(
    {
        "messages", "prompt", "input", "inputs", "text_input", "system", "systemInstruction", "system_instruction",
        "instructions", "contents", "query", "documents", "texts", "suffix", "content", "instances", "dataframe_split",
        "images",
    }
)  # fmt: skip
_IDS = frozenset({"id", "tool_call_id", "call_id", "item_id", "tool_use_id", "response_id", "previous_response_id"})
_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_OF_MONTH = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_PATTERNS = (  # a later pattern sees the text without the earlier ones
    (re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b(?:call|chatcmpl|msg|resp|run|thread|toolu|req)[-_][A-Za-z0-9_-]{8,}"), "<id>"),
    # Names begin with these words, too; ids have one long run of letters and digits after them.
    (re.compile(r"\b(?:asst|batch|conv|fc|file|item|rs|vs|ws)[-_](?=[A-Za-z]*\d)[A-Za-z0-9]{16,}(?!_|-?\w)"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"), "<date>"),
    (re.compile(r"\b\d{8}T\d{6}(?:Z|[+-]\d{4})?"), "<date>"),
    (re.compile(r"\b(?:\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}/\d{1,2}/\d{1,2})\b"), "<date>"),
    (re.compile(r"\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日"), "<date>"),
    (re.compile(rf"\b{_DAY} {_MONTH} +\d{{1,2}} \d\d:\d\d:\d\d(?: [A-Z]{{3,4}})? \d{{4}}\b"), "<date>"),  # of ctime
    (re.compile(rf"\b\d{{1,2}}-{_MONTH}-\d{{4}}\b"), "<date>"),
    (re.compile(rf"\b(?:{_DAY},? )?(?:{_OF_MONTH} )?{_MONTH}(?: {_OF_MONTH},?)? \d{{4}}\b"), "<date>"),
    (re.compile(rf"\b{_DAY},? (?:{_OF_MONTH} {_MONTH}|{_MONTH} {_OF_MONTH})(?![\w:])"), "<date>"),
    (re.compile(r"\b\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?\b"), "<time>"),
    (re.compile(r"\b1[5-9]\d{8}(?:\.\d+|\d{3})?\b"), "<timestamp>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{24,}\b"), "<id>"),
)
_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class CanonicalRequest:
    """Request without what changes from call to call.

    Fields:
        operation: method and pattern of the path, with ``stream`` if the response shall be one.
        parts: canonical JSON by name of the part.
    """

    operation: str
    parts: Mapping[str, str]

    def key(self, counting: Sequence[str]) -> str:
        """Return a text that is the same for requests that are equal in the parts that count."""
        return "\n".join([self.operation, *(self.parts[name] for name in counting)])


def canonicalize(operation: str, model: str, body: bytes) -> CanonicalRequest:
    """Return the canonical form of a request.

    Args:
        model: named in the path; empty: in the body.
    """
    try:
        value = parse_json(body) if body else None
    except ValueError:
        value = body.decode("utf-8", "replace")
    members = value if isinstance(value, dict) else {"prompt": value} if value is not None else {}
    if members.get("stream") is True:
        operation += " stream"
    named = model or next((str(members[name]) for name in sorted(_MODEL & members.keys())), "")
    others = members.keys() - _MODEL - _TOOLS - _PROMPT - _IGNORED
    return CanonicalRequest(
        operation,
        {
            "prompt": _canonical({name: _unwrap(name, members[name]) for name in _PROMPT & members.keys()}),
            "model": named,
            "tools": _canonical({name: members[name] for name in _TOOLS & members.keys()}),
            "parameters": _canonical({name: members[name] for name in others}),
        },
    )


def _unwrap(name: str, value: JSON) -> JSON:
    """Return the text of a list of one; clients differ in how they send a single input."""
    is_one = name == "input" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
    return value[0] if is_one and isinstance(value, list) else value


def _canonical(value: JSON) -> str:
    return canonical_json(_simplify(value)).decode()


def simplify_text(text: str) -> str:
    """Replace ids, dates and times in a text."""
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text


def _simplify(value: JSON) -> JSON:
    """Leave out ids and dates, and sort tools."""
    if isinstance(value, str):
        return simplify_text(value)
    if isinstance(value, list):
        items = [_simplify(item) for item in value]
        return _sort(items) if _are_tools(value) else items
    if isinstance(value, dict):
        return {
            name: _sort([_simplify(each) for each in item])
            if name in _LISTS_OF_TOOLS and isinstance(item, list)
            else _simplify(item)
            for name, item in value.items()
            if name not in _IDS and item is not None
        }
    return value


def _sort(items: list[JSON]) -> list[JSON]:
    return sorted(items, key=canonical_json)


def _are_tools(items: Iterable[JSON]) -> bool:
    """Return whether a list has calls or definitions of functions, whose order does not matter."""
    return all(
        isinstance(item, dict) and ("function" in item or {"name", "parameters"} <= item.keys()) for item in items
    )


def describe_miss(
    missed: CanonicalRequest, recorded: Iterable[tuple[str, CanonicalRequest]], counting: Sequence[str]
) -> str:
    """Describe the recorded request that is nearest to one that was not found, and what differs.

    ``recorded``: file and request of each exchange.
    """
    candidates = list(recorded)
    if not candidates:
        return "Nothing is recorded of this vendor."
    same = [(file, other) for file, other in candidates if other.operation == missed.operation]
    if not same:
        there = sorted({other.operation for _, other in candidates})
        return f"No call of `{missed.operation}` is recorded; there are {', '.join(there[:8])}."
    file, nearest = max(same, key=lambda item: _likeness(missed, item[1], counting))
    return f"The nearest recorded call is {file}: " + "; ".join(_differences(missed, nearest, counting)) + "."


def _likeness(missed: CanonicalRequest, other: CanonicalRequest, counting: Sequence[str]) -> float:
    return sum(_compare(missed.parts[name], other.parts[name]) for name in counting)


def _compare(one: str, other: str) -> float:
    return 1.0 if one == other else 0.9 * SequenceMatcher(None, one[:2000], other[:2000], autojunk=False).quick_ratio()


def _differences(missed: CanonicalRequest, other: CanonicalRequest, counting: Sequence[str]) -> Iterable[str]:
    for name in counting:
        mine, theirs = missed.parts[name], other.parts[name]
        if mine == theirs:
            yield f"{name} ✓"
        else:
            start = next((at for at, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), 0)
            start = max(0, min(start, len(mine), len(theirs)) - 20)
            yield f"{name} ✗ {_cut(mine, start)} here, {_cut(theirs, start)} recorded"


def _cut(text: str, start: int) -> str:
    part = text[start : start + _SHOWN]
    return f"{'…' if start else ''}{part}{'…' if start + _SHOWN < len(text) else ''}" or "nothing"
