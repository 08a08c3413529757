"""Tests of the journal's contents and eviction."""

import asyncio
import weakref
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.executor import cooperative
from emulator.core.http import Request
from emulator.core.quota import Left
from emulator.journal.entry import Attempts, JournalEntry, JournalItem, MatchEvidence, RecordedResponse
from emulator.journal.journal import _MAX_PENDING, _MAX_STALE, SCENARIO_BYTES, Journal
from emulator.journal.payload import Payload
from emulator.scenario.credentials import NO_TOKENS
from emulator.scenario.matching import Match, RequestAttributes, RuleResult


class Witness:
    """Explainer that accepts every entry."""

    def __init__(self) -> None:
        self.held = 0
        self.tokens = NO_TOKENS

    def explain(self, entry: JournalEntry) -> tuple[RuleResult, ...]:
        return (RuleResult(entry.id),)

    def read(self, entry: JournalEntry) -> RequestAttributes | None:
        return None

    def respond_again(self, request: Request, match: Match, started: float, quota: Left) -> RecordedResponse:
        return RecordedResponse()


@dataclass(eq=False)
class Call:
    """Journal item that builds its entry on demand."""

    id: str
    size: int = 0
    session: str = ""
    seq: int = 0
    read_before: bool = False
    explainer: Witness | None = None
    fingerprint: bytes = b""
    number: int = 0
    retry_of: str | None = None

    def join(self, attempts: Attempts, before: str | None) -> None:
        self.number, self.retry_of = attempts.count, before

    def load(self) -> JournalEntry:
        self.read_before = True
        return make_entry(self.id)

    def without_payload(self) -> JournalEntry:
        return make_entry(self.id)

    def discard(self) -> None:
        self.drop_payload()

    def drop_payload(self) -> None:
        self.size = 0
        self.explainer = None


def make_entry(
    name: str, *, session: str = "", body: bytes | None = None, witness: Witness | None = None
) -> JournalEntry:
    entry = JournalEntry(
        id=name,
        time=0.0,
        vendor="toy",
        method="POST",
        path="/",
        status=200,
        deployment=None,
        principal="",
        session=session,
        rule=None,
        error=None,
        prompt_tokens=0,
        completion_tokens=0,
        ttft=None,
        duration=0.0,
        whole=True,
    )
    if body is not None:
        wire = Request(method="POST", path="/", body=body)
        kept = Payload(wire)
        kept.measure()
        entry.build_payload = lambda: kept
        entry.evidence = MatchEvidence(witness, Match(), b"", 0)
    return entry


def names(journal: Journal) -> list[str]:
    return [entry.id for entry in journal]


def test_journal_retains_latest_ten_thousand_calls() -> None:
    journal = Journal()
    for number in range(10_010):
        journal.add(make_entry(str(number)))
    assert (len(names(journal)), names(journal)[0]) == (10_000, "10")
    assert journal.find("9") is None
    assert journal.find("10") is not None


def test_calls_explain_themselves_while_payload_is_stored() -> None:
    journal, witness = Journal(most_kept=SCENARIO_BYTES + 100), Witness()
    entries = [make_entry(str(number), body=b"x" * 40, witness=witness) for number in range(4)]
    for entry in entries:
        journal.add(entry)
    assert [bool(entry.explain()) for entry in entries] == [False, False, True, True]
    assert names(journal) == ["0", "1", "2", "3"]


def test_oversized_payload_stays_until_next_call() -> None:
    journal, witness = Journal(most_kept=SCENARIO_BYTES + 10), Witness()
    large, small = (make_entry(body.decode(), body=body, witness=witness) for body in (b"x" * 50, b"x"))
    journal.add(large)
    assert large.explain()
    journal.add(small)
    assert (large.explain(), bool(small.explain())) == ((), True)


@pytest.mark.covers("promises/journal", "how much in all")
def test_payloads_are_limited_to_32_mebibytes() -> None:
    journal = Journal()
    calls = [Call(str(number), 2**20) for number in range(33)]
    for call in calls:
        journal.add(call)
    assert [call.size > 0 for call in calls] == [False] + [True] * 32
    assert (journal.size, journal.evicted_payloads, len(journal)) == (32 * 2**20, 1, 33)


def test_scenario_counts_toward_size_while_calls_use_it() -> None:
    journal, one, two = Journal(), Witness(), Witness()
    for session, witness in (("a", one), ("a", one), ("b", one), ("b", two)):
        journal.add(Call("", 10, session=session, explainer=witness))
    assert (journal.size, one.held, two.held) == (2 * SCENARIO_BYTES + 40, 3, 1)
    journal.clear("b")
    assert (journal.size, one.held, two.held) == (SCENARIO_BYTES + 20, 2, 0)
    journal.clear()
    assert (journal.size, one.held) == (0, 0)


def test_evicted_pending_calls_take_no_space() -> None:
    journal, witness = Journal(), Witness()
    for number in range(_MAX_PENDING * 2):
        journal.add_attempt(Call(str(number), 10, explainer=witness), 5)
    assert (len(journal), journal.size, witness.held) == (5, SCENARIO_BYTES + 50, 5)
    journal.clear()
    assert (journal.size, witness.held) == (0, 0)


def test_scenarios_are_evicted_at_size_limit() -> None:
    journal = Journal()
    witnesses = []
    for number in range(3_000):
        witness = Witness()
        witnesses.append(weakref.ref(witness))
        journal.add(Call(str(number), 1, explainer=witness))
    del witness
    assert sum(witness() is not None for witness in witnesses) <= 32 * 2**20 // SCENARIO_BYTES
    assert len(journal) == 3_000


@pytest.mark.covers("promises/sessions", "a journal of its own")
def test_clear_removes_only_named_session() -> None:
    journal = Journal(most_kept=100)
    for name, session in (("1", "a"), ("2", "b"), ("3", "a")):
        journal.add(make_entry(name, session=session, body=b"x" * 40))
    journal.clear("a")
    assert names(journal) == ["2"]
    journal.clear()
    assert names(journal) == []


def test_listener_receives_each_call() -> None:
    heard: list[JournalItem] = []
    journal = Journal()
    journal.listeners.append(heard.append)
    journal.add(make_entry("1"))
    assert [entry.id for entry in heard] == ["1"]


def test_watcher_receives_additions_and_amendments() -> None:
    heard: list[str] = []
    seen: list[str] = []
    journal = Journal()
    journal.listeners.append(lambda entry: heard.append(entry.id))
    journal.watchers.append(lambda entry: seen.append(entry.id))
    entry = make_entry("1")
    journal.add(entry)
    journal.amend(entry)
    assert (heard, seen) == (["1"], ["1", "1"])


def test_since_returns_later_calls() -> None:
    journal = Journal()
    for name, session in (("1", ""), ("2", "a"), ("3", "")):
        journal.add(make_entry(name, session=session))
    assert [call.id for call in journal.since(1)] == ["2", "3"]
    assert journal.since(3) == []


def test_since_skips_calls_of_cleared_session() -> None:
    journal = Journal()
    for name, session in (("1", "a"), ("2", ""), ("3", "a"), ("4", "")):
        journal.add(make_entry(name, session=session))
    journal.clear("a")
    journal.add(make_entry("5", session="a"))
    assert [call.id for call in journal.since(0)] == ["2", "4", "5"]
    assert [call.id for call in journal.since(2)] == ["4", "5"]
    assert [call.id for call in journal.since(0, 2)] == ["2", "4"]
    assert [call.id for call in journal.since(2, 1)] == ["4"]
    assert [call.id for call in journal.since(3, 9)] == ["4", "5"]
    assert [call.id for call in journal.list_calls()] == ["2", "4", "5"]


def test_follow_evicts_oldest_fingerprint() -> None:
    journal = Journal()
    journal.follow("", b"seldom", "first")
    for number in range(20_000):
        journal.follow("", b"often", f"o{number}")
        journal.follow("", number.to_bytes(4), f"n{number}")
    again, before = journal.follow("", b"seldom", "second")
    often, _ = journal.follow("", b"often", "last")
    assert (again.count, before, often.count) == (1, None, 20_001)


def test_call_is_loaded_only_when_read() -> None:
    journal = Journal()
    reported: list[str] = []
    silent, heard = Call("1"), Call("2")
    journal.add(silent)
    journal.listeners.append(lambda call: reported.append(call.id))
    journal.watchers.append(lambda call: reported.append(call.id))
    journal.add(heard)
    assert reported == ["2", "2"]
    assert (silent.read_before, heard.read_before) == (False, False)
    assert [call.id for call in journal.since(0)] == ["1", "2"]
    assert not silent.read_before
    assert journal.find("1") is not None
    assert silent.read_before


@pytest.mark.parametrize("size", [0, 10])
def test_evicted_call_is_freed(size: int) -> None:
    journal = Journal()
    calls = [Call(str(number), size) for number in range(5)]
    gone = [weakref.ref(call) for call in calls[:3]]
    while calls:
        journal.add(calls.pop(0), 2)
    assert [call() for call in gone] == [None, None, None]
    assert [call.id for call in journal.since(0)] == names(journal) == ["3", "4"]


def test_calls_of_all_sessions_are_evicted_in_arrival_order() -> None:
    journal = Journal()
    for name, session in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "a")):
        journal.add(make_entry(name, session=session), 2)
    assert [call.id for call in journal.since(0)] == names(journal) == ["2", "3", "4"]


def test_cleared_sessions_leave_bounded_bookkeeping() -> None:
    journal = Journal()
    for number in range(30):
        for call in range(100):
            journal.add(Call(f"{number}.{call}", 10, session=str(number)))
        if number:
            journal.clear(str(number))
    assert (len(journal), journal.size) == (100, 1000)
    assert [call.id for call in journal.since(0)] == [call.id for call in journal.list_calls("0")]
    assert len(journal._order) <= 2 * len(journal) + _MAX_STALE
    assert len(journal._payloads) <= len(journal._order)


_Step = tuple[str, str, int]
_STEPS = st.tuples(st.sampled_from(["soon", "soon", "soon", "at once", "clear", "look"]), *[
    st.sampled_from(["", "a", "b"]), st.integers(0, 4)
])  # fmt: skip


@given(steps=st.lists(_STEPS, max_size=60))
def test_deferred_entries_equal_immediate_entries(steps: list[_Step]) -> None:
    slow, quick = Journal(most_kept=100), Journal(most_kept=100)
    slow.listeners.append(lambda call: None)  # it has to be notified at once
    reported: list[tuple[Call, Call]] = []
    for number, (step, session, choice) in enumerate(steps):
        if step == "clear":
            slow.clear(session or None)
            quick.clear(session or None)
        elif step == "look":
            assert quick.size == slow.size
        else:
            pair = Call(str(number), 10 * choice, session), Call(str(number), 10 * choice, session)
            reported.append(pair)
            for journal, call in zip((slow, quick), pair, strict=True):
                call.fingerprint = b"%d" % choice
                if step == "soon":
                    journal.add_attempt(call, 5)
                else:
                    call.join(*journal.follow(session, call.fingerprint, call.id))
                    journal.add(call, 5)
    assert (quick.latest, quick.evicted_entries, len(quick), quick.size) == (
        *(slow.latest, slow.evicted_entries, len(slow), slow.size),
    )
    assert [call.id for call in quick.since(0)] == [call.id for call in slow.since(0)]
    assert [vars(one) for one, _ in reported] == [vars(other) for _, other in reported]


def test_pending_calls_are_found_and_counted() -> None:
    journal = Journal()
    for number in range(_MAX_PENDING + 5):
        journal.add_attempt(Call(str(number)))
    journal.add_attempt(Call("of another session", session="a"))
    assert journal.find("3") is not None
    assert (journal.latest, len(journal)) == (_MAX_PENDING + 6, _MAX_PENDING + 6)


async def test_cooperative_iteration_yields_to_other_tasks() -> None:
    calls = [Call(str(number)) for number in range(1000)]
    turns: list[int] = []

    async def take_turns() -> None:
        while not calls[-1].read_before:
            turns.append(sum(call.read_before for call in calls))
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    async with asyncio.timeout(10):
        assert [call.load().id async for call in cooperative(calls)] == [call.id for call in calls]
        await other
    assert {*range(100, 1000, 100)} <= {*turns}


def test_cleared_session_epochs_are_bounded() -> None:
    journal = Journal()
    eras = [journal.epoch("a")]
    for number in range(30_000):
        journal.clear(f"session {number}")
    journal.clear("a")
    eras.append(journal.epoch("a"))
    journal.clear("a")
    eras.append(journal.epoch("a"))
    journal.clear()
    eras.append(journal.epoch("a"))
    assert len(set(eras)) == 4
    assert len(journal._epochs) <= 20_000
