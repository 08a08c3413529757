"""No setting of a vendor splits the head of an answer: it is refused, or stays in bodies."""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from itertools import chain
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
import yaml
from pydantic import BaseModel

from emulator.runtime.services import check_vendors
from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError
from emulator.vendors import VENDORS
from tests.conftest import Start
from tests.tools.fuzz.requests import list_seeds

pytestmark = pytest.mark.slow

EVIL = "a\r\nX-Evil: 1"
HEADERS = {
    "tgi": {"compute_type"},
    "databricks": {"workspace_id"},
    "openvino": {"allowed_origins", "allowed_methods", "allowed_headers"},
}
"""Settings that are the values of headers."""


def find_texts(kind: Any) -> Iterator[Any]:
    """Values of a type, each with the text above in another place where the type takes any text."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is str:
        yield EVIL
    elif origin in (tuple, list, set, frozenset):
        yield from ([value] for value in chain.from_iterable(map(find_texts, inner)))
    elif origin in (dict, Mapping):
        yield from ({_find_key(inner[0]): value} for value in find_texts(inner[1]))
    elif isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind)):
        yield from _find_in_fields(kind)
    elif origin is not Literal:  # a union, or a type with a note
        yield from chain.from_iterable(map(find_texts, inner[:1] if origin is Annotated else inner))


def _find_key(kind: Any) -> Any:
    """A key of a type; one with a pattern, which has but a prefix, begins as that asks."""
    if get_origin(kind) is not Annotated:
        return EVIL if kind is str else kind
    (prefix,) = [pattern.removeprefix("^") for note in get_args(kind)[1:] for pattern in _list_patterns(note)]
    return prefix + EVIL


def _list_patterns(note: Any) -> Iterator[str]:
    yield from (each.pattern for each in note.metadata if getattr(each, "pattern", None))


def _find_in_fields(kind: type) -> Iterator[Any]:
    for name, field in get_type_hints(kind, include_extras=True).items():
        if not name.startswith("_"):
            yield from ({name: value} for value in find_texts(field))


def list_settings(vendor: str) -> list[dict[str, Any]]:
    """Sections of a scenario, each with one setting that holds the text."""
    kind = VENDORS[vendor].settings
    hints = get_type_hints(kind, include_extras=True)
    return [{name: value} for name in kind.model_fields for value in find_texts(hints[name])]


def is_taken(vendor: str, section: dict[str, Any]) -> bool:
    try:
        check_vendors(load_text(yaml.safe_dump({"version": 1, "vendors": {vendor: section}})), VENDORS)
    except ScenarioError:
        return False
    return True


@pytest.mark.parametrize("vendor", VENDORS)
def test_header_settings_refuse_line_breaks(vendor: str) -> None:
    sections = list_settings(vendor)
    found = {name for section in sections for name in section}
    plain = {name for name, field in VENDORS[vendor].settings.model_fields.items() if field.annotation is str}
    assert plain | HEADERS.get(vendor, set()) <= found, "the walk sees them"
    for name in HEADERS.get(vendor, set()):
        for text in (EVIL, "a\n", "a\r", "\0", "\x7f"):
            assert not is_taken(vendor, {name: text}), (name, text)
        assert is_taken(vendor, {name: "any \tvalue \u00e9"})


@pytest.mark.parametrize("vendor", VENDORS)
async def test_settings_never_inject_response_headers(start: Start, vendor: str) -> None:
    taken = [section for section in list_settings(vendor) if is_taken(vendor, section)]
    whole = {name: value for section in taken for name, value in section.items()}
    settings = {"version": 1, "name": "t", "clock": "instant", "vendors": {vendor: whole}}
    running = await start(yaml.safe_dump(settings))
    for method, target, lines, body in list_seeds(vendor):
        if method != "HEAD":
            head = "".join(f"{line}\r\n" for line in (f"{method} {target} HTTP/1.1", "Connection: close", *lines))
            answer = await running.send(vendor, head.encode(), body)
            assert b"evil" not in answer.head.lower(), (method, target)
            assert answer.header("x-emulator-bug") is None, (method, target)
