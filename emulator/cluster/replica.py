"""Controller of one replica among several that share a store: all apply the same changes in the same order.

Such changes are of scenario, clock and session. ``await_store`` waits at the start until the store responds;
``join_cluster`` keeps the replica in the cluster while the server runs.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from emulator.cluster.shared_journal import SharedJournal
from emulator.cluster.snapshot import encode_snapshot, parse_activation, parse_clock, parse_scenario
from emulator.core.bus import ClusterBus, ClusterSnapshot, PendingChange
from emulator.core.clock import Clock
from emulator.core.errors import ProblemError
from emulator.core.json import JSON, Object, as_array, as_integer, as_number, as_object, as_text
from emulator.core.storage import IsolatedReplicaError, Store, StoreLostError
from emulator.runtime.active import Activation, ActiveScenario
from emulator.runtime.factory import make_clock
from emulator.runtime.runtime import Controller, Runtime
from emulator.runtime.sessions import IDLE_TIMEOUT
from emulator.scenario.load import load_bundled
from emulator.scenario.models import Clock as WantedClock
from emulator.scenario.parsed import ParsedScenario, ScenarioError

log = logging.getLogger("emulator")
_REPLY_TIMEOUT = 2.0  # wall-clock seconds that a change waits for the replies of all replicas
_JOURNAL_TIMEOUT = 15.0  # the same for calls, which workers write when they are read
_RETRY = 0.1  # wall-clock seconds between two attempts to reach the store
_MAX_TRIES = 20  # conflicting changes of other replicas
_PAUSE = 0.02  # wall-clock seconds until this process has applied a conflicting change

Change = tuple[Object, Object | None]
"""Change, and the snapshot of the scenario afterwards; ``None``: the session ends."""


class Replica(Controller):
    """Controller of all replicas that share a store; a change returns once every live replica has applied it."""

    def __init__(self, runtime: Runtime, bus: ClusterBus, journal: SharedJournal) -> None:
        super().__init__(runtime)
        self._journal = journal
        self._local = runtime
        self._bus = bus
        self._snapshots: dict[str, ClusterSnapshot] = {}
        self._birth = ""
        self._silent: frozenset[str] = frozenset()

    async def enter(self) -> None:
        """Join the cluster and adopt the active scenarios of the others."""
        await self._local.begin()
        birth, snapshots = await self._bus.join()
        for session, snapshot in snapshots.items():
            self._adopt(session, snapshot)
        if "" not in snapshots:
            await self._publish("", self._encode(self._local.active, self._local.active.emulator.clock))
        self._birth = birth

    async def _publish(self, session: str, document: JSON) -> None:
        """Publish an active scenario that no other replica has published."""
        await self._bus.change(session, {"op": "begin", "session": session, "world": document}, document, 0)

    async def run(self) -> None:
        """Apply changes until cancelled; after a lost connection, join again first."""
        is_in = bool(self._birth)
        while True:
            try:
                if not is_in:
                    await (self._enter_again() if self._birth else self.enter())
                    is_in = True
                heard = await self._bus.receive()
                if heard is not None:
                    number, change = heard
                    await self._bus.reply(number, await self._take(number, as_object(change)))
            except StoreLostError:
                is_in = False
                await self._local.store.release()
                await asyncio.sleep(_RETRY)
            except Exception:  # a bug in one change must not end the loop
                log.exception("bug in the emulator: a change of replicas")
                await asyncio.sleep(_RETRY)

    async def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None:
        def make() -> Change:
            planned = self._local.plan(loaded, session, seed)
            return {"op": "put"}, self._encode(planned, self._own_clock(planned, session), epoch=os.urandom(6).hex())

        self._validate_capacity(session, loaded)
        await self._change(session, make)

    async def reset(self, session: str = "") -> None:
        self._validate_capacity(session)
        await self._reset(session)
        if not session:
            for name in self._local.list_own_sessions():
                await self._reset(name)

    async def _reset(self, session: str) -> None:
        def make() -> Change:
            active = self._local.for_session(session)
            clock, now = self._own_clock(active, session), active.emulator.clock.now()
            return {"op": "reset"}, self._encode(active, clock, started=now, epoch=os.urandom(6).hex())

        await self._change(session, make)

    async def advance(self, seconds: float, session: str = "") -> None:
        def make() -> Change:
            active = self._local.for_session(session)
            clock = active.emulator.clock.fork()
            clock.advance(seconds)
            return {"op": "advance", "seconds": seconds}, self._encode(active, clock)

        self._validate_capacity(session)
        await self._change(session, make, keeps=True)

    async def change_clock(self, wanted: WantedClock, session: str = "") -> None:
        def make() -> Change:
            active = self._local.for_session(session)
            return {"op": "clock"}, self._encode(active, make_clock(wanted, active.emulator.clock.now()))

        self._validate_capacity(session)
        await self._change(session, make, keeps=True)

    async def end_session(self, session: str) -> bool:
        replies = await self._change(session, lambda: ({"op": "end"}, None))
        return any(as_object(reply).get("found") for reply in replies)

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def counts_for_all(self) -> bool:
        return self._local.store.counts_for_all

    async def gather(self, what: str, about: JSON = None) -> Mapping[str, JSON]:
        replies = await self._collect(await self._bus.post({"op": "tell", "what": what, "about": about}))
        return {name: as_object(reply)["told"] for name, reply in replies.items()}

    async def catch_up(self) -> None:
        try:
            await self._collect(await self._bus.post({"op": "send"}), _JOURNAL_TIMEOUT)
            await self._journal.read_new()
        except StoreLostError as error:  # the journal of this replica is better than none
            log.warning("calls of other replicas are missing, as the store does not answer: %s", error)

    async def end_idle_sessions(self) -> None:
        """End the sessions that no replica has used for long."""
        now = time.monotonic()
        if not any(now - session.used > IDLE_TIMEOUT for session in self._local.sessions):
            return
        idle: dict[str, float] = {}
        for reports in (await self.gather("sessions")).values():
            for session in map(as_object, as_array(reports)):
                name, seconds = as_text(session["name"]), as_number(session["idle_seconds"])
                idle[name] = min(seconds, idle.get(name, seconds))
        for name, seconds in idle.items():
            if seconds > IDLE_TIMEOUT:
                await self.end_session(name)

    async def _change(self, session: str, make: Callable[[], Change], *, keeps: bool = False) -> Sequence[JSON]:
        """Apply a change on all replicas, and delete the counters of the replaced scenario unless ``keeps``.

        Raises:
            ProblemError: other replicas change the same repeatedly, or a replica failed to apply the change.
        """
        here = self._local
        for attempt in range(_MAX_TRIES):
            if attempt == _MAX_TRIES // 2:  # a store that lost its data has no version of the scenario
                await self._enter_again()
            what, document = make()
            replaced = set() if keeps else {here.active, here.find(session)}
            stored = self._snapshots.get(session)
            change: Object = {**what, "session": session, "world": document}
            posted = await self._bus.change(session, change, document, 0 if stored is None else stored.version)
            if posted is not None:
                break
            await asyncio.sleep(_PAUSE)
        else:
            raise ProblemError(409, "Changed by others", "Other replicas change the same at the same time; try again.")
        replies = await self._collect(posted)
        await self._reset_counters(session, replaced)
        if what["op"] in ("reset", "end"):
            await self._bus.clear(session or None, None if what["op"] == "end" else posted.number)
        for reply in map(as_object, replies.values()):
            if "error" in reply:
                raise ProblemError(409, "Replicas differ", as_text(reply["error"]))
        return [*replies.values()]

    async def _reset_counters(self, session: str, scenarios: Iterable[ActiveScenario]) -> None:
        """Delete the counters of replaced scenarios; replicas that miss the change may be killed before they do so."""
        for active in scenarios:
            if session:
                await active.emulator.state.reset(session)
            elif active.namespace not in self._local.states:
                await active.emulator.state.reset()

    async def _collect(self, posted: PendingChange, timeout: float = _REPLY_TIMEOUT) -> Mapping[str, JSON]:
        """Return the replies of live replicas; replicas that missed the previous change are not awaited for long."""
        replies = await self._bus.gather_replies(posted, timeout, self._silent)
        missing = posted.replicas - replies.keys()
        for name in missing - self._silent:
            log.warning("the replica %s does not answer", name)
        self._silent = missing
        if self._bus.replica not in posted.replicas:
            await self._enter_again()
        return replies

    async def _enter_again(self) -> None:
        """Join again and catch up; if the store lost its data, publish every active scenario again."""
        birth, snapshots = await self._bus.join(again=True)
        emptied = birth != self._birth
        async with self._local.deleting_unused_counters():
            for session, snapshot in snapshots.items():
                stored = self._snapshots.get(session)
                if stored is None or (stored.version != snapshot.version and stored.document != snapshot.document):
                    self._adopt(session, snapshot)
                self._snapshots[session] = snapshot
            unknown = [session for session in self._snapshots if session not in snapshots]
            for session in () if emptied else unknown:
                del self._snapshots[session]
                self._local.end_session(session)
        for session in unknown if emptied else ():
            await self._publish(session, self._snapshots[session].document)
        self._birth = birth  # only after everything is published

    async def _take(self, number: int, change: Object) -> Object:
        """Apply a change and return the reply."""
        if change["op"] == "send":
            await self._journal.send()
            return {}
        if change["op"] == "tell":
            return {"told": await self.report(as_text(change["what"]), change["about"])}
        session, document = as_text(change["session"]), change.get("world")
        if document is not None:
            self._snapshots[session] = ClusterSnapshot(number, document)
        elif change["op"] == "end":
            self._snapshots.pop(session, None)
        late = await self._journal.begin_epoch(session, number) if change["op"] in ("reset", "end") else None
        try:
            async with self._local.deleting_unused_counters():
                return await self._do(change, session)
        except (ScenarioError, LookupError) as error:
            log.error("a change of another replica cannot be applied here: %s", error)
            return {"error": f"{self._bus.replica}: {error}"}
        finally:
            if late is not None and change["op"] == "end":
                await self._bus.clear(session, late)

    async def _do(self, change: Object, session: str) -> Object:
        here = self._local
        match change["op"]:
            case "put":
                self._begin(session, as_object(change["world"]))
                await here.follow()
            case "reset" if session:
                here.reset_session(session, parse_activation(as_object(change["world"])))
            case "reset":
                here.reset(parse_activation(as_object(change["world"])))
            case "advance":
                here.advance(as_number(change["seconds"]), session)
            case "clock":
                clock = as_object(as_object(change["world"])["clock"])
                here.change_clock(parse_clock(clock, self._bus.now()), session)
            case "end":
                return {"found": here.end_session(session)}
        return {}

    def _adopt(self, session: str, snapshot: ClusterSnapshot) -> None:
        """Adopt the active scenario of the other replicas."""
        self._snapshots[session] = snapshot
        try:
            self._begin(session, as_object(snapshot.document))
        except (ScenarioError, LookupError) as error:
            log.warning("the scenario of the other replicas cannot be activated here: %s", error)

    def _begin(self, session: str, document: Object) -> None:
        """Activate the scenario of a snapshot.

        Raises:
            LookupError: the snapshot refers to a file that this process has not loaded.
        """
        clock = document["clock"]
        activation = parse_activation(document)
        if clock is not None:
            activation = Activation(
                parse_clock(as_object(clock), self._bus.now()), activation.started, activation.epoch
            )
        self._local.put(self._find(document), session, as_integer(document["seed"]), activation)

    def _find(self, document: Object) -> ParsedScenario:
        here, digest = self._local, document["digest"]
        for loaded in (here.active.loaded, *here.library.values(), *load_bundled().values()):
            if loaded.digest == digest:
                return loaded
        if document["scenario"] is None:
            raise LookupError(f"this process has loaded no scenario file with the hash {digest}")
        return parse_scenario(as_object(document["scenario"]))

    def _encode(
        self, active: ActiveScenario, clock: Clock | None, *, started: float | None = None, epoch: str | None = None
    ) -> Object:
        return encode_snapshot(active, clock, self._bus.now(), started=started, epoch=epoch)

    def _own_clock(self, active: ActiveScenario, session: str) -> Clock | None:
        """Return the clock of an active scenario; ``None``: a session uses the server's clock."""
        clock = active.emulator.clock
        return None if session and clock is self._local.active.emulator.clock else clock


_HEARTBEAT = 3.0  # wall-clock seconds between two heartbeats
_MAX_ENTRIES = 3  # attempts to join
_RETRY_CANCEL = 0.1  # wall-clock seconds until a task that still runs is cancelled again


@asynccontextmanager
async def join_cluster(runtime: Runtime, *, is_patient: bool = False) -> AsyncIterator[None]:
    """Join the cluster for the time of the block: share start times and send heartbeats.

    Args:
        is_patient: an unreachable store is joined later.

    Raises:
        StoreLostError: the store cannot be reached, and ``is_patient`` is false.
        IsolatedReplicaError: its clock is far from this machine's.
    """
    store = runtime.store
    tasks = []
    if store.bus is not None and isinstance(runtime.journal, SharedJournal):
        runtime.controller = replica = Replica(runtime, store.bus, runtime.journal)
        await _enter(store, replica, is_patient)
        work = (_send_heartbeats(store, replica), replica.run(), runtime.journal.run())
        tasks = [asyncio.create_task(each) for each in work]
        await store.heartbeat()
    else:
        await runtime.begin()
    try:
        yield
    finally:
        try:
            if isinstance(runtime.journal, SharedJournal):
                with suppress(StoreLostError):
                    await runtime.journal.send()
        finally:
            await end_tasks(tasks)
            await store.close()


async def _enter(store: Store, replica: Replica, is_patient: bool) -> None:
    """Join the cluster; one late reply of a busy store ends no start."""
    for left in reversed(range(_MAX_ENTRIES)):
        try:
            return await replica.enter()
        except IsolatedReplicaError:
            raise
        except StoreLostError:
            await store.release()
            if not left and not is_patient:
                raise


async def end_tasks(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until all have ended.

    One cancellation may be lost: before Python 3.12 :func:`asyncio.wait_for`, which the store's client uses, drops one
    that arrives as the write ends (python/cpython#86296).
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_RETRY_CANCEL)


async def _send_heartbeats(store: Store, replica: Replica) -> None:
    while True:
        await asyncio.sleep(_HEARTBEAT)
        try:
            await store.heartbeat()
            await replica.end_idle_sessions()
        except StoreLostError:
            continue
        except Exception:  # without heartbeats the others would take this replica for dead
            log.exception("bug in the emulator: the heartbeat of a replica")


_RETRY_REACH = 0.25  # wall-clock seconds between two attempts


async def await_store(runtime: Runtime, address: str, wait: float) -> None:
    """Wait until the store responds.

    Args:
        address: the store's URL as messages show it.
        wait: maximum wall-clock seconds.

    Raises:
        StoreLostError: it has not responded in time.
        IsolatedReplicaError: its clock is far from this machine's.
    """
    ends = time.monotonic() + wait
    is_known = False
    while True:
        try:
            await runtime.begin()
            return
        except IsolatedReplicaError:
            raise
        except StoreLostError as error:
            await runtime.store.release()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # `asyncio.wait_for` of Python 3.11 loses a cancellation that comes as the connection fails.
                raise asyncio.CancelledError from None
            left = ends - time.monotonic()
            if left <= 0:
                raise StoreLostError(f"{address} has not answered within {wait:g} s: {error}") from None
            if not is_known:
                log.warning("waiting up to %g s for the store %s: %s", wait, address, error)
            is_known = True
        await asyncio.sleep(min(_RETRY_REACH, left))
