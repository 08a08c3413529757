"""Match fields: the attributes of a request a rule can see, and the tests compiled from its conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache, reduce
from typing import Final

from emulator.core.json import JSON
from emulator.core.requests import ChatRequest, CompletionRequest, EmbeddingRequest, InferenceRequest
from emulator.core.text import read_whole
from emulator.scenario.conditions import Bounds, Comparison, Condition, When
from emulator.scenario.locations import KeyPath, look_up
from emulator.scenario.regex import compile_regex

Test = Callable[[JSON], bool]
Equality = Callable[[str], Test]


def is_exactly(text: str) -> Test:
    """Equal to a text, as fast as can be."""
    return text.__eq__


def is_credential(text: str) -> Test:
    """Equal to a text; a credential of which only the beginning is kept has its own say."""
    return lambda value: value == text


def compile_condition(condition: Condition, equal: Equality = is_exactly) -> Test:
    """The type of a condition says how it is compared; ``equal``: how a text is found to be another."""
    match condition:
        case tuple():
            return compile_names(condition)
        case bool():
            return lambda flag: flag is condition
        case int() | float() | Bounds():
            return compile_number(condition)
        case str() | Comparison():
            return compile_text(condition, equal=equal)


def compile_names(names: tuple[str, ...]) -> Test:
    """Any of the names; ``*`` stands for any text."""
    if len(names) == 1 and "*" not in names[0]:
        return names[0].__eq__
    globs = [name.split("*") for name in names]
    return lambda name: isinstance(name, str) and any(_fits(glob, name) for glob in globs)


def _fits(glob: Sequence[str], name: str) -> bool:
    """Whether the parts of a name come one after another, each as early as it may."""
    first, *between = glob
    if not between:
        return name == first
    last = between.pop()
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for part in between:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def compile_text(condition: str | Comparison, *, fold: bool = False, equal: Equality = is_exactly) -> Test:
    """Equality, or a comparison; of strings alone. ``fold``: upper and lower case are the same."""
    if isinstance(condition, str):
        return _folded(condition.casefold().__eq__) if fold else equal(condition)
    return reduce(_both, _compile_comparison(condition, fold or condition.ignore_case, equal))


def count_steps(condition: Condition | JSON) -> int:
    """What it takes at worst to search one character for all expressions in it."""
    if not isinstance(condition, Comparison):
        return 0
    own = 0 if condition.regex is None else compile_regex(condition.regex, condition.ignore_case).steps
    return own + count_steps(condition.not_)


def _both(left: Test, right: Test) -> Test:
    return lambda value: left(value) and right(value)


def _folded(test: Test) -> Test:
    """The test, of a text in lower case."""
    return lambda value: isinstance(value, str) and test(value.casefold())


def _compile_comparison(condition: Comparison, fold: bool, equal: Equality) -> Iterator[Test]:
    contains, prefix, suffix = (
        part.casefold() if fold and part is not None else part
        for part in (condition.contains, condition.prefix, condition.suffix)
    )
    of_text = _folded if fold else _plain
    if prefix is not None:
        yield of_text(lambda text: isinstance(text, str) and text.startswith(prefix))
    if suffix is not None:
        yield of_text(lambda text: isinstance(text, str) and text.endswith(suffix))
    if contains is not None:
        yield of_text(lambda text: isinstance(text, str) and contains in text)
    if condition.regex is not None:
        found = compile_regex(condition.regex, fold)
        yield lambda text: isinstance(text, str) and found(text)
    if condition.not_ is not None:
        refused = compile_text(condition.not_, fold=fold, equal=equal)
        yield lambda text: not refused(text)


def _plain(test: Test) -> Test:
    return test


def compile_number(condition: float | Bounds) -> Test:
    """Equality, or bounds that are left out."""
    if not isinstance(condition, Bounds):
        return lambda number: number == condition
    above = float("-inf") if condition.above is None else condition.above
    below = float("inf") if condition.below is None else condition.below
    return lambda number: isinstance(number, (int, float)) and above < number < below


def compile_value(condition: JSON | Comparison) -> Test:
    """A comparison, or equality with any JSON value."""
    if isinstance(condition, Comparison):
        test, otherwise = compile_text(condition), _holds_without_text(condition)
        return lambda value: test(value) if isinstance(value, str) else otherwise
    return lambda value: same_json(value, condition)


def _holds_without_text(condition: str | Comparison) -> bool:
    """Whether a comparison holds of what is no string: it contains and matches nothing, and is no string's equal."""
    if isinstance(condition, str) or condition.model_fields_set - {"ignore_case"} != {"not_"}:
        return False
    return condition.not_ is not None and not _holds_without_text(condition.not_)


def same_json(left: JSON, right: JSON) -> bool:
    """Equal as JSON values: 1 is 1.0 and is not true, and key order means nothing."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


_CUT = ("header.", "query.")  # facets whose values may be kept in part
_MOST_NAMES = 1024  # of headers, parameters and paths that rules look at


def _no_body() -> JSON:
    raise ValueError("no body")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestAttributes:
    """One call as the rules see it; the empty string stands for what it does not have.

    Fields:
        endpoint: path on the vendor's own port.
        ask: ``None`` for catalogue and health routes, and for calls the vendor rejects.
        prompt_tokens: of the whole call.
        headers: names in lower case.
        body: gives the parsed body; raises ``ValueError`` if it is not JSON.
        fingerprint: of the request, without principal's session or attempt.
        attempt: how many equal requests the session made before.
        since_start: scenario seconds since start or reset.
    """

    vendor: str
    endpoint: str = ""
    deployment: str = ""
    task: str = ""
    principal: str = ""
    session: str = ""
    stream: bool = False
    ask: InferenceRequest | None = None
    prompt_tokens: int = 0
    body_bytes: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Callable[[], JSON] = _no_body
    fingerprint: bytes = b""
    attempt: int = 0
    since_start: float = 0.0


class Absent(Enum):
    """The call has no such thing; no condition holds."""

    ABSENT = auto()


ABSENT: Final = Absent.ABSENT

Extract = Callable[[RequestAttributes], JSON | Absent]


@dataclass(frozen=True, slots=True)
class Matcher:
    """One facet of one rule: its name as the author wrote it, its value, what must hold of that or of any of it.

    Fields:
        parts: of ``any`` each of its items, of ``not`` the one; their value is whether they hold.
    """

    name: str
    extract: Extract
    test: Test
    wanted: Condition | JSON
    parts: tuple[tuple[Matcher, ...], ...] = ()

    def holds(self, value: JSON | Absent) -> bool:
        """The call has such a thing and the test holds; of several values one will do."""
        if isinstance(value, tuple):
            return any(map(self.test, value))
        return value is not ABSENT and self.test(value)


def _extract_prompt(facts: RequestAttributes) -> JSON | Absent:
    match facts.ask:
        case None:
            return ABSENT
        case ChatRequest(prompt=prompt):
            return ABSENT if prompt is None else prompt
        case CompletionRequest(prompts=inputs) | EmbeddingRequest(inputs=inputs):
            return tuple(text for text in inputs if isinstance(text, str)) or ABSENT


def _extract_system(facts: RequestAttributes) -> JSON | Absent:
    system = facts.ask.system if isinstance(facts.ask, ChatRequest) else None
    return ABSENT if system is None else system


def _extract_tool_result(facts: RequestAttributes) -> JSON | Absent:
    result = facts.ask.tool_result if isinstance(facts.ask, ChatRequest) else None
    return ABSENT if result is None else result


def _extract_tools(facts: RequestAttributes) -> JSON | Absent:
    return tuple(tool.name for tool in facts.ask.tools) or ABSENT if isinstance(facts.ask, ChatRequest) else ABSENT


def _extract_messages(facts: RequestAttributes) -> JSON | Absent:
    return len(facts.ask.messages) if isinstance(facts.ask, ChatRequest) else ABSENT


def _extract_last_role(facts: RequestAttributes) -> JSON | Absent:
    return facts.ask.messages[-1].role if isinstance(facts.ask, ChatRequest) and facts.ask.messages else ABSENT


def _extract_max_tokens(facts: RequestAttributes) -> JSON | Absent:
    most = facts.ask.sampling.max_tokens if isinstance(facts.ask, ChatRequest | CompletionRequest) else None
    return ABSENT if most is None else most


def _extract_multimodal(facts: RequestAttributes) -> JSON | Absent:
    match facts.ask:
        case None:
            return ABSENT
        case ChatRequest(messages=messages):
            return any(message.media for message in messages)
        case CompletionRequest(media=media):
            return media > 0
        case EmbeddingRequest():
            return False


def _extract_structured(facts: RequestAttributes) -> JSON | Absent:
    match facts.ask:
        case None:
            return ABSENT
        case ChatRequest(format=form):
            return form != "text"
        case CompletionRequest(schema=schema, bare=bare):
            return schema is not None and not bare
        case EmbeddingRequest():
            return False


def _extract_stream(facts: RequestAttributes) -> JSON | Absent:
    return facts.stream if facts.stream or facts.ask is not None else ABSENT


def _extract_prompt_tokens(facts: RequestAttributes) -> JSON | Absent:
    return ABSENT if facts.ask is None else facts.prompt_tokens


@lru_cache(maxsize=_MOST_NAMES)
def _extract_header(name: str) -> Extract:
    lower = name.lower()
    return lambda facts: facts.headers.get(lower, ABSENT)


@lru_cache(maxsize=_MOST_NAMES)
def _extract_query(name: str) -> Extract:
    return lambda facts: facts.query.get(name, ABSENT)


def split_path(written: str) -> KeyPath:
    """``tools[0].name`` → ``tools``, 0, ``name``."""
    steps = re.findall(r"\[\d+\]|[^.\[\]]+", written)
    return tuple(read_whole(step[1:-1]) if step[0] == "[" else step for step in steps)


@lru_cache(maxsize=_MOST_NAMES)
def _extract_body(written: str) -> Extract:
    path = split_path(written)

    def extract(facts: RequestAttributes) -> JSON | Absent:
        try:
            return look_up(facts.body(), path)
        except (ValueError, LookupError):
            return ABSENT

    return extract


MATCH_FIELDS: Mapping[str, Extract] = {  # cheapest first: so they are checked
    "vendor": lambda facts: facts.vendor or ABSENT,
    "deployment": lambda facts: facts.deployment or ABSENT,
    "task": lambda facts: facts.task or ABSENT,
    "endpoint": lambda facts: facts.endpoint or ABSENT,
    "principal": lambda facts: facts.principal or ABSENT,
    "session": lambda facts: facts.session or ABSENT,
    "stream": _extract_stream,
    "body_bytes": lambda facts: facts.body_bytes,
    "prompt_tokens": _extract_prompt_tokens,
    "max_tokens": _extract_max_tokens,
    "messages": _extract_messages,
    "messages.last.role": _extract_last_role,
    "structured": _extract_structured,
    "multimodal": _extract_multimodal,
    "tools": _extract_tools,
    "prompt": _extract_prompt,
    "system": _extract_system,
    "tool_result": _extract_tool_result,
}


NAMED: Mapping[str, Callable[[str], Extract]] = {
    "header": _extract_header,
    "query": _extract_query,
    "body": _extract_body,
}


def compile_when(when: When) -> tuple[Matcher, ...]:
    """One check for each facet the author named, cheapest first; ``any`` and ``not`` are one each, and come last."""
    conditions = when.conditions
    extracts = {name: extract for name, extract in MATCH_FIELDS.items() if name in conditions}
    extracts |= {f"header.{name}": _extract_header(name) for name in when.header}
    extracts |= {f"query.{name}": _extract_query(name) for name in when.query}
    return (
        *(
            Matcher(name, extract, _compile_named(name, conditions[name]), conditions[name])
            for name, extract in extracts.items()
        ),
        *(
            Matcher(f"body.{path}", _extract_body(path), compile_value(value), value)
            for path, value in when.body.items()
        ),
        *_compile_groups(when),
    )


def count_searches(checks: Iterable[Matcher]) -> int:
    """What it takes at worst to search one character for all expressions."""
    return sum(count_steps(check.wanted) + sum(map(count_searches, check.parts)) for check in checks)


def _compile_named(name: str, condition: Condition) -> Test:
    return compile_condition(condition, is_credential if name.startswith(_CUT) else is_exactly)


def _compile_groups(when: When) -> Iterator[Matcher]:
    if when.any is not None:
        parts = tuple(compile_when(part) for part in when.any)
        yield Matcher("any", lambda facts: any(all_match(part, facts) for part in parts), _is_true, None, parts)
    if when.not_ is not None:
        refused = compile_when(when.not_)
        yield Matcher("not", lambda facts: not all_match(refused, facts), _is_true, None, (refused,))


def all_match(checks: Iterable[Matcher], facts: RequestAttributes) -> bool:
    """All of them hold."""
    return all(check.holds(check.extract(facts)) for check in checks)


def _is_true(value: JSON) -> bool:
    return value is True
