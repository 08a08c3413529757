"""Write journal entries as a HAR 1.2 document, which browsers, proxies and ``emulator import`` read.

Source: HTTP Archive (HAR) format 1.2, sections ``entries``, ``request``, ``response``, ``content``, ``timings``.
"""

import base64
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from emulator import __version__
from emulator.core.executor import cooperative
from emulator.core.json import JSON, Object, dump_text
from emulator.core.redaction.bodies import redact_events
from emulator.core.text import reason_phrase
from emulator.journal.entry import JournalEntry, JournalItem
from emulator.journal.payload import Payload

_CREATOR: Object = {"name": "llm-emulator", "version": __version__}


async def write_har(calls: Sequence[JournalItem]) -> AsyncIterator[str]:
    """Yield the document in pieces; calls whose payload is evicted are left out."""
    yield f'{{"log":{{"version":"1.2","creator":{dump_text(_CREATOR)},"entries":['
    comma = ""
    async for call in cooperative(calls):
        entry = call.load()
        if entry.payload is not None:
            yield comma + dump_text(_show_entry(entry, entry.payload))
            comma = ","
    yield "]}}"


def _show_entry(entry: JournalEntry, payload: Payload) -> Object:
    wait = max(0.0, entry.ttft or 0.0) * 1000
    total = max(wait, (entry.duration or 0.0) * 1000)
    ending: Object = {"_ending": shown} if (shown := _find_ending(entry)) else {}
    return {
        "startedDateTime": datetime.fromtimestamp(entry.time, UTC).isoformat(timespec="milliseconds"),
        "time": total,
        "request": _show_request(payload),
        "response": _show_response(entry, payload),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": total - wait},
        "_vendor": entry.vendor,
        "_session": entry.session,
        **ending,
    }


def _find_ending(entry: JournalEntry) -> str:
    """Return how a response ended early, in the words of recordings; empty if its bytes came to their end."""
    if entry.client_left:
        return "client left"
    if entry.whole or "truncate" in entry.faults:  # this fault ends the answer, not its bytes
        return ""
    return "reset" if "disconnect" in entry.faults else "cut"


def _show_request(payload: Payload) -> Object:
    request = payload.request
    query = urlencode(list(request.query.items()))
    base = request.base_url or "http://localhost"  # a browser finds a response by the whole URL
    url = f"{base}{quote(request.path)}{'?' if query else ''}{query}"
    shown: Object = {
        "method": request.method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _show_pairs(request.headers.items()),
        "queryString": _show_pairs(request.query.items()),
        "headersSize": -1,
        "bodySize": len(request.body),
    }
    if request.body:
        kind = request.headers.get("Content-Type", "application/octet-stream")
        shown["postData"] = {"mimeType": kind, **_show_bytes(request.body)}
    return shown


def _show_response(entry: JournalEntry, payload: Payload) -> Object:
    kind = next((value for name, value in payload.headers if name.lower() == "content-type"), "")
    content: Object = {"size": entry.bytes_out, "mimeType": kind}
    body = _find_body(payload)
    if body is not None:
        content |= _show_bytes(body)
    elif payload.text is not None:
        content |= {"comment": "the journal has the words of this stream, not its events", "_words": payload.text}
    return {
        "status": entry.status,
        "statusText": reason_phrase(entry.status) if entry.status else "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _show_pairs(payload.headers),
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": entry.bytes_out,
    }


def _find_body(payload: Payload) -> bytes | None:
    """Return the bytes that were sent, as far as the journal has them."""
    if payload.raw is not None:
        return payload.raw
    if payload.body is not None:
        return payload.body
    return None if payload.encode_stream is None else redact_events(payload.encode_stream())


def _show_bytes(data: bytes) -> Object:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(data).decode(), "encoding": "base64"}


def _show_pairs(pairs: Iterable[tuple[str, str]]) -> list[JSON]:
    return [{"name": str(name), "value": str(value)} for name, value in pairs]
