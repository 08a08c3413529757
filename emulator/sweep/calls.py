"""Group the calls of a command under test into classes of like calls; a sweep tries each fault once for a class.

The first call of a class is its sample. If that contains an id from the answer to an earlier call, such as a stored
response, the class has the earlier call as well.
"""

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from emulator.control.models import RequestDetail, RequestEntry
from emulator.core.json import JSON, Object, canonical_json, dump_text

_WORD = re.compile(r"[\w.:-]{8,200}")
_ID = re.compile(r"(?=.*\d)[\w.:-]{8,200}")
_PREFIX = re.compile(r"v\d+|openai|api")
_NAMED_BY_PATH = frozenset({"responses", "messages"})  # kinds of chat


@dataclass(frozen=True, slots=True)
class CallClass:
    """Class of calls that a sweep treats alike.

    Fields:
        sample: the first of them.
        when: conditions of a rule that matches them.
        ordinal: number of the sample among the calls that match, from 1.
        needs: earlier calls that the sample refers to, oldest first.
        rule: rule that takes the sample, from the scenario of all runs or of the test.
        test: the test that made the call in a session of its own; empty: it was made in that of the run.
        document: the scenario of that test.
    """

    name: str
    sample: RequestDetail
    when: Object = field(default_factory=dict)
    ordinal: int = 1
    needs: Sequence[RequestDetail] = ()
    rule: Object = field(default_factory=dict)
    test: str = ""
    document: Object = field(default_factory=dict)

    @property
    def vendor(self) -> str:
        return self.sample.vendor or ""

    @property
    def stream(self) -> bool:
        return self.sample.stream

    @property
    def has_tool_call(self) -> bool:
        return bool(self.sample.response.tool_calls)

    @property
    def digest(self) -> str:
        """Return a digest of the sample's request and its answer's text, which changes if the call does."""
        call = self.sample
        is_form = call.request.headers.get("content-type", "").startswith("multipart/")  # its boundary is drawn
        parts: JSON = [call.method, _hide(call, self.needs), "" if is_form else show_body(call), call.response.text]
        return blake2b(canonical_json(parts), digest_size=8).hexdigest()


def find_classes(calls: Sequence[RequestDetail], document: JSON = None, test: str = "") -> list[CallClass]:
    """Return the classes of the calls of one session, some of which may have the same name."""
    needs = _find_needs(calls)
    firsts: dict[tuple[JSON, ...], int] = {}
    for index, call in enumerate(calls):
        if call.vendor is not None and 200 <= call.status < 400:
            kind = _name(call), call.stream, call.deployment, _hide(call, needs[index]), _find_turn(call)[0]
            firsts.setdefault(kind, index)
    rules = {rule.get("name"): rule for rule in _list_rules(document)}
    found = [_build(calls, needs[index], index, rules.get(calls[index].rule, {})) for index in firsts.values()]
    if len(found) == 1 and len(calls) == 1:
        found = [replace(found[0], when={}, ordinal=1)]
    if not test:
        return found
    return [replace(one, test=test, document=document if isinstance(document, dict) else {}) for one in found]


def name_classes(found: Sequence[CallClass]) -> list[CallClass]:
    """Tell classes of the same name apart by their deployments; of several tests that make a call the first counts."""
    firsts: dict[tuple[str, str | None, str], CallClass] = {}
    for one in found:
        firsts.setdefault((one.name, one.sample.deployment, _hide(one.sample, one.needs)), one)
    counts = Counter(one.name for one in firsts.values())
    return [_with_deployment(one) if counts[one.name] > 1 else one for one in firsts.values()]


def _list_rules(document: JSON) -> Iterator[Object]:
    rules = document.get("rules") if isinstance(document, dict) else None
    yield from (rule for rule in rules if isinstance(rule, dict)) if isinstance(rules, list) else ()


def _build(calls: Sequence[RequestDetail], needs: Sequence[RequestDetail], index: int, rule: Object) -> CallClass:
    call = calls[index]
    turn, facets = _find_turn(call)
    path = _hide(call, needs)
    when: Object = {"vendor": call.vendor, "endpoint": path}
    if call.operation is not None:
        when |= {"stream": call.stream, **facets}
    ordinal = sum(1 for one in calls[: index + 1] if _matches(one, call, path))
    return CallClass(f"{name_class(call)}{turn and f', {turn}'}", call, when, ordinal, needs, rule)


def _with_deployment(call: CallClass) -> CallClass:
    return replace(call, name=f"{call.name} ({call.sample.deployment or call.sample.path})")


def _matches(one: RequestDetail, call: RequestDetail, path: str) -> bool:
    """Return whether the rule for a call counts another one."""
    if one.vendor != call.vendor or not _fits(path, one.path):
        return False
    if call.operation is None:
        return True
    turn = _find_turn(call)
    return one.operation is not None and one.stream == call.stream and turn in (("", {}), _find_turn(one))


def _fits(glob: str, path: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, glob.split("*"))), path) is not None


def name_class(call: RequestEntry) -> str:
    """Return vendor, operation and whether the answer is streamed."""
    return f"{call.vendor} {_name(call)}{' stream' if call.stream else ''}"


def _name(call: RequestEntry) -> str:
    last = call.path.rstrip("/").rpartition("/")[2]
    if call.operation is not None:
        return last if last in _NAMED_BY_PATH else call.operation
    words = [word for word in call.path.split("/") if word and not _is_id(word) and not _PREFIX.fullmatch(word)]
    return " ".join([call.method, *words[-2:]])


def _find_turn(call: RequestDetail) -> tuple[str, Object]:
    """Return the kind of a conversation's turn, as words and as conditions of a rule; empty for its first turn."""
    body = call.request.body
    if call.operation != "chat" or not isinstance(body, dict):
        return "", {}
    if body.get("previous_response_id"):
        return "continued", {"body.previous_response_id": {"regex": "."}}
    items = body.get("messages") or body.get("input")
    roles = [_find_role(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    if roles[-1:] == ["tool"]:
        return "after a tool call", {"messages.last.role": "tool"}
    if "assistant" in roles:
        return "later turn", {"turn": {"above": 1}, "messages.last.role": "user"}
    return ("with tools", {"tools": "*"}) if body.get("tools") else ("", {})


def _find_role(item: Object) -> str:
    content = item.get("content")
    parts = [part.get("type") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    if "tool_result" in parts or item.get("type") == "function_call_output":
        return "tool"
    return str(item.get("role", ""))


def _find_needs(calls: Sequence[RequestDetail]) -> list[Sequence[RequestDetail]]:
    """Return for each call the earlier calls that it needs, as their answers gave ids that it sends."""
    sources: dict[str, int] = {}
    needs: list[set[int]] = []
    for index, call in enumerate(calls):
        words = set(_WORD.findall(_write(call)))
        found = {sources[word] for word in words & sources.keys()}
        body = call.request.body
        if isinstance(body, dict) and body.get("previous_response_id") and not found:
            found = {at for at in range(index) if calls[at].path == call.path}  # streams: no ids of theirs are kept
        needs.append(found.union(*(needs[at] for at in found)))
        for word in _list_words(call.response.body):
            if _is_id(word) and word not in words:
                sources.setdefault(word, index)
    return [[calls[at] for at in sorted(found)] for found in needs]


def _is_id(word: str) -> bool:
    return _ID.fullmatch(word) is not None


def _list_words(value: JSON) -> Iterator[str]:
    match value:
        case dict():
            for one in value.values():
                yield from _list_words(one)
        case list():
            for one in value:
                yield from _list_words(one)
        case str():
            yield value


def _write(call: RequestDetail) -> str:
    return f"{call.path} {dump_text(dict(call.request.query))} {show_body(call)}"


def show_body(call: RequestDetail) -> str:
    """Return the body of a recorded request as text."""
    body = call.request.body
    return call.request.raw or (body if isinstance(body, str) else "" if body is None else dump_text(body))


def read_body(call: RequestDetail) -> bytes:
    """Return the body of a recorded request as bytes."""
    text = show_body(call)
    return b64decode(text) if call.request.encoding == "base64" else text.encode()


def _hide(call: RequestDetail, needs: Sequence[RequestDetail]) -> str:
    given = {word for one in needs for word in _list_words(one.response.body) if _is_id(word)}
    return "/".join("*" if word in given else word for word in call.path.split("/"))
