"""Hold every answer that the tests receive against the official descriptions and Anthropic's models."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

from emulator.journal.journal import Journal
from tests.conformance.official.descriptions import Folder, Operation
from tests.conformance.official.deviations import KNOWN
from tests.conformance.official.models import compare_message
from tests.conformance.official.walk import Deviation
from tests.http_client import Answer
from tests.untyped_json import JSON

_MESSAGES = re.compile(r"\S*/anthropic/v1/messages(\?.*)?")


class Observer:
    """Collector of deviations; ``answers`` counts what was compared, by description."""

    def __init__(self, folder: Path) -> None:
        self.folder = Folder(folder)
        self.found: dict[str, str] = {}
        self.answers: Counter[str] = Counter()

    def observe(self, vendor: str, head: bytes, body: bytes, answer: Answer) -> None:
        """Compare one answer, if a description has its route and a fault of the scenario did not break it."""
        method, target, *_ = head.decode("latin-1").split(" ")
        if method == "POST" and _MESSAGES.fullmatch(target) and answer.status == 200:
            self._collect("anthropic", target, compare_message, answer)
        kind = (answer.header("content-type") or "").partition(";")[0]
        for operation in self.folder.find(vendor, method, target) if target.startswith("/") else ():
            schema = operation.find_answer(answer.status, kind)
            if schema is not None:
                where = f"{method} {target} {body[:200]!r}"
                self._collect(operation.label, where, partial(_compare, operation, schema, answer.status), answer)

    def observe_journal(self, journal: Journal) -> None:
        """Compare the answers of a journal that were sent whole and without a fault."""
        for entry in journal:
            payload = entry.payload
            if payload is None or entry.faults or payload.request_cut or payload.response_cut or not entry.whole:
                continue
            body = payload.body if payload.encode_stream is None else payload.encode_stream()
            if body is not None and entry.vendor is not None:
                lines = "".join(f"\r\n{name}: {value}" for name, value in payload.headers)
                asked = payload.request
                target = quote(asked.path) + (f"?{urlencode(asked.query)}" if asked.query else "")
                answer = Answer(f"HTTP/1.1 {entry.status} x{lines}".encode(), body)
                self.observe(entry.vendor, f"{entry.method} {target} HTTP/1.1".encode(), asked.body, answer)

    def _collect(self, label: str, where: str, compare: Callable[[JSON], list[Deviation]], answer: Answer) -> None:
        streamed = (answer.header("content-type") or "").startswith("text/event-stream")
        try:
            values = answer.events() if streamed else [answer.json()]
        except ValueError:
            return  # a fault broke it
        for value in values:
            if isinstance(value, dict | list) and not (streamed and _is_error(value)):
                self.answers[label] += 1
                for deviation in compare(value):
                    if not is_known(deviation):
                        self.found.setdefault(str(deviation), where)


def _is_error(event: JSON) -> bool:
    """Return whether an event is an error in place of one that descriptions have; Responses' own have a type."""
    return isinstance(event, dict) and event.get("error") is not None and "type" not in event


def _compare(operation: Operation, schema: JSON, status: int, value: JSON) -> list[Deviation]:
    """Compare with a schema that may have no name of its own."""
    name = schema["$ref"].rpartition("/")[2] if "$ref" in schema else f"{operation.path}:{status}"
    label = "" if operation.label == "openapi" else f"{operation.label} {operation.vendor} "
    found = operation.description.compare(name, value, schema)
    return [Deviation(f"{label}{name}", one.path, one.kind) for one in found]


def is_known(deviation: Deviation) -> bool:
    """Return whether the list has a reason for a deviation."""
    return any(re.fullmatch(pattern, str(deviation)) for pattern in KNOWN)
