"""Ten thousand mutated requests: every one gets the vendor's answer, none finds a bug of ours."""

# ruff: noqa: E501 -- one request, one line

import asyncio
import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Start
from tests.http_client import Answer, Running, read_answer
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

PER_VENDOR = 2000
_MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "What is the weather in Paris?"}]
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": _PARAMETERS}}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
_FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": _PARAMETERS, "strict": True}}
_SAMPLING = {"max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "stop": ["x"], "n": 1, "seed": 3}
_TURNS = [
    *_MESSAGES,
    {"role": "assistant", "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "21"},
]


def _chats(model: str) -> list[JSON]:
    chat = {"model": model, "messages": _MESSAGES}
    return [
        {**chat, **_SAMPLING},
        {**chat, "max_tokens": 5, "stream": True, "stream_options": {"include_usage": True}},
        {**chat, "tools": [_TOOL], "tool_choice": "required"},
        {
            **chat,
            "tools": [_TOOL],
            "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
            "stream": True,
        },
        {**chat, "response_format": _FORMAT, "logprobs": True, "top_logprobs": 2},
        {**chat, "messages": _TURNS, "tools": [_TOOL]},
        {**chat, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "max_tokens": 3},
    ]


_GENERATE = {
    "max_new_tokens": 5, "temperature": 0.5, "top_k": 3, "top_p": 0.9, "typical_p": 0.9, "do_sample": True, "seed": 7,
    "repetition_penalty": 1.1, "watermark": False, "details": True, "return_full_text": True, "truncate": 9, "stop": ["x"],
    "decoder_input_details": False, "adapter_id": "a",
}  # fmt: skip
_RESPONSES = {"model": "databricks-gpt-5", "input": "Hi", "max_output_tokens": 5, "tools": [], "metadata": {"a": "b"}}
_LLAMA, _MPT = "databricks-meta-llama-3-3-70b-instruct", "databricks-mpt-7b-instruct"

CORPUS: dict[str, list[tuple[str, str, JSON]]] = {
    "databricks": [
        *(("POST", "/serving-endpoints/chat/completions", body) for body in _chats(_LLAMA)),
        *(("POST", "/serving-endpoints/chat/completions", body) for body in _chats("databricks-gpt-oss-20b")),
        *(("POST", "/serving-endpoints/databricks-claude-sonnet-4/invocations", body) for body in _chats("x")),
        ("POST", "/serving-endpoints/completions", {"model": _MPT, "prompt": ["a", "b"], "max_tokens": 3, "echo": True}),
        ("POST", "/serving-endpoints/embeddings", {"model": "databricks-gte-large-en", "input": ["a"], "instruction": "b"}),
        ("POST", "/serving-endpoints/responses", _RESPONSES),
        ("POST", "/serving-endpoints/responses", {**_RESPONSES, "stream": True, "input": [{"role": "user", "content": "Hi"}]}),
        ("GET", "/api/2.0/serving-endpoints", None),
        ("POST", "/oidc/v1/token", {"grant_type": "client_credentials"}),
        ("GET", "/.well-known/databricks-config", None),
    ],
    "azure": [
        *(("POST", "/chat/completions?api-version=2024-05-01-preview", body) for body in _chats("mistral-small-2503")),
        ("POST", "/embeddings?api-version=2024-05-01-preview", {"input": ["a"], "dimensions": 8, "encoding_format": "float"}),
        ("POST", "/completions?api-version=2024-05-01-preview", {"prompt": "a", "max_tokens": 3}),
        ("GET", "/info?api-version=2024-05-01-preview", None),
    ],
    "mindie": [
        ("POST", "/", {"inputs": "My name is", "parameters": _GENERATE, "stream": False}),
        ("POST", "/", {"inputs": "My name is", "parameters": {"max_new_tokens": 3}, "stream": True}),
        ("POST", "/", {"inputs": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": "http://x/a.png"}]}),
        ("POST", "/generate", {"prompt": "a", "max_tokens": 3, "stream": True}),
        ("POST", "/generate_stream", {"inputs": "a", "parameters": _GENERATE}),
        *(("POST", "/v1/chat/completions", body) for body in _chats("llama_65b")),
        ("POST", "/infer", {"inputs": "a", "stream": True, "parameters": {"max_new_tokens": 2}}),
        ("POST", "/v2/models/llama_65b/generate", {"id": "a", "text_input": "b", "parameters": {"max_new_tokens": 2}}),
        ("GET", "/info", None),
    ],
    "tgi": [
        ("POST", "/", {"inputs": "My name is", "parameters": _GENERATE, "stream": False}),
        ("POST", "/generate", {"inputs": "a", "parameters": {**_GENERATE, "best_of": 1, "top_n_tokens": 2}}),
        ("POST", "/generate_stream", {"inputs": "a", "parameters": {"max_new_tokens": 3, "details": True}}),
        ("POST", "/generate", {"inputs": "a", "parameters": {"grammar": {"type": "json", "value": _PARAMETERS}}}),
        *(("POST", "/v1/chat/completions", body) for body in _chats("tgi")),
        ("POST", "/v1/completions", {"model": "tgi", "prompt": ["a", "b"], "max_tokens": 3}),
        ("POST", "/tokenize", {"inputs": "a b c"}),
        ("GET", "/metrics", None),
    ],
    "openvino": [
        *(("POST", "/v3/chat/completions", body) for body in _chats("llama3")),
        ("POST", "/v3/chat/completions", {"model": "llama3", "messages": _MESSAGES, "best_of": 4, "n": 3, "max_tokens": 4}),
        ("POST", "/v3/completions", {"model": "llama3", "prompt": "a", "max_tokens": 3, "logprobs": 1, "echo": True}),
        ("POST", "/v3/embeddings", {"model": "embeddings", "input": ["a", "b"], "encoding_format": "float"}),
        ("POST", "/v3/rerank", {"model": "rerank", "query": "a", "documents": ["b", "c"]}),
        ("GET", "/v1/config", None),
        ("POST", "/v2/models/llama3/infer", {"inputs": []}),
    ],
}  # fmt: skip

_DEEP: JSON = "bottom"
for _ in range(60):
    _DEEP = [_DEEP]
_VALUES: list[JSON] = [
    None, True, False, 0, 1, -1, 2, 7, 20.0, 0.5, -0.0, 1e-7, 1e308, -1e308, 2**31, 2**32, 2**63, 2**64, 10**40, 1e999,
    "", " ", "x", "auto", "json_object", "\u0000", "é漢字🙂", "a" * 20_000, "[]", "{}", "data:image/png;base64,AAAA", "\ud83d\ude42",
    [], {}, [None], [[]], [{}], ["a", 1], {"a": None}, {"type": "text"}, {"type": None}, {"": {}}, [1, 2, 3], _DEEP,
    {"type": "function"}, {"type": "json_schema", "json_schema": {"name": "a", "schema": {"allOf": [{"type": "string"}]}}},
]  # fmt: skip
_METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
_HEADERS = [
    ("Content-Type", "text/plain"), ("Content-Type", ""), ("Content-Type", "application/json; charset=utf-16"),
    ("extra-parameters", "drop"), ("extra-parameters", "x"), ("azureml-model-deployment", "x"), ("Authorization", "Bearer"),
    ("Authorization", "Basic !!!"), ("Authorization", "Bearer 0000"), ("Authorization", "Basic dG9rZW46eA=="), ("api-key", "k"),
    ("Accept", "text/event-stream"), ("req-id", "é"),
]  # fmt: skip


def _paths(value: JSON) -> Iterator[tuple[JSON, JSON]]:
    """Every container and key or index in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield value, key
        yield from _paths(child)


def _replace(body: JSON, draw: random.Random) -> JSON:
    holder, key = draw.choice(list(_paths(body)))
    holder[key] = copy.deepcopy(draw.choice(_VALUES))
    return body


def _remove(body: JSON, draw: random.Random) -> JSON:
    holder, key = draw.choice(list(_paths(body)))
    del holder[key]
    return body


def _add(body: JSON, draw: random.Random) -> JSON:
    holders = [body, *(h[k] for h, k in _paths(body) if isinstance(h[k], dict))]
    name = draw.choice(["x", "", "stop", "name", "model", "stream", "type"])
    draw.choice(holders)[name] = copy.deepcopy(draw.choice(_VALUES))
    return body


def _swap(body: JSON, draw: random.Random) -> JSON:
    places = list(_paths(body))
    (one, a), (other, b) = draw.choice(places), draw.choice(places)
    one[a] = copy.deepcopy(other[b])
    return body


_MUTATIONS: list[Callable[[JSON, random.Random], JSON]] = [_replace, _replace, _replace, _remove, _add, _swap]


def mutate(body: JSON, draw: random.Random) -> bytes:
    """A body that is wrong, or just unusual, in one to three places; now and then not JSON at all."""
    for _ in range(draw.randint(1, 3)):
        if isinstance(body, dict) and body:
            body = draw.choice(_MUTATIONS)(body, draw)
    data = json.dumps(body).encode()
    kind = draw.random()
    if kind < 0.03:
        return data[: draw.randrange(len(data) + 1)]
    if kind < 0.06:
        place = draw.randrange(len(data) + 1)
        return data[:place] + draw.randbytes(2) + data[place:]
    return json.dumps(draw.choice(_VALUES)).encode() if kind < 0.08 else data


def make_request(vendor: str, draw: random.Random) -> bytes:
    """A whole request, from a sensible one."""
    method, target, body = copy.deepcopy(draw.choice(CORPUS[vendor]))
    data = b"" if body is None else mutate(body, draw)
    if draw.random() < 0.04:
        method = draw.choice(_METHODS)
    if draw.random() < 0.04:
        target = target[: draw.randrange(1, len(target) + 1)] + draw.choice(
            ["", "/", "x", "//", "/..", "%00", "?a=%ff"]
        )
    headers = {"Host": "x", "Authorization": "Bearer k", "Content-Type": "application/json"}
    if draw.random() < 0.08:
        headers.update([draw.choice(_HEADERS)])
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}Content-Length: {len(data)}\r\n\r\n".encode() + data


async def _exchange(running: Running, vendor: str, requests: list[bytes]) -> Counter[int]:
    """Send all over one connection; how often each status came."""
    statuses: Counter[int] = Counter()
    reader, writer = await running.connect(vendor, limit=2**26)
    for request in requests:
        writer.write(request)
        answer = await asyncio.wait_for(read_answer(reader), timeout=20)
        check(request, answer)
        statuses[answer.status] += 1
        if answer.header("Connection") == "close":
            writer.close()
            reader, writer = await running.connect(vendor, limit=2**26)
    writer.close()
    return statuses


def check(request: bytes, answer: Answer) -> None:
    """Check that the vendor answered, with valid JSON where the header says JSON."""
    assert answer.header("x-emulator-bug") is None, request
    assert 200 <= answer.status < 600, request
    if (answer.header("Content-Type") or "").startswith("application/json") and answer.body:
        json.loads(answer.body)


@pytest.mark.parametrize("vendor", list(CORPUS))
async def test_random_request_finds_no_bug(start: Start, vendor: str) -> None:
    draw = random.Random(vendor)
    running = await start("latency: {}\n")
    statuses = await _exchange(running, vendor, [make_request(vendor, draw) for _ in range(PER_VENDOR)])
    assert statuses[200] > PER_VENDOR / 20, "most of the requests never came to an answer"
    assert len(statuses) >= 4, "the requests were all wrong in the same way"


_NEST = b'{"messages":' + b"[" * 500 + b"]" * 500 + b"}"


@pytest.mark.parametrize("vendor", list(CORPUS))
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(_NEST, id="500 levels of nesting"),
        pytest.param(b"[" * 100_000, id="a hundred thousand brackets"),
        pytest.param(b'{"inputs":"\xff\xfe","messages":[]}', id="broken UTF-8"),
        pytest.param(b'{"temperature":NaN}', id="NaN"),
        pytest.param(b'{"a":"\\ud800"}', id="half a surrogate pair"),
        pytest.param(b'{"inputs":"' + b"a" * 10_000_000 + b'"}', id="ten megabytes"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"null", id="null"),
        pytest.param(b"\xef\xbb\xbf{}", id="a byte order mark"),
    ],
)
async def test_hostile_body_gets_vendor_error(start: Start, vendor: str, body: bytes) -> None:
    running = await start()
    _, target, _ = CORPUS[vendor][0]
    answer = await running.ask(vendor, target, body, headers={"Authorization": "Bearer k"})
    check(body[:80], answer)
    assert 400 <= answer.status < 500
    assert (await running.ask("front", "/_emulator/health")).status == 200
