"""Tests of regular expressions: matches, refused syntax and linear time."""

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError
from emulator.scenario.regex import MAX_PATTERN_LENGTH, MAX_STEPS, Expressions, RegexCache, RegexError, compile_regex


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        pytest.param(r"a.c", ["abc", "a\nc", "ac"], id="a dot is no line end"),
        pytest.param(r"world$", ["world", "world\n", "world\n\n", "worlds"], id="the end, before a last line end too"),
        pytest.param(r"world\Z", ["world", "world\n"], id="the very end"),
        pytest.param(r"(?m)^b$", ["a\nb\nc", "ab"], id="lines"),
        pytest.param(r"(?i)É|x", ["é", "X", "e"], id="case"),
        pytest.param(r"^[]a]+[^]]$", ["]ab", "]a]", "b"], id="brackets in brackets"),
        pytest.param(r"^[^^]$", ["a", "^"], id="a caret that is meant"),
        pytest.param(r"[$(?=]", ["$", "(", "=", "a"], id="signs in brackets mean themselves"),
        pytest.param(r"\u00e9\U0001F600", ["é😀", "e"], id="characters by number"),
        pytest.param(r"\$\.\-\ \_\/", ["$.- _/", "a"], id="escaped signs"),
        pytest.param(r"(?P<year>\d{4})-\d\d", ["2026-11", "26-11"], id="a named group"),
        pytest.param(r"\bcat\b", ["a cat.", "concat"], id="words"),
    ],
)
def test_search_equals_python(pattern: str, texts: list[str]) -> None:
    found = compile_regex(pattern, False)
    assert [found(text) for text in texts] == [re.search(pattern, text) is not None for text in texts]


@pytest.mark.parametrize("prefix", ["", "(?i)"])
@given(
    words=st.lists(st.text("aBk_ -7s", min_size=1, max_size=3), min_size=1, max_size=3),
    text=st.text("aAbBkKsS_ -7|\u017f\u212a", max_size=12),
)
def test_search_of_words_equals_general_search(prefix: str, words: list[str], text: str) -> None:
    pattern = prefix + "|".join(words)
    found = compile_regex(pattern, False)
    assert found.words
    assert found(text) == replace(found, words=(), needed=())(text) == compile_regex(f"(?:{pattern})", False)(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", "dDwWsS")
def test_classes_match_every_script_as_python(name: str) -> None:
    alone, inside = compile_regex(f"^\\{name}$", False), compile_regex(f"^[\\{name}]$", False)
    python = re.compile(f"^\\{name}$")
    for code in range(0x0, sys.maxunicode + 1, 7):
        char = chr(code)
        if unicodedata.category(char) not in ("Cn", "Cs") and char != "\n":
            assert (alone(char), inside(char)) == (bool(python.search(char)),) * 2, hex(code)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        pytest.param("a(?=b)", "look-ahead at character 2", id="look-ahead"),
        pytest.param("a(?!b)", "look-ahead", id="negative look-ahead"),
        pytest.param("(?<=a)b", "look-behind at character 1", id="look-behind"),
        pytest.param("(?<!a)b", "look-behind", id="negative look-behind"),
        pytest.param(r"(a)\1", r"the back-reference \1", id="a back-reference"),
        pytest.param("(?P<a>x)(?P=a)", "a back-reference", id="one by name"),
        pytest.param("(?>a)b", "an atomic group", id="an atomic group"),
        pytest.param("(a", "missing )", id="no expression at all"),
        pytest.param("(.{100}){100}", "invalid repetition size", id="repeats of repeats"),
        pytest.param("a" * (MAX_PATTERN_LENGTH + 1), f"at most {MAX_PATTERN_LENGTH}", id="too long"),
        pytest.param(r"(\w{99}x){10}", "too large", id="too large written out"),
    ],
)
def test_unsupported_pattern_is_rejected_with_location(pattern: str, reason: str) -> None:
    with pytest.raises(RegexError) as refused:
        compile_regex(pattern, False)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 120
    rule = f"- name: r\n  when:\n    prompt: {{regex: {json.dumps(pattern)}}}\n  pass: true\n"
    with pytest.raises(ScenarioError) as mistakes:
        load_text(f"version: 1\nrules:\n{rule}")
    (row,) = mistakes.value.rows
    assert (row.line, row.path) == (5, "rules[0].when.prompt.regex")


def test_nested_groups_are_supported() -> None:
    assert compile_regex("(" * 4000 + "a" + ")" * 4000, False)("a")


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*$", r"^(a|aa)+$", r"(.*)*x", r"(a?){30}a{30}$", r"(\w+)+!"])
def test_search_time_is_linear(pattern: str) -> None:
    """Search an expression that takes a backtracking engine exponential time."""
    assert not compile_regex(pattern, False)("a" * 200_000 + "?")


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda number: rf"\w{{20}}{number}", id="large ones"),
        pytest.param(lambda number: rf"\w{{0,{number}}}" * 500, id="some that are too large each"),
        pytest.param(lambda number: f"(a{number}" + "x" * 4000, id="some that are none"),
    ],
)
def test_expressions_of_document_are_bounded(make: Callable[[int], str]) -> None:
    reported: list[str] = []
    together = Expressions()
    for number in range(1, 100):
        with suppress_regex_error(reported):
            together.add(make(number), False)
    assert reported[-1] == "all expressions together take too much to search"
    usual = Expressions()
    for number in range(500):
        usual.add(rf"(?i)order {number}: \w+", False)


@contextmanager
def suppress_regex_error(reported: list[str]) -> Iterator[None]:
    try:
        yield
    except RegexError as error:
        reported.append(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("outer", [{}, {"ignore_case": True}])
def test_scenario_with_too_many_expressions_is_rejected(outer: dict[str, bool]) -> None:
    rules = [
        {"name": f"r{number}", "when": {"prompt": {"not": {"regex": rf"\w{{20}}{number}"}, **outer}}, "pass": True}
        for number in range(100)
    ]
    with pytest.raises(ScenarioError) as refused:
        load_text(json.dumps({"version": 1, "rules": rules}, indent=1))
    row = refused.value.rows[0]
    assert "all expressions together take too much to search" in row.message
    assert row.line > 300
    assert row.path.startswith("rules[")


def test_compiled_regexes_are_cached_up_to_limit() -> None:
    first = compile_regex("a certain expression", False)
    assert compile_regex("a certain expression", False) is first
    assert compile_regex("a certain expression", True) is not first
    cache = RegexCache(3 * first.steps)
    for number in range(5):
        cache.keep((str(number), False), first)
        cache.find(("0", False))
    assert [cache.find((str(number), False)) is not None for number in range(5)] == [True, False, False, True, True]


def test_long_text_is_searched_from_its_beginning() -> None:
    regex = compile_regex(r"\w{2,20}", False)
    assert regex(" " * 60_000 + "word")
    assert not regex(" " * 90_000 + "word")
    assert [regex(" " * 60_000 + "word") for _ in range(300)] == [True] * 300
    assert compile_regex("word", False)(" " * 20_000_000 + "word")


def test_truncated_search_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    regex = compile_regex(r"\w{2,20}\n?not in the cache", False)
    for letter in "abc":
        assert not regex(letter * 50_000)
    assert not caplog.records
    for letter in "abc":
        assert not regex(letter * 200_000)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert repr(r"\w{2,20}\n?not in the cache") in record.getMessage()
    assert "a text has 200,000: what comes after is not seen" in record.getMessage()


def test_steps_reflect_pattern_size() -> None:
    assert compile_regex(r"\w{20}", False).steps < MAX_STEPS / 20
    assert compile_regex("hello", False).steps < 50
