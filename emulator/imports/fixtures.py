"""Read fixtures with matchers as rules: aimock, MockServer, llmposter.

Sources: aimock, ``skills/write-fixtures/SKILL.md``; llmposter, ``docs/fixtures.md``; MockServer, its OpenAPI document
(``Expectation``, ``HttpRequest``, ``HttpResponse``, ``HttpError``, ``Times``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from emulator.core.json import JSON, Object, dump_text
from emulator.imports.found import Found, as_items, as_mapping
from emulator.recording.content import read_whole

_KINDS: Mapping[int, str] = {
    400: "invalid_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "payload_too_large",
    422: "invalid_parameter",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
}
_REASONS = {
    "end_turn": "stop",
    "stop": "stop",
    "max_tokens": "length",
    "length": "length",
    "tool_use": "tool_calls",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
Lose = Callable[[str], None]


def _milliseconds(value: JSON) -> str:
    return f"{float(value):g}ms" if isinstance(value, int | float) else "0ms"


def _error(status: int, message: JSON, body: JSON = None) -> Object:
    error: Object = {"kind": _KINDS.get(status, "internal"), "status": status}
    if message:
        error["message"] = str(message)
    if body is not None:
        error["body"] = body
    return error


def _read_arguments(value: JSON) -> JSON:
    if isinstance(value, str):
        try:
            parsed: JSON = json.loads(value)
        except ValueError:
            return value
        return parsed
    return value if value is not None else {}


def _read_tool_calls(calls: JSON) -> list[JSON]:
    rows: list[JSON] = []
    for call in map(as_mapping, as_items(calls)):
        row: Object = {"name": str(call.get("name", "")), "arguments": _read_arguments(call.get("arguments"))}
        if call.get("id"):
            row["id"] = str(call["id"])
        rows.append(row)
    return rows


class _Names:
    """Unique names of rules."""

    def __init__(self, source: str) -> None:
        self._source = source

    def name(self, number: int) -> str:
        return f"{self._source} {number}"


def _finish(rule: Object, when: Object, found: Found, place: str) -> None:
    """Add a rule that does something; its conditions come first."""
    if not rule.keys() & {"reply", "error", "faults", "latency"}:
        found.lost.append(f"{place}: nothing of its response can be carried over")
        return
    name = rule.pop("name")
    found.rules.append({"name": name, **({"when": when} if when else {}), **rule})


# aimock


def is_aimock(value: JSON) -> bool:
    """Return whether a document has aimock's fixtures."""
    items = as_items(as_mapping(value).get("fixtures"))
    return (
        bool(items)
        and all({"match", "response"} <= as_mapping(item).keys() for item in items)
        and any(
            as_mapping(as_mapping(item)["match"]).keys()
            & {"userMessage", "inputText", "toolCallId", "toolName", "systemMessage"}
            or as_mapping(as_mapping(item)["response"]).keys() & {"toolCalls", "embedding", "blocks"}
            for item in items
        )
    )


def read_aimock(value: JSON, file: str) -> Found:
    """Read aimock's fixtures as rules."""
    found = Found()
    names = _Names(file)
    sequences: dict[str, int] = {}
    for number, fixture in enumerate(map(as_mapping, as_items(as_mapping(value).get("fixtures")))):
        place = f"{file}: fixtures[{number}]"

        def lose(what: str, place: str = place) -> None:
            found.lost.append(f"{place}: {what}")

        rule: Object = {"name": names.name(number)}
        match = as_mapping(fixture.get("match"))
        when = _read_aimock_match(match, lose)
        index = match.get("sequenceIndex")
        if isinstance(index, int):
            key = dump_text(when)
            sequences[key] = sequences.get(key, 0)
            rule["times"] = {"nth": index - sequences[key] + 1} if index >= sequences[key] else {"nth": 1}
            sequences[key] += 1
        _read_aimock_response(as_mapping(fixture.get("response")), rule, lose)
        _read_aimock_timing(fixture, rule, lose)
        _finish(rule, when, found, place)
    return found


_COMPARED: Mapping[str, str] = {  # fields of a match that are compared as a part of a text
    "userMessage": "prompt",
    "inputText": "prompt",
    "systemMessage": "system",
    "toolResultContains": "tool_result",
}
_EQUAL: Mapping[str, str] = {"toolName": "tools", "model": "body.model", "responseFormat": "body.response_format.type"}
_TASKS: Mapping[JSON, str] = {"chat": "chat", "embedding": "embeddings"}


def _read_aimock_match(match: Object, lose: Lose) -> Object:
    when: Object = {}
    for key, value in match.items():
        if key in _COMPARED and isinstance(value, str):
            when[_COMPARED[key]] = {"contains": value}
        elif key in _EQUAL:
            when[_EQUAL[key]] = value
        elif key == "endpoint" and isinstance(value, str) and value in _TASKS:
            when["task"] = _TASKS[value]
        elif key != "sequenceIndex":
            lose(f"match.{key}: no condition compares it")
    return when


def _read_aimock_response(response: Object, rule: Object, lose: Lose) -> None:
    if "error" in response:
        status = response.get("status")
        rule["error"] = _error(status if isinstance(status, int) else 500, as_mapping(response["error"]).get("message"))
        return
    reply: Object = {key: response[key] for key in ("embedding", "reasoning") if key in response}
    if "content" in response:
        content = response["content"]
        reply["text"] = content if isinstance(content, str) else dump_text(content)
    if "toolCalls" in response:
        reply["tool_calls"] = _read_tool_calls(response["toolCalls"])
    if "blocks" in response:
        _read_blocks(as_items(response["blocks"]), reply, lose)
    if reply and response.get("finishReason") in _REASONS:
        reply["finish_reason"] = _REASONS[str(response["finishReason"])]
    for key in response.keys() - {"embedding", "reasoning", "content", "toolCalls", "blocks", "finishReason", "status"}:
        lose(f"response.{key}: no reply has it")
    if reply:
        rule["reply"] = reply


def _read_blocks(blocks: list[JSON], reply: Object, lose: Lose) -> None:
    texts = [str(block.get("text", "")) for block in map(as_mapping, blocks) if block.get("type") == "text"]
    calls: list[JSON] = [block for block in blocks if as_mapping(block).get("type") == "toolCall"]
    if texts:
        reply["text"] = "".join(texts)
    if calls:
        reply["tool_calls"] = _read_tool_calls(calls)
    if texts and calls:
        lose("response.blocks: the text comes before the tool calls, whatever their order")


def _read_aimock_timing(fixture: Object, rule: Object, lose: Lose) -> None:
    faults: list[JSON] = []
    for key, value in fixture.items():
        if key == "latency":
            rule["latency"] = {"itl": _milliseconds(value)}
        elif key == "streamingProfile":
            rule["latency"] = _read_profile(as_mapping(value))
        elif key == "truncateAfterChunks" and isinstance(value, int):
            faults.append({"type": "disconnect", "after_tokens": value})
            lose("truncateAfterChunks: counted in tokens, not in chunks")
        elif key not in ("match", "response"):
            lose(f"{key}: there is nothing like it")
    if faults:
        rule["faults"] = faults


def _read_profile(profile: Object) -> Object:
    latency: Object = {}
    if "ttft" in profile:
        latency["ttft"] = _milliseconds(profile["ttft"])
    tps = profile.get("tps")
    if isinstance(tps, int | float) and tps:
        latency["itl"] = f"{1000 / tps:g}ms"
    return latency


# llmposter


def is_llmposter(value: JSON) -> bool:
    """Return whether a document has llmposter's fixtures."""
    items = as_items(as_mapping(value).get("fixtures"))
    return bool(items) and all(as_mapping(item).keys() & {"response", "error", "refusal"} for item in items)


def read_llmposter(value: JSON, file: str) -> Found:
    """Read llmposter's fixtures as rules."""
    found = Found()
    names = _Names(file)
    for number, fixture in enumerate(map(as_mapping, as_items(as_mapping(value).get("fixtures")))):
        place = f"{file}: fixtures[{number}]"

        def lose(what: str, place: str = place) -> None:
            found.lost.append(f"{place}: {what}")

        rule: Object = {"name": names.name(number)}
        when = _read_llmposter_match(as_mapping(fixture.get("match")), lose)
        _read_llmposter_outcome(fixture, rule, lose)
        _finish(rule, when, found, place)
    return found


def _read_text(value: JSON) -> JSON:
    pattern = as_mapping(value).get("regex")
    return {"regex": pattern} if pattern is not None else {"contains": value}


def _read_llmposter_match(match: Object, lose: Lose) -> Object:
    when: Object = {}
    for key, value in match.items():
        if key == "user_message":
            when["prompt"] = _read_text(value)
        elif key == "system_prompt":
            when["system"] = _read_text(value)
        elif key == "model":
            when["body.model"] = _read_text(value)
        else:
            lose(f"match.{key}: no condition compares it")
    return when


def _read_llmposter_outcome(fixture: Object, rule: Object, lose: Lose) -> None:
    response = as_mapping(fixture.get("response"))
    reply: Object = {}
    if "content" in response:
        reply["text"] = str(response["content"])
    if "tool_calls" in response:
        reply["tool_calls"] = _read_tool_calls(response["tool_calls"])
    reason = response.get("stop_reason") or response.get("finish_reason")
    if reason in _REASONS:
        reply["finish_reason"] = _REASONS[str(reason)]
    if isinstance(refusal := fixture.get("refusal"), str):
        reply = {"refusal": refusal}
    if reply.keys() - {"finish_reason"}:
        rule["reply"] = reply
    error = as_mapping(fixture.get("error"))
    if error:
        status = error.get("status")
        rule["error"] = _error(status if isinstance(status, int) else 500, error.get("message"))
    _read_llmposter_faults(fixture, rule, lose)
    for key in fixture.keys() - {"match", "response", "error", "refusal", "failure", "streaming"}:
        lose(f"{key}: there is nothing like it")


def _read_llmposter_faults(fixture: Object, rule: Object, lose: Lose) -> None:
    failure, streaming = as_mapping(fixture.get("failure")), as_mapping(fixture.get("streaming"))
    latency: Object = {}
    faults: list[JSON] = []
    if "latency" in streaming:
        latency["itl"] = _milliseconds(streaming["latency"])
    if "latency_ms" in failure:
        latency["ttft"] = _milliseconds(failure["latency_ms"])
    if failure.get("corrupt_body"):
        faults.append({"type": "garbage"})
    if "truncate_after_frames" in failure:
        faults.append({"type": "truncate", "after_tokens": failure["truncate_after_frames"]})
        lose("failure.truncate_after_frames: counted in tokens, not in frames")
    for key in failure.keys() - {"latency_ms", "corrupt_body", "truncate_after_frames"}:
        lose(f"failure.{key}: there is nothing like it")
    for key in streaming.keys() - {"latency"}:
        lose(f"streaming.{key}: there is nothing like it")
    rule |= {"latency": latency} if latency else {}
    rule |= {"faults": faults} if faults else {}


# MockServer


def is_mockserver(value: JSON) -> bool:
    """Return whether a document has MockServer's expectations."""
    items = as_items(value) or ([value] if isinstance(value, dict) else [])
    return bool(items) and all("httpRequest" in as_mapping(item) for item in items)


def read_mockserver(value: JSON, file: str, vendor: str) -> Found:
    """Read MockServer's expectations as rules."""
    found = Found()
    names = _Names(file)
    items = as_items(value) or [value]
    for number, expectation in enumerate(map(as_mapping, items)):
        place = f"{file}: [{number}]"

        def lose(what: str, place: str = place) -> None:
            found.lost.append(f"{place}: {what}")

        rule: Object = {"name": names.name(number)}
        times = as_mapping(expectation.get("times"))
        if isinstance(left := times.get("remainingTimes"), int) and not times.get("unlimited"):
            rule["times"] = {"first": left}
        when = _read_mock_request(as_mapping(expectation.get("httpRequest")), lose)
        if vendor:
            when = {"vendor": vendor, **when}
        _read_mock_outcome(expectation, rule, lose)
        _finish(rule, when, found, place)
    return found


def _read_mock_request(request: Object, lose: Lose) -> Object:
    when: Object = {}
    for key, value in request.items():
        if key == "path" and isinstance(value, str):
            when["endpoint"] = re.sub(r"\.\*", "*", value)
        elif key == "headers":
            _read_mock_headers(value, when, lose)
        elif key == "body":
            _read_mock_body(value, when, lose)
        elif key != "method":
            lose(f"httpRequest.{key}: no condition compares it")
    return when


def _read_mock_headers(value: JSON, when: Object, lose: Lose) -> None:
    if isinstance(value, dict):
        for name, texts in value.items():
            first = texts[0] if isinstance(texts, list) and texts else texts
            when[f"header.{str(name).lower()}"] = {"regex": f"^(?:{first})$"}
    elif value:
        lose("httpRequest.headers: expected a mapping")


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
        rule["error"] = _error(status, None, body)
    else:
        _read_mock_answer(body, rule, lose)
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
