"""No response leaves reference cycles for the garbage collector, however it ended."""

import gc
import json
from collections.abc import Iterator, Sequence
from typing import TypeVar

import pytest

from emulator.core.errors import EmulatedError
from emulator.handler.context import RequestContext
from tests.conftest import Start
from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

T = TypeVar("T")
_CHATS = {
    "azure": ("/chat/completions?api-version=2024-05-01-preview", "mistral-small-2503"),
    "databricks": ("/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations", "x"),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}
_FORMAT: JSON = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"not": {}}}}
_CASES: dict[str, tuple[dict[str, JSON] | bytes, dict[str, str]]] = {
    "an answer": ({}, {}),
    "a stream": ({"stream": True}, {}),
    "one bent": ({}, {"x-emulator-fault": "garbage"}),
    "a stream bent": ({"stream": True}, {"x-emulator-fault": "extra_fields"}),
    "no JSON": (b'{"messages": [' + b" " * 100_000, {}),
    "no text": (b'{"messages": "\xff"}', {}),
    "a wrong field": ({"max_tokens": "x" * 100_000}, {}),
    "wrong messages": ({"messages": [1] * 1000}, {}),
    "a schema that nothing meets": ({"response_format": _FORMAT}, {}),
    "another encoding": (b"\x1f\x8bnonsense", {"Content-Encoding": "gzip"}),
    "an error that is asked for": ({}, {"x-emulator-error": "rate_limited"}),
    "an error there is not": ({}, {"x-emulator-error": "nonsense"}),
}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def _ask(running: Running, vendor: str, body: dict[str, JSON] | bytes, headers: dict[str, str]) -> int:
    target, model = _CHATS[vendor]
    chat = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5}
    data = body if isinstance(body, bytes) else json.dumps({**chat, **body}).encode()
    return (await running.ask(vendor, target, data, headers={"Authorization": "Bearer k", **headers})).status


@pytest.mark.parametrize("vendor", _CHATS)
async def test_response_leaves_no_reference_cycle(start: Start, vendor: str, no_collector: None) -> None:
    running = await start("version: 1\nclock: instant\n")
    before = _list(RequestContext), _list(EmulatedError)  # other tests' own
    for body, headers in _CASES.values():
        await _ask(running, vendor, body, headers)
    await running.ask("front", "/_emulator/health")  # all running requests have ended
    exchanges, errors = _list(RequestContext, before[0]), _list(EmulatedError, before[1])
    assert exchanges == []
    assert not any(error.__traceback__ or error.__context__ for error in errors)


def _list(kind: type[T], but: Sequence[T] = ()) -> list[T]:
    """List the live objects of a type."""
    known = {*map(id, but)}
    return [found for found in gc.get_objects() if isinstance(found, kind) and id(found) not in known]
