"""Format the messages of failed verifications: expectation, number of requests, the nearest ones field by field.

``verify.py`` answers 406 with them, and the clients raise them as ``AssertionError``.
"""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from emulator.control.call_pattern import EVICTED, FieldComparison, Pattern, Value
from emulator.control.models import CallCount
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, dump_text
from emulator.journal.entry import JournalEntry
from emulator.scenario.conditions import Bounds, Comparison, Condition
from emulator.scenario.matchers import ABSENT

_MAX = 60  # characters of a value
_BEFORE = 15  # characters shown before the first difference
_MAX_VALUES = 3
_WORDS = {"prefix": "starts with", "suffix": "ends with", "regex": "matches", "not": "is not"}


def format_wanted(wanted: Condition | JSON, start: int = 0) -> str:
    """Format a condition, such as ``contains 'tides'`` or ``above 400``; of a long text the part from ``start``."""
    if isinstance(wanted, str):
        return f"is {format_value(wanted, start)}"
    if isinstance(wanted, tuple):
        return " or ".join(format_value(name) for name in wanted[:_MAX_VALUES]) + _and_more(len(wanted))
    if isinstance(wanted, Bounds):
        given = {"above": wanted.above, "below": wanted.below}
        return " and ".join(f"{name} {_format_number(bound)}" for name, bound in given.items() if bound is not None)
    if isinstance(wanted, Comparison):
        return " and ".join(_format_key(name, getattr(wanted, name)) for name in _fields(wanted))
    return format_value(wanted)


def _fields(comparison: Comparison) -> list[str]:
    return [name for name in type(comparison).model_fields if name in comparison.model_fields_set]


def _format_key(name: str, value: Condition) -> str:
    """Format one key of a comparison."""
    key = name.rstrip("_")
    if isinstance(value, bool):
        return key.replace("_", " ")
    inner = f"({format_wanted(value)})" if isinstance(value, Comparison) else format_value(value)
    return f"{_WORDS.get(key, key)} {inner}"


def format_value(value: Value | Condition, start: int = 0) -> str:
    if value is ABSENT:
        return "none"
    if value is EVICTED:
        return "no longer kept"
    if isinstance(value, tuple):
        return ", ".join(format_value(each) for each in value[:_MAX_VALUES]) + _and_more(len(value))
    if isinstance(value, str):
        return _cut(value, start)
    if isinstance(value, float):
        return _format_number(value)
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    return _shorten(dump_text(value))


def format_found(finding: FieldComparison) -> tuple[str, str]:
    """Format wanted and found value; of two long texts the parts where they begin to differ."""
    value, wanted = finding.value, finding.wanted
    start = 0
    if isinstance(value, str) and isinstance(wanted, str):
        start = max(0, _count_equal(value, wanted) - _BEFORE)
    elif isinstance(value, str) and isinstance(wanted, Comparison) and wanted.suffix is not None:
        start = max(0, len(value) - _MAX)
    return format_wanted(wanted, start if isinstance(wanted, str) else 0), format_value(value, start)


def _count_equal(left: str, right: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def one_line(text: str, most: int = _MAX) -> str:
    """Replace unprintable characters, so that text stays on one line, and shorten it."""
    return _shorten("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text), most)


def _cut(text: str, start: int) -> str:
    if len(text) <= _MAX:
        return repr(text)
    cut = text[start : start + _MAX]
    before, after = "…" if start else "", "…" if start + _MAX < len(text) else ""
    return f"'{before}{repr(cut)[1:-1]}{after}'"


def _shorten(text: str, most: int = _MAX) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _format_number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _and_more(count: int) -> str:
    return f" and {count - _MAX_VALUES} more" if count > _MAX_VALUES else ""


MAX_LINES = 40
_MAX_NEAR = 8  # requests that are shown field by field
_MAX_LISTED = 10  # requests, steps or sessions that are named
_EVIDENT = ("status",)  # fields that the first line of a request has


@fast_dataclass(frozen=True, slots=True)
class RequestsMade:
    """Requests that were made, in order.

    Fields:
        session: ``None``: all sessions.
        elsewhere: number of requests by session, if ``entries`` is empty.
    """

    session: str | None
    entries: Sequence[JournalEntry]
    elsewhere: Mapping[str, int]

    def describe(self) -> str:
        """Format the number of requests: ``3 calls were made in session 'a'``."""
        count = len(self.entries)
        where = "" if self.session is None else f" in session {self.session!r}" if self.session else " in no session"
        return f"{count or 'no'} {_calls(count)} {_were(count)} made{where}"


def describe_count(
    pattern: Pattern, count: CallCount, found: Sequence[JournalEntry], made: RequestsMade, within: float = 0.0
) -> str:
    """Describe a wrong number of requests, in up to 40 lines."""
    many = _format_count(count)
    waited = f" within {within:g} s" if within and len(found) < count.least else ""
    there = f"there {'was none' if not found else f'{_were(len(found))} {len(found)}'}{waited}"
    says = f"expected {many}{_format_pattern(pattern)}; {there}"
    if len(found) > count.least:
        lines = [f"{says}:", *_list(found)]
    else:
        taken = set(found)
        lines = [f"{says}{_name(found)}."]
        lines += _describe_near(pattern, made, [entry for entry in made.entries if entry not in taken])
    return "\n".join(lines[:MAX_LINES])


def describe_order(
    patterns: Sequence[Pattern], found: Sequence[JournalEntry], made: RequestsMade, within: float = 0.0
) -> str:
    """Describe requests out of order; ``found``: those of the first steps."""
    reached, missing = len(found), patterns[len(found)]
    waited = f" within {within:g} s" if within else ""
    lines = [
        f"expected {len(patterns)} {_calls(len(patterns))} in this order; number {reached + 1} is missing{waited}:"
    ]
    first = max(0, min(reached - _MAX_LISTED // 2, len(patterns) - _MAX_LISTED))
    for number, pattern in list(enumerate(patterns))[first : first + _MAX_LISTED]:
        after = f" after #{found[-1].seq}" if found else ""
        came = _format_found(found[number]) if number < reached else f"none{after}" if number == reached else "…"
        lines.append(f"  {number + 1}. a call{_format_pattern(pattern)}: {came}")
    last = found[-1].start_seq if found else 0
    earlier = [entry for entry in made.entries if entry.start_seq <= last and missing.holds(entry)]
    if earlier:
        lines.append(f"such a call came before{_name(earlier)}.")
    lines += _describe_near(missing, made, [entry for entry in made.entries if entry.start_seq > last])
    return "\n".join(lines[:MAX_LINES])


def _format_found(entry: JournalEntry) -> str:
    """Format a call that was found in its place: number and prompt."""
    return f"#{entry.seq} {_cut(entry.prompt_line, 0)}" if entry.prompt_line else f"#{entry.seq}"


def _format_count(count: CallCount) -> str:
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


def _format_pattern(pattern: Pattern) -> str:
    """Format a pattern: `` of databricks whose prompt contains 'tides', status 200``."""
    facets = list(pattern.facets)
    of = ""
    if facets and facets[0][0] == "vendor" and isinstance(facets[0][1], tuple):
        of, facets = f" of {one_line(' or '.join(facets[0][1]))}", facets[1:]
    rest = [f"{one_line(name)} {_format_predicate(wanted, number)}" for number, (name, wanted) in enumerate(facets)]
    return f"{of} whose {', '.join(rest)}" if rest else of


def _format_predicate(wanted: Condition | JSON, number: int) -> str:
    """Format a condition as the end of a sentence: ``contains 'tides'``, ``is 200``, behind another just ``200``."""
    text = format_wanted(wanted)
    return text if number or isinstance(wanted, str | Comparison) else f"is {text}"


def _describe_near(pattern: Pattern, made: RequestsMade, others: Sequence[JournalEntry]) -> Iterator[str]:
    """Yield the number of requests, and those that come nearest."""
    if not others:
        yield f"{made.describe()}{', and no other' if made.entries else _format_elsewhere(made.elsewhere)}."
        return
    ranked = sorted(others, key=lambda entry: (-pattern.count(entry), -entry.seq))[:_MAX_NEAR]
    nearest = "the nearest" if pattern.facets else "the latest"
    which = f"{nearest} of the other {len(others)}" if len(others) < len(made.entries) else nearest
    yield f"{made.describe()}; {which}:"
    for entry in sorted(ranked, key=lambda entry: (-pattern.count(entry), entry.seq)):
        yield from _describe_call(pattern, entry)
    if len(others) > len(ranked):
        yield f"  and {len(others) - len(ranked)} more."


def _describe_call(pattern: Pattern, entry: JournalEntry) -> Iterator[str]:
    found, marks = [], []
    for finding in pattern.judge(entry):
        name = one_line(finding.name)
        if finding.holds:
            marks.append(f"{name} ✓")
            continue
        wanted, value = format_found(finding)
        marks.append(f"{name} ✗ {wanted}")
        if finding.name not in _EVIDENT:
            found.append(f"{name}: {value}")
    yield "   ".join([_format_call(entry), *found])
    if marks:
        yield f"      {'   '.join(marks)}"


def _format_call(entry: JournalEntry) -> str:
    return f"  #{entry.seq} {one_line(entry.method)} {one_line(entry.path)} {entry.status or 'no answer'}"


def _list(entries: Sequence[JournalEntry]) -> Iterator[str]:
    for entry in entries[:_MAX_LISTED]:
        yield _format_call(entry)
    if len(entries) > _MAX_LISTED:
        yield f"  and {len(entries) - _MAX_LISTED} more."


def _name(entries: Sequence[JournalEntry]) -> str:
    """Format references to entries: ``: #1, #4``."""
    named = ", ".join(f"#{entry.seq}" for entry in entries[:_MAX_LISTED])
    more = f" and {len(entries) - _MAX_LISTED} more" if len(entries) > _MAX_LISTED else ""
    return f": {named}{more}" if entries else ""


def _format_elsewhere(counts: Mapping[str, int]) -> str:
    """Format counts of other sessions: ``; there are 3 in session 'b'``."""
    named = [
        f"{count} in {f'session {name!r}' if name else 'no session'}" for name, count in [*counts.items()][:_MAX_LISTED]
    ]
    return f"; there are {', '.join(named)}" if named else ""


def _calls(count: int) -> str:
    return "call" if count == 1 else "calls"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
