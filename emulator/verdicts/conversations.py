"""Rules about what of an answer goes into later requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from emulator.core.json import JSON, parse_json
from emulator.verdicts.calls import Call, History
from emulator.verdicts.expectations import Expectations
from emulator.verdicts.findings import Breach, Finding, Rule, Unjudged

_ERROR = re.compile(r"error|invalid|malformed|fail|could not|cannot|can't|not valid|unparsable|unable", re.IGNORECASE)
_SLACK = 0.01  # seconds
_SHORT = 16  # characters; a shorter text counts only as a message of its own


def _judge_incomplete(history: History, expected: Expectations) -> Finding:
    cut = [call for call in history.calls if call.is_cut and call.content.text.strip()]
    if not cut:
        return Unjudged("no stream ended without its end after some text")
    found = []
    for call in cut:
        following = (one for one in history.calls if one.start >= call.end - _SLACK)
        later = next((one for one in following if _repeats(one, call, history)), None)
        if later is not None:
            sentence = (
                f"Call {later.name} has the text of stream {call.name} in its prompt, which ended without an end; "
                "a sound client takes such an answer for failed."
            )
            found.append(Breach("incomplete_stream_failed", (call, later), sentence, {"tokens": call.delivered}))
    return found


def _repeats(later: Call, cut: Call, history: History) -> bool:
    """Return whether a prompt has the text of a cut stream, other than inside a whole answer that begins alike."""
    text = cut.content.text.strip()
    if later is cut or later.key == cut.key:
        return False
    wholes = [
        one.content.text.strip()
        for one in history.calls
        if not one.failed and one.has_ended and one.start < later.start and text in one.content.text
    ]
    for said in _list_texts(later.content.body):
        for whole in wholes:
            said = said.replace(whole, "")
        if said.strip() == text or (len(text) >= _SHORT and text in said):
            return True
    return False


def _list_texts(node: JSON) -> Iterator[str]:
    """Yield every string of a request body."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from _list_texts(item)
    elif isinstance(node, dict):
        for item in node.values():
            yield from _list_texts(item)


def _judge_arguments(history: History, expected: Expectations) -> Finding:
    bad = {
        arguments: call
        for call in history.calls
        for _, arguments in call.content.tool_calls
        if not _is_object(arguments)
    }
    if not bad:
        return Unjudged("no tool call had arguments that do not parse")
    found = []
    for later in history.calls:
        for arguments, result in _list_results(later.content.body):
            if arguments in bad and not _is_error(result):
                call = bad.pop(arguments)
                sentence = (
                    f"Call {later.name} has a plain result of a tool call of {call.name} whose arguments do not parse; "
                    "a sound client answers with an error, or asks again."
                )
                found.append(Breach("no_bad_arguments", (call, later), sentence))
    return found


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(parse_json(arguments), dict)
    except ValueError:
        return False


def _list_results(body: JSON) -> Iterator[tuple[str, JSON]]:
    """Yield arguments and result of each tool call in the messages of a chat or the items of a response."""
    asked: dict[str, str] = {}
    for item in _list_items(body):
        for call in (item, *_as_list(item.get("tool_calls"))):
            function = call.get("function", call) if isinstance(call, dict) else None
            name = call.get("call_id", call.get("id")) if isinstance(call, dict) else None
            arguments = function.get("arguments") if isinstance(function, dict) else None
            if isinstance(name, str) and isinstance(arguments, str):
                asked[name] = arguments
        answered = item.get("tool_call_id", item.get("call_id"))
        if isinstance(answered, str) and answered in asked and ("output" in item or item.get("role") == "tool"):
            yield asked[answered], item.get("output", item.get("content"))


def _list_items(body: JSON) -> Iterator[Mapping[str, JSON]]:
    if isinstance(body, dict):
        for name in ("messages", "input"):
            yield from (item for item in _as_list(body.get(name)) if isinstance(item, dict))


def _as_list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _is_error(result: JSON) -> bool:
    return any(_ERROR.search(text) for text in _list_texts(result)) or (isinstance(result, dict) and "error" in result)


INCOMPLETE_STREAM_FAILED = Rule("incomplete_stream_failed", _judge_incomplete)
NO_BAD_ARGUMENTS = Rule("no_bad_arguments", _judge_arguments)
