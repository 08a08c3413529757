"""Redact credentials in the text of JSON documents, also in truncated or invalid ones.

``values.py`` redacts texts that are JSON by it.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import field

from emulator.core.cache import lru
from emulator.core.dataclass import fast_dataclass
from emulator.core.redaction.names import MAX_CACHED, Place, is_secret_name, list_words, split_name

Secret = Callable[[str, str], str]
Value = Callable[[Place, str, str], str]

_NAME = re.compile(r'"(?=([^"\\]*)\\*"\s*:)')  # from each quote: one that a broken document leaves open hides no name
_SUSPECTS = tuple(  # one expression each, because a search for a fixed first character is fast
    map(
        re.compile,
        (
            r"\\u00",
            r":\\*/\\*/",
            r'[?&;][^?&;=\s"]{1,128}=',
            r'\[\s*\[\s*\\*"',
            r"[{\[,:]\s*'",
            r'[{,]\s*[^\s"{}\[\],:]+\s*:',
        ),
    )
)
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)("|\\?\Z)|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d.eE+-]*")
_SHORT_NUMBER = 4  # characters; none so short is a credential
_LITERALS = ("true", "false", "null")
_ASSIGNED = re.compile(r"\s*([\w.-]{1,128})(\s*[:=]\s*)(.*)", re.DOTALL)

_PLACES: dict[str, Place] = {
    **dict.fromkeys(("headers", "header", "httpheaders", "extraheaders", "requestheaders", "defaultheaders"), "header"),
    **dict.fromkeys(
        ("env", "environ", "environment", "environmentvars", "environmentvariables", "envvars"), "variable"
    ),
    **dict.fromkeys(("query", "queryparams", "queryparameters", "searchparams", "form"), "field"),
}
_NAMES = list_words("name key header headername field variable")  # members of a pair that name its value
_VALUES = list_words("value val default secretvalue values")
_KINDS = list_words("type kind authtype authenticationtype credentialtype scheme")
_ABOUT = _KINDS | {"name", "in", "domain", "path", "description", "title", "expires", "format"}
_SCHEMA = list_words("$ref anyOf oneOf allOf enum const description additionalProperties")
_TYPES = list_words("string object array number integer boolean null")
_EXAMPLES = list_words("default const example examples enum")
# Siblings or members of a ``token`` that is a token of text.
_TEXT_TOKEN = list_words("logprob bytes top_logprobs special text score")
# Objects of a model's thoughts, by a member or the value of ``type``; clients send back the signature in them.
# Sources: docs.anthropic.com, "Extended thinking"; docs.databricks.com, "Query reasoning models".
_THOUGHTS = list_words("thinking signature_delta summary_text")


@fast_dataclass(slots=True)
class _Node:
    """JSON value at a position of the text.

    Fields:
        kind: first character of the value; ``0`` for numbers and literals.
        name: name of the object member that holds the value.
        closed: the container is complete; further members of a truncated one are unknown.
    """

    kind: str
    start: int
    end: int
    name: str = ""
    closed: bool = False
    nodes: "list[_Node]" = field(default_factory=list)


def redact_document(text: str, redact_secret: Secret, redact: Value) -> str:
    """Redact every credential in a document; valid JSON stays valid, with the same structure."""
    if not may_hold(text):
        return text
    parts, at = [], 0
    for start, end, shown in sorted(_Redaction(text, redact_secret, redact).find()):
        parts += [text[at:start], shown]
        at = end
    return "".join([*parts, text[at:]])


def may_hold(text: str) -> bool:
    """Return whether a document, or one of several, may hold a credential; cheaper than parsing them."""
    if any(suspect.search(text) for suspect in _SUSPECTS):
        return True
    return any(
        _is_suspect_cached(name) if len(name) <= MAX_CACHED else _is_suspect_name(name)
        for name in {*_NAME.findall(text)}
    )


@lru(4096)
def _is_suspect_cached(name: str) -> bool:
    return _is_suspect_name(name)


def _is_suspect_name(name: str) -> bool:
    if is_secret_name("member", name):
        return True
    joined = _join(name)
    return joined in _PLACES or joined in _VALUES or joined == "key"


def _join(name: str) -> str:
    return "".join(split_name(name))


def _parse(text: str) -> _Node:
    """Parse a text, which may be truncated or invalid JSON, to a tree."""
    root = _Node("[", 0, len(text))
    stack, name = [root], ""
    for found in _TOKEN.finditer(text):
        top, first = stack[-1], found[0][0]
        if first in "{[":
            stack.append(_Node(first, found.start(), len(text), name))
            top.nodes.append(stack[-1])
            name = ""
        elif first in "}],":
            if first != "," and len(stack) > 1:
                stack.pop().closed = True
            name = ""
        elif first == ":":
            name = name or _take_name(text, top)
        else:
            quoted = first == '"'
            start, end = found.span(1) if quoted else found.span()
            top.nodes.append(_Node(first if quoted else "0", start, end, name))
    return root


def _take_name(text: str, top: _Node) -> str:
    """Remove the last value of an object, which a colon follows, and return it as a member name."""
    is_name = top.kind == "{" and bool(top.nodes) and top.nodes[-1].kind in '"0'
    return _decode(text, top.nodes.pop()) if is_name else ""


def _decode(text: str, node: _Node) -> str:
    """Return the decoded text of a string; truncated or invalid escapes are dropped or kept literally."""
    raw = text[node.start : node.end]
    if "\\" not in raw:
        return raw
    raw = re.sub(r"\\(?:u[0-9a-fA-F]{0,3})?\Z", "", raw) if re.search(r"(?<!\\)(?:\\\\)*\\(?:u.{0,3})?\Z", raw) else raw
    for attempt in (raw, re.sub(r"\\(?![\"\\/bfnrtu])", r"\\\\", raw)):
        try:
            decoded: str = json.loads(f'"{attempt}"', strict=False)
            return decoded
        except ValueError:
            continue
    return raw


def _encode(value: str) -> str:
    has_surrogates = any("\ud800" <= letter <= "\udfff" for letter in value)
    return json.dumps(value, ensure_ascii=has_surrogates)[1:-1]


class _Redaction:
    """Search for the credentials of one document."""

    def __init__(self, text: str, redact_secret: Secret, redact: Value) -> None:
        self._text = text
        self._redact_secret = redact_secret
        self._redact = redact

    def find(self) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and replacement of each part to redact."""
        waiting: list[tuple[_Node, Place, str]] = [(_parse(self._text), "member", "")]
        while waiting:
            node, place, secret = waiting.pop()
            classify = self._classify_members if node.kind == "{" else self._classify_items
            for inner, inner_place, inner_secret in classify(node, place, secret):
                if inner.kind in "{[":
                    waiting.append((inner, inner_place, inner_secret))
                elif (shown := self._show(inner, inner_place, inner_secret)) is not None:
                    yield inner.start, inner.end, shown

    def _classify_items(self, node: _Node, place: Place, secret: str) -> Iterator[tuple[_Node, Place, str]]:
        """Yield the items of a list with their place and credential name; ``[["Cookie", "a=b"]]`` has pairs."""
        for item in node.nodes:
            pair = item.nodes
            if item.kind == "[" and [inner.kind for inner in pair] == ['"', '"']:
                name = _decode(self._text, pair[0])
                yield pair[0], "member", secret
                yield pair[1], place, secret or (name if is_secret_name("variable", name) else "")
            else:
                yield item, place, secret

    def _classify_members(self, node: _Node, place: Place, secret: str) -> Iterator[tuple[_Node, Place, str]]:
        """Yield the members of an object with their place and credential name; ``""`` if not a credential."""
        paired, keyed = self._find_pair(node), self._is_key_of_kind(node)
        for member in node.nodes:
            joined = _join(member.name)
            held = "" if joined in _ABOUT else secret
            if self._is_secret(member, node, place) or (keyed and joined == "key"):
                held = held or member.name
            elif paired and joined in _VALUES:
                held = held or paired
            if held and node.name == "properties" and self._is_schema(member):
                yield from self._classify_schema(member, held)
                continue
            yield member, _PLACES.get(joined, place if member.kind not in "{[" else "member"), held

    def _classify_schema(self, node: _Node, secret: str) -> Iterator[tuple[_Node, Place, str]]:
        """Yield the members of the schema of a credential argument; only defaults and examples are credentials."""
        for member in node.nodes:
            yield member, "member", secret if member.name in _EXAMPLES else ""

    def _is_secret(self, member: _Node, node: _Node, place: Place) -> bool:
        if not is_secret_name(place, member.name) and not is_secret_name("member", member.name):
            return False
        if member.name in ("thoughtSignature", "thought_signature"):  # Gemini's
            return False
        if member.name == "signature":
            return _THOUGHTS.isdisjoint(self._list_signs(node))
        if member.name != "token":
            return True
        around = member.nodes if member.kind == "{" else node.nodes
        return _TEXT_TOKEN.isdisjoint(inner.name for inner in around)

    def _list_signs(self, node: _Node) -> Iterator[str]:
        """Yield the names of an object's members and the value of ``type``."""
        for member in node.nodes:
            yield member.name
            if member.name == "type" and member.kind == '"':
                yield _decode(self._text, member)

    def _find_pair(self, node: _Node) -> str:
        """Return the credential name of ``{"name": …, "value": …}``, or ``""`` without one."""
        for member in node.nodes:
            if member.kind == '"' and _join(member.name) in _NAMES:
                name = _decode(self._text, member)
                return name if is_secret_name("variable", name) else self._name_cut(member)
        return "" if node.closed else "value"

    def _name_cut(self, member: _Node) -> str:
        """Return a name in place of one that the end of the text cuts short; ``""`` if it is complete."""
        return "value" if member.end == len(self._text) else ""

    def _is_key_of_kind(self, node: _Node) -> bool:
        """Return whether ``key`` is a credential as in ``{"type": "ApiKey", "key": …}``."""
        kinds = [member for member in node.nodes if member.kind == '"' and _join(member.name) in _KINDS]
        is_named = any(is_secret_name("member", _decode(self._text, kind)) or self._name_cut(kind) for kind in kinds)
        return is_named or not (kinds or node.closed)

    def _is_schema(self, node: _Node) -> bool:
        if node.kind != "{":
            return False
        types = [inner for inner in node.nodes if inner.name == "type" and inner.kind == '"']
        if types:
            return _decode(self._text, types[0]) in _TYPES
        return any(inner.name in _SCHEMA for inner in node.nodes)

    def _show(self, node: _Node, place: Place, secret: str) -> str | None:
        """Return the replacement of a value, or ``None`` if it stays."""
        if node.kind == "0":
            return self._show_bare(self._text[node.start : node.end]) if secret else None
        value = _decode(self._text, node)
        if secret:
            shown = self._redact_secret(secret, value)
        elif place != "member" and not node.name and (given := _ASSIGNED.fullmatch(value)):
            shown = f"{given[1]}{given[2]}{self._redact(place, given[1], given[3])}"
        else:
            shown = self._redact(place, "", value)  # the member's name was checked before
        return None if shown == value else _encode(shown)

    def _show_bare(self, value: str) -> str | None:
        if value in _LITERALS:
            return None
        if _NUMBER.fullmatch(value):
            return None if len(value.strip("-")) < _SHORT_NUMBER else "0"
        return "…"
