"""Test that texts of the compiled expression match their Lark grammar."""

import re

import pytest

from emulator.encoding.lark import BadGrammarError, build_input_schema, parse_lark

SUM = """
// a sum of products
?start: sum
sum: product (SP "+" SP product)* -> add
   | product
product: INT (SP "*" SP INT)~1..2
SP: " "
%import common.INT
"""
JSON_LIKE = """
start: value
?value: list | ESCAPED_STRING | N | "true"
list: "[" [value ("," value)*] "]"
%import common (ESCAPED_STRING, WS)
%import common.SIGNED_NUMBER -> N
%ignore WS
"""


@pytest.mark.parametrize(
    ("grammar", "taken", "refused"),
    [
        pytest.param(SUM, ["1 * 2", "1 * 2 * 3 + 4 * 5"], ["1", "1 + 2", "1 * 2 * 3 * 4"], id="rules and counts"),
        pytest.param(JSON_LIKE, ["true", '"a"', "-1.5", "[]"], ["false", "", "[", "{}"], id="recursion and imports"),
        pytest.param('start: "a".."c" "x"i?', ["a", "bx", "c"], ["d", "ax."], id="a range of characters"),
        pytest.param("start: /[0-9]{2}\\/[a-z]/", ["12/b"], ["12b", "1/b"], id="a regular expression"),
        pytest.param('start.2: "a" | B\nB.-1: "b"+', ["a", "bb"], ["", "ab"], id="priorities"),
        pytest.param('start: (("a" | "b") "c")*', ["", "ac", "acbc"], ["a"], id="groups"),
        pytest.param('start: "." "(" "\\n" "\\""', ['.(\n"'], ["x("], id="signs that mean something elsewhere"),
        pytest.param('start: a\na: "(" a ")" | "x"', ["x"], ["(", ""], id="what leads back to itself ends"),
    ],
)
def test_pattern_matches_grammar(grammar: str, taken: list[str], refused: list[str]) -> None:
    pattern = parse_lark(grammar)
    assert [text for text in taken if not re.fullmatch(pattern, text)] == []
    assert [text for text in refused if re.fullmatch(pattern, text)] == []


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        pytest.param("", "no rules are defined", id="nothing"),
        pytest.param('other: "a"', "no rule is named 'start'", id="no start"),
        pytest.param('start: "a" other', "'other' is used but not defined", id="a rule that is nowhere"),
        pytest.param('start: start "a"', "takes no text", id="without an end"),
        pytest.param('start: ("a"', "unexpected end", id="an open group"),
        pytest.param('start: "a")', "unexpected '\\)'", id="a group too many"),
        pytest.param("start: /[/", "no regular expression", id="a broken expression"),
        pytest.param("start: §", "unexpected '§'", id="an unknown sign"),
        pytest.param('start: "a"~x', "expected a number", id="no count"),
        pytest.param("%import python.NAME\nstart: NAME", "is not supported", id="another library"),
        pytest.param("%import common.NAME\nstart: NAME", "no terminal 'NAME'", id="an unknown terminal"),
        pytest.param("start: " + "(" * 5000, "nested too deeply", id="too deep"),
        pytest.param("\n".join(f'r{n}: "a"' for n in range(501)), "too many rules", id="too long"),
    ],
)
def test_invalid_grammar_is_rejected(grammar: str, reason: str) -> None:
    with pytest.raises(BadGrammarError, match=reason):
        parse_lark(grammar)


def _chain(rules: int, more: str = "") -> str:
    """Each rule is the next one, and the last a text."""
    links = "\n".join(f"r{n}: r{n + 1}{more}" for n in range(rules - 1))
    return f'start: r0\n{links}\nr{rules - 1}: "x"'


def test_long_rule_chain_compiles() -> None:
    assert re.fullmatch(parse_lark(_chain(499)), "x")  # expanding each rule in each other would be too much


def test_overly_interdependent_rules_are_rejected() -> None:
    with pytest.raises(BadGrammarError, match="depend on each other too much"):
        parse_lark(_chain(499, ' ("a"' + ' | "a"' * 12 + ")"))


@pytest.mark.parametrize("syntax", ["lark", "regex"])
def test_grammar_over_length_limit_is_rejected(syntax: str) -> None:
    with pytest.raises(BadGrammarError, match="more than 32768 characters"):
        build_input_schema(syntax, "a" * 32_769)


def test_exponential_grammar_is_rejected() -> None:
    rules = "\n".join(f"r{n}: r{n + 1} r{n + 1}" for n in range(40))
    with pytest.raises(BadGrammarError, match="takes no text"):  # unreadable on purpose
        parse_lark(f'start: r0\n{rules}\nr40: "a"')


def test_build_input_schema_for_lark_and_regex() -> None:
    assert build_input_schema("regex", "a|b") == {"type": "string", "pattern": "^(?:a|b)$"}
    assert build_input_schema("lark", 'start: "a"') == {"type": "string", "pattern": "^(?:a)$"}
    with pytest.raises(BadGrammarError):
        build_input_schema("regex", "(")
