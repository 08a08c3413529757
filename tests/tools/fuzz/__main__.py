"""Attack an emulator for some time, and report findings; exit code 1 if there are any."""

import argparse
import http.client
import json
import sys
import time
from pathlib import Path

from emulator.generation.tokenizer_profiles import PROFILES
from tests.tools.fuzz.attack import ROUND, Findings, attack
from tests.tools.fuzz.server import Server

_WARM = 300  # rounds before memory is first looked at: figures of the latest 10,000 calls of each vendor are full then
_GROWTH = 1.05
_SAYS = 30.0  # seconds
_RESTS = 8.0  # seconds; every five the server gives back what is free, if no request is open
_PLAIN = {"version": 1, "name": "plain"}


def main() -> int:
    arguments = _parse()
    server, findings = Server(), Findings(arguments.findings)
    _load_vocabularies(server)
    began = said = time.monotonic()
    first: tuple[float, int] | None = None
    done = 0
    while time.monotonic() - began < arguments.seconds and done != arguments.rounds and server.alive:
        attack(server, arguments.seed, arguments.first + done, findings)
        done += 1
        if done == _WARM:
            first = _settle(server)
        if time.monotonic() - said > _SAYS:
            said = time.monotonic()
            print(f"{done * ROUND} requests, {findings.count} findings, {server.memory():.0f} MiB", flush=True)
    seconds = time.monotonic() - began
    _look_back(server, first, findings)
    server.stop()
    rounds = f"rounds {arguments.first} to {arguments.first + done}"
    print(f"seed {arguments.seed}, {rounds}: {done * ROUND} requests in {seconds:.0f} s, {findings.count} findings")
    print("answers:", ", ".join(f"{status or 'none'}: {count}" for status, count in sorted(findings.answers.items())))
    return int(findings.count > 0)


def _load_vocabularies(server: Server) -> None:
    """Ask once by each tokenizer: each loads its vocabulary, some 3 MiB, when it is first wanted, and keeps it."""
    models = [{"vendor": "openvino", "name": name, "tokenizer": name} for name in PROFILES]
    server.control("PUT", "scenario", {**_PLAIN, "clock": "instant", "deployments": models})
    for name in PROFILES:
        connection = http.client.HTTPConnection(*server.urls["openvino"], timeout=30)
        body = json.dumps({"model": name, "messages": [{"role": "user", "content": "Hello."}]})
        connection.request("POST", "/v3/chat/completions", body, {"Content-Type": "application/json"})
        if connection.getresponse().status != 200:
            raise RuntimeError(f"no answer by the tokenizer {name}")
        connection.close()


def _look_back(server: Server, first: tuple[float, int] | None, findings: Findings) -> None:
    """What the whole attack has left behind."""
    log = server.log()
    if "bug in the emulator" in log or "Traceback" in log:
        findings.add("a traceback in the log", {}, log[-20_000:].encode())
    if not server.alive:
        findings.add("the emulator ended", {}, log[-2000:].encode())
    elif first is None:
        print(f"memory is judged after more than {_WARM} rounds")
    else:
        memory, files = _settle(server)
        print(f"memory {first[0]:.1f} to {memory:.1f} MiB, files {first[1]} to {files}")
        if memory > first[0] * _GROWTH:
            findings.add(f"memory grew from {first[0]:.1f} to {memory:.1f} MiB", {}, b"")
        if files > first[1]:
            findings.add(f"files grew from {first[1]} to {files}", {}, b"")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long (600)")
    parser.add_argument("--seed", type=int, default=1, help="the same requests in the same order (1)")
    parser.add_argument("--first", type=int, default=0, help="the round to begin with, to see one again (0)")
    parser.add_argument("--rounds", type=int, default=-1, help="how many rounds at most")
    parser.add_argument("--findings", type=Path, help="a folder for the requests that were answered wrongly")
    return parser.parse_args()


def _settle(server: Server) -> tuple[float, int]:
    """Return memory and open files after all caches are cleared."""
    server.control("PUT", "scenario", _PLAIN)
    server.control("POST", "reset")
    time.sleep(_RESTS)
    return server.memory(), server.files()


if __name__ == "__main__":
    sys.exit(main())
