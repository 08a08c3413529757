"""What a rule can see of a call, and how each facet is compared.

A facet takes its value out of the facts of a call, or :data:`ABSENT` if the call has no such thing;
a condition is compiled once into a test of that value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from emulator.core.call import Ask, ChatAsk, CompletionAsk
from emulator.core.json import JSON
from emulator.scenario.conditions import Bounds, Comparison, When


def _no_body() -> JSON:
    raise ValueError("no body")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """One call as the rules see it; the empty string stands for what it does not have.

    Fields:
        endpoint: path on the vendor's own port.
        ask: ``None`` for catalogue and health routes, and for calls the vendor rejects.
        prompt_tokens: of the whole call.
        headers: names in lower case.
        body: gives the parsed body; raises ``ValueError`` if it is not JSON.
        identity: of the request, without principal's session or attempt.
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
    ask: Ask | None = None
    prompt_tokens: int = 0
    body_bytes: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Callable[[], JSON] = _no_body
    identity: bytes = b""
    attempt: int = 0
    since_start: float = 0.0


ABSENT: Final = object()
"""The call has no such thing; no condition holds."""

Extract = Callable[[Facts], JSON]
Test = Callable[[JSON], bool]


@dataclass(frozen=True, slots=True)
class Check:
    """One facet of one rule: its name as the author wrote it, its value, what must hold of that or of any of it."""

    name: str
    extract: Extract
    test: Test
    wanted: JSON

    def holds(self, value: JSON) -> bool:
        """The call has such a thing and the test holds; of several values one will do."""
        if isinstance(value, tuple):
            return any(map(self.test, value))
        return value is not ABSENT and self.test(value)


# Tests


def compile_names(names: tuple[str, ...]) -> Test:
    """Any of the names; ``*`` stands for any text."""
    if len(names) == 1 and "*" not in names[0]:
        return names[0].__eq__
    patterns = ("".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", n)) for n in names)
    matches = re.compile("|".join(patterns), re.DOTALL).fullmatch
    return lambda name: matches(name) is not None


def compile_text(condition: str | Comparison) -> Test:
    """Equality, or a comparison; of strings only."""
    if isinstance(condition, str):
        return condition.__eq__
    return reduce(_both, _compile_comparison(condition))


def _both(left: Test, right: Test) -> Test:
    return lambda value: left(value) and right(value)


def _compile_comparison(condition: Comparison) -> Iterator[Test]:
    contains, prefix, suffix = condition.contains, condition.prefix, condition.suffix
    if prefix is not None:
        yield lambda text: text.startswith(prefix)
    if suffix is not None:
        yield lambda text: text.endswith(suffix)
    if contains is not None:
        yield lambda text: contains in text
    if condition.regex is not None:
        search = re.compile(condition.regex).search
        yield lambda text: search(text) is not None
    if condition.not_ is not None:
        refused = compile_text(condition.not_)
        yield lambda text: not refused(text)


def compile_number(condition: float | Bounds) -> Test:
    if not isinstance(condition, Bounds):
        return lambda number: bool(number == condition)
    above = float("-inf") if condition.above is None else condition.above
    below = float("inf") if condition.below is None else condition.below
    return lambda number: above < number < below


def compile_flag(condition: bool) -> Test:
    return lambda flag: flag is condition


def compile_value(condition: JSON) -> Test:
    """A comparison, or equality with any JSON value."""
    if isinstance(condition, Comparison):
        test, otherwise = compile_text(condition), _holds_without_text(condition)
        return lambda value: test(value) if isinstance(value, str) else otherwise
    return lambda value: same_json(value, condition)


def _holds_without_text(condition: str | Comparison) -> bool:
    """Whether a comparison holds of what is no string: it contains and matches nothing, and is no string's equal."""
    if isinstance(condition, str) or condition.model_fields_set != {"not_"}:
        return False
    return condition.not_ is not None and not _holds_without_text(condition.not_)


def same_json(left: JSON, right: JSON) -> bool:
    """Equal as JSON values: 1 is 1.0 and is not true, and key order means nothing."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


# Values


def _extract_prompt(facts: Facts) -> JSON:
    ask = facts.ask
    if ask is None or isinstance(ask, ChatAsk):
        prompt = ask.prompt if ask else None
        return ABSENT if prompt is None else prompt
    inputs = ask.prompts if isinstance(ask, CompletionAsk) else ask.inputs
    return tuple(text for text in inputs if isinstance(text, str)) or ABSENT


def _of_ask(name: str) -> Extract:
    """An attribute of the ask; ``None`` is absent."""

    def extract(facts: Facts) -> JSON:
        value = getattr(facts.ask, name, None)
        return ABSENT if value is None else value

    return extract


def _extract_tools(facts: Facts) -> JSON:
    return tuple(tool.name for tool in getattr(facts.ask, "tools", ())) or ABSENT


def _extract_max_tokens(facts: Facts) -> JSON:
    sampling = getattr(facts.ask, "sampling", None)
    return ABSENT if sampling is None or sampling.max_tokens is None else sampling.max_tokens


def _extract_multimodal(facts: Facts) -> JSON:
    if facts.ask is None:
        return ABSENT
    if isinstance(facts.ask, ChatAsk):
        return any(message.media for message in facts.ask.messages)
    return getattr(facts.ask, "media", 0) > 0


def _extract_structured(facts: Facts) -> JSON:
    return ABSENT if facts.ask is None else getattr(facts.ask, "format", "text") != "text"


def _extract_stream(facts: Facts) -> JSON:
    return facts.stream if facts.stream or facts.ask is not None else ABSENT


def _extract_header(name: str) -> Extract:
    lower = name.lower()
    return lambda facts: facts.headers.get(lower, ABSENT)


def _extract_query(name: str) -> Extract:
    return lambda facts: facts.query.get(name, ABSENT)


def _extract_body(path: str) -> Extract:
    steps = [int(step[1:-1]) if step[0] == "[" else step for step in re.findall(r"\[\d+\]|[^.\[\]]+", path)]

    def extract(facts: Facts) -> JSON:
        try:
            value = facts.body()
            for step in steps:
                value = value[step]
        except (ValueError, LookupError, TypeError):
            return ABSENT
        return value

    return extract


@dataclass(frozen=True, slots=True)
class Facet:
    """How a facet is taken from a call and what its conditions mean."""

    extract: Extract
    compile: Callable[[JSON], Test]


FACETS: Mapping[str, Facet] = {  # cheapest first: so they are checked
    "vendor": Facet(lambda facts: facts.vendor or ABSENT, compile_names),
    "deployment": Facet(lambda facts: facts.deployment or ABSENT, compile_names),
    "task": Facet(lambda facts: facts.task or ABSENT, compile_names),
    "endpoint": Facet(lambda facts: facts.endpoint or ABSENT, compile_names),
    "principal": Facet(lambda facts: facts.principal or ABSENT, compile_names),
    "session": Facet(lambda facts: facts.session or ABSENT, compile_names),
    "stream": Facet(_extract_stream, compile_flag),
    "body_bytes": Facet(lambda facts: facts.body_bytes, compile_number),
    "prompt_tokens": Facet(lambda facts: ABSENT if facts.ask is None else facts.prompt_tokens, compile_number),
    "max_tokens": Facet(_extract_max_tokens, compile_number),
    "messages": Facet(
        lambda facts: len(facts.ask.messages) if isinstance(facts.ask, ChatAsk) else ABSENT, compile_number
    ),
    "structured": Facet(_extract_structured, compile_flag),
    "multimodal": Facet(_extract_multimodal, compile_flag),
    "tools": Facet(_extract_tools, compile_names),
    "prompt": Facet(_extract_prompt, compile_text),
    "system": Facet(_of_ask("system"), compile_text),
    "tool_result": Facet(_of_ask("tool_result"), compile_text),
}

NAMED_FACETS: Mapping[str, tuple[Callable[[str], Extract], Callable[[JSON], Test]]] = {
    "header": (_extract_header, compile_text),
    "query": (_extract_query, compile_text),
    "body": (_extract_body, compile_value),
}


def compile_when(when: When) -> tuple[Check, ...]:
    """One check for each facet the author named, cheapest first."""
    checks = []
    for name, facet in FACETS.items():
        wanted = getattr(when, name)
        if wanted is not None:
            checks.append(Check(name, facet.extract, facet.compile(wanted), wanted))
    for prefix, (extract, compile_condition) in NAMED_FACETS.items():
        for name, wanted in getattr(when, prefix).items():
            checks.append(Check(f"{prefix}.{name}", extract(name), compile_condition(wanted), wanted))
    return tuple(checks)
