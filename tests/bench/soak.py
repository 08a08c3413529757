"""Load an emulator for long with clients that hang up: ``python -m tests.bench.soak --minutes 30``.

Prints memory, open files and failures as it goes, and at the end whether they are what they were: memory within 5 %
of what it was when four tenths of the time were over, open files back to what they were, and no traceback in the log.
Until then the journal and the counters of attempts fill up to their bounds.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench.load import Load, Loader, NoCompiler, loader
from tests.bench.rows import CHAT, WORKS, chat
from tests.bench.run import emulator
from tests.bench.servers import Running, serving

_FLAGS = ("--ttft", "20ms", "--itl", "2ms")
_LEAVING = 20.0  # per cent of answers whose client does not wait for the end
_SETTLE = 5.0  # seconds after the last client has left
_FULL = 4  # tenths of the time after which all that has a bound has reached it
_FLAT = 1.05


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if nothing grew, 1 if something did, 2 if nothing can be measured here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    parser.add_argument("--connections", type=int, default=64, help="clients at the same time (default 64)")
    options = parser.parse_args(arguments)
    work = replace(WORKS[0], flags=_FLAGS, path=CHAT)
    try:
        with loader() as program, tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            with serving(emulator(work), log) as server:
                grown = _watch(server, program, options.minutes * 60, options.connections)
            tracebacks = log.read_text(encoding="utf-8").count("Traceback")
    except NoCompiler as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{tracebacks} tracebacks in the log")
    return int(grown or tracebacks > 0)


def _watch(server: Running, program: Loader, seconds: float, connections: int) -> bool:
    """Say how it is, ten times; whether memory or files have grown."""
    load = Load(body=chat(64, stream=True), connections=connections, leave=_LEAVING)
    plain = Load(body=chat(64), connections=connections, leave=_LEAVING)
    files, memory = server.open_files, [server.memory]
    began = time.monotonic()
    for _ in range(10):
        figures = [program.run(each, server, seconds / 20) for each in (load, plain)]
        memory.append(server.memory)
        answers, left, failed = (sum(figure[name] for figure in figures) for name in ("answers", "left", "failed"))
        print(
            f"{(time.monotonic() - began) / 60:5.1f} min: {memory[-1]:6.1f} MiB, {server.open_files} files open,"
            f" {answers / 2:.0f} answers a second, {left:.0f} left, {failed:.0f} failed",
            flush=True,
        )
    time.sleep(_SETTLE)
    growth = max(memory[_FULL + 1 :]) / memory[_FULL]
    print(f"memory grew to {growth:.3f} of what it was; files: {files} at first, {server.open_files} now")
    return growth > _FLAT or server.open_files > files


if __name__ == "__main__":
    sys.exit(main())
