"""Store of several workers without Redis: state in each worker, and a message bus in the parent over a Unix socket."""

import asyncio
import logging
import os
import shutil
import socket
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import count, islice
from pathlib import Path
from urllib.parse import SplitResult

from emulator.core.bus import MAX_READ, REPLY_TIMEOUT, ClusterSnapshot, PendingChange
from emulator.core.json import JSON, Object, as_array, as_integer, as_number, as_object, as_text, dump_json, parse_json
from emulator.core.storage import StoreLostError
from emulator.storage.documents import DEFAULT_LIMITS, StorageLimits
from emulator.storage.memory import MemoryState

__all__ = ["HUB_SOCKET", "hub_folder", "open_hub", "serve_hub"]

log = logging.getLogger("emulator")
_MAX_JOURNAL_BYTES = 64 * 1024**2  # of all sessions
_MIN_ORDER = 20_000  # entries; then those of records that their session has dropped are removed
_STORE_ID = "hub"


class InMemoryBus:
    """Bus in the memory of the parent process: changes, snapshots and journals.

    The methods correspond to those of :class:`emulator.core.bus.ClusterBus`.
    """

    def __init__(self) -> None:
        self._number = 0
        self._snapshots: dict[str, ClusterSnapshot] = {}
        self._inboxes: dict[str, asyncio.Queue[tuple[int, JSON]]] = {}
        self._replies: dict[int, dict[str, JSON]] = {}
        self._replied = asyncio.Condition()
        self._journals: dict[str, deque[tuple[int, str]]] = {}
        self._order: deque[tuple[int, str]] = deque()
        self._max_order = _MIN_ORDER
        self._size = 0

    def join(self, replica: str) -> tuple[str, Mapping[str, ClusterSnapshot]]:
        inbox = self._inboxes.setdefault(replica, asyncio.Queue())  # a replica that joins again waits on its inbox
        while not inbox.empty():
            inbox.get_nowait()
        return _STORE_ID, self._snapshots

    async def leave(self, replica: str) -> None:
        """Remove a replica, and stop waiting for its replies."""
        self._inboxes.pop(replica, None)
        async with self._replied:
            self._replied.notify_all()

    def post(self, change: JSON) -> PendingChange:
        self._number += 1
        for inbox in self._inboxes.values():
            inbox.put_nowait((self._number, change))
        self._replies[self._number] = {}
        return PendingChange(self._number, frozenset(self._inboxes))

    def change(self, session: str, change: JSON, document: JSON, before: int) -> PendingChange | None:
        known = self._snapshots.get(session)
        if (0 if known is None else known.version) != before:
            return None
        posted = self.post(change)
        if document is None:
            self._snapshots.pop(session, None)
        else:
            self._snapshots[session] = ClusterSnapshot(posted.number, document)
        return posted

    async def receive(self, replica: str) -> tuple[int, JSON]:
        return await self._inboxes[replica].get()

    async def reply(self, replica: str, number: int, reply: JSON) -> None:
        if number in self._replies:
            self._replies[number][replica] = reply
            async with self._replied:
                self._replied.notify_all()

    async def gather_replies(
        self, number: int, replicas: Iterable[str], silent: Iterable[str], timeout: float
    ) -> Mapping[str, JSON]:
        replies = self._replies.get(number, {})

        def are_all(asked: Iterable[str]) -> bool:
            return all(replica in replies or replica not in self._inboxes for replica in asked)

        async with self._replied:
            for asked, seconds in ((replicas, timeout), (silent, REPLY_TIMEOUT)):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._replied.wait_for(partial(are_all, asked)), seconds)
        self._replies.pop(number, None)
        return replies

    def append(self, session: str, entries: Sequence[str], most: int) -> int:
        journal = self._journals.setdefault(session, deque())
        first = self._number + 1
        for self._number, text in enumerate(entries, first):
            journal.append((self._number, text))
            self._order.append((self._number, session))
            self._size += len(text)
        while len(journal) > most:
            self._size -= len(journal.popleft()[1])
        while self._size > _MAX_JOURNAL_BYTES:
            self._drop_first()
        if len(self._order) > self._max_order:
            kept = [(number, name) for name, records in self._journals.items() for number, _ in records]
            self._order = deque(sorted(kept))
            self._max_order = max(_MIN_ORDER, 2 * len(kept))
        return first

    def _drop_first(self) -> None:
        number, session = self._order.popleft()
        journal = self._journals.get(session)
        if journal and journal[0][0] == number:
            self._size -= len(journal.popleft()[1])

    def read(self, after: int) -> Sequence[tuple[int, str]]:
        bound, found = self._number, []
        for journal in self._journals.values():
            new = [*islice(_find_new(journal, after), MAX_READ + 1)]
            if len(new) > MAX_READ:
                bound = min(bound, new[-2][0])
            found += new
        return sorted(call for call in found if call[0] <= bound)

    def clear(self, session: str | None, until: int | None) -> None:
        for name in [*self._journals] if session is None else [session]:
            journal = self._journals.get(name, deque())
            while journal and (until is None or journal[0][0] <= until):
                self._size -= len(journal.popleft()[1])
            if not journal:
                self._journals.pop(name, None)
        if not self._journals:
            self._order.clear()


def _find_new(journal: deque[tuple[int, str]], after: int) -> Iterable[tuple[int, str]]:
    """Return the records after a number, oldest first; searches from the end, as most records are older."""
    count = 0
    for number, _ in reversed(journal):
        if number <= after:
            break
        count += 1
    return islice(journal, len(journal) - count, None)


MAX_LINE = 2**30  # maximum bytes of one line


@asynccontextmanager
async def serve_hub(path: Path) -> AsyncIterator[None]:
    """Serve the bus on a Unix socket within the context; a worker that disconnects is removed."""
    bus = InMemoryBus()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _WorkerConnection(bus, writer).serve(reader)

    server = await asyncio.start_unix_server(serve, path, limit=MAX_LINE)
    try:
        yield
    finally:
        server.close()


class _WorkerConnection:
    """Connection of a worker; the first line has its name, each further line a verb with arguments."""

    def __init__(self, bus: InMemoryBus, writer: asyncio.StreamWriter) -> None:
        self._bus = bus
        self._writer = writer
        self._name = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Answer requests until the worker disconnects."""
        try:
            while line := await reader.readline():
                task = asyncio.create_task(self._answer(as_object(parse_json(line))))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except (ConnectionError, ValueError):
            pass
        finally:
            for task in self._tasks:
                task.cancel()
            await self._bus.leave(self._name)
            self._writer.close()

    async def _answer(self, question: Object) -> None:
        answer: Object = {"n": question["n"]}
        try:
            answer["gives"] = await self._do(as_text(question["verb"]), as_array(question["takes"]))
            line = dump_json(answer)
        except Exception as error:  # the worker would wait for ever
            log.exception("bug in the emulator: a question of a worker")
            line = dump_json({"n": question["n"], "bug": repr(error)})
        with suppress(ConnectionError):
            self._writer.write(line + b"\n")
            await self._writer.drain()

    async def _do(self, verb: str, takes: list[JSON]) -> JSON:
        match verb, takes:
            case "enter", [name]:
                self._name = as_text(name)
                store_id, snapshots = self._bus.join(self._name)
                return [store_id, {session: [one.version, one.document] for session, one in snapshots.items()}]
            case "append" | "read" | "clear", _:
                return self._run_journal_verb(verb, takes)
        return await self._pass_on(verb, takes)

    async def _pass_on(self, verb: str, takes: list[JSON]) -> JSON:
        """Run a verb about changes and replies."""
        bus = self._bus
        match verb, takes:
            case "post", [change]:
                return _encode_change(bus.post(change))
            case "change", [session, change, document, before]:
                posted = bus.change(as_text(session), change, document, as_integer(before))
                return None if posted is None else _encode_change(posted)
            case "hear", []:
                return [*await bus.receive(self._name)]
            case "reply", [number, reply]:
                await bus.reply(self._name, as_integer(number), reply)
                return None
            case "collect", [number, replicas, silent, timeout]:
                names, others = ([as_text(name) for name in as_array(each)] for each in (replicas, silent))
                return {**await bus.gather_replies(as_integer(number), names, others, as_number(timeout))}
        raise ValueError(verb)

    def _run_journal_verb(self, verb: str, takes: list[JSON]) -> JSON:
        """Run a verb about journals."""
        match verb, takes:
            case "append", [session, entries, most]:
                texts = [as_text(entry) for entry in as_array(entries)]
                return self._bus.append(as_text(session), texts, as_integer(most))
            case "read", [after]:
                return [[*call] for call in self._bus.read(as_integer(after))]
            case "clear", [session, until]:
                name = None if session is None else as_text(session)
                self._bus.clear(name, None if until is None else as_integer(until))
                return None
        raise ValueError(verb)


def _encode_change(posted: PendingChange) -> JSON:
    return [posted.number, sorted(posted.replicas)]


def open_hub(url: SplitResult, limits: StorageLimits = DEFAULT_LIMITS) -> "IpcStore":
    """Open ``hub:///path``: state in this process, and a bus shared with the other workers."""
    return IpcStore(url.path, limits)


class IpcStore:
    """Store with a new state in this process's memory for each namespace, and a bus between workers."""

    counts_for_all = False
    health = None

    def __init__(self, path: str, limits: StorageLimits = DEFAULT_LIMITS) -> None:
        self.bus = IpcBus(path)
        self._limits = limits

    def open(self, namespace: str) -> MemoryState:
        return MemoryState(self._limits)

    async def start_namespace(self, namespace: str, now: float) -> float:
        return now

    async def heartbeat(self) -> bool:
        """Do nothing: a closed socket tells the parent process that a worker has ended."""
        return True

    async def release(self) -> None:
        """Do nothing: the bus ends with the parent process, and its workers with it."""

    async def close(self) -> None:
        await self.bus.close()


class HubError(RuntimeError):
    """Exception in the hub: a bug of the emulator; its message is that exception."""


class IpcBus:
    """Implementation of :class:`emulator.core.bus.ClusterBus` on a Unix socket."""

    outlives = False

    def __init__(self, path: str) -> None:
        self._path = path
        self._name = f"worker:{os.getpid()}"
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[JSON]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def replica(self) -> str:
        return self._name

    def now(self) -> float:
        return time.time()

    async def join(self, *, again: bool = False) -> tuple[str, Mapping[str, ClusterSnapshot]]:
        store_id, snapshots = as_array(await self._ask("enter", self._name))
        pairs = {session: as_array(pair) for session, pair in as_object(snapshots).items()}
        return as_text(store_id), {
            session: ClusterSnapshot(as_integer(at), document) for session, (at, document) in pairs.items()
        }

    async def post(self, change: JSON) -> PendingChange:
        return _read_posted(await self._ask("post", change))

    async def change(self, session: str, change: JSON, document: JSON, before: int) -> PendingChange | None:
        answer = await self._ask("change", session, change, document, before)
        return None if answer is None else _read_posted(answer)

    async def receive(self) -> tuple[int, JSON] | None:
        number, change = as_array(await self._ask("hear"))
        return as_integer(number), change

    async def reply(self, number: int, reply: JSON) -> None:
        await self._ask("reply", number, reply)

    async def gather_replies(
        self, posted: PendingChange, timeout: float, silent: frozenset[str] = frozenset()
    ) -> Mapping[str, JSON]:
        asked = sorted(posted.replicas - silent), sorted(posted.replicas & silent)
        return as_object(await self._ask("collect", posted.number, *asked, timeout))

    async def append(self, session: str, entries: Sequence[bytes], most: int, batch: str) -> int:
        return as_integer(await self._ask("append", session, [entry.decode() for entry in entries], most))

    async def read(self, after: int) -> Sequence[tuple[int, bytes]]:
        calls = map(as_array, as_array(await self._ask("read", after)))
        return [(as_integer(number), as_text(text).encode()) for number, text in calls]

    async def clear(self, session: str | None, until: int | None) -> None:
        await self._ask("clear", session, until)

    async def close(self) -> None:
        """Close the connection."""
        if self._writer is not None and self._reading is not None:
            self._writer.close()
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _ask(self, verb: str, *takes: JSON) -> JSON:
        writer = self._writer or await self._connect()
        if writer.is_closing():
            raise StoreLostError("the process that started this worker is gone")
        number = next(self._numbers)
        answer: asyncio.Future[JSON] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        writer.write(dump_json({"n": number, "verb": verb, "takes": takes}) + b"\n")
        try:
            result = await answer
        finally:
            del self._waiting[number]
        return result

    async def _connect(self) -> asyncio.StreamWriter:
        try:
            reader, self._writer = await asyncio.open_unix_connection(self._path, limit=MAX_LINE)
        except OSError as error:
            raise StoreLostError(str(error)) from None
        self._reading = asyncio.create_task(self._read(reader))
        return self._writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                answer = as_object(parse_json(line))
                waiter = self._waiting.get(as_integer(answer["n"]))
                if waiter is None or waiter.done():
                    continue
                if "bug" in answer:
                    waiter.set_exception(HubError(as_text(answer["bug"])))
                else:
                    waiter.set_result(answer["gives"])
        except ConnectionError:
            pass  # a parent process that is killed with unread questions resets the connection
        finally:
            if self._writer is not None:
                self._writer.close()
            for waiter in self._waiting.values():
                if not waiter.done():
                    waiter.set_exception(StoreLostError("the process that started this worker is gone"))


def _read_posted(answer: JSON) -> PendingChange:
    number, replicas = as_array(answer)
    return PendingChange(as_integer(number), frozenset(map(as_text, as_array(replicas))))


HUB_SOCKET = "hub"
_PREFIX = "emulator-hub-"
_START_TIMEOUT = 60.0  # real seconds in which a new hub may still be about to listen


@contextmanager
def hub_folder(within: Path | None = None) -> Iterator[Path]:
    """Create a temporary folder for the socket; delete the folders that killed processes left.

    Args:
        within: parent folder; ``None``: the system's folder for temporary files.
    """
    place = Path(tempfile.gettempdir()) if within is None else within
    for left in place.glob(f"{_PREFIX}*"):
        if _is_dead(left / HUB_SOCKET):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _is_dead(hub: Path) -> bool:
    """Return whether no process listens on a socket; one that cannot be checked, as another user's, counts as alive."""
    try:
        if time.time() - hub.lstat().st_mtime < _START_TIMEOUT:
            return False
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1.0)
            client.connect(str(hub))
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
