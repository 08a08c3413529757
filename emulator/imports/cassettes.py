"""Read vcrpy cassettes and HAR files, and write cassettes.

Sources: vcrpy, ``vcr/serialize.py``, ``vcr/serializers/compat.py`` and ``vcr/stubs/httpx_stubs.py``; HTTP
Archive (HAR) format 1.2, sections ``entries``, ``request``, ``response``, ``content``, ``timings``.
"""

import base64
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import get_args
from urllib.parse import urlencode

import yaml

from emulator.core.http import Headers
from emulator.core.json import JSON, Object, dump_json
from emulator.imports.result import ImportResult, as_items, as_mapping, cut_body, read_moment, read_status
from emulator.imports.vendors import find_target, find_vendor
from emulator.recording.exchange import Ending, Exchange, drop_framing, find_header

_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (47, -15)}  # zlib's ``wbits``; some send deflate without a head
_ZSTD = b"\x28\xb5\x2f\xfd"  # what its data begins with
MAX_BODY = 256 * 1024**2  # bytes, decompressed
_MAX_TIME = 1e12  # milliseconds
_ENDINGS: tuple[tuple[str, Ending], ...] = (  # in Chromium's names of network errors
    ("TIMED_OUT", "timed out"),
    ("RESET", "reset"),
    ("ABORTED", "client left"),
)


def read_cassette(value: Mapping[str, object], file: str, vendor: str) -> ImportResult:
    """Read a vcrpy cassette; its streams have no times.

    Before vcrpy 6 the responses of httpx have ``status_code`` and ``content``.
    """
    found = ImportResult()
    streams = 0
    interactions = value.get("interactions")
    for number, item in enumerate(interactions if isinstance(interactions, list) else ()):
        place = f"{file}: interactions[{number}]"
        request, response = _read_member(item, "request"), _read_member(item, "response")
        if not request or not response:
            found.lost.append(f"{place}: it has no request or no response")
            continue
        about = _read_member(response, "status")
        status = read_status(_read_code(about.get("code", response.get("status_code", 200))))
        if status is None:
            found.lost.append(f"{place}: the status of the response is no number from 100 to 599")
            continue
        answer = response.get("body", response.get("content"))
        body = _read_vcr_body(answer, found.lost, f"{place}: the body of the response")
        exchange = build_exchange(place, found, str(request.get("uri", "")), vendor)
        if exchange is None:
            continue
        exchange.method = str(request.get("method", "GET"))
        exchange.request_headers = _read_vcr_headers(request.get("headers"))
        exchange.request_body = _read_vcr_body(request.get("body"), found.lost, f"{place}: the body of the request")
        exchange.status, exchange.reason = status, str(about.get("message") or "")
        if finish_exchange(exchange, _read_vcr_headers(response.get("headers")), body, found, 0.0, 0.0):
            streams += exchange.is_streamed
            found.exchanges.append(exchange)
    if streams:
        found.lost.append(f"{file}: vcrpy keeps no times: the events of {streams} streams are all due at once")
    return found


def format_cassette(calls: Iterable[tuple[str, Exchange]]) -> str:
    """Format a vcrpy cassette of version 1 of calls, each with the URL that the client called."""
    rows = [_build_interaction(url, exchange) for url, exchange in calls]
    return yaml.safe_dump({"interactions": rows, "version": 1}, allow_unicode=True, sort_keys=True)


def _build_interaction(url: str, exchange: Exchange) -> dict[str, object]:
    return {
        "request": {
            "body": _show_body(exchange.request_body) or None,
            "headers": _group_headers(exchange.request_headers),
            "method": exchange.method,
            "uri": url,
        },
        "response": {
            "body": {"string": _show_body(exchange.body)},
            "headers": _group_headers(exchange.headers),
            "status": {"code": exchange.status, "message": exchange.reason},
        },
    }


def _show_body(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _group_headers(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for name, value in headers:
        shown.setdefault(name, []).append(value)
    return shown


def build_exchange(place: str, found: ImportResult, url: str, vendor: str) -> Exchange | None:
    """Return the exchange of a URL, to be filled; ``None`` if nothing says whose service it is, which is listed."""
    name = vendor or find_vendor(url)
    if not name:
        found.lost.append(f"{place}: neither host nor path of {url.partition('?')[0]} says whose it is; use --vendor")
        return None
    return Exchange(vendor=name, method="", target=find_target(url, name), source=place)


def finish_exchange(
    exchange: Exchange, headers: Headers, body: bytes, found: ImportResult, offset: float, ended: float
) -> bool:
    """Set the headers and the body of a response that came whole, and decompress both bodies.

    Returns:
        Whether this could be done; else it is listed.
    """
    headers, plain = _decode(headers, body)
    if plain is None:
        found.lost.append(f"{exchange.source}: the response is compressed in a way that cannot be read")
        return False
    request_headers, asked = _decode(exchange.request_headers, exchange.request_body)
    if asked is None:
        found.lost.append(f"{exchange.source}: the request is compressed in a way that cannot be read")
        return False
    exchange.request_headers, exchange.request_body, body = drop_framing(request_headers), asked, plain
    exchange.headers = drop_framing(headers)
    exchange.offset, exchange.ended, exchange.ending = offset, ended, "whole"
    exchange.writes = cut_body(body, exchange.headers, offset)
    exchange.framing = "chunked" if len(exchange.writes) > 1 else "length" if body else "none"
    if find_header(exchange.headers, "content-type").startswith("text/event-stream"):
        exchange.framing = "chunked"
    return True


def _read_member(value: object, name: str) -> Mapping[str, object]:
    """Return a mapping inside a mapping of YAML, or an empty one in place of anything else."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _read_code(value: object) -> JSON:
    return value if isinstance(value, int | float | str) else None


def _read_base64(text: str, lost: list[str], place: str) -> bytes:
    """Decode base64, which may be wrapped; text that is none is listed, and nothing of it is left."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        lost.append(f"{place} is no base64: it is left empty")
        return b""


def _read_vcr_headers(value: object) -> Headers:
    """Read headers: a mapping, or pairs as early releases wrote them for httpx."""
    if isinstance(value, list):
        value = {str(pair[0]): [pair[1]] for pair in value if isinstance(pair, list) and len(pair) == 2}
    if not isinstance(value, dict):
        return ()
    pairs = []
    for name, items in value.items():
        for item in items if isinstance(items, list) else [items]:
            pairs.append((str(name), item.decode("latin-1") if isinstance(item, bytes) else str(item)))
    return tuple(pairs)


def _read_vcr_body(value: object, lost: list[str], place: str) -> bytes:
    if isinstance(value, dict):
        if "base64_string" in value:
            return _read_base64(str(value["base64_string"]), lost, place)
        value = value.get("string", value if value and "string" not in value else "")
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict | list):
        return dump_json(value)
    return b"" if value is None else str(value).encode()


def _decode(headers: Headers, body: bytes) -> tuple[Headers, bytes | None]:
    """Decompress a body as far as it came; vcrpy and some browsers keep the header of a body that they decompressed."""
    coding = find_header(headers, "content-encoding").strip().lower()
    if not coding or coding == "identity":
        return headers, body
    plain = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
    windows = _WINDOWS.get(coding)
    if windows is None:
        return plain, body if _is_text(body) else None
    for window in windows:
        unpacked = _unpack(body, window)
        if unpacked is not None:
            return plain, unpacked
    return plain, body


def _unpack(body: bytes, window: int) -> bytes | None:
    """Decompress a body; ``None`` if it is not compressed.

    Without a head almost any text begins like deflate, so that only what is deflate to its end is taken for it; with
    a head so is what was cut, unless it is text.
    """
    unpacker = zlib.decompressobj(window)
    with suppress(zlib.error):
        unpacked = unpacker.decompress(body, MAX_BODY)
        is_complete = unpacker.eof and not unpacker.unused_data
        return unpacked if is_complete or (window > 0 and not _is_text(body)) else None
    return None


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


Attached = Callable[[str], bytes]
"""Function from the name of a file that belongs to a HAR file to its content; empty if there is none."""


def attach_nothing(name: str) -> bytes:
    """Return no bytes, for HAR files that hold all bodies."""
    return b""


def read_har(value: JSON, file: str, vendor: str, attached: Attached = attach_nothing) -> ImportResult:
    """Read a HAR file; of a stream it has the time of the first byte and of the last.

    Playwright puts bodies into files of their own (``_file``) unless ``content`` is ``embed``. Source: playwright,
    ``packages/trace/src/har.ts``.
    """
    found = ImportResult()
    streams = 0
    for number, entry in enumerate(map(as_mapping, as_items(as_mapping(as_mapping(value).get("log")).get("entries")))):
        place = f"{file}: log.entries[{number}]"
        request, response = as_mapping(entry.get("request")), as_mapping(entry.get("response"))
        reason = _explain_refusal(entry, request, response)
        if reason:
            found.lost.append(f"{place}: {reason}")
            continue
        exchange = build_exchange(place, found, str(request.get("url", "")), vendor or str(entry.get("_vendor") or ""))
        if exchange is None:
            continue
        exchange.method = str(request.get("method", "GET"))
        exchange.request_headers = _read_har_headers(request)
        exchange.request_body = _read_post_data(
            as_mapping(request.get("postData")), attached, found.lost, f"{place}: the body of the request"
        )
        exchange.time = read_moment(str(entry.get("startedDateTime")))
        if _read_har_response(exchange, entry, response, attached, found):
            streams += exchange.is_streamed
            found.exchanges.append(exchange)
            found.urls.append(str(request.get("url", "")))
    if streams:
        found.lost.append(f"{file}: HAR has no times of events: those of {streams} streams are due with the first byte")
    return found


def _explain_refusal(entry: Object, request: Object, response: Object) -> str:
    """Return why an entry is no call that a recording can have; empty if it is one."""
    if str(request.get("method")) in ("OPTIONS", "CONNECT"):
        return f"{request.get('method')} is of the browser, not of the service"
    if "_webSocketMessages" in entry or response.get("status") == 101:
        return f"a WebSocket of {len(as_items(entry.get('_webSocketMessages')))} messages, which no recording has"
    return ""


def _read_har_response(
    exchange: Exchange, entry: Object, response: Object, attached: Attached, found: ImportResult
) -> bool:
    """Read the response; return whether there is one, or a failure in its place."""
    timings = {name: _read_seconds(time) for name, time in as_mapping(entry.get("timings")).items()}
    wait, receive = timings.get("wait", 0.0), timings.get("receive", 0.0)
    place, failure = exchange.source, _read_failure(entry, response)
    status = read_status(response.get("status"))
    if status is None:
        if response.get("status") not in (None, 0, -1):
            found.lost.append(f"{place}: the status of the response is no number from 100 to 599")
            return False
        exchange.ending, exchange.ended = failure or "cut", wait + receive
        if failure is None:
            found.lost.append(f"{place}: HAR does not say how the call failed: it counts as cut")
        return True
    exchange.status, exchange.reason = status, str(response.get("statusText") or "")
    content = as_mapping(response.get("content"))
    known = len(found.lost)
    body = _read_har_text(content, attached, found.lost, f"{place}: the body of the response")
    if not body and len(found.lost) == known and isinstance(size := content.get("size"), int) and size > 0:
        found.lost.append(f"{place}: the file has no body of the response, of {size} bytes")
    headers = _read_har_headers(response)
    coding = find_header(headers, "content-encoding").strip().lower()
    if coding not in _WINDOWS and not body.startswith(_ZSTD):  # HAR has the body decompressed, whatever it may be
        headers = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
    if not finish_exchange(exchange, headers, body, found, wait, wait + receive):
        return False
    exchange.ending = failure or "whole"
    return True


def _read_failure(entry: Object, response: Object) -> Ending | None:
    """Return how a call failed: in our own field, or as Chromium (``_error``) and Playwright (``_failureText``) say."""
    ours: Ending | None = next((each for each in get_args(Ending) if each == entry.get("_ending")), None)
    text = str(response.get("_error") or response.get("_failureText") or entry.get("_error") or "")
    return ours or (next((ending for sign, ending in _ENDINGS if sign in text), "cut") if text else None)


def _read_seconds(value: JSON) -> float:
    """Convert milliseconds; -1 means that a phase did not take place."""
    return max(0.0, value / 1000) if isinstance(value, int | float) and 0 < value < _MAX_TIME else 0.0


def _read_har_headers(message: Object) -> Headers:
    pairs = [(str(item.get("name", "")), str(item.get("value", ""))) for item in _members(message.get("headers"))]
    return tuple((name, value) for name, value in pairs if name and not name.startswith(":"))  # HTTP/2 has these


def _members(value: JSON) -> Iterator[Object]:
    return map(as_mapping, as_items(value))


def _read_har_text(content: Object, attached: Attached, lost: list[str], place: str) -> bytes:
    if content.get("_file"):
        return attached(str(content["_file"]))
    text = str(content.get("text") or "")
    return _read_base64(text, lost, place) if content.get("encoding") == "base64" else text.encode()


def _read_post_data(data: Object, attached: Attached, lost: list[str], place: str) -> bytes:
    if data.get("_file") or isinstance(data.get("text"), str):
        return _read_har_text(data, attached, lost, place)
    return urlencode(
        [(str(item.get("name", "")), str(item.get("value", ""))) for item in _members(data.get("params"))]
    ).encode()
