"""Tests of the journal over HTTP: lists, details, filters and waiting."""

import asyncio
import base64
import json
from weakref import ref

import pytest

from emulator.control.models import Filters, RequestEntry
from emulator.control.serialize import show_body, show_headers, show_response
from emulator.core.json import as_array, as_object, dump_json
from emulator.journal.entry import thin_out
from tests.conftest import Start
from tests.control.asking import KEY, ask, control, until_waiting, whole
from tests.handler.toy import TOY
from tests.http_client import Running, read_answer
from tests.report_page import read_details, read_run
from tests.untyped_json import JSON

CONTRACT = (
    "id seq time vendor session principal method path operation deployment stream status attempt retry_of retries rule "
    "faults error finish_reason prompt_tokens completion_tokens sent_tokens planned_ttft ttft planned_end last_token "
    "duration lateness_p99 whole client_left traceparent prompt_line summary"
)
RULES = """
rules:
  - {name: greets, when: {prompt: {contains: Hello}}, reply: {text: Good day}}
  - {name: second call, times: {nth: 2}, error: {kind: rate_limited, retry_after: 60s}}
  - {name: bent, when: {prompt: bend}, faults: [{type: wrong_content_type}]}
"""


@pytest.fixture
async def toy(start: Start) -> Running:
    return await start(RULES, vendors=[TOY])


async def prompts(running: Running, query: str) -> list[JSON]:
    """Return the prompts of the requests in a list."""
    listed = (await control(running, "GET", f"/requests{query}")).json()
    asked = []
    for entry in listed["requests"]:
        detail = (await control(running, "GET", f"/requests/{entry['id']}?session={entry['session']}")).json()
        asked.append(detail["request"]["body"]["prompt"])
    return asked


async def details(running: Running) -> list[JSON]:
    return list((await control(running, "GET", "/requests?detail=true")).json()["requests"])


# In short


@pytest.mark.covers("promises/journal", "the short entry's fields, in order")
async def test_short_entry_has_contract_fields_in_order(toy: Running) -> None:
    await ask(toy, "Hello")
    (entry,) = (await control(toy, "GET", "/requests")).json()["requests"]
    assert list(entry) == CONTRACT.split()
    assert (entry["vendor"], entry["operation"], entry["principal"]) == ("toy", "chat", "default")
    assert (entry["rule"], entry["summary"], entry["whole"]) == ("greets", "'greets' matched.", True)


@pytest.mark.covers("promises/journal", "every field filters")
def test_every_short_entry_field_is_filter() -> None:
    assert set(CONTRACT.split()) == set(RequestEntry.model_fields) == set(Filters.model_fields) - {"fault", "matched"}


@pytest.mark.covers("language/control plane", "GET /requests")
@pytest.mark.covers("promises/journal", "numbers rise over all sessions", "what came since", case="what came since")
@pytest.mark.covers("promises/journal", "so many", case="the latest two")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("", ["Hello", "one", "two", "Hello", "bend"], id="all"),
        pytest.param("vendor=toy", ["Hello", "one", "two", "Hello", "bend"], id="a vendor"),
        pytest.param("vendor=other", [], id="another vendor"),
        pytest.param("deployment=toy&limit=1", ["bend"], id="a deployment, the latest"),
        pytest.param("status=400", ["two"], id="a status"),
        pytest.param("rule=greets", ["Hello", "Hello"], id="a rule"),
        pytest.param("rule=", ["one"], id="no rule: null is an empty text"),
        pytest.param("rule=second%20call&status=400", ["two"], id="two filters"),
        pytest.param("matched=false", ["one"], id="no rule took it"),
        pytest.param("matched=true", ["Hello", "two", "Hello", "bend"], id="a rule took it"),
        pytest.param("session=s", ["Hello"], id="a session"),
        pytest.param("session=", ["Hello", "one", "two", "bend"], id="no session"),
        pytest.param("limit=2", ["Hello", "bend"], id="the latest two"),
        pytest.param("stream=true", ["one"], id="a stream"),
        pytest.param("operation=chat&stream=false&status=200", ["Hello", "Hello", "bend"], id="an operation"),
        pytest.param("error=rate_limited", ["two"], id="an error"),
        pytest.param("fault=wrong_content_type", ["bend"], id="a fault"),
        pytest.param("faults=wrong_content_type", ["bend"], id="the same by the field's name"),
        pytest.param("fault=stall", [], id="another fault"),
        pytest.param("whole=true&client_left=false&limit=1", ["bend"], id="how it ended"),
        pytest.param("seq=2", ["one"], id="a number"),
        pytest.param("principal=default&method=POST&path=/chat&limit=1", ["bend"], id="who, how and where"),
        pytest.param("attempt=1&retries=0&retry_of=&status=400", ["two"], id="attempts"),
        pytest.param("finish_reason=length", ["one"], id="why it ends"),
        pytest.param("completion_tokens=3&sent_tokens=3", ["one", "bend"], id="tokens"),
        pytest.param("summary='greets'%20matched.", ["Hello", "Hello"], id="the summary"),
        pytest.param("since=3", ["Hello", "bend"], id="what came since"),
        pytest.param("since=1&limit=2", ["one", "two"], id="the first two since"),
        pytest.param("since=5", [], id="nothing came since"),
    ],
)
async def test_list_applies_filters(toy: Running, query: str, found: list[str]) -> None:
    await ask(toy, "Hello")
    await ask(toy, "one", stream=True)
    await ask(toy, "two")
    await ask(toy, "Hello", "s")
    await ask(toy, "bend")
    if "finish" in query or "completion" in query:
        reasons = [entry.finish_reason for entry in toy.built.journal]
        assert reasons[1] == "length"
        found = [
            each
            for each, entry in zip(["Hello", "one", "two", "Hello", "bend"], toy.built.journal, strict=True)
            if entry.finish_reason == "length" or ("completion" in query and entry.completion_tokens == 3)
        ]
    assert await prompts(toy, f"?{query}" if query else "") == found


@pytest.mark.parametrize(
    ("query", "says"),
    [
        pytest.param("stauts=1", "did you mean status?", id="an unknown filter"),
        pytest.param("stream=yes", "stream: expected true or false", id="neither true nor false"),
        pytest.param("status=ok", "status", id="a status that is text"),
        pytest.param("since=-1", "since: expected at least 0", id="before the first"),
        pytest.param("wait=2", "wait", id="a time without a unit"),
        pytest.param("session=a%20b", "session", id="a name that no session has"),
    ],
)
async def test_invalid_filter_is_rejected(toy: Running, query: str, says: str) -> None:
    answer = await control(toy, "GET", f"/requests?{query}")
    assert answer.status == 400
    assert says in answer.json()["detail"]


async def test_list_counts_entries_beyond_limit(toy: Running) -> None:
    for prompt in ("Hello", "one", "two"):
        await ask(toy, prompt)
    listed = (await control(toy, "GET", "/requests?limit=2")).json()
    assert (len(listed["requests"]), listed["total"]) == (2, 3)


async def test_list_with_detail_returns_full_entries(toy: Running) -> None:
    await ask(toy, "Hello")
    (call,) = (await control(toy, "GET", "/requests?detail=true")).json()["requests"]
    assert call == (await control(toy, "GET", f"/requests/{call['id']}")).json()


# Waiting


@pytest.mark.covers("promises/journal", "waiting for what is new")
async def test_wait_ends_when_new_call_matches(toy: Running) -> None:
    await ask(toy, "Hello")
    waiting = asyncio.create_task(control(toy, "GET", "/requests?wait=60s&rule=greets"))
    await until_waiting(toy)
    await ask(toy, "one")
    assert not waiting.done()
    await ask(toy, "Hello")
    found = (await waiting).json()
    assert [entry["seq"] for entry in found["requests"]] == [3]
    assert toy.built.journal.watchers == []


async def test_wait_returns_earlier_matches_at_once(toy: Running) -> None:
    await ask(toy, "Hello")
    await ask(toy, "Hello")
    found = (await control(toy, "GET", "/requests?wait=60s&since=1")).json()
    assert [entry["seq"] for entry in found["requests"]] == [2]


@pytest.mark.covers("promises/journal", "waiting in vain is empty")
async def test_wait_timeout_returns_empty_list(toy: Running) -> None:
    await ask(toy, "Hello")
    found = (await control(toy, "GET", "/requests?wait=20ms")).json()
    assert found == {"requests": [], "total": 0}


async def test_server_shutdown_ends_wait(toy: Running) -> None:
    waiting = asyncio.create_task(control(toy, "GET", "/requests?wait=60s"))
    await until_waiting(toy)
    toy.built.runtime.closing.set()
    assert (await asyncio.wait_for(waiting, 5)).json()["total"] == 0


async def test_disconnected_client_stops_waiting(toy: Running) -> None:
    waiting = asyncio.create_task(control(toy, "GET", "/requests?wait=60s"))
    await until_waiting(toy)
    waiting.cancel()
    while toy.built.journal.watchers:
        await asyncio.sleep(0.001)


TRACE = f"00-{7:032x}-{8:016x}-01"


@pytest.mark.parametrize("scenario", [pytest.param("", id="kept"), pytest.param("journal: {bodies: none}\n", id="not")])
async def test_traceparent_is_recorded_without_headers(start: Start, scenario: str) -> None:
    running = await start(scenario, vendors=[TOY])
    for headers in ({"traceparent": TRACE}, {"traceparent": "x" * 4000}, {}):
        await running.ask("toy", "/chat", {"prompt": "Hi", "max": 3}, headers={**KEY, **headers})
    reported = [entry["traceparent"] for entry in (await control(running, "GET", "/requests")).json()["requests"]]
    assert reported == [TRACE, "x" * 64, None]
    (found,) = (await control(running, "GET", f"/requests?traceparent={TRACE}")).json()["requests"]
    assert found["seq"] == 1


# Whole


@pytest.mark.covers("promises/journal", "the four that are more in the whole")
async def test_full_entry_extends_short_entry_by_four_fields(toy: Running) -> None:
    detail = await whole(toy, await ask(toy, "Hello"))
    assert list(detail) == [*CONTRACT.split(), "request", "response", "limits", "explanation"]
    request, response = as_object(detail["request"]), as_object(detail["response"])
    assert list(request) == ["query", "headers", "body", "raw", "encoding", "bytes", "cut", "kept"]
    assert (
        " ".join(response)
        == "headers body encoding text received planned tool_calls raw strikes writes events bytes cut kept"
    )


async def test_detail_shows_request(toy: Running) -> None:
    headers = {**KEY, "Authorization": "Bearer dapi-search-1", "X-Trace": "7"}
    answer = await toy.ask("toy", "/chat?api-key=secret-key-1&a=b", {"prompt": "Hello"}, headers=headers)
    request = as_object((await whole(toy, answer))["request"])
    assert request["query"] == {"api-key": "secr…", "a": "b"}
    shown = as_object(request["headers"])
    assert (shown["authorization"], shown["x-trace"]) == ("Bearer dapi…", "7")
    assert (request["body"], request["bytes"], request["cut"], request["kept"]) == (
        {"prompt": "Hello"},
        19,
        False,
        True,
    )


async def test_detail_shows_response(toy: Running) -> None:
    answer = await ask(toy, "Hello")
    response = as_object((await whole(toy, answer))["response"])
    assert (response["body"], response["text"], response["tool_calls"]) == ("Good day", "Good day", [])
    assert as_object(response["headers"])["x-emulator-rule"] == "greets"
    assert (response["events"], response["bytes"], response["cut"]) == (0, 8, False)


@pytest.mark.covers("promises/journal", "of a stream no body, but what was said")
async def test_streamed_response_has_text_but_no_body(toy: Running) -> None:
    answer = await ask(toy, "one", stream=True)
    response = as_object((await whole(toy, answer))["response"])
    assert (response["body"], response["events"], response["bytes"]) == (None, 3, len(answer.body))
    assert response["text"] == "".join(answer.body.decode().removesuffix("\n").split("\n"))


LIVELY = "version: 1\nclock: instant\nlatency: {ttft: 1s, itl: 250ms}\nrules: [{name: fixed, reply: {text: ä b c}%s}]\n"


async def test_streamed_response_records_write_times(start: Start) -> None:
    running = await start(LIVELY % "", vendors=[TOY])
    response = as_object((await whole(running, await ask(running, stream=True)))["response"])
    assert response["writes"] == [[1.0, 1.0], [1.25, 1.25], [1.5, 1.5]]
    assert (response["raw"], response["strikes"]) == (None, [])
    one_piece = as_object((await whole(running, await ask(running)))["response"])
    assert one_piece["writes"] == []


async def test_faulted_response_records_bytes_and_fault_sites(start: Start) -> None:
    faults = ", faults: [{type: stall, inside: utf8, for: 2s}, {type: truncate, after_tokens: 2}]"
    running = await start(LIVELY % faults, vendors=[TOY])
    answer = await ask(running, stream=True)
    response = as_object((await whole(running, answer))["response"])
    assert answer.body == "ä\n b\n".encode()
    assert (response["body"], response["raw"]) == (None, "\\xc3\\xa4\n b\n")
    assert response["strikes"] == [{"fault": "stall", "at": 4}, {"fault": "truncate", "at": 12}]
    assert response["writes"] == [[1.0, 1.0], [3.0, 3.0], [3.25, 3.25]]


async def test_unsent_bytes_are_not_recorded(start: Start) -> None:
    running = await start("rules: [{name: cut, faults: [{type: disconnect}]}]", vendors=[TOY])
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await ask(running)
    (entry,) = running.built.journal
    response = show_response(entry, entry.payload)
    assert (response.raw, [one.model_dump() for one in response.strikes]) == ("", [{"fault": "disconnect", "at": 0}])


@pytest.mark.parametrize(
    ("count", "reported"),
    [
        pytest.param(0, [], id="none"),
        pytest.param(2, [(0.0, 0.5), (1.0, 1.0)], id="a few"),
        pytest.param(400, [(float(at), at + 0.5) for at in range(0, 400, 2)], id="of many those that were most late"),
    ],
)
def test_writes_are_bounded(count: int, reported: list[tuple[float, float]]) -> None:
    dues, late = [float(at) for at in range(count)], [0.0 if at % 2 else 0.5 for at in range(count)]
    assert thin_out(dues, late) == reported


async def test_tool_calls_are_shown_with_arguments(toy: Running) -> None:
    answer = await ask(toy, "Hello")
    (entry,) = toy.built.journal
    kept = entry.payload
    assert kept is not None
    entry.build_payload = lambda: kept
    kept.tool_calls = (("look_up", '{"city":"Paris"}'), ("broken", '{"city'))
    response = as_object((await whole(toy, answer))["response"])
    assert response["tool_calls"] == [
        {"name": "look_up", "arguments": {"city": "Paris"}},
        {"name": "broken", "arguments": '{"city'},
    ]


@pytest.mark.covers("promises/journal", "JSON as JSON", case="JSON")
@pytest.mark.covers("promises/journal", "text as text", case="text")
@pytest.mark.covers("promises/journal", "all else as base64", case="bytes")
@pytest.mark.parametrize(
    ("body", "cut", "shown", "is_base64"),
    [
        pytest.param(b"", False, None, False, id="nothing"),
        pytest.param(b'{"a": [1]}', False, {"a": [1]}, False, id="JSON"),
        pytest.param(b'{"a": [1', True, '{"a": [1', False, id="JSON that was cut"),
        pytest.param(b"123", True, "123", False, id="what was cut is no JSON, even if it looks so"),
        pytest.param("Grüße".encode(), False, "Grüße", False, id="text"),
        pytest.param("Grüße".encode()[:3], True, "Gr", False, id="text cut inside a character"),
        pytest.param("Grüße".encode()[:3], False, base64.b64encode(b"Gr\xc3").decode(), True, id="broken text"),
        pytest.param(b"\xff\xfe" * 9, True, base64.b64encode(b"\xff\xfe" * 9).decode(), True, id="bytes that were cut"),
        pytest.param(b"\xff\x00", False, "/wA=", True, id="bytes"),
    ],
)
def test_body_is_shown_as_json_text_or_base64(body: bytes, cut: bool, shown: JSON, is_base64: bool) -> None:
    assert show_body(body, cut=cut) == (shown, is_base64)


def test_equal_headers_are_joined() -> None:
    headers = (("Set-Cookie", "a"), ("set-cookie", "b"), ("X-Trace", "7"))
    assert show_headers(headers) == {"set-cookie": "a, b", "x-trace": "7"}


async def test_form_secrets_are_redacted(toy: Running) -> None:
    form = b"grant_type=client_credentials&client_secret=very-secret-1&scope=all"
    answer = await toy.ask("toy", "/echo", form, headers=KEY)
    request = as_object((await whole(toy, answer))["request"])
    assert request["body"] == "grant_type=client_credentials&client_secret=very…&scope=all"


SECRET = "dapi-very-secret"
GUARDED = f"""
rules:
  - {{name: another key, when: {{header.authorization: Bearer dapi-other}}, error: {{kind: internal}}}}
  - name: so it ends
    when: {{any: [{{header.authorization: {{suffix: very-secret}}}}, {{query.key: x}}]}}
    pass: true
  - {{name: never reached, when: {{header.authorization: Bearer {SECRET}}}, error: {{kind: internal}}}}
"""


@pytest.mark.covers("promises/journal", "no credential is kept")
async def test_credentials_are_redacted_before_storage(start: Start) -> None:
    toy = await start(GUARDED, vendors=[TOY])
    headers = {**KEY, "Authorization": f"Bearer {SECRET}", "api-key": SECRET, "Cookie": f"a={SECRET}"}
    await toy.ask("toy", f"/chat?key={SECRET}&a=b", {"prompt": "Hi"}, headers=headers)
    await toy.ask("toy", "/echo", f"client_secret={SECRET}".encode(), headers=headers)
    await toy.ask("toy", "/echo", b'{"token_plaintext": "%s", "a": "b"}' % SECRET.encode(), headers=headers)
    for entry in toy.built.journal:
        assert entry.payload is not None
        kept = entry.payload.request
        values = [
            *map(str, kept.headers.values()),
            *map(str, kept.query.values()),
            str(entry.payload.body),
            str(kept.body),
        ]
        assert not [value for value in values if SECRET in value]
        assert SECRET not in repr(entry.explain())
    assert [row["body"] for row in [as_object(entry["request"]) for entry in await details(toy)]] == [
        {"prompt": "Hi"},
        "client_secret=dapi…",
        {"token_plaintext": "dapi…", "a": "b"},
    ]


@pytest.mark.parametrize("name", ["x-goog-api-key", "Ocp-Apim-Subscription-Key", "X-Auth-Token", "Proxy-Authorization"])
@pytest.mark.parametrize("path", ["/chat", "/nowhere"])
async def test_credential_header_is_recognized_by_name(start: Start, name: str, path: str) -> None:
    toy = await start("", vendors=[TOY])
    for _ in range(3):  # the later ones may take the fast path
        await toy.ask("toy", f"{path}?sig={SECRET}", {"prompt": "Hi"}, headers={**KEY, name: f"Bearer {SECRET}"})
    assert SECRET.encode() not in (await control(toy, "GET", "/requests?detail=true")).body
    assert SECRET.encode() not in (await control(toy, "POST", "/report", {})).body
    assert [as_object(entry["request"])["query"] for entry in await details(toy)] == [{"sig": "dapi…"}] * 3
    wanted: JSON = {"calls": {f"header.{name}": f"Bearer {SECRET}"}, "times": {"exactly": 3}}
    assert (await control(toy, "POST", "/verify", wanted)).status == 200
    refused = await control(toy, "POST", "/verify", {"calls": {f"header.{name}": "Bearer other"}})
    assert refused.status == 406
    assert SECRET.encode() not in refused.body


@pytest.mark.parametrize("name", ["User-Agent", "traceparent", "api-key", "x-key", "Content-Type", "x-odd"])
async def test_non_utf8_header_bytes_do_not_hide_call(start: Start, name: str) -> None:
    toy = await start("rules: [{name: odd, when: {header.x-odd: odd}, reply: {text: Odd}}]\n", vendors=[TOY])
    for body in (b'{"prompt": "Hi", "max": 3}', b"no JSON"):
        reader, writer = await toy.connect("toy")
        head = f"POST /chat HTTP/1.1\r\nHost: x\r\nx-key: k\r\nContent-Length: {len(body)}\r\n{name}: ".encode()
        writer.write(head + b"caf\xe9 \xff\xfe\r\nConnection: close\r\n\r\n" + body)
        await asyncio.wait_for(read_answer(reader), 5)
        writer.close()
    for path in ("/requests?detail=true", "/requests", "/rules", "/metrics"):
        answer = await control(toy, "GET", path)
        assert answer.status == 200, path
        answer.body.decode()
    sent = [as_object(as_object(entry["request"])["headers"])[name.lower()] for entry in await details(toy)]
    assert all("caf\ufffd" in str(value) for value in sent) or name in ("api-key", "x-key")
    assert (await control(toy, "POST", "/report", {})).status == 200
    refused = await control(toy, "POST", "/verify", {"calls": {f"header.{name}": "cafe"}})
    assert refused.status == 406
    refused.json()


async def test_mcp_tool_token_is_redacted(start: Start) -> None:
    toy = await start("", vendors=[TOY])
    await toy.ask("toy", "/chat", {"prompt": "Hi", "tools": [{"type": "mcp", "authorization": SECRET}]}, headers=KEY)
    assert SECRET.encode() not in (await control(toy, "GET", "/requests?detail=true")).body


async def test_explanation_evaluates_redacted_credential(start: Start) -> None:
    toy = await start(GUARDED, vendors=[TOY])
    answer = await toy.ask("toy", "/chat", {"prompt": "Hi"}, headers={**KEY, "Authorization": f"Bearer {SECRET}"})
    verdicts = [as_object(row) for row in as_array((await whole(toy, answer))["explanation"])]
    explained = [(row["rule"], row["takes"], row["detail"]) for row in verdicts]
    assert explained == [
        ("another key", False, 'is "Bearer dapi…", wanted "Bearer …"'),
        ("so it ends", True, ""),
    ]


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        pytest.param(f"Bearer {SECRET}", 200, id="the whole"),
        pytest.param("Bearer dapi-other", 406, id="another that begins alike"),
        pytest.param("Bearer dapi…", 406, id="what is shown of it"),
        pytest.param({"prefix": "Bearer dapi"}, 200, id="its beginning"),
        pytest.param({"not": "Bearer dapi-other"}, 200, id="not another"),
        pytest.param({"not": f"Bearer {SECRET}"}, 406, id="not the whole"),
    ],
)
async def test_verify_matches_redacted_credential(toy: Running, wanted: JSON, status: int) -> None:
    await toy.ask("toy", "/chat", {"prompt": "Hi"}, headers={**KEY, "Authorization": f"Bearer {SECRET}"})
    body = dump_json({"calls": {"header.authorization": wanted}})
    assert (await control(toy, "POST", "/verify", body)).status == status


@pytest.mark.covers("promises/journal", "what was cut says so")
async def test_truncated_body_is_marked_cut(start: Start) -> None:
    running = await start("journal: {bodies: 16B}\n", vendors=[TOY])
    detail = await whole(running, await ask(running, "a long prompt indeed"))
    request = as_object(detail["request"])
    assert (request["body"], request["cut"]) == ('{"prompt": "a lo', True)
    assert request["bytes"] == len('{"prompt": "a long prompt indeed", "max": 3}')


@pytest.mark.covers("promises/journal", "what is gone says so")
@pytest.mark.parametrize("scenario", ["journal: {bodies: none}\n", ""])
async def test_unstored_payload_is_marked(start: Start, scenario: str) -> None:
    running = await start(RULES + scenario, vendors=[TOY])
    answer = await ask(running, "one")
    (entry,) = running.built.journal
    entry.build_payload = None
    if not scenario:
        entry.evidence = None
    detail = await whole(running, answer)
    request, response = as_object(detail["request"]), as_object(detail["response"])
    assert (request["kept"], request["body"], request["bytes"]) == (False, None, len('{"prompt": "one", "max": 3}'))
    assert (response["kept"], response["text"]) == (False, None)
    assert detail["explanation"] == []
    assert detail["summary"] == "No rule matched; the request is no longer kept."


@pytest.mark.covers("promises/sessions", "its calls by id")
async def test_equal_request_ids_are_distinguished_by_session(toy: Running) -> None:
    one, other = await ask(toy, "Hello", "a"), await ask(toy, "Hello", "b")
    name = one.header("x-emulator-request-id")
    assert name == other.header("x-emulator-request-id")
    for session in ("a", "b"):
        assert (await control(toy, "GET", f"/requests/{name}?session={session}")).json()["session"] == session
    missing = await control(toy, "GET", f"/requests/{name}?session=c")
    assert (missing.status, missing.json()["detail"]) == (404, f"The journal has no request '{name}' in session 'c'.")


@pytest.mark.covers("promises/journal", "the limits of a refusal, whole")
async def test_refusing_limit_is_shown(start: Start) -> None:
    limits = "limits: [{vendor: toy, unit: output_tokens, amount: 10, window: 60s}]\n"
    running = await start(limits, vendors=[TOY])
    await ask(running, "one", max=8)
    detail = await whole(running, await ask(running, "two", max=8))
    (limit,) = as_array(detail["limits"])
    row = as_object(limit)
    assert (row["limit"], row["unit"], row["asked"]) == ("limits[0]", "output_tokens", 8)
    assert str(detail["summary"]).startswith("limits[0] refuses: 8 output tokens asked, ")
    assert str(detail["summary"]).endswith(f"{row['available']} of 10 left, enough in {row['wait']:g} s")


# Deployments


@pytest.mark.covers("language/control plane", "GET /deployments")
async def test_deployments_are_listed(start: Start) -> None:
    added = "deployments: [{vendor: toy, name: small, task: embeddings, context: 512}]\n"
    running = await start(added, vendors=[TOY])
    listed = (await control(running, "GET", "/deployments")).json()["deployments"]
    assert [list(entry) for entry in listed] == [["vendor", "name", "task", "model", "state", "context"]] * 2
    assert [entry["name"] for entry in listed] == ["toy", "small"]
    assert (listed[1]["task"], listed[1]["context"], listed[1]["state"]) == ("embeddings", 512, "ready")
    assert (await control(running, "GET", "/deployments?vendor=toy")).json()["deployments"] == listed
    missing = await control(running, "GET", "/deployments?vendor=toi")
    assert (missing.status, missing.json()["detail"]) == (404, "No vendor 'toi' is served; there are toy.")


async def test_session_lists_own_deployments(start: Start) -> None:
    running = await start(vendors=[TOY])
    text = "version: 1\ndeployments: [{vendor: toy, name: own, task: chat}]\n"
    await control(running, "PUT", "/scenario?session=a", text)
    for query, names in (("", ["toy"]), ("?session=a", ["toy", "own"])):
        listed = (await control(running, "GET", f"/deployments{query}")).json()["deployments"]
        assert [entry["name"] for entry in listed] == names


async def test_payload_is_rebuilt_on_each_access(toy: Running) -> None:
    await ask(toy, "Hello")
    (entry,) = toy.built.journal
    kept = entry.payload
    assert entry.payload is kept is not None
    seen = ref(kept)
    del kept
    assert seen() is None
    assert entry.payload is not None


async def test_long_list_is_sent_in_chunks(start: Start) -> None:
    running = await start("journal: {bodies: 32KiB}\n", vendors=[TOY])
    for number in range(12):
        await ask(running, f"{number} " + "a" * 30_000)
    listed = await control(running, "GET", "/requests?detail=true")
    assert len(listed.chunks) > 1
    assert [as_object(as_object(row["request"])["body"])["prompt"] for row in listed.json()["requests"]] == [
        f"{number} " + "a" * 30_000 for number in range(12)
    ]
    assert listed.json()["total"] == 12
    page = (await control(running, "POST", "/report", b"{}")).body.decode()
    calls = [as_object(call) for call in as_array(read_run(page)["calls"])]
    assert [json.loads(line)["request"]["bytes"] for line in read_details(page)] == [
        row["request"]["bytes"] for row in listed.json()["requests"]
    ]
    assert [call["id"] for call in calls] == [row["id"] for row in listed.json()["requests"]]
