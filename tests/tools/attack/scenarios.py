"""Scenarios that multiply what a call brings, and sessions that multiply scenarios."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

from emulator.runtime.sessions import MAX_WEIGHT
from tests.tools.attack.rows import CHATS, Row, chat, send, sending, write
from tests.tools.fuzz.server import Server
from tests.tools.fuzz.wire import Answer
from tests.untyped_json import JSON

_WORDS = "sentence " * 1_334  # 12 KB of a prompt, of fewer tokens than any vendor refuses
_TEMPLATES = {
    "20,000 prompts": "{prompt}" * 20_000,
    "20,000 bodies": "{body.messages}" * 20_000,
    "a million names": "{model}" * 1_000_000,
    "20,000 headers": "{header.content-type}" * 20_000,
}
_EMBEDDINGS = "/v3/embeddings"
_RULES = "version: 1\nrules:\n" + "".join(
    f"- {{name: r{number}, when: {{prompt: {{contains: 'word {number}'}}}}, reply: {{text: '{'a' * 90}'}}}}\n"
    for number in range(1_000)
)
_PORTS = 1_100


def list_scenarios() -> Iterator[Row]:
    """Templates, vectors, sessions with large scenarios, and ports."""
    for vendor, (target, _) in CHATS.items():
        for name, text in _TEMPLATES.items():
            body = partial(chat, vendor, messages=[{"role": "user", "content": _WORDS}])
            act = sending(vendor, lambda vendor=vendor, target=target, body=body: write("POST", target, body()))  # type: ignore[misc]
            yield Row(vendor, f"a template of {name}", act, scenario=_reply(text=text, template=True))
    vectors = json.dumps({"model": "embeddings", "input": ["a"] * 140}).encode()
    act = sending("openvino", partial(write, "POST", _EMBEDDINGS, vectors))
    yield Row("openvino", "140 vectors of 40,000 numbers", act, scenario=_reply(embedding=[0.5] * 40_000))
    yield Row("tgi", "1,000 rules for each of 60 sessions", _fill_sessions, grown=MAX_WEIGHT / 2**20)
    yield Row("tgi", f"{_PORTS:,} ports of sessions", _open_ports)


def _reply(**reply: JSON) -> JSON:
    return {"version": 1, "rules": [{"name": "a", "reply": reply}]}


def _fill_sessions(server: Server) -> Sequence[Answer | None]:
    """Scenarios of sessions, which end afterwards."""
    names = [f"heavy{number}" for number in range(60)]
    text = _RULES.encode()
    answers = [send(server, "front", write("PUT", f"/_emulator/scenario?session={name}", text)) for name in names]
    for name in names:
        send(server, "front", write("DELETE", f"/_emulator/sessions/{name}"))
    return answers


def _open_ports(server: Server) -> Sequence[Answer | None]:
    """Ports of sessions, each of its own."""
    names = [f"port{number}" for number in range(_PORTS)]
    body = b'{"vendor": "tgi"}'
    answers = [send(server, "front", write("POST", f"/_emulator/sessions/{name}/listen", body)) for name in names]
    for name in names:
        send(server, "front", write("DELETE", f"/_emulator/sessions/{name}"))
    return answers
