"""Compile the query of ``/_emulator/requests`` or ``/events``, such as ``?status=429``, to a test of one record."""

from collections.abc import Callable, Iterator

from emulator.control.models import Filters, RequestEntry
from emulator.journal.entry import JournalEntry, JournalItem

Filter = Callable[[JournalItem], bool]
_Test = Callable[[JournalEntry], bool]


def compile_filters(filters: Filters) -> Filter:
    """Compile a test that all given filters match; it builds whole entries only to filter by summary."""
    wanted = tuple(_compile(filters))
    whole = filters.summary is not None

    def matches(call: JournalItem) -> bool:
        if not wanted:
            return True
        entry = call.load() if whole else call.without_payload()
        return all(holds(entry) for holds in wanted)

    return matches


def _compile(filters: Filters) -> Iterator[_Test]:
    """Compile a test for each field that is set, slow ones last."""
    for fault in (filters.fault, filters.faults):
        if fault is not None:
            yield lambda entry, fault=fault: fault in entry.faults  # type: ignore[misc]  # the default binds it
    if filters.matched is not None:
        matched = filters.matched == "true"
        yield lambda entry: (entry.rule is not None) is matched
    for name in RequestEntry.model_fields:
        wanted = getattr(filters, name)
        if wanted is not None and name != "faults":
            yield _compile_field(name, wanted)


def _compile_field(name: str, wanted: str | float) -> _Test:
    def holds(entry: JournalEntry) -> bool:
        value = getattr(entry, name)
        if isinstance(value, bool):
            value = "true" if value else "false"
        return bool(("" if value is None else value) == wanted)

    return holds
