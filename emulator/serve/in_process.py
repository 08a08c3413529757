"""Run an emulator in the current process, on a thread of its own and on free ports.

Users' tests, the pytest plugin, ``emulator try`` and ``emulator diff`` run one so.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import TracebackType

from emulator.client import EmulatorClient
from emulator.client.scenario import Source
from emulator.control.models import ScenarioState
from emulator.core.clock import Clock
from emulator.core.dataclass import fast_dataclass
from emulator.core.reply_call import ReplyFunction
from emulator.generation.vocabulary_files import take_sent_paths
from emulator.handler.forward import Forwarding
from emulator.handler.reply_functions import ReplyFunctions
from emulator.http.listeners import Listeners, number_ports
from emulator.http.proactor import find_loop_class
from emulator.observability.access_log import AccessLog
from emulator.scenario.models import BUILT_IN
from emulator.scenario.parsed import ParsedScenario
from emulator.serve.application import Application, create_application
from emulator.vendors import VENDORS

_HOST = "127.0.0.1"
_THREAD_TIMEOUT = 30.0  # wall-clock seconds for the thread to begin or to end
_DRAIN = 0.2  # seconds that open responses get at shutdown: their clients are in this process and have gone on


@fast_dataclass(frozen=True, slots=True)
class Targets:
    """Services that unmatched calls are forwarded to: base URL by vendor, and the folder to record them in."""

    forward: Mapping[str, str] = field(default_factory=dict)
    record_to: Path | None = None


class LocalEmulator(EmulatorClient):
    """Client with an emulator of its own, which ends when the client is closed."""

    def __init__(
        self,
        log: Path | None = None,
        loaded: ParsedScenario | None = None,
        seed: int | None = None,
        targets: Targets | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._server = _ServerThread(log, loaded, seed, targets or _NO_TARGETS, clock)
        super().__init__(self._server.begin())

    def close(self) -> None:
        """End the client's session; without a session, end the emulator.

        Raises:
            Exception: the function of a reply raised it, and no test has taken it.
        """
        super().close()
        if not self._is_part:
            self._server.end()
            error = self._server.functions.take_error()
            if error is not None:
                raise error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and not self._is_part:
            self._server.functions.take_error()  # the error of the block comes first
        super().__exit__(kind, error, at)

    def reply(
        self,
        text: str | ReplyFunction | None = None,
        /,
        *,
        when: Mapping[str, object] | None = None,
        times: int | Mapping[str, object] | None = None,
        name: str | None = None,
        **keys: object,
    ) -> ScenarioState:
        """Add a rule, before the others, that fixes the answer: its text, or a function that returns it."""
        __tracebackhide__ = True
        given = {"when": when, "times": times, "name": name}
        if not callable(text):
            return super().reply(text, **given, **keys)  # type: ignore[arg-type]
        if keys:
            raise TypeError(f"{next(iter(keys))}: a function returns all keys of the reply")
        state = super().reply("{prompt}", template=True, **given)  # type: ignore[arg-type]
        self._server.functions.functions[self.session_name, state.rules[0]] = text
        return state

    def take_function_error(self) -> Exception | None:
        """Return what a function of this session's replies raised, once."""
        return self._server.functions.take_error(self.session_name)

    @contextmanager
    def recording(self, session: str, folder: Path) -> Iterator[list[Path]]:
        """Record the forwarded calls of a session in a folder; it and the yielded files are complete at the end."""
        forwarding = self._server.forwarding
        assert forwarding is not None
        forwarding.folders[session] = folder
        written = forwarding.written[session] = []
        try:
            yield written
        finally:
            self._server.run(forwarding.finish(session))


def start_here(
    sources: Sequence[Source], keys: Mapping[str, object], log: Path | None = None, targets: Targets | None = None
) -> LocalEmulator:
    """Start an emulator with a scenario; stop it again if the scenario has mistakes."""
    emulator = LocalEmulator(log, targets=targets)
    try:
        if sources or any(value is not None for value in keys.values()):
            emulator.load(*sources, **keys)
    except BaseException:
        emulator.close()
        raise
    return emulator


_NO_TARGETS = Targets()


class _ServerThread:
    """Server thread.

    Args:
        log: file for the access log.
        loaded: scenario to begin with; ``seed`` overrides its seed, ``clock`` its clock.
    """

    def __init__(
        self,
        log: Path | None,
        loaded: ParsedScenario | None,
        seed: int | None,
        targets: Targets = _NO_TARGETS,
        clock: Clock | None = None,
    ) -> None:
        self._log = log
        self._clock = clock
        self.forwarding = Forwarding(targets.forward, targets.record_to) if targets.forward else None
        self.functions = ReplyFunctions()
        self._loaded = loaded or ParsedScenario(BUILT_IN)
        self._seed = seed
        self._url: Future[str] = Future()
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="emulator", daemon=True)

    def begin(self) -> str:
        """Start the thread and return the URL of the front port once all ports are open."""
        self._thread.start()
        return self._url.result(_THREAD_TIMEOUT)

    def run(self, work: Coroutine[object, object, None]) -> None:
        """Run a coroutine on the thread, and wait for it."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_THREAD_TIMEOUT)

    def end(self) -> None:
        """Stop the thread and wait for its end; idempotent."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(_THREAD_TIMEOUT)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=find_loop_class()) as runner:
                runner.run(self._serve())
        except BaseException as error:
            if self._url.done():
                raise
            self._url.set_exception(error)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        take_sent_paths()
        application = create_application(
            self._loaded, seed=self._seed, forwarding=self.forwarding, functions=self.functions
        )
        if self._clock is not None:
            application.runtime.change_clock(self._clock, restarts=True)
        listeners = Listeners(application.runtime, application.control, drain=_DRAIN)
        with _logging(application, self._log):
            await listeners.open(_HOST, number_ports(VENDORS, 0))
            self._url.set_result(listeners.urls["front"])
            await self._stop.wait()
            await listeners.close()
            if self.forwarding is not None:
                await self.forwarding.close()


@contextmanager
def _logging(application: Application, path: Path | None) -> Iterator[None]:
    """Append the access log to a file, which other processes may share."""
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        access = AccessLog(as_json=False, stream=file, colour=False)
        application.journal.listeners.append(access)
        yield
        access.flush()
