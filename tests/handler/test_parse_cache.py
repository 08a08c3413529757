"""Parse cache for repeated requests."""

from dataclasses import replace
from typing import Any

from emulator.core.calls import InferenceCall
from emulator.core.http import Request
from emulator.core.requests import ChatRequest, Deployment
from emulator.handler.parse import ParseCache
from tests.conftest import Start
from tests.handler.toy import TOY, ToyCodec


def request(**fields: Any) -> Request:
    return Request(**{"method": "POST", "path": "/chat", "body": b"{}", "principal": "a", **fields})


def call(*, repeatable: bool = True) -> InferenceCall:
    deployment = Deployment(vendor="toy", name="toy")
    return InferenceCall(
        deployment=deployment, request=ChatRequest(messages=()), codec=ToyCodec(), repeatable=repeatable
    )


def test_equal_request_is_found() -> None:
    cache, parsed = ParseCache(), call()
    cache.remember("place", request(headers={"x-b": "1"}), b"f", parsed)
    cached = cache.find("place", request(headers={"x-b": "2"}))
    assert cached is not None
    assert (cached.fingerprint, cached.call) == (b"f", parsed)


def test_different_request_is_not_found() -> None:
    cache = ParseCache()
    cache.remember("place", request(), b"f", call())
    assert cache.find("place", request(body=b"[]")) is None
    assert cache.find("place", request(principal="b")) is None
    assert cache.find("another", request()) is None


async def test_the_place_of_a_request_is_what_its_parser_may_read(start: Start) -> None:
    app = (await start(vendors=[replace(TOY, relevant_headers=("x-a",))])).built.apps[0]
    first = request(headers={"x-a": "1", "x-b": "1"}, query={"v": "1"})
    changes: list[dict[str, Any]] = [
        {"method": "PUT"},
        {"path": "/other"},
        {"headers": {"x-a": "2"}},
        {"query": {"v": "2"}},
        {"query": {}},
        {"headers": {"x-a": "1", "x-b": "2"}},
    ]
    places = [app._reader.find_target(replace(first, **change)).place for change in changes]
    assert [place == app._reader.find_target(first).place for place in places] == [False] * 5 + [True]


def test_unrepeatable_call_is_not_stored() -> None:
    cache = ParseCache()
    cache.remember("place", request(), b"f", call(repeatable=False))
    assert cache.find("place", request()) is None


def test_large_body_is_not_stored() -> None:
    cache = ParseCache()
    large = request(body=b"x" * 10_000)
    cache.remember("place", large, b"f", call())
    assert cache.find("place", large) is None


def test_oldest_entry_is_evicted() -> None:
    cache = ParseCache()
    for number in range(600):
        cache.remember("place", request(body=b"%d" % number), b"f", call())
    assert cache.find("place", request(body=b"0")) is None
    assert cache.find("place", request(body=b"599")) is not None
