"""Convert LiteLLM's standard log lines and OpenAI's batch files to recorded exchanges.

Sources: LiteLLM, ``docs/proxy/logging_spec.md`` (StandardLoggingPayload); OpenAI, "Batch API", the request input and
the output object.
"""

from collections.abc import Iterator, Mapping

from emulator.core.json import JSON, Object, dump_json, parse_json
from emulator.imports.result import ImportResult, as_items, as_mapping, read_moment, read_status
from emulator.imports.vendors import OPENAI_PATHS, find_target, find_vendor
from emulator.recording.exchange import Exchange, RecordedWrite

_JSON_TYPE = (("Content-Type", "application/json"),)
_STREAM_TYPE = (("Content-Type", "text/event-stream"),)
_CALLS: Mapping[str, str] = {
    "completion": "/chat/completions",
    "acompletion": "/chat/completions",
    "text_completion": "/completions",
    "atext_completion": "/completions",
    "embedding": "/embeddings",
    "aembedding": "/embeddings",
    "responses": "/responses",
    "aresponses": "/responses",
}
_PROVIDERS = {"databricks": "databricks", "azure": "azure", "azure_ai": "azure", "huggingface": "tgi"}
_REDACTED = "redacted-by-litellm"  # in place of messages, by ``turn_off_message_logging``
_NOT_SENT = frozenset(
    {"extra_headers", "extra_body", "api_key", "api_base", "api_version", "model", "messages", "input"}
)


def is_litellm(value: JSON) -> bool:
    """Return whether a line is a standard logging payload."""
    return isinstance(value, dict) and {"call_type", "startTime", "response"} <= value.keys()


def read_litellm(lines: list[tuple[int, JSON]], file: str, vendor: str) -> ImportResult:
    """Read LiteLLM's log lines; a stream there is one answer, which becomes a stream of one piece."""
    found = ImportResult()
    for number, value in lines:
        line = as_mapping(value)
        place = f"{file}:{number}"
        provider = str(line.get("custom_llm_provider") or "")
        name = vendor or _PROVIDERS.get(provider, "") or find_vendor(str(line.get("api_base") or ""))
        path = _CALLS.get(str(line.get("call_type")))
        if not name or path is None:
            reason = (
                f"calls of {provider or 'an unknown provider'}; use --vendor" if path else str(line.get("call_type"))
            )
            found.lost.append(f"{place}: nobody serves {reason}")
            continue
        lacking = _explain_lack(line, path)
        if lacking:
            found.lost.append(f"{place}: {lacking}")
            continue
        found.exchanges.append(_read_litellm_call(line, name, path, place, found))
    return found


def _explain_lack(line: Object, path: str) -> str:
    """Return what a line lacks of a call; empty if it has all."""
    messages, response = line.get("messages"), line.get("response")
    if not isinstance(messages, list | str) or _REDACTED in dump_json(messages).decode():
        return "LiteLLM did not log its messages"
    if line.get("status") != "failure" and not isinstance(response, dict):
        return "LiteLLM did not log its response"
    if line.get("status") != "failure" and line.get("stream") and path != "/chat/completions":
        return f"LiteLLM logs no events of a stream of {path}"
    return ""


def _read_litellm_call(line: Object, vendor: str, path: str, place: str, found: ImportResult) -> Exchange:
    asked = "input" if path in ("/embeddings", "/responses") else "prompt" if path == "/completions" else "messages"
    parameters = as_mapping(line.get("model_parameters"))
    messages = line.get("messages")
    if path == "/embeddings":  # LiteLLM logs the inputs as messages of a user
        messages = [as_mapping(each).get("content", each) for each in as_items(messages)] or messages
    body: Object = {"model": str(line.get("model", "")).rpartition("/")[2], asked: messages}
    body |= {key: value for key, value in parameters.items() if key not in _NOT_SENT}
    body |= as_mapping(parameters.get("extra_body"))
    if line.get("stream"):
        body["stream"] = True
    began = read_moment(line.get("startTime"))
    ended = read_moment(line.get("endTime")) or began
    first = read_moment(line.get("completionStartTime")) or ended
    exchange = Exchange(
        vendor=vendor,
        source=place,
        method="POST",
        target=OPENAI_PATHS.get(vendor, "/v1") + path,
        time=began,
        request_headers=_JSON_TYPE,
        request_body=dump_json(body),
        status=200,
        reason="OK",
        headers=_JSON_TYPE,
        offset=max(0.0, first - began),
        ending="whole",
        ended=max(0.0, ended - began),
    )
    if line.get("status") == "failure":
        _set_failure(exchange, line, place, found)
    elif body.get("stream") and asked == "messages":
        _set_stream(exchange, as_mapping(line.get("response")))
        found.lost.append(f"{place}: LiteLLM logs no events: the answer is one piece at the time of its first token")
    else:
        exchange.writes = (RecordedWrite(exchange.offset, dump_json(line.get("response"))),)
    return exchange


def _set_failure(exchange: Exchange, line: Object, place: str, found: ImportResult) -> None:
    about = as_mapping(line.get("error_information"))
    exchange.status = read_status(about.get("error_code")) or 500
    exchange.reason = ""
    text = str(about.get("error_message") or line.get("error_str") or "")
    start = text.find("{")
    try:
        body = parse_json(text[start:].encode()) if start >= 0 else None
    except ValueError:
        body = None
    if isinstance(body, dict):  # most providers' errors end with the body
        exchange.writes = (RecordedWrite(exchange.ended, dump_json(body)),)
        return
    exchange.writes = (RecordedWrite(exchange.ended, dump_json({"error": {"message": text}})),)
    found.lost.append(f"{place}: LiteLLM logs the words of this error, not its body")


def _set_stream(exchange: Exchange, response: Object) -> None:
    """Build the events of a stream from a whole chat response."""
    about = {key: value for key, value in response.items() if key not in ("choices", "usage", "object")}
    head: Object = {**about, "object": "chat.completion.chunk"}
    events: list[Object] = []
    for choice in map(as_mapping, as_items(response.get("choices"))):
        message, index = as_mapping(choice.get("message")), choice.get("index", 0)
        delta: Object = {key: value for key, value in message.items() if value is not None}
        events.append({**head, "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
        reason = choice.get("finish_reason")
        events.append({**head, "choices": [{"index": index, "delta": {}, "finish_reason": reason}]})
    if response.get("usage"):
        events.append({**head, "choices": [], "usage": response["usage"]})
    writes = [RecordedWrite(exchange.offset, b"data: " + dump_json(event) + b"\n\n") for event in events[:1]]
    writes += [RecordedWrite(exchange.ended, b"data: " + dump_json(event) + b"\n\n") for event in events[1:]]
    exchange.writes = (*writes, RecordedWrite(exchange.ended, b"data: [DONE]\n\n"))
    exchange.headers, exchange.framing = _STREAM_TYPE, "chunked"


def is_batch_line(value: JSON) -> bool:
    """Return whether a line is a request or a result of a batch."""
    return (
        isinstance(value, dict)
        and "custom_id" in value
        and ("body" in value or "response" in value or "error" in value)
    )


class Batches:
    """Requests and results of batches, which stand in different files."""

    def __init__(self) -> None:
        self._requests: dict[str, list[tuple[str, Object]]] = {}
        self._results: dict[str, list[tuple[str, Object]]] = {}

    def add(self, lines: list[tuple[int, JSON]], file: str) -> None:
        """Take the lines of one file."""
        for number, value in lines:
            line = as_mapping(value)
            rows = self._requests if "url" in line else self._results
            rows.setdefault(str(line.get("custom_id")), []).append((f"{file}:{number}", line))

    def join(self, vendor: str) -> ImportResult:
        """Return an exchange for each request that has a result; several of one id are joined in their order."""
        found = ImportResult()
        for ident, results in self._results.items():
            requests = self._requests.get(ident, [])
            if len(results) > 1:
                found.lost.append(
                    f"{results[0][0]}: {ident} has {len(results)} results: they are joined in their order"
                )
            for place, result in results:
                if not requests:
                    found.lost.append(f"{place}: the result of {ident}, whose request is in none of the files")
                elif not vendor:
                    found.lost.append(f"{place}: a batch does not say whose service it ran on; use --vendor")
                else:
                    found.exchanges.extend(self._join(requests.pop(0)[1], result, vendor, place, found))
        left = [(ident, place) for ident, requests in self._requests.items() for place, _ in requests]
        found.lost += [f"{place}: the request {ident} has no result" for ident, place in left if vendor]
        return found

    def _join(self, asked: Object, result: Object, vendor: str, place: str, found: ImportResult) -> Iterator[Exchange]:
        response = as_mapping(result.get("response"))
        if not response:
            found.lost.append(f"{place}: the request failed before it ran: {dump_json(result.get('error')).decode()}")
            return
        code = response.get("status_code")
        status = 200 if code is None else read_status(code)
        if status is None:
            found.lost.append(f"{place}: the status of the response is no number from 100 to 599")
            return
        yield Exchange(
            vendor=vendor,
            source=place,
            method=str(asked.get("method", "POST")),
            target=find_target(_complete(str(asked.get("url"))), vendor),
            request_headers=_JSON_TYPE,
            request_body=dump_json(asked.get("body")),
            status=status,
            headers=_JSON_TYPE,
            writes=(RecordedWrite(0.0, dump_json(response.get("body"))),),
            ending="whole",
        )


def _complete(url: str) -> str:
    """Return the path of a request of a batch with ``/v1``, which Azure's batches may leave out."""
    return f"/v1{url}" if url in _CALLS.values() else url
