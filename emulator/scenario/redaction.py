"""Redact values of headers, query and body by name, before the explanation of a rule or a reply shows them.

``credentials.py`` redacts those that the scenario lists.
"""

from collections.abc import Callable
from functools import partial

from emulator.core.json import JSON, dump_text, parse_json
from emulator.core.redaction.names import Place, is_secret_name
from emulator.core.redaction.values import redact, redact_text
from emulator.scenario.conditions import Comparison, Condition
from emulator.scenario.matchers import ABSENT, Absent, RequestAttributes, find_value, split_path

_PLACES: dict[str, Place] = {"header": "header", "query": "field"}
_TEXTS = ("contains", "prefix", "suffix", "regex")


def reads_secret(name: str) -> bool:
    """Return whether a match field may hold a credential, which is stored redacted."""
    kind, _, rest = name.partition(".")
    if kind == "body":
        return any(isinstance(step, str) and is_secret_name("variable", step) for step in split_path(rest))
    return kind in _PLACES and is_secret_name(_PLACES[kind], rest)


def redact_found(name: str, value: JSON | Absent, attributes: RequestAttributes) -> JSON | Absent:
    """Redact a value that a match field or placeholder extracted; a body is redacted as a whole first."""
    kind, _, rest = name.partition(".")
    change = _find_change(name)
    if isinstance(value, tuple):
        return tuple([change(text) if isinstance(text, str) else text for text in value])
    if value is ABSENT or kind != "body":
        return change(value) if isinstance(value, str) else value
    text = dump_text(attributes.request.json())
    shown = redact_text(text)
    return value if shown == text else find_value(split_path(rest), parse_json(shown))


def redact_wanted(name: str, wanted: Condition | JSON) -> Condition | JSON:
    """Redact the condition of a match field."""
    return _map_texts(wanted, _find_change(name))


def _find_change(name: str) -> Callable[[str], str]:
    """Return the function that redacts a text of a match field."""
    kind, _, rest = name.partition(".")
    if kind == "body":
        return partial(_redact_at, rest)
    return partial(redact, _PLACES[kind], rest) if kind in _PLACES else redact_text


def _map_texts(wanted: Condition | JSON, change: Callable[[str], str]) -> Condition | JSON:
    """Apply a function to every text of a condition."""
    if isinstance(wanted, str):
        return change(wanted)
    if isinstance(wanted, tuple):
        return tuple([change(text) if isinstance(text, str) else text for text in wanted])
    if isinstance(wanted, Comparison):
        given = {name: value for name in _TEXTS if (value := getattr(wanted, name)) is not None}
        texts = {name: change(value) for name, value in given.items()}
        inner = {} if wanted.not_ is None else {"not_": _map_texts(wanted.not_, change)}
        return wanted.model_copy(update={**texts, **inner})
    if isinstance(wanted, dict | list):
        return parse_json(change(dump_text(wanted)))
    return wanted


def _redact_at(path: str, text: str) -> str:
    """Redact a text at a path of a body."""
    names = [step for step in split_path(path) if isinstance(step, str)]
    wrapped = text
    for name in reversed(names):
        wrapped = dump_text({name: wrapped}) if wrapped is text else f"{{{dump_text(name)}:{wrapped}}}"
    shown = parse_json(redact_text(wrapped))
    for name in names:
        shown = shown[name] if isinstance(shown, dict) else shown
    return shown if isinstance(shown, str) else text
