"""Recordings and fixtures of other tools."""

import gzip
import json
import zlib
from base64 import b64encode
from pathlib import Path
from zipfile import ZipFile

import pytest

from emulator import start
from emulator.cli import main
from emulator.imports.files import read_files, write_found
from emulator.imports.result import ImportProblem, ImportResult
from emulator.imports.vendors import find_target, find_vendor
from emulator.recording.exchange import load_folder
from emulator.scenario.load import load_scenario
from tests.untyped_json import JSON

FILES = Path(__file__).parent / "files"
SECRET = f"dapi{'0123456789abcdef' * 2}"
URL = "https://adb-1.azuredatabricks.net/serving-endpoints/chat/completions"
ASKED: JSON = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
SAID: JSON = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
EVENT = "data: {}\n\n"


def entry(**changes: JSON) -> JSON:
    """An entry of a HAR file."""
    given: dict[str, JSON] = {
        "startedDateTime": "2026-11-26T12:00:00.000Z",
        "request": {
            "method": "POST",
            "url": URL,
            "headers": [{"name": ":authority", "value": "x"}, {"name": "authorization", "value": f"Bearer {SECRET}"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(ASKED)},
        },
        "response": {
            "status": 200,
            "statusText": "OK",
            "headers": [{"name": "content-type", "value": "text/event-stream"}],
            "content": {"size": 20, "text": EVENT * 2},
        },
        "timings": {"blocked": -1, "send": 1, "wait": 250, "receive": 500},
    }
    return given | changes


LITELLM: JSON = {
    "call_type": "acompletion",
    "custom_llm_provider": "databricks",
    "model": "databricks/m",
    "messages": [{"role": "user", "content": "Hi"}],
    "model_parameters": {"max_tokens": 5, "extra_headers": {"a": "b"}},
    "response": SAID,
    "startTime": 100.0,
    "endTime": 101.0,
    "completionStartTime": 100.25,
    "status": "success",
}


def read(tmp_path: Path, text: str | JSON, vendor: str = "", name: str = "file") -> ImportResult:
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return read_files([file], vendor)


def test_cassette_of_vcrpy_is_read(tmp_path: Path) -> None:
    """Made with vcrpy 8.5 and the openai package: a whole answer, a stream, a 404."""
    found = read_files([FILES / "vcrpy.yaml"])
    assert found.lost == ["vcrpy.yaml: vcrpy keeps no times: the events of 1 streams are all due at once"]
    assert [(each.vendor, each.method, each.status) for each in found.exchanges] == [
        ("databricks", "POST", 200),
        ("databricks", "POST", 200),
        ("databricks", "POST", 404),
    ]
    assert len(found.exchanges[1].writes) == 9
    write_found(found, tmp_path)
    assert SECRET not in "".join(file.read_text(encoding="utf-8") for file in tmp_path.iterdir())
    assert len(load_folder(tmp_path)) == 3


@pytest.mark.slow
def test_cassette_is_replayed_to_the_client_that_made_it(tmp_path: Path) -> None:
    import openai

    assert main(["import", str(FILES / "vcrpy.yaml"), "--to", str(tmp_path)]) == 0
    with start(replay={"from": str(tmp_path)}) as emulator:
        client = openai.OpenAI(base_url=emulator.url("databricks") + "/serving-endpoints", api_key="any", max_retries=0)
        model = "databricks-meta-llama-3-3-70b-instruct"
        messages: list[JSON] = [{"role": "user", "content": "Name a tide."}]
        whole = client.chat.completions.create(model=model, messages=messages, max_tokens=6)
        stream = client.chat.completions.create(model=model, messages=messages, stream=True)
        said = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
        assert whole.choices[0].message.content == said == "Here is a brief overview of"
        with pytest.raises(openai.NotFoundError, match="The given endpoint does not exist"):
            client.chat.completions.create(model="missing", messages=[{"role": "user", "content": "Hi"}])
        with pytest.raises(openai.InternalServerError, match="This call is not recorded"):
            client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Hi"}])


def test_har_is_read(tmp_path: Path) -> None:
    whole = entry(response={"status": 200, "headers": [], "content": {"text": "eA==", "encoding": "base64", "size": 1}})
    failed = entry(response={"status": 0, "headers": []})
    preflight = entry(request={"method": "OPTIONS", "url": URL})
    unknown = entry(request={"method": "GET", "url": "https://example.com/v1/models", "headers": []})
    empty = entry(response={"status": 200, "headers": [], "content": {"size": 7}})
    found = read(tmp_path, {"log": {"version": "1.2", "entries": [entry(), whole, failed, preflight, unknown, empty]}})
    stream, second, third, fourth = found.exchanges
    assert [write.data for write in stream.writes] == [EVENT.encode()] * 2
    assert (stream.offset, stream.ended, stream.time) == (0.25, 0.75, 1795694400.0)
    assert [name for name, _ in stream.request_headers] == ["authorization"]
    assert json.loads(stream.request_body) == ASKED
    assert (second.body, third.ending, fourth.body) == (b"x", "cut", b"")
    assert found.lost == [
        "file: log.entries[2]: HAR does not say how the call failed: it counts as cut",
        "file: log.entries[3]: OPTIONS is of the browser, not of the service",
        "file: log.entries[4]: neither host nor path of https://example.com/v1/models says whose it is; use --vendor",
        "file: log.entries[5]: the file has no body of the response, of 7 bytes",
        "file: HAR has no times of events: those of 1 streams are due with the first byte",
    ]


def packed(**changes: JSON) -> JSON:
    """A whole response of a HAR file."""
    given: dict[str, JSON] = {"status": 200, "headers": [], "content": {"text": "{}"}}
    return given | changes


def test_odd_har_entries(tmp_path: Path) -> None:
    """Compressed bodies, joined cookies, half a character, WebSockets, failures in a browser's words, odd statuses."""
    gzipped: JSON = {"name": "Content-Encoding", "value": "gzip"}
    base64: JSON = {"text": b64encode(gzip.compress(b"{}")).decode(), "encoding": "base64"}
    cookies: JSON = [{"name": "Set-Cookie", "value": "a=1\nb=2"}, {"name": "a b", "value": "1"}]
    zstd: JSON = {"text": "KLUv/Q==", "encoding": "base64"}
    responses = [
        packed(headers=[gzipped], content=base64),
        packed(headers=cookies, content={"text": "\ud83d"}, statusText="O\nK", status=200.0),
        packed(_error="net::ERR_INCOMPLETE_CHUNKED_ENCODING"),
        packed(status=0, _error="net::ERR_CONNECTION_RESET"),
        packed(status=-1, _failureText="net::ERR_TIMED_OUT"),
        packed(status=101),
        packed(status=9999),
        packed(headers=[{"name": "content-encoding", "value": "zstd"}], content=zstd),
    ]
    asked: JSON = {"method": "POST\r\nX: y", "url": URL}
    entries = [*(entry(response=each) for each in responses), entry(request=asked)]
    found = read(tmp_path, {"log": {"entries": entries}})
    one, two, three, four, five = found.exchanges
    assert (one.body, one.headers) == (b"{}", ())
    assert (two.body, two.reason, two.headers) == (b"?", "O K", (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")))
    assert [each.ending for each in (one, three, four, five)] == ["whole", "cut", "reset", "timed out"]
    assert [line.removeprefix("file: log.entries") for line in found.lost] == [
        "[5]: a WebSocket of 0 messages, which no recording has",
        "[6]: the status of the response is no number from 100 to 599",
        "[7]: the response is compressed in a way that cannot be read",
        "file: HAR has no times of events: those of 1 streams are due with the first byte",
        "[8]: its method is none",
    ]


@pytest.mark.parametrize(
    "headers",
    [{"content-type": ["application/json"]}, [["content-type", "application/json"]]],
    ids=["mapping", "pairs"],
)
def test_early_cassette_of_httpx_is_read(headers: JSON, tmp_path: Path) -> None:
    """vcrpy before 6 wrote the responses of httpx, and so of the openai package, in a form of its own."""
    response: JSON = {"status_code": 429, "http_version": "HTTP/1.1", "headers": headers, "content": '{"a": 1}'}
    request: JSON = {"method": "POST", "uri": URL, "body": "{}", "headers": {}}
    found = read(tmp_path, {"version": 1, "interactions": [{"request": request, "response": response}]})
    assert [(each.status, each.body, len(each.headers)) for each in found.exchanges] == [(429, b'{"a": 1}', 1)]
    assert not found.lost


def build_packings() -> dict[str, tuple[str, bytes, bytes]]:
    """Return coding, body of a cassette, and what is read of it."""
    said = json.dumps(SAID).encode() * 20
    raw = zlib.compressobj(wbits=-15)
    return {
        "raw deflate": ("deflate", raw.compress(said) + raw.flush(), said),
        "deflate": ("deflate", zlib.compress(said), said),
        "cut gzip": ("gzip", gzip.compress(said)[:-8], said),
    } | {
        f"{coding}, decompressed: {text[:20]}": (coding, text.encode(), text.encode())
        for coding in ("deflate", "gzip", "br")
        for text in ('{"a":1}', '{"error":{"message":"model not found"}}', "[1, 2]", EVENT, "hC is text", "x^2", "OK")
    }


PACKINGS = build_packings()


@pytest.mark.parametrize("name", PACKINGS)
def test_compressed_and_decompressed_bodies_are_read(name: str, tmp_path: Path) -> None:
    """Tools keep the header of a body that they decompressed, and any text begins like deflate without a head."""
    coding, sent, body = PACKINGS[name]
    text: JSON = {"base64_string": b64encode(sent).decode()}
    response: JSON = {"body": text, "headers": {"content-encoding": [coding]}}
    found = read(tmp_path, {"interactions": [{"request": {"method": "GET", "uri": URL}, "response": response}]})
    assert [each.body for each in found.exchanges] == [body]


@pytest.mark.parametrize("coding", ["br", "zstd", "dcb"])
def test_binary_bodies_of_har_are_read(coding: str, tmp_path: Path) -> None:
    """Audio, which the format has decompressed."""
    audio: JSON = {"text": b64encode(b"ID3\xff\xfb").decode(), "encoding": "base64"}
    response = packed(headers=[{"name": "Content-Encoding", "value": coding}], content=audio)
    found = read(tmp_path, {"log": {"entries": [entry(response=response)]}})
    assert [(each.body, each.headers) for each in found.exchanges] == [(b"ID3\xff\xfb", ())]
    assert not found.lost


def test_credential_in_a_compressed_request_is_cut(tmp_path: Path) -> None:
    body = gzip.compress(json.dumps({"key": SECRET}).encode())
    request: JSON = {
        "method": "POST",
        "uri": URL + "?q=a b",
        "body": {"base64_string": b64encode(body).decode()},
        "headers": {"Content-Encoding": ["gzip"]},
    }
    value: JSON = {"interactions": [{"request": request, "response": {"body": {"string": "{}"}}}]}
    found = read(tmp_path, value)
    assert found.exchanges[0].target.endswith("?q=a%20b")
    assert write_found(found, tmp_path / "to")
    text = next((tmp_path / "to").iterdir()).read_text(encoding="utf-8")
    assert '{"key": "dapi…"}' in text
    assert "Content-Encoding" not in text


def test_mockserver_lists_and_bytes_are_read(tmp_path: Path) -> None:
    """Headers and parameters may be lists of names and values, bodies base64."""
    body: JSON = {"type": "BINARY", "base64Bytes": b64encode(b'{"a": 1}').decode()}
    response: JSON = {"statusCode": 200, "headers": [{"name": "X-A", "values": ["1", "2"]}], "body": body}
    request: JSON = {
        "method": "GET",
        "path": "/serving-endpoints/m",
        "remoteAddress": "127.0.0.1",
        "queryStringParameters": [{"name": "q", "values": ["1"]}],
    }
    found = read(tmp_path, [{"httpRequest": request, "httpResponse": response}], "databricks")
    (exchange,) = found.exchanges
    assert (exchange.target, exchange.body) == ("/serving-endpoints/m?q=1", b'{"a": 1}')
    assert exchange.headers == (("X-A", "1"), ("X-A", "2"))


def test_litellm_lines_are_read(tmp_path: Path) -> None:
    assert isinstance(LITELLM, dict)
    failure = {"error_code": "429", "error_message": "slow down"}
    lines: list[JSON] = [
        LITELLM,
        {**LITELLM, "stream": True},
        {**LITELLM, "status": "failure", "error_information": failure},
        {**LITELLM, "call_type": "embedding", "messages": ["a"], "custom_llm_provider": "azure"},
        {**LITELLM, "custom_llm_provider": "openai"},
    ]
    found = read(tmp_path, "\n".join(map(json.dumps, lines)))
    whole, stream, failed, embedding = found.exchanges
    assert json.loads(whole.request_body) == {**dict(ASKED), "max_tokens": 5}
    assert (whole.target, whole.offset, whole.ended) == ("/serving-endpoints/chat/completions", 0.25, 1.0)
    assert stream.body.count(b"data: ") == 3
    assert (failed.status, json.loads(failed.body)) == (429, {"error": {"message": "slow down"}})
    assert (embedding.vendor, embedding.target) == ("azure", "/openai/v1/embeddings")
    assert [line.partition(": ")[0] for line in found.lost] == ["file:2", "file:3", "file:5"]


@pytest.mark.parametrize(
    ("code", "status"), [("429", 429), (503, 503), ("²", 500), ("0", 500), (99999, 500), ("", 500), (None, 500)]
)
def test_status_of_a_failure_in_litellm_is_read(code: JSON, status: int, tmp_path: Path) -> None:
    assert isinstance(LITELLM, dict)
    failed = {**LITELLM, "status": "failure", "error_information": {"error_code": code, "error_message": "{}"}}
    assert [each.status for each in read(tmp_path, json.dumps(failed)).exchanges] == [status]


@pytest.mark.parametrize(
    ("code", "statuses"), [("429", [429]), (200.0, [200]), (None, [200]), (0, []), (99999, []), (True, [])]
)
def test_status_of_a_batch_is_read(code: JSON, statuses: list[int], tmp_path: Path) -> None:
    lines: list[JSON] = [
        {"custom_id": "a", "url": "/v1/chat/completions", "body": ASKED},
        {"custom_id": "a", "response": {"status_code": code, "body": SAID}},
    ]
    found = read(tmp_path, "\n".join(map(json.dumps, lines)), "azure")
    assert [each.status for each in found.exchanges] == statuses
    wanted = [] if statuses else ["file:2: the status of the response is no number from 100 to 599"]
    assert found.lost == wanted


def test_litellm_lines_that_lack_a_part_are_listed(tmp_path: Path) -> None:
    assert isinstance(LITELLM, dict)
    redacted: JSON = [{"role": "user", "content": "redacted-by-litellm"}]
    lines: list[JSON] = [
        {**LITELLM, "startTime": "2026-11-27T10:00:00Z", "endTime": None, "completionStartTime": None},
        {**LITELLM, "model_parameters": {"extra_body": {"top_k": 3}}},
        {**LITELLM, "messages": redacted},
        {**LITELLM, "response": None},
        {**LITELLM, "call_type": "responses", "messages": "Hi", "stream": True},
    ]
    found = read(tmp_path, "\n".join(map(json.dumps, lines)))
    assert [(each.time, each.offset, each.ended) for each in found.exchanges] == [
        (1795773600.0, 0.0, 0.0),
        (100.0, 0.25, 1.0),
    ]
    assert json.loads(found.exchanges[1].request_body)["top_k"] == 3
    assert found.lost == [
        "file:3: LiteLLM did not log its messages",
        "file:4: LiteLLM did not log its response",
        "file:5: LiteLLM logs no events of a stream of /responses",
    ]


def test_batches_with_equal_ids_are_joined_in_their_order(tmp_path: Path) -> None:
    """Azure's batches leave out ``/v1``."""
    asked = [{"custom_id": "a", "url": "/chat/completions", "body": {"n": number}} for number in (1, 2)]
    said = [{"custom_id": "a", "response": {"status_code": 200, "body": {"n": number}}} for number in (1, 2)]
    found = read(tmp_path, "\n".join(map(json.dumps, asked + said)), "azure")
    assert [each.target for each in found.exchanges] == ["/openai/v1/chat/completions"] * 2
    assert all(each.request_body == each.body for each in found.exchanges)
    assert found.lost == ["file:3: a has 2 results: they are joined in their order"]


@pytest.mark.parametrize(
    ("value", "lost"),
    [
        pytest.param(
            {"fixtures": [{"match": {"toolCallId": "c"}, "response": {"content": "x"}}]},
            ["match.toolCallId: no condition compares it"],
            id="aimock",
        ),
        pytest.param(
            {"fixtures": [{"match": {"header": "x"}, "response": {"content": "x", "thinking": "y"}}]},
            ["match.header: no condition compares it", "response.thinking: there is nothing like it"],
            id="llmposter",
        ),
        pytest.param(
            [
                {
                    "httpRequest": {"path": {"not": True, "value": "/x"}, "method": "GET"},
                    "httpResponse": {"statusCode": 429, "headers": [{"name": "Retry-After", "values": ["3"]}]},
                }
            ],
            [
                "httpRequest.path: no condition compares it",
                "httpRequest.method: no condition compares it",
                "httpResponse.headers: a rule has those of the vendor, not Retry-After",
            ],
            id="MockServer",
        ),
    ],
)
def test_rule_without_its_conditions_is_left_out(value: JSON, lost: list[str], tmp_path: Path) -> None:
    """It would answer every call."""
    found = read(tmp_path, value)
    assert not found.rules
    *others, last = [line.partition("]: ")[2] for line in found.lost]
    assert (others, last) == (lost, "left out, as without a condition it would answer every call")


def test_expectations_of_mockserver_stand_by_priority(tmp_path: Path) -> None:
    given: list[JSON] = [
        {"httpRequest": {"path": f"/{number}"}, "httpResponse": {"statusCode": 429}, "priority": number}
        for number in (1, 3, 2)
    ]
    assert [rule["when"] for rule in read(tmp_path, given).rules] == [
        {"endpoint": f"/{number}"} for number in (3, 2, 1)
    ]


def test_batches_are_joined(tmp_path: Path) -> None:
    asked = [{"custom_id": n, "method": "POST", "url": "/v1/chat/completions", "body": ASKED} for n in "abd"]
    results: list[JSON] = [
        {"custom_id": "a", "response": {"status_code": 200, "body": SAID}, "error": None},
        {"custom_id": "b", "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": "c", "response": {"status_code": 200, "body": SAID}, "error": None},
    ]
    for name, lines in (("in", asked), ("out", results)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)))
    found = read_files([tmp_path / "in", tmp_path / "out"], "openvino")
    (exchange,) = found.exchanges
    assert (exchange.target, json.loads(exchange.body)) == ("/v3/chat/completions", SAID)
    assert found.lost == [
        'out:2: the request failed before it ran: {"code":"batch_expired"}',
        "out:3: the result of c, whose request is in none of the files",
        "in:3: the request d has no result",
    ]


AIMOCK = {
    "fixtures": [
        {"match": {"userMessage": "weather"}, "response": {"toolCalls": [{"name": "w", "arguments": '{"city":"SF"}'}]}},
        {"match": {"userMessage": "twice", "sequenceIndex": 0}, "response": {"content": "first"}},
        {"match": {"userMessage": "twice", "sequenceIndex": 1}, "response": {"content": "second"}},
        {"match": {"userMessage": "busy"}, "response": {"error": {"message": "wait"}, "status": 429}},
        {"match": {"userMessage": "slow", "turnIndex": 1}, "response": {"content": "s"}, "latency": 20, "chaos": {}},
        {"match": {"inputText": "vector"}, "response": {"embedding": [0.5, 0.25]}},
        {"match": {"userMessage": "sound"}, "response": {"audio": "x"}},
    ]
}
LLMPOSTER = """
fixtures:
  - match: {user_message: {regex: "weather in \\\\w+"}, model: gpt}
    response: {content: sunny, stop_reason: max_tokens}
  - match: {user_message: no}
    error: {status: 503, message: full}
  - match: {user_message: cut, header: x}
    response: {content: a long answer}
    failure: {latency_ms: 50, truncate_after_frames: 2}
    provider: anthropic
  - refusal: I cannot.
"""
MOCKSERVER = [
    {
        "httpRequest": {"path": "/serving-endpoints/.*", "body": {"type": "JSON", "json": {"model": "m"}}},
        "httpResponse": {"statusCode": 200, "body": SAID, "delay": {"timeUnit": "SECONDS", "value": 2}},
        "times": {"remainingTimes": 1},
    },
    {"httpRequest": {"method": "POST", "headers": {"X-A": ["b"]}}, "httpResponse": {"statusCode": 429, "body": "{}"}},
    {"httpRequest": {"path": "/x"}, "httpError": {"dropConnection": True}, "httpForward": {}},
]


@pytest.mark.parametrize(
    ("text", "rules", "lost"),
    [
        pytest.param(
            AIMOCK,
            [
                {
                    "when": {"prompt": {"contains": "weather"}},
                    "reply": {"tool_calls": [{"name": "w", "arguments": {"city": "SF"}}]},
                },
                {"when": {"prompt": {"contains": "twice"}}, "times": {"nth": 1}, "reply": {"text": "first"}},
                {"when": {"prompt": {"contains": "twice"}}, "times": {"nth": 1}, "reply": {"text": "second"}},
                {
                    "when": {"prompt": {"contains": "busy"}},
                    "error": {"kind": "rate_limited", "status": 429, "message": "wait"},
                },
                {
                    "when": {"prompt": {"contains": "slow"}, "turn": 2},
                    "reply": {"text": "s"},
                    "latency": {"itl": "20ms"},
                },
                {"when": {"prompt": {"contains": "vector"}}, "reply": {"embedding": [0.5, 0.25]}},
            ],
            [
                "file: fixtures[4]: match.turnIndex: counted in messages of the user, not of the assistant",
                "file: fixtures[4]: chaos: there is nothing like it",
                "file: fixtures[6]: response.audio: no reply has it",
                "file: fixtures[6]: nothing of its response can be carried over",
            ],
            id="aimock",
        ),
        pytest.param(
            LLMPOSTER,
            [
                {
                    "when": {"prompt": {"regex": "weather in \\w+"}, "body.model": {"contains": "gpt"}},
                    "reply": {"text": "sunny", "finish_reason": "length"},
                },
                {
                    "when": {"prompt": {"contains": "no"}},
                    "error": {"kind": "overloaded", "status": 503, "message": "full"},
                },
                {
                    "when": {"prompt": {"contains": "cut"}},
                    "reply": {"text": "a long answer"},
                    "latency": {"ttft": "50ms"},
                    "faults": [{"type": "truncate", "after_tokens": 2}],
                },
                {"reply": {"refusal": "I cannot."}},
            ],
            [
                "file: fixtures[2]: match.header: no condition compares it",
                "file: fixtures[2]: failure.truncate_after_frames: counted in tokens, not in frames",
                "file: fixtures[2]: provider: there is nothing like it",
            ],
            id="llmposter",
        ),
        pytest.param(
            MOCKSERVER,
            [
                {
                    "when": {"endpoint": "/serving-endpoints/*", "body.model": "m"},
                    "times": {"first": 1},
                    "reply": {"text": "Hello"},
                    "latency": {"ttft": "2s"},
                },
                {
                    "when": {"header.x-a": {"regex": "^(?:b)$"}},
                    "error": {"kind": "rate_limited", "status": 429, "body": {}},
                },
                {"when": {"endpoint": "/x"}, "faults": [{"type": "disconnect"}]},
            ],
            [
                "file: [0]: httpResponse: its text is carried over; the rest is the vendor's format",
                "file: [2]: httpForward: there is nothing like it",
            ],
            id="MockServer",
        ),
    ],
)
def test_fixtures_become_rules(text: JSON, rules: list[JSON], lost: list[str], tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert [{key: value for key, value in rule.items() if key != "name"} for rule in found.rules] == rules
    assert found.lost == lost
    write_found(found, tmp_path / "to")
    loaded = load_scenario([tmp_path / "to" / "imported.yaml"])
    assert len(loaded.scenario.rules) == len(rules)


@pytest.mark.parametrize(
    ("url", "vendor"),
    [
        (URL, "databricks"),
        ("https://x.openai.azure.com/openai/deployments/a/chat/completions", "azure"),
        ("https://x.services.ai.azure.com/models/chat/completions", "azure"),
        ("https://x.eu-west-1.aws.endpoints.huggingface.cloud/generate", "tgi"),
        ("http://127.0.0.1:8000/v3/chat/completions", "openvino"),
        ("http://127.0.0.1:8000/generate_stream", "tgi"),
        ("http://127.0.0.1:4010/mindie/v1/chat/completions", "mindie"),
        ("http://127.0.0.1:4010/_s/a/azure/openai/v1/chat/completions", "azure"),
        ("http://127.0.0.1:4010/_s/a/tgisome/v1/models", ""),
        ("https://api.openai.com/v1/chat/completions", ""),
        ("https://azuredatabricks.net.example.com/v1/chat/completions", ""),
    ],
)
def test_vendor_is_found_by_host_or_path(url: str, vendor: str) -> None:
    assert find_vendor(url) == vendor


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/mindie/v1/models?a=b", "/v1/models?a=b"),
        ("/_s/a/mindie/v1/models", "/v1/models"),
        ("/_s/a/v1/models", "/v1/models"),
        ("/mindiesome/v1/models", "/mindiesome/v1/models"),
        ("/mindie", "/"),
    ],
)
def test_prefixes_of_front_port_and_session_are_left_out(path: str, target: str) -> None:
    assert find_target(f"http://127.0.0.1:4010{path}", "mindie") == target


def test_names_of_files_have_no_credential(tmp_path: Path) -> None:
    found = read(tmp_path, {"log": {"entries": [entry(request={"method": "GET", "url": f"{URL}/{SECRET}"})]}})
    write_found(found, tmp_path / "to")
    (file,) = (tmp_path / "to").iterdir()
    assert file.name == "0001-databricks-serving-endpoints-chat-completions-dapi.exchange"


@pytest.mark.parametrize("name", ["body.json", "../body.json", "/etc/hostname", "linked.json", "absent.json"])
@pytest.mark.parametrize("packed", [False, True])
def test_bodies_in_files_beside_a_har_are_read(name: str, packed: bool, tmp_path: Path) -> None:
    har = {"log": {"entries": [entry(response={"status": 200, "content": {"size": 2, "_file": name}})]}}
    (tmp_path / "har").mkdir()
    for place in (tmp_path, tmp_path / "har"):
        (place / "body.json").write_text("{}")
    (tmp_path / "har" / "linked.json").symlink_to("/etc/hostname")
    file = tmp_path / "har" / "calls.har"
    file.write_text(json.dumps(har))
    if packed:
        file = tmp_path / "calls.zip"
        with ZipFile(file, "w") as archive:
            archive.writestr("har.har", json.dumps(har))
            archive.writestr("body.json", "{}")
    found = read_files([file])
    assert found.exchanges[0].body == (b"{}" if name == "body.json" else b"")
    assert len(found.lost) == (name != "body.json")


def test_archives_without_har_are_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "{}")
    with pytest.raises(ImportProblem, match=r"a\.zip: an archive without a HAR file"):
        read_files([tmp_path / "a.zip"])


@pytest.mark.parametrize(
    "text", ["a: [", "{}", "[1, 2]", "!!python/object/apply:os.system ['true']", "when: 2026-01-01"]
)
def test_other_files_are_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ImportProblem):
        read(tmp_path, text)
    assert main(["import", str(tmp_path / "file"), "--to", str(tmp_path / "to")]) == 2
    assert "emulator: error: " in capsys.readouterr().err


@pytest.mark.covers("language/commands", "import")
def test_command_lists_what_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "calls.har"
    file.write_text(json.dumps({"log": {"entries": [entry()]}}))
    assert main(["import", str(file), "--to", str(tmp_path / "to")]) == 0
    said = capsys.readouterr()
    assert said.out == f"1 exchange in {tmp_path / 'to'}; 1 thing not carried over\n"
    assert "not carried over: calls.har: HAR has no times of events" in said.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            {"log": {"entries": [entry(request={"method": "GET", "url": "https://example.com/what"})]}},
            "for the reasons above",
            id="nobody's",
        ),
        pytest.param({"log": {"entries": []}}, "the files hold no calls", id="empty"),
        pytest.param(None, "the files hold no calls", id="no files"),
    ],
)
def test_command_fails_if_nothing_is_carried_over(
    text: JSON, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "from").mkdir()
    if text is not None:
        (tmp_path / "from" / "file").write_text(json.dumps(text))
    assert main(["import", str(tmp_path / "from"), "--to", str(tmp_path / "to")]) == 1
    said = capsys.readouterr()
    assert not said.out
    assert ("use --vendor" in said.err) == (reason == "for the reasons above")
    assert f"emulator: error: nothing was carried over{', ' if 'above' in reason else ': '}{reason}" in said.err
    assert not (tmp_path / "to").exists()


INTERACTION: dict[str, JSON] = {
    "request": {"method": "POST", "uri": URL, "body": json.dumps(ASKED), "headers": {}},
    "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}},
}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"request": "x"}, id="a request that is text"),
        pytest.param({"response": [1]}, id="a response that is a list"),
        pytest.param("x", id="an interaction that is text"),
        pytest.param({"response": {"status": "200"}}, id="a status that is text"),
        pytest.param({"response": {"status": {"code": None}}}, id="a status without number"),
        pytest.param({"response": {"status": {"code": [200]}}}, id="a number that is a list"),
        pytest.param({"request": {"uri": "http://["}}, id="a URL that is none"),
        pytest.param({"response": {"body": {"base64_string": "a"}}}, id="base64 that is none"),
    ],
)
def test_malformed_interaction_is_no_traceback(wrong: JSON, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tape.json"
    second = {**INTERACTION, **wrong} if isinstance(wrong, dict) else wrong
    file.write_text(json.dumps({"version": 1, "interactions": [INTERACTION, second]}))
    for vendor in ([], ["--vendor", "databricks"]):
        assert main(["import", str(file), "--to", str(tmp_path / "to"), *vendor]) == 0
        assert capsys.readouterr().out.startswith(("1 exchange in ", "2 exchanges in "))


def test_body_that_is_no_base64_is_listed(tmp_path: Path) -> None:
    wrong = {"base64_string": "eA=*"}
    tape = {"request": {"method": "POST", "uri": URL, "body": wrong}, "response": {"body": wrong}}
    content: JSON = {"text": "a", "encoding": "base64", "size": 1}
    wrapped: JSON = {"text": "e\r\nA==\n", "encoding": "base64", "size": 1}
    har = [
        entry(response={"status": 200, "headers": [], "content": content}),
        entry(response={"status": 200, "headers": [], "content": wrapped}),
    ]
    of_tape = read(tmp_path, {"version": 1, "interactions": [tape]})
    assert of_tape.lost == [
        "file: interactions[0]: the body of the response is no base64: it is left empty",
        "file: interactions[0]: the body of the request is no base64: it is left empty",
    ]
    assert (of_tape.exchanges[0].request_body, of_tape.exchanges[0].body) == (b"", b"")
    of_har = read(tmp_path, {"log": {"version": "1.2", "entries": har}})
    assert [line for line in of_har.lost if "base64" in line] == [
        "file: log.entries[0]: the body of the response is no base64: it is left empty"
    ]
    assert [exchange.body for exchange in of_har.exchanges] == [b"", b"x"]
    assert not any("has no body" in line for line in of_har.lost)


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        (201, True),
        ("201", True),
        (-5, False),
        (0, False),
        (600, False),
        ("20x", False),
        (True, False),
        ("9" * 5000, False),
    ],
)
def test_status_of_a_cassette_is_a_number_from_100_to_599(
    code: JSON, kept: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = {**INTERACTION, "response": {"status": {"code": code}, "headers": {}, "body": {"string": "{}"}}}
    file = tmp_path / "tape.json"
    file.write_text(json.dumps({"version": 1, "interactions": [INTERACTION, second]}))
    assert main(["import", str(file), "--to", str(tmp_path / "to"), "--vendor", "databricks"]) == 0
    assert capsys.readouterr().out.startswith("2 exchanges in " if kept else "1 exchange in ")
    assert [each.status for each in load_folder(tmp_path / "to")] == ([200, 201] if kept else [200])
