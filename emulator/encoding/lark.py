"""Convert Lark grammars, which constrain custom tools of OpenAI's API, to regular expressions.

Azure and Databricks generate the input of such a tool from the expression. A recursive rule becomes its shortest text,
so the expression is finite and matches a subset of the grammar's texts. Source: lark-parser/lark, ``docs/grammar.md``
and ``lark/grammars/common.lark``.
"""

import re
from collections.abc import Mapping

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.text import parse_integer

_TOKEN = re.compile(
    r"""\s+|//[^\n]*
    |(?P<regex>/(?!/)(?:\\.|[^/\\\n])+/[imslux]*)|(?P<text>"(?:\\.|[^"\\\n])*"i?)
    |(?P<name>[?!]*_?[A-Za-z][\w]*(?:\.-?\d+)?)|(?P<number>\d+)|(?P<sign>->|\.\.|%[a-z]+|[:|()\[\]?*+~,.{}])""",
    re.VERBOSE,
)
_HEAD = re.compile(r"^[ \t]*[?!]*(_?[A-Za-z]\w*)(?:\.-?\d+)?[ \t]*:", re.MULTILINE)
MAX_GRAMMAR = 32_768
"""Maximum length of a grammar, in characters."""
_MAX_RULES = 500
_MAX_TOKENS_READ = 50_000  # tokens read over all passes: some 50 ms
_MAX_EXPRESSION = 1000  # characters of the full expression of one rule
_MAX_SHORTEST = 20_000  # characters of the shortest expression of one rule
_ESCAPED_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMON: Mapping[str, str] = {
    "DIGIT": "[0-9]",
    "HEXDIGIT": "[a-fA-F0-9]",
    "INT": "[0-9]+",
    "SIGNED_INT": "[+-]?[0-9]+",
    "DECIMAL": r"[0-9]+\.[0-9]*",
    "FLOAT": r"[0-9]+\.[0-9]+",
    "SIGNED_FLOAT": r"[+-]?[0-9]+\.[0-9]+",
    "NUMBER": r"[0-9]+(?:\.[0-9]+)?",
    "SIGNED_NUMBER": r"[+-]?[0-9]+(?:\.[0-9]+)?",
    "ESCAPED_STRING": _ESCAPED_STRING,
    "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]",
    "LETTER": "[a-zA-Z]",
    "WORD": "[a-zA-Z]+",
    "CNAME": "[_a-zA-Z][_a-zA-Z0-9]*",
    "WS_INLINE": "[ \\t]+",
    "WS": "[ \\t\\f\\r\\n]+",
    "CR": "\\r",
    "LF": "\\n",
    "NEWLINE": "(?:\\r?\\n)+",
    "SH_COMMENT": r"#[^\n]*",
    "CPP_COMMENT": r"//[^\n]*",
}


class BadGrammarError(ValueError):
    """A grammar that is no Lark grammar or that takes no text."""


@fast_dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def parse_lark(definition: str) -> str:
    """Return the regular expression of texts that the rule ``start`` takes.

    Raises:
        BadGrammarError: the grammar is invalid; the message names the error.
    """
    try:
        return _Compiler(_parse_rules(definition)).compile()
    except RecursionError:
        raise BadGrammarError("it is nested too deeply") from None


def build_input_schema(syntax: str, definition: str) -> dict[str, JSON]:
    """Return the JSON Schema of texts that a grammar takes; ``syntax`` is ``lark`` or ``regex``.

    Raises:
        BadGrammarError: the grammar is invalid or too long.
    """
    if len(definition) > MAX_GRAMMAR:
        raise BadGrammarError(f"it has more than {MAX_GRAMMAR} characters")
    if syntax == "lark":
        return {"type": "string", "pattern": f"^(?:{parse_lark(definition)})$"}
    try:
        re.compile(definition)
    except (re.error, RecursionError) as error:
        raise BadGrammarError(str(error)) from None
    return {"type": "string", "pattern": f"^(?:{definition})$"}


def _parse_rules(definition: str) -> dict[str, list[_Token]]:
    """Return the tokens of each rule and terminal by name, imports included."""
    rules: dict[str, list[_Token]] = {}
    heads = [*_HEAD.finditer(definition)]
    if not heads or len(heads) > _MAX_RULES:
        raise BadGrammarError("too many rules" if heads else "no rules are defined")
    before = definition[: heads[0].start()]
    bodies = [definition[head.end() : after] for head, after in zip(heads, _find_ends(heads, definition), strict=True)]
    for statement in [before, *bodies]:
        for line in statement.splitlines():
            if line.lstrip().startswith("%import"):
                rules.update(_parse_import(line.strip()))
    for head, body in zip(heads, bodies, strict=True):
        rules[head[1]] = _tokenize("\n".join(line for line in body.splitlines() if not line.lstrip().startswith("%")))
    return rules


def _find_ends(heads: list[re.Match[str]], definition: str) -> list[int]:
    return [*(head.start() for head in heads[1:]), len(definition)]


def _parse_import(line: str) -> Mapping[str, list[_Token]]:
    """Return the terminals of ``%import common.INT -> NUMBER`` or ``%import common (INT, WS)``."""
    found = re.fullmatch(r"%import\s+common\s*(?:\.\s*(\w+)\s*(?:->\s*(\w+))?|\(([\w\s,]+)\))", line)
    if found is None:
        raise BadGrammarError(f"{line!r} is not supported")
    names = [name.strip() for name in (found[3] or found[1]).split(",")]
    unknown = next((name for name in names if name not in _COMMON), None)
    if unknown is not None:
        raise BadGrammarError(f"no terminal {unknown!r} in common")
    return {found[2] or name: [_Token("regex", f"/{_COMMON[name]}/")] for name in names}


def _tokenize(body: str) -> list[_Token]:
    tokens = []
    at = 0
    while at < len(body):
        found = _TOKEN.match(body, at)
        if found is None:
            raise BadGrammarError(f"unexpected {body[at]!r}")
        at = found.end()
        if found.lastgroup is not None:
            tokens.append(_Token(found.lastgroup, found[0]))
    return tokens


class _Compiler:
    """Compiler from rules to expressions: shortest texts first, until no text gets shorter."""

    def __init__(self, rules: dict[str, list[_Token]]) -> None:
        self._rules = rules
        self._referrers: dict[str, set[str]] = {name: set() for name in rules}  # rules that refer to it
        for user, tokens in rules.items():
            for named in {token.text for token in tokens} & rules.keys():
                self._referrers[named].add(user)
        self._budget = _MAX_TOKENS_READ
        self._short: dict[str, str] = {}
        self._whole: dict[str, str] = {}
        self._tokens: list[_Token] = []
        self._at = 0

    def compile(self) -> str:
        if "start" not in self._rules:
            raise BadGrammarError("no rule is named 'start'")
        self._find_shortest()
        if "start" not in self._short:
            raise BadGrammarError("the rule 'start' takes no text")
        for _ in range(2):  # a wider rule widens the rules that refer to it in the second pass
            for name in reversed(self._rules):  # the smallest rules mostly come last
                whole = self._parse_rule(name, shortest=False)
                if whole is not None and len(whole) <= _MAX_EXPRESSION:
                    self._whole[name] = whole
        return self._whole.get("start", self._short["start"])

    def _find_shortest(self) -> None:
        """Find the shortest text of each rule; re-read a rule when one that it refers to got shorter."""
        stale = {*self._rules}
        while stale:
            for name in self._rules:
                if name not in stale:
                    continue
                stale.remove(name)
                text = self._parse_rule(name, shortest=True)
                if text is not None and len(text) < len(self._short.get(name, " " * _MAX_SHORTEST)):
                    self._short[name] = text
                    stale |= self._referrers[name]

    def _parse_rule(self, name: str, *, shortest: bool) -> str | None:
        self._budget -= len(self._rules[name])
        if self._budget < 0:
            raise BadGrammarError("its rules depend on each other too much")
        self._tokens, self._at = self._rules[name], 0
        found = self._parse_choice(shortest)
        if self._at < len(self._tokens):
            raise BadGrammarError(f"unexpected {self._tokens[self._at].text!r} in {name!r}")
        return found

    def _parse_choice(self, shortest: bool) -> str | None:
        """Return the alternatives as one group; ``None`` if no alternative has a text yet."""
        options = [self._parse_sequence(shortest)]
        while self._accept("|"):
            options.append(self._parse_sequence(shortest))
        known = [option for option in options if option is not None]
        if not known:
            return None
        if shortest or len(known) == 1:
            return min(known, key=len)
        return f"(?:{'|'.join(known)})"

    def _parse_sequence(self, shortest: bool) -> str | None:
        parts: list[str | None] = []
        while (token := self._peek()) is not None and token.text not in ("|", ")", "]", "->"):
            parts.append(self._parse_item(shortest))
        if self._accept("->"):
            self._take()
        return None if None in parts else "".join([part for part in parts if part is not None])

    def _parse_item(self, shortest: bool) -> str | None:
        atom = self._parse_atom(shortest)
        token = self._peek()
        sign = token.text if token is not None else ""
        if sign not in ("?", "*", "+", "~"):
            return atom
        self._take()
        if sign == "~":
            least, most = self._parse_counts()
            return None if atom is None else f"(?:{atom}){{{least},{least if shortest else most}}}"
        if sign == "+":
            return atom if shortest or atom is None else f"(?:{atom})+"
        return "" if shortest or atom is None else f"(?:{atom}){sign}"

    def _parse_counts(self) -> tuple[int, int]:
        least = most = parse_integer(self._parse_number())
        if self._accept(".."):
            most = parse_integer(self._parse_number())
        return least, most

    def _parse_number(self) -> str:
        token = self._take()
        if token.kind != "number":
            raise BadGrammarError(f"expected a number, got {token.text!r}")
        return token.text

    def _parse_atom(self, shortest: bool) -> str | None:
        token = self._take()
        if token.text in ("(", "["):
            inner = self._parse_choice(shortest)
            closing = self._take().text
            if closing != {"(": ")", "[": "]"}[token.text]:
                raise BadGrammarError(f"unexpected {closing!r}")
            if token.text == "[":
                return "" if shortest or inner is None else f"(?:{inner})?"
            return inner
        if token.kind == "text":
            return self._parse_text(token.text)
        if token.kind == "regex":
            return _parse_regex(token.text)
        if token.kind != "name" or token.text not in self._rules:
            raise BadGrammarError(f"{token.text!r} is used but not defined")
        short = self._short.get(token.text)
        return short if shortest else self._whole.get(token.text, short)

    def _parse_text(self, text: str) -> str:
        """Return the expression of a quoted text, or of a character range if ``..`` and a second text follow."""
        text_value = _unquote(text)
        if not self._accept(".."):
            return re.escape(text_value)
        last = _unquote(self._take().text)
        return f"[{re.escape(text_value)}-{re.escape(last)}]"

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> _Token:
        token = self._peek()
        if token is None:
            raise BadGrammarError("unexpected end of a rule")
        self._at += 1
        return token

    def _accept(self, sign: str) -> bool:
        token = self._peek()
        if token is None or token.text != sign:
            return False
        self._at += 1
        return True


def _parse_regex(text: str) -> str:
    pattern = text[1 : text.rindex("/")].replace("\\/", "/")
    try:
        re.compile(pattern)
    except (re.error, RecursionError):
        raise BadGrammarError(f"{text} is no regular expression") from None
    return f"(?:{pattern})"


def _unquote(text: str) -> str:
    text_value = text.removesuffix("i")[1:-1]
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), text_value)
