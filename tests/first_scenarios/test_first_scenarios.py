"""Each of the ten scenarios in this folder does what its first line says, as a client sees it."""

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator import start
from emulator.client import EmulatorClient
from emulator.core.units import write_date
from tests.untyped_json import JSON

HERE = Path(__file__).parent
LLAMA = "databricks-meta-llama-3-3-70b-instruct"
TOOLS: JSON = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
    for name in ("get_weather", "search")
]


@pytest.fixture(scope="module")
def served() -> Iterator[EmulatorClient]:
    with start() as emulator:
        yield emulator


class Asker:
    """Client of one scenario."""

    def __init__(self, session: EmulatorClient) -> None:
        self.session = session

    def send(self, vendor: str, path: str, body: JSON, key: str = "dapi-key") -> tuple[int, dict[str, str], str]:
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}", "api-key": "k" * 32}
        asked = urllib.request.Request(self.session.url(vendor) + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(asked, timeout=20) as response:
                return response.status, dict(response.headers.items()), response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers.items()), error.read().decode()

    def chat(self, text: str, key: str = "dapi-key", **fields: JSON) -> tuple[int, dict[str, str], str]:
        body: JSON = {"model": LLAMA, "messages": [{"role": "user", "content": text}], "max_tokens": 5, **fields}
        return self.send("databricks", "/serving-endpoints/chat/completions", body, key)

    def answer(self, text: str, **fields: JSON) -> str:
        content: str = json.loads(self.chat(text, **fields)[2])["choices"][0]["message"]["content"]
        return content

    def azure(self, text: str, **fields: JSON) -> tuple[int, str]:
        body: JSON = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **fields}
        status, _, text = self.send("azure", "/openai/v1/chat/completions", body)
        return status, text


@pytest.fixture
def asker(served: EmulatorClient, request: pytest.FixtureRequest) -> Iterator[Asker]:
    name = request.node.name.removeprefix("test_")[0]
    (file,) = HERE.glob(f"{name}-*.yaml")
    with served.session(f"first-{name}") as session:
        session.load(file)
        yield Asker(session)


@pytest.mark.covers("language/keys of a limit", "name")
def test_a(asker: Asker) -> None:
    assert [asker.chat("Hi", "dapi-one")[0] for _ in range(3)] == [200] * 3
    status, headers, _ = asker.chat("Hi", "dapi-one")
    assert (status, headers["Retry-After"]) == (429, "20")
    refused = asker.session.last()
    assert refused.limits[0].limit == "calls a minute"
    assert refused.summary.startswith("calls a minute refuses: 1 request asked, 0 of 3 left")
    assert asker.chat("Hi", "dapi-two")[0] == 200
    status, headers, _ = asker.chat("Hi", "dapi-two", max_tokens=1000)
    assert (status, "Retry-After" in headers) == (429, False)
    assert "tokens a minute can never be met" in asker.session.last().summary
    asker.session.advance("20s")
    assert asker.chat("Hi", "dapi-one")[0] == 200


def test_b(asker: Asker) -> None:
    seen = [(asker.chat("Hi")[0], asker.session.last().planned_ttft) for _ in range(4)]
    assert [status for status, _ in seen] == [503, 503, 200, 200]
    assert [ttft for _, ttft in seen[2:]] == [8.0, 0.0]


def test_c(asker: Asker) -> None:
    before, begun = asker.session.clock().now, time.monotonic()
    _, _, text = asker.chat("Hi", stream=True, max_tokens=20)
    assert text.endswith("data: [DONE]\n\n")
    assert (asker.session.clock().now - before, time.monotonic() - begun < 25.0) == (30.0, True)
    asker.chat("Hi", model="databricks-llama-4-maverick", stream=True)
    assert asker.session.clock().now - before == 30.0


def test_d(asker: Asker) -> None:
    status, text = asker.azure("something forbidden")
    assert (status, json.loads(text)["error"]["code"]) == (400, "content_filter")
    assert "content_filter_result" in text
    assert asker.azure("something forbidden", stream=True)[0] == 400
    whole = json.loads(asker.azure("something risky")[1])["choices"][0]
    assert whole["finish_reason"] == "content_filter"
    assert '"finish_reason":"content_filter"' in asker.azure("something risky", stream=True)[1]


def test_e(asker: Asker) -> None:
    body: JSON = {"model": LLAMA, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 11, "stream": True}
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    opened = []
    for _ in range(2):
        url = urllib.parse.urlsplit(asker.session.url("databricks"))
        connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=20)
        connection.request("POST", "/serving-endpoints/chat/completions", json.dumps(body), headers)
        opened.append((connection, connection.getresponse()))  # with its first token: it runs
    assert asker.chat("one too many")[0] == 503
    asker.session.advance("10s")
    for connection, response in opened:
        assert response.read().endswith(b"data: [DONE]\n\n")
        connection.close()
    ended = [(call.planned_end or 0) - (call.planned_ttft or 0) for call in asker.session.requests(status=200)]
    assert sorted(round(seconds, 3) for seconds in ended) == [0.1, 0.3]


def test_f(asker: Asker) -> None:
    def is_broken(number: int) -> bool:
        _, _, text = asker.chat(f"The weather in Paris, call {number}?", tools=TOOLS, max_tokens=100)
        arguments = json.loads(text)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
        try:
            return json.loads(arguments) is None
        except ValueError:
            return True

    broken = [is_broken(number) for number in range(30)]
    assert [sum(broken[start : start + 10]) for start in (0, 10, 20)] == [1, 1, 1]
    assert [is_broken(number) for number in range(30)] == broken


def test_g(asker: Asker) -> None:
    def ask_both() -> list[int]:
        tgi = asker.send(
            "tgi", "/v1/chat/completions", {"model": "tgi", "messages": [{"role": "user", "content": "Hi"}]}
        )
        return [asker.chat("Hi")[0], tgi[0]]

    assert write_date(asker.session.clock().now) == "2026-11-23T09:55:00.000Z"
    assert ask_both() == [200, 200]
    asker.session.advance("5m")
    assert ask_both() == [500, 500]
    assert asker.azure("Hi")[0] == 200
    asker.session.advance("4m59s")
    assert ask_both() == [500, 500]
    asker.session.advance("1s")
    assert ask_both() == [200, 200]
    asker.session.advance("23h55m")
    assert ask_both() == [500, 500]


def test_h(asker: Asker) -> None:
    said = asker.answer("How is the weather in Köln?", max_tokens=100)
    assert said == 'In Köln it rains. You began with "How".'


def test_i(asker: Asker) -> None:
    tools = TOOLS[1:]
    talk: list[JSON] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rivers?"}]
    first = json.loads(asker.chat("", messages=talk, tools=tools, max_tokens=100)[2])["choices"][0]["message"]
    call = first["tool_calls"][0]
    assert call["function"]["name"] == "search"
    talk += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "The Rhine"},
    ]
    assert asker.answer("", messages=talk, tools=tools, max_tokens=100) == "I found it."
    talk += [{"role": "assistant", "content": "I found it."}, {"role": "user", "content": "And?"}]
    assert asker.answer("", messages=talk, tools=tools, max_tokens=100) == "Turn 2: as I found before."


@pytest.mark.covers("language/keys of a reply", "embeddings", "pad")
def test_j(asker: Asker) -> None:
    inputs = ["cat", "a kitten", "cars", "something else", "cat"]
    _, _, text = asker.send("databricks", "/serving-endpoints/databricks-gte-large-en/invocations", {"input": inputs})
    vectors = [row["embedding"] for row in json.loads(text)["data"]]
    assert [len(vector) for vector in vectors] == [1024] * 5
    cat, kitten, car, usual, again = vectors
    assert (cat[:2], kitten[:2], car[:2], cat == again) == ([1, 0], pytest.approx([0.96, 0.28]), [0, 1], True)
    assert sum(map(lambda a, b: a * b, cat, kitten)) == pytest.approx(0.96)
    assert sum(map(lambda a, b: a * b, cat, car)) == 0
    assert 0 not in usual
