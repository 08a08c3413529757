"""Which tools an answer calls, with what arguments, and how the answer speaks of their results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from emulator.core.call import ChatAsk, Tool
from emulator.core.json import JSON, parse_json
from emulator.core.seed import derive, draw_integer
from emulator.engine.arguments import listed_values, properties_of
from emulator.engine.json_schema import generate, is_instance

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
_MOST_CALLS = 4
_MOST_TRIALS = 100  # values of the prompt that are tried, each with all of the schema
_QUOTED = 200  # characters of a tool's result an answer repeats


def choose_tools(ask: ChatAsk, key: bytes) -> tuple[Tool, ...]:
    """The tools one answer calls, in order; the same tool twice if the prompt asks for two of its values.

    With ``auto`` a tool is called when the prompt has a word in common with it, and none right after
    tool results; ``required`` falls back to a drawn tool.
    """
    if ask.tool_choice == "none" or not ask.tools:
        return ()
    prompt = ask.prompt or ""
    if ask.tool_name is not None:
        named = tuple(tool for tool in ask.tools if tool.name == ask.tool_name)
        return _repeated(named[:1], prompt) if ask.parallel else named[:1]
    if ask.tool_choice == "auto" and ask.messages and ask.messages[-1].role == "tool":
        return ()
    matching = _matching(ask.tools, prompt)
    if not matching:
        return (ask.tools[draw_integer(key, len(ask.tools), "tool")],) if ask.tool_choice == "required" else ()
    return _repeated(matching, prompt) if ask.parallel else matching[:1]


def _matching(tools: tuple[Tool, ...], prompt: str) -> tuple[Tool, ...]:
    """Tools the prompt speaks of, the best first; of several only those it speaks of as clearly."""
    asked = _stems(prompt)
    scored = [(_score(tool, asked), -position, tool) for position, tool in enumerate(tools)]
    found = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: entry[:2], reverse=True)
    return tuple(tool for score, _, tool in found if score * 2 > found[0][0])[:_MOST_CALLS]


def _score(tool: Tool, asked: frozenset[str]) -> int:
    """Words in common; the name's count three times, the description's twice."""
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
    """A crude stem: enough for ``bookings`` to meet ``booked``."""
    for ending in ("ings", "ing", "ies", "ied", "es", "ed", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _repeated(tools: tuple[Tool, ...], prompt: str) -> tuple[Tool, ...]:
    """A single tool once for each value the prompt lists for it: "in Paris and Rome" asks twice."""
    if len(tools) != 1:
        return tools
    times = max((len(values) for values in listed_values(tools[0].parameters, prompt).values()), default=1)
    return tools * min(max(times, 1), _MOST_CALLS)


def write_arguments(tool: Tool, prompt: str, key: bytes, turn: int = 0) -> str:
    """Arguments as JSON text, an instance of the tool's schema, with the prompt's own values where they fit.

    There is no apostrophe in them where the schema allows: clients are seen to turn ``'`` into ``"`` before they parse.

    Args:
        turn: which call of the same tool, from 0; each takes the next of several values the prompt lists.

    Raises:
        emulator.engine.json_schema.Unsatisfiable: no arguments fit the schema.
    """
    if not tool.parameters:
        return "{}"
    if tool.bare:
        return _write_text(tool.parameters, prompt, key)
    arguments = _generated(tool.parameters, key)
    if isinstance(arguments, dict):
        for name, values in islice(listed_values(tool.parameters, prompt).items(), _MOST_TRIALS):
            trial = {**arguments, name: values[min(turn, len(values) - 1)]}
            if is_instance(tool.parameters, trial):
                arguments = trial
    return _write(arguments)


def _write_text(schema: JSON, prompt: str, key: bytes) -> str:
    """What the prompt quotes, or all of it, or a text of our own: the first of them that fits."""
    asked = listed_values({"properties": {"prompt": {"type": "string"}}}, prompt).get("prompt", [])
    text = next((value for value in asked if is_instance(schema, value)), None)
    return str(generate(schema, key) if text is None else text)


def _write(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def _generated(schema: JSON, key: bytes) -> JSON:
    """An instance without apostrophes if there is one."""
    arguments = generate(schema, key)
    for attempt in range(4):
        text = _write(arguments)
        if "'" not in text:
            break
        plain: JSON = json.loads(text.replace("'", ""))
        if is_instance(schema, plain):
            return plain
        arguments = generate(schema, derive(key, "again", attempt))
    return arguments


_OPENINGS: Mapping[str, tuple[str, ...]] = {
    "en": ("The tool reports: {}.", "Here is what I found: {}.", "According to the result: {}."),
    "de": ("Das Werkzeug meldet: {}.", "Das habe ich gefunden: {}.", "Laut Ergebnis: {}."),
    "zh": ("工具返回：{}。", "查询结果：{}。", "根据结果：{}。"),
}


def answer_opening(ask: ChatAsk, language: str = "en_US") -> str:
    """A sentence that uses the last tool's result, to stand before the prose; empty if there is no result.

    Args:
        language: a locale such as ``de_DE``; English unless it is German or Chinese.
    """
    result = ask.tool_result
    if result is None:
        return ""
    openings = _OPENINGS.get(language[:2], _OPENINGS["en"])
    said = _render_result(result).rstrip(".。 ")
    if not said:
        return ""
    return openings[draw_integer(derive("opening", result), len(openings))].format(said)


def _render_result(result: str) -> str:
    try:
        value = parse_json(result)
    except ValueError:
        value = result
    text = " ".join(_render_value(value).split())
    return text if len(text) <= _QUOTED else text[: _QUOTED - 1].rstrip() + "…"


def _render_value(value: JSON) -> str:
    """``key: value`` pairs for an object, the items for a list, else the text."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_render_value(member)}" for name, member in value.items())
    if isinstance(value, list):
        return ", ".join(map(_render_value, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
