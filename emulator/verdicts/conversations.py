"""Rules of verdicts on what no later prompt may have: text of a cut stream, a plain result of broken tool arguments."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from emulator.core.json import JSON, parse_json
from emulator.verdicts.calls import Call, CallHistory
from emulator.verdicts.rules import Breach, Expectations, Finding, Unjudged, VerdictRule

_ERROR = re.compile(
    r"error|invalid|malformed|fail|could not|cannot|can't|not valid|unparsable|unable|exception|illegal"
    r"|rejected|try again|not (?:be )?parse|not JSON|valid JSON|JSON input|in JSON|after JSON"
    # the words of parsers alone, as `str(error)` has them
    r"|expect(?:ed|ing) (?:['\"]|property|value|delimiter|double|end of|an? (?:string|object|value|comma|colon|quote))"
    r"|unexpected (?:token|end|character|non-whitespace)|unterminated|extra data"
    r"|(?:missing|wrong) (?:\d+ )?(?:required |positional )*(?:field|key|argument|parameter|property|value|type)"
    r"|field required",
    re.IGNORECASE,
)
_SLACK = 0.01  # seconds
_SHORT = 16  # characters; a shorter text counts only as a whole message of the model
_ROLES = ("assistant", "model")
_MAX_SCANNED = 64  # beginnings; of more it is faster to look up each part of a prompt


def _judge_incomplete(history: CallHistory, expected: Expectations) -> Finding:
    cut = [call for call in history.calls if call.is_cut and call.content.text.strip()]
    if not cut:
        return Unjudged("no stream ended without its end after some text")
    left: dict[str, list[Call]] = defaultdict(list)
    for call in cut:
        left[call.content.text.strip()].append(call)
    finder, whole_texts = _TextFinder(left), _WholeTexts(history)
    asked = cache(lambda call: {said for said, _ in _list_texts(call.content.body)})
    found = []
    for later in history.calls:
        for text, said in finder.find_repeated(later, whole_texts):
            # what stood in the prompt of the stream itself is no text of the stream, even if the model repeated it
            guilty = [call for call in left[text] if _can_repeat(later, call) and said not in asked(call)]
            left[text] = [call for call in left[text] if call not in guilty]
            found += [_breach_of_cut(call, later) for call in guilty]
    return found


def _can_repeat(later: Call, cut: Call) -> bool:
    return later is not cut and later.key != cut.key and later.start >= cut.end - _SLACK


def _breach_of_cut(cut: Call, later: Call) -> Breach:
    sentence = (
        f"Call {later.name} has the text of stream {cut.name} in its prompt, which ended without an end; "
        "a sound client takes such an answer for failed."
    )
    return Breach("incomplete_stream_failed", (cut, later), sentence, {"tokens": cut.delivered})


class _WholeTexts:
    """Texts of whole answers."""

    def __init__(self, history: CallHistory) -> None:
        self._calls = [call for call in history.calls if not call.failed and call.has_ended]
        self._having: dict[str, list[Call]] = {}

    def find(self, text: str, before: float) -> Iterator[str]:
        """Yield the whole answers to calls made before a time that have a text in them."""
        having = self._having.get(text)
        if having is None:
            having = self._having[text] = [call for call in self._calls if text in call.content.text]
        return (call.content.text.strip() for call in having if call.start < before)


class _TextFinder:
    """Finds which of many texts stand in a prompt, in time that does not grow with their number."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_head: dict[str, list[str]] = defaultdict(list)
        for text in texts:
            self._by_head[text[:_SHORT]].append(text)

    def find_repeated(self, later: Call, whole_texts: _WholeTexts) -> Iterator[tuple[str, str]]:
        """Yield each text that a prompt repeats, with its place, other than inside a whole answer that begins alike."""
        for said, is_answer in _list_texts(later.content.body):
            for text in self._find(said, is_answer=is_answer):
                rest = said
                for whole in whole_texts.find(text, later.start):
                    rest = rest.replace(whole, "")
                if rest.strip() == text or (len(text) >= _SHORT and text in rest):
                    yield text, said

    def _find(self, said: str, *, is_answer: bool) -> list[str]:
        found = self._by_head.get(said.strip(), ()) if is_answer and len(said.strip()) < _SHORT else ()
        if len(self._by_head) <= _MAX_SCANNED:
            heads = [head for head in self._by_head if head in said]
        else:
            heads = [*{said[at : at + _SHORT] for at in range(len(said) - _SHORT + 1)} & self._by_head.keys()]
        return [
            *found,
            *(text for head in heads for text in self._by_head[head] if len(head) == _SHORT and text in said),
        ]


def _list_texts(node: JSON, *, is_answer: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield every string of a request body, and whether it stands in a message of the model."""
    if isinstance(node, str):
        yield node, is_answer
    elif isinstance(node, list):
        for item in node:
            yield from _list_texts(item, is_answer=is_answer)
    elif isinstance(node, dict):
        for item in node.values():
            yield from _list_texts(item, is_answer=is_answer or node.get("role") in _ROLES)


def _judge_arguments(history: CallHistory, expected: Expectations) -> Finding:
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
    return any(_ERROR.search(text) for text, _ in _list_texts(result)) or (
        isinstance(result, dict) and "error" in result
    )


INCOMPLETE_STREAM_FAILED = VerdictRule("incomplete_stream_failed", _judge_incomplete)
NO_BAD_ARGUMENTS = VerdictRule("no_bad_arguments", _judge_arguments)
