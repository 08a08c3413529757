"""Read expectations of MockServer: those written by hand as rules, those that it recorded as exchanges.

Sources: MockServer 7.6, its OpenAPI document (``Expectation``, ``HttpRequest``, ``HttpResponse``, ``HttpError``,
``Times``); the headers of recorded responses as ``retrieve?type=RECORDED_EXPECTATIONS`` returns them.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from urllib.parse import urlencode

from emulator.core.http import Headers
from emulator.core.json import JSON, Object, dump_json, dump_text
from emulator.imports.cassettes import build_exchange, finish_exchange
from emulator.imports.fixtures import Lose, RuleNames, add_rule, build_error
from emulator.imports.result import ImportResult, as_items, as_mapping, read_status
from emulator.recording.content import read_whole
from emulator.recording.exchange import Exchange, RecordedWrite, find_header

_TOTAL, _DELAYS = "x-mockserver-response-time-ms", "x-mockserver-chunk-delays-ms"


def is_mockserver(value: JSON) -> bool:
    """Return whether a document has MockServer's expectations."""
    items = as_items(value) or ([value] if isinstance(value, dict) else [])
    return bool(items) and all("httpRequest" in as_mapping(item) for item in items)


def read_mockserver(value: JSON, file: str, vendor: str) -> ImportResult:
    """Read MockServer's expectations."""
    found = ImportResult()
    names = RuleNames(file)
    items = as_items(value) or [value]
    for number, expectation in sorted(enumerate(map(as_mapping, items)), key=lambda item: -_read_priority(item[1])):
        place = f"{file}: [{number}]"

        def lose(what: str, place: str = place) -> None:
            found.lost.append(f"{place}: {what}")

        if _is_recorded(expectation):
            _read_recorded(expectation, place, found, vendor)
            continue
        rule: Object = {"name": names.name(number)}
        times = as_mapping(expectation.get("times"))
        if isinstance(left := times.get("remainingTimes"), int) and not times.get("unlimited"):
            rule["times"] = {"first": left}
        when = _read_mock_request(as_mapping(expectation.get("httpRequest")), lose)
        if vendor:
            when = {"vendor": vendor, **when}
        _read_mock_outcome(expectation, rule, lose)
        add_rule(rule, when, found, place)
    return found


def _read_priority(expectation: Object) -> float:
    priority = expectation.get("priority")
    return priority if isinstance(priority, int | float) else 0


def _read_mock_request(request: Object, lose: Lose) -> Object:
    when: Object = {}
    for key, value in request.items():
        if key == "path" and isinstance(value, str):
            when["endpoint"] = re.sub(r"\.\*", "*", value)
        elif key == "headers":
            _read_mock_headers(value, when, lose)
        elif key == "body":
            _read_mock_body(value, when, lose)
        elif key != "method" or value != "POST":
            lose(f"httpRequest.{key}: no condition compares it")
    return when


def _read_mock_headers(value: JSON, when: Object, lose: Lose) -> None:
    pairs = list(_list_pairs(value))
    for name, text in reversed(pairs):  # of several values the first counts
        when[f"header.{name.lower()}"] = {"regex": f"^(?:{text})$"}
    if value and not pairs:
        lose("httpRequest.headers: expected a mapping, or a list of names and values")


def _read_mock_body(value: JSON, when: Object, lose: Lose) -> None:
    """Carry over the members of a JSON body; MockServer's default compares only those that are named."""
    body = as_mapping(value)
    given: JSON = body.get("json", value) if body.get("type") == "JSON" or "json" in body else value
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            lose("httpRequest.body: no condition compares its text")
            return
    if not isinstance(given, dict) or body.get("type", "JSON") != "JSON":
        lose(f"httpRequest.body: no condition compares {body.get('type') or 'it'}")
        return
    for path, leaf in _list_leaves(given, "body"):
        when[path] = leaf


def _list_leaves(value: JSON, path: str) -> list[tuple[str, JSON]]:
    if isinstance(value, dict):
        return [row for key, item in value.items() for row in _list_leaves(item, f"{path}.{key}")]
    if isinstance(value, list):
        return [row for number, item in enumerate(value) for row in _list_leaves(item, f"{path}[{number}]")]
    return [(path, value)]


def _read_mock_outcome(expectation: Object, rule: Object, lose: Lose) -> None:
    response = as_mapping(expectation.get("httpResponse"))
    if response:
        _read_mock_response(response, rule, lose)
    if as_mapping(expectation.get("httpError")).get("dropConnection"):
        rule["faults"] = [{"type": "disconnect"}]
    for key in expectation.keys() - {
        "httpRequest",
        "httpResponse",
        "httpError",
        "times",
        "id",
        "timeToLive",
        "priority",
    }:
        lose(f"{key}: there is nothing like it")


def _read_mock_response(response: Object, rule: Object, lose: Lose) -> None:
    status = response.get("statusCode", 200)
    body = response.get("body")
    if isinstance(body, dict) and ("json" in body or "string" in body):
        body = body.get("json", body.get("string"))
    if isinstance(body, str):
        with suppress(ValueError):
            body = json.loads(body)
    if isinstance(status, int) and status >= 400:
        rule["error"] = build_error(status, None, body)
    else:
        _read_mock_answer(body, rule, lose)
    for key in response.keys() - {"statusCode", "body", "delay", "headers"}:
        lose(f"httpResponse.{key}: there is nothing like it")
    names = {name for name, _ in _list_pairs(response.get("headers"))} - {"content-type", "Content-Type"}
    if names:
        lose(f"httpResponse.headers: a rule has those of the vendor, not {', '.join(sorted(names))}")
    delay = as_mapping(response.get("delay"))
    if isinstance(delay.get("value"), int | float):
        units = {"MILLISECONDS": "ms", "SECONDS": "s", "MINUTES": "m", "MICROSECONDS": "us"}
        rule["latency"] = {"ttft": f"{delay['value']:g}{units.get(str(delay.get('timeUnit')), 'ms')}"}


def _read_mock_answer(body: JSON, rule: Object, lose: Lose) -> None:
    text = (
        read_whole(dump_text(body).encode()).text if isinstance(body, dict) else body if isinstance(body, str) else ""
    )
    if text:
        rule["reply"] = {"text": text}
        lose("httpResponse: its text is carried over; the rest is the vendor's format")


# Recorded expectations


def _is_recorded(expectation: Object) -> bool:
    """Return whether MockServer recorded an expectation as a proxy; it adds the time that the response took."""
    headers = _read_headers(as_mapping(expectation.get("httpResponse")))
    return bool(find_header(headers, _TOTAL)) or "remoteAddress" in as_mapping(expectation.get("httpRequest"))


def _read_headers(message: Object) -> Headers:
    return tuple(_list_pairs(message.get("headers")))


def _list_pairs(value: JSON) -> Iterator[tuple[str, str]]:
    """Yield headers or parameters: a mapping, or a list of objects with ``name`` and ``values``."""
    rows = [(str(each.get("name", "")), each.get("values")) for each in map(as_mapping, as_items(value))]
    for name, values in [*as_mapping(value).items(), *rows]:
        yield from ((name, str(each)) for each in (values if isinstance(values, list) else [values]))


def _read_bytes(value: JSON) -> bytes:
    body = as_mapping(value)
    if "json" in body:
        return dump_json(body["json"])
    for name in ("rawBytes", "base64Bytes"):
        if isinstance(encoded := body.get(name), str):
            with suppress(ValueError):
                return b64decode(encoded, validate=True)
    text = body.get("string", value)
    return text.encode() if isinstance(text, str) else b"" if text is None else dump_json(text)


def _read_recorded(expectation: Object, place: str, found: ImportResult, vendor: str) -> None:
    request, response = as_mapping(expectation.get("httpRequest")), as_mapping(expectation.get("httpResponse"))
    headers = _read_headers(request)
    host = find_header(headers, "host") or "localhost"
    exchange = build_exchange(place, found, f"http://{host}{request.get('path', '/')}", vendor)
    if exchange is None:
        return
    query = list(_list_pairs(request.get("queryStringParameters")))
    exchange.method = str(request.get("method", "GET"))
    exchange.target += f"?{urlencode(query)}" if query else ""
    exchange.request_headers = headers
    exchange.request_body = _read_bytes(request.get("body"))
    exchange.status = read_status(response.get("statusCode")) or 200
    exchange.reason = str(response.get("reasonPhrase") or "")
    sent = _read_headers(response)
    total = _read_number(find_header(sent, _TOTAL))
    kept = tuple(pair for pair in sent if not pair[0].lower().startswith("x-mockserver-"))
    if not finish_exchange(exchange, kept, _read_bytes(response.get("body")), found, total, total):
        return
    _set_times(exchange, find_header(sent, _DELAYS))
    found.exchanges.append(exchange)


def _read_number(text: str) -> float:
    """Convert milliseconds; 0 for what is no number."""
    try:
        return float(text) / 1000
    except ValueError:
        return 0.0


def _set_times(exchange: Exchange, delays: str) -> None:
    """Move the events of a stream to their times; the gaps between its chunks end with the response."""
    gaps = [_read_number(text) for text in delays.split(",")]
    if not exchange.is_streamed or len(gaps) != len(exchange.writes):
        return
    start = max(0.0, exchange.ended - sum(gaps))
    offsets: Sequence[float] = [start + passed for passed in accumulate(gaps)]
    exchange.offset = offsets[0]
    exchange.writes = tuple(
        RecordedWrite(offset, write.data) for offset, write in zip(offsets, exchange.writes, strict=True)
    )
