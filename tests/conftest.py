"""A running emulator for tests: on the test's own loop, or on a thread for clients that block."""

import asyncio
import gc
import re
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml  # noqa: F401  # pytester drops what a test imports, and PyYAML 6.0.4 cannot be imported twice
from hypothesis import HealthCheck, settings

from emulator.core.vendor import AnyVendor
from emulator.handler.forward import Forwarding
from emulator.http.certificates import load_authority, make_context
from emulator.http.listeners import Listeners, number_ports
from emulator.http.tls import find_names
from emulator.observability.spans import Spans
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.vendors import VENDORS
from tests.http_client import JOURNAL_OBSERVERS, OBSERVERS, Running
from tests.storage.servers import KINDS, find_server
from tests.storage.servers import running as serving

pytest_plugins = ("pytester", "tests.platforms.cannot")

if TYPE_CHECKING:
    from tests.conformance.official.descriptions import Folder
    from tests.conformance.official.observe import Observer

_OBSERVER: pytest.StashKey["Observer"] = pytest.StashKey()
Start = Callable[..., Awaitable[Running]]
settings.register_profile(
    "emulator",
    deadline=None,
    derandomize=True,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine decides no test
)
settings.load_profile("emulator")
_WHOLLY_SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)
FROZEN = "version: 1\nname: test\nclock: frozen\n"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite the golden exchanges that differ")
    parser.addoption("--official", type=Path, metavar="FOLDER", help="hold all answers against official descriptions")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules of slow tests where none is selected: their imports (vendors' clients) take 8 s a process."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return True if _WHOLLY_SLOW.search(collection_path.read_text(encoding="utf-8")) else None


def pytest_configure(config: pytest.Config) -> None:
    """Keep the garbage collector from traversing thousands of collected tests, which live to the end."""
    gc.disable()
    if config.option.official is not None:
        from tests.conformance.official.observe import Observer

        observer = Observer(config.option.official)
        OBSERVERS.append(observer.observe)
        JOURNAL_OBSERVERS.append(observer.observe_journal)
        config.stash[_OBSERVER] = observer


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if an answer deviates from its description in a way that the list of deviations does not have."""
    observer = session.config.stash.get(_OBSERVER, None)
    if observer is not None and (observer.found or not observer.answers):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    observer = config.stash.get(_OBSERVER, None)
    if observer is not None:
        terminalreporter.section(f"{observer.answers.total()} answers held against official descriptions")
        for label, number in sorted(observer.answers.items()):
            terminalreporter.line(f"{label}: {number}")
        for deviation, where in sorted(observer.found.items()):
            terminalreporter.line(f"{deviation}  ({where})")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture
def terminal() -> Iterator[None]:
    """Let SIGHUP end the processes that a test starts, also if the tests run under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@asynccontextmanager
async def running(
    scenario: str,
    tls: Path | None = None,
    vendors: Iterable[AnyVendor] | None = None,
    spans: Spans | None = None,
    forwarding: Forwarding | None = None,
) -> AsyncIterator[Running]:
    """An emulator on free ports; a scenario without ``version`` gets the frozen one's head."""
    text = scenario if "version:" in scenario else FROZEN + scenario
    served = VENDORS if vendors is None else {vendor.name: vendor for vendor in vendors}
    built = create_application(load_text(text), vendors=served, spans=spans, forwarding=forwarding)
    listeners = Listeners(built.runtime, built.control)
    authority = load_authority(tls) if tls is not None else None
    context = make_context(authority, find_names("127.0.0.1")) if authority is not None else None
    built.control.authority = authority.pem if authority is not None else None
    ports = number_ports(served, 0)
    await listeners.open("127.0.0.1", ports, context)
    try:
        certificate = authority.path if authority is not None else None
        yield Running(built, listeners.urls, certificate, listeners=listeners)
    finally:
        await listeners.close()


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start an emulator: ``running = await start("rules: …")``; without a ``version`` line the clock is frozen."""
    opened = []

    async def begin(
        scenario: str = "", vendors: Iterable[AnyVendor] | None = None, spans: Spans | None = None
    ) -> Running:
        context = running(scenario, vendors=vendors, spans=spans)
        value = await context.__aenter__()
        opened.append(context)
        return value

    yield begin
    for context in reversed(opened):
        await context.__aexit__(None, None, None)


@pytest.fixture
def official_descriptions(request: pytest.FixtureRequest) -> "Folder | None":
    """Return the descriptions of ``--official``, if it is given."""
    observer = request.config.stash.get(_OBSERVER, None)
    return None if observer is None else observer.folder


@pytest.fixture(params=KINDS, scope="module")
def server_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store of each kind that is installed here, in a process of its own."""
    if find_server(request.param) is None:
        pytest.skip(f"{KINDS[request.param]} is not installed")
    with serving(request.param, tmp_path_factory.mktemp("server")) as url:
        yield url


class LiveServer:
    """An emulator on a thread of its own."""

    def __init__(self, scenario: str = "version: 1\nname: live\n", tls: Path | None = None) -> None:
        self._scenario = scenario
        self._tls = tls
        self._ready: Future[Running] = Future()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        async with running(self._scenario, self._tls) as value:
            self._ready.set_result(value)
            await self._stop.wait()
            for observe in JOURNAL_OBSERVERS:
                observe(value.built.journal)

    def __enter__(self) -> Running:
        self._thread.start()
        return self._ready.result(timeout=20)

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=20)


@pytest.fixture
def url(server_url: str, request: pytest.FixtureRequest) -> str:
    """Return the URL of a shared store with a prefix of its own for each test."""
    return f"{server_url}?prefix={abs(hash(request.node.nodeid))}"


@pytest.fixture(scope="session")
def live() -> Iterator[Running]:
    """One emulator with the real clock and no scenario, for clients that block."""
    with LiveServer() as value:
        yield value


@pytest.fixture(scope="session")
def live_tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same over TLS; ``running.certificate`` is what a client has to trust."""
    with LiveServer(tls=tmp_path_factory.mktemp("tls")) as value:
        yield value


@pytest.fixture
def live_with() -> Iterator[Callable[[str], Running]]:
    """A blocking client's emulator with a scenario: ``running = live_with("rules: …")``."""
    servers: list[LiveServer] = []

    def begin(scenario: str) -> Running:
        text = scenario if "version:" in scenario else "version: 1\nname: live\n" + scenario
        server = LiveServer(text)
        servers.append(server)
        return server.__enter__()

    yield begin
    for server in servers:
        server.__exit__()
