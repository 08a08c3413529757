"""Choose which tools a generated chat response calls, and write their arguments from prompt and schema.

``segments.py`` puts the calls into the answer.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, parse_json
from emulator.core.requests import ChatRequest, Tool
from emulator.core.rng import derive_key, draw_integer
from emulator.generation.json_schema import Mode, generate, is_instance

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
_QUOTED_ARGUMENTS = re.compile(r"""(?:["“„「]|(?<!\w)')(.{1,200}?)(?:["”“」]|'(?!\w))""")
_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s\"'<>()]+[^\s\"'<>().,;:!?]")

_MAX_TEXT = 200
# Limits of the search, so that no prompt or schema delays others: about 10 ms in all.
_PROMPT = 16_384  # characters
_MAX_MEMBERS = 250  # of an enumeration
_MAX_NUMBERS = 500


@fast_dataclass(frozen=True, slots=True)
class Kind:
    """Kind of parameter, recognised by a word of its name, with a function that finds its values in a prompt."""

    words: frozenset[str]
    find: Callable[[str], list[str]]


def listed_values(parameters: JSON, prompt: str) -> dict[str, list[JSON]]:
    """Return the values of the prompt that fit each parameter of a tool, in order; parameters without one are omitted.

    Numbers go to the numeric parameters one after another. Whether a value is valid is not looked at.
    """
    found: dict[str, list[JSON]] = {}
    prompt = prompt[:_PROMPT]
    find = cache(lambda kind: kind.find(prompt))  # once for each kind, not for each parameter
    numbers = [float(n[0]) if "." in n[0] else int(n[0]) for n in islice(_NUMBER.finditer(prompt), _MAX_NUMBERS)]
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
    """Return a tool's parameters by name; an unvalidated schema without any gives an empty object."""
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
        texts = [member for member in members[:_MAX_MEMBERS] if isinstance(member, str) and member]
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
    """Return a function that finds capitalised names after words such as *in* and *for*."""

    def find(prompt: str) -> list[str]:
        found = [name for match in _AFTER[which].finditer(prompt) for name in _BETWEEN.split(match[1])]
        if not found and which == "any":
            found = _CHINESE_PLACE.findall(prompt)[:1]
        return list(dict.fromkeys(_BEFORE.sub("", name).rstrip(".-") for name in found))

    return find


def _all(pattern: re.Pattern[str]) -> Callable[[str], list[str]]:
    return lambda prompt: list(dict.fromkeys(pattern.findall(prompt)))


def _phrase(prompt: str) -> list[str]:
    """Return the quoted texts of a prompt, or else the whole prompt."""
    quoted = _QUOTED_ARGUMENTS.findall(prompt)
    return quoted[:1] or [prompt.strip()[:_MAX_TEXT]] * bool(prompt.strip())


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
    _kind("text title name message subject content body phrase", _all(_QUOTED_ARGUMENTS)),
)


_WORD = re.compile(r"[A-Z]+(?![a-zäöüß])|[A-ZÄÖÜ]?[a-zäöüß]+|[^\W\d_A-Za-zÄÖÜäöüß]+")
_STOP_WORDS = frozenset(
    """
    a about an and any are as at be by can call could current do does for from function get give given has have how i if
    in into is it its list made make may me my need of on one or our out please return returns run set should show some
    such tell than that the their them then there these they this to tool up use used user using value want was we what
    when where which who will with would you your
    """.split()  # noqa: SIM905  # a list of so many quoted words is unreadable
)
_IN_ENGLISH = {
    "天气": "weather", "气温": "temperature", "航班": "flight", "机票": "flight", "酒店": "hotel", "搜索": "search",
    "查询": "search", "查找": "search", "时间": "time", "日期": "date", "翻译": "translate", "计算": "calculate",
    "邮件": "email", "新闻": "news", "股票": "stock", "价格": "price", "餐厅": "restaurant", "预订": "book",
    "wetter": "weather", "flug": "flight", "flüge": "flight", "suche": "search", "uhrzeit": "time", "datum": "date",
    "übersetz": "translate", "berechne": "calculate", "nachricht": "news message", "aktie": "stock", "preis": "price",
    "buche": "book", "kalender": "calendar",
}  # fmt: skip
_MAX_CALLS = 4
_MAX_TRIALS = 100  # values of the prompt that are tried, each with all of the schema
_QUOTED = 200  # characters of a tool's result an answer repeats


def choose_tools(request: ChatRequest, key: bytes) -> tuple[Tool, ...]:
    """Return the tools that an answer calls, in order; a tool repeats if the prompt lists several values for it.

    With ``auto`` a tool is called when the prompt has a word in common with it, and none right after
    tool results; ``required`` falls back to a drawn tool.
    """
    if request.tool_choice == "none" or not request.tools:
        return ()
    prompt = request.prompt or ""
    if request.tool_name is not None:
        named = tuple(tool for tool in request.tools if tool.name == request.tool_name)
        return _repeated(named[:1], prompt) if request.parallel else named[:1]
    if request.tool_choice == "auto" and request.messages and request.messages[-1].role == "tool":
        return ()
    matching = _matching(request.tools, prompt)
    if not matching:
        if request.tool_choice != "required":
            return ()
        return (request.tools[draw_integer(key, len(request.tools), "tool")],)
    return _repeated(matching, prompt) if request.parallel else matching[:1]


def _matching(tools: tuple[Tool, ...], prompt: str) -> tuple[Tool, ...]:
    """Return the tools with the best score for a prompt."""
    asked = _stems(prompt)
    scored = [(_score(tool, asked), -position, tool) for position, tool in enumerate(tools)]
    found = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: entry[:2], reverse=True)
    return tuple(tool for score, _, tool in found if score * 2 > found[0][0])[:_MAX_CALLS]


def _score(tool: Tool, asked: frozenset[str]) -> int:
    """Return the number of common words; those of the name count three times, those of the description twice."""
    name = _stems(tool.name)
    described = _stems(tool.description) - name
    rest = frozenset(stem for word in _parameter_words(tool.parameters) for stem in _stems(word)) - name - described
    return 6 * len(asked & name) + 2 * len(asked & described) + len(asked & rest)


def _parameter_words(parameters: JSON) -> Iterator[str]:
    for name, schema in properties_of(parameters).items():
        yield name
        members = schema.get("enum") if isinstance(schema, dict) else None
        yield from (member for member in members if isinstance(member, str)) if isinstance(members, list) else ()


def _stems(text: str) -> frozenset[str]:
    lower = text.lower()
    known = [english for word, english in _IN_ENGLISH.items() if word in lower]
    words = (word.lower() for word in _WORD.findall(" ".join([text, *known])))
    return frozenset(_stem(word) for word in words if word not in _STOP_WORDS and (len(word) > 2 or not word.isascii()))


def _stem(word: str) -> str:
    """Return a crude stem of a word, equal for ``bookings`` and ``booked``."""
    for ending in ("ings", "ing", "ies", "ied", "es", "ed", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _repeated(tools: tuple[Tool, ...], prompt: str) -> tuple[Tool, ...]:
    """Repeat a single tool for each value that the prompt lists for it: "in Paris and Rome" calls it twice."""
    if len(tools) != 1:
        return tools
    times = max((len(values) for values in listed_values(tools[0].parameters, prompt).values()), default=1)
    return tools * min(max(times, 1), _MAX_CALLS)


def write_arguments(tool: Tool, prompt: str, key: bytes, turn: int = 0, mode: Mode = "typical") -> str:
    """Generate arguments as JSON text: an instance of the tool's schema, with values from the prompt where they fit.

    There is no apostrophe in them where the schema allows: clients are seen to turn ``'`` into ``"`` before they parse.

    Args:
        turn: index of the call among those of the same tool; each takes the next value that the prompt lists.
        mode: mode of generation; only in the typical one are values taken from the prompt.

    Raises:
        emulator.generation.json_schema.Unsatisfiable: no arguments satisfy the schema.
    """
    if not tool.parameters:
        return "{}" if mode != "invalid" else "[]"
    if mode != "typical" and not tool.bare:
        return _write(generate(tool.parameters, key, mode=mode))
    if tool.bare:
        return _write_text(tool.parameters, prompt, key)
    arguments = _generated(tool.parameters, key)
    if isinstance(arguments, dict):
        for name, values in islice(listed_values(tool.parameters, prompt).items(), _MAX_TRIALS):
            trial = {**arguments, name: values[min(turn, len(values) - 1)]}
            if is_instance(tool.parameters, trial):
                arguments = trial
    return _write(arguments)


def _write_text(schema: JSON, prompt: str, key: bytes) -> str:
    """Return the first valid one of: a quoted text of the prompt, the whole prompt, a generated text."""
    asked = listed_values({"properties": {"prompt": {"type": "string"}}}, prompt).get("prompt", [])
    text = next((value for value in asked if is_instance(schema, value)), None)
    return str(generate(schema, key) if text is None else text)


def _write(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def _generated(schema: JSON, key: bytes) -> JSON:
    """Generate an instance, without apostrophes if possible."""
    arguments = generate(schema, key)
    for attempt in range(4):
        text = _write(arguments)
        if "'" not in text:
            break
        plain: JSON = json.loads(text.replace("'", ""))
        if is_instance(schema, plain):
            return plain
        arguments = generate(schema, derive_key(key, "again", attempt))
    return arguments


_OPENINGS: Mapping[str, tuple[str, ...]] = {
    "en": ("The tool reports: {}.", "Here is what I found: {}.", "According to the result: {}."),
    "de": ("Das Werkzeug meldet: {}.", "Das habe ich gefunden: {}.", "Laut Ergebnis: {}."),
    "zh": ("工具返回：{}。", "查询结果：{}。", "根据结果：{}。"),
}


def answer_opening(request: ChatRequest, language: str = "en_US") -> str:
    """Return a sentence with the last tool's result, to precede the prose; empty without a result.

    Args:
        language: a locale such as ``de_DE``; English unless it is German or Chinese.
    """
    result = request.tool_result
    if result is None:
        return ""
    openings = _OPENINGS.get(language[:2], _OPENINGS["en"])
    text = _render_result(result).rstrip(".。 ")
    if not text:
        return ""
    return openings[draw_integer(derive_key("opening", result), len(openings))].format(text)


def _render_result(result: str) -> str:
    try:
        value = parse_json(result)
    except ValueError:
        value = result
    text = " ".join(_render_value(value).split())
    return text if len(text) <= _QUOTED else text[: _QUOTED - 1].rstrip() + "…"


def _render_value(value: JSON) -> str:
    """Format a value: ``key: value`` pairs for an object, the items of a list, otherwise its text."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_render_value(member)}" for name, member in value.items())
    if isinstance(value, list):
        return ", ".join(map(_render_value, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
