"""Requests to the control plane that were made to stop a server, and followers who never read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from emulator.control.routes import ROUTES
from tests.tools.attack.rows import CHATS, Row, chat, send, sending, write
from tests.tools.fuzz.server import Server
from tests.tools.fuzz.wire import Answer

_TEXT = b"x" * 15_000_000
_PUT: dict[str, Callable[[], bytes]] = {
    "15 MB of a text": lambda: b'{"version": 1, "name": "' + _TEXT + b'"}',
    "15 MB of a text in YAML": lambda: b"version: 1\nname: " + _TEXT,
    "15 MB of a comment": lambda: b"version: 1\n#" + _TEXT,
    "190,000 rules": lambda: b"version: 1\nrules:\n" + b"- {}\n" * 190_000,
    "20,000 rules with mistakes": lambda: b"version: 1\nrules:\n" + b"- {name: 1, reply: 3}\n" * 20_000,
    "3,000 rules with long regexes": lambda: json.dumps(
        {"version": 1, "rules": [_match(n, f"(a|b{n}){{1,50}}[a-z]{{0,99}}" * 40) for n in range(3000)]}
    ).encode(),
    "a regex of 8,000 letters nested": lambda: json.dumps(
        {"version": 1, "rules": [_match(0, "(" * 4000 + "a" + ")" * 4000)]}
    ).encode(),
    "a key of a million letters in JSON": lambda: b'{"version": 1, "' + b"k" * 1_000_000 + b'": 1}',
    "a key of 2,000 letters in JSON": lambda: b'{"version": 1, "' + b"k" * 2_000 + b'": 1}',
    "a key of 2,000 letters in YAML": lambda: b"version: 1\n" + b"k" * 2_000 + b": 1\n",
    "brackets without end": lambda: b"version: 1\nrules: " + b"[" * 1_000_000,
    "aliases that multiply": lambda: (
        b"version: 1\nx0: &x0 [a]\n"
        + b"".join(b"x%d: &x%d [*x%d, *x%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 60))
    ),
    "spaces without end": lambda: b"version: 1\n" + b" " * 15_000_000,
    "a million documents": lambda: b"---\n" * 1_000_000,
    "15 MB of noughts": lambda: b"\0" * 15_000_000,
}
_JSON: dict[str, Callable[[], bytes]] = {
    "15 MB of a text": lambda: b'{"title": "' + _TEXT + b'"}',
    "a million levels": lambda: b"[" * 1_000_000,
    "9,000 unknown members": lambda: json.dumps({f"k{n}": n for n in range(9_000)}).encode(),
    "7,000,000 values": lambda: b"[" + b"1," * 7_000_000 + b"1]",
    "a million digits": lambda: b'{"advance": ' + b"9" * 1_000_000 + b"}",
}
_VERIFY: dict[str, Callable[[], bytes]] = {
    "4,000 expectations in order": lambda: json.dumps(
        {"order": [{"prompt": {"regex": f"a{n}(b|c){{1,40}}"}} for n in range(4_000)]}
    ).encode(),
    "a condition in a condition": lambda: b'{"calls": {"prompt": ' + b'{"not": ' * 3_000 + b'"x"' + b"}" * 3_002,
    "a text of 10 MB": lambda: b'{"calls": {"prompt": "' + b"x" * 10_000_000 + b'"}}',
}
_FOLLOWERS = 200


def list_control() -> Iterator[Row]:
    """Scenarios, bodies to each route that takes one, and readers who do not read."""
    for name, make in _PUT.items():
        for method, path in (("PUT", "/_emulator/scenario?session=x"), ("POST", "/_emulator/check")):
            yield Row("front", f"{method} {path}: {name}", sending("front", partial(_fill, method, path, make)))
    for route in ROUTES:
        if route.takes is not None:
            path = f"/_emulator{route.path.format(name='x', id='x')}"
            for name, make in {**_JSON, **(_VERIFY if route.path == "/verify" else {})}.items():
                yield Row("front", f"POST {path}: {name}", sending("front", partial(_fill, "POST", path, make)))
    yield Row("tgi", f"{_FOLLOWERS} followers who never read", _follow)


def _match(number: int, regex: str) -> dict[str, object]:
    return {"name": f"r{number}", "when": {"prompt": {"regex": regex}}, "reply": {"text": "a"}}


def _fill(method: str, path: str, make: Callable[[], bytes]) -> bytes:
    return write(method, path, make())


def _follow(server: Server) -> Sequence[Answer | None]:
    """Calls come while many follow them and none reads."""
    followers = [server.connect("front") for _ in range(_FOLLOWERS)]
    for follower in followers:
        follower.send([write("GET", "/_emulator/events?since=0")])
    answers = []
    for number in range(600):
        body = chat("tgi", messages=[{"role": "user", "content": f"{number} " + "long " * 300}])
        answers.append(send(server, "tgi", write("POST", CHATS["tgi"][0], body)))
    for follower in followers:
        follower.close()
    return answers
