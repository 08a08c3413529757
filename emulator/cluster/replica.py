"""One of several processes that share a store: changes reach all of them in the same order."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from emulator.cluster.shared_journal import SharedJournal
from emulator.cluster.snapshot import read_beginning, read_clock, read_scenario, write_world
from emulator.core.bus import ClusterBus, ClusterSnapshot, PendingChange
from emulator.core.clock import Clock
from emulator.core.errors import ProblemError
from emulator.core.json import JSON, Object, as_array, as_integer, as_number, as_object, as_text
from emulator.core.storage import IsolatedReplicaError, Store, StoreLostError
from emulator.runtime.active import Activation, ActiveScenario
from emulator.runtime.factory import make_clock
from emulator.runtime.runtime import LocalController, Runtime
from emulator.runtime.sessions import IDLE
from emulator.scenario.load import load_bundled
from emulator.scenario.models import Clock as WantedClock
from emulator.scenario.parsed import ParsedScenario, ScenarioError

log = logging.getLogger("emulator")
_PATIENCE = 2.0  # real seconds that a change waits for those who do not say that they have it
_LONG_PATIENCE = 15.0  # the same for calls: those of workers are written once somebody reads them
_AGAIN = 0.1  # real seconds until a store that is away is asked once more
_TRIES = 20  # changes that others may make in the meantime
_PAUSE = 0.02  # real seconds until this process has heard of theirs

Change = tuple[Object, Object | None]
"""What is done, and how the world stands then; ``None``: it is no more."""


class Replica(LocalController):
    """Steers all who share a store; a change returns once it holds on every one of them that lives."""

    def __init__(self, runtime: Runtime, commons: ClusterBus, journal: SharedJournal) -> None:
        super().__init__(runtime)
        self._journal = journal
        self._here = runtime
        self._commons = commons
        self._worlds: dict[str, ClusterSnapshot] = {}
        self._birth = ""
        self._silent: frozenset[str] = frozenset()

    async def enter(self) -> None:
        """Become one of them, with every world as it is for the others."""
        await self._here.begin()
        birth, worlds = await self._commons.join()
        for session, world in worlds.items():
            self._adopt(session, world)
        if "" not in worlds:
            await self._tell("", self._write(self._here.active, self._here.active.emulator.clock))
        self._birth = birth

    async def _tell(self, session: str, document: JSON) -> None:
        """Let a world be known that nobody else has told of."""
        await self._commons.change(session, {"op": "begin", "session": session, "world": document}, document, 0)

    async def run(self) -> None:
        """Do what the others do, until cancelled; after the store was away, not before it is known what was missed."""
        is_in = bool(self._birth)
        while True:
            try:
                if not is_in:
                    await (self._enter_again() if self._birth else self.enter())
                    is_in = True
                heard = await self._commons.receive()
                if heard is not None:
                    number, change = heard
                    await self._commons.reply(number, await self._take(number, as_object(change)))
            except StoreLostError:
                is_in = False
                await self._here.store.release()
                await asyncio.sleep(_AGAIN)
            except Exception:  # whatever one change holds, the next is heard
                log.exception("bug in the emulator: a change of replicas")
                await asyncio.sleep(_AGAIN)

    async def put(self, loaded: ParsedScenario, session: str = "", seed: int | None = None) -> None:
        def make() -> Change:
            planned = self._here.plan(loaded, session, seed)
            return {"op": "put"}, self._write(planned, self._own_clock(planned, session), era=os.urandom(6).hex())

        self._validate_capacity(session, loaded)
        await self._change(session, make)

    async def reset(self, session: str = "") -> None:
        def make() -> Change:
            active = self._here.for_session(session)
            clock, now = self._own_clock(active, session), active.emulator.clock.now()
            return {"op": "reset"}, self._write(active, clock, started=now, era=os.urandom(6).hex())

        self._validate_capacity(session)
        await self._change(session, make)

    async def advance(self, seconds: float, session: str = "") -> None:
        def make() -> Change:
            active = self._here.for_session(session)
            clock = active.emulator.clock.fork()
            clock.advance(seconds)
            return {"op": "advance", "seconds": seconds}, self._write(active, clock)

        self._validate_capacity(session)
        await self._change(session, make, keeps=True)

    async def change_clock(self, wanted: WantedClock, session: str = "") -> None:
        def make() -> Change:
            active = self._here.for_session(session)
            return {"op": "clock"}, self._write(active, make_clock(wanted, active.emulator.clock.now()))

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
        return self._here.store.counts_for_all

    async def gather(self, what: str, about: JSON = None) -> Mapping[str, JSON]:
        replies = await self._collect(await self._commons.post({"op": "tell", "what": what, "about": about}))
        return {name: as_object(reply)["told"] for name, reply in replies.items()}

    async def catch_up(self) -> None:
        try:
            await self._collect(await self._commons.post({"op": "send"}), _LONG_PATIENCE)
            await self._journal.read_new()
        except StoreLostError as error:  # what is known here is better than nothing
            log.warning("calls of other replicas are missing, as the store does not answer: %s", error)

    async def forget_idle(self) -> None:
        """End the sessions that nobody has used for long on any of them."""
        now = time.monotonic()
        if not any(now - session.used > IDLE for session in self._here.sessions):
            return
        idle: dict[str, float] = {}
        for told in (await self.gather("sessions")).values():
            for session in map(as_object, as_array(told)):
                name, seconds = as_text(session["name"]), as_number(session["idle_seconds"])
                idle[name] = min(seconds, idle.get(name, seconds))
        for name, seconds in idle.items():
            if seconds > IDLE:
                await self.end_session(name)

    async def _change(self, session: str, make: Callable[[], Change], *, keeps: bool = False) -> Sequence[JSON]:
        """Have all make a change, and forget what the world before has counted, unless it goes on.

        Raises:
            ProblemError: others change the same again and again, or could not follow.
        """
        here = self._here
        for attempt in range(_TRIES):
            if attempt == _TRIES // 2:  # a store that has come back empty knows no version of it
                await self._enter_again()
            what, document = make()
            worlds = set() if keeps else {here.active, here.find(session)}
            known = self._worlds.get(session)
            change: Object = {**what, "session": session, "world": document}
            posted = await self._commons.change(session, change, document, 0 if known is None else known.version)
            if posted is not None:
                break
            await asyncio.sleep(_PAUSE)
        else:
            raise ProblemError(409, "Changed by others", "Other replicas change the same at the same time; try again.")
        replies = await self._collect(posted)
        await self._forget(session, worlds)
        if what["op"] in ("reset", "end"):
            await self._commons.clear(session or None, None if what["op"] == "end" else posted.number)
        for reply in map(as_object, replies.values()):
            if "error" in reply:
                raise ProblemError(409, "Replicas differ", as_text(reply["error"]))
        return [*replies.values()]

    async def _forget(self, session: str, worlds: Iterable[ActiveScenario]) -> None:
        """Forget what worlds counted that are no more: one that has not heard of it may be killed before it does."""
        for world in worlds:
            if session:
                await world.emulator.state.reset(session)
            elif world.namespace not in self._here.states:
                await world.emulator.state.reset()

    async def _collect(self, posted: PendingChange, patience: float = _PATIENCE) -> Mapping[str, JSON]:
        """What those who live say of a change; who did not of the one before is waited for a moment only."""
        replies = await self._commons.gather_replies(posted, patience, self._silent)
        missing = posted.replicas - replies.keys()
        for name in missing - self._silent:
            log.warning("the replica %s does not answer", name)
        self._silent = missing
        if self._commons.replica not in posted.replicas:
            await self._enter_again()
        return replies

    async def _enter_again(self) -> None:
        """Find out what was missed; of a store that came back empty nothing was, and it is told how all stands."""
        birth, worlds = await self._commons.join(again=True)
        emptied = birth != self._birth
        async with self._here.forgetting():
            for session, world in worlds.items():
                known = self._worlds.get(session)
                if known is None or (known.version != world.version and known.document != world.document):
                    self._adopt(session, world)
                self._worlds[session] = world
            unknown = [session for session in self._worlds if session not in worlds]
            for session in () if emptied else unknown:
                del self._worlds[session]
                self._here.end_session(session)
        for session in unknown if emptied else ():
            await self._tell(session, self._worlds[session].document)
        self._birth = birth  # only now is it sure that the store knows all

    async def _take(self, number: int, change: Object) -> Object:
        """Do what a change says; what became of it."""
        if change["op"] == "send":
            await self._journal.send()
            return {}
        if change["op"] == "tell":
            return {"told": await self.report(as_text(change["what"]), change["about"])}
        session, document = as_text(change["session"]), change.get("world")
        if document is not None:
            self._worlds[session] = ClusterSnapshot(number, document)
        elif change["op"] == "end":
            self._worlds.pop(session, None)
        late = await self._journal.begin_epoch(session, number) if change["op"] in ("reset", "end") else None
        try:
            async with self._here.forgetting():
                return await self._do(change, session)
        except (ScenarioError, LookupError) as error:
            log.error("a change of others cannot be made here: %s", error)
            return {"error": f"{self._commons.replica}: {error}"}
        finally:
            if late is not None and change["op"] == "end":
                await self._commons.clear(session, late)

    async def _do(self, change: Object, session: str) -> Object:
        here = self._here
        match change["op"]:
            case "put":
                self._begin(session, as_object(change["world"]))
                await here.follow()
            case "reset" if session:
                here.reset_session(session, read_beginning(as_object(change["world"])))
            case "reset":
                here.reset(read_beginning(as_object(change["world"])))
            case "advance":
                here.advance(as_number(change["seconds"]), session)
            case "clock":
                clock = as_object(as_object(change["world"])["clock"])
                here.change_clock(read_clock(clock, self._commons.now()), session)
            case "end":
                return {"found": here.end_session(session)}
        return {}

    def _adopt(self, session: str, world: ClusterSnapshot) -> None:
        """Stand where the others stand."""
        self._worlds[session] = world
        try:
            self._begin(session, as_object(world.document))
        except (ScenarioError, LookupError) as error:
            log.warning("what the other replicas do cannot be done here: %s", error)

    def _begin(self, session: str, document: Object) -> None:
        """Put to work what others have at work.

        Raises:
            LookupError: it was not sent, and is not here.
        """
        clock = document["clock"]
        beginning = read_beginning(document)
        if clock is not None:
            beginning = Activation(
                read_clock(as_object(clock), self._commons.now()), beginning.started, beginning.epoch
            )
        self._here.put(self._find(document), session, as_integer(document["seed"]), beginning)

    def _find(self, document: Object) -> ParsedScenario:
        here, digest = self._here, document["digest"]
        for loaded in (here.active.loaded, *here.library.values(), *load_bundled().values()):
            if loaded.digest == digest:
                return loaded
        if document["scenario"] is None:
            raise LookupError(f"a scenario of their files with the hash {digest} is none of this process's")
        return read_scenario(as_object(document["scenario"]))

    def _write(
        self, active: ActiveScenario, clock: Clock | None, *, started: float | None = None, era: str | None = None
    ) -> Object:
        return write_world(active, clock, self._commons.now(), started=started, era=era)

    def _own_clock(self, active: ActiveScenario, session: str) -> Clock | None:
        """The clock of a world; ``None``: a session's that is the server's."""
        clock = active.emulator.clock
        return None if session and clock is self._here.active.emulator.clock else clock


_TEND = 3.0  # real seconds between two signs of life
_AGAIN_JOIN = 0.1  # real seconds until a task that goes on is cancelled once more


@asynccontextmanager
async def join_cluster(runtime: Runtime, *, is_patient: bool = False) -> AsyncIterator[None]:
    """Meanwhile the scenario began when it began for the others, and they know that this process lives.

    Args:
        is_patient: a store that is away is joined once it is there.

    Raises:
        StoreLostError: the store cannot be reached, and nobody is patient.
        ApartError: its clock is far from this machine's.
    """
    store = runtime.store
    tasks = []
    if store.bus is not None and isinstance(runtime.journal, SharedJournal):
        runtime.controller = replica = Replica(runtime, store.bus, runtime.journal)
        await _enter(replica, is_patient)
        work = (_tend(store, replica), replica.run(), runtime.journal.run())
        tasks = [asyncio.create_task(each) for each in work]
        await store.heartbeat()
    else:
        await runtime.begin()
    try:
        yield
    finally:
        if isinstance(runtime.journal, SharedJournal):
            with suppress(StoreLostError):
                await runtime.journal.send()
        await end_tasks(tasks)
        await store.close()


async def _enter(replica: Replica, is_patient: bool) -> None:
    try:
        await replica.enter()
    except IsolatedReplicaError:
        raise
    except StoreLostError:
        if not is_patient:
            raise


async def end_tasks(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until all are over.

    Once is not enough: before Python 3.12 :func:`asyncio.wait_for`, with which the store's client writes, loses a
    cancellation that comes as the write ends (python/cpython#86296).
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN_JOIN)


async def _tend(store: Store, replica: Replica) -> None:
    while True:
        await asyncio.sleep(_TEND)
        await store.heartbeat()
        with suppress(StoreLostError):
            await replica.forget_idle()


log = logging.getLogger("emulator")
_AGAIN_REACH = 0.25  # real seconds until it is asked once more


async def await_store(runtime: Runtime, address: str, wait: float) -> None:
    """Return once the store answers.

    Args:
        address: what it is called before people.
        wait: real seconds that it gets.

    Raises:
        StoreLostError: it has not answered by then.
        ApartError: it answers, and its clock is far from this machine's.
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
            left = ends - time.monotonic()
            if left <= 0:
                raise StoreLostError(f"{address} has not answered within {wait:g} s: {error}") from None
            if not is_known:
                log.warning("waiting up to %g s for the store %s: %s", wait, address, error)
            is_known = True
        await asyncio.sleep(min(_AGAIN_REACH, left))
