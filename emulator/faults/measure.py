"""From a vendor's answer to a delivery that knows which bytes carry which tokens, whatever the vendor.

The answer is worded a second time with every letter changed: strings that differ are those that carry
tokens, and nothing else of the vendor's format needs to be known.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from emulator.core.delivery import Delivery, Piece
from emulator.core.plan import Choice, Plan
from emulator.core.wire import WireResponse, WireStream
from emulator.faults.json_text import Text, find_strings, read_string

Answer = WireResponse | WireStream
Word = Callable[[Plan], Answer]

_FRAME = re.compile(rb".+?(?:\r?\n\r?\n)+|.+", re.DOTALL)
_KEPT = " \t\r\n"  # vendors cut their events at these
_BLANK = re.compile(rb'"(?:[ \t\r\n]|\\[nrt])+"')
_GAP = 2  # characters of the tokens that a vendor may write by itself, such as an opening bracket
_SHORTEST = 2  # characters a string must share with the tokens to be taken for their beginning


def measure(answer: Answer, *, due: float = 0.0, plan: Plan | None = None, word: Word | None = None) -> Delivery:
    """The answer as data.

    Args:
        due: when an answer in one piece is sent, seconds after admission.
        plan: what the answer says; absent: it has no tokens.
        word: gives the answer to a plan, in the vendor's words.
    """
    tokens = _list_tokens(plan) if plan is not None else ()
    texts = tuple(token for _, token in tokens)
    other = word(_disguise(plan)) if plan is not None and word is not None and any(texts) else None
    if isinstance(answer, WireStream):
        frames = list(_split(answer))
        disguised = list(_split(other)) if isinstance(other, WireStream) else frames
        pieces = _count_stream(frames, disguised, _Tokens(tokens))
        return Delivery(
            status=answer.status,
            headers=answer.headers,
            pieces=pieces,
            streamed=True,
            chunked=True,
            end=pieces[-1].due if pieces else 0.0,
            texts=texts,
        )
    body = other.body if isinstance(other, WireResponse) else answer.body
    pieces = _count_body(answer.body, body, due, _Tokens(tokens)) if answer.body else ()
    return Delivery(
        status=answer.status,
        headers=answer.headers,
        pieces=pieces,
        streamed=False,
        chunked=answer.chunked,
        start=due,
        end=due,
        close=answer.close,
        texts=texts,
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """One event of a stream; a vendor may write several at once."""

    due: float
    data: bytes
    flush: bool


def _split(stream: WireStream) -> Iterator[_Frame]:
    for due, written in stream.events:
        parts = _FRAME.findall(written)
        for number, part in enumerate(parts, 1):
            yield _Frame(due, part, number == len(parts))


def _list_tokens(plan: Plan) -> tuple[tuple[int, str], ...]:
    """Every token with the number of its span, in the order in which they are due."""
    spans = [
        (choice.due[at], number, at, span, choice.tokens[at])
        for number, choice in enumerate(plan.choices)
        for span, at in _walk(choice)
    ]
    return tuple((number * 10_000 + span, token) for _, number, _, span, token in sorted(spans))


def _walk(choice: Choice) -> Iterator[tuple[int, int]]:
    for number, span in enumerate(choice.spans):
        for at in range(span.start, span.end):
            yield number, at


def _disguise(plan: Plan) -> Plan:
    """The same plan with other letters: blanks, lengths in UTF-8 and everything else stay."""
    choices = tuple(replace(c, tokens=tuple(map(_change, c.tokens))) for c in plan.choices)
    return replace(plan, choices=choices)


def _change(text: str) -> str:
    return "".join(char if char in _KEPT else _change_char(char) for char in text)


def _change_char(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(1 + code % 8)  # another that is no blank
    if code < 0x7F:
        return chr(0x21 + (code - 0x20) % 94)
    return chr(code ^ 1)


class _Tokens:
    """The tokens of an answer as one text.

    Fields:
        ends: how many characters the first 1, 2, … tokens have.
        spans: the tokens of each span.
        starts: where each span begins.
    """

    def __init__(self, tokens: Sequence[tuple[int, str]]) -> None:
        self.texts = [token for _, token in tokens]
        self.text = "".join(self.texts)
        self.ends = list(accumulate(len(token) for _, token in tokens))
        self.spans: dict[int, list[int]] = {}
        for index, (span, _) in enumerate(tokens):
            self.spans.setdefault(span, []).append(index)
        self.starts = sorted(self.ends[places[0] - 1] if places[0] else 0 for places in self.spans.values())

    def count(self, characters: int) -> int:
        """How many tokens lie within so many characters; one without a text comes with the next one that has."""
        if not characters or characters == len(self.text):
            return len(self.ends) if characters else 0
        before = bisect_left(self.ends, characters)
        return before + (before < len(self.ends) and self.ends[before] == characters)

    def advance(self, at: int, text: str) -> int:
        """How many characters have been said after ``text``, when ``at`` had been before it."""
        found = self.text.find(text, at, at + len(text) + _GAP)
        if found >= 0:
            return found + len(text)
        if at and len(text) > at and self.text.startswith(text):
            return len(text)  # all said so far, once more
        for start in self.starts:  # a span that is not shown
            if start > at and self.text.startswith(text, start):
                return start + len(text)
        rest = self.text[at:]
        if rest and text.startswith(rest):
            return len(self.text)  # the end, and something of the vendor's own
        bare = text.rstrip("\r\n\0")
        if bare and bare != text:
            return self.advance(at, bare)  # a line of a vendor that sends no JSON
        if at:
            return at
        longest = min(len(rest), len(text))  # the beginning, and something in front of it
        return next((n for n in range(longest, _SHORTEST - 1, -1) if text.endswith(rest[:n])), 0)


def _find_carriers(data: bytes, other: bytes) -> list[Text]:
    """The strings that differ when the letters of the tokens do, and blank ones; all, if the two are not alike."""
    if data == other and not _BLANK.search(data):
        return []
    strings = find_strings(data)
    others = strings if data == other else find_strings(other)
    if len(strings) != len(others):
        return [read_string(*string) for string in strings]
    pairs = zip(strings, others, strict=True)
    return [read_string(*one) for one, two in pairs if one[1] != two[1] or _BLANK.fullmatch(b'"%b"' % one[1])]


def _count_stream(frames: Sequence[_Frame], others: Sequence[_Frame], tokens: _Tokens) -> tuple[Piece, ...]:
    """Events with the tokens that the client has once it has read each; with the last it has all there are."""
    alike = len(frames) == len(others)
    pieces = []
    at = 0
    for index, frame in enumerate(frames):
        for text in _find_carriers(frame.data, others[index].data if alike else b""):
            if text.value:
                at = tokens.advance(at, text.value)
        last = index + 1 == len(frames)
        count = len(tokens.texts) if last else tokens.count(at)
        pieces.append(Piece(frame.due, frame.data, count, flush=frame.flush))
    return tuple(pieces)


def _count_body(body: bytes, other: bytes, due: float, tokens: _Tokens) -> tuple[Piece, ...]:
    """The body cut before the first token and after each."""
    shown = _locate(_find_carriers(body, other), tokens)
    counts: dict[int, int] = {}
    if shown:
        counts[min(start for start, _ in shown.values())] = 0
        reached = 0
        for place in sorted(shown):
            reached = max(reached, shown[place][1])
            counts[reached] = place + 1
    counts[len(body)] = len(tokens.texts)
    pieces = []
    start = 0
    for end in sorted(place for place in counts if place):
        whole = end == len(body)
        pieces.append(Piece(due, body[start:end], counts[end], last=whole, flush=whole))
        start = end
    return tuple(pieces)


def _locate(carriers: Sequence[Text], tokens: _Tokens) -> dict[int, tuple[int, int]]:
    """Where each token that is shown begins and ends in the body."""
    shown: dict[int, tuple[int, int]] = {}
    cursor: dict[int, int] = {}
    for places in tokens.spans.values():
        said = "".join(tokens.texts[place] for place in places)
        found = _find_said(carriers, said, cursor) if said else None
        if found is None:
            continue
        text, reached = found
        cursor[id(text)] = reached[-1]
        at = 0
        for place in places:
            end = at + len(tokens.texts[place])
            if reached[end] > reached[at]:
                shown[place] = text.ends[reached[at]], text.ends[reached[end]]
            at = end
    return shown


def _find_said(carriers: Sequence[Text], said: str, cursor: dict[int, int]) -> tuple[Text, Sequence[int]] | None:
    """The first string that says it, from where earlier spans end in it, and where each character of it ends there."""
    for text in carriers:
        at = text.value.find(said, cursor.get(id(text), 0))
        if at >= 0:
            return text, range(at, at + len(said) + 1)
    for text in carriers:  # a vendor that writes JSON anew leaves blanks out
        reached = _align(said, text.value)
        if reached is not None:
            return text, reached
    return None


def _align(said: str, value: str) -> Sequence[int] | None:
    """Where each character of ``said`` ends in ``value``, which is the same but for blanks."""
    at = 0
    reached = [0]
    for char in said:
        if value[at : at + 1] == char:
            at += 1
        elif not char.isspace():
            return None
        reached.append(at)
    return reached if at == len(value) else None
