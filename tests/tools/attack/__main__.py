"""Send every hostile request to a separate emulator and report what other clients notice; 1 above a limit."""

import argparse
import json
import re
import resource
import sys
import time

from emulator.vendors import VENDORS
from tests.tools.attack.chats import list_chats, list_grammars, list_searched
from tests.tools.attack.clients import list_clients
from tests.tools.attack.control import list_control
from tests.tools.attack.giants import list_giants
from tests.tools.attack.rows import CHATS, PLAIN, Row, chat, send, write
from tests.tools.attack.scenarios import list_scenarios
from tests.tools.attack.watch import Watch
from tests.tools.fuzz.server import Server

_OWN = (  # the vendors' own statuses
    (503, "mindie POST /v1/load_lora_adapter"),  # where it was started for no adapters
    (500, "mindie POST /v1/load_lora_adapter"),  # to a name that is no text
    (500, "mindie POST /v1/unload_lora_adapter"),
    (503, "mindie POST /v1/unload_lora_adapter"),  # to a name of other characters
    *((500, f"{vendor} a template of ") for vendor in CHATS),  # what is beyond the bound of a text
)
_FRESH = 40.0  # MiB above what it had at first, after which a new one is started


class Runner:
    """Goes through rows; an emulator that holds on to memory is started anew, so that the next row shows its own."""

    def __init__(self, worst: float) -> None:
        self._worst = worst
        self._server: Server | None = None
        self._flags: tuple[str, ...] = ()
        self._first = 0.0
        self._count = 0
        self.failed: list[str] = []

    def run(self, row: Row) -> None:
        server = self._find_server(row)
        server.control("PUT", "scenario", row.scenario or PLAIN)
        before = self._ask(server, row.vendor)
        with Watch(server) as watch:
            began = time.monotonic()
            answers = row.act(server)
            took = time.monotonic() - began
        statuses = sorted({0 if answer is None else answer.status for answer in answers})
        wrong = []
        if watch.worst > self._worst:
            wrong.append("health")
        if watch.grown > row.grown:
            wrong.append("memory")
        if not server.alive or self._ask(server, row.vendor) != before:
            wrong.append("the next call")
        if 0 in statuses and not row.drops:
            wrong.append("no answer")
        own = [status for status, name in _OWN if f"{row.vendor} {row.name}".startswith(name)]
        if any(status >= 500 and status not in own for status in statuses) or any(
            a is not None and b"x-emulator-bug" in a.head for a in answers
        ):
            wrong.append("5xx")
        found = ",".join(map(str, statuses))
        line = (
            f"{watch.worst * 1000:6.0f} ms {watch.grown:6.0f} MiB {took:6.2f} s  {found:8} {row.vendor:10} {row.name}"
        )
        if wrong:
            self.failed.append(f"{line}: {', '.join(wrong)}")
        print(line + (f"  <- {', '.join(wrong)}" if wrong else ""), flush=True)
        if not server.alive or server.memory() > self._first + _FRESH or 0 in statuses:
            self.stop()

    def _find_server(self, row: Row) -> Server:
        if self._server is None or self._flags != row.flags:
            self.stop()
            self._server, self._flags = Server(*row.flags), row.flags
            for vendor in CHATS:
                self._ask(self._server, vendor)
            self._first = self._server.memory()
        return self._server

    def _ask(self, server: Server, vendor: str) -> str:
        """Return the response to an ordinary call in a new session."""
        self._count += 1
        vendor = vendor if vendor in CHATS else "azure"
        session = f"x-emulator-session: s{self._count}"
        answer = send(server, vendor, write("POST", CHATS[vendor][0], chat(vendor), session))
        server.control("DELETE", f"sessions/s{self._count}")
        if answer is None or answer.status != 200:
            return ""
        return json.dumps(json.loads(answer.body)["choices"])

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.attack", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose line has this in it")
    parser.add_argument("--every", action="store_true", help="every giant in every place; it takes hours")
    parser.add_argument(
        "--worst", type=float, default=0.25, help="seconds that health may take (0.25; a loaded machine: 1)"
    )
    options = parser.parse_args()
    runner = Runner(options.worst)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    only = re.compile(options.only)
    giants = [row for vendor in VENDORS for row in list_giants(vendor, every=options.every)]
    rows = [
        *list_chats(),
        *list_grammars(),
        *list_searched(),
        *list_control(),
        *list_scenarios(),
        *list_clients(),
        *giants,
    ]
    chosen = [row for row in rows if only.search(f"{row.vendor} {row.name}")]
    try:
        for row in chosen:
            runner.run(row)
    finally:
        runner.stop()
    print(f"{len(chosen)} rows, {len(runner.failed)} failed")
    for line in runner.failed:
        print(line)
    return int(bool(runner.failed))


if __name__ == "__main__":
    sys.exit(main())
