"""The values a prompt offers for the parameters of a tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice

from emulator.core.json import JSON, Object

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME = r"[^\W\d_a-z][\w.\-]*(?: [^\W\d_a-z][\w\-]*)*"
_LIST = rf"{_NAME}(?:(?:, and |, | and | or | und )(?:in |for |to )?{_NAME})*"
_BETWEEN = re.compile(r", and |, | and | or | und ")
_BEFORE = re.compile(r"^(?:in|for|to) ")
_AFTER = {
    "any": re.compile(rf"\b(?:in|for|at|to|from|near|of|nach|für|von)\s+({_LIST})"),
    "from": re.compile(rf"\b(?:from|von|ab)\s+({_LIST})"),
    "to": re.compile(rf"\b(?:to|nach|bis)\s+({_LIST})"),
}
_CHINESE_PLACE = re.compile(
    r"(?:今天|明天|请问|查询|告诉我|在|去|到){0,8}([\u4e00-\u9fff]{2,4}?)市?(?:今天|明天|现在)?(?:的|天气)"
)
_NUMBER = re.compile(r"(?<![\w.:/-])-?\d{1,15}(?:\.\d{1,9})?(?![\w:/-]|\.\d)")
_QUOTED = re.compile(r"""(?:["“„「]|(?<!\w)')(.{1,200}?)(?:["”“」]|'(?!\w))""")
_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s\"'<>()]+[^\s\"'<>().,;:!?]")

_LONGEST = 200
# What is looked at, so that no prompt and no schema makes others wait: some 10 ms in all.
_PROMPT = 16_384  # characters
_MOST_MEMBERS = 250  # of an enumeration
_MOST_NUMBERS = 500


@dataclass(frozen=True, slots=True)
class Kind:
    """Parameters that take one kind of thing, told by a word of their name, and where a prompt has it."""

    words: frozenset[str]
    find: Callable[[str], list[str]]


def listed_values(parameters: JSON, prompt: str) -> dict[str, list[JSON]]:
    """For each parameter of a tool the values of the prompt that could be meant, in order; none are left out.

    Numbers go to the numeric parameters one after another. Whether a value is valid is not looked at.
    """
    found: dict[str, list[JSON]] = {}
    prompt = prompt[:_PROMPT]
    find = cache(lambda kind: kind.find(prompt))  # once of each kind, however many parameters want it
    numbers = [float(n[0]) if "." in n[0] else int(n[0]) for n in islice(_NUMBER.finditer(prompt), _MOST_NUMBERS)]
    for name, schema in properties_of(parameters).items():
        if not isinstance(schema, dict):
            continue
        values = _texts_for(name, schema, prompt, find)
        if not values and (number := _take_number(schema, numbers)) is not None:
            values = [number]
        if values:
            found[name] = values
    return found


def properties_of(parameters: JSON) -> Object:
    """A tool's parameters by name, as far as it says any: its schema has not been checked."""
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return properties if isinstance(properties, dict) else {}


def _types(schema: Object) -> list[JSON]:
    types = schema.get("type")
    return types if isinstance(types, list) else [types]


def _take_number(schema: Object, numbers: list[int | float]) -> int | float | None:
    types = _types(schema)
    for number in numbers:
        if "number" in types or ("integer" in types and isinstance(number, int)):
            numbers.remove(number)
            return number
    return None


def _texts_for(name: str, schema: Object, prompt: str, find: Callable[[Kind], list[str]]) -> list[JSON]:
    members = schema.get("enum")
    if isinstance(members, list):
        texts = [member for member in members[:_MOST_MEMBERS] if isinstance(member, str) and member]
        return [member for member in texts if _occurs(member, prompt)]
    if "string" not in _types(schema):
        return []
    words = {word.lower() for word in _WORDS.findall(name)} | {str(schema.get("format", ""))}
    for kind in _KINDS:
        if kind.words & words and (values := find(kind)):
            return [value.replace("'", "") for value in values]
    return []


def _occurs(member: str, prompt: str) -> bool:
    if not member.isascii():
        return member in prompt
    return re.search(rf"(?<!\w){re.escape(member)}(?!\w)", prompt, re.IGNORECASE) is not None


def _named_after(which: str) -> Callable[[str], list[str]]:
    """Capitalised names after words such as *in* and *for*."""

    def find(prompt: str) -> list[str]:
        found = [name for match in _AFTER[which].finditer(prompt) for name in _BETWEEN.split(match[1])]
        if not found and which == "any":
            found = _CHINESE_PLACE.findall(prompt)[:1]
        return list(dict.fromkeys(_BEFORE.sub("", name).rstrip(".-") for name in found))

    return find


def _all(pattern: re.Pattern[str]) -> Callable[[str], list[str]]:
    return lambda prompt: list(dict.fromkeys(pattern.findall(prompt)))


def _phrase(prompt: str) -> list[str]:
    """What is quoted, or else all of it."""
    quoted = _QUOTED.findall(prompt)
    return quoted[:1] or [prompt.strip()[:_LONGEST]] * bool(prompt.strip())


def _kind(words: str, find: Callable[[str], list[str]]) -> Kind:
    return Kind(frozenset(words.split()), find)


_KINDS: tuple[Kind, ...] = (
    _kind("origin departure source from", _named_after("from")),
    _kind("destination arrival to target", _named_after("to")),
    _kind("city cities location locations place town country region state address area", _named_after("any")),
    _kind("date day", _all(_DATE)),
    _kind("email mail recipient", _all(_EMAIL)),
    _kind("url uri link website", _all(_URL)),
    _kind("query question keyword keywords search topic prompt term", _phrase),
    _kind("text title name message subject content body phrase", _all(_QUOTED)),
)
