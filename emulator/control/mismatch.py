"""What a person needs when calls were not as expected: what was, how many came, and the nearest, facet by facet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulator.control.calls import Pattern
from emulator.control.entry import Entry
from emulator.control.models import CallCount
from emulator.control.wording import one_line, word_found, word_wanted

MOST_LINES = 40
_MOST_NEAR = 8  # calls that are shown facet by facet
_MOST_LISTED = 10  # calls, steps or sessions that are named
_EVIDENT = ("status",)  # the line of a call has it


@dataclass(frozen=True, slots=True)
class Made:
    """The calls that were made, in the order in which they came.

    Fields:
        session: whose they are; ``None``: all.
        elsewhere: where there are none, how many there are in other sessions.
    """

    session: str | None
    entries: Sequence[Entry]
    elsewhere: Mapping[str, int]

    def describe(self) -> str:
        """``3 calls were made in session 'a'``."""
        count = len(self.entries)
        where = "" if self.session is None else f" in session {self.session!r}" if self.session else " in no session"
        return f"{count or 'no'} {_calls(count)} {_were(count)} made{where}"


def describe_count(pattern: Pattern, count: CallCount, found: Sequence[Entry], made: Made, within: float = 0.0) -> str:
    """Other calls than expected: too few, or too many."""
    many = _word_count(count)
    waited = f" within {within:g} s" if within and len(found) < count.least else ""
    there = f"there {'was none' if not found else f'{_were(len(found))} {len(found)}'}{waited}"
    says = f"expected {many}{_word_pattern(pattern)}; {there}"
    if len(found) > count.least:
        lines = [f"{says}:", *_list(found)]
    else:
        taken = set(found)
        lines = [f"{says}{_name(found)}."]
        lines += _describe_near(pattern, made, [entry for entry in made.entries if entry not in taken])
    return "\n".join(lines[:MOST_LINES])


def describe_order(patterns: Sequence[Pattern], found: Sequence[Entry], made: Made, within: float = 0.0) -> str:
    """Calls that did not come in the order expected; ``found``: those of the first steps."""
    reached, missing = len(found), patterns[len(found)]
    waited = f" within {within:g} s" if within else ""
    lines = [
        f"expected {len(patterns)} {_calls(len(patterns))} in this order; number {reached + 1} is missing{waited}:"
    ]
    first = max(0, min(reached - _MOST_LISTED // 2, len(patterns) - _MOST_LISTED))
    for number, pattern in list(enumerate(patterns))[first : first + _MOST_LISTED]:
        after = f" after #{found[-1].seq}" if found else ""
        came = f"#{found[number].seq}" if number < reached else f"none{after}" if number == reached else "…"
        lines.append(f"  {number + 1}. a call{_word_pattern(pattern)}: {came}")
    last = found[-1].arrival if found else 0
    earlier = [entry for entry in made.entries if entry.arrival <= last and missing.holds(entry)]
    if earlier:
        lines.append(f"such a call came before{_name(earlier)}.")
    lines += _describe_near(missing, made, [entry for entry in made.entries if entry.arrival > last])
    return "\n".join(lines[:MOST_LINES])


def _word_count(count: CallCount) -> str:
    least, most = count.least, count.most
    if most == 0:
        return "no call"
    if most is None:
        return f"at least {least} {_calls(least)}"
    if count.exactly is not None:
        return f"exactly {most} {_calls(most)}"
    if not least:
        return f"at most {most} {_calls(most)}"
    return f"{least} to {most} calls"


def _word_pattern(pattern: Pattern) -> str:
    """`` of databricks whose prompt contains 'tides', status 200``."""
    facets = list(pattern.facets)
    of = ""
    if facets and facets[0][0] == "vendor" and isinstance(facets[0][1], tuple):
        of, facets = f" of {one_line(' or '.join(facets[0][1]))}", facets[1:]
    rest = ", ".join(f"{one_line(name)} {word_wanted(wanted)}" for name, wanted in facets)
    return f"{of} whose {rest}" if rest else of


def _describe_near(pattern: Pattern, made: Made, others: Sequence[Entry]) -> Iterator[str]:
    """How many calls were made, and those of them that come nearest."""
    if not others:
        yield f"{made.describe()}{', and no other' if made.entries else _word_elsewhere(made.elsewhere)}."
        return
    ranked = sorted(others, key=lambda entry: (-pattern.count(entry), -entry.seq))[:_MOST_NEAR]
    nearest = "the nearest" if pattern.facets else "the latest"
    which = f"{nearest} of the other {len(others)}" if len(others) < len(made.entries) else nearest
    yield f"{made.describe()}; {which}:"
    for entry in sorted(ranked, key=lambda entry: (-pattern.count(entry), entry.seq)):
        yield from _describe_call(pattern, entry)
    if len(others) > len(ranked):
        yield f"  and {len(others) - len(ranked)} more."


def _describe_call(pattern: Pattern, entry: Entry) -> Iterator[str]:
    found, marks = [], []
    for finding in pattern.judge(entry):
        name = one_line(finding.name)
        if finding.holds:
            marks.append(f"{name} ✓")
            continue
        wanted, value = word_found(finding)
        marks.append(f"{name} ✗ {wanted}")
        if finding.name not in _EVIDENT:
            found.append(f"{name}: {value}")
    yield "   ".join([_word_call(entry), *found])
    if marks:
        yield f"      {'   '.join(marks)}"


def _word_call(entry: Entry) -> str:
    return f"  #{entry.seq} {one_line(entry.method)} {one_line(entry.path)} {entry.status or 'no answer'}"


def _list(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries[:_MOST_LISTED]:
        yield _word_call(entry)
    if len(entries) > _MOST_LISTED:
        yield f"  and {len(entries) - _MOST_LISTED} more."


def _name(entries: Sequence[Entry]) -> str:
    """``: #1, #4``."""
    named = ", ".join(f"#{entry.seq}" for entry in entries[:_MOST_LISTED])
    more = f" and {len(entries) - _MOST_LISTED} more" if len(entries) > _MOST_LISTED else ""
    return f": {named}{more}" if entries else ""


def _word_elsewhere(counts: Mapping[str, int]) -> str:
    """``; there are 3 in session 'b'``."""
    named = [
        f"{count} in {f'session {name!r}' if name else 'no session'}"
        for name, count in [*counts.items()][:_MOST_LISTED]
    ]
    return f"; there are {', '.join(named)}" if named else ""


def _calls(count: int) -> str:
    return "call" if count == 1 else "calls"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
