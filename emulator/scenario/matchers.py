"""Compile the conditions of ``when`` to tests of a request's attributes, such as its prompt, headers and body.

``matching.py`` applies them, rule by rule.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request
from emulator.core.json import JSON
from emulator.core.requests import ChatRequest, CompletionRequest, EmbeddingRequest
from emulator.core.text import parse_integer
from emulator.scenario.conditions import Bounds, Comparison, Condition, When
from emulator.scenario.locations import KeyPath
from emulator.scenario.regex import compile_regex

if TYPE_CHECKING:
    from emulator.core.calls import InferenceCall
    from emulator.core.requests import InferenceRequest

Test = Callable[[JSON], bool]
Equality = Callable[[str], Test]


def is_exactly(text: str) -> Test:
    """Return a test of equality; the bound method is the fastest one."""
    return text.__eq__


def is_credential(text: str) -> Test:
    """Return a test by ``==``, which a redacted credential overrides."""
    return lambda value: value == text


def compile_condition(condition: Condition, equal: Equality = is_exactly) -> Test:
    """Compile a condition of any type; ``equal`` builds the test of a text for equality."""
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
    """Compile a test for any of the names; ``*`` stands for any text."""
    if len(names) == 1 and "*" not in names[0]:
        return names[0].__eq__
    globs = [name.split("*") for name in names]
    return lambda name: isinstance(name, str) and any(_fits(glob, name) for glob in globs)


def _fits(glob: Sequence[str], name: str) -> bool:
    """Match a glob, split at its stars, greedily from left to right."""
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
    """Compile a test of strings: equality or a comparison. ``fold``: ignore case."""
    if isinstance(condition, str):
        return _folded(condition.casefold().__eq__) if fold else equal(condition)
    return reduce(_both, _compile_comparison(condition, fold or condition.ignore_case, equal))


def count_steps(condition: Condition | JSON) -> int:
    """Return the worst-case steps per character of all regular expressions in a condition."""
    if not isinstance(condition, Comparison):
        return 0
    own = 0 if condition.regex is None else compile_regex(condition.regex, condition.ignore_case).steps
    return own + count_steps(condition.not_)


def find_search_limit(condition: Condition | JSON, value: object) -> int | None:
    """Return the characters in which an expression of a condition was searched; ``None``: to the end of the value."""
    if not isinstance(condition, Comparison):
        return None
    if condition.regex is None:
        return find_search_limit(condition.not_, value)
    most = compile_regex(condition.regex, condition.ignore_case).max_characters
    texts = value if isinstance(value, tuple) else (value,)
    return most if any(isinstance(text, str) and len(text) > most for text in texts) else None


def _both(left: Test, right: Test) -> Test:
    return lambda value: left(value) and right(value)


def _folded(test: Test) -> Test:
    """Wrap a test to ignore case; ``test`` has a casefolded text."""
    return lambda value: isinstance(value, str) and test(value.casefold())


def _compile_comparison(condition: Comparison, fold: bool, equal: Equality) -> Iterator[Test]:
    contains, prefix, suffix = (
        part.casefold() if fold and part is not None else part
        for part in (condition.contains, condition.prefix, condition.suffix)
    )
    of_text = _folded if fold else _unfolded
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


def _unfolded(test: Test) -> Test:
    return test


def compile_number(condition: float | Bounds) -> Test:
    """Compile a test of numbers: equality, or bounds, which are exclusive."""
    if not isinstance(condition, Bounds):
        return lambda number: number == condition
    above = float("-inf") if condition.above is None else condition.above
    below = float("inf") if condition.below is None else condition.below
    return lambda number: isinstance(number, (int, float)) and above < number < below


def compile_value(condition: JSON | Comparison) -> Test:
    """Compile a test of a body value: a comparison, or equality with any JSON value."""
    if isinstance(condition, Comparison):
        test, otherwise = compile_text(condition), _holds_without_text(condition)
        return lambda value: test(value) if isinstance(value, str) else otherwise
    return lambda value: same_json(value, condition)


def _holds_without_text(condition: str | Comparison) -> bool:
    """Return whether a comparison holds for a value that is no string, which only ``not`` can."""
    if isinstance(condition, str) or condition.model_fields_set - {"ignore_case"} != {"not_"}:
        return False
    return condition.not_ is not None and not _holds_without_text(condition.not_)


def same_json(left: JSON, right: JSON) -> bool:
    """Return whether two JSON values are equal: 1 equals 1.0 but not true, and key order is ignored."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


_REDACTED = ("header.", "query.")  # fields that may be stored redacted
_MAX_NAMES = 1024  # cached headers, query parameters and body paths


@fast_dataclass(frozen=True, slots=True, eq=False)
class RequestAttributes:
    """What rules can match of a request; :data:`MATCH_FIELDS` read it.

    Fields:
        call: ``None`` for catalogue and health routes, and for requests the vendor rejects.
        body_bytes: bytes of the body as it was received; the journal redacts it.
        fingerprint: equal for equal requests, across sessions and attempts.
        attempt: number of equal requests of the session before this one.
        now: Unix seconds at admission, by the scenario's clock.
        started: Unix seconds of start or reset.
    """

    vendor: str
    request: Request
    call: InferenceCall | None
    body_bytes: int
    fingerprint: bytes
    attempt: int
    now: float
    started: float

    @property
    def deployment(self) -> str:
        """Return the name of the deployment; empty without a call."""
        return "" if self.call is None else self.call.deployment.name

    @property
    def inference(self) -> InferenceRequest | None:
        """Return the inference request of the call."""
        return None if self.call is None else self.call.request

    @property
    def since_start(self) -> float:
        """Return the scenario seconds since start or reset."""
        return self.now - self.started


class Absent(Enum):
    """Sentinel: the request does not have the attribute, and no condition holds."""

    ABSENT = auto()


ABSENT: Final = Absent.ABSENT

Extract = Callable[[RequestAttributes], JSON | Absent]


@fast_dataclass(frozen=True, slots=True)
class Matcher:
    """Compiled match field of a rule.

    Fields:
        name: name of the condition in the scenario file.
        extract: returns the attribute of a request; a tuple matches if one of its values does.
        test: the compiled condition ``wanted``.
        parts: matchers of each item of ``any``, or of ``not``; the attribute is then whether they hold.
    """

    name: str
    extract: Extract
    test: Test
    wanted: Condition | JSON
    parts: tuple[tuple[Matcher, ...], ...] = ()

    def holds(self, value: JSON | Absent) -> bool:
        """Return whether the test holds for a value, or for one of a tuple; false if absent."""
        if isinstance(value, tuple):
            return any(map(self.test, value))
        return value is not ABSENT and self.test(value)


def _extract_prompt(attributes: RequestAttributes) -> JSON | Absent:
    call = attributes.call
    if call is None:
        return ABSENT
    request = call.request
    if isinstance(request, ChatRequest):
        prompt = request.prompt
        return ABSENT if prompt is None else prompt
    inputs = request.prompts if isinstance(request, CompletionRequest) else request.inputs
    return tuple([text for text in inputs if isinstance(text, str)]) or ABSENT


def _extract_system(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    system = request.system if isinstance(request, ChatRequest) else None
    return ABSENT if system is None else system


def _extract_tool_result(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    result = request.tool_result if isinstance(request, ChatRequest) else None
    return ABSENT if result is None else result


def _extract_tools(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    tools = request.tools if isinstance(request, ChatRequest) else ()
    return tuple([tool.name for tool in tools]) if tools else ABSENT


def _extract_messages(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    return len(request.messages) if isinstance(request, ChatRequest) else ABSENT


def _extract_last_role(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    messages = request.messages if isinstance(request, ChatRequest) else ()
    return messages[-1].role if messages else ABSENT


def _extract_turn(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    return request.turn if isinstance(request, ChatRequest) else ABSENT


def _extract_tool_called(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    messages = request.messages if isinstance(request, ChatRequest) else ()
    return tuple([call.name for message in messages for call in message.tool_calls]) or ABSENT


def _extract_max_tokens(attributes: RequestAttributes) -> JSON | Absent:
    request = attributes.inference
    most = request.sampling.max_tokens if isinstance(request, ChatRequest | CompletionRequest) else None
    return ABSENT if most is None else most


def _extract_multimodal(attributes: RequestAttributes) -> JSON | Absent:
    match attributes.inference:
        case None:
            return ABSENT
        case ChatRequest(messages=messages):
            return any(message.media for message in messages)
        case CompletionRequest(media=media):
            return media > 0
        case EmbeddingRequest():
            return False


def _extract_structured(attributes: RequestAttributes) -> JSON | Absent:
    match attributes.inference:
        case None:
            return ABSENT
        case ChatRequest(format=form):
            return form != "text"
        case CompletionRequest(schema=schema, bare=bare):
            return schema is not None and not bare
        case EmbeddingRequest():
            return False


def _extract_task(attributes: RequestAttributes) -> JSON | Absent:
    return ABSENT if attributes.call is None else attributes.call.deployment.task


def _extract_served(attributes: RequestAttributes) -> JSON | Absent:
    return (attributes.call and attributes.call.served) or ABSENT


def _extract_stream(attributes: RequestAttributes) -> JSON | Absent:
    return ABSENT if attributes.call is None else attributes.call.stream


def _extract_prompt_tokens(attributes: RequestAttributes) -> JSON | Absent:
    return ABSENT if attributes.call is None else sum(attributes.call.prompt_tokens)


@lru(_MAX_NAMES)
def _extract_header(name: str) -> Extract:
    lower = name.lower()
    return lambda attributes: attributes.request.headers.get(lower, ABSENT)


@lru(_MAX_NAMES)
def _extract_query(name: str) -> Extract:
    return lambda attributes: attributes.request.query.get(name, ABSENT)


def split_path(written: str) -> KeyPath:
    """Parse a body path: ``tools[0].name`` → ``tools``, 0, ``name``."""
    steps = re.findall(r"\[\d+\]|[^.\[\]]+", written)
    return tuple(parse_integer(step[1:-1]) if step[0] == "[" else step for step in steps)


@lru(_MAX_NAMES)
def _extract_body(written: str) -> Extract:
    path = split_path(written)

    def extract(attributes: RequestAttributes) -> JSON | Absent:
        try:
            return find_value(path, attributes.request.json())
        except ValueError:
            return ABSENT

    return extract


def find_value(path: KeyPath, value: JSON | Absent) -> JSON | Absent:
    """Return the value at a path of a body."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, ABSENT)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return ABSENT
    return value


MATCH_FIELDS: Mapping[str, Extract] = {  # in the order of evaluation, cheapest first
    "vendor": lambda attributes: attributes.vendor or ABSENT,
    "deployment": lambda attributes: attributes.deployment or ABSENT,
    "task": _extract_task,
    "served": _extract_served,
    "endpoint": lambda attributes: attributes.request.path or ABSENT,
    "principal": lambda attributes: attributes.request.principal or ABSENT,
    "session": lambda attributes: attributes.request.session or ABSENT,
    "stream": _extract_stream,
    "body_bytes": lambda attributes: attributes.body_bytes,
    "prompt_tokens": _extract_prompt_tokens,
    "max_tokens": _extract_max_tokens,
    "messages": _extract_messages,
    "messages.last.role": _extract_last_role,
    "turn": _extract_turn,
    "structured": _extract_structured,
    "multimodal": _extract_multimodal,
    "tools": _extract_tools,
    "tool_called": _extract_tool_called,
    "prompt": _extract_prompt,
    "system": _extract_system,
    "tool_result": _extract_tool_result,
}


KEYED_MATCH_FIELDS: Mapping[str, Callable[[str], Extract]] = {
    "header": _extract_header,
    "query": _extract_query,
    "body": _extract_body,
}


def compile_when(when: When) -> tuple[Matcher, ...]:
    """Compile a matcher for each field that is set, cheapest first; ``any`` and ``not`` come last."""
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
    """Return the worst-case steps per character of all regular expressions."""
    return sum(count_steps(check.wanted) + sum(map(count_searches, check.parts)) for check in checks)


def _compile_named(name: str, condition: Condition) -> Test:
    return compile_condition(condition, is_credential if name.startswith(_REDACTED) else is_exactly)


def _compile_groups(when: When) -> Iterator[Matcher]:
    if when.any is not None:
        parts = tuple(compile_when(part) for part in when.any)
        yield Matcher(
            "any",
            partial(_hold_any, parts),
            _is_true,
            None,
            parts,
        )
    if when.not_ is not None:
        refused = compile_when(when.not_)
        yield Matcher(
            "not", lambda attributes: find_failed(refused, attributes) is not None, _is_true, None, (refused,)
        )


def _hold_any(parts: tuple[tuple[Matcher, ...], ...], attributes: RequestAttributes) -> bool:
    for part in parts:  # noqa: SIM110  # a generator costs twice as much
        if find_failed(part, attributes) is None:
            return True
    return False


Fold = Callable[..., str]
Necessary = tuple[Callable[..., object], object, Fold | None]
"""Comparison of a value with an operand that holds if a matcher does, and what folds the case of a text first; most
take no call of a Python function."""


def list_necessary(check: Matcher) -> Sequence[Necessary]:
    """Return comparisons of which one holds if a matcher does; empty if there are none without a search."""
    wanted = check.wanted
    if check.parts:
        return ()
    match None if check.name.startswith("body.") else wanted:  # a value in a body may be of any type
        case Comparison(prefix=str(text)):
            return [(str.startswith, text.casefold(), str.casefold)]
        case Comparison(suffix=str(text)):
            return [(str.endswith, text.casefold(), str.casefold)]
        case Comparison(contains=str(text)):
            return [(operator.contains, text.casefold(), str.casefold)]
        case Comparison(regex=str(pattern), ignore_case=ignore_case):
            return [(operator.contains, text, str.casefold) for text in compile_regex(pattern, ignore_case).needed]
        case Bounds(above=float(above)):
            return [(operator.gt, above, None)]
    return () if count_steps(wanted) else [(_apply, check.test, None)]


def _apply(value: JSON, test: Test) -> bool:
    return test(value)


def find_failed(checks: Iterable[Matcher], attributes: RequestAttributes) -> Matcher | None:
    """Return the first matcher that fails, or ``None``."""
    for check in checks:
        if not check.holds(check.extract(attributes)):
            return check
    return None


def _is_true(value: JSON) -> bool:
    return value is True
