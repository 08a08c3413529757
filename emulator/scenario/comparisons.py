"""How a condition is compared with a value of a call: it is compiled once into a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from emulator.core.json import JSON
from emulator.scenario.conditions import Bounds, Comparison, Condition
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
