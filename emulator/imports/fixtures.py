"""Convert the fixtures of aimock and llmposter, requests to match with their responses, to rules of a scenario.

Sources: aimock 1.43, ``skills/write-fixtures/SKILL.md``, ``src/types.ts`` (``FixtureFileEntry``) and ``src/router.ts``;
llmposter 0.5, ``docs/fixtures.md``.
"""

import json
from collections.abc import Callable, Mapping

from emulator.core.json import JSON, Object, dump_text
from emulator.imports.result import ImportResult, as_items, as_mapping
from emulator.recording.content import read_counts

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


def build_error(status: int, message: JSON, body: JSON = None) -> Object:
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


class RuleNames:
    """Unique names of rules."""

    def __init__(self, source: str) -> None:
        self._source = source

    def name(self, number: int) -> str:
        return f"{self._source} {number}"


_LOST_CONDITIONS = ("match.", "httpRequest.")


def _list_reasons(found: ImportResult, place: str) -> list[str]:
    """Return what is lost of a place."""
    return [line.removeprefix(f"{place}: ") for line in found.lost if line.startswith(f"{place}: ")]


def add_rule(rule: Object, when: Object, found: ImportResult, place: str) -> None:
    """Add a rule unless it is without effect, or would take every call as its conditions are lost.

    Its conditions come before its outcome.
    """
    if not when and any(line.startswith(_LOST_CONDITIONS) for line in _list_reasons(found, place)):
        found.lost.append(f"{place}: left out, as without a condition it would answer every call")
        return
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


def read_aimock(value: JSON, file: str) -> ImportResult:
    """Read aimock's fixtures as rules."""
    found = ImportResult()
    names = RuleNames(file)
    sequences: dict[str, int] = {}
    for number, fixture in enumerate(map(as_mapping, as_items(as_mapping(value).get("fixtures")))):
        place = f"{file}: fixtures[{number}]"

        def lose(what: str, place: str = place) -> None:
            found.lost.append(f"{place}: {what}")

        rule: Object = {"name": names.name(number)}
        match = as_mapping(fixture.get("match"))
        when = _read_aimock_match(match, lose)
        _read_turn(match, when, lose)
        index = match.get("sequenceIndex")
        if isinstance(index, int):
            key = dump_text(when)
            sequences[key] = sequences.get(key, 0)
            rule["times"] = {"nth": index - sequences[key] + 1} if index >= sequences[key] else {"nth": 1}
            sequences[key] += 1
        _read_aimock_response(as_mapping(fixture.get("response")), rule, lose)
        _read_aimock_timing(fixture, rule, lose)
        add_rule(rule, when, found, place)
    return found


_COMPARED: Mapping[str, str] = {  # fields of a match that are compared as a part of a text
    "userMessage": "prompt",
    "inputText": "prompt",
    "systemMessage": "system",
    "toolResultContains": "tool_result",
}
_EQUAL: Mapping[str, str] = {"toolName": "tools", "model": "body.model", "responseFormat": "body.response_format.type"}
_REPLIED = frozenset(
    {"embedding", "reasoning", "content", "toolCalls", "blocks", "finishReason", "status", "usage", "model", "id"}
)
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
        elif key not in ("sequenceIndex", "turnIndex", "hasToolResult"):
            lose(f"match.{key}: no condition compares it")
    return when


def _read_turn(match: Object, when: Object, lose: Lose) -> None:
    """Carry over where in a conversation a fixture applies.

    A ``turnIndex`` of 0, which every recording has, tells nothing apart: aimock prefers it, but does not require it.
    """
    if isinstance(has_result := match.get("hasToolResult"), bool):
        last: Object = {"messages.last.role": "tool"}
        when.update(last if has_result else {"not": last})
    if isinstance(turn := match.get("turnIndex"), int) and turn:
        when["turn"] = turn + 1
        lose("match.turnIndex: counted in messages of the user, not of the assistant")


def _read_aimock_response(response: Object, rule: Object, lose: Lose) -> None:
    if "error" in response:
        _read_aimock_error(response, rule, lose)
        return
    reply: Object = {key: response[key] for key in ("embedding", "reasoning") if key in response}
    if "content" in response:
        content = response["content"]
        reply["text"] = content if isinstance(content, str) else dump_text(content)
    if "toolCalls" in response:
        reply["tool_calls"] = _read_tool_calls(response["toolCalls"])
    if "blocks" in response:
        _read_blocks(as_items(response["blocks"]), reply, lose)
    if reply:
        if response.get("finishReason") in _REASONS:
            reply["finish_reason"] = _REASONS[str(response["finishReason"])]
        usage = read_counts(response)
        rule["reply"] = {**reply, "usage": dict(usage)} if usage else reply
    for key in response.keys() - _REPLIED:
        lose(f"response.{key}: no reply has it")


def _read_aimock_error(response: Object, rule: Object, lose: Lose) -> None:
    status, error = response.get("status"), as_mapping(response["error"])
    rule["error"] = build_error(status if isinstance(status, int) else 500, error.get("message"))
    others = ", ".join(sorted(error.keys() - {"message"}))
    if others:
        lose(f"response.error: its {others} are those of the vendor")


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
        elif key == "recordedTimings":
            rule["latency"] = _read_timings(as_mapping(value))
        elif key == "truncateAfterChunks" and isinstance(value, int):
            faults.append({"type": "disconnect", "after_tokens": value})
            lose("truncateAfterChunks: counted in tokens, not in chunks")
        elif key not in ("match", "response", "metadata"):
            lose(f"{key}: there is nothing like it")
    if faults:
        rule["faults"] = faults


def _read_timings(timings: Object) -> Object:
    """Return the latency of a recorded stream: its time to the first chunk, and the quantiles of the gaps."""
    latency: Object = {"ttft": _milliseconds(timings.get("ttftMs"))}
    gaps = sorted(gap for gap in as_items(timings.get("interChunkDelaysMs")) if isinstance(gap, int | float))
    if len(gaps) > 1:
        points = {percent: gaps[round((len(gaps) - 1) * percent / 100)] for percent in (0, 25, 50, 75, 100)}
        quantiles: Object = {f"p{percent}": _milliseconds(gap) for percent, gap in points.items()}
        latency["itl"] = {"type": "empirical", "quantiles": quantiles}
    return latency


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


def read_llmposter(value: JSON, file: str) -> ImportResult:
    """Read llmposter's fixtures as rules."""
    found = ImportResult()
    names = RuleNames(file)
    fixtures = enumerate(map(as_mapping, as_items(as_mapping(value).get("fixtures"))))
    for number, fixture in sorted(fixtures, key=lambda item: -_read_priority(item[1])):
        place = f"{file}: fixtures[{number}]"

        def lose(what: str, place: str = place) -> None:
            found.lost.append(f"{place}: {what}")

        rule: Object = {"name": names.name(number)}
        when = _read_llmposter_match(as_mapping(fixture.get("match")), lose)
        _read_llmposter_outcome(fixture, rule, lose)
        add_rule(rule, when, found, place)
    return found


def _read_priority(fixture: Object) -> float:
    priority = fixture.get("priority")
    return priority if isinstance(priority, int | float) else 0


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
    response, error = as_mapping(fixture.get("response")), as_mapping(fixture.get("error"))
    reply = _read_llmposter_response(response)
    if isinstance(refusal := fixture.get("refusal"), str):
        reply = {"refusal": refusal}
    if reply.keys() - {"finish_reason"}:
        rule["reply"] = reply
    if error:
        status = error.get("status")
        rule["error"] = build_error(status if isinstance(status, int) else 500, error.get("message"))
    _read_llmposter_faults(fixture, rule, lose)
    for path, value, known in (
        ("response.", response, {"content", "tool_calls", "stop_reason", "finish_reason"}),
        ("error.", error, {"status", "message"}),
        ("", fixture, {"match", "response", "error", "refusal", "failure", "streaming", "priority"}),
    ):
        for key in sorted(value.keys() - known):
            lose(f"{path}{key}: there is nothing like it")


def _read_llmposter_response(response: Object) -> Object:
    reply: Object = {}
    if "content" in response:
        reply["text"] = str(response["content"])
    if "tool_calls" in response:
        reply["tool_calls"] = _read_tool_calls(response["tool_calls"])
    reason = response.get("stop_reason") or response.get("finish_reason")
    if reason in _REASONS:
        reply["finish_reason"] = _REASONS[str(reason)]
    return reply


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
