"""Runs the works of some rows: every repetition starts every side afresh, in turn."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tests.tools.bench import features
from tests.tools.bench.load import NUMBER, Figures, Load, Loader
from tests.tools.bench.rows import EMBED, OURS, PREFIX, TOKENS, WORKS, Work, chat
from tests.tools.bench.servers import Running, Side, serving

HERE = Path(__file__).parent.parent.parent.parent
_SETTLE = 1.0  # seconds until what is made ready in the background is
_SAMPLES = 21  # streams, of which the one of middle length is taken
_FIRST, _MORE = 100, 1000  # streams that are open before memory is looked at, and after
_OPEN = 20.0  # seconds; longer than they are looked at


def emulator(work: Work, folder: Path = HERE, name: str = OURS) -> Side:
    """The emulator as it lies in a folder, as a work has it."""
    flags = (*work.flags, "--port", "0", "--log-level", "warning")
    return Side(
        name=name,
        command=(sys.executable, "-m", "emulator", "serve", *flags, "--port-file"),
        key="databricks",
        path=PREFIX + work.path,
        folder=folder,
    )


def reference(name: str, sample: Path) -> Side:
    """One of the bare handlers."""
    command = (sys.executable, "-m", "tests.tools.bench.reference", str(sample))
    return Side(name=name, command=command, key="reference", path=f"/{name}", folder=HERE)


def take_sample(file: Path) -> None:
    """Write down what the emulator says, so that the bare handlers can say the same: streams of a usual length."""
    with serving(emulator(WORKS[0])) as server:
        answer = server.ask(json.dumps(chat(64)).encode()).decode()
        streams = {name: _take_stream(server, tokens) for name, tokens in (("joined", 256), ("paced", TOKENS))}
    file.write_text(json.dumps({"answer": answer, **streams}), encoding="utf-8")


def _take_stream(server: Running, tokens: int) -> list[str]:
    body = json.dumps(chat(tokens, stream=True))
    asked = [body.replace(NUMBER, f"{number:08}") for number in range(_SAMPLES)]
    answers = sorted((server.ask(text.encode()).decode() for text in asked), key=len)
    return [f"{event}\n\n" for event in answers[_SAMPLES // 2].split("\n\n") if event]


def repeat(
    works: Sequence[Work], sides: Callable[[Work], Sequence[Side]], loader: Loader, repetitions: int, seconds: float
) -> Iterator[tuple[Work, Mapping[str, Figures]]]:
    """Each repetition of each work: the figures of all sides, by name."""
    for _ in range(repetitions):
        for work in works:
            yield work, {side.name: _measure(work, side, loader, seconds) for side in sides(work)}


def _measure(work: Work, side: Side, loader: Loader, seconds: float) -> Figures:
    if work.name == "off" and work.load is not None:
        return features.measure(side, work.load, loader, seconds)
    with serving(side) as server:
        server.ask(json.dumps(work.load.body if work.path == EMBED and work.load else chat(1)).encode())
        answered = time.perf_counter() - server.began
        time.sleep(_SETTLE)
        if work.load is not None:
            return loader.run(work.load, server, seconds * work.share)
        if work.name == "open":
            return {"a_stream": _measure_stream(server, loader)}
        return {"first_answer": answered, "idle": server.memory}


def _measure_stream(server: Running, loader: Loader) -> float:
    """KiB that one open stream takes."""
    load = Load(body=chat(TOKENS, stream=True), connections=_FIRST, ramp=0.5)
    with ExitStack() as stack:
        stack.enter_context(loader.start(load, server, _OPEN))
        time.sleep(_SETTLE)
        before = server.memory
        stack.enter_context(loader.start(replace(load, connections=_MORE), server, _OPEN))
        time.sleep(2 * _SETTLE)
        return (server.memory - before) * 1024 / _MORE
