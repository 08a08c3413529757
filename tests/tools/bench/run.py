"""Run the works of some rows: every repetition starts every side afresh, in turn."""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from tests.storage.servers import KINDS, find_server
from tests.storage.servers import running as running_store
from tests.tools.bench import features
from tests.tools.bench.load import Figures, Load, Loader
from tests.tools.bench.rows import (
    LIMIT,
    OURS,
    STORE,
    TOKENS,
    VOCABULARY,
    Row,
    Setup,
    Work,
    chat,
    long_stream,
    works_of,
)
from tests.tools.bench.servers import NUMBER, Running, Side, serving

HERE = Path(__file__).parent.parent.parent.parent
_SETTLE = 1.0  # seconds for the work that the emulator does in the background after its start
_SAMPLES = 21  # streams, of which the one of median length is taken
_FIRST, _MORE = 100, 1000  # open streams before the first reading of memory, and more before the second
_OPEN = 20.0  # seconds that streams stay open, longer than both readings take
_TEXT = '"content":"'
_EMPTY = f'{_TEXT}"'
_OWN_FLAGS = ("--port", "0", "--log-level", "warning", "--port-file")


def emulator(setup: Setup, name: str = OURS, *, folder: Path = HERE, store: str = "") -> Side:
    """Build the side that runs the emulator of a folder; ``store``: URL of the run's Redis."""
    flags = [store if flag == STORE else flag for flag in setup.flags]
    return Side(
        name=name,
        command=(sys.executable, "-m", "emulator", "serve", *flags, *_OWN_FLAGS),
        key="databricks",
        path=setup.path,
        folder=folder,
        scenario=setup.scenario,
    )


def reference(name: str, sample: Path) -> Side:
    """Build the side that runs a bare handler."""
    command = (sys.executable, "-m", "tests.tools.bench.reference", str(sample))
    return Side(name=name, command=command, key="reference", path=f"/{name}", folder=HERE)


@contextmanager
def open_store(rows: Sequence[Row]) -> Iterator[tuple[list[Row], str]]:
    """Start a Redis if a row needs one; yield the rows that can be measured, and its URL."""
    rows = leave_out_vocabulary(rows, has_vocabulary=find_spec("litellm") is not None)
    works = [work.name for work in works_of(rows) if any(STORE in setup.flags for setup in work.setups.values())]
    if not works:
        yield [*rows], ""
        return
    kind = next(filter(find_server, KINDS), None)
    if reason := explain_missing_store(kind, has_client=find_spec("redis") is not None):
        skipped = dict.fromkeys(row.number for row in rows if row.work in works)
        print(f"Row {', '.join(skipped)} is skipped: {reason}.", file=sys.stderr)
        yield [row for row in rows if row.work not in works], ""
        return
    assert kind is not None
    with tempfile.TemporaryDirectory() as folder, running_store(kind, Path(folder)) as url:
        yield [*rows], url


def leave_out_vocabulary(rows: Sequence[Row], *, has_vocabulary: bool) -> Sequence[Row]:
    """Return the rows that can be measured without the vocabulary, or all."""
    found = [row for row in rows if has_vocabulary or row.side != VOCABULARY]
    if len(found) < len(rows):
        print(f"The rows with {VOCABULARY} are skipped: the package litellm is missing.", file=sys.stderr)
    return found


def explain_missing_store(kind: str | None, *, has_client: bool) -> str:
    """Return why no Redis can be used here; empty if one can."""
    if kind is None:
        return f"none of {', '.join(KINDS.values())} is installed"
    return "" if has_client else "the extra redis is missing"


def take_sample(file: Path) -> None:
    """Write responses of the emulator to a file, for the bare handlers to send the same content."""
    with serving(emulator(Setup())) as server:
        answer = server.ask(json.dumps(chat(64)).encode()).decode()
        paced = _take_stream(server, chat(TOKENS, stream=True))
        joined = _take_stream(server, long_stream())
    if (found := sum(map(has_token, joined))) != LIMIT:
        raise RuntimeError(f"the long stream has {found} tokens, not {LIMIT}: choose another prompt in rows.py")
    file.write_text(json.dumps({"answer": answer, "joined": joined, "paced": paced}), encoding="utf-8")


def _take_stream(server: Running, body: Mapping[str, object]) -> list[str]:
    text = json.dumps(body)
    requests = [text.replace(NUMBER, f"{number:08}") for number in range(_SAMPLES)]
    answers = sorted((server.ask(request.encode()).decode() for request in requests), key=len)
    return [f"{event}\n\n" for event in answers[_SAMPLES // 2].split("\n\n") if event]


def has_token(event: str) -> bool:
    """Return whether the event of a stream has a text that is not empty."""
    return _TEXT in event and _EMPTY not in event


def repeat(
    works: Sequence[Work], sides: Callable[[Work], Sequence[Side]], loader: Loader, repetitions: int, seconds: float
) -> Iterator[tuple[Work, Mapping[str, Figures]]]:
    """Yield the figures of all sides, by name, for each repetition of each work."""
    for _ in range(repetitions):
        for work in works:
            yield work, {side.name: _measure(work, side, loader, seconds) for side in sides(work)}


def _measure(work: Work, side: Side, loader: Loader, seconds: float) -> Figures:
    if work.name == "off" and work.load is not None:
        return features.measure(side, work.load, loader, seconds)
    with serving(side) as server:
        is_embedding = work.load is not None and "input" in work.load.body
        server.ask(json.dumps(work.load.body if work.load and is_embedding else chat(1)).encode())
        answered = time.perf_counter() - server.began
        time.sleep(_SETTLE)
        if work.load is not None:
            return loader.run(work.load, server, seconds * work.share)
        if work.name == "open":
            return {"a_stream": _measure_stream(server, loader)}
        return {"first_answer": answered, "idle": server.memory}


def _measure_stream(server: Running, loader: Loader) -> float:
    """Return the memory of an open stream, in KiB."""
    load = Load(body=chat(TOKENS, stream=True), connections=_FIRST, ramp=0.5)
    with ExitStack() as stack:
        stack.enter_context(loader.start(load, server, _OPEN))
        time.sleep(_SETTLE)
        before = server.memory
        stack.enter_context(loader.start(replace(load, connections=_MORE), server, _OPEN))
        time.sleep(2 * _SETTLE)
        return (server.memory - before) * 1024 / _MORE
