"""The same requests have the same outcomes in any order and on any number of connections."""

import asyncio
import json
import random
import re
from collections.abc import Sequence

import pytest

from tests.conftest import Start
from tests.http_client import Running, read_answer
from tests.untyped_json import JSON

SCENARIO = """\
version: 1
seed: 7
clock: frozen
latency:
  ttft: {type: lognormal, median: 180ms, p99: 900ms}
  itl: {type: gamma, mean: 12ms, cv: 0.5}
  prefill: 1ms
rules:
- name: some fail
  times: {probability: 0.2}
  error: {kind: overloaded, status: 503, retry_after: 2s}
- name: some are slow
  times: {probability: 0.2}
  latency: {ttft: {type: uniform, low: 1s, high: 9s}}
- name: the first try of a question is cut
  when: {prompt: {regex: '[13579]$'}}
  times: {first: 1, per: request}
  faults: [{type: truncate, at: 0.5}]
- name: tries are told apart
  when: {prompt: {regex: '[02468]$'}}
  times: {per: request}
  sequence: [{reply: {text: first}}, {error: {kind: timeout}}]
  then: repeat
- name: some have no counts
  times: {probability: 0.5}
  faults: [{type: drop, field: usage}]
"""
CHATS = {
    "databricks": ("/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations", None),
    "azure": ("/chat/completions?api-version=2024-05-01-preview", None),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}
Outcome = tuple[JSON, ...]
Question = tuple[str, bool, int]
QUESTIONS: Sequence[Question] = [
    (vendor, stream, number) for vendor in CHATS for stream in (False, True) for number in range(3)
] * 2  # each is asked twice; equal ones have the outcomes of two attempts, whichever comes first


async def ask(running: Running, question: Question) -> bytes:
    vendor, stream, number = question
    path, model = CHATS[vendor]
    body: dict[str, JSON] = {"messages": [{"role": "user", "content": f"Question {number}"}], "max_tokens": 6}
    body |= {"stream": True} if stream else {}
    body |= {"model": model} if model else {}
    payload = json.dumps(body).encode()
    reader, writer = await running.connect(vendor)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer k\r\n"
    writer.write(f"{head}api-key: k\r\nContent-Length: {len(payload)}\r\n\r\n".encode() + payload)
    answer = await read_answer(reader)
    writer.close()
    return answer.body


async def collect(running: Running, order: Sequence[Question], connections: int) -> list[Outcome]:
    """Status, rule, faults, planned times and body of every request, sorted; time passes meanwhile."""
    pending = list(reversed(order))
    bodies: dict[Question, list[bytes]] = {}

    async def work() -> None:
        while pending:
            question = pending.pop()
            bodies.setdefault(question, []).append(await ask(running, question))

    workers = asyncio.gather(*(work() for _ in range(connections)))
    while not workers.done():
        running.built.clock.advance(1.0)
        await asyncio.sleep(0)
    await workers
    outcomes: list[Outcome] = [
        (e.vendor, e.id, e.status, e.rule, e.error, e.faults, e.planned_ttft, e.completion_tokens, e.sent_tokens)
        for e in running.built.journal
    ]
    said = [(*question, *sorted(map(_undated, answers))) for question, answers in bodies.items()]
    return sorted(outcomes, key=repr) + sorted(said)


def _undated(body: bytes) -> bytes:
    """Without the time of day, which goes on from request to request."""
    return re.sub(rb'"created(_at)?": ?[\d.]+', b"", body)


@pytest.fixture
async def expected(start: Start) -> list[Outcome]:
    return await collect(await start(SCENARIO), QUESTIONS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("connections", [1, 4, 16])
async def test_outcomes_do_not_depend_on_order(start: Start, expected: list[Outcome], connections: int) -> None:
    order = list(QUESTIONS)
    random.Random(connections).shuffle(order)
    assert await collect(await start(SCENARIO), order, connections) == expected


async def test_scenario_produces_every_outcome_kind(expected: list[Outcome]) -> None:
    calls = expected[: len(QUESTIONS)]
    assert {call[2] for call in calls} >= {200, 503}
    assert {call[3] for call in calls} >= {"some fail", "some are slow", "tries are told apart"}
    assert len({call[6] for call in calls}) > len(QUESTIONS) / 3
