"""Parse cache for repeated requests."""

from dataclasses import replace
from typing import Any

from emulator.core.http import Request
from emulator.core.requests import ChatRequest, Deployment
from emulator.core.vendor import InferenceCall
from emulator.handler.parse import ParseCache
from tests.handler.toy import ToyCodec


def request(**fields: Any) -> Request:
    return Request(**{"method": "POST", "path": "/chat", "body": b"{}", "principal": "a", **fields})


def call(*, repeatable: bool = True) -> InferenceCall:
    deployment = Deployment(vendor="toy", name="toy")
    return InferenceCall(
        deployment=deployment, request=ChatRequest(messages=()), codec=ToyCodec(), repeatable=repeatable
    )


def test_an_equal_request_is_known() -> None:
    memo = ParseCache(("x-a",))
    first = request(headers={"x-a": "1", "x-b": "1"})
    memo.remember(first, b"identity", call())
    known = memo.find(request(headers={"x-a": "1", "x-b": "2"}))
    assert known is not None
    assert known.fingerprint == b"identity"


def test_another_request_is_not() -> None:
    memo = ParseCache(("x-a",))
    first = request(headers={"x-a": "1"}, query={"v": "1"})
    memo.remember(first, b"identity", call())
    changes: list[dict[str, Any]] = [
        {"method": "PUT"},
        {"path": "/other"},
        {"body": b"[]"},
        {"principal": "b"},
        {"headers": {"x-a": "2"}},
        {"query": {"v": "2"}},
        {"query": {}},
    ]
    assert [memo.find(replace(first, _json=None, **change)) for change in changes] == [None] * len(changes)


def test_what_cannot_be_repeated_is_not_kept() -> None:
    memo = ParseCache(())
    memo.remember(request(), b"", call(repeatable=False))
    assert memo.find(request()) is None


def test_a_large_body_is_not_kept() -> None:
    memo = ParseCache(())
    large = request(body=b"x" * 10_000)
    memo.remember(large, b"", call())
    assert memo.find(large) is None


def test_the_oldest_is_forgotten() -> None:
    memo = ParseCache(())
    for number in range(600):
        wire = request(body=b"%d" % number)
        memo.remember(wire, b"", call())
    assert memo.find(request(body=b"0")) is None
    assert memo.find(request(body=b"599")) is not None
