"""Every client four ways: in no session, and in one of its own by path, by key and by a port of its own."""

import gc
import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from emulator.vendors import VENDORS
from tests.http_client import Running
from tests.untyped_json import JSON

LiveWith = Callable[[str], Running]
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True, eq=False)
class SessionTarget(Running):
    """The same emulator, as the client of one session reaches it."""

    session: str = ""
    way: str = "plain"

    def front(self, vendor: str) -> str:
        """The session's path comes before the vendor's prefix; a session's own port serves one vendor."""
        if self.way == "own port":
            pytest.skip("a port of its own has no prefix")
        return f"{self.urls['front']}/{vendor}"

    def key(self, key: str) -> str:
        return f"{key}~{self.session}" if self.way == "key" else key


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Clients leave connections to the garbage collector, some of them on event loops that are closed by then."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for kind in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))


@pytest.fixture(autouse=True, scope="module")
def collect_what_clients_left() -> Iterator[None]:
    """Collect it here, so that no test elsewhere in the process meets the warnings."""
    yield
    gc.collect()


@pytest.fixture(params=["plain", "path", "key", "own port"])
def session_by(request: pytest.FixtureRequest) -> str:
    """Ways of a client to name its session; modules with a client that takes only a host leave the path out."""
    return str(request.param)


@pytest.fixture(scope="session")
def disable_recording() -> bool:
    """Of pytest-recording, which a client's suite may bring with it: it would intercept the requests of a test."""
    return True


@pytest.fixture
def live(live: Running, session_by: str) -> Iterator[Running]:
    with in_session(live, session_by) as target:
        yield target


@pytest.fixture
def live_with(live_with: LiveWith, session_by: str) -> Iterator[LiveWith]:
    with ExitStack() as servers:
        yield lambda scenario: servers.enter_context(in_session(live_with(scenario), session_by))


@contextmanager
def in_session(running: Running, way: str) -> Iterator[Running]:
    """A session for one test; in the end every call has to be its own, by key those that have a key to name it."""
    if way == "plain":
        yield running
        return
    session, front = f"{way.replace(' ', '-')}-{next(_NUMBERS)}", running.urls["front"]
    before = _calls(front, "limit=1")
    yield SessionTarget(running.built, _urls(running.urls, way, session), running.certificate, session, way)
    made = _calls(front, f"limit=10000&since={before[-1]['seq'] if before else 0}")
    named = [call for call in made if way != "key" or (call["principal"] and "/oidc/" not in call["path"])]
    assert {call["session"] for call in named} <= {session}
    if made or way == "own port":  # of a test that is skipped there is no session
        _control(front, "DELETE", f"/sessions/{session}")


def _urls(urls: Mapping[str, str], way: str, session: str) -> Mapping[str, str]:
    if way == "path":
        return {name: f"{url}/_s/{session}" for name, url in urls.items()}
    if way == "key":
        return urls
    listen = f"/sessions/{session}/listen"
    own = {vendor: _control(urls["front"], "POST", listen, {"vendor": vendor})["url"] for vendor in VENDORS}
    return {"front": urls["front"], **own}


def _calls(front: str, query: str) -> JSON:
    return _control(front, "GET", f"/requests?{query}")["requests"]


def _control(front: str, method: str, path: str, body: JSON = None) -> JSON:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{front}/_emulator{path}", data, method=method)) as answer:
        return json.loads(answer.read())
