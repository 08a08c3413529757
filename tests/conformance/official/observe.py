"""Hold every successful answer that the tests receive against OpenAI's description and Anthropic's models."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.conformance.official.deviations import KNOWN
from tests.conformance.official.models import compare_message
from tests.conformance.official.walk import Description, Deviation
from tests.http_client import Answer
from tests.untyped_json import JSON

_BASE = re.compile(r"(/azure|/s/[^/]+)*/openai(/v1|/deployments/[^/]+)?(?P<route>/[^?]*)(\?.*)?")
_MESSAGES = re.compile(r"\S*/anthropic/v1/messages(\?.*)?")
_RESPONSES = re.compile(r"/serving-endpoints(/v1)?(?P<route>/responses)")


class Observer:
    """Collector of deviations; ``answers`` counts what was compared."""

    def __init__(self, folder: Path) -> None:
        self._openai = Description(json.loads((folder / "openapi.json").read_text(encoding="utf-8")))
        self.found: dict[str, str] = {}
        self.answers = 0

    def observe(self, head: bytes, body: bytes, answer: Answer) -> None:
        """Compare one answer, if the description has its route and a fault of the scenario did not break it."""
        method, target, *_ = head.decode("latin-1").split(" ")
        if method == "POST" and _MESSAGES.fullmatch(target) and answer.status == 200:
            self._collect(target, compare_message, answer)
        route = _BASE.fullmatch(target) or _RESPONSES.fullmatch(target)
        if route is None or answer.status != 200:
            return
        kind = (answer.header("content-type") or "").partition(";")[0]
        name = self._find_schema(method, route["route"], kind)
        if name is not None:
            self._collect(f"{method} {target} {body[:200]!r}", partial(self._openai.compare, name), answer)

    def _collect(self, where: str, compare: Callable[[JSON], list[Deviation]], answer: Answer) -> None:
        streamed = (answer.header("content-type") or "").startswith("text/event-stream")
        try:
            values = answer.events() if streamed else [answer.json()]
        except ValueError:
            return  # a fault broke it
        for value in values:
            if isinstance(value, dict):
                self.answers += 1
                for deviation in compare(value):
                    if not is_known(deviation):
                        self.found.setdefault(str(deviation), where)

    def _find_schema(self, method: str, route: str, kind: str) -> str | None:
        for path, operations in self._openai.paths.items():
            if method.lower() in operations and re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", path), route):
                content = operations[method.lower()]["responses"].get("200", {}).get("content", {})
                reference = content.get(kind, {}).get("schema", {}).get("$ref", "")
                return reference.rpartition("/")[2] or None
        return None


def is_known(deviation: Deviation) -> bool:
    """Return whether the list has a reason for a deviation."""
    return any(re.fullmatch(pattern, str(deviation)) for pattern in KNOWN)
