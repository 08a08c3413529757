"""Search without google-re2: the same results, refusals and groups, in linear time."""

import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.scenario import automaton
from emulator.scenario.regex_syntax import list_needed, parse

re2 = pytest.importorskip("re2")
ROOT = Path(__file__).parents[2]


def compile_with(engine: Any, pattern: str, ignore_case: bool = False, captures: bool = False) -> automaton.Compiled:
    options = engine.Options()
    options.log_errors, options.never_capture, options.max_mem = False, not captures, 2 * 1024**2
    options.case_sensitive = not ignore_case
    compiled: automaton.Compiled = engine.compile(pattern.encode(), options)
    return compiled


def find(engine: Any, pattern: str, text: str, ignore_case: bool = False) -> bool:
    return compile_with(engine, pattern, ignore_case).search(text.encode()) is not None


def explain(engine: Any, pattern: str, ignore_case: bool = False) -> str:
    """Return why an expression is refused; empty if it is not."""
    try:
        compile_with(engine, pattern, ignore_case)
    except engine.error as error:
        reason = error.args[0]
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return ""


def find_groups(engine: Any, pattern: str, text: str) -> dict[str, bytes | None]:
    found = compile_with(engine, pattern, captures=True).search(text.encode())
    if found is None:
        return {"": b"no match"}
    groups: dict[Any, bytes | None] = dict(found.groupdict())
    return {name.decode() if isinstance(name, bytes) else name: value for name, value in groups.items()}


ATOMS = st.sampled_from(
    [
        *("a", "b", "ab", ".", "[ab]", "[^a]", "[a-c_]", r"\.", "é", "😀", r"\d", r"\w", r"\W", r"\s", r"\n", "k", "s"),
        *(r"[\p{L}\p{N}_]", r"\pN", r"\P{L}", r"[^\p{L}a]", "[[:alpha:]]", "[[:^digit:]-]", r"\x{e9}", r"\x41"),
        *(
            "^",
            "$",
            r"\b",
            r"\B",
            r"\A",
            r"\z",
            "(?i)",
            "(?s)",
            "(?m)",
            "(?-i)",
            r"[\d.-]",
            "[]a]",
            "[^]b]",
            r"\Qa.b\E",
        ),
    ]
)
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0}", "{2,}?", "{,2}"])
PATTERNS = st.recursive(
    st.tuples(ATOMS, REPEATS).map("".join),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map("|".join),
        st.tuples(st.sampled_from(["(", "(?:", "(?P<n>", "(?i:", "(?s-i:", "(?m:"]), inner, st.just(")"), REPEATS).map(
            "".join
        ),
    ),
    max_leaves=6,
)
TEXTS = st.text("aabbcAB_ .\n\u00e9\u00c91\U0001f600K\u212aks\u017f", max_size=8)


@settings(max_examples=150)
@given(pattern=PATTERNS, texts=st.lists(TEXTS, min_size=1, max_size=4), ignore_case=st.booleans())
def test_results_equal_those_of_re2(pattern: str, texts: list[str], ignore_case: bool) -> None:
    assert explain(automaton, pattern, ignore_case) == explain(re2, pattern, ignore_case)
    if not explain(re2, pattern, ignore_case):
        found = [find(automaton, pattern, text, ignore_case) for text in texts]
        assert found == [find(re2, pattern, text, ignore_case) for text in texts]


@settings(max_examples=150)
@given(pattern=PATTERNS, texts=st.lists(TEXTS, min_size=1, max_size=4), ignore_case=st.booleans())
def test_every_match_has_a_needed_text(pattern: str, texts: list[str], ignore_case: bool) -> None:
    if not explain(re2, pattern, ignore_case):
        needed = list_needed(parse(pattern, ignore_case=ignore_case))
        for text in texts:
            if needed and find(re2, pattern, text, ignore_case):
                assert any(word in text.casefold() for word in needed)


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        pytest.param(r"(?i)\bCard\s+number\b", ("number",), id="the longest of several"),
        pytest.param(r"\b(refund|invoice)s?\b", ("refund", "invoice"), id="options"),
        pytest.param(r"(a|b*)c?(?P<n>de){2}", ("de",), id="repeats"),
        pytest.param(r"a|\d", (), id="an option without any"),
        pytest.param("|".join("abcdefghi"), (), id="many options"),
        pytest.param("\u212a", (), id="a letter beyond ASCII that a search without case finds in it"),
    ],
)
def test_needed_texts_are_found(pattern: str, needed: tuple[str, ...]) -> None:
    assert list_needed(parse(pattern, ignore_case=False)) == needed


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param(r"(?P<year>\d{4})-(?P<month>\d\d)", "on 2026-11-26", id="two"),
        pytest.param(r"(?P<a>a+)(?P<b>a*)", "xaaa", id="greedy"),
        pytest.param(r"(?P<a>a+?)(?P<b>a*)", "xaaa", id="lazy"),
        pytest.param(r"(?P<a>a|ab)(?P<b>c|bcd)(?P<c>d*)", "abcd", id="the first option that leads to a match"),
        pytest.param(r"(?P<a>x)?b", "b", id="one that matches nothing"),
        pytest.param(r"(?:(?P<a>\w)(?P<b>,)?)+", "a,bc", id="in a repeat"),
        pytest.param(r"city (?P<city>[A-Z]\w+)$", "city Zürich", id="letters of two bytes"),
        pytest.param(r"(?P<a>)x", "x", id="empty"),
        pytest.param(r"(?P<a>q)", "x", id="no match"),
        pytest.param(r"(?P<a>.*)(?P<b>.*)", "one two", id="all of it"),
    ],
)
def test_groups_equal_those_of_re2(pattern: str, text: str) -> None:
    assert find_groups(automaton, pattern, text) == find_groups(re2, pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "[a",
            "(a",
            "a)",
            "*a",
            "a**",
            "a*+",
            "x{2}{3}",
            "a{1001}",
            "(a{100}){11}",
            "a{2,1}",
            r"\y",
            r"\8",
            r"\x1",
            "[z-a]",
        ),
        *(
            "(?z)a",
            "(?i",
            "(?P<n",
            "(?P<>a)",
            r"\p{Foo}",
            "a\\",
            "[[:foo:]]",
            r"\x{110000}",
            "(?:a",
            "[]",
            "+",
            "(|*)",
            "[a-\\d]",
        ),
    ],
)
def test_refusals_equal_those_of_re2(pattern: str) -> None:
    assert explain(automaton, pattern) == explain(re2, pattern) != ""


@pytest.mark.parametrize("pattern", [r"\p{Greek}", r"\C"])
def test_what_is_not_searched_is_refused(pattern: str) -> None:
    with pytest.raises(automaton.error):
        compile_with(automaton, pattern)


@pytest.mark.parametrize("category", ["L", "Lu", "Ll", "Nd", "P", "Sm", "Z", "Cc", "M"])
def test_categories_equal_those_of_python(category: str) -> None:
    compiled = compile_with(automaton, f"^\\p{{{category}}}$")
    for char in "aA1\u00e9\u0661.,+ \n\u0301\u4e2d\U0001f600\U0001d7d8":
        assert (compiled.search(char.encode()) is not None) is unicodedata.category(char).startswith(category), char


@pytest.mark.slow
def test_case_is_ignored_as_in_re2() -> None:
    """Whole Unicode: every character that RE2 takes for another one."""
    for text in (
        "k",
        "s",
        "\u00e9",
        "\u03c3",
        "\u0434",
        "\u01c6",
        "\u00e5",
        "\u0561",
        "\u10d0",
        "\uff41",
        "\U00010428",
        "\u1e9e",
        "\u13a0",
    ):
        mine, theirs = compile_with(automaton, text, True), compile_with(re2, text, True)
        for point in [*range(0x3000), *range(0xA640, 0xAC00), *range(0xFB00, 0x10600)]:
            if not 0xD800 <= point <= 0xDFFF:
                data = chr(point).encode()
                assert (mine.search(data) is None) == (theirs.search(data) is None), (text, hex(point))


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*$", r"^(a|aa)+$", r"(.*)*x", r"(a?){30}a{30}$", r"(\w+)+!"])
def test_search_time_is_linear(pattern: str) -> None:
    assert not find(automaton, pattern, "a" * 20_000 + "?")


def test_memory_of_states_is_bounded() -> None:
    compiled = compile_with(automaton, r"(a|b)*a(a|b){12}c")
    letters = "".join("ab"[(number * number >> 3) % 2] for number in range(20_000))
    assert compiled.search(letters.encode()) is None
    assert len(compiled._states) <= 50_001


@pytest.mark.slow
def test_suite_of_expressions_passes_without_re2() -> None:
    """Run the tests of the language's expressions with the module hidden."""
    hide = "import sys; sys.modules['re2'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    options = [
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
        "-k",
        "not long_text and not truncated and not nested_groups",
    ]
    tests = ["tests/scenario/test_regex.py", "tests/scenario/test_captures.py"]
    ended = subprocess.run(
        [sys.executable, "-c", hide, *options, *[name for name in tests if (ROOT / name).exists()]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5_000:]
    assert re.search(r"[1-9]\d+ passed", ended.stdout)
